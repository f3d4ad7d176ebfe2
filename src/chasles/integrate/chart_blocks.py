"""Blocks of absolute coordinates of bodies (`lie.transition`) on which SE(3) acts: rotation vectors, Euler angles or
screw coordinates. Their move is the local-global transition map of mueller2022; that of quaternions is the block
"pose".

The operations have the same arguments as those of `rotation_blocks`.
"""

from __future__ import annotations

from chasles.integrate.spatial_blocks import MAPS as MAPS
from chasles.integrate.spatial_blocks import motion_operations
from chasles.integrate.table import ALGEBRA_AT, ALGEBRA_CHART, CHART, KIND, POINT_AT, SIDE, algebra_of
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load6, store6
from chasles.lie import pose
from chasles.lie.transition.charts import numbers_of, pose_of


@kernel
def move(table, motion_of, local_pose_of, pull, terms, y, x, out, iout, z):
    """out = τ(y, x): the coordinates of exp(x) y, or of y exp(x) on the right. Source: mueller2022 eqs. (67), (68)."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_CHART:
            chart, iy = table[i, KIND] - CHART, table[i, POINT_AT]
            motion = local_pose_of(load6(x, table[i, ALGEBRA_AT], z))
            g = pose_of(chart, load6(y, iy, z))
            if table[i, SIDE] > 0:
                moved = pose.compose(motion, g)
            else:
                moved = pose.compose(g, motion)
            store6(out, iout + iy, numbers_of(chart, moved))


pullback, combine, as_exponential = motion_operations(ALGEBRA_CHART)
