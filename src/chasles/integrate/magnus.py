"""Magnus methods for linear equations Y' = A(t) Y with matrices of any size, real or complex; plain NumPy.

Y1 = exp(Omega) Y with Omega from values of A at Gauss points and their commutators. If A(t) lies in a matrix algebra,
so does Omega, and Y stays in the group. For quadratic groups (orthogonal, unitary, symplectic, ...) it does so to
rounding, because the exponential is computed by diagonal Pade approximants r, with r(a) r(-a) = 1. Y may also be a
vector or have any number of columns. Formulas: Blanes, Casas, Oteo, Ros, Physics Reports 470 (2009); commutator-free:
Blanes and Moan, Applied Numerical Mathematics 56 (2006).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.implicit import saving, schedule
from chasles.integrate.matrix import expm

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

    def __post_init__(self):
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


@dataclass(frozen=True)
class LinearSolution:
    """What `solve_linear` returns: times and Y at them, time first; A was evaluated `evaluations` times."""

    method: Magnus | CommutatorFreeMagnus
    t: np.ndarray
    y: np.ndarray
    success: bool
    message: str
    steps: int
    evaluations: int
    exponentials: int
    seconds: float


def _value(problem: LinearODE, t: float, n: int) -> np.ndarray:
    a = np.asarray(problem.matrix(t))
    if a.shape != (n, n):
        raise ValueError(f"solve_linear: A has shape {a.shape} at t = {t:.6g}; expected ({n}, {n}), to multiply Y")
    if not np.isfinite(a).all():
        raise ValueError(f"solve_linear: A is not finite at t = {t:.6g}")
    return a


def _start(y0: ArrayLike) -> np.ndarray:
    y = np.asarray(y0)
    if y.ndim not in (1, 2) or not y.size or y.dtype.kind not in "fiuc":
        raise ValueError(f"solve_linear: Y has shape {y.shape}; expected (n,) or (n, k), of numbers")
    if not np.isfinite(y).all():
        raise ValueError("solve_linear: Y is not finite at the start")
    return y.astype(np.result_type(y.dtype, float))


def solve_linear(
    problem: LinearODE,
    method: Magnus | CommutatorFreeMagnus,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    step: float,
    save: str | int = "all",
) -> LinearSolution:
    """Integrate a linear equation with fixed steps, from Y = y0 of shape (n,) or (n, k); backwards if the end is before
    the start. The last step is shortened to end exactly. `save` is "all" steps, "final", or every so many steps.
    Ctrl-C returns what there is."""
    began = time.perf_counter()
    plan = schedule("solve_linear", span, step)
    every, _ = saving("solve_linear", save, plan.steps)
    y = _start(y0)
    t, saved_t, saved_y = plan.start, [plan.start], [y]
    done, evaluations, exponentials = 0, 0, 0
    try:
        while done < plan.steps:
            h = plan.last if done + 1 == plan.steps else plan.step
            values = [_value(problem, t + c * h, len(y)) for c in method.nodes]
            factors = method.exponents(h, values)
            for x in factors:
                y = expm(x) @ y
            done, evaluations, exponentials = done + 1, evaluations + len(values), exponentials + len(factors)
            t = plan.end if done == plan.steps else plan.start + done * plan.step
            if done == plan.steps or (every and done % every == 0):
                saved_t.append(t)
                saved_y.append(y)
        message, success = "reached the end" if plan.steps else "the span is empty", True
    except KeyboardInterrupt:
        message, success = f"interrupted after {done} steps", False
    seconds = time.perf_counter() - began
    work = done, evaluations, exponentials, seconds
    return LinearSolution(method, np.array(saved_t), np.array(saved_y), success, message, *work)
