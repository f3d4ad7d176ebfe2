"""Blocks on which SE(3) acts: poses as matrices or as quaternion and position, screws by Ad, wrenches by Ad*.

The operations have the same arguments as those of `rotation_blocks`.
"""

from __future__ import annotations

from chasles.integrate.rotation_blocks import quaternion_ccsk
from chasles.integrate.table import (
    ALGEBRA_AT,
    ALGEBRA_SE3,
    CAYLEY,
    CAYLEY2,
    EXP,
    KIND,
    POINT_AT,
    POSE,
    SCREWED,
    SE3,
    SECOND_KIND,
    SERIES,
    SIDE,
    algebra_of,
)
from chasles.kernel.algebra import add, cross, mat_mul, mul, scale
from chasles.kernel.lanes import load, store
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, store3, store6
from chasles.lie import pose, quaternion, s3, se3, so3


@kernel
def move_matrix(side, r, p, y, iy, out, io, z):
    """A pose stored as a 4x4 matrix, by the motion (r, p)."""
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
        store3(out, io + 4 * row, (q[3 * row], q[3 * row + 1], q[3 * row + 2]))
        store(out, io + 4 * row + 3, c[row])
        store(out, io + 12 + row, 0.0 * z)
    store(out, io + 15, 1.0 + 0.0 * z)


@kernel
def pose_exp(x):
    """Quaternion and position of a twist's exponential."""
    return quaternion.exp(x[0]), so3.dexp_apply(x[0], x[1])


@kernel
def pose_cay(x):
    return s3.cay(x[0]), se3.cay(x)[1]


@kernel
def pose_ccsk(x):
    return quaternion_ccsk(x[0]), se3.ccsk(x)[1]


@kernel
def move_pose(side, motion, y, iy, out, io, z):
    """A pose stored as quaternion and position."""
    g = (load(y, iy, z), load(y, iy + 1, z), load(y, iy + 2, z), load(y, iy + 3, z)), load3(y, iy + 4, z)
    if side > 0:
        moved, position = pose.compose(motion, g)
    else:
        moved, position = pose.compose(g, motion)
    moved = quaternion.keep_unit(moved)
    for k in range(4):
        store(out, io + k, moved[k])
    store3(out, io + 4, position)


@kernel
def move(table, motion_of, pose_of, pull, terms, y, x, out, iout, z):
    """out = exp(x) y, or y exp(x) on the right."""
    for i in range(table.shape[0]):
        kind, side, iy = table[i, KIND], table[i, SIDE], table[i, POINT_AT]
        if algebra_of(kind) != ALGEBRA_SE3:
            continue
        twist = load6(x, table[i, ALGEBRA_AT], z)
        if kind == POSE:
            move_pose(side, pose_of(twist), y, iy, out, iout + iy, z)
            continue
        r, p = motion_of(twist)
        if kind == SE3:
            move_matrix(side, r, p, y, iy, out, iout + iy, z)
        elif kind == SCREWED:  # Ad on (q, w)
            q, w = load6(y, iy, z)
            moved = mul(r, q)
            store6(out, iout + iy, (moved, add(mul(r, w), cross(p, moved))))
        else:  # coadjoint, on (torque, force)
            t, f = load6(y, iy, z)
            moved = mul(r, f)
            store6(out, iout + iy, (add(mul(r, t), cross(p, moved)), moved))


@kernel
def blocks_mul(m, y):
    """[[A, 0], [B, D]] times a spatial vector."""
    a, b, d = m
    return mul(a, y[0]), add(mul(b, y[0]), mul(d, y[1]))


@kernel
def scaled(s, v):
    return scale(s, v[0]), scale(s, v[1])


@kernel
def plus(v, w):
    return add(v[0], w[0]), add(v[1], w[1])


@kernel
def bernoulli(x, f, terms):
    """Truncated dexpinv: f - [x, f]/2 + [x, [x, f]]/12 - ..., up to ad^terms."""
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
def pull_exp(side, x, f, terms):
    return se3.dexpinv_apply(scaled(float(side), x), f)


@kernel
def pull_cay(side, x, f, terms):
    return blocks_mul(se3.dcayinv(scaled(float(side), x)), f)


@kernel
def pull_cay2(side, x, f, terms):
    return blocks_mul(se3.dcay2inv(scaled(float(side), x)), f)


@kernel
def pull_ccsk(side, x, f, terms):
    """Here -x is not the inverse motion: on the right, f is brought to the other side by the motion itself."""
    if side < 0:
        f = se3.Ad_apply(se3.ccsk(x), f)
    return blocks_mul(se3.dccskinv(x), f)


@kernel
def pull_series(side, x, f, terms):
    return bernoulli(scaled(float(side), x), f, terms)


# rotation matrix and translation, or quaternion and position, of coordinates; the inverse differential for a side of
# the action, on a twist
MAPS = {
    EXP: (se3.exp, pose_exp, pull_exp),
    CAYLEY: (se3.cay, pose_cay, pull_cay),
    CAYLEY2: (se3.cay2, pose.cay2, pull_cay2),
    SECOND_KIND: (se3.ccsk, pose_ccsk, pull_ccsk),
    SERIES: (se3.exp, pose_exp, pull_series),
}


def motion_operations(algebra):
    """`pullback`, `combine` and `as_exponential` on the blocks of an algebra whose elements are twists."""

    @kernel
    def pullback(table, motion_of, pose_of, pull, terms, x, f, out, iout, z):
        """out = x' for the velocity f on the side of the action and the coordinate map in use: dexpinv_{side x} f."""
        for i in range(table.shape[0]):
            if algebra_of(table[i, KIND]) == algebra:
                ix = table[i, ALGEBRA_AT]
                store6(out, iout + ix, pull(table[i, SIDE], load6(x, ix, z), load6(f, ix, z), terms))

    @kernel
    def combine(table, motion_of, pose_of, pull, terms, x, y, out, iout, z):
        """out = log(exp(x) exp(y)), or log(exp(y) exp(x)) on the right: the move y followed by the move x."""
        for i in range(table.shape[0]):
            if algebra_of(table[i, KIND]) == algebra:
                ix = table[i, ALGEBRA_AT]
                a, b = load6(x, ix, z), load6(y, ix, z)
                if table[i, SIDE] > 0:
                    store6(out, iout + ix, se3.bch(a, b))
                else:
                    store6(out, iout + ix, se3.bch(b, a))

    @kernel
    def as_exponential(table, motion_of, pose_of, pull, terms, x, y, out, iout, z):
        """out = exponential coordinates of the move whose coordinates in another map are x; y is not used."""
        for i in range(table.shape[0]):
            if algebra_of(table[i, KIND]) == algebra:
                ix = table[i, ALGEBRA_AT]
                q, p = pose_of(load6(x, ix, z))
                turn = quaternion.log(q)  # up to a full turn, as the coordinates go
                store6(out, iout + ix, (turn, so3.dexpinv_apply(turn, p)))

    return pullback, combine, as_exponential


pullback, combine, as_exponential = motion_operations(ALGEBRA_SE3)
