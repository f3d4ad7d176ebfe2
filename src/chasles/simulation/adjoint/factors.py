"""Factors of many sparse matrices of one form, each of which is solved with once: of all numbers, or of a band."""

from __future__ import annotations

import numpy as np

from chasles.cached import cached_property

BANDED, BAND = 130, 0.6  # equations from which a band is looked for, and what it may have of them
# Of J M⁻¹ Jᵀ with rows that depend on others, so much of its diagonal makes it regular; each refinement takes what that
# changed down by as much, relative to the squares of the singular values of the rows that count.
SURPLUS = 1e-9
MOST = 20  # refinements


class SparseForm:
    """Where square matrices have numbers: some in each row and each column."""

    def __init__(self, size: int, places: np.ndarray):
        """places: size * row + column, each once, in order."""
        self.size, self.places = size, places
        self.row, self.column = np.divmod(places, size)
        every = np.arange(size)
        self.rows = np.searchsorted(self.row, every)  # where each begins
        self.by_columns = np.argsort(self.column, kind="stable")
        self.columns = np.searchsorted(self.column[self.by_columns], every)

    def diagonal(self, chosen: np.ndarray) -> np.ndarray:
        """Which of the numbers are on the diagonal, of some rows."""
        return np.searchsorted(self.places, chosen * (self.size + 1))

    @cached_property
    def band(self) -> Band | None:
        """If an order of the unknowns leaves only a narrow band, as of long chains."""
        band = Band(self) if self.size > BANDED else None
        return band if band is not None and band.narrow else None


class Band:
    """An order of unknowns in which matrices of one form have numbers near their diagonal only."""

    def __init__(self, form: SparseForm):
        from scipy.sparse import csr_matrix
        from scipy.sparse.csgraph import reverse_cuthill_mckee

        used = csr_matrix((np.ones(len(form.row)), (form.row, form.column)), shape=(form.size, form.size))
        self.order = reverse_cuthill_mckee((used + used.T).tocsr(), symmetric_mode=True)
        place = np.argsort(self.order)
        row, self.column = place[form.row], place[form.column]
        off = row - self.column
        self.low, self.high = int(off.max(initial=0)), int((-off).max(initial=0))
        self.width = 2 * self.low + self.high + 1
        self.at = self.low + self.high + off
        self.narrow = self.width - 1 < BAND * form.size

    def stored(self, numbers: np.ndarray, size: int) -> np.ndarray:
        """Matrices as LAPACK has them, transposed."""
        out = np.zeros((len(numbers), size * self.width))
        out[:, self.column * self.width + self.at] = numbers
        return out.reshape(-1, size, self.width)


class BalancedFactors:
    """Matrices of one form, ready to be solved with one by one, with rows and columns of about one size."""

    def __init__(self, form: SparseForm, numbers: np.ndarray, surplus: np.ndarray | None = None):
        """numbers: of the matrices (matrices, numbers), in the order of the form. surplus: of singular matrices, what
        is added to their diagonals (matrices, rows) for the factors; solutions are refined until the matrices hold."""
        self.form, self.numbers, self.refinements = form, numbers, 1 if surplus is None else MOST
        if surplus is not None:
            chosen, numbers = np.flatnonzero(surplus.any(axis=0)), numbers.copy()
            numbers[:, form.diagonal(chosen)] += surplus[:, chosen]
        # faster than along the columns: the numbers of one matrix are side by side
        self.columns = np.maximum.reduceat(np.abs(numbers)[:, form.by_columns], form.columns, axis=1)
        balanced = numbers / self.columns[:, form.column]
        self.rows = np.maximum.reduceat(np.abs(balanced), form.rows, axis=1)
        balanced /= self.rows[:, form.row]
        if form.band is None:
            stored = np.zeros((len(numbers), form.size * form.size))
            stored[:, form.places] = balanced
            self.stored = stored.reshape(-1, form.size, form.size)
        else:
            self.stored = form.band.stored(balanced, form.size)
        self.factors: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    @classmethod
    def of(cls, matrices: np.ndarray, surplus: np.ndarray | None = None) -> BalancedFactors:
        """Of matrices (matrices, rows, rows); many of the numbers of large ones may be zero."""
        count, size, _ = matrices.shape
        used = matrices.any(axis=0) if size > BANDED else np.ones((size, size), dtype=bool)
        used |= np.eye(size, dtype=bool)
        places = np.flatnonzero(used)
        return cls(SparseForm(size, places), matrices.reshape(count, -1)[:, places], surplus)

    def solve(self, k: int, right: np.ndarray) -> np.ndarray:
        """Solve with matrix k, refined once, or until nothing is gained."""
        w, form, before = self._solved(k, right), self.form, np.inf
        for _ in range(self.refinements):
            left = right - np.add.reduceat(self.numbers[k] * w[form.column], form.rows)
            if self.refinements > 1:
                size = float(np.abs(left / self.rows[k]).max(initial=0.0))
                if not size < 0.5 * before:
                    break
                before = size
            w = w + self._solved(k, left)
        return w

    def _solved(self, k: int, right: np.ndarray) -> np.ndarray:
        from scipy.linalg import lapack  # takes long to load; lu_factor looks at its arguments for longer

        rows, band = self.rows[k], self.form.band
        if k not in self.factors:  # LAPACK has columns where NumPy has rows
            if band is None:
                self.factors[k] = lapack.dgetrf(self.stored[k].T, overwrite_a=1)[:2]
            else:
                self.factors[k] = lapack.dgbtrf(self.stored[k].T, band.low, band.high, overwrite_ab=1)[:2]
        factors, pivots = self.factors[k]
        if band is None:
            found: np.ndarray = lapack.dgetrs(factors, pivots, right / rows, trans=1)[0]
        else:
            found = np.empty_like(right)
            found[band.order] = lapack.dgbtrs(factors, band.low, band.high, (right / rows)[band.order], pivots)[0]
        return found / self.columns[k]


def solve_transposed(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Solve matrixᵀ w = right."""
    return BalancedFactors.of(np.ascontiguousarray(matrix.T)[None]).solve(0, right)
