"""Position inverse kinematics in steps of Python, for what compiled code does not know: joints that follow others and,
with steps along what constraints allow, loops (`relative.loop.inverse_kinematics`).

As `relative.inverse_kinematics`, with steps δ = N y along the columns of N; coordinates at a limit that a step would
leave are held for the step.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

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

if TYPE_CHECKING:
    from chasles.relative.mechanism import Mechanism
    from chasles.relative.reach import Aim

ON_LIMIT = 1e-12  # of what is large for a coordinate: as good as at its limit
Attempt = tuple[int, int, float, np.ndarray]


class Approach:
    """Bring a frame to its target from a start."""

    def __init__(self, tree: Mechanism, aim: Aim):
        self.tree, self.aim, nv = tree, aim, tree.nv
        self.low, self.high, self.large = aim.limits[:nv], aim.limits[nv : 2 * nv], aim.limits[2 * nv :]
        self.place = np.full(nv, -1)  # of a velocity's coordinate in q, if it is one number
        for joint in tree.tree.joints:
            if joint.screws:
                at, along = tree.tree.coordinates[joint.name], tree.tree.velocities[joint.name]
                self.place[along] = range(at.start, at.stop)
        self.single = np.flatnonzero(self.place >= 0)

    def allowed(self, q: np.ndarray, held: np.ndarray) -> np.ndarray:
        """Motions (nv, freedoms) that leave some coordinates where they are, of length one in what is large."""
        return np.diag(self.large)[:, ~held]

    def onto(self, q: np.ndarray, held: np.ndarray) -> np.ndarray | None:
        """The configuration within the limits near one; where there are constraints, on them, or None."""
        self.clip(q)
        return q

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

    def error(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The weighted error, and its Jacobian with the sign of a step that lowers it."""
        tree, (of_turn, of_place) = self.tree, self.aim.inner
        pose, J = tree.poses(q, self.aim.frame), tree.jacobian(q, self.aim.frame, representation="mixed")
        turn = pose_group.log(pose_group.compose(pose_group.inverse(pose), self.aim.goal))[:3]
        error = np.concatenate([of_turn * turn, of_place * (self.aim.goal[4:] - pose[4:])])
        return error, np.concatenate([of_turn * so3.dexpinv(turn) @ J[:3], of_place * J[3:]])

    def step(self, q: np.ndarray, error: np.ndarray, J: np.ndarray, damping: float) -> tuple[np.ndarray, np.ndarray]:
        """δ of the damped equations within the limits, and what it holds."""
        held = np.zeros(len(self.place), dtype=bool)
        edge = self.beyond(q, -ON_LIMIT)
        while True:
            N = self.allowed(q, held)
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
            trial = self.onto(self.tree.retract(q, delta), held)
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
