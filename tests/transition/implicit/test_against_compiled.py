"""The same steps as the compiled methods for mechanisms take, which share no code with these: end states agree to the
tolerance of Newton's method. And models without constraints, against explicit methods and the compiled field."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.integrate.options import Options
from chasles.integrate.solver import start as start_run
from chasles.lie import pose, transition
from tests.absolute.implicit import systems
from tests.transition import models as free
from tests.transition.implicit.models import MASS, cross, final, initial, parts_of, place, run, tilde, top

ALPHA = {"tolerance": 1e-13}
METHODS = [
    ch.integrate.GeneralizedAlpha(0.8, **ALPHA),
    ch.integrate.GeneralizedAlpha(0.5, index=3, **ALPHA),
    ch.integrate.GeneralizedAlpha(0.8, local=False, metric="unit", **ALPHA),
    ch.integrate.GeneralizedAlpha(0.0, index=3, local=False, **ALPHA),
    ch.integrate.GeneralizedAlpha(0.9, project_velocity=True, **ALPHA),
    ch.integrate.BLieDF(2, "exact", **ALPHA),
    ch.integrate.BLieDF(3, **ALPHA),
    ch.integrate.BLieDF(4, "first", **ALPHA),
    ch.integrate.BLieDF(5, metric="unit", **ALPHA),
]
SPACES = {"SE3": ("screw", "body"), "SO3xR3": ("rotation_vector", "mixed")}


@pytest.mark.sample(1)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("method", METHODS, ids=str)
def test_a_top(method, space):
    end = 0.1
    case = top("slow", "rotation_vector", *SPACES[space])
    found = final(case, run(case, "slow", method, 20, end).point())
    peer = systems.run(systems.slow_top(), end, space, method, end / 20, systems.SLOW_TURN, systems.SLOW_SPIN)
    assert np.abs(found[0] - pose.to_matrix(peer.poses[-1, 0])).max() < 1e-11
    assert np.abs(found[1] - peer.twists[-1, 0]).max() < 1e-9


def held_top(name, representation):
    """The slow top on a spring with a damper to the ground, which turns with it: the formulas of the force by hand."""
    stiffness, damping, length, hook, hold = 400.0, 3.0, 0.6, np.array([0.3, 0.1, -0.2]), np.array([0.5, 0.4, 0.9])
    mass, forces, *rest = parts_of(name, "quaternion", representation == "mixed")

    def more(q, twists, t):
        turn, position = place(q, "quaternion")
        w, v = twists[0, :3], twists[0, 3:]
        lever, velocity = turn @ hook, v if representation == "mixed" else turn @ v
        away = position + lever - hold
        along = away / np.linalg.norm(away)
        speed = along @ (velocity + turn @ cross(w, hook))
        pull = -(stiffness * (np.linalg.norm(away) - length) + damping * speed) * along
        torque = cross(hook, turn.T @ pull)
        return forces(q, twists, t) + np.concatenate([torque, pull if representation == "mixed" else turn.T @ pull])

    spring = ch.Spring("hold", ("ground", "top"), (hold, hook), stiffness, damping, length)
    return ch.transition.descriptor(mass, more, *rest), replace(systems.slow_top(), forces=(spring,))


@pytest.mark.sample(1)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "method",
    [
        ch.integrate.GeneralizedAlpha(0.8, **ALPHA),
        ch.integrate.GeneralizedAlpha(0.8, index=3, local=False, **ALPHA),
        ch.integrate.BLieDF(4, **ALPHA),
    ],
    ids=str,
)
def test_a_stiff_spring_the_multipliers_and_a_shorter_last_step(method, space):
    """The derivatives of the force matter; the last step of generalized alpha is shorter. That of BLieDF would be one
    of another method, which has no multipliers."""
    end, step = 0.33 if isinstance(method, ch.integrate.GeneralizedAlpha) else 0.32, 0.02
    local, representation = SPACES[space]
    parts, system = held_top("slow", representation)
    case = ch.transition.LGTProblem(parts, "quaternion", local, 1, representation)
    going = start_run(case, method, (0.0, end), initial(case, "slow"), Options(step=step))
    going.finish(progress=False)
    found = final(case, going.point())
    peer = systems.stepper(system, end, space, method, step, systems.SLOW_TURN, systems.SLOW_SPIN)
    peer.finish(progress=False)
    central, velocity, _ = peer.problem.split(peer.point())
    assert np.abs(found[0] - pose.to_matrix(peer.mechanism.poses(central)[0])).max() < 1e-11
    assert np.abs(found[1] - peer.mechanism.twists(central, velocity)[0]).max() < 1e-9
    size = np.abs(going.multipliers).max()
    assert np.abs(np.abs(going.multipliers) - np.abs(peer.multipliers.ravel())).max() < 1e-7 * size


@pytest.mark.parametrize(
    ("method", "most"), [(ch.integrate.GeneralizedAlpha(), 4.5), (ch.integrate.BLieDF(3), 6.5)], ids=str
)
def test_evaluations_are_few_and_quaternions_keep_their_norm(method, most):
    """Derivatives by differences, 14 evaluations each, are kept from step to step."""
    case = top("slow", "quaternion", *SPACES["SE3"])
    going = run(case, "slow", method, 100)
    assert going.evaluations() / going.steps < most
    assert np.abs(np.linalg.norm(case.split(going.saved_y)[0][..., :4], axis=-1) - 1).max() < 4e-16


# ---------------------------------------------------------------- two bodies


def pendulum_parts(masses, inertias, gravity):
    """Two boxes on spherical joints, in body twists: M, Q, A, -A' V, g."""
    left, right = np.array([-0.1, 0.0, 0.0]), np.array([0.1, 0.0, 0.0])
    points = [[(0, 1.0, left)], [(0, 1.0, right), (1, -1.0, left)]]  # of each joint: body, sign, point
    matrix = np.zeros((12, 12))
    for k in range(2):
        matrix[6 * k : 6 * k + 3, 6 * k : 6 * k + 3] = inertias[k]
        matrix[6 * k + 3 : 6 * k + 6, 6 * k + 3 : 6 * k + 6] = masses[k] * np.eye(3)

    def forces(q, twists, t):
        parts = []
        for k in range(2):
            w, v = twists[k, :3], twists[k, 3:]
            turn = place(q[k : k + 1], "quaternion")[0]
            parts += [cross(inertias[k] @ w, w), masses[k] * (turn.T @ gravity - cross(w, v))]
        return np.concatenate(parts)

    def rows(q, twists=None):
        found = np.zeros((6, 12)) if twists is None else np.zeros(6)
        for j, joint in enumerate(points):
            for k, sign, point in joint:
                turn = place(q[k : k + 1], "quaternion")[0]
                if twists is None:
                    block = np.concatenate([-turn @ tilde(point), turn], axis=1)
                    found[3 * j : 3 * j + 3, 6 * k : 6 * k + 6] = sign * block
                else:
                    w, v = twists[k, :3], twists[k, 3:]
                    found[3 * j : 3 * j + 3] -= sign * turn @ cross(w, v + cross(w, point))
        return found

    def constraint(q):
        found = np.zeros((2, 3))
        for j, joint in enumerate(points):
            for k, sign, point in joint:
                turn, position = place(q[k : k + 1], "quaternion")
                found[j] += sign * (position + turn @ point)
        return found

    return matrix, forces, rows, rows, constraint


@pytest.mark.parametrize(
    "method", [ch.integrate.GeneralizedAlpha(0.8, **ALPHA), ch.integrate.BLieDF(3, **ALPHA)], ids=str
)
def test_two_bodies(method):
    system = systems.double_pendulum()
    end, steps, spins = 0.02, 20, systems.STARTS["pendulum"][2]
    peer = systems.run(system, end, "SE3", method, end / steps, v=spins, save="all")
    bodies = system.bodies
    parts = pendulum_parts([b.mass for b in bodies], [np.array(b.inertia) for b in bodies], np.array(system.gravity))
    case = ch.transition.LGTProblem(ch.transition.descriptor(*parts), bodies=2)
    y0 = case.state(peer.poses[0], peer.twists[0])
    found = ch.integrate.solve(case, method, (0.0, end), y0, step=end / steps)
    assert np.abs(pose.to_matrix(case.poses(found.y)) - pose.to_matrix(peer.poses)).max() < 1e-10
    assert np.abs(case.split(found.y)[1] - peer.twists).max() < 1e-7


# ---------------------------------------------------------------- no constraints


@pytest.mark.first(1)
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("method", "order"),
    [
        (ch.integrate.GeneralizedAlpha(0.8), 2),
        (ch.integrate.GeneralizedAlpha(0.3, index=3, local=False), 2),
        (ch.integrate.BLieDF(3), 3),
    ],
    ids=str,
)
@pytest.mark.parametrize("pair", [("rotation_vector", "screw"), ("euler:ZYX", "rodrigues")], ids=str)
def test_models_without_constraints(pair, method, order):
    case = free.problem(*pair)
    y0 = free.initial(case)
    tight = {"rtol": 1e-13, "atol": 1e-13, "save": "final"}
    truth = ch.integrate.solve(case, ch.integrate.RKMK("dop853"), (0.0, 0.25), y0, **tight).y[-1]
    errors = [
        np.abs(ch.integrate.solve(case, method, (0.0, 0.25), y0, step=0.25 / n).y[-1] - truth).max() for n in (20, 40)
    ]
    assert np.log2(errors[0] / errors[1]) > order - 0.2


def test_compiled_and_plain_models_and_representations():
    """The same steps on the same group, whatever the twists of the model, and whether it is compiled."""
    method, ends = ch.integrate.GeneralizedAlpha(0.8, tolerance=1e-13), []
    cases = [(free.problem(), "body")]
    cases += [
        (ch.transition.LGTProblem(free.plain_model(representation=r), representation=r), r) for r in ("body", "mixed")
    ]
    for case, representation in cases:
        sol = ch.integrate.solve(case, method, (0.0, 0.2), free.initial(case, representation), step=0.01)
        ends.append(free.matrices(case, sol.y))
    assert np.abs(ends[0] - ends[1]).max() < 1e-13
    assert np.abs(ends[0] - ends[2]).max() < 1e-12


def stiff_parts(with_derivatives):
    """A body held by a bushing of 1e6 N/m, in mixed twists: stiff, with damping; derivatives by hand."""
    stiffness, damping = 1e6, 1e2

    def forces(q, twists, t):
        return np.concatenate([-0.1 * twists[0, :3], -stiffness * q[0, 4:] - damping * twists[0, 3:] + [0, 0, -MASS]])

    def derivatives(q, twists, t):
        by_q, by_v = np.zeros((6, 6)), np.zeros((6, 6))
        by_q[3:, 3:], by_v[:3, :3], by_v[3:, 3:] = -stiffness * np.eye(3), -0.1 * np.eye(3), -damping * np.eye(3)
        return by_q, by_v

    mass = np.diag([1.0, 1.0, 1.0, MASS, MASS, MASS])
    return ch.transition.descriptor(mass, forces, derivatives=derivatives if with_derivatives else None)


def test_stiff_forces_and_their_derivatives():
    """Steps of some 25 rad of the bushing, and fewer evaluations with derivatives."""
    found = []
    for given in (False, True):
        case = ch.transition.LGTProblem(stiff_parts(given), local="rotation_vector", representation="mixed")
        y0 = case.state([1.0, 0, 0, 0, 1e-3, 0, 0], [1.0, 0.5, 0, 0, 0, 0])
        found.append(ch.integrate.solve(case, ch.integrate.GeneralizedAlpha(0.2), (0.0, 5.0), y0, step=0.1))
    settled = found[0].y[-1]
    assert np.abs(settled[4:7] - [0, 0, -MASS / 1e6]).max() < 1e-7
    assert np.abs(settled[7:9] - np.array([1.0, 0.5]) * np.exp(-0.5)).max() < 1e-4
    assert np.abs(found[1].y[-1] - settled).max() < 1e-9
    assert found[1].evaluations < found[0].evaluations
    turned = transition.to_pose(settled[None, :7])[0, :4]
    assert abs(np.linalg.norm(turned) - 1) < 4e-16
