"""Blocks on which motions of the plane act: SO(2) and SE(2) as matrices. Coordinates are exponential always.

The operations have the same arguments as those of `rotation_blocks`.
"""

from __future__ import annotations

from chasles.integrate.table import (
    ALGEBRA,
    ALGEBRA_PLANE,
    CAYLEY,
    CAYLEY2,
    COUNT,
    EXP,
    KIND,
    POINT,
    SE2,
    SECOND_KIND,
    SERIES,
    SIDE,
    SO2,
    algebra_of,
)
from chasles.kernel.algebra import mul, scale
from chasles.kernel.functions import sincos
from chasles.kernel.lanes import load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, store3
from chasles.lie import se2, so2

# one map for all, and no operation asks for it
MAPS: dict[int, tuple] = dict.fromkeys((EXP, CAYLEY, SECOND_KIND, SERIES, CAYLEY2), (se2.exp, se2.exp, se2.exp))


@kernel
def twist(x, ix, z):
    """A planar twist in the form that `se2` takes."""
    return load(x, ix, z), (load(x, ix + 1, z), load(x, ix + 2, z))


@kernel
def move(table, first_map, second_map, third_map, terms, y, x, out, iout, z):
    """out = exp(x) y, or y exp(x) on the right."""
    for i in range(table.shape[0]):
        kind, iy, ix = table[i, KIND], table[i, POINT], table[i, ALGEBRA]
        io = iout + iy
        if kind == SO2:
            s, c = sincos(load(x, ix, z))
            a, b = so2.turn((c, s), (load(y, iy, z), load(y, iy + 2, z)))
            store(out, io, a)
            store(out, io + 1, -b)
            store(out, io + 2, b)
            store(out, io + 3, a)
        elif kind == SE2:
            e = se2.exp(twist(x, ix, z))
            g = (load(y, iy, z), load(y, iy + 3, z)), (load(y, iy + 2, z), load(y, iy + 5, z))
            if table[i, SIDE] > 0:
                (a, b), (u, v) = se2.compose(e, g)
            else:
                (a, b), (u, v) = se2.compose(g, e)
            store3(out, io, (a, -b, u))
            store3(out, io + 3, (b, a, v))
            store3(out, io + 6, (0.0 * z, 0.0 * z, 1.0 + 0.0 * z))


@kernel
def pullback(table, first_map, second_map, third_map, terms, x, f, out, iout, z):
    """out = dexpinv_{side x} f."""
    for i in range(table.shape[0]):
        kind, ix = table[i, KIND], table[i, ALGEBRA]
        if kind == SO2:
            store(out, iout + ix, load(f, ix, z))
        elif kind == SE2:
            w, u, v = scale(float(table[i, SIDE]), load3(x, ix, z))
            store3(out, iout + ix, mul(se2.dexpinv((w, (u, v))), load3(f, ix, z)))


@kernel
def combine(table, first_map, second_map, third_map, terms, x, y, out, iout, z):
    """out = log(exp(x) exp(y)), or log(exp(y) exp(x)) on the right: the move y followed by the move x."""
    for i in range(table.shape[0]):
        kind, ix = table[i, KIND], table[i, ALGEBRA]
        if kind == SO2:
            store(out, iout + ix, load(x, ix, z) + load(y, ix, z))
        elif kind == SE2:
            if table[i, SIDE] > 0:
                w, (u, v) = se2.bch(twist(x, ix, z), twist(y, ix, z))
            else:
                w, (u, v) = se2.bch(twist(y, ix, z), twist(x, ix, z))
            store3(out, iout + ix, (w, u, v))


@kernel
def as_exponential(table, first_map, second_map, third_map, terms, x, y, out, iout, z):
    """The coordinates are exponential already; y is not used."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ALGEBRA_PLANE:
            ix = table[i, ALGEBRA]
            for k in range(table[i, COUNT]):
                store(out, iout + ix + k, load(x, ix + k, z))
