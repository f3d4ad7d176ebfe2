"""A space as a table of blocks: one row (kind, first number in the point, first number in the algebra vector, count of
numbers in the algebra vector, side) for each block.

Left action (side +1) writes exp(x) y, right (side -1) y exp(x); with x' = dexpinv_{side x} f both follow the flow of f.
"""

from __future__ import annotations

from chasles.kernel.policy import kernel

# kinds of blocks, and the algebra that acts
R_N, SO2, SO3, S3, SE2, SE3, POSE, ROTATED, SCREWED, COSCREWED = range(10)
CHART, PRODUCT_CHART = 16, 64  # absolute coordinates of a body, plus their code, moved by SE(3) and by SO(3) x R3
ABELIAN, ALGEBRA_SO3, ALGEBRA_SE3, ALGEBRA_PLANE, ALGEBRA_CHART, ALGEBRA_PRODUCT = range(6)
# coordinate maps; SERIES: exp with a truncated inverse differential
EXP, CAYLEY, SECOND_KIND, SERIES, CAYLEY2 = range(5)
KIND, POINT_AT, ALGEBRA_AT, COUNT, SIDE = range(5)  # columns of the table
COLUMNS = 5


@kernel
def algebra_of(kind):
    """Which algebra acts on a kind of block; rotations of the plane are counted to its motions."""
    if kind == R_N:
        return ABELIAN
    if kind >= CHART:
        return ALGEBRA_CHART if kind < PRODUCT_CHART else ALGEBRA_PRODUCT
    if kind == SO3 or kind == S3 or kind == ROTATED:
        return ALGEBRA_SO3
    return ALGEBRA_PLANE if kind == SO2 or kind == SE2 else ALGEBRA_SE3
