"""Spaces that no table knows, in plain Python: any matrix Lie group, and any manifold with frame fields and flows.

Slow (tens of microseconds a stage) but general; the methods are the same data as in the compiled loops.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.fixed_step import FixedStepper
from chasles.integrate.matrix import expm
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.newton import COUNTS
from chasles.integrate.options import Options
from chasles.integrate.problem import LieODE
from chasles.integrate.status import NOT_FINITE
from chasles.integrate.vector_field import Field

BERNOULLI = (1.0, -1 / 2, 1 / 12, 0.0, -1 / 720, 0.0, 1 / 30240, 0.0, -1 / 1209600)  # B_k / k!


class Action(Protocol):
    """What the Python loops need of a space."""

    dimension: int

    def move(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """exp(x) y."""
        ...

    def bracket(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[x, y] in the coordinates of the algebra."""
        ...


class MatrixGroup:
    """A matrix Lie group given by a basis of its algebra, acting on matrices or vectors by the product from the left.

    `basis` has shape (dimension, n, n), real or complex. It must be linearly independent and closed under the
    commutator, with real coefficients: su(2) has three matrices, sl(2, C) six, E and iE for each E of sl(2, R).
    """

    def __init__(self, basis: ArrayLike):
        self.basis = numbers("MatrixGroup: the basis", basis)
        if self.basis.ndim != 3 or self.basis.shape[1] != self.basis.shape[2] or not len(self.basis):
            raise ValueError(f"MatrixGroup: basis has shape {self.basis.shape}; expected (dimension, n, n)")
        self.dimension = len(self.basis)
        flat = self._flat(self.basis)
        if np.linalg.matrix_rank(flat) < self.dimension:
            raise ValueError("MatrixGroup: the basis is linearly dependent")
        self._dual = np.linalg.pinv(flat.T)
        products = np.einsum("aij,bjk->abik", self.basis, self.basis)
        commutators = self._flat(products - products.swapaxes(0, 1))
        self.structure = commutators @ self._dual.T  # [E_a, E_b] = sum_c structure[a, b, c] E_c
        defect = abs(self.structure @ flat - commutators).max()
        if defect > 1e-10 * abs(flat).max() ** 2:
            raise ValueError(
                f"MatrixGroup: the basis is not closed under the commutator (by {defect:.3g}): that of two of its "
                "matrices must be a combination of them with real coefficients"
            )

    @staticmethod
    def _flat(matrices: np.ndarray) -> np.ndarray:
        """Matrices as vectors of real numbers."""
        rows = matrices.reshape(*matrices.shape[:-2], -1)
        return np.concatenate([rows.real, rows.imag], axis=-1) if np.iscomplexobj(rows) else rows

    def hat(self, x: np.ndarray) -> np.ndarray:
        return np.tensordot(x, self.basis, axes=1)

    def vee(self, matrix: np.ndarray) -> np.ndarray:
        matrix = numbers("MatrixGroup: the matrix", matrix)
        if np.iscomplexobj(self.basis):
            matrix = matrix.astype(complex)
        elif np.iscomplexobj(matrix):
            raise ValueError("MatrixGroup: the matrix is complex, and the algebra is real")
        return self._dual @ self._flat(matrix)

    def move(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return expm(self.hat(x)) @ y

    def bracket(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.einsum("a,b,abc->c", x, y, self.structure)


@dataclass(frozen=True)
class FrameSpace:
    """A manifold with frame vector fields E_1, ..., E_d that span its tangent spaces (celledoni2022 eq. (4)).

    `flow(x, y)` is the time-one flow of sum_i x_i E_i from y. Frame fields need not form an algebra, so only methods
    without commutators apply: products of exponentials (commutator-free, Crouch-Grossman, low-storage).
    """

    flow: Callable[[np.ndarray, np.ndarray], np.ndarray]
    dimension: int

    def move(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.flow(x, y)


def numbers(what: str, value: ArrayLike) -> np.ndarray:
    """A copy as float64 or complex128; ValueError if it holds something else."""
    array = np.array(value)
    if array.dtype.kind not in "fiuc":
        raise ValueError(f"{what} is not an array of numbers")
    return array.astype(np.result_type(array.dtype, float))


def dexpinv(action: Action, x: np.ndarray, f: np.ndarray, terms: int) -> np.ndarray:
    """Truncated series f - [x, f]/2 + [x, [x, f]]/12 - ... up to ad^terms."""
    total, nested = f.copy(), f
    for k in range(1, terms + 1):
        nested = action.bracket(x, nested)
        total += BERNOULLI[k] * nested
    return total


def munthe_kaas_step(
    action: Action, method: RKMK, field: Callable[..., Any], t: float, h: float, y: np.ndarray
) -> np.ndarray:
    """One Runge-Kutta-Munthe-Kaas step with a truncated dexpinv (as many terms as the order needs)."""
    table = method.table
    terms = max(table.order - 2, 0) if method.dexpinv == "exact" else method.terms
    k: list[np.ndarray] = []
    for row, c in zip(table.a, table.c, strict=True):
        x = h * sum((w * ki for w, ki in zip(row, k, strict=True)), np.zeros(action.dimension))
        point = action.move(x, y) if row else y
        k.append(dexpinv(action, x, field(t + c * h, point), terms))
    x = h * sum((w * ki for w, ki in zip(table.b, k, strict=True)), np.zeros(action.dimension))
    return action.move(x, y)


def exponentials_step(
    action: Action, method: Exponentials, field: Callable[..., Any], t: float, h: float, y: np.ndarray
) -> np.ndarray:
    """One step of a product of exponentials."""
    times = method.program()[2]
    points: list[np.ndarray] = []
    values: list[np.ndarray] = []
    for i, (base, factors) in enumerate((*method.stages, method.result)):
        point = y if base < 0 else points[base]
        for weights in factors:
            x = h * sum((w * f for w, f in zip(weights, values, strict=False)), np.zeros(action.dimension))
            point = action.move(x, point)
        if i == len(method.stages):
            return point
        points.append(point)
        values.append(field(t + times[i] * h, point))
    raise AssertionError("a method has a result")


class GenericStepper(FixedStepper):
    """A run on a `MatrixGroup` or `FrameSpace`, in plain Python. Points keep the shape of y0."""

    problems = (LieODE,)
    methods = (RKMK, Exponentials)
    memory_names = ("counts", "y")

    @classmethod
    def fits(cls, problem: Any, method: Any) -> bool:
        return super().fits(problem, method) and isinstance(problem.space, MatrixGroup | FrameSpace)

    def __init__(self, problem: LieODE, method: RKMK | Exponentials, span: Any, y0: ArrayLike, options: Options):
        if isinstance(method, RKMK):
            self._check_munthe_kaas(problem, method)
        if problem.correction is not None:
            raise ValueError("solve: on a MatrixGroup or FrameSpace nothing corrects the steps; leave out correction=")
        self.y = numbers("solve: the point y0", y0)
        if isinstance(problem.space, MatrixGroup) and np.iscomplexobj(problem.space.basis):
            self.y = self.y.astype(complex)
        if np.iscomplexobj(self.y) and isinstance(problem.field, Field):
            raise ValueError(
                f"solve: {problem.field} takes real numbers and the points are complex; give a plain Python function "
                "f(t, y, p)"
            )
        super().__init__(problem, method, span, options, self.y, problem.space.dimension)
        self.start_with(self.y, self._field(self.start, self.y))

    @staticmethod
    def _check_munthe_kaas(problem: LieODE, method: RKMK) -> None:
        if isinstance(problem.space, FrameSpace):
            raise ValueError("solve: frame fields have no commutators; take CommutatorFree or CrouchGrossman")
        if (problem.coordinates or method.coordinates) != "exp" or method.dexpinv == "minimal":
            raise ValueError("solve: on a MatrixGroup exponential coordinates and a series of dexpinv only")
        if method.table.order - 2 >= len(BERNOULLI):
            raise ValueError(f"solve: on a MatrixGroup order {method.table.order} needs more terms of dexpinv")

    def _field(self, t: float, y: np.ndarray) -> np.ndarray:
        if isinstance(self.problem.field, Field):
            out = np.empty(self.problem.space.dimension)
            self.problem.field(t, y.reshape(-1), self.p, out)
            return out
        value = numbers("solve: the field's value", self.problem.field(t, y, self.p))
        dimension = self.problem.space.dimension
        if value.shape != (dimension,) or np.iscomplexobj(value):
            kind = "complex" if np.iscomplexobj(value) else "real"
            raise ValueError(
                f"solve: at t = {t:.6g} the field returned {kind} numbers of shape {value.shape}; expected {dimension} "
                "real coefficients, one for each direction of the algebra"
            )
        return value

    def point(self) -> np.ndarray:
        return self.y.copy()

    def take(self, limit: int) -> None:
        advance: Callable[..., Any] = munthe_kaas_step if isinstance(self.method, RKMK) else exponentials_step
        for _ in range(limit):
            h = self.plan.last if self.steps + 1 == self.plan.steps else self.plan.step
            y = advance(self.problem.space, self.method, self._field, self.time, h, self.y)
            if not np.isfinite(y).all():
                self.counts[COUNTS.status] = NOT_FINITE
                return
            if np.iscomplexobj(y) and not np.iscomplexobj(self.y):
                raise ValueError(
                    f"solve: the step at t = {self.time:.6g} gives complex points; start from a complex y0"
                )
            self.y[...] = y
            self.save_step()

    def evaluations(self) -> int:
        stages = self.method.table.stages if isinstance(self.method, RKMK) else len(self.method.stages)
        return int(self.counts[COUNTS.evaluations]) + stages * self.steps

    def no_curve(self) -> str:
        return "on a MatrixGroup or FrameSpace there is no interpolation; save at the times you want (save=times)"
