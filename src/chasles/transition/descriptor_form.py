"""Models given by the parts of the equations of motion: M V' + Aᵀ λ = Q, A V' = -A' V, g = 0 (mueller2022 eq. (5))."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

RANK = 1e-10  # relative size of a singular value below which constraints count as dependent


@dataclass(frozen=True)
class Descriptor:
    """A model in parts; called as f(q, V, t) it gives V', as `LGTProblem` wants. Made by `descriptor`."""

    mass: Callable | np.ndarray
    forces: Callable
    jacobian: Callable | None = None
    bias: Callable | None = None
    constraint: Callable | None = None
    derivatives: Callable | None = None

    def __post_init__(self):
        if (self.jacobian is None) != (self.bias is None):
            raise ValueError("descriptor: jacobian and bias belong together: A(q), and -A' V as a function of q and V")
        if self.constraint is not None and self.jacobian is None:
            raise ValueError("descriptor: constraint g(q) without its jacobian A(q); give jacobian and bias, too")

    def __call__(self, q: np.ndarray, twists: np.ndarray, t: float) -> np.ndarray:
        return self.accelerations(q, twists, t)[0]

    def accelerations(self, q: np.ndarray, twists: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """V' (6 n,) and the multipliers λ (m,) at a state: the reactions of the constraints are -Aᵀ λ."""
        m, force = self.mass_at(q), self.forces_at(q, twists, t)
        if self.jacobian is None or self.bias is None:
            return _solve(m, force, t), np.empty(0)
        a = self.rows_at(q)
        right = _part("bias", self.bias(q, twists), (len(a),), t)
        response, compliance = _responses(m, a, t)
        free = _solve(m, force, t)
        multipliers = np.linalg.solve(compliance, a @ free - right)
        return free - response @ multipliers, multipliers

    def normal_part(self, q: np.ndarray, residual: np.ndarray, t: float) -> np.ndarray:
        """The twist (6 n,), orthogonal to the constraints in the metric of the masses, with A times it `residual`."""
        response, compliance = _responses(self.mass_at(q), self.rows_at(q), t)
        return response @ np.linalg.solve(compliance, residual)

    def mass_at(self, q: np.ndarray) -> np.ndarray:
        return np.asarray(self.mass(q) if callable(self.mass) else self.mass, dtype=float)

    def forces_at(self, q: np.ndarray, twists: np.ndarray, t: float) -> np.ndarray:
        return _part("forces", self.forces(q, twists, t), (twists.size,), t)

    def rows_at(self, q: np.ndarray) -> np.ndarray:
        """A(q), (m, 6 n); no rows without constraints."""
        if self.jacobian is None:
            return np.empty((0, 6 * len(q)))
        a = np.asarray(self.jacobian(q), dtype=float)
        if a.ndim != 2 or a.shape[1] != 6 * len(q):
            raise ValueError(f"descriptor: jacobian gave shape {a.shape}; expected (constraints, {6 * len(q)})")
        return a

    def constraint_at(self, q: np.ndarray, rows: int) -> np.ndarray:
        if self.constraint is None:
            return np.zeros(rows)
        g = np.asarray(self.constraint(q), dtype=float).reshape(-1)
        if g.size != rows:
            raise ValueError(f"descriptor: constraint gave {g.size} numbers; expected {rows}, one for each row of A")
        return g


def descriptor(
    mass: Callable | np.ndarray,
    forces: Callable,
    jacobian: Callable | None = None,
    bias: Callable | None = None,
    constraint: Callable | None = None,
    derivatives: Callable | None = None,
) -> Descriptor:
    """The model f(q, V, t) of mueller2022 eq. (7) from M, Q, A and -A' V, for `LGTProblem`.

    mass: M (6 n, 6 n), or a function of q. forces: Q(q, V, t), (6 n,), with the terms that are quadratic in V.
    jacobian: A(q), (m, 6 n), for constraints A V = 0; bias: -A' V of q and V, (m,); both or none of them.
    constraint: g(q), (m,), whose rate is A V; methods that hold positions need it (GeneralizedAlpha, BLieDF).
    derivatives: of q, V and t, gives ∂Q/∂q and ∂Q/∂V, each (6 n, 6 n), for implicit methods, which find them by
    differences if not given; that for q is along twists, in the representation of the model, with V as it is.
    q is (bodies, 7 or 6), V (bodies, 6). ValueError if M or the constraints are singular, with the time.
    """
    return Descriptor(mass, forces, jacobian, bias, constraint, derivatives)


def _responses(mass: np.ndarray, rows: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
    """M⁻¹ Aᵀ and A M⁻¹ Aᵀ."""
    response = _solve(mass, rows.T, t)
    compliance = rows @ response
    size = np.linalg.svd(compliance, compute_uv=False)
    if size.size and not size[-1] > RANK * size[0]:
        rank = int((size > RANK * size[0]).sum())
        raise ValueError(
            f"descriptor: the {len(rows)} constraints have rank {rank} at t = {t:.6g}; leave the dependent ones out"
        )
    return response, compliance


def _solve(mass: np.ndarray, right: np.ndarray, t: float) -> np.ndarray:
    try:
        return np.linalg.solve(mass, right)
    except np.linalg.LinAlgError:
        raise ValueError(f"descriptor: the mass matrix is singular at t = {t:.6g}") from None
    except ValueError:
        raise ValueError(f"descriptor: the mass matrix has shape {mass.shape}; expected {(len(right),) * 2}") from None


def _part(name: str, value: Any, shape: tuple[int, ...], t: float) -> np.ndarray:
    array = np.asarray(value, dtype=float).reshape(-1)
    if array.shape != shape:
        raise ValueError(f"descriptor: {name} gave {array.size} numbers at t = {t:.6g}; expected {shape[0]}")
    return array
