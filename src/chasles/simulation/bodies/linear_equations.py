"""Linear equations of an iteration in statics: a matrix as numbers of a pattern that stays, in a band if it is narrow.

Rods are chains, so a band is narrow whatever their length, and its factors take a tenth of the time that general sparse
ones take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from chasles.cached import cached_property

CHAIN = 11  # the band of bodies that are coupled to their neighbors alone, in the order in which they are given
WIDEST = 60  # a band up to which it is taken; beyond, general sparse factors do less


class Pattern:
    """Rows and columns of the numbers of a square matrix. Places that are named twice are added."""

    def __init__(self, rows: np.ndarray, columns: np.ndarray, size: int):
        self.rows, self.columns, self.size = rows, columns, size

    def sparse(self, numbers: np.ndarray) -> Any:
        """The matrix with these numbers."""
        import scipy.sparse as sparse  # slow to load

        return sparse.csc_matrix((numbers, (self.rows, self.columns)), shape=(self.size, self.size))

    @cached_property
    def _band(self) -> tuple[np.ndarray, int, np.ndarray] | None:
        """The order of unknowns that makes the band narrow, its half width, and where numbers lie in LAPACK's storage;
        None if it is wide, or if a place is named twice."""
        order, i, j = np.arange(self.size), self.rows, self.columns
        if np.abs(i - j).max(initial=0) > CHAIN:
            from scipy.sparse.csgraph import reverse_cuthill_mckee

            order = reverse_cuthill_mckee(self.sparse(np.ones(len(self.rows))).tocsr(), symmetric_mode=True)
            rank = np.empty(self.size, dtype=np.int64)
            rank[order] = np.arange(self.size)
            i, j = rank[self.rows], rank[self.columns]
        width = int(np.abs(i - j).max(initial=0))
        places = (2 * width + i - j) * self.size + j
        if width > WIDEST or np.bincount(places, minlength=1).max() > 1:
            return None
        return order, width, places

    def solver(self, numbers: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
        """What solves equations with the matrix of these numbers; RuntimeError if it is exactly singular."""
        if self._band is None:
            from scipy.sparse.linalg import splu  # slow to load

            return splu(self.sparse(numbers)).solve
        from scipy.linalg.lapack import dgbtrf, dgbtrs

        order, width, places = self._band
        band = np.zeros((3 * width + 1, self.size))
        band.ravel()[places] = numbers
        factors, pivots, info = dgbtrf(band, width, width)
        if info:
            raise RuntimeError(f"the pivot of unknown {info} is zero")

        def solve(right: np.ndarray) -> np.ndarray:
            found = np.empty(self.size)
            found[order] = dgbtrs(factors, width, width, right[order], pivots)[0].ravel()
            return found

        return solve


class StaticEquations:
    """The linear equations of an iteration: bodies, then constraints. left: what is left; rows: which of the equations
    of the constraints there are; after these come spins of rods that nothing holds."""

    def __init__(self, pattern: Pattern, numbers: np.ndarray, left: np.ndarray, bodies: int, rows: Any = ()):
        self._pattern, self._numbers, self.left, self._bodies = pattern, numbers, left, bodies
        self.rows = np.array(rows, dtype=int)

    @property
    def constraints(self) -> int:
        """How many constraints there are, with spins that are held."""
        return self._pattern.size - 6 * self._bodies

    @cached_property
    def matrix(self) -> Any:
        """The matrix, sparse."""
        return self._pattern.sparse(self._numbers)

    @cached_property
    def solve(self) -> Callable[[np.ndarray], np.ndarray]:
        """What solves with this matrix; RuntimeError if it is exactly singular."""
        return self._pattern.solver(self._numbers)
