"""Least squares of numbers within bounds, some of which are inertias of bodies and stay in their cone.

Near its solution the problem is a convex one, a quadratic function on a cone, in coordinates that are linear in the
unknowns: so plates and rods, which are on the surface of the cone, take no more steps than other bodies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from chasles.fit.inertia_cone import FLAT, TEN, inertia_frame, numbers_of, symmetric

Bodies = Sequence[slice]  # where the ten parameters of each body are
UNSEEN = 1e-7  # of the largest singular value: smaller ones are rounding
REACH = 1.0  # of the first step, in units of the sizes of the numbers
WORSE, GOOD = 0.25, 0.75  # parts of the gain that was foreseen: steps become shorter, longer
BEGIN = 1e-2  # how far inside of the cone and the bounds the search for a step begins
LAST, EACH = 1e-12, 0.1  # weight of the barrier at the end, of the gain; and how it falls
CLOSE, NEARLY = 0.9, 0.1  # part of the way to the surface that is gone at once; Newton's decrement of the next weight
SHARP = 1.1  # between dampings of a step that is to have a length
SURFACE = 1e-4  # eigenvalues of bodies that are at the surface of the cone, or as good as
LIMITED = 1e-7  # relative gain that matters no more there, where numbers without influence may go far for it
MOST = 300  # steps of Newton's method


@dataclass(frozen=True)
class Region:
    """Where a step w from x may end: x + scale w within bounds, and bodies in their cone.

    Numbers of bodies are those of their frames: w = matrix dx. `inside` are these numbers at x.
    """

    matrix: np.ndarray  # w of dx
    bodies: Bodies
    inside: np.ndarray
    low: np.ndarray  # of w; infinite for bodies
    high: np.ndarray

    @classmethod
    def about(
        cls,
        x: np.ndarray,
        scale: np.ndarray,
        bounds: tuple[np.ndarray, np.ndarray],
        bodies: Bodies,
        flat: float = FLAT,
    ) -> Region:
        """flat: as of `inertia_frame`."""
        matrix, inside = np.diag(1.0 / scale), np.zeros(len(x))
        for part in bodies:
            matrix[part, part] = inertia_frame(x[part], flat).matrix
            inside[part] = matrix[part, part] @ x[part]
        return cls(matrix, bodies, inside, (bounds[0] - x) / scale, (bounds[1] - x) / scale)

    def room(self, w: np.ndarray, step: np.ndarray) -> float:
        """How much of a step from w leads to the surface."""
        with np.errstate(divide="ignore", invalid="ignore"):
            ways = np.where(step > 0, (self.high - w) / step, np.where(step < 0, (self.low - w) / step, np.inf))
        found = float(ways.min(initial=np.inf))
        for part in self.bodies:
            root = np.linalg.inv(np.linalg.cholesky(symmetric(self.inside[part] + w[part])))
            least = np.linalg.eigvalsh(root @ symmetric(step[part]) @ root.T)[0]
            found = min(found, -1.0 / least if least < 0 else np.inf)
        return found

    def has(self, w: np.ndarray) -> bool:
        """Whether w is inside."""
        return bool(((w >= self.low) & (w <= self.high)).all() and self.least_eigenvalue(w) >= 0.0)

    def least_eigenvalue(self, w: np.ndarray) -> float:
        """Of all bodies; 1 if there are none."""
        found = [np.linalg.eigvalsh(symmetric(self.inside[part] + w[part]))[0] for part in self.bodies]
        return float(min(found, default=1.0))

    def begin(self) -> np.ndarray:
        """A step to somewhere inside, not near the surface."""
        w = np.zeros(len(self.inside))
        for part in self.bodies:
            w[part] = BEGIN * numbers_of(np.eye(4))
        margin = np.minimum(BEGIN, 0.1 * (self.high - self.low))
        return np.clip(w, self.low + margin, self.high - margin)

    def barrier(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Rows M and numbers g of which ½ |M dw - g|² is the barrier -log det Q - log (w - low) - log (high - w) of
        Newton's method."""
        rows, sides = [], []
        for end, sign in ((self.low, 1.0), (self.high, -1.0)):
            at = np.flatnonzero(np.isfinite(end))
            rows.append(np.eye(len(w))[at] / np.abs(w - end)[at, None])
            sides.append(np.full(len(at), sign))
        for part in self.bodies:
            root = np.linalg.inv(np.linalg.cholesky(symmetric(self.inside[part] + w[part])))
            own = np.zeros((TEN, len(w)))
            own[:, part] = numbers_of(root @ symmetric(np.eye(TEN)) @ root.T).T
            rows.append(own)
            sides.append(numbers_of(np.eye(4)))
        return np.concatenate(rows), np.concatenate(sides)

    def least(self, J: np.ndarray, r: np.ndarray, reach: float) -> np.ndarray:
        """The step w that makes |J w + r|² least, no longer than about a reach; J is a triangle."""
        U, s, Vt = np.linalg.svd(J)
        along, smallest = U.T @ r, UNSEEN * s.max(initial=0.0)
        seen = s > smallest

        def step(damped: float) -> np.ndarray:
            return np.where(seen, s * along / np.where(seen, s * s + damped * damped, 1.0), 0.0)

        damped, low, high = smallest, smallest, float(s.max(initial=0.0) + np.linalg.norm(s * along) / reach)
        if np.linalg.norm(step(0.0)) > reach:
            while high > SHARP * low:
                damped = np.sqrt(low * high)
                low, high = (damped, high) if np.linalg.norm(step(damped)) > reach else (low, damped)
        w = -Vt.T @ step(damped if damped > smallest else 0.0)
        return w if self.has(w) else self._within(np.concatenate([J, damped * np.eye(len(w))]), np.r_[r, 0.0 * w])

    def _within(self, J: np.ndarray, r: np.ndarray) -> np.ndarray:
        """The same on the region, by a barrier whose weight falls."""
        w = self.begin()
        free = np.linalg.lstsq(J, r, rcond=0.0)[0]
        gain = 0.5 * max(float(np.sum((J @ w + r) ** 2) - np.sum((r - J @ free) ** 2)), np.finfo(float).tiny)
        weight, last = gain, LAST * gain
        for _ in range(MOST):
            M, g = self.barrier(w)
            rows, sides = np.concatenate([J, np.sqrt(weight) * M]), np.r_[-(J @ w + r), np.sqrt(weight) * g]
            step = np.linalg.lstsq(rows, sides, rcond=0.0)[0]
            w = w + min(1.0, CLOSE * self.room(w, step)) * step
            if np.sum((rows @ step) ** 2) < NEARLY * weight:
                if weight <= last:
                    break
                weight = max(EACH * weight, last)
        return w


def physical_least_squares(
    function: Callable[[np.ndarray], np.ndarray],
    slope: Callable[[np.ndarray], np.ndarray],
    x: np.ndarray,
    scale: np.ndarray,
    bounds: tuple[np.ndarray, np.ndarray],
    bodies: Bodies,
    cost_of: Callable[[np.ndarray], float],
    weights_of: Callable[[np.ndarray], np.ndarray],
    most: int,
    tolerance: float,
) -> tuple[np.ndarray, bool]:
    """Where the cost of residuals is least, and whether the iteration has settled.

    function: residuals of x, NaN if there are none; slope: their derivatives. scale: sizes of the numbers that are no
    inertias. cost_of: of residuals, half of their squares if these are small; weights_of: of squares near others, so
    that half of their sum changes as the cost. most: evaluations; tolerance: relative, of the cost and of steps.
    """

    def triangle() -> tuple[np.ndarray, np.ndarray, Region]:
        weights, region = np.sqrt(weights_of(r)), Region.about(x, scale, bounds, bodies)
        Q, R = np.linalg.qr(weights[:, None] * slope(x) @ np.linalg.inv(region.matrix))
        return R, Q.T @ (weights * r), region

    r, reach = function(x), REACH
    cost, (R, along, region) = cost_of(r), triangle()
    for _ in range(most - 1):
        w = region.least(R, along, reach)
        foreseen = -float(along @ (R @ w) + 0.5 * np.sum((R @ w) ** 2))
        size = float(np.linalg.norm(w))
        gain = tolerance if region.least_eigenvalue(w) > SURFACE else max(tolerance, LIMITED)
        if foreseen <= gain * cost or size <= tolerance:
            return x, True
        new = x + np.linalg.solve(region.matrix, w)
        there = function(new)
        share = (cost - cost_of(there)) / foreseen
        reach = 0.25 * min(size, reach) if not share > WORSE else 2.0 * reach if share > GOOD else reach
        if share > 0.0:
            x, r, cost = new, there, cost_of(there)
            R, along, region = triangle()
    return x, False
