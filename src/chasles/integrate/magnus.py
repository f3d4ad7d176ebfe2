"""Magnus methods for linear equations Y' = A(t) Y with matrices of any size, real or complex; plain NumPy.

Y1 = exp(Omega) Y with Omega from values of A at Gauss points and their commutators. If A(t) lies in a matrix algebra,
so does Omega, and Y stays in the group. For quadratic groups (orthogonal, unitary, symplectic, ...) it does so to
rounding, because the exponential is computed by diagonal Pade approximants r, with r(a) r(-a) = 1. Y may also be a
vector or have any number of columns. Formulas: blanes2009; commutator-free: blanes2006.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.fixed_step import FixedStepper
from chasles.integrate.matrix import expm
from chasles.integrate.newton import COUNTS
from chasles.integrate.options import Options, check_span

# ---------------------------------------------------------------- methods


def _bracket(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a @ b - b @ a


ROOT3, ROOT15 = sqrt(3), sqrt(15)
NODES = {
    2: (0.5,),
    4: (0.5 - ROOT3 / 6, 0.5 + ROOT3 / 6),
    6: (0.5 - ROOT15 / 10, 0.5, 0.5 + ROOT15 / 10),
}


@dataclass(frozen=True)
class Magnus:
    """Magnus methods with values of A at Gauss points, of order 2 (midpoint), 4 or 6; one exponential a step."""

    order: int = 4

    def __post_init__(self) -> None:
        if self.order not in NODES:
            raise ValueError(f"Magnus: order {self.order!r}; expected 2, 4 or 6")

    @property
    def nodes(self) -> tuple[float, ...]:
        return NODES[self.order]

    def exponents(self, h: float, a: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Omega from the values of A at the nodes.

        Order 2: h A1. Order 4: h (A1 + A2)/2 - sqrt(3)/12 h^2 [A1, A2]. Order 6: with a1 = h A2,
        a2 = sqrt(15)/3 h (A3 - A1), a3 = 10/3 h (A3 - 2 A2 + A1) and c = [a1, a2]:
        a1 + a3/12 + [-20 a1 - a3 + c, a2 - [a1, 2 a3 + c]/60]/240.
        """
        if self.order == 2:
            return (h * a[0],)
        if self.order == 4:
            return (0.5 * h * (a[0] + a[1]) - ROOT3 / 12 * h * h * _bracket(a[0], a[1]),)
        a1, a2, a3 = h * a[1], ROOT15 / 3 * h * (a[2] - a[0]), 10 / 3 * h * (a[2] - 2 * a[1] + a[0])
        c = _bracket(a1, a2)
        inner = a2 - _bracket(a1, 2 * a3 + c) / 60
        return (a1 + a3 / 12 + _bracket(c - 20 * a1 - a3, inner) / 240,)


@dataclass(frozen=True)
class CommutatorFreeMagnus:
    """Two exponentials a step and no commutators, of order 4: exp(h (u A1 + v A2)) exp(h (v A1 + u A2)) with
    u, v = 1/4 -+ sqrt(3)/6. The factor with the larger weight on the earlier node acts first."""

    @property
    def order(self) -> int:
        return 4

    @property
    def nodes(self) -> tuple[float, ...]:
        return NODES[4]

    def exponents(self, h: float, a: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        """The exponents, the one that acts first first."""
        u, v = 0.25 - ROOT3 / 6, 0.25 + ROOT3 / 6
        return h * (v * a[0] + u * a[1]), h * (u * a[0] + v * a[1])


# ---------------------------------------------------------------- solving


@dataclass(frozen=True)
class LinearODE:
    """Y' = A(t) Y. `matrix` is a function of time that returns A(t), square, real or complex.

    For Y' = Y B(t) take the transposes: A(t) = B(t)^T acts on Y^T.
    """

    matrix: Callable[[float], ArrayLike]


class LinearStepper(FixedStepper):
    """A run of a Magnus method, from Y = y0 of shape (n,) or (n, k)."""

    problems = (LinearODE,)
    methods = (Magnus, CommutatorFreeMagnus)
    memory_names = ("counts", "y")

    def __init__(
        self, problem: LinearODE, method: Magnus | CommutatorFreeMagnus, span: Any, y0: ArrayLike, options: Options
    ):
        self.y = _start(y0, problem, span)
        super().__init__(problem, method, span, options, self.y, 0)
        self.factors = 0
        self.start_with(self.y, np.empty(0))

    def point(self) -> np.ndarray:
        return self.y.copy()

    def take(self, limit: int) -> None:
        for _ in range(limit):
            t, h = self.time, self.plan.last if self.steps + 1 == self.plan.steps else self.plan.step
            y = self.y
            exponents = self.method.exponents(h, [self._value(t + c * h) for c in self.method.nodes])
            for x in exponents:
                y = expm(x) @ y
            self.factors += len(exponents)
            self.y[...] = y
            self.save_step()

    def _value(self, t: float) -> np.ndarray:
        n = len(self.y)
        a = np.asarray(self.problem.matrix(t))
        if a.shape != (n, n):
            raise ValueError(f"solve: A has shape {a.shape} at t = {t:.6g}; expected ({n}, {n}), to multiply Y")
        if not np.isfinite(a).all():
            raise ValueError(f"solve: A is not finite at t = {t:.6g}")
        if np.iscomplexobj(a) and not np.iscomplexobj(self.y):
            raise ValueError(f"solve: A is complex at t = {t:.6g} but neither at the start nor is Y; give a complex Y")
        self.counts[COUNTS.evaluations] += 1
        return a

    def evaluations(self) -> int:
        return int(self.counts[COUNTS.evaluations])

    def exponentials(self) -> int:
        return self.factors

    def no_curve(self) -> str:
        return "linear equations have no interpolation; save at the times you want (save=times)"


def _start(y0: ArrayLike, problem: LinearODE, span: Any) -> np.ndarray:
    """Y at the start, complex if A is."""
    y = np.asarray(y0)
    if y.ndim not in (1, 2) or not y.size or y.dtype.kind not in "fiuc":
        raise ValueError(f"solve: Y has shape {y.shape}; expected (n,) or (n, k), of numbers")
    if not np.isfinite(y).all():
        raise ValueError("solve: Y is not finite at the start")
    first = np.asarray(problem.matrix(check_span(span)[0]))
    return y.astype(np.result_type(y.dtype, float, complex if np.iscomplexobj(first) else float))
