"""Dense and banded factors of many matrices of one form, each of which is solved with once."""

from __future__ import annotations

import numpy as np

BANDED, BAND = 130, 0.6  # equations from which a band is looked for, and what it may have of them


class Band:
    """An order of unknowns in which matrices of one form have numbers near their diagonal only."""

    def __init__(self, used: np.ndarray):
        """used: where the matrices have numbers."""
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        self.used, self.order = used, reverse_cuthill_mckee(csr_matrix(used | used.T), symmetric_mode=True)
        self.row, self.column = np.nonzero(used[np.ix_(self.order, self.order)])
        off = self.row - self.column
        self.low, self.high = int(off.max(initial=0)), int((-off).max(initial=0))
        self.narrow = 2 * self.low + self.high < BAND * len(used)

    def stored(self, matrices: np.ndarray) -> np.ndarray:
        """Matrices as LAPACK has them, transposed."""
        band = np.zeros((*matrices.shape[:2], 2 * self.low + self.high + 1))
        at = self.low + self.high + self.row - self.column
        band[:, self.column, at] = matrices[:, self.order[self.row], self.order[self.column]]
        return band


class BalancedFactors:
    """Matrices of one form (steps, rows, rows), ready to be solved with one by one, with rows and columns of about one
    size. If an order of the unknowns leaves only a narrow band, as of long chains, factors are those of the band."""

    def __init__(self, matrices: np.ndarray, before: BalancedFactors | None = None):
        """before: others of the same form, whose band may serve here too."""
        self.matrices = matrices
        self.columns = np.abs(matrices).max(axis=1)
        self.balanced = matrices / self.columns[:, None]
        self.rows = np.abs(self.balanced).max(axis=2)
        self.balanced /= self.rows[..., None]
        self.band: Band | None = before.band if before else None
        if matrices.shape[1] > BANDED:
            used = np.asarray(matrices.any(axis=0))
            if self.band is None or (used & ~self.band.used).any():
                self.band = Band(used if self.band is None else used | self.band.used)
            self.balanced = self.band.stored(self.balanced) if self.band.narrow else self.balanced

    def solve(self, k: int, right: np.ndarray) -> np.ndarray:
        """Solve with matrix k, once, with one refinement."""
        from scipy.linalg import lapack  # takes long to load; lu_factor looks at its arguments for longer

        rows, columns, band = self.rows[k], self.columns[k], self.band
        # LAPACK has columns where NumPy has rows
        if band is None or not band.narrow:
            factors, pivots, _ = lapack.dgetrf(self.balanced[k].T, overwrite_a=1)
        else:
            factors, pivots, _ = lapack.dgbtrf(self.balanced[k].T, band.low, band.high, overwrite_ab=1)

        def solved(b: np.ndarray) -> np.ndarray:
            if band is None or not band.narrow:
                found: np.ndarray = lapack.dgetrs(factors, pivots, b / rows, trans=1)[0]
            else:
                found = np.empty_like(b)
                found[band.order] = lapack.dgbtrs(factors, band.low, band.high, (b / rows)[band.order], pivots)[0]
            return found / columns

        w = solved(right)
        return w + solved(right - self.matrices[k] @ w)


def solve_transposed(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve matrixᵀ w = right."""
    return BalancedFactors(np.ascontiguousarray(matrix.T)[None]).solve(0, right)
