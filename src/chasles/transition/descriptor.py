"""Models given by the parts of the equations of motion: M V' + Aᵀ λ = Q, A V' = -A' V (003 eq. (5))."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

RANK = 1e-10  # relative size of a singular value below which constraints count as dependent


def descriptor(
    mass: Callable | np.ndarray,
    forces: Callable,
    jacobian: Callable | None = None,
    bias: Callable | None = None,
) -> Callable[[np.ndarray, np.ndarray, float], np.ndarray]:
    """The model f(q, V, t) of 003 eq. (7) from M, Q, A and -A' V, for `LGTProblem`.

    mass: M (6 n, 6 n), or a function of q. forces: Q(q, V, t), (6 n,), with the terms that are quadratic in V.
    jacobian: A(q), (m, 6 n), for constraints A V = 0; bias: -A' V of q and V, (m,); both or none of them.
    q is (bodies, 7 or 6), V (bodies, 6). ValueError if M or the constraints are singular, with the time.
    """
    if (jacobian is None) != (bias is None):
        raise ValueError("descriptor: jacobian and bias belong together: A(q), and -A' V as a function of q and V")

    def acceleration(q: np.ndarray, twists: np.ndarray, t: float) -> np.ndarray:
        m = np.asarray(mass(q) if callable(mass) else mass, dtype=float)
        force = _part("forces", forces(q, twists, t), (len(m),), t)
        if jacobian is None or bias is None:
            return _solve(m, force, "the mass matrix", t)
        a = np.asarray(jacobian(q), dtype=float)
        right = _part("bias", bias(q, twists), (len(a),), t)
        response = _solve(m, np.concatenate([a.T, force[:, None]], axis=1), "the mass matrix", t)
        compliance = a @ response[:, :-1]
        size = np.linalg.svd(compliance, compute_uv=False)
        if size.size and not size[-1] > RANK * size[0]:
            rank = int((size > RANK * size[0]).sum())
            raise ValueError(
                f"descriptor: the {len(a)} constraints have rank {rank} at t = {t:.6g}; leave the dependent ones out"
            )
        multipliers = np.linalg.solve(compliance, a @ response[:, -1] - right)
        return response[:, -1] - response[:, :-1] @ multipliers

    return acceleration


def _solve(matrix: np.ndarray, right: np.ndarray, what: str, t: float) -> np.ndarray:
    try:
        return np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        raise ValueError(f"descriptor: {what} is singular at t = {t:.6g}") from None


def _part(name: str, value: Any, shape: tuple[int, ...], t: float) -> np.ndarray:
    array = np.asarray(value, dtype=float).reshape(-1)
    if array.shape != shape:
        raise ValueError(f"descriptor: {name} gave {array.size} numbers at t = {t:.6g}; expected {shape[0]}")
    return array
