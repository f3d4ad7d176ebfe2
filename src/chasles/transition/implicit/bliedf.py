"""A step of BLieDF: BDF in coordinates centered at the new point, stabilized index 2, k = 2 to 5 steps.

With x_j the coordinates of the steps, newest first, and X_i those of the point i steps before, seen from the new point,

    h V_{n+1} = Σ_{i≥1} α_i X_i + α_0 G ζ,     h V'_{n+1} = Σ_{i≥0} α_i V_{n+1-i}

X_i is exact, ψ⁻¹ of the product of the motions of the steps, or has the first commutators of the logarithms only.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.constrained_method import BLieDF
from chasles.transition.implicit.chart import Chart


class BackwardStep:
    """A step from q; `past` are the coordinates of the steps before and `velocities` V there, newest first."""

    def __init__(self, chart: Chart, method: BLieDF, h: float, q, past: np.ndarray, velocities: np.ndarray, shift):
        self.chart, self.alpha, self.q, self.h = chart, method.alpha, q, h
        self.gamma = np.cumsum(method.alpha)[:-1]
        self.exact = method.exact or chart.cubic > 0
        self.past = past
        self.returns = chart.returns(past) if self.exact else past
        self.fixed = np.tensordot(self.alpha[1:], velocities, axes=1)  # what h V' has of the points before
        self.kappa = h / self.gamma[0]
        self.s = self.kappa * self.kappa
        ahead = 2 * past[0] - past[1] if method.k > 2 else past[0] + h * (velocities[0] - velocities[1])
        self.predicted = ahead - shift  # what is predicted has the shift of the positions in it

    def state(self, d: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = self.predicted + d + shift
        moved = self._exact(x) if self.exact else self._first_commutators(x)
        v = (moved - self.gamma[0] * shift) / self.h
        return self.chart.move(self.q, x), v, (self.alpha[0] * v + self.fixed) / self.h

    def _exact(self, x: np.ndarray) -> np.ndarray:
        """h V without ζ."""
        return np.tensordot(self.alpha[2:], self.chart.back(x, self.returns), axes=1) - self.alpha[1] * x

    def _first_commutators(self, x: np.ndarray) -> np.ndarray:
        total, newer = self.gamma[0] * x, x
        for gamma, past in zip(self.gamma[1:], self.past, strict=True):
            total = total + gamma * (past - 0.5 * self.chart.bracket(newer, past))
            newer = newer + past
        return total
