"""Rows that depend on each other: rank, shortest solutions."""

from __future__ import annotations

import numpy as np

DEPENDENT = 1e-9  # of singular values of rows divided by their reach
WIDE = 4  # columns for each row from which on QR comes first
SHORT = 1e-5  # of its reach: a row that moves less than that is next to a place where it moves nothing


def shortest(rows: np.ndarray, reach: np.ndarray, b: np.ndarray, cut_off: float = DEPENDENT) -> np.ndarray:
    """The shortest y with F y = b, as near as it goes; rows divided by their reach, whose singular values tell zero."""
    scaled = rows / reach[:, None]
    size = float(np.linalg.norm(scaled))
    if not size > cut_off:  # nothing moves
        return np.zeros(rows.shape[1])
    return np.linalg.lstsq(scaled, b / reach, rcond=cut_off / size)[0]


def rank_of(rows: np.ndarray, reach: np.ndarray) -> int:
    """The rank of F with rows divided by their reach."""
    return int(np.count_nonzero(np.linalg.svd(rows / reach[:, None], compute_uv=False) > DEPENDENT))


def _singular(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """np.linalg.svd(A), by way of QR where there are far more columns than rows, as with nodes of rods: that takes time
    with the square of the columns, not with their cube."""
    m, n = A.shape
    if n < WIDE * max(m, 1):
        return np.linalg.svd(A)
    Q, R = np.linalg.qr(A.T, mode="complete")
    left, sizes, right = np.linalg.svd(R[:m].T)
    return left, sizes, np.concatenate([right @ Q[:, :m].T, Q[:, m:].T])


def decomposed(rows: np.ndarray, reach: np.ndarray, tolerance: float = DEPENDENT) -> tuple[np.ndarray, np.ndarray, int]:
    """Singular vectors of F with rows divided by their reach (left, right), and the rank.

    A tolerance above `DEPENDENT` is one of rows of length one, without those that move almost nothing.
    """
    left, sizes, right = _singular(rows / reach[:, None])
    rank = int(np.count_nonzero(sizes > min(tolerance, DEPENDENT)))
    if tolerance > DEPENDENT:
        lengths = np.linalg.norm(rows, axis=1)
        moving = lengths > SHORT * reach
        own = np.linalg.svd(rows[moving] / lengths[moving, None], compute_uv=False)
        rank = min(rank, int(np.count_nonzero(own > tolerance)))
    return left, right, rank
