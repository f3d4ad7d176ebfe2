"""The examples of the source papers: heavy top and linkages of boxes, recursions of a planar arm, orders of methods."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import chasles as ch
from chasles.gallery import boxes
from chasles.relative.mechanism import Mechanism
from chasles.validation.board import KnownValue, modeled, problem, remembered, row, simulate, tree

DIGITS = json.loads(Path(__file__).with_name("source_papers.json").read_text(encoding="utf-8"))


@problem("mueller2013, section 5.1; Euler's equations by extrapolation in quadruple precision, 22 digits")
def heavy_top_of_boxes() -> list[KnownValue]:
    """The heavy top of mueller2013: energy as printed, motion, pivot on SE(3)."""
    example, known = boxes.heavy_top(), DIGITS["heavy_top"]
    tight = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-13, "certificate": False}
    run = simulate(
        example.system, (0.0, 1.0), poses=example.poses, twists=example.twists, coordinates="absolute", space="SE3",
        save=[0.0, *known["times"]], **tight,
    )  # fmt: skip
    body = run.system.bodies[0].name
    turn = ch.lie.rotation.quaternion_to_matrix(run[body].orientation[1:])
    paper = remembered(example.simulate(1.0, stabilization=None, certificate=False))
    return [
        row("kinetic energy, as printed", 13.97, run.energies.kinetic[0] / 1e3, 5e-3, "kJ"),
        row("rotation at 0.1 and 1 s", known["rotations"], turn, 1e-9),
        row("center of mass at 0.1 and 1 s", known["places"], run[body].position[1:], 1e-9, "m"),
        row("angular velocity at 0.1 and 1 s", known["spins"], run.twists[1:, 0, :3], 1e-7, "rad/s"),
        row("drift of the pivot, RKMK4, 1 ms", 0.0, np.abs(example.gaps(paper, "pivot")).max(), 1e-13, "m"),
    ]


@problem("mueller2013, section 5.4: base joints are satisfied exactly on SE(3)")
def three_bar_of_boxes() -> list[KnownValue]:
    """The three-bar linkage of mueller2013 on SE(3), without stabilization."""
    example = boxes.three_bar()
    run = remembered(example.simulate(1.0, stabilization=None, certificate=False))
    balance = run.energies.balance
    return [
        row("drift of joint 1", 0.0, np.abs(example.gaps(run, "joint 1")).max(), 1e-13, "m"),
        row("drift of joint 3", 0.0, np.abs(example.gaps(run, "joint 3")).max(), 1e-13, "m"),
        row("drift of the energy over 1 s, in print up to", 0.0, np.ptp(balance), 2e-3, "J"),
    ]


def _planar_arm() -> tuple[ch.System, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """The arm, its state and what is known there."""
    model, state, known = (DIGITS["planar_two_links"][name] for name in ("model", "state", "reference"))
    names, bodies, joints, reference = ["ground", "upper", "lower"], [], [], {}
    for k, (parent, Y, A, M) in enumerate(zip(*(model[name] for name in ("parent", "Y", "A", "M")), strict=True)):
        inertia = np.array(M)
        com = np.array([inertia[2, 4], inertia[0, 5], inertia[1, 3]]) / inertia[5, 5]
        about = inertia[:3, :3] - inertia[5, 5] * (com @ com * np.eye(3) - np.outer(com, com))
        bodies.append(ch.Body(names[k + 1], inertia[5, 5], com, about))
        joints.append(ch.general(f"joint {k}", names[parent + 1], names[k + 1], screws=[Y]))
        reference[names[k + 1]] = A
    system = ch.System.from_assembly(bodies, joints, reference, gravity=model["gravity"])
    at, values = ({name: np.array(x) for name, x in table.items()} for table in (state, known))
    return system, at, values


@problem("the Lagrangian, differenced in 512-bit arithmetic", peers=True)
def planar_two_links() -> list[KnownValue]:
    """A planar arm of two links: inverse and forward dynamics."""
    system, at, known = _planar_arm()
    arm, q, v = tree(system), at["q"], at["qd"]
    required = arm.inverse_dynamics(q, v, at["qdd"], at["W_app_body"])
    return [
        row("mass matrix", known["M"], arm.mass_matrix(q), 1e-13, "kg m²"),
        row("inverse dynamics with wrenches", known["Q_with_applied_wrench"], required, 1e-13, "N m"),
        row("forward dynamics", known["qdd_forward_dynamics"], arm.forward_dynamics(q, v, at["tau_fd"]), 1e-12,
            "rad/s²"),
    ]  # fmt: skip


@problem("the Lagrangian, differenced in 512-bit arithmetic; formulas of mueller2018 and mueller2022")
def four_representations() -> list[KnownValue]:
    """Twists of a planar arm in four representations, forces and their rates."""
    system, at, known = _planar_arm()
    arm, q, v, a = Mechanism(modeled(system)), at["q"], at["qd"], at["qdd"]
    rows = []
    for name in ("body", "spatial", "hybrid", "mixed"):
        wanted = [known[f"{order}_{name}"] for order in ("V", "Vdot", "Vddot")]
        found = arm.rates.twists(q, [v, a, at["q3"]], representation=name)
        rows.append(row(f"{name}: twists, their first and second rates", wanted, found, 1e-12))
    forces = arm.rates.inverse_dynamics(q, v, a, at["q3"], at["q4"])
    derivatives = arm.derivatives.inverse_dynamics(q, v, a)
    return [
        *rows,
        row("forces, their first and second rates", [known[name] for name in ("Q", "Qdot", "Qddot")], forces, 1e-11),
        row("derivatives of the forces by q", known["dQ_dq"], derivatives.dq, 1e-13, "N m/rad"),
        row("derivatives of the forces by v", known["dQ_dqd"], derivatives.dv, 1e-13, "N m s/rad"),
    ]


@problem("celledoni2022, figure 13: methods converge at their rates")
def orders_of_methods() -> list[KnownValue]:
    """Observed orders of Lie group methods on two quadrotors that carry a load."""
    from chasles.reproduce.quadrotor_load import figure_13

    orders = [claim.measured for claim in figure_13().claims if claim.quantity.startswith("order")]
    return [row("RKMK of order 1, 2, 3 and 4", [1, 2, 3, 4], orders, 0.1)]
