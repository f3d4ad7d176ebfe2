"""Differential dynamic programming with Hessians of Gauss and Newton (iLQR), bounds on inputs and limits.

Each iteration takes exact derivatives of all steps, goes backward for the best change of the inputs and their feedback,
and forward for the motion under both. Limits are held by multipliers, which are renewed when the motion has settled.
What is constant along the motion, as its duration, is behind the state: its best value is found at the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.plan.account import Account, Course, Quadratic
from chasles.plan.held_steps import HeldSteps
from chasles.plan.riccati import backward

SHARES = 0.5 ** np.arange(12)  # of the change that are tried
ACCEPTED = 1e-4  # of the decrease that was foreseen
DAMPING_FIRST, DAMPING_MOST, DAMPING_FACTOR = 1e-8, 1e10, 8.0
SETTLED = 0.25  # of a violation: more than this left of it, and the limit becomes stiffer
LONGER = 0.1  # of the duration: its largest change in an iteration
STIFF_FIRST, STIFF_FACTOR, STIFF_MOST = 100.0, 10.0, 1e12


@dataclass
class Policy:
    """A motion, the change of its inputs that was found, and how they follow changes of the state."""

    points: np.ndarray
    inputs: np.ndarray
    change: np.ndarray
    gains: np.ndarray
    bounds: np.ndarray
    states: np.ndarray  # which of (δ, δv) the gains look at
    moved: np.ndarray  # change of the constants
    foreseen: np.ndarray  # change of the cost, to first and to second order


@dataclass
class Iteration:
    """One iteration, for the history."""

    cost: float
    off: float
    share: float
    damping: float


class Ddp:
    """An optimal control problem in its steps, and the present motion."""

    def __init__(
        self, steps: HeldSteps, account: Account, bounds: np.ndarray, duration: tuple[float, float, float], free: bool
    ):
        """duration: lowest, present and highest one; free: whether it is free."""
        self.steps, self.account, self.bounds = steps, account, bounds
        self.low, self.duration, self.high = duration
        self.timed, self.extra = free, int(free)
        self.history: list[Iteration] = []
        self.damping = 0.0
        self.policy: Policy | None = None

    def hold(self) -> bool:
        """Hold the duration for now; whether it was free."""
        free, self.timed, self.extra = self.timed, False, 0
        return free

    def release(self) -> bool:
        """Let the duration change from now on; whether there is more to release, which is not."""
        self.timed, self.extra = True, 1
        return False

    def course(self, points: np.ndarray, inputs: np.ndarray, duration: float) -> Course:
        q, v = self.steps.split(points)
        return Course(self.steps.times(duration / self.steps.count), q, v, inputs, duration)

    # ------------------------------------------------------------ one iteration

    def model(self, points: np.ndarray, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray, Quadratic, np.ndarray]:
        """A and B of all steps, the quadratic cost, and which of (δ, δv) the states are."""
        steps, h = self.steps, self.duration / self.steps.count
        A, B = steps.derivatives(points[:-1], inputs, h)
        cost = self.account.quadratic(self.course(points, inputs, self.duration), self.extra, self.timed)
        chosen, basis = steps.states(points, h)
        if basis is not None:
            A = np.take_along_axis(A @ basis[:-1], chosen[1:, :, None], axis=1)
            B = np.take_along_axis(B, chosen[1:, :, None], axis=1)
            cost = _reduced(cost, basis, self.extra)
        if self.timed:
            rate = steps.by_size(points[:-1], inputs, h) / steps.count
            if basis is not None:
                rate = np.take_along_axis(rate, chosen[1:], axis=1)
            n = A.shape[1]
            larger = np.zeros((len(A), n + 1, n + 1))
            larger[:, :n, :n], larger[:, :n, n], larger[:, n, n] = A, rate, 1.0
            A, B = larger, np.concatenate([B, np.zeros((len(B), 1, B.shape[2]))], axis=1)
        return A, B, cost, chosen

    def improve_policy(self, points: np.ndarray, inputs: np.ndarray, model: tuple[Any, ...]) -> Policy:
        """The backward pass, with as much damping as it needs."""
        A, B, cost, chosen = model
        N, n, m = B.shape
        rooms = (
            *(np.empty((n, n)), np.empty((n, m)), np.empty((n, n)), np.empty((m, n)), np.empty((m, m))),
            *(np.empty((m, m)), np.empty((m, 1)), np.empty(n), np.empty(m), np.empty(m), np.empty((m, m))),
        )
        k, K, v, W, foreseen = np.empty((N, m)), np.empty((N, m, n)), np.empty(n), np.empty((n, n)), np.empty(2)
        linear = tuple(map(np.ascontiguousarray, (A, B)))
        while True:
            low, high = self.bounds[0] - inputs, self.bounds[1] - inputs
            failed = backward(linear, cost.arrays(), (low, high), self.damping, v, W, (k, K), foreseen, rooms)
            if failed < 0:
                break
            self.stiffen()
        moved = np.zeros(self.extra)
        if self.timed:
            moved[0] = self._best_duration(v[-1], W[-1, -1])
            foreseen += (v[-1] * moved[0], 0.5 * W[-1, -1] * moved[0] ** 2)
        return Policy(points, inputs, k, K, self.bounds, chosen, moved, foreseen)

    def _best_duration(self, slope: float, bend: float) -> float:
        bend = abs(bend) * (1 + self.damping) or abs(slope) / self.duration
        step = -slope / bend if bend else 0.0
        step = float(np.clip(step, -LONGER * self.duration, LONGER * self.duration))
        return float(np.clip(self.duration + step, self.low, self.high)) - self.duration

    def stiffen(self) -> None:
        self.damping = max(DAMPING_FIRST, DAMPING_FACTOR * self.damping)
        if self.damping > DAMPING_MOST:
            raise RuntimeError(
                "plan: no change of the inputs makes the cost smaller, whatever the damping: the cost has no curvature "
                "along some input; add effort(weight) with a small weight, or bounds"
            )

    def advance(self, points: np.ndarray, policy: Policy, merit: float) -> tuple[np.ndarray, np.ndarray, float, float]:
        """The forward pass: the motion with the largest share of the change that makes the merit smaller."""
        for share in SHARES:
            moved = share * policy.moved
            duration = self.duration + (float(moved[0]) if self.timed else 0.0)
            new, inputs = self.steps.roll_with(policy, float(share), moved, duration / self.steps.count)
            if not np.isfinite(new).all():
                continue
            with np.errstate(over="ignore", invalid="ignore"):  # far away, and then refused
                found = self.account.merit(self.course(new, inputs, duration))
            foreseen = -(share * policy.foreseen[0] + share**2 * policy.foreseen[1])
            if np.isfinite(found) and merit - found >= ACCEPTED * foreseen:
                self.duration = duration
                return new, inputs, found, float(share)
        return points, policy.inputs, merit, 0.0

    # ------------------------------------------------------------ loops

    def settle(self, points: np.ndarray, inputs: np.ndarray, tolerance: float, most: int) -> tuple[Any, Any, bool]:
        """Iterate until the cost that is left to gain is below the tolerance, relative; the motion, and whether it
        has settled."""
        merit = self.account.merit(self.course(points, inputs, self.duration))
        first, self.damping = abs(merit), 0.0
        for number in range(most):
            model = self.model(points, inputs)
            if not self.history:
                self._set_stiffness(model, points, inputs)
                merit = self.account.merit(self.course(points, inputs, self.duration))
                first = abs(merit)
                model = self.model(points, inputs)
            while True:
                self.policy = policy = self.improve_policy(points, inputs, model)
                gain = -(policy.foreseen[0] + policy.foreseen[1])
                if gain <= (tolerance if number else min(tolerance, 1e-9)) * abs(merit) or gain <= 1e-15 * first:
                    return points, inputs, True
                points, inputs, new, share = self.advance(points, policy, merit)
                if share > 0.0:
                    break
                if gain <= 1e-9 * abs(merit) or self.damping * DAMPING_FACTOR > DAMPING_MOST:
                    return points, inputs, True  # what is left is rounding
                self.stiffen()
            self.damping = (
                self.damping / DAMPING_FACTOR
                if share > 0.2 and self.damping > DAMPING_FIRST
                else (0.0 if share > 0.2 else max(DAMPING_FIRST, self.damping * DAMPING_FACTOR))
            )
            merit = new
            course = self.course(points, inputs, self.duration)
            self.history.append(Iteration(self.account.cost(course), self.violation(course), share, self.damping))
        return points, inputs, False

    def violation(self, course: Course) -> float:
        """The largest violation of a limit."""
        pairs = zip(self.account.restraints, self.account.values(course), strict=True)
        return max((float(one.off(values).max(initial=0.0)) for one, values in pairs), default=0.0)

    def _set_stiffness(self, model: tuple[Any, ...], points: np.ndarray, inputs: np.ndarray) -> None:
        """Stiffnesses of limits that outweigh the cost of the inputs that it takes to change them."""
        A, B, cost, _ = model
        if not self.account.restraints:
            return
        reach = np.zeros((self.steps.count + 1, *A.shape[1:]))  # what unit inputs make of the states
        for k in range(self.steps.count):
            reach[k + 1] = A[k] @ reach[k] @ A[k].T + B[k] @ B[k].T
        own = np.einsum("kii->ki", cost.uu)
        price = float(own[own > 0].mean()) if (own > 0).any() else 0.0
        if not price:
            span = np.where(np.isfinite(self.bounds).all(axis=0), np.ptp(self.bounds, axis=0), 0.0)
            spent = abs(self.account.cost(self.course(points, inputs, self.duration))) or 1.0
            price = spent / self.steps.count / float((span[span > 0] ** 2).mean()) if (span > 0).any() else 1.0
        course = self.course(points, inputs, self.duration)
        _, basis = self.steps.states(points, self.duration / self.steps.count)
        for one in self.account.restraints:
            slopes = self.account._at(one.limit.quantity, one.nodes, course)[1]
            if basis is not None:
                slopes = slopes @ basis[one.nodes]
            own_reach = reach[one.nodes][:, : slopes.shape[2], : slopes.shape[2]]
            moved = np.einsum("kmi,kij,kmj->km", slopes, own_reach, slopes)
            least = moved[moved > 1e-9 * moved.max(initial=0.0)]
            one.stiffness = STIFF_FIRST * price / float(np.median(least)) if least.size else price


def _reduced(cost: Quadratic, basis: np.ndarray, extra: int) -> Quadratic:
    """The cost of a closed mechanism by its independent changes."""
    n, m = basis.shape[1:]
    full = np.zeros((len(basis), n + extra, m + extra))
    full[:, :n, :m] = basis
    full[:, np.arange(n, n + extra), np.arange(m, m + extra)] = 1.0
    turned = full.transpose(0, 2, 1)
    return Quadratic(
        *((turned @ cost.x[..., None])[..., 0], cost.u, turned @ cost.xx @ full, cost.uu, cost.ux @ full[:-1])
    )
