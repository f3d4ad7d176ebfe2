"""Blocks on which motions of the plane act: SO(2) and SE(2) as matrices.

SO(2) is commutative, so its coordinate is the angle always, as those of vectors are the vectors. Coordinates of SE(2)
other than exponential ones are those of `spatial_blocks` for a motion that stays in the plane.
The operations have the same arguments as those of `rotation_blocks`.
"""

from __future__ import annotations

from chasles.integrate import spatial_blocks
from chasles.integrate.table import (
    ALGEBRA_AT,
    CAYLEY,
    CAYLEY2,
    EXP,
    KIND,
    POINT_AT,
    SE2,
    SECOND_KIND,
    SERIES,
    SIDE,
    SO2,
)
from chasles.kernel.algebra import mul
from chasles.kernel.functions import atan2, sincos
from chasles.kernel.lanes import load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import store3
from chasles.lie import se2, so2
from chasles.lie.coefficients import dexpinv_coefficients, half_angle_planar


@kernel
def twist(x, ix, z):
    """A planar twist in the form that `se2` takes."""
    return load(x, ix, z), (load(x, ix + 1, z), load(x, ix + 2, z))


@kernel
def in_space(x):
    """The twist in space of a planar one."""
    zero = 0.0 * x[0]
    return (zero, zero, x[0]), (x[1][0], x[1][1], zero)


@kernel
def unchanged(x):
    """Exponential coordinates as such."""
    return x


@kernel
def bernoulli(x, f, terms):
    """Truncated dexpinv, as in `spatial_blocks`."""
    (_, _, w), (u, v, _) = spatial_blocks.bernoulli(in_space(x), in_space(f), terms)
    return w, u, v


@kernel
def mirrored(side, x):
    return side * x[0], (side * x[1][0], side * x[1][1])


@kernel
def pull_exp(side, x, f, terms):
    return mul(se2.dexpinv(mirrored(float(side), x)), (f[0], f[1][0], f[1][1]))


@kernel
def pull_series(side, x, f, terms):
    return bernoulli(mirrored(float(side), x), f, terms)


def within_space(mapping):
    """Motion, exponential coordinates and inverse differential of a coordinate map, by the motion in space."""
    _, pose_of, pull = spatial_blocks.MAPS[mapping]

    @kernel
    def motion_of(x):
        (c, _, _, s), p = pose_of(in_space(x))  # cosine and sine of half of the angle
        return (c * c - s * s, 2.0 * c * s), (p[0], p[1])

    @kernel
    def exponential_of(x):
        (c, _, _, s), p = pose_of(in_space(x))
        w = 2.0 * atan2(s, c)
        k, _, _ = dexpinv_coefficients(half_angle_planar(w))
        return w, so2.turn((k[0], -0.5 * w), (p[0], p[1]))

    @kernel
    def pulled(side, x, f, terms):
        (_, _, w), (u, v, _) = pull(side, in_space(x), in_space(f), terms)
        return w, u, v

    return motion_of, exponential_of, pulled


# motion and exponential coordinates of coordinates, and the inverse differential for a side of the action, on a twist
MAPS: dict[int, tuple] = {
    EXP: (se2.exp, unchanged, pull_exp),
    SERIES: (se2.exp, unchanged, pull_series),
    **{mapping: within_space(mapping) for mapping in (CAYLEY, CAYLEY2, SECOND_KIND)},
}


@kernel
def move(table, motion_of, exponential_of, pull, terms, y, x, out, iout, z):
    """out = exp(x) y, or y exp(x) on the right."""
    for i in range(table.shape[0]):
        kind, iy, ix = table[i, KIND], table[i, POINT_AT], table[i, ALGEBRA_AT]
        io = iout + iy
        if kind == SO2:
            s, c = sincos(load(x, ix, z))
            a, b = so2.turn((c, s), (load(y, iy, z), load(y, iy + 2, z)))
            store(out, io, a)
            store(out, io + 1, -b)
            store(out, io + 2, b)
            store(out, io + 3, a)
        elif kind == SE2:
            e = motion_of(twist(x, ix, z))
            g = (load(y, iy, z), load(y, iy + 3, z)), (load(y, iy + 2, z), load(y, iy + 5, z))
            if table[i, SIDE] > 0:
                (a, b), (u, v) = se2.compose(e, g)
            else:
                (a, b), (u, v) = se2.compose(g, e)
            store3(out, io, (a, -b, u))
            store3(out, io + 3, (b, a, v))
            store3(out, io + 6, (0.0 * z, 0.0 * z, 1.0 + 0.0 * z))


@kernel
def pullback(table, motion_of, exponential_of, pull, terms, x, f, out, iout, z):
    """out = x' for the velocity f on the side of the action and the coordinate map in use: dexpinv_{side x} f."""
    for i in range(table.shape[0]):
        kind, ix = table[i, KIND], table[i, ALGEBRA_AT]
        if kind == SO2:
            store(out, iout + ix, load(f, ix, z))
        elif kind == SE2:
            store3(out, iout + ix, pull(table[i, SIDE], twist(x, ix, z), twist(f, ix, z), terms))


@kernel
def combine(table, motion_of, exponential_of, pull, terms, x, y, out, iout, z):
    """out = log(exp(x) exp(y)), or log(exp(y) exp(x)) on the right: the move y followed by the move x."""
    for i in range(table.shape[0]):
        kind, ix = table[i, KIND], table[i, ALGEBRA_AT]
        if kind == SO2:
            store(out, iout + ix, load(x, ix, z) + load(y, ix, z))
        elif kind == SE2:
            if table[i, SIDE] > 0:
                w, (u, v) = se2.bch(twist(x, ix, z), twist(y, ix, z))
            else:
                w, (u, v) = se2.bch(twist(y, ix, z), twist(x, ix, z))
            store3(out, iout + ix, (w, u, v))


@kernel
def as_exponential(table, motion_of, exponential_of, pull, terms, x, y, out, iout, z):
    """out = exponential coordinates of the move whose coordinates in another map are x; y is not used."""
    for i in range(table.shape[0]):
        kind, ix = table[i, KIND], table[i, ALGEBRA_AT]
        if kind == SO2:
            store(out, iout + ix, load(x, ix, z))
        elif kind == SE2:
            w, (u, v) = exponential_of(twist(x, ix, z))
            store3(out, iout + ix, (w, u, v))
