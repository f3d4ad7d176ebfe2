"""Runs of the symplectic methods on T*SO(3), for long times: the theta family, variational methods, compositions.

Two kinds of problems:

- `HamiltonianOnSO3`: any Hamiltonian, given by its field (celledoni2022 eq. (14)). Solved by `SymplecticTheta`.
- `RigidBodyOnSO3`: kinetic energy of a rigid body and a torque that depends on Q (and time). Solved by `LieVerlet` and
  `MoserVeselov` too.

A last step that is shortened to end the span ends the good behavior of the energy there: take a span of whole steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.integrate.composition import Composition
from chasles.integrate.cotangent import (
    HAMILTONIAN,
    RIGID_BODY,
    SPACE,
    HamiltonianOnSO3,
    RigidBodyOnSO3,
    field_value,
    hamiltonian_field,
    load4,
    store_state,
)
from chasles.integrate.fixed_step import TIMES, FixedStepper, clock, record
from chasles.integrate.newton import COUNTS
from chasles.integrate.options import Options
from chasles.integrate.solution import Solution
from chasles.integrate.status import DONE, RUNNING
from chasles.integrate.stepper import Stepper, as_field
from chasles.integrate.theta import SymplecticTheta, theta_step
from chasles.integrate.variational import (
    MOSER_VESELOV,
    THETA,
    VERLET_CAY,
    VERLET_EXP,
    LieVerlet,
    MoserVeselov,
    variational_step,
)
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3
from chasles.lie import pose, quaternion, s3

CHOICE = layout("CHOICE", method=1, problem=1, count=1, every=1)

# ---------------------------------------------------------------- the loop


@kernel
def save_state(method, t, y, source, memory, counts, saved):
    """Save a state in space axes, with its field value."""
    point, f = memory[:7], memory[7:13]
    q, momentum = load4(y, 0), load3(y, 4, 0.0)
    if method != THETA:
        momentum = quaternion.rotate(q, momentum)
    store_state(point, q, momentum)
    hamiltonian_field(source, t, point, f)
    counts[COUNTS.evaluations] += 1
    saved_t, saved_y, saved_f, saved_x = saved
    record(counts[COUNTS.rows], t, point, f, f, saved_t, saved_y, saved_f, saved_x)
    counts[COUNTS.rows] += 1


@kernel
def copy(source, target, count):
    for i in range(count):
        target[i] = source[i]


@kernel(entry=True)
def advance(
    choice,
    times,
    theta,
    parts,
    y,
    z,
    lu,
    pivots,
    valid,
    torque,
    groups,
    counts,
    history,
    memory,
    inertia,
    inverse,
    saved_t,
    saved_y,
    saved_f,
    saved_x,
    address,
    p,
    limit,
):
    """Take up to `limit` steps, each in `parts` (fractions of it, in turn).

    y, z, lu, pivots, valid, torque and counts are the whole memory of a run. The methods for rigid bodies keep the body
    momentum in y, and in `torque` its value at the point.
    """
    method, count, every = choice[CHOICE.method], choice[CHOICE.count], choice[CHOICE.every]
    scratch, old_y, old_torque, spare = memory[:35], memory[35:42], memory[42:45], memory[45:48]
    solver = z, lu, pivots, valid, groups
    saved = saved_t, saved_y, saved_f, saved_x
    kept = choice[CHOICE.problem], inverse, torque, address, p
    source = choice[CHOICE.problem], inverse, spare, address, p
    for _ in range(limit):
        if counts[COUNTS.step] >= count:
            counts[COUNTS.status] = DONE
            return
        t, target, h, last = clock(counts, times, count)
        copy(y, old_y, 7)
        copy(torque, old_torque, 3)
        if last:
            for i in range(z.shape[0]):
                z[i] *= h / times[TIMES.step]
        elapsed, status = 0.0, DONE
        for k in range(parts.shape[0]):
            now, part = t + elapsed * h, parts[k] * h
            if method == THETA:
                status = theta_step(theta, k, now, part, y, solver, source, scratch, counts, history)
            else:
                status = variational_step(method, now, part, y, inertia, kept, counts, history)
            if status != DONE:
                break
            elapsed += parts[k]
        if status != DONE:
            copy(old_y, y, 7)
            copy(old_torque, torque, 3)
            counts[COUNTS.status] = status
            return
        counts[COUNTS.step] += 1
        if last or (every > 0 and counts[COUNTS.step] % every == 0):
            save_state(method, target, y, source, scratch, counts, saved)
    counts[COUNTS.status] = RUNNING


# ---------------------------------------------------------------- the run


class SymplecticStepper(FixedStepper):
    """A run of a symplectic method. `y0` and results are (quaternion, pi), whatever the method."""

    problems = (HamiltonianOnSO3, RigidBodyOnSO3)
    methods = (SymplecticTheta, LieVerlet, MoserVeselov, Composition)
    memory_names = ("counts", "y", "z", "lu", "pivots", "valid", "torque")

    def __init__(self, problem: HamiltonianOnSO3 | RigidBodyOnSO3, method: Any, span, y0, options: Options):
        base = method.base if isinstance(method, Composition) else method
        if isinstance(problem, HamiltonianOnSO3) and not isinstance(base, SymplecticTheta):
            raise TypeError(
                f"solve: {base} needs the inertia and the torque of a RigidBodyOnSO3; a HamiltonianOnSO3 is solved by "
                "SymplecticTheta and its Composition"
            )
        self.y = SPACE.check(y0)
        super().__init__(problem, method, span, options, self.y, SPACE.dimension)
        self.space = SPACE
        rigid = isinstance(problem, RigidBodyOnSO3)
        given: Any = problem.torque if isinstance(problem, RigidBodyOnSO3) else problem.field
        self.field = as_field(given, 3 if rigid else 6)
        self.address = self.field.address
        self.code = _code(base)
        self.theta = float(base.theta) if isinstance(base, SymplecticTheta) else 0.5
        self.parts = np.array(method.parts if isinstance(method, Composition) else (1.0,))
        kind = RIGID_BODY if rigid else HAMILTONIAN
        self.choice = np.array([self.code, kind, self.plan.steps, self.every], dtype=np.int64)
        matrix = problem.matrix if isinstance(problem, RigidBodyOnSO3) else np.eye(3)
        self.inertia, self.inverse = matrix.reshape(-1), np.linalg.inv(matrix).reshape(-1)
        m = len(self.parts)
        self.z, self.lu = np.zeros(6 * m), np.zeros(36 * m)
        self.pivots, self.valid = np.zeros(6 * m, dtype=np.int64), np.zeros(m, dtype=np.int64)
        self.groups = np.array([0, 0, 0, 1, 1, 1], dtype=np.int64)
        self.torque, self.memory = np.zeros(3), np.zeros(48)
        f, start = np.empty(6), self.y.copy()
        field_value(kind, self.inverse, self.torque, self.address, self.p, self.start, start, f)
        if self.code != THETA:  # these methods work with the momentum in body axes
            self.y[4:] = s3.AdT_apply(start[:4], start[4:])
        self.start_with(start, f)

    hand_over = Stepper.hand_over  # the moves between the points are found at the end only

    def indices(self) -> dict[str, tuple[np.ndarray, int]]:
        return {"pivots": (self.pivots, len(self.groups))}

    def point(self) -> np.ndarray:
        point = self.y.copy()
        if self.code != THETA:
            point[4:] = s3.Ad_apply(point[:4], point[4:])
        return point

    def take(self, limit: int) -> None:
        advance(
            *(self.choice, self.times, self.theta, self.parts),
            *(self.y, self.z, self.lu, self.pivots, self.valid, self.torque),
            *(self.groups, self.counts, self.history, self.memory, self.inertia, self.inverse),
            *(self.saved_t, self.saved_y, self.saved_f, self.saved_x, self.address, self.p, limit),
        )

    def evaluations(self) -> int:
        residuals = self.counts[COUNTS.iterations] + 6 * self.counts[COUNTS.matrices]
        return int(self.counts[COUNTS.evaluations] + (residuals if self.choice[CHOICE.method] == THETA else 0))

    def no_curve(self) -> str:
        """A step must not turn so far that the logarithm of its move would be another one."""
        rows = slice(int(self.counts[COUNTS.rows]))
        turn = abs(self.plan.step) * np.linalg.norm(self.saved_f[rows, :3], axis=1).max(initial=0.0)
        if self.every == 1 and turn >= 0.9 * np.pi:
            return f"a step turns by {turn:.2g} rad, so there is no unique curve between the points; take shorter steps"
        return super().no_curve()

    def solution(self, success: bool, message: str) -> Solution:
        rows = slice(int(self.counts[COUNTS.rows]))
        y = self.saved_y[rows]
        if len(y) > 1 and not self.no_curve():
            self.saved_x[rows][1:] = pose.log(pose.compose(y[1:], pose.inverse(y[:-1])))
            self.saved_x[0] = 0.0
        return super().solution(success, message)


def _code(method: SymplecticTheta | LieVerlet | MoserVeselov) -> int:
    """The number by which the loop knows a method."""
    if isinstance(method, SymplecticTheta):
        return THETA
    if isinstance(method, LieVerlet):
        return VERLET_EXP if method.map == "exp" else VERLET_CAY
    return MOSER_VESELOV
