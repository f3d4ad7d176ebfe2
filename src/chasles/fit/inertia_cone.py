"""Inertias that bodies can have: the cone of pseudo-inertias without negative eigenvalues.

    P = [[Σ, h], [hᵀ, m]] = ∫ (x, 1)(x, 1)ᵀ dm

P is linear in the ten parameters (m, m c, Θ about the origin). Plates, rods and points are on the surface of the cone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.cached import cached_property
from chasles.screw import inertia as spatial

TEN = 10
FLAT = 1e-2  # of the squared size of a body: a change of thinner extents that is a large one
NOWHERE = 1e-4  # [m²] the same of a point in the origin
NONE = 1e-6  # of the largest squared extent: there is none
SLACK = 1e-9  # of the trace: negative squared extents that are rounding
SIX = ([0, 0, 0, 1, 1, 2], [0, 1, 2, 1, 2, 2])  # entries of a symmetric matrix
FOUR = np.triu_indices(4)
WEIGHTS = np.where(FOUR[0] == FOUR[1], 1.0, np.sqrt(2.0))  # squares of the weighted entries add up to the matrix's


@dataclass(frozen=True)
class InertiaFrame:
    """Units for the ten parameters near those of a body: P = B Q Bᵀ with its principal axes and extents in B.

    The numbers y of Q are linear in the ten parameters; Q of the body itself is the identity, but for extents so thin
    that they are no unit.
    """

    factor: np.ndarray  # B

    @cached_property
    def matrix(self) -> np.ndarray:
        """y of the ten parameters, (10, 10)."""
        inverse = np.linalg.inv(self.factor)
        return numbers_of(inverse @ pseudo(np.eye(TEN)) @ inverse.T).T

    def drawn(self, shares: np.ndarray) -> np.ndarray:
        """Ten parameters of a body that differs widely, by shares (10,) from 0 to 1."""
        root = self.factor @ (np.eye(4) + 0.5 * symmetric(shares - 0.5))
        return ten_of(root @ root.T)


def inertia_frame(ten: np.ndarray, flat: float = FLAT) -> InertiaFrame:
    """Units near the ten parameters of a body; flat: least square of an extent that is a unit, of the body's size."""
    center, squares, axes = _extents(ten)
    largest = max(squares[0], 0.0) + center @ center or NOWHERE
    factor = np.eye(4)
    factor[:3, :3], factor[:3, 3] = axes * np.sqrt(np.maximum(squares, flat * largest)), center
    return InertiaFrame(np.sqrt(ten[0]) * factor)


def extents(ten: np.ndarray) -> np.ndarray:
    """Roots of mean squared distances from the center of mass along the principal axes, (3,), falling."""
    return np.asarray(np.sqrt(np.maximum(_extents(ten)[1], 0.0)))


def thin_directions(ten: np.ndarray) -> np.ndarray:
    """Axes along which a body has no extent, (3, count): one of a plate, two of a rod, three of a point."""
    center, squares, axes = _extents(ten)
    return np.asarray(axes[:, squares <= NONE * max(squares[0], SLACK * (center @ center))])


def require_body(ten: np.ndarray, name: str) -> None:
    """ValueError for ten parameters that no body with mass has."""
    if not ten[0] > 0.0:
        raise ValueError(f"fit: body {name!r} has no mass, so its inertia cannot be fitted; start from one with mass")
    center, squares, _ = _extents(ten)
    if squares[2] < -SLACK * (np.abs(squares).sum() + center @ center):
        raise ValueError(
            f"fit: body {name!r} has an inertia that no distribution of mass has, so it cannot be fitted; start from a "
            "physical one: no principal moment is larger than the sum of the others"
        )


def _extents(ten: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Center of mass, and principal mean squared distances from it, falling, with their axes in columns."""
    P = pseudo(ten)
    center = P[:3, 3] / P[3, 3]
    squares, axes = np.linalg.eigh(P[:3, :3] / P[3, 3] - np.outer(center, center))
    return center, squares[::-1], axes[:, ::-1]


def pseudo(ten: np.ndarray) -> np.ndarray:
    """The pseudo-inertias (..., 4, 4) of ten parameters, which may be those of no body."""
    return spatial.pseudo_inertia(spatial.from_parameters(ten))


def ten_of(P: np.ndarray) -> np.ndarray:
    """The ten parameters of a pseudo-inertia: Θ = tr(Σ) I - Σ."""
    theta = np.trace(P[:3, :3]) * np.eye(3) - P[:3, :3]
    return np.array([P[3, 3], *P[:3, 3], *theta[SIX]])


def symmetric(y: np.ndarray) -> np.ndarray:
    """The symmetric matrices (..., 4, 4) of their numbers (..., 10)."""
    Q = np.zeros((*y.shape[:-1], 4, 4))
    Q[..., FOUR[0], FOUR[1]] = Q[..., FOUR[1], FOUR[0]] = y / WEIGHTS
    return Q


def numbers_of(Q: np.ndarray) -> np.ndarray:
    """Ten numbers of symmetric matrices (..., 4, 4), as long as these are large."""
    return np.asarray(Q[..., FOUR[0], FOUR[1]] * WEIGHTS)
