"""Blocks on which rotations act: SO(3) as matrices or quaternions, and vectors that are rotated.

Each operation goes through the table of a space (see `table`) and serves the blocks of this kind. All operations of all
kinds have the same arguments, so that the stepping loops call them in one way: the table, the three functions of the
coordinate map in use (`MAPS`), the number of terms of a truncated series, two arguments, the result and where in it to
begin, and `z`, which tells the scalar type (0.0, or lanes).
"""

from __future__ import annotations

from chasles.integrate.table import (
    ALGEBRA_AT,
    ALGEBRA_SO3,
    CAYLEY,
    CAYLEY2,
    EXP,
    KIND,
    POINT_AT,
    S3,
    SECOND_KIND,
    SERIES,
    SIDE,
    SO3,
    algebra_of,
)
from chasles.kernel.algebra import add, cross, mat_mul, mul, scale
from chasles.kernel.functions import sincos
from chasles.kernel.lanes import fma, load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store3, store9
from chasles.lie import quaternion, s3, so3


@kernel
def quaternion_ccsk(x):
    """Unit quaternion of coordinates of the second kind, without a jump of its sign."""
    (s1, c1), (s2, c2), (s3, c3) = sincos(0.5 * x[0]), sincos(0.5 * x[1]), sincos(0.5 * x[2])
    zero = 0.0 * s1
    turned = quaternion.product((c1, s1, zero, zero), (c2, zero, s2, zero))
    return quaternion.product(turned, (c3, zero, zero, s3))


@kernel
def move(table, matrix_of, quaternion_of, pull, terms, y, x, out, iout, z):
    """out = exp(x) y, or y exp(x) on the right."""
    for i in range(table.shape[0]):
        kind, side = table[i, KIND], table[i, SIDE]
        if algebra_of(kind) != ALGEBRA_SO3:
            continue
        iy, vector = table[i, POINT_AT], load3(x, table[i, ALGEBRA_AT], z)
        if kind == S3:
            q = quaternion_of(vector)
            g = (load(y, iy, z), load(y, iy + 1, z), load(y, iy + 2, z), load(y, iy + 3, z))
            if side > 0:
                g = quaternion.keep_unit(quaternion.product(q, g))
            else:
                g = quaternion.keep_unit(quaternion.product(g, q))
            for k in range(4):
                store(out, iout + iy + k, g[k])
            continue
        r = matrix_of(vector)
        if kind == SO3:
            a = load9(y, iy, z)
            if side > 0:
                store9(out, iout + iy, mat_mul(r, a))
            else:
                store9(out, iout + iy, mat_mul(a, r))
        else:
            store3(out, iout + iy, mul(r, load3(y, iy, z)))


@kernel
def fused_cross(a, b):
    """a x b, with products fused with differences in this order, whatever loop this is a part of."""
    return (
        fma(a[1], b[2], -(a[2] * b[1])),
        fma(a[2], b[0], -(a[0] * b[2])),
        fma(a[0], b[1], -(a[1] * b[0])),
    )


@kernel
def bernoulli(x, f, terms):
    """Truncated dexpinv: f - [x, f]/2 + [x, [x, f]]/12 - ..., up to ad^terms."""
    total = f
    if terms >= 1:
        a1 = fused_cross(x, f)
        total = (fma(-0.5, a1[0], f[0]), fma(-0.5, a1[1], f[1]), fma(-0.5, a1[2], f[2]))
        if terms >= 2:
            a2 = cross(x, a1)
            total = add(total, scale(1 / 12, a2))
            if terms >= 4:
                a4 = cross(x, cross(x, a2))
                total = add(total, scale(-1 / 720, a4))
                if terms >= 6:
                    total = add(total, scale(1 / 30240, cross(x, cross(x, a4))))
    return total


@kernel
def pull_exp(side, x, f, terms):
    return so3.dexpinv_apply(scale(float(side), x), f)


@kernel
def pull_cay(side, x, f, terms):
    return mul(so3.dcayinv(scale(float(side), x)), f)


@kernel
def pull_cay2(side, x, f, terms):
    return mul(so3.dcay2inv(scale(float(side), x)), f)


@kernel
def pull_ccsk(side, x, f, terms):
    """Here -x is not the inverse motion: on the right, f is turned to the other side by the motion itself."""
    if side < 0:
        f = mul(so3.ccsk(x), f)
    return mul(so3.dccskinv(x), f)


@kernel
def pull_series(side, x, f, terms):
    return bernoulli(scale(float(side), x), f, terms)


# rotation matrix and quaternion of coordinates, and the inverse differential for a side of the action, on a vector
MAPS = {
    EXP: (so3.exp, quaternion.exp, pull_exp),
    CAYLEY: (so3.cay, s3.cay, pull_cay),
    CAYLEY2: (so3.cay2, s3.cay2, pull_cay2),
    SECOND_KIND: (so3.ccsk, quaternion_ccsk, pull_ccsk),
    SERIES: (so3.exp, quaternion.exp, pull_series),
}


@kernel
def pullback(table, matrix_of, quaternion_of, pull, terms, x, f, out, iout, z):
    """out = x' for the velocity f on the side of the action and the coordinate map in use: dexpinv_{side x} f."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_SO3:
            ix = table[i, ALGEBRA_AT]
            store3(out, iout + ix, pull(table[i, SIDE], load3(x, ix, z), load3(f, ix, z), terms))


@kernel
def combine(table, matrix_of, quaternion_of, pull, terms, x, y, out, iout, z):
    """out = log(exp(x) exp(y)), or log(exp(y) exp(x)) on the right: the move y followed by the move x."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_SO3:
            ix = table[i, ALGEBRA_AT]
            a, b = load3(x, ix, z), load3(y, ix, z)
            if table[i, SIDE] > 0:
                store3(out, iout + ix, so3.bch(a, b))
            else:
                store3(out, iout + ix, so3.bch(b, a))


@kernel
def as_exponential(table, matrix_of, quaternion_of, pull, terms, x, y, out, iout, z):
    """out = exponential coordinates of the move whose coordinates in another map are x; y is not used."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_SO3:
            ix = table[i, ALGEBRA_AT]
            store3(out, iout + ix, quaternion.log(quaternion_of(load3(x, ix, z))))
