"""Blocks of absolute coordinates of bodies (`lie.transition`) on which SE(3) acts: rotation vectors, Euler angles or
screw coordinates. Their move is the local-global transition map of source 003; that of quaternions is the block "pose".

The operations have the same arguments as those of `rotation_blocks`.
"""

from __future__ import annotations

from chasles.integrate.spatial_blocks import MAPS as MAPS
from chasles.integrate.spatial_blocks import scaled
from chasles.integrate.table import ALGEBRA, ALGEBRA_CHART, CHART, KIND, POINT, SIDE, algebra_of
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load6, store6
from chasles.lie import pose, se3
from chasles.lie.transition.charts import numbers_of, pose_of


@kernel
def move(table, motion_of, local_pose_of, pull, terms, y, x, out, iout, z):
    """out = τ(y, x): the coordinates of exp(x) y, or of y exp(x) on the right. Source: 003 eqs. (67), (68)."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_CHART:
            chart, iy = table[i, KIND] - CHART, table[i, POINT]
            motion = local_pose_of(load6(x, table[i, ALGEBRA], z))
            g = pose_of(chart, load6(y, iy, z))
            if table[i, SIDE] > 0:
                moved = pose.compose(motion, g)
            else:
                moved = pose.compose(g, motion)
            store6(out, iout + iy, numbers_of(chart, moved))


@kernel
def pullback(table, motion_of, local_pose_of, pull, terms, x, f, out, iout, z):
    """out = dexpinv_{side x} f for the coordinate map in use."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_CHART:
            ix = table[i, ALGEBRA]
            a = scaled(float(table[i, SIDE]), load6(x, ix, z))
            store6(out, iout + ix, pull(a, load6(f, ix, z), terms))


@kernel
def combine(table, motion_of, local_pose_of, pull, terms, x, y, out, iout, z):
    """out = log(exp(x) exp(y)), or log(exp(y) exp(x)) on the right: the move y followed by the move x."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_CHART:
            ix = table[i, ALGEBRA]
            a, b = load6(x, ix, z), load6(y, ix, z)
            if table[i, SIDE] > 0:
                store6(out, iout + ix, se3.bch(a, b))
            else:
                store6(out, iout + ix, se3.bch(b, a))


@kernel
def as_exponential(table, motion_of, local_pose_of, pull, terms, x, y, out, iout, z):
    """out = exponential coordinates of the move whose coordinates in another map are x; y is not used."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_CHART:
            ix = table[i, ALGEBRA]
            store6(out, iout + ix, se3.log(motion_of(load6(x, ix, z))))
