"""A step of generalized alpha in the chart q_n ψ(x): index 3, and the stabilized index 2.

    x = h V + h²(1/2 - β) a + h² β a_{n+1} [- G ζ],   x' = V + h(1 - γ) a + h γ a_{n+1}
    (1 - αm) a_{n+1} + αm a = (1 - αf) x'' + αf V'

Textbook form: V_{n+1} = x', V'_{n+1} = x''. Local form: x, x', x'' are coordinates and their derivatives, so that
V_{n+1} = dψ_{-x} x' (without ζ), V'_{n+1} is its derivative, and a is carried to the next chart.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.transition.implicit.chart import Chart
from chasles.transition.implicit.equations import ModelEquations


class AlphaStep:
    """A step from q with V, V', a, predicted with x'' = V' + growth."""

    def __init__(self, chart: Chart, method: GeneralizedAlpha, h: float, q, v, rate, a, growth):
        self.chart, self.local, self.q, self.h = chart, method.local, q, h
        am, af, gamma, beta = method.coefficients
        self.s, self.kappa = beta * h * h, beta * h / gamma
        self.second = rate + growth
        self._algorithmic = lambda second: ((1 - af) * second + af * rate - am * a) / (1 - am)
        end = self._algorithmic(self.second)
        self.first = v + h * ((1 - gamma) * a + gamma * end)
        self.predicted = h * (v + h * ((0.5 - beta) * a + beta * end))
        self.ratio = (1 - am) / ((1 - af) * self.s)  # of changes of x'' to those of x

    def state(self, d: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x = self.predicted + d
        first, second = self.first + d / self.kappa, self.second + self.ratio * d
        q = self.chart.move(self.q, x + shift)
        if not self.local:
            return q, first, second
        return q, self.chart.lift(x, first), self.chart.lift_rate(x, first, second)

    def next_algorithmic(self, d: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """a in the next chart, and x'' at the end of the step."""
        second = self.second + self.ratio * d
        a = self._algorithmic(second)
        return (rate + self.chart.lift(self.predicted + d, a - second) if self.local else a), second


def algorithmic_start(equations: ModelEquations, chart: Chart, method: GeneralizedAlpha, t: float, h: float, q, v):
    """V (on the group), V', a, the change of x'' in a step, and λ: order 2 of all of them from the first step on.

    a = V' + (αm - αf) h x'''. With index 3 the velocity is also moved off the constraints, mass-orthogonally, by as
    much as the method would: else the multipliers oscillate, with an error of order 1 (arnold2015).
    """
    twist_rate, multipliers = equations.solve(q, v, t)
    w, rate = chart.to_group(q, v), chart.rate_to_group(q, v, twist_rate)

    def beside(step: float) -> np.ndarray:
        there, fast = chart.move(q, step * w + 0.5 * step * step * rate), w + step * rate
        twists = chart.from_group(there, fast)
        return chart.rate_to_group(there, twists, equations.solve(there, twists, t + step)[0])

    change, twist = 0.5 * (beside(h) - beside(-h)), h * chart.bracket(w, rate)  # h V'', h [V, V']
    cube = h * chart.cubic * chart.cube(w, w, w)
    if method.local:  # derivatives of the coordinates, not of the velocity
        change, twist, cube = change + 0.5 * twist - cube, 0 * twist, 0 * cube
    if method.index == 3 and equations.constrained:
        off = h * ((1 - 6 * method.coefficients[3] - 3 * method.shift) / 6 * change + twist / 12 - cube / 6)
        across = equations.parts.rows_at(q) @ chart.from_group(q, off).reshape(-1)
        w = w + chart.to_group(q, equations.normal(q, across, t))
    return w, rate, rate + method.shift * change, change, multipliers
