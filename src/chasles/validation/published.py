"""Problems whose values others have printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

import chasles as ch
from chasles.gallery import andrews, overconstrained
from chasles.gallery import bicycle as whipple
from chasles.validation.board import KnownValue, modeled, problem, row, simulate, tree

DIGITS = json.loads(Path(__file__).with_name("published.json").read_text(encoding="utf-8"))


@problem("Test Set for IVP Solvers, computed by PSIDE at 1e-14; hairer1996")
def andrews_mechanism() -> list[KnownValue]:
    """Andrews' squeezing mechanism at 0.03 s."""
    tight: dict[str, Any] = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-12}
    run = simulate(andrews.system(), (0.0, andrews.DURATION), poses=andrews.poses(), coordinates="absolute", **tight)
    known = np.array(DIGITS["andrews"]["angles"])
    found = andrews.angles(run.poses[-1])
    found += 2 * np.pi * np.round((known - found) / (2 * np.pi))
    rates = run.twists[-1, :, 2].copy()
    rates[[1, 3, 5]] -= rates[[0, 4, 6]]  # three angles are relative to other bodies
    largest = np.abs(DIGITS["andrews"]["rates"]).max()
    return [
        row("angles", known, found, 1e-8, "rad"),
        row("rates", DIGITS["andrews"]["rates"], rates, 1e-8 * largest, "rad/s"),
    ]


@problem("K. Lynch, F. Park, Modern Robotics; package modern_robotics 1.1.1", peers=True)
def modern_robotics() -> list[KnownValue]:
    """Three links of a UR5: inverse and forward dynamics."""
    data = {name: np.array(value) for name, value in DIGITS["modern_robotics"].items() if isinstance(value, list)}
    places = data["Mlist"].astype(float)
    for k in range(1, 4):
        places[k] = places[k - 1] @ places[k]
    names = ["ground", "one", "two", "three"]
    scale = np.linalg.norm(data["Slist"][:, :3], axis=1)  # the first screw is not of unit length
    bodies = [ch.Body(names[k + 1], G[5], inertia=G[:3]) for k, G in enumerate(data["Glist"])]
    screws = data["Slist"] / scale[:, None]
    joints = [ch.general(f"joint {k}", names[k], names[k + 1], screws=[screws[k]]) for k in range(3)]
    reference = dict(zip(names[1:], places, strict=False))
    arm = tree(ch.System.from_assembly(bodies, joints, reference, gravity=data["gravity"]))
    wrenches = np.zeros((3, 6))
    wrenches[2] = -np.linalg.inv(ch.lie.se3.Ad(data["Mlist"][3].astype(float))).T @ data["Ftip"]
    q, v, a = (scale * data[name] for name in ("theta", "dtheta", "ddtheta"))
    none = np.zeros(3)
    gravity = arm.inverse_dynamics(q, none, none)
    found = {
        "inverse_dynamics": scale * arm.inverse_dynamics(q, v, a, wrenches),
        "gravity_forces": scale * gravity,
        "velocity_forces": scale * (arm.inverse_dynamics(q, v, none) - gravity),
        "end_effector_forces": scale * (arm.inverse_dynamics(q, none, none, wrenches) - gravity),
        "mass_matrix": scale[:, None] * arm.mass_matrix(q) * scale,
        "forward_dynamics": arm.forward_dynamics(q, v, data["tau"] / scale, wrenches) / scale,
    }
    printed = 5e-9  # eight or nine digits, absolute or relative
    return [
        row(name.replace("_", " "), data[name], value, printed * np.maximum(1.0, np.abs(data[name])).max())
        for name, value in found.items()
    ]


@problem("Rigid Body Dynamics Library, tests/DynamicsTests.cc", peers=True)
def rbdl() -> list[KnownValue]:
    """Accelerations of chains and trees from rest."""
    axis = dict(zip("xyz", np.eye(3), strict=True))
    rows = []
    for case in DIGITS["rbdl"]["cases"]:
        bodies, joints = [], []
        for k, (parent, at, axes, com, moments) in enumerate(case["links"]):
            bodies.append(ch.Body(f"link {k + 1}", 1.0, com, moments))
            screws = [[*axis[letter], 0, 0, 0] for letter in axes]
            ends = f"link {parent}" if parent else "ground", f"link {k + 1}"
            joints.append(ch.general(f"joint {k + 1}", *ends, screws=screws, at=at))
        made = tree(ch.System(bodies, joints, gravity=DIGITS["rbdl"]["gravity"]))
        known = np.array(case["acceleration"])
        none = np.zeros_like(known)
        found = made.forward_dynamics(case["q"], none, none)
        rows.append(row(case["name"], known, found, 1e-13 * np.abs(known).max(), "rad/s²"))
    return rows


@problem("meijaard2007")
def bicycle() -> list[KnownValue]:
    """Whipple's bicycle: eigenvalues of lean and steer."""
    mechanism = modeled(whipple.system()).compile()
    rows = []
    for speed, known in DIGITS["bicycle"]["eigenvalues"].items():
        found = ch.linearize(mechanism, v=whipple.rolling(mechanism, float(speed))).eigenvalues
        pairs = []
        for real, imaginary in known:
            nearest = found[np.abs(found - (real + 1j * imaginary)).argmin()]
            pairs.append([nearest.real, nearest.imag])
        rows.append(row(f"eigenvalues at {speed} m/s", known, pairs, 1e-10, "1/s"))
    linear = {name: np.array(DIGITS["bicycle"][name]) for name in ("M", "K0", "K2", "C1")}
    for speed in (0.5, 2.0, 4.0, 6.0, 8.0, 10.0):
        stiffness = 9.81 * linear["K0"] + speed**2 * linear["K2"]
        accelerations = -np.linalg.solve(linear["M"], np.concatenate([stiffness, speed * linear["C1"]], axis=1))
        known = np.linalg.eigvals(np.concatenate([np.eye(4)[2:], accelerations]))
        found = ch.linearize(mechanism, v=whipple.rolling(mechanism, speed)).eigenvalues
        nearest = np.array([found[np.abs(found - value).argmin()] for value in known])
        printed, ours = (np.array([value.real, value.imag]) for value in (known, nearest))
        what = f"of the printed equations M, C1, K0, K2 at {speed:g} m/s"
        rows.append(row(what, printed, ours, 1e-10 * float(np.abs(known).max()), "1/s"))
    return rows


@problem("gonzalez2006, problem A02, and its reduction to one degree of freedom")
def four_bars() -> list[KnownValue]:
    """A row of four-bars through its singular configuration."""
    linkage = overconstrained.four_bars(2)
    run = simulate(
        linkage.system, (0.0, 10.0), poses=linkage.poses, twists=linkage.twists, coordinates="absolute",
        method="rk4", step=2e-3, save=[0.0, 4.0, 10.0], certificate=False,
    )  # fmt: skip
    corner = run["coupler 1"].position[:, :2]
    speed = run.frame("coupler 1", "hybrid").twist[-1, 3:5]
    return [
        row("point B0 at 4 s", [0.117616102377, 0.993059138451], corner[1], 1e-7, "m"),
        row("point B0 at 10 s", [0.328458111540, 0.944518538179], corner[2], 1e-7, "m"),
        row("velocity of B0 at 10 s", [1.4230514702, -0.4948688455], speed, 1e-7, "m/s"),
    ]


@problem("gonzalez2006, problem A02 with 40 loops; its reduction to one degree of freedom by SciPy")
def forty_four_bars() -> list[KnownValue]:
    """A row of forty four-bars through its singular configuration."""
    from scipy.integrate import solve_ivp

    loops = 40
    linkage = overconstrained.four_bars(loops)
    run = simulate(
        linkage.system, (0.0, 3.0), poses=linkage.poses, twists=linkage.twists, coordinates="absolute",
        method="rk4", step=2e-3, save=[0.0, 1.5, 3.0], certificate=False,
    )  # fmt: skip
    rate = overconstrained.G * ((loops + 1) / 2 + loops) / ((loops + 1) / 3 + loops)
    angle = solve_ivp(
        lambda t, y: [y[1], rate * np.sin(y[0])], (0.0, 3.0), [0.0, 1.0], "DOP853", [1.5, 3.0], rtol=1e-13, atol=1e-14
    ).y[0]
    corner = np.stack([np.sin(angle), np.cos(angle)], axis=1)
    assert angle.max() > np.pi / 2  # all rods were on one line
    return [
        row("point B0 at 1.5 and 3 s", corner, run["coupler 1"].position[1:, :2], 1e-7, "m"),
        row(
            "point B39, from B0", corner + np.array([loops - 1, 0]), run[f"coupler {loops}"].position[1:, :2], 1e-7, "m"
        ),
    ]


@problem("gonzalez2006, problem A04; closure of a threefold symmetric loop: chen2005")
def bricard() -> list[KnownValue]:
    """Bricard's mechanism over 10 s: its energy, and the relation of its angles."""
    linkage = overconstrained.bricard()
    run = simulate(
        linkage.system, (0.0, 10.0), poses=linkage.poses, twists=linkage.twists, coordinates="absolute",
        method="rk4", step=2e-3, save=50, certificate=False,
    )  # fmt: skip
    balance = run.energies.balance
    first, second = (-np.sin(-run.joint(name).q[:, 0]) for name in ("J0", "J1"))  # cos(π/2 - q): right angles at first
    return [
        row("change of the energy", 0.0, np.abs(balance - balance[0]).max(), 1e-8, "J"),
        row("cos θ + cos φ + cos θ cos φ", 0.0, np.abs(first + second + first * second).max(), 1e-12),
    ]


def _crank_and_rod(k: float = 1.0, c: float = 1.0) -> ch.System:
    """SUNDIALS' slider-crank: a spring with damper between crank and rod, a force on the rod's end; the rod's center of
    mass is on the slider."""
    bodies = [ch.Body("crank", 1.0, inertia=(1, 1, 1.0)), ch.Body("rod", 1.0, (-1, 0, 0), (2, 2, 2.0))]
    joints = [
        ch.revolute("pin", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("elbow", "crank", "rod", axis=(0, 0, 1), at=(0.5, 0, 0), child_at=(-2, 0, 0)),
    ]
    forces: list[Any] = [
        ch.Wrench("push", "rod", (0, 0, 0, 1.0, 0, 0), representation="hybrid"),
        ch.Spring("spring", ("crank", "rod"), ((0.25, 0, 0), (-1.5, 0, 0)), stiffness=k, damping=c, length=1.0),
    ]
    guide = ch.PointOnPlane("guide", ("ground", "rod"), ((0, 0, 0), (-1, 0, 0)), normal=(0, 1, 0))
    return ch.System(bodies, joints, forces=forces, constraints=[guide], gravity=(0, 0, 0), name="slider-crank")


def _kinetic_energy(t: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    turn, rate = q[:, 0] + q[:, 1], v[:, 0] + v[:, 1]
    slide = -0.5 * np.sin(q[:, 0]) * v[:, 0] - np.sin(turn) * rate
    return 0.5 * (v[:, 0] ** 2 + 2.0 * rate**2 + slide**2)


@problem(
    "SUNDIALS, example idasSlCrank_FSA_dns at rtol 1e-6: its printed output; and version 7.5 of it with steps of at "
    "most 5 ms (IDASetMaxStep), which shows that the printed output is 9e-6 off"
)
def sundials_slider_crank() -> list[KnownValue]:
    """SUNDIALS' slider-crank: the integral of its kinetic energy, and its slopes along spring and damper."""
    run = simulate(
        _crank_and_rod(), (0.0, 10.0), [np.pi / 2, np.arcsin(-0.5) - np.pi / 2], method="rk4", step=0.005,
        certificate=False,
    )  # fmt: skip
    values = {"k": 1.0, "c": 1.0}
    found = ch.gradient(
        run, ch.objective.integral(_kinetic_energy), ("k", "c"), system=_crank_and_rod, parameters=values
    )
    slopes = [found["k"], found["c"]]
    return [
        row("integral over 10 s, as printed", 3.3366157997761721, found.value, 2e-5, "J s"),
        row("integral over 10 s, steps of 5 ms", 3.3366068975, found.value, 5e-7, "J s"),
        row("its slopes along stiffness and damping, as printed", [0.33346, -0.36375], slopes, 2e-5),
        row("its slopes, steps of 5 ms", [0.33344586, -0.36375407], slopes, 5e-6),
    ]
