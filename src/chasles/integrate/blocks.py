"""Compiled operations on spaces given as a table of blocks: move a point, dexpinv, bracket, bch.

A block is a row (kind, first number in the point, first number in the algebra vector, count, side). One loop interprets
the table, so a product of spaces costs no new compilation. Left action (side +1) writes exp(x) y, right (side -1)
y exp(x); with x' = dexpinv_{side x} f both follow the flow of f.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, cross, mat_mul, mul, scale
from chasles.kernel.functions import sincos
from chasles.kernel.lanes import load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, load9, store3, store6, store9
from chasles.lie import pose, quaternion, s3, se2, se3, so2, so3

# kinds of blocks, and the algebra that acts
VECTOR, SO2, SO3, S3, SE2, SE3, POSE, ROTATED, SCREWED, COSCREWED = range(10)
ABELIAN, ALGEBRA_SO3, ALGEBRA_SE3, ALGEBRA_SE2 = range(4)
EXP, CAYLEY, SECOND_KIND = range(3)
KIND, POINT, ALGEBRA, COUNT, SIDE = range(5)  # columns of the table


@kernel
def algebra_of(kind):
    """Which algebra acts on a kind of block."""
    if kind == VECTOR or kind == SO2:
        return ABELIAN
    if kind == SO3 or kind == S3 or kind == ROTATED:
        return ALGEBRA_SO3
    return ALGEBRA_SE2 if kind == SE2 else ALGEBRA_SE3


# ---------------------------------------------------------------- coordinate maps by number


@kernel
def rotation_map(mapping, x):
    """Rotation matrix of algebra coordinates."""
    if mapping == EXP:
        return so3.exp(x)
    if mapping == CAYLEY:
        return so3.cay(x)
    return so3.ccsk(x)


@kernel
def quaternion_map(mapping, x):
    if mapping == EXP:
        return quaternion.exp(x)
    if mapping == CAYLEY:
        return s3.cay(x)
    return quaternion.from_matrix(so3.ccsk(x))


@kernel
def motion_map(mapping, x):
    """Rotation matrix and translation of a twist's coordinates."""
    if mapping == EXP:
        return se3.exp(x)
    if mapping == CAYLEY:
        return se3.cay(x)
    return se3.ccsk(x)


@kernel
def blocks_mul(m, y):
    """[[A, 0], [B, D]] times a spatial vector."""
    a, b, d = m
    return mul(a, y[0]), add(mul(b, y[0]), mul(d, y[1]))


# ---------------------------------------------------------------- one block


@kernel
def move_spatial(kind, side, mapping, y, iy, x, ix, out, z):
    """Blocks on which se(3) acts."""
    r, p = motion_map(mapping, load6(x, ix, z))
    if kind == SE3:
        a = (
            *(load(y, iy, z), load(y, iy + 1, z), load(y, iy + 2, z)),
            *(load(y, iy + 4, z), load(y, iy + 5, z), load(y, iy + 6, z)),
            *(load(y, iy + 8, z), load(y, iy + 9, z), load(y, iy + 10, z)),
        )
        b = (load(y, iy + 3, z), load(y, iy + 7, z), load(y, iy + 11, z))
        if side > 0:
            q, c = mat_mul(r, a), add(mul(r, b), p)
        else:
            q, c = mat_mul(a, r), add(mul(a, p), b)
        for row in range(3):
            store3(out, iy + 4 * row, (q[3 * row], q[3 * row + 1], q[3 * row + 2]))
            store(out, iy + 4 * row + 3, c[row])
            store(out, iy + 12 + row, 0.0 * z)
        store(out, iy + 15, 1.0 + 0.0 * z)
    elif kind == SCREWED:  # Ad on (q, w)
        q, w = load6(y, iy, z)
        moved = mul(r, q)
        store6(out, iy, (moved, add(mul(r, w), cross(p, moved))))
    else:  # coadjoint, on (torque, force)
        t, f = load6(y, iy, z)
        moved = mul(r, f)
        store6(out, iy, (add(mul(r, t), cross(p, moved)), moved))


@kernel
def move_pose(side, mapping, y, iy, x, ix, out, z):
    """SE(3) stored as quaternion and position."""
    twist = load6(x, ix, z)
    q = quaternion_map(mapping, twist[0])
    if mapping == EXP:
        p = so3.dexp_apply(twist[0], twist[1])
    else:
        p = motion_map(mapping, twist)[1]
    g = (load(y, iy, z), load(y, iy + 1, z), load(y, iy + 2, z), load(y, iy + 3, z)), load3(y, iy + 4, z)
    if side > 0:
        moved, position = pose.compose((q, p), g)
    else:
        moved, position = pose.compose(g, (q, p))
    for k in range(4):
        store(out, iy + k, moved[k])
    store3(out, iy + 4, position)


@kernel
def move_planar(kind, side, y, iy, x, ix, out, z):
    """SO(2) and SE(2), with the exponential."""
    s, c = sincos(load(x, ix, z))
    if kind == SO2:
        a, b = load(y, iy, z), load(y, iy + 2, z)
        a, b = so2.turn((c, s), (a, b))
        store(out, iy, a)
        store(out, iy + 1, -b)
        store(out, iy + 2, b)
        store(out, iy + 3, a)
    else:
        e = se2.exp((load(x, ix, z), (load(x, ix + 1, z), load(x, ix + 2, z))))
        g = (load(y, iy, z), load(y, iy + 3, z)), (load(y, iy + 2, z), load(y, iy + 5, z))
        if side > 0:
            (a, b), (u, v) = se2.compose(e, g)
        else:
            (a, b), (u, v) = se2.compose(g, e)
        store3(out, iy, (a, -b, u))
        store3(out, iy + 3, (b, a, v))
        store3(out, iy + 6, (0.0 * z, 0.0 * z, 1.0 + 0.0 * z))


@kernel
def move_block(kind, side, count, mapping, y, iy, x, ix, out, z):
    """out = exp(x) y or y exp(x), for one block."""
    if kind == VECTOR:
        for k in range(count):
            store(out, iy + k, load(y, iy + k, z) + load(x, ix + k, z))
    elif kind == SO3:
        r, a = rotation_map(mapping, load3(x, ix, z)), load9(y, iy, z)
        if side > 0:
            store9(out, iy, mat_mul(r, a))
        else:
            store9(out, iy, mat_mul(a, r))
    elif kind == S3:
        q = quaternion_map(mapping, load3(x, ix, z))
        g = (load(y, iy, z), load(y, iy + 1, z), load(y, iy + 2, z), load(y, iy + 3, z))
        if side > 0:
            g = quaternion.product(q, g)
        else:
            g = quaternion.product(g, q)
        for k in range(4):
            store(out, iy + k, g[k])
    elif kind == ROTATED:
        store3(out, iy, mul(rotation_map(mapping, load3(x, ix, z)), load3(y, iy, z)))
    elif kind == POSE:
        move_pose(side, mapping, y, iy, x, ix, out, z)
    elif kind == SO2 or kind == SE2:
        move_planar(kind, side, y, iy, x, ix, out, z)
    else:
        move_spatial(kind, side, mapping, y, iy, x, ix, out, z)


# ---------------------------------------------------------------- whole points


@kernel(entry=True)
def move(table, mapping, y, x, out, z):
    """out = exp(x) y on all blocks; z tells the scalar type (0.0, or lanes)."""
    for i in range(table.shape[0]):
        kind, side = table[i, KIND], table[i, SIDE]
        move_block(kind, side, table[i, COUNT], mapping, y, table[i, POINT], x, table[i, ALGEBRA], out, z)


@kernel
def bernoulli_so3(x, f, terms):
    """Truncated dexpinv: f - [x, f]/2 + [x, [x, f]]/12 - ..., up to ad^terms."""
    total = f
    if terms >= 1:
        a1 = cross(x, f)
        total = add(total, scale(-0.5, a1))
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
def scaled(s, v):
    return scale(s, v[0]), scale(s, v[1])


@kernel
def plus(v, w):
    return add(v[0], w[0]), add(v[1], w[1])


@kernel
def bernoulli_se3(x, f, terms):
    """The same on se(3)."""
    total = f
    if terms >= 1:
        a1 = se3.bracket(x, f)
        total = plus(total, scaled(-0.5, a1))
        if terms >= 2:
            a2 = se3.bracket(x, a1)
            total = plus(total, scaled(1 / 12, a2))
            if terms >= 4:
                a4 = se3.bracket(x, se3.bracket(x, a2))
                total = plus(total, scaled(-1 / 720, a4))
                if terms >= 6:
                    total = plus(total, scaled(1 / 30240, se3.bracket(x, se3.bracket(x, a4))))
    return total


@kernel
def pullback_so3(mapping, terms, x, f):
    """Inverse differential of the coordinate map, exact (terms < 0) or truncated."""
    if terms >= 0:
        return bernoulli_so3(x, f, terms)
    if mapping == EXP:
        return so3.dexpinv_apply(x, f)
    if mapping == CAYLEY:
        return mul(so3.dcayinv(x), f)
    return mul(so3.dccskinv(x), f)


@kernel
def pullback_se3(mapping, terms, x, f):
    if terms >= 0:
        return bernoulli_se3(x, f, terms)
    if mapping == EXP:
        return se3.dexpinv_apply(x, f)
    if mapping == CAYLEY:
        return blocks_mul(se3.dcayinv(x), f)
    return blocks_mul(se3.dccskinv(x), f)


@kernel(entry=True)
def pullback(table, mapping, terms, x, f, out, iout, z):
    """out = dexpinv_{side x} f on all blocks, for the coordinate map in use; `terms` < 0 is exact."""
    for i in range(table.shape[0]):
        kind, ix, count = table[i, KIND], table[i, ALGEBRA], table[i, COUNT]
        sign = float(table[i, SIDE])
        algebra = algebra_of(kind)
        if algebra == ABELIAN:
            for k in range(count):
                store(out, iout + ix + k, load(f, ix + k, z))
        elif algebra == ALGEBRA_SO3:
            a = scale(sign, load3(x, ix, z))
            store3(out, iout + ix, pullback_so3(mapping, terms, a, load3(f, ix, z)))
        elif algebra == ALGEBRA_SE3:
            b = scaled(sign, load6(x, ix, z))
            store6(out, iout + ix, pullback_se3(mapping, terms, b, load6(f, ix, z)))
        else:
            w, u, v = scale(sign, load3(x, ix, z))
            store3(out, iout + ix, mul(se2.dexpinv((w, (u, v))), load3(f, ix, z)))


@kernel(entry=True)
def bracket(table, x, ix0, y, iy0, out, io0, z):
    """out = [x, y] on all blocks (with the sign of the side, so that formulas for left actions hold for right ones)."""
    for i in range(table.shape[0]):
        ix, count = table[i, ALGEBRA], table[i, COUNT]
        sign = float(table[i, SIDE])
        algebra = algebra_of(table[i, KIND])
        if algebra == ABELIAN:
            for k in range(count):
                store(out, io0 + ix + k, 0.0 * z)
        elif algebra == ALGEBRA_SO3:
            a, b = load3(x, ix0 + ix, z), load3(y, iy0 + ix, z)
            store3(out, io0 + ix, scale(sign, cross(a, b)))
        elif algebra == ALGEBRA_SE3:
            c, d = load6(x, ix0 + ix, z), load6(y, iy0 + ix, z)
            store6(out, io0 + ix, scaled(sign, se3.bracket(c, d)))
        else:
            w, u, v = load3(x, ix0 + ix, z)
            p, q, r = load3(y, iy0 + ix, z)
            a0, (a1, a2) = se2.bracket((w, (u, v)), (p, (q, r)))
            store3(out, io0 + ix, scale(sign, (a0, a1, a2)))


@kernel(entry=True)
def combine(table, x, ix0, y, iy0, out, io0, z):
    """out = log(exp(x) exp(y)) for left actions, log(exp(y) exp(x)) for right: the move y followed by the move x."""
    for i in range(table.shape[0]):
        ix, count, side = table[i, ALGEBRA], table[i, COUNT], table[i, SIDE]
        algebra = algebra_of(table[i, KIND])
        if algebra == ABELIAN:
            for k in range(count):
                store(out, io0 + ix + k, load(x, ix0 + ix + k, z) + load(y, iy0 + ix + k, z))
        elif algebra == ALGEBRA_SO3:
            a, b = load3(x, ix0 + ix, z), load3(y, iy0 + ix, z)
            if side > 0:
                store3(out, io0 + ix, so3.bch(a, b))
            else:
                store3(out, io0 + ix, so3.bch(b, a))
        elif algebra == ALGEBRA_SE3:
            c, d = load6(x, ix0 + ix, z), load6(y, iy0 + ix, z)
            if side > 0:
                store6(out, io0 + ix, se3.bch(c, d))
            else:
                store6(out, io0 + ix, se3.bch(d, c))
        else:
            w, u, v = load3(x, ix0 + ix, z)
            p, q, r = load3(y, iy0 + ix, z)
            if side > 0:
                a0, (a1, a2) = se2.bch((w, (u, v)), (p, (q, r)))
            else:
                a0, (a1, a2) = se2.bch((p, (q, r)), (w, (u, v)))
            store3(out, io0 + ix, (a0, a1, a2))


@kernel(entry=True)
def as_exponential(table, mapping, x, out):
    """Exponential coordinates of the move whose coordinates in another map are x."""
    for i in range(table.shape[0]):
        ix, count = table[i, ALGEBRA], table[i, COUNT]
        algebra = algebra_of(table[i, KIND])
        if mapping != EXP and algebra == ALGEBRA_SO3:
            store3(out, ix, so3.log(rotation_map(mapping, load3(x, ix, 0.0))))
        elif mapping != EXP and algebra == ALGEBRA_SE3:
            store6(out, ix, se3.log(motion_map(mapping, load6(x, ix, 0.0))))
        else:
            for k in range(count):
                out[ix + k] = x[ix + k]
