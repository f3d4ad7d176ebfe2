"""Forces between bounds that let coordinates at rest accelerate only as the bounds allow: a small quadratic program.

Accelerations are a + W f, with W = E^T M^-1 E. The f that minimizes f^T W f / 2 + a^T f between its bounds is Coulomb's
law, and that of limits that only push, for all coordinates at once (Gauss's principle), also where loops make W
singular; then f is not unique and a is. Impulses of impacts are found the same way, with velocities for accelerations.
"""

from __future__ import annotations

import numpy as np

SINGULAR = 1e-11  # of the largest: accelerations that such forces cannot make
PIVOTS = 60
STEPS = 1000


def forces_in_box(a: np.ndarray, W: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The minimizer of f^T W f / 2 + a^T f with low <= f <= high. All that violate a bound, or should leave one, are
    exchanged at once; where this goes in circles, or ends where W is singular, single exchanges find it."""
    own = np.sqrt(np.maximum(W.diagonal(), 0.0))  # at a dead center a force moves nothing, but for rounding
    unit = 1.0 / np.where(own > 0.0, own, 1.0)  # so that units of the coordinates do not matter
    felt = np.outer(own > 0.0, own > 0.0)
    scaled = unit * a, np.where(felt, unit[:, None] * W * unit, 0.0), low / unit, high / unit
    found = _by_pivots(*scaled)
    return unit * (_by_steps(*scaled) if found is None else found)


def _rounding(a: np.ndarray, W: np.ndarray, f: np.ndarray) -> float:
    return SINGULAR * float(np.abs(a).max(initial=0.0) + np.abs(W).max(initial=0.0) * np.abs(f).max(initial=0.0))


def _by_pivots(a: np.ndarray, W: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray | None:
    """The minimizer; None if it is not found."""
    side = np.zeros(len(a), dtype=int)  # -1: at the lower bound, 1: at the upper one
    for _ in range(PIVOTS):
        f = np.where(side < 0, low, np.where(side > 0, high, 0.0))
        free = side == 0
        if free.any():
            right = a[free] + W[np.ix_(free, ~free)] @ f[~free]
            f[free] = np.linalg.lstsq(W[np.ix_(free, free)], -right, rcond=SINGULAR)[0]
        rounding, slope = _rounding(a, W, f), a + W @ f
        below, above = free & (f < low), free & (f > high)
        leaves = ((side < 0) & (slope < -rounding)) | ((side > 0) & (slope > rounding))
        if not (below | above | leaves).any():
            return f if (np.abs(slope[free]) <= rounding).all() else None
        side = np.where(below, -1, np.where(above, 1, np.where(leaves, 0, side)))
    return None


def _by_steps(a: np.ndarray, W: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """The minimizer by steps inside of the bounds: as far as the next bound, or until no free force has a slope. Where
    W is singular they go along forces that change no acceleration. The first that should leave its bound does, which
    cannot go in circles."""
    f = np.clip(np.zeros(len(a)), low, high)
    side = np.where(f == low, -1, np.where(f == high, 1, 0))
    for _ in range(STEPS):
        slope, free, move = a + W @ f, side == 0, np.zeros(len(a))
        if free.any():
            own = W[np.ix_(free, free)]
            move[free] = np.linalg.lstsq(own, -slope[free], rcond=SINGULAR)[0]
            left = slope[free] + own @ move[free]
            singular = bool(np.abs(left).max() > _rounding(a, W, f + move))
            if singular:
                move[free] = -left
            bound = np.where(move < 0.0, low, high)
            room = np.where(move != 0.0, (bound - f) / np.where(move != 0.0, move, 1.0), np.inf)
            k = int(np.argmin(room))
            if singular or room[k] < 1.0:
                if not np.isfinite(room[k]):
                    break  # without end
                f = np.clip(f + room[k] * move, low, high)
                side[k] = -1 if move[k] < 0.0 else 1
                f[k] = bound[k]
                continue
        f = np.clip(f + move, low, high)
        slope, rounding = a + W @ f, _rounding(a, W, f)
        leaves = ((side < 0) & (slope < -rounding)) | ((side > 0) & (slope > rounding))
        if not leaves.any():
            return f
        side[int(np.argmax(leaves))] = 0
    raise ArithmeticError("simulate: the forces or impulses of what holds joints, or of their limits, cannot be found")


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
