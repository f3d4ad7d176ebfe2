"""Quaternions of many bodies, stored at equal distances, four at a time.

The operations have the same arguments as those of `rotation_blocks` and give the same bits. For that the side is read
for each four, and the quaternion of a turn found before it is looked at: else the compiler writes a loop for each side,
and fuses other products with sums in it. The last four blocks overlap the four before them, so what they need is loaded
before anything is stored: the result may be the point itself.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.table import (
    ALGEBRA_AT,
    ALGEBRA_SO3,
    KIND,
    POINT_AT,
    S3,
    SIDE,
    algebra_of,
)
from chasles.kernel.lanes import WIDTH
from chasles.kernel.policy import kernel
from chasles.kernel.rows import load_rows, store_rows
from chasles.lie import quaternion

FEWEST = 2 * WIDTH  # blocks: below, code of its own is not worth its compilation


def in_rows(table: np.ndarray, algebra: int) -> bool:
    """Whether all blocks on which an algebra acts can be done four at a time."""
    own = table[[algebra_of.py_func(kind) == algebra for kind in table[:, KIND]]]
    if algebra != ALGEBRA_SO3 or len(own) < FEWEST:
        return False
    apart = np.diff(own[:, [POINT_AT, ALGEBRA_AT]], axis=0)
    return bool((own[:, [KIND, SIDE]] == [S3, own[0, SIDE]]).all() and (apart == apart[0]).all())


@kernel
def places(table, algebra):
    """Of the blocks of an algebra: where points and algebra vectors begin, how far apart they are, the first row of the
    table, and how many there are."""
    first, second, count = 0, 0, 0
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == algebra:
            if count == 0:
                first = i
            elif count == 1:
                second = i
            count += 1
    iy, ix = table[first, POINT_AT], table[first, ALGEBRA_AT]
    return iy, ix, table[second, POINT_AT] - iy, table[second, ALGEBRA_AT] - ix, first, count


@kernel
def move_quaternions(table, matrix_of, quaternion_of, pull, terms, y, x, out, iout, z):
    """`rotation_blocks.move` of quaternions."""
    iy, ix, sy, sx, first, count = places(table, ALGEBRA_SO3)
    last = count - WIDTH
    last_q, last_x = load_rows(y, iy + last * sy, sy, 4), load_rows(x, ix + last * sx, sx, 3)
    for k in range(0, count, WIDTH):
        at, q, turn = last, last_q, last_x
        if k < last:
            at, q, turn = k, load_rows(y, iy + k * sy, sy, 4), load_rows(x, ix + k * sx, sx, 3)
        turned = quaternion_of(turn)
        if table[first, SIDE] > 0:
            moved = quaternion.keep_unit(quaternion.product(turned, q))
        else:
            moved = quaternion.keep_unit(quaternion.product(q, turned))
        store_rows(out, iout + iy + at * sy, sy, moved)


@kernel
def pull_rotations(table, matrix_of, quaternion_of, pull, terms, x, f, out, iout, z):
    """`rotation_blocks.pullback`."""
    _, ix, _, sx, first, count = places(table, ALGEBRA_SO3)
    last = count - WIDTH
    last_x, last_f = load_rows(x, ix + last * sx, sx, 3), load_rows(f, ix + last * sx, sx, 3)
    for k in range(0, count, WIDTH):
        at, turn, rate = last, last_x, last_f
        if k < last:
            at, turn, rate = k, load_rows(x, ix + k * sx, sx, 3), load_rows(f, ix + k * sx, sx, 3)
        store_rows(out, iout + ix + at * sx, sx, pull(table[first, SIDE], turn, rate, terms))


MOVES, PULLBACKS = {ALGEBRA_SO3: move_quaternions}, {ALGEBRA_SO3: pull_rotations}
