"""6x6 matrices as four 3x3 tiles (aa, al, la, ll): angular or linear row, angular or linear column; a symmetric one as
three (aa, al, ll). Products with cross-product matrices are cheaper than those of full tiles."""

from __future__ import annotations

from chasles.kernel.algebra import add, mat_add, mat_mul, mul, mul_t, transpose
from chasles.kernel.policy import kernel


@kernel
def mat_sub(a, b):
    return (
        *(a[0] - b[0], a[1] - b[1], a[2] - b[2]),
        *(a[3] - b[3], a[4] - b[4], a[5] - b[5]),
        *(a[6] - b[6], a[7] - b[7], a[8] - b[8]),
    )


@kernel
def t_mul(a, b):
    """aᵀ b."""
    return mat_mul(transpose(a), b)


@kernel
def mul_skew(m, a):
    """m a~, row by row."""
    x, y, z = a
    return (
        *(m[1] * z - m[2] * y, m[2] * x - m[0] * z, m[0] * y - m[1] * x),
        *(m[4] * z - m[5] * y, m[5] * x - m[3] * z, m[3] * y - m[4] * x),
        *(m[7] * z - m[8] * y, m[8] * x - m[6] * z, m[6] * y - m[7] * x),
    )


@kernel
def symmetric_times(m, x):
    """A symmetric 6x6 matrix times a pair of vectors."""
    return add(mul(m[0], x[0]), mul(m[1], x[1])), add(mul_t(m[1], x[0]), mul(m[2], x[1]))


@kernel
def times_tiles(m, b):
    """A symmetric 6x6 matrix times four tiles."""
    (aa, al, ll), (ba, bb, bc, bd) = m, b
    return (
        mat_add(mat_mul(aa, ba), mat_mul(al, bc)),
        mat_add(mat_mul(aa, bb), mat_mul(al, bd)),
        mat_add(t_mul(al, ba), mat_mul(ll, bc)),
        mat_add(t_mul(al, bb), mat_mul(ll, bd)),
    )


@kernel
def tiles_t_times(b, x):
    """Four tiles, transposed, times a pair of vectors."""
    return add(mul_t(b[0], x[0]), mul_t(b[2], x[1])), add(mul_t(b[1], x[0]), mul_t(b[3], x[1]))


@kernel
def sum_of(a, b):
    return mat_add(a[0], b[0]), mat_add(a[1], b[1]), mat_add(a[2], b[2]), mat_add(a[3], b[3])
