"""Dense and banded factors of many matrices of one form, each of which is solved with once."""

from __future__ import annotations

import numpy as np

BANDED, BAND = 130, 0.6  # equations from which a band is looked for, and what it may have of them
# Of J M⁻¹ Jᵀ with rows that depend on others, so much of its diagonal makes it regular; each refinement takes what that
# changed down by as much, relative to the squares of the singular values of the rows that count.
SURPLUS = 1e-9
MOST = 20  # refinements


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

    def __init__(self, matrices: np.ndarray, before: BalancedFactors | None = None, surplus: np.ndarray | None = None):
        """before: others of the same form, whose band may serve here too. surplus: of singular matrices, what is
        added to their diagonals (steps, rows) for the factors; solutions are refined until the matrices hold."""
        self.matrices, self.refinements = matrices, 1 if surplus is None else MOST
        if surplus is not None:
            matrices = matrices.copy()
            every = np.arange(matrices.shape[1])
            matrices[:, every, every] += surplus
        self.columns = np.abs(matrices).max(axis=1)
        self.balanced = matrices / self.columns[:, None]
        self.rows = np.abs(self.balanced).max(axis=2)
        self.balanced /= self.rows[..., None]
        self.factors: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        self.band: Band | None = before.band if before else None
        if matrices.shape[1] > BANDED:
            used = np.asarray(matrices.any(axis=0))
            if self.band is None or (used & ~self.band.used).any():
                self.band = Band(used if self.band is None else used | self.band.used)
            self.balanced = self.band.stored(self.balanced) if self.band.narrow else self.balanced

    def solve(self, k: int, right: np.ndarray) -> np.ndarray:
        """Solve with matrix k, refined once, or until nothing is gained."""
        w = self._solved(k, right)
        before = np.inf
        for _ in range(self.refinements):
            left = right - self.matrices[k] @ w
            size = float(np.abs(left / self.rows[k]).max(initial=0.0))
            if not size < 0.5 * before:
                break
            w, before = w + self._solved(k, left), size
        return w

    def _solved(self, k: int, right: np.ndarray) -> np.ndarray:
        from scipy.linalg import lapack  # takes long to load; lu_factor looks at its arguments for longer

        rows, band = self.rows[k], self.band
        narrow = band is not None and band.narrow
        if k not in self.factors:  # LAPACK has columns where NumPy has rows
            if band is None or not narrow:
                self.factors[k] = lapack.dgetrf(self.balanced[k].T, overwrite_a=1)[:2]
            else:
                self.factors[k] = lapack.dgbtrf(self.balanced[k].T, band.low, band.high, overwrite_ab=1)[:2]
        factors, pivots = self.factors[k]
        if band is None or not narrow:
            found: np.ndarray = lapack.dgetrs(factors, pivots, right / rows, trans=1)[0]
        else:
            found = np.empty_like(right)
            found[band.order] = lapack.dgbtrs(factors, band.low, band.high, (right / rows)[band.order], pivots)[0]
        return found / self.columns[k]


def solve_transposed(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve matrixᵀ w = right."""
    return BalancedFactors(np.ascontiguousarray(matrix.T)[None]).solve(0, right)
