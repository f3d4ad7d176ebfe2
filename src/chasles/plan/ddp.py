"""Differential dynamic programming with bounds on inputs and limits.

Each iteration takes exact derivatives of all steps, goes backward for the best change of the inputs and their feedback,
and forward for the motion under both. Second derivatives of the steps (`curvature`) are taken where Hessians are
positive with them, else those of Gauss and Newton (iLQR). Limits are held by multipliers, which are renewed when the
motion has settled. What is constant along the motion, as its duration, is behind the state: its best value is found at
the start.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.integrate.stepper import Attention
from chasles.plan.account import Account, Course, Quadratic, sides_of
from chasles.plan.curvature import add_curvature
from chasles.plan.held_steps import HeldSteps
from chasles.plan.riccati import backward

SHARES = 0.5 ** np.arange(12)  # of the change that are tried
ACCEPTED = 1e-4  # of the decrease that was foreseen
DAMPING_FIRST, DAMPING_MOST, DAMPING_FACTOR = 1e-8, 1e10, 8.0
SETTLED = 0.25  # of a violation: more than this left of it, and the limit becomes stiffer
LONGER = 0.1  # of the duration: its largest change in an iteration
PARTS = (1.0, 0.5, 0.25, 0.125)  # of what second derivatives add, the largest with which Hessians are positive
PATIENCE = 8  # iterations without second derivatives, at most, after these did not help
NEAR_FIRST = 1e-3  # of the merit: what a change of all states by one costs after a step that went too far
NOTICED = 1e-3  # of what is large for a limit: violations at the start that count
UNMOVED = 1e6  # times the usual: what violations cost, at most, of numbers that inputs hardly change at first
OUTWEIGH = 10.0  # what violations cost at first, in units of the cost of the first motion without its duration
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
    slopes: np.ndarray  # of the cost of all that comes after each node, by its state


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
        self.units = steps.dynamics.units[: 2 * steps.nv]  # of the states
        self.low, self.duration, self.high = duration
        self.timed, self.extra = free, int(free)
        self.history: list[Iteration] = []
        self.damping, self.waiting, self.patience = 0.0, 2, 0
        self.near = 0.0
        self.attention = Attention()  # to Ctrl-C
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
        course = self.course(points, inputs, self.duration)
        cost = self.account.quadratic(course, self.extra, self.timed)
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
        cost.fold(A, B)
        return A, B, cost, chosen

    def newton_policy(
        self, points: np.ndarray, inputs: np.ndarray, model: tuple[Any, ...], slopes: np.ndarray
    ) -> Policy | None:
        """The backward pass with all second derivatives, if they were not in vain lately; None where the Hessian is not
        positive, so that the one of Gauss and Newton serves better."""
        self.waiting -= 1
        if self.steps.closed or self.waiting >= 0:
            return None
        A, B, cost, chosen = model
        names = ("xx", "uu", "ux", "cross")
        more = replace(cost, **{name: np.zeros_like(getattr(cost, name)) for name in names})
        course = self.course(points, inputs, self.duration)
        add_curvature(self.steps, self.account, course, points, inputs, (A, B), slopes, more)
        for part in PARTS:
            whole = replace(cost, xx=cost.xx + part * more.xx, uu=cost.uu + part * more.uu, ux=cost.ux + part * more.ux)
            found = self.backward(points, inputs, (A, B, whole, chosen), 0.0)
            if found is not None:
                return found
        return None

    def held_near(self, model: tuple[Any, ...], merit: float) -> tuple[Any, ...]:
        """The model with what keeps the motion near the present one: a change by one of all states costs so much of the
        merit (`near`)."""
        A, B, cost, chosen = model
        n, xx = len(self.units), cost.xx.copy()
        xx[:, np.arange(n), np.arange(n)] += self.near * abs(merit) / (len(A) * self.units**2)
        return A, B, replace(cost, xx=xx), chosen

    def improve_policy(self, points: np.ndarray, inputs: np.ndarray, model: tuple[Any, ...]) -> Policy:
        """The backward pass, with as much damping as it needs."""
        while (found := self.backward(points, inputs, model, self.damping)) is None:
            self.stiffen()
        return found

    def backward(self, points: np.ndarray, inputs: np.ndarray, model: tuple[Any, ...], damping: float) -> Policy | None:
        """The backward pass; None if the Hessian of an input is not positive."""
        A, B, cost, chosen = model
        N, n, m = B.shape
        rooms = (
            *(np.empty((n, n)), np.empty((n, m)), np.empty((n, n)), np.empty((m, n)), np.empty((m, m))),
            *(np.empty((m, m)), np.empty((m, 1)), np.empty(n), np.empty(m), np.empty(m), np.empty((m, m))),
        )
        k, K, v, W, foreseen = np.empty((N, m)), np.empty((N, m, n)), np.empty(n), np.empty((n, n)), np.empty(2)
        slopes = np.empty((N + 1, n))
        linear, bounds = tuple(map(np.ascontiguousarray, (A, B))), (self.bounds[0] - inputs, self.bounds[1] - inputs)
        if backward(linear, cost.arrays(), bounds, damping, v, W, (k, K), foreseen, slopes, rooms) >= 0:
            return None
        moved = np.zeros(self.extra)
        if self.timed:
            moved[0] = self._best_duration(v[-1], W[-1, -1])
            foreseen += (v[-1] * moved[0], 0.5 * W[-1, -1] * moved[0] ** 2)
        return Policy(points, inputs, k, K, self.bounds, chosen, moved, foreseen, slopes)

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

    def advance(
        self, points: np.ndarray, policy: Policy, merit: float, shares: np.ndarray = SHARES
    ) -> tuple[np.ndarray, np.ndarray, float, float]:
        """The forward pass: the motion with the largest share of the change that makes the merit smaller."""
        for share in shares:
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
            if self.attention.called:
                break
            model = self.model(points, inputs)
            if not self.history:
                self._set_stiffness(model, points, inputs)
                merit = self.account.merit(self.course(points, inputs, self.duration))
                first = abs(merit)
                model = self.model(points, inputs)
            if self.near > 0.0 and not self.steps.closed:
                model = self.held_near(model, merit)
            policy = self.improve_policy(points, inputs, model)
            newton = self.newton_policy(points, inputs, model, policy.slopes)
            while True:
                self.policy = policy = newton or self.improve_policy(points, inputs, model)
                gain = -(policy.foreseen[0] + policy.foreseen[1])
                if gain <= (tolerance if number else min(tolerance, 1e-9)) * abs(merit) or gain <= 1e-15 * first:
                    return points, inputs, True
                points, inputs, new, share = self.advance(points, policy, merit, SHARES[:4] if newton else SHARES)
                if share > 0.0:
                    break
                if newton is None:
                    if gain <= 1e-9 * abs(merit) or self.damping * DAMPING_FACTOR > DAMPING_MOST:
                        return points, inputs, True  # what is left is rounding
                    self.stiffen()
                newton = None
            self._learn(newton is not None, share)
            merit = new
            course = self.course(points, inputs, self.duration)
            self.history.append(Iteration(self.account.cost(course), self.violation(course), share, self.damping))
        return points, inputs, False

    def _learn(self, newton: bool, share: float) -> None:
        """From the share that an iteration took, how the next one is damped, and whether it has second derivatives."""
        if share < 0.4:
            self.near = max(NEAR_FIRST, 8.0 * self.near) if share < 0.2 else 2.0 * self.near
        elif share == 1.0:
            self.near = 0.25 * self.near if self.near > 0.01 * NEAR_FIRST else 0.0
        if newton:
            self.patience = self.waiting = 0
            return
        if self.waiting < 0:  # they were tried, and did not help
            self.patience = min(2 * self.patience + 1, PATIENCE)
            self.waiting = self.patience
        calm = self.damping / DAMPING_FACTOR if self.damping > DAMPING_FIRST else 0.0
        self.damping = calm if share > 0.2 else max(DAMPING_FIRST, self.damping * DAMPING_FACTOR)

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
        noticed: list[tuple[Any, float]] = []
        least_cost = OUTWEIGH * self.account.motion_cost(course)  # the duration waits for the limits
        scales = self.account.scales(course, self.units)
        for one, scale in zip(self.account.restraints, scales, strict=True):
            values, slopes = self.account.at_limit(one, course)
            slopes, by_inputs = np.split(slopes, [len(self.units)], axis=2)
            nodes, _ = sides_of(one.nodes, one.limit.sides)
            if basis is not None:
                slopes = slopes @ basis[nodes]
            own_reach = reach[nodes][:, : slopes.shape[2], : slopes.shape[2]]
            moved = np.einsum("kmi,kij,kmj->km", slopes, own_reach, slopes) + (by_inputs**2).sum(axis=2)
            least = moved[moved > 1e-9 * moved.max(initial=0.0)]
            one.stiffness = STIFF_FIRST * price / float(np.median(least)) if least.size else price
            violated = one.off(values)
            if violated.max(initial=0.0) > NOTICED * scale:  # or the guess is lost before limits count
                off = float((violated**2).sum())
                one.stiffness = max(one.stiffness, least_cost / off)
                noticed.append((one, off))
        usual = float(np.median([one.stiffness * off for one, off in noticed])) if noticed else 0.0
        for one, off in noticed:
            one.stiffness = min(one.stiffness, UNMOVED * usual / off)


def _reduced(cost: Quadratic, basis: np.ndarray, extra: int) -> Quadratic:
    """The cost of a closed mechanism by its independent changes."""
    n, m = basis.shape[1:]
    full = np.zeros((len(basis), n + extra, m + extra))
    full[:, :n, :m] = basis
    full[:, np.arange(n, n + extra), np.arange(m, m + extra)] = 1.0
    turned = full.transpose(0, 2, 1)
    return Quadratic(
        *((turned @ cost.x[..., None])[..., 0], cost.u, turned @ cost.xx @ full, cost.uu, cost.ux @ full[:-1]),
        cost.cross @ full[1:],
    )
