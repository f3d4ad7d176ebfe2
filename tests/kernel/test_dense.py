"""Dense equations against exact fractions and NumPy, and matrices that have no solution."""

from fractions import Fraction

import numpy as np
import pytest

from chasles.kernel.dense import cholesky_factor, cholesky_solve, inverse3, lu_factor, lu_solve, solve3
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store3, store9


@kernel(entry=True)
def by_lu(a, pivots, b, m):
    if not lu_factor(a, pivots, m):
        return False
    lu_solve(a, pivots, b, m)
    return True


@kernel(entry=True)
def by_cholesky(a, b, m):
    cholesky_factor(a, m)
    cholesky_solve(a, b, m)


@kernel(entry=True)
def of_three(a, b, x, inverse):
    store3(x, 0, solve3(load9(a, 0, 0.0), load3(b, 0, 0.0)))
    store9(inverse, 0, inverse3(load9(a, 0, 0.0)))


def exact(a, b):
    """Gauss-Jordan elimination in fractions."""
    rows = [[*map(Fraction, row), Fraction(right)] for row, right in zip(a.tolist(), b.tolist(), strict=True)]
    for k in range(len(rows)):
        pivot = next(i for i in range(k, len(rows)) if rows[i][k])
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [x / rows[k][k] for x in rows[k]]
        for i in range(len(rows)):
            if i != k:
                rows[i] = [x - rows[i][k] * y for x, y in zip(rows[i], rows[k], strict=True)]
    return np.array([float(row[-1]) for row in rows])


@pytest.mark.parametrize("m", [1, 2, 3, 6, 9])
def test_solutions(m):
    rng = np.random.default_rng(m)
    a, b = rng.normal(size=(m, m)), rng.normal(size=m)
    a[0, 0] = 0.0 if m > 1 else a[0, 0]  # rows must be exchanged
    bound = 20 * m * np.finfo(float).eps
    x = b.copy()
    assert by_lu(a.ravel().copy(), np.zeros(m, dtype=np.int64), x, m)
    best = exact(a, b)
    assert np.abs(x - best).max() < bound * np.linalg.cond(a) * np.abs(best).max()
    square, x = a @ a.T + 0.1 * np.eye(m), b.copy()
    lower = np.tril(square) + np.triu(np.full((m, m), np.nan), 1)  # the upper triangle is not read
    by_cholesky(lower.ravel(), x, m)
    best = exact(square, b)
    assert np.abs(x - best).max() < bound * np.linalg.cond(square) * np.abs(best).max()
    if m == 3:
        x, inverse = np.zeros(3), np.zeros(9)
        of_three(a.ravel(), b, x, inverse)
        best = exact(a, b)
        assert np.abs(x - best).max() < bound * np.linalg.cond(a) * np.abs(best).max()
        columns = np.array([exact(a, unit) for unit in np.eye(3)]).T
        assert np.abs(inverse.reshape(3, 3) - columns).max() < bound * np.linalg.cond(a) * np.abs(columns).max()


def test_a_singular_matrix_is_refused_and_an_indefinite_one_gives_no_number():
    a = np.array([[1.0, 2.0], [2.0, 4.0]])
    assert not by_lu(a.ravel(), np.zeros(2, dtype=np.int64), np.ones(2), 2)
    x = np.ones(2)
    by_cholesky(np.array([1.0, 0.0, 2.0, 1.0]), x, 2)
    assert np.isnan(x).any()
