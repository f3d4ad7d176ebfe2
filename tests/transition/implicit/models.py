"""Tops as users write them: M, Q, A, -A' V and g by hand in body and mixed twists, and the same in the others."""

import functools

import numpy as np

import chasles as ch
from chasles.integrate.options import Options
from chasles.integrate.solver import start as start_run
from chasles.lie import pose, transition
from chasles.screw.representation import convert_acceleration, convert_twist
from tests.absolute.implicit.systems import BRULS_SPIN, SLOW_SPIN, SLOW_TURN

GRAVITY = np.array([0.0, 0.0, -9.81])
MASS = 15.0
# principal moments, pivot in the body, quaternion and angular velocity at the start, end of the runs
TOPS = {
    "fast": ((0.234375, 0.46875, 0.234375), (0.0, -1.0, 0.0), (1.0, 0.0, 0.0, 0.0), BRULS_SPIN, 0.1),
    "slow": ((0.234375, 0.46875, 0.334375), (0.1, -1.0, 0.2), SLOW_TURN, SLOW_SPIN, 0.25),
}


def cross(a, b):
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def tilde(a):
    return np.array([[0.0, -a[2], a[1]], [a[2], 0.0, -a[0]], [-a[1], a[0], 0.0]])


def place(q, absolute):
    """Rotation matrix and position of the only body."""
    if absolute != "quaternion":
        q = transition.to_pose(q, absolute)
    turn = tilde(q[0, 1:4])
    return np.eye(3) + 2 * (q[0, 0] * turn + turn @ turn), q[0, 4:]


def parts_of(name, absolute, mixed):
    moments, pivot, *_ = TOPS[name]
    inertia, pivot = np.diag(moments), np.array(pivot)
    mass = np.zeros((6, 6))
    mass[:3, :3], mass[3:, 3:] = inertia, MASS * np.eye(3)

    def forces(q, twists, t):
        w, v = twists[0, :3], twists[0, 3:]
        linear = GRAVITY if mixed else place(q, absolute)[0].T @ GRAVITY - cross(w, v)
        return np.concatenate([cross(inertia @ w, w), MASS * linear])

    def jacobian(q):
        turn = place(q, absolute)[0]
        return np.concatenate([-turn @ tilde(pivot), np.eye(3) if mixed else turn], axis=1)

    def bias(q, twists):
        w, v = twists[0, :3], twists[0, 3:]
        return -place(q, absolute)[0] @ cross(w, cross(w, pivot) + (0.0 if mixed else v))

    def constraint(q):
        turn, position = place(q, absolute)
        return position + turn @ pivot

    return mass, forces, jacobian, bias, constraint


def in_representation(parts, absolute, representation):
    """A model in body twists with other ones, V_b = S(q) V; then the mass matrix depends on q."""
    mass, forces, jacobian, bias, constraint = parts

    def to_body(q):
        return convert_twist(np.eye(6), transition.to_pose(q, absolute), representation, "body").T

    def rest(q, twists):  # S' V
        g = transition.to_pose(q, absolute)
        return convert_acceleration(np.zeros((1, 6)), twists, g, representation, "body")[0]

    def body(q, twists):
        return (to_body(q) @ twists[0])[None]

    return (
        lambda q: to_body(q).T @ mass @ to_body(q),
        lambda q, v, t: to_body(q).T @ (forces(q, body(q, v), t) - mass @ rest(q, v)),
        lambda q: jacobian(q) @ to_body(q),
        lambda q, v: bias(q, body(q, v)) - jacobian(q) @ rest(q, v),
        constraint,
    )


def top(name, absolute="quaternion", local="screw", representation="body"):
    parts = parts_of(name, absolute, representation == "mixed")
    if representation in ("spatial", "hybrid"):
        parts = in_representation(parts, absolute, representation)
    return ch.transition.LGTProblem(ch.transition.descriptor(*parts), absolute, local, 1, representation)


def initial(problem, name):
    _, pivot, turn, spin, _ = TOPS[name]
    matrix = pose.to_matrix(np.array([*turn, 0.0, 0.0, 0.0]))[:3, :3]
    g = np.array([*turn, *(-matrix @ np.array(pivot))])
    twist = np.concatenate([spin, cross(np.array(pivot), spin)])
    return problem.state(
        transition.from_pose(g, problem.chart), convert_twist(twist, g, "body", problem.representation)
    )


def final(problem, y):
    """Pose as a matrix and body twist of a point."""
    g = problem.poses(y)[0]
    return pose.to_matrix(g), convert_twist(problem.split(y)[1][0], g, problem.representation, "body")


def run(problem, name, method, steps, end=None):
    """A run that is done, to see what the method itself has."""
    end = end or TOPS[name][-1]
    options = Options(step=end / steps)
    going = start_run(problem, method, (0.0, end), initial(problem, name), options)
    going.finish(progress=False)
    return going


@functools.cache
def exact(name, end):
    problem = top(name)
    tight = {"rtol": 1e-13, "atol": 1e-13, "save": "final"}
    sol = ch.integrate.solve(problem, ch.integrate.RKMK("dop853"), (0.0, end), initial(problem, name), **tight)
    return final(problem, sol.y[-1])


def errors(going, name):
    """Largest errors of pose and twist at the end, and of the multipliers against those of the index-1 equations."""
    found, truth = final(going.problem, going.point()), exact(name, going.end)
    q, twists = going.problem.split(going.point())
    best = going.problem.acceleration.accelerations(q, twists, going.end)[1]
    off = np.abs(going.multipliers - best).max() / np.abs(best).max()
    return np.array([np.abs(found[0] - truth[0]).max(), np.abs(found[1] - truth[1]).max(), off])
