"""Blocks of absolute coordinates of bodies (`lie.transition`) on which SO(3) x R3 acts: rotation and position move by
themselves. Those of quaternions are the blocks "s3" and "r3".

The operations have the same arguments as those of `rotation_blocks`.
"""

from __future__ import annotations

from chasles.integrate.rotation_blocks import MAPS as MAPS
from chasles.integrate.table import ALGEBRA_AT, ALGEBRA_PRODUCT, KIND, POINT_AT, PRODUCT_CHART, SIDE, algebra_of
from chasles.kernel.algebra import add
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, store3, store6
from chasles.lie import quaternion, so3
from chasles.lie.transition.charts import compose_product, numbers_of, pose_of


@kernel
def move(table, matrix_of, quaternion_of, pull, terms, y, x, out, iout, z):
    """out = τ(y, x): the coordinates of exp(x) y, or of y exp(x) on the right. Source: mueller2022 eqs. (69)-(71),
    corrected: the position is r + Δr."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_PRODUCT:
            chart, iy = table[i, KIND] - PRODUCT_CHART, table[i, POINT_AT]
            turn, displacement = load6(x, table[i, ALGEBRA_AT], z)
            motion = quaternion_of(turn), displacement
            g = pose_of(chart, load6(y, iy, z))
            if table[i, SIDE] > 0:
                moved = compose_product(motion, g)
            else:
                moved = compose_product(g, motion)
            store6(out, iout + iy, numbers_of(chart, moved))


@kernel
def pullback(table, matrix_of, quaternion_of, pull, terms, x, f, out, iout, z):
    """out = x' for the velocity f, as in `rotation_blocks`; the displacement is a vector."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_PRODUCT:
            ix = table[i, ALGEBRA_AT]
            turn, displacement = load6(f, ix, z)
            store6(out, iout + ix, (pull(table[i, SIDE], load3(x, ix, z), turn, terms), displacement))


@kernel
def combine(table, matrix_of, quaternion_of, pull, terms, x, y, out, iout, z):
    """out = log(exp(x) exp(y)), or log(exp(y) exp(x)) on the right: the move y followed by the move x."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_PRODUCT:
            ix = table[i, ALGEBRA_AT]
            (a, b), (c, d) = load6(x, ix, z), load6(y, ix, z)
            if table[i, SIDE] > 0:
                store6(out, iout + ix, (so3.bch(a, c), add(b, d)))
            else:
                store6(out, iout + ix, (so3.bch(c, a), add(b, d)))


@kernel
def as_exponential(table, matrix_of, quaternion_of, pull, terms, x, y, out, iout, z):
    """out = exponential coordinates of the move whose coordinates in another map are x; y is not used."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_PRODUCT:
            ix = table[i, ALGEBRA_AT]
            store3(out, iout + ix, quaternion.log(quaternion_of(load3(x, ix, z))))
