"""Position inverse kinematics of closed mechanisms: damped Gauss-Newton steps along what the constraints allow.

As `relative.inverse_kinematics` of trees, with steps δ = N y, J N = 0, each followed by an assembly nearby. Coordinates
at a limit that a step would leave are held for the step and in its assembly. It is a question of geometry alone: the
metric is that of what is large for each coordinate, masses have no part in it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from chasles.assembly import search
from chasles.assembly.equations import Linear
from chasles.assembly.rank import decomposed
from chasles.lie import pose as pose_group
from chasles.lie import so3
from chasles.relative.inverse_kinematics import (
    CONVERGED,
    DAMPING,
    EXHAUSTED,
    SMALL_GAIN,
    SMALL_STEP,
    STALLED,
)
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.reach import Aim, Reach, best_of, error_of, nearest_turns

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism

ON_LIMIT = 1e-12  # of what is large for a coordinate: as good as at its limit
Attempt = tuple[int, int, float, np.ndarray]


class Geometry(LoopEquations):
    """The rows that close a tree, in the metric of the coordinates."""

    def __init__(self, mechanism: ClosedMechanism, t: float, held: np.ndarray, large: np.ndarray):
        super().__init__(mechanism, t, held)
        self.large = large

    def linear(self, x: np.ndarray, on_group: bool = False) -> Linear:
        root = np.diag(self.large)[:, self.free]
        return Linear(self.jacobian(x, on_group) @ root, self.units, root.__matmul__)

    def project(self, x: np.ndarray) -> np.ndarray:
        return search.approach(self, x)

    def allowed(self, x: np.ndarray) -> np.ndarray:
        """Motions (nv, freedoms)."""
        rows, reach, step = self.linear(x)
        if not len(rows):
            return step(np.eye(len(self.free)))
        _, right, rank = decomposed(rows, reach)
        return step(right[rank:].T)


def reach(mechanism: ClosedMechanism, aim: Aim, given: bool, t: float) -> Reach:
    """See `ClosedMechanism.inverse_kinematics`; given: whether the start is, and has to be near the constraints."""
    if given:
        nothing = np.empty(0, dtype=int)
        equations = Geometry(mechanism, t, nothing, aim.limits[2 * mechanism.nv :])
        aim = aim._replace(start=search.assemble(equations, aim.start))
    approach = _Approach(mechanism, aim, t)
    best = best_of(mechanism.spanning, aim, approach)
    if math.isinf(best.residual):
        return replace(best, message="no start was found on the constraints and within the limits; give q0 near one")
    wrapped, counted = nearest_turns(mechanism.spanning, best.q, aim), mechanism.closing.counted
    wrapped[counted] = best.q[counted]  # couplings and drives count full turns
    approach.clip(wrapped)
    return replace(best, q=wrapped, residual=error_of(mechanism.spanning, aim, wrapped))


class _Approach:
    """Bring a frame of a closed mechanism to its target, from a start that is assembled first."""

    def __init__(self, mechanism: ClosedMechanism, aim: Aim, t: float):
        self.mechanism, self.aim, self.t, nv = mechanism, aim, t, mechanism.nv
        self.low, self.high, self.large = aim.limits[:nv], aim.limits[nv : 2 * nv], aim.limits[2 * nv :]
        tree = mechanism.tree
        self.place = np.full(nv, -1)  # of a velocity's coordinate in q, if it is one number
        for joint in tree.joints:
            if joint.screws:
                at, along = tree.coordinates[joint.name], tree.velocities[joint.name]
                self.place[along] = range(at.start, at.stop)
        self.single = np.flatnonzero(self.place >= 0)

    def equations(self, held: np.ndarray) -> Geometry:
        return Geometry(self.mechanism, self.t, np.flatnonzero(held), self.large)

    def beyond(self, q: np.ndarray, by: float = 0.0) -> np.ndarray:
        """Which velocities' coordinates are below their lower limits (-1) or above their upper ones (1)."""
        found, at = np.zeros(len(self.place)), q[self.place[self.single]]
        low, high, slack = (part[self.single] for part in (self.low, self.high, by * self.large))
        found[self.single] = np.where(at > high + slack, 1.0, np.where(at < low - slack, -1.0, 0.0))
        return found

    def clip(self, q: np.ndarray) -> None:
        """Bring coordinates that are as good as at their limits into them."""
        at = self.place[self.single]
        q[at] = np.clip(q[at], self.low[self.single], self.high[self.single])

    def onto(self, q: np.ndarray, held: np.ndarray) -> np.ndarray | None:
        """The configuration on the constraints and within the limits near one, or None."""
        held = held.copy()
        for _ in range(len(held) + 1):
            equations = self.equations(held)
            q = search.attempt(equations, q)
            if not np.isfinite(q).all() or equations.off(q, search.ASSEMBLED) is not None or self.mechanism.turned(q):
                return None
            out = self.beyond(q, ON_LIMIT)
            if not out.any():
                return q
            if held[out != 0.0].any():
                return None
            held |= out != 0.0
            which = np.flatnonzero(out)
            q[self.place[which]] = np.where(out > 0, self.high, self.low)[which]
        return None

    def error(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weighted error, and its Jacobian with the sign of a step that lowers it."""
        tree, (of_turn, of_place) = self.mechanism.spanning, self.aim.inner
        pose, J = tree.poses(q, self.aim.frame), tree.jacobian(q, self.aim.frame, representation="mixed")
        turn = pose_group.log(pose_group.compose(pose_group.inverse(pose), self.aim.goal))[:3]
        error = np.concatenate([of_turn * turn, of_place * (self.aim.goal[4:] - pose[4:])])
        return error, np.concatenate([of_turn * so3.dexpinv(turn) @ J[:3], of_place * J[3:]])

    def step(self, q: np.ndarray, error: np.ndarray, J: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """δ of the damped equations within the limits, and what it holds."""
        held = np.zeros(len(self.place), dtype=bool)
        edge = self.beyond(q, -ON_LIMIT)
        while True:
            N = self.equations(held).allowed(q)
            A = J @ N
            square = float(np.sum(A * A))
            if not square > 0.0:
                return np.zeros(len(held)), held
            delta = N @ np.linalg.solve(A.T @ A + damping * square / 6.0 * np.eye(N.shape[1]), A.T @ error)
            leaves = (edge * delta > ON_LIMIT * self.large * np.abs(delta / self.large).max()) & ~held
            if not leaves.any():
                break
            held |= leaves
        moving = self.single[delta[self.single] != 0.0]
        room = np.where(delta > 0, self.high, self.low)[moving] - q[self.place[moving]]
        return delta * min(1.0, np.min(np.maximum(room / delta[moving], 0.0), initial=1.0)), held

    def __call__(self, q: np.ndarray) -> Attempt:
        placed = self.onto(q, np.zeros(len(self.place), dtype=bool))
        if placed is None:
            return EXHAUSTED, 0, math.inf, q
        q, (error, J) = placed, self.error(placed)
        damping, growth, cost = DAMPING[0], 2.0, 0.5 * float(error @ error)
        for iteration in range(self.aim.iterations):
            if math.sqrt(2.0 * cost) <= self.aim.tolerance:
                return CONVERGED, iteration, math.sqrt(2.0 * cost), q
            delta, held = self.step(q, error, J, damping)
            if not np.abs(delta / self.large).max(initial=0.0) > SMALL_STEP:
                return STALLED, iteration, math.sqrt(2.0 * cost), q
            trial = self.onto(self.mechanism.retract(q, delta), held)
            new = None if trial is None else self.error(trial)
            gain = -1.0 if new is None else cost - 0.5 * float(new[0] @ new[0])
            if trial is not None and new is not None and gain > 0.0:
                left = error - J @ delta
                trust = 2.0 * gain / (cost - 0.5 * float(left @ left)) - 1.0
                q, (error, J), cost = trial, new, cost - gain
                damping, growth = max(max(0.1, 1.0 - trust**3) * damping, DAMPING[1]), 2.0
                if gain < SMALL_GAIN * cost:
                    return STALLED, iteration + 1, math.sqrt(2.0 * cost), q
            else:
                damping, growth = growth * damping, 2.0 * growth
                if damping > DAMPING[2]:
                    return STALLED, iteration + 1, math.sqrt(2.0 * cost), q
        ended = CONVERGED if math.sqrt(2.0 * cost) <= self.aim.tolerance else EXHAUSTED
        return ended, self.aim.iterations, math.sqrt(2.0 * cost), q
