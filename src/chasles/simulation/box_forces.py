"""Forces between bounds that let coordinates at rest accelerate only as the bounds allow: a small quadratic program.

Accelerations are a + W f, with W = E^T M^-1 E. The f that minimizes f^T W f / 2 + a^T f between its bounds is Coulomb's
law, and that of limits that only push, for all coordinates at once (Gauss's principle), also where loops make W
singular; then f is not unique and a is. Impulses of impacts are found the same way, with velocities for accelerations.
"""

from __future__ import annotations

import numpy as np

SINGULAR = 1e-11  # of the largest: accelerations that such forces cannot make
PIVOTS = 60
SWEEPS = 10_000


def forces_in_box(a: np.ndarray, W: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The minimizer of f^T W f / 2 + a^T f with low <= f <= high. All that violate a bound, or should leave one, are
    exchanged at once; where this goes in circles, sweeps over the coordinates find it."""
    side = np.zeros(len(a), dtype=int)  # -1: at the lower bound, 1: at the upper one
    bound = np.abs(W).max(initial=0.0)
    for _ in range(PIVOTS):
        f = np.where(side < 0, low, np.where(side > 0, high, 0.0))
        free = side == 0
        if free.any():
            right = a[free] + W[np.ix_(free, ~free)] @ f[~free]
            f[free] = np.linalg.lstsq(W[np.ix_(free, free)], -right, rcond=SINGULAR)[0]
        rounding = SINGULAR * (np.abs(a).max() + bound * np.abs(f).max())
        slope = a + W @ f
        below, above = free & (f < low), free & (f > high)
        leaves = ((side < 0) & (slope < -rounding)) | ((side > 0) & (slope > rounding))
        if not (below | above | leaves).any():
            return f
        side = np.where(below, -1, np.where(above, 1, np.where(leaves, 0, side)))
    return _by_sweeps(a, W, low, high)


def _by_sweeps(a: np.ndarray, W: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    f = np.clip(np.zeros(len(a)), low, high)
    largest = W.diagonal().max()
    for _ in range(SWEEPS):
        before = f.copy()
        for i in np.flatnonzero(W.diagonal() > SINGULAR * largest):
            f[i] = np.clip(f[i] - (a[i] + W[i] @ f) / W[i, i], low[i], high[i])
        if np.abs(f - before).max() <= 1e-14 * np.abs(f).max():
            break
    return f


def reserve(a: np.ndarray, W: np.ndarray, low: np.ndarray, high: np.ndarray) -> float:
    """How far inside of their bounds forces can stay that keep all at rest, a + W f = 0: the largest least distance.
    Negative if none can; 1 if there are no bounds."""
    f, _, rank, _ = np.linalg.lstsq(W, -a, rcond=SINGULAR)
    under, over = np.isfinite(low), np.isfinite(high)
    if not (under.any() or over.any()):
        return 1.0
    if rank < len(a):  # forces are not unique
        idle = np.linalg.svd(W)[2][rank:].T
        ones = np.ones(int(under.sum() + over.sum()))
        from scipy.optimize import linprog  # not at the top: it takes as long to load as all of chasles

        best = linprog(
            np.append(np.zeros(idle.shape[1]), -1.0),
            A_ub=np.column_stack([np.concatenate([-idle[under], idle[over]]), ones]),
            b_ub=np.concatenate([(f - low)[under], (high - f)[over]]),
            bounds=(None, None),
        )
        if best.success:
            f = f + idle @ best.x[:-1]
    return float(min((f - low)[under].min(initial=np.inf), (high - f)[over].min(initial=np.inf)))
