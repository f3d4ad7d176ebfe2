"""Singular vectors of wide matrices, by way of QR."""

import numpy as np

from chasles.assembly.rank import decomposed


def test_many_columns_give_the_same_spaces():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(5, 40))
    rows[4] = rows[0] - 2.0 * rows[3]
    left, right, rank = decomposed(rows, np.ones(5))
    assert rank == 4
    assert np.abs(right @ right.T - np.eye(40)).max() < 1e-13
    assert np.abs(rows @ right[rank:].T).max() < 1e-13
    assert np.abs(left[:, rank:].T @ rows).max() < 1e-13
    assert np.abs(left @ left.T - np.eye(5)).max() < 1e-13
