"""Inertias that are physical by construction: log-Cholesky coordinates of the pseudo-inertia.

    P = [[Σ, h], [hᵀ, m]] = U Uᵀ,     U = e^α [[e^d1, s12, s13, t1], [0, e^d2, s23, t2], [0, 0, e^d3, t3], [0, 0, 0, 1]]

P is positive definite for all (α, d1, d2, d3, s12, s23, s13, t1, t2, t3), and each inertia with a full distribution of
mass has exactly one such row of numbers. t is the center of mass.
"""

from __future__ import annotations

import numpy as np

from chasles.screw import inertia as spatial

CHART_NUMBERS = 10
_PLACES = ((0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))  # of s12, s23, s13, t1, t2, t3


def ten_of(chart: np.ndarray) -> np.ndarray:
    """The ten parameters (m, m c, Θ about the origin) of chart coordinates (10,)."""
    return _ten(_matrix(chart))


def derivative(chart: np.ndarray) -> np.ndarray:
    """∂ten/∂chart, (10, 10)."""
    U = _matrix(chart)
    columns = []
    for k in range(CHART_NUMBERS):
        change = np.zeros((4, 4))
        if k == 0:
            change = U.copy()
        elif k < 4:
            change[k - 1, k - 1] = U[k - 1, k - 1]
        else:
            change[_PLACES[k - 4]] = U[3, 3]
        columns.append(_linear(change @ U.T + U @ change.T))
    return np.array(columns).T


def chart_of(ten: np.ndarray, name: str) -> np.ndarray:
    """Chart coordinates of ten parameters; a ValueError for a body without a full distribution of mass."""
    P = spatial.pseudo_inertia(spatial.from_parameters(ten))
    flipped = P[::-1, ::-1]
    try:
        U = np.linalg.cholesky(flipped)[::-1, ::-1]
    except np.linalg.LinAlgError:
        raise ValueError(
            f"fit: body {name!r} has no full distribution of mass (a point, a thin rod or a plate), so its inertia "
            "cannot be fitted; give it some extent in all directions"
        ) from None
    scale = U[3, 3]
    U = U / scale
    return np.array([np.log(scale), *np.log(np.diag(U)[:3]), *(U[place] for place in _PLACES)])


def _matrix(chart: np.ndarray) -> np.ndarray:
    U = np.diag([*np.exp(chart[1:4]), 1.0])
    for place, value in zip(_PLACES, chart[4:], strict=True):
        U[place] = value
    found: np.ndarray = np.exp(chart[0]) * U
    return found


def _ten(U: np.ndarray) -> np.ndarray:
    return _linear(U @ U.T)


def _linear(P: np.ndarray) -> np.ndarray:
    """The ten parameters of a pseudo-inertia: Θ = tr(Σ) I - Σ."""
    theta = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.array([P[3, 3], *P[:3, 3], *theta[[0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2]]])
