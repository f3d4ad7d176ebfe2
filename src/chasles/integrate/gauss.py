"""The Lie midpoint rule and Gauss-Munthe-Kaas methods: the equations of a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.integrate import blocks
from chasles.integrate.explicit_step import linear
from chasles.integrate.table import CHART, COSCREWED, COUNT, KIND, POINT_AT, POSE, R_N, SCREWED, SE2, SE3
from chasles.integrate.vector_field import call
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

GAUSS = layout("GAUSS", mode=1, stages=1, count=1, every=1, point=1, algebra=1)
ON_THE_GROUP, IN_ALGEBRA, LIE_POISSON = range(3)  # how a stage uses the field


# ---------------------------------------------------------------- methods


@dataclass(frozen=True)
class LieMidpoint:
    """The implicit Lie midpoint rule s = h f(t + h/2, exp(s/2) y), y1 = exp(s) y: symmetric, of order 2."""

    @property
    def order(self) -> int:
        return 2


@dataclass(frozen=True)
class Gauss:
    """Gauss collocation for X' = dexpinv_X f (celledoni2022 eqs. (6)-(8)) with 1, 2 or 3 stages, of order 2, 4 or 6.

    With one stage it is the Lie midpoint rule. With more it is not symmetric: the coordinates start from y.
    """

    stages: int = 2

    def __post_init__(self):
        if self.stages not in (1, 2, 3):
            raise ValueError(f"Gauss: {self.stages!r} stages; expected 1, 2 or 3")

    @property
    def order(self) -> int:
        return 2 * self.stages


def gauss_rule(stages: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The matrix a, by rows, weights b and nodes c of Gauss's rule on [0, 1]."""
    nodes, weights = np.polynomial.legendre.leggauss(stages)
    c, b = 0.5 * (nodes + 1), 0.5 * weights
    powers = np.arange(1, stages + 1)
    a = np.linalg.solve((c[:, None] ** (powers - 1)).T, (c[:, None] ** powers / powers).T).T  # sum_j a_ij c_j^k
    return a.reshape(-1), b, c


# ---------------------------------------------------------------- equations


@kernel
def largest(y, first, count):
    value = 0.0
    for k in range(count):
        value = max(value, abs(y[first + k]))
    return value


@kernel
def natural_sizes(table, y, base):
    """Size of the two groups of unknowns of each block: 1 for rotations, that of the point for translations."""
    for i in range(table.shape[0]):
        kind, iy = table[i, KIND], table[i, POINT_AT]
        base[2 * i] = 1.0
        base[2 * i + 1] = 0.0
        if kind == R_N:
            base[2 * i] = largest(y, iy, table[i, COUNT])
        elif kind == SE2:
            base[2 * i + 1] = max(abs(y[iy + 2]), abs(y[iy + 5]))
        elif kind == SE3:
            base[2 * i + 1] = max(abs(y[iy + 3]), abs(y[iy + 7]), abs(y[iy + 11]))
        elif kind == POSE:
            base[2 * i + 1] = largest(y, iy + 4, 3)
        elif kind == SCREWED or kind >= CHART:
            base[2 * i + 1] = largest(y, iy + 3, 3)
        elif kind == COSCREWED:
            force = largest(y, iy + 3, 3)
            base[2 * i + 1] = largest(y, iy, 3) / force if force > 0.0 else 1.0


@kernel
def stage_residual(context, z, r):
    """Equations of a step of a method in the algebra; z holds h times the stages' slopes.

    z_i = h dexpinv_{S_i} f(t + c_i h, exp(S_i) y) with S_i = sum_j a_ij z_j; without dexpinv for the midpoint rule.
    """
    table, addresses, settings, a, _, c, t, h, sign, y, point, s, f, _, address, p = context
    stages, n, d = settings[GAUSS.stages], settings[GAUSS.point], settings[GAUSS.algebra]
    for i in range(stages):
        linear(s, a, i * stages, stages, z, d, 1.0, 0.0)
        blocks.move(table, addresses, y, s, point, 0.0)
        call(address, t + c[i] * h, point, p, f, 0, n, d, 0.0)
        if settings[GAUSS.mode] == IN_ALGEBRA:
            blocks.pullback(table, addresses, -1, s, f, f, 0, 0.0)
        for m in range(d):
            r[i * d + m] = z[i * d + m] - h * sign * f[m]
