"""The curve between two points of a motion that has no slopes of its own: of implicit methods, and of runs in pieces.

A state is y = (positions, velocities, rest). Positions follow the cubic in the algebra of their spaces through both
ends, with the velocities there; velocities follow the cubic with the accelerations of that curve at its ends. Those of
the method have no part in it: of a stiff system they jump from step to step. Errors between steps of length h are
O(h⁴) in positions and O(h³) in velocities.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate import table
from chasles.integrate.space import Space
from chasles.lie import pose, s3, se3, so3

GROUPS = {table.S3: (s3, so3), table.POSE: (pose, se3)}  # of blocks that are no plain numbers, with their algebras


def curve_ends(
    space: Space, nv: int, y0: np.ndarray, y1: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Slopes at both ends of intervals of lengths h [s] and the moves from end to end, (intervals, algebra) each, as
    `Solution.on_curve` takes them. nv: the number of velocities."""
    nq = next(iy + nv - ix for _, iy, ix, size, _ in space.table.tolist() if ix <= nv < ix + size)
    move = np.concatenate([np.zeros((len(h), nv)), y1[:, nq:] - y0[:, nq:]], axis=1)
    v0, v1 = y0[:, nq : nq + nv], y1[:, nq : nq + nv]
    far0, far1 = v0.copy(), v1.copy()  # velocities at one end in coordinates about the other
    for code, iy, ix, size, side in space.table.tolist():
        if ix >= nv:
            break
        own = slice(ix, min(ix + size, nv))
        if code == table.R_N:
            move[:, own] = y1[:, iy : iy + own.stop - ix] - y0[:, iy : iy + own.stop - ix]
            continue
        group, algebra = GROUPS[code]
        g0, g1 = y0[:, iy : iy + size + 1], y1[:, iy : iy + size + 1]
        back = group.inverse(g0)
        x = group.log(group.compose(back, g1) if side < 0 else group.compose(g1, back))
        move[:, own] = x
        far0[:, own] = algebra.dexpinv_apply(-side * x, v0[:, own])
        far1[:, own] = algebra.dexpinv_apply(side * x, v1[:, own])
    length = h[:, None]
    # second derivatives of the cubic at its ends, each in coordinates about that end
    a0 = (6.0 * move[:, :nv] / length - 4.0 * v0 - 2.0 * far1) / length
    a1 = (-6.0 * move[:, :nv] / length + 2.0 * far0 + 4.0 * v1) / length
    rest = move[:, 2 * nv :] / length  # a straight line: of counted angles the turns are used alone; the rest is work
    return np.concatenate([v0, a0, rest], axis=1), np.concatenate([v1, a1, rest], axis=1), move
