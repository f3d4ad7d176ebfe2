"""The study behind the figures of mueller2022: four systems, all coordinates, three methods, and direct integration.

Every run has steps of one size. Errors are measured against the order 8 pair at 1e-13.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import chasles as ch
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.gallery.boxes import double_pendulum, heavy_top
from chasles.lie import pose
from chasles.lie.transition.coordinates import LOCAL
from chasles.model.system import EARTH
from chasles.reproduce.direct_integration import WAYS, Direct
from chasles.reproduce.user_model import mechanism_problem, start

STUDIED_COORDINATES = ("quaternion", "rotation_vector", "euler:ZYX", "screw")
STUDIED_METHODS = ("kutta3", "rk4", "dopri5")
DIRECT = "direct"  # instead of local coordinates
REPEATED = 3  # runs of which the fastest counts


@dataclass(frozen=True)
class Case:
    """A system with its start (poses and body twists of the users' frames), the end of the study and its steps.

    Errors are compared at `at`, a fraction of the end: where the motion is chaotic, before that shows.
    """

    system: ch.System
    poses: np.ndarray
    twists: np.ndarray
    end: float
    steps: int
    at: float = 1.0


@dataclass(frozen=True)
class CoordinateRow:
    """A run: what was integrated how, and what came of it."""

    absolute: str
    local: str
    method: str
    position_error: float  # [m], largest of all bodies
    rotation_error: float  # largest entry of the rotation matrices
    norm_defect: float  # of quaternions, largest on the way
    constraint_defect: float  # [m] or [rad], largest on the way
    evaluations: float  # of the model, a step
    microseconds: float  # processor time, a step


def _top() -> Case:
    example = heavy_top(gravity=EARTH)
    return Case(example.system, example.poses, example.twists, 0.5, 1000)


def _pendulum() -> Case:
    example = double_pendulum()
    return Case(example.system, example.poses, example.twists, 2.0, 4000, at=0.25)


def _tumbling() -> Case:
    """A body about its middle axis, the unstable one, that passes the gimbal lock of ZYX at a milliradian and less."""
    system = ch.System([ch.Body("body", mass=2.0, inertia=(1.0, 2.0, 2.9))], [], gravity=(0.0, 0.0, 0.0), name="body")
    return Case(system, pose.identity((1,)), np.array([[1e-3, 9.0, 2e-3, 1.0, 0.5, -0.5]]), 3.0, 600)


def _chain(n: int = 20) -> Case:
    """Rods of one meter on spherical joints, from a horizontal line, with velocities at random."""
    rod: dict[str, Any] = {"mass": 1.0, "com": (0.5, 0.0, 0.0), "inertia": (0.01, 0.09, 0.1)}
    bodies = [ch.Body(f"rod {i}", **rod) for i in range(n)]
    joints = [
        ch.spherical(f"joint {i}", f"rod {i - 1}" if i else "ground", f"rod {i}", at=(1.0 if i else 0.0, 0.0, 0.0))
        for i in range(n)
    ]
    tree = ch.System(bodies, joints, name="chain").compile("relative")
    q, v = tree.neutral(), 0.5 * np.random.default_rng(3).normal(size=tree.nv)
    return Case(tree.system, tree.poses(q), tree.twists(q, v), 0.5, 500)


CASES: dict[str, Callable[[], Case]] = {
    "heavy_top": _top,
    "double_pendulum": _pendulum,
    "tumbling_body": _tumbling,
    "chain": _chain,
}


@cache
def case_of(name: str) -> Case:
    return CASES[name]()


@cache
def mechanism_of(name: str, space: str) -> AbsoluteMechanism:
    return AbsoluteMechanism(case_of(name).system, space, stabilized=False)


@cache
def reference(name: str) -> np.ndarray:
    """Poses (bodies, 4, 4) at the time of comparison."""
    case, mechanism = case_of(name), mechanism_of(name, "SE3")
    problem = mechanism_problem(mechanism, "quaternion", "screw")
    tight: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13, "save": "final", "progress": False}
    y0 = start(problem, mechanism, case.poses, case.twists)
    return pose.to_matrix(
        problem.poses(
            ch.integrate.solve(problem, ch.integrate.RKMK("dop853"), (0.0, case.at * case.end), y0, **tight).y[-1]
        )
    )


def measured(
    name: str, absolute: str, local: str, method: str, steps: int = 0, repeated: int = REPEATED
) -> CoordinateRow:
    """A run of a system; `local` is the name of local coordinates, or DIRECT with a way of `direct_integration`."""
    case = case_of(name)
    h = case.end / (steps or case.steps)
    mechanism = mechanism_of(name, "SO3xR3" if local == DIRECT else LOCAL[local].group)
    posed: Any
    if local == DIRECT:
        posed = Direct(mechanism, absolute)
        problem, y0 = posed.problem, posed.state(*mechanism.state(case.poses, case.twists))
    else:
        problem = posed = mechanism_problem(mechanism, absolute, local)
        y0 = start(posed, mechanism, case.poses, case.twists)
    options: dict[str, Any] = {"step": h, "progress": False}
    sol = ch.integrate.solve(problem, ch.integrate.RKMK(method), (0.0, case.end), y0, **options)
    spent = np.inf
    for _ in range(repeated):
        began = time.process_time()
        ch.integrate.solve(problem, ch.integrate.RKMK(method), (0.0, case.end), y0, save="final", **options)
        spent = min(spent, time.process_time() - began)
    poses = posed.poses(sol.y)
    norms = np.linalg.norm(poses[..., :4], axis=-1)
    unit = pose.project(poses)
    apart = abs(pose.to_matrix(unit[round(case.at * (len(unit) - 1))]) - reference(name))
    still = np.zeros((*unit.shape[:-1], 6))
    defects = mechanism.constraint_violation(unit, still)[0] if case.system.joints else np.zeros(1)
    return CoordinateRow(
        *(absolute, local, method, float(apart[:, :3, 3].max()), float(apart[:, :3, :3].max())),
        *(float(abs(norms - 1).max()), float(defects.max(initial=0.0))),
        *(sol.evaluations / sol.steps, 1e6 * spent / sol.steps),
    )


@cache
def study(name: str) -> tuple[CoordinateRow, ...]:
    """All combinations with all methods, and direct integration."""
    pairs = [(absolute, local) for absolute in STUDIED_COORDINATES for local in LOCAL] + [(way, DIRECT) for way in WAYS]
    return tuple(measured(name, *pair, method) for method in STUDIED_METHODS for pair in pairs)


def row(name: str, absolute: str, local: str, method: str) -> CoordinateRow:
    """One run of a study."""
    return next(r for r in study(name) if (r.absolute, r.local, r.method) == (absolute, local, method))
