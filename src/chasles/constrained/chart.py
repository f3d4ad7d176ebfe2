"""Steps of bodies in the coordinates x of their groups, q = q_n exp(x), and their velocities.

A body's six numbers are (angular, linear) in the algebra of its space: of SE(3), or of SO(3) and R3, where the linear
part is a displacement in space and brackets are those of the angular parts.
"""

from __future__ import annotations

from chasles.absolute.tables import BODY, SE3
from chasles.kernel.algebra import add, cross, motion_cross, mul, mul_t, neg, scale, sub
from chasles.kernel.lanes import WIDTH, fma, like
from chasles.kernel.policy import kernel
from chasles.kernel.rows import load_rows, store_rows
from chasles.kernel.workspace import load3, store3
from chasles.lie import quaternion, se3, so3

POSE, TWIST = 7, 6


@kernel
def moved_pose(on_se3, unit, position, x):
    """A pose (unit quaternion, position) moved by x."""
    shift = x[1]
    if on_se3:
        shift = mul(quaternion.to_matrix(unit), so3.dexp_apply(x[0], x[1]))
    return quaternion.keep_unit(quaternion.product(unit, quaternion.exp(x[0]))), add(position, shift)


@kernel
def move_body(on_se3, q, i, x, out):
    """The pose of body i moved by x, to `out`."""
    at = POSE * i
    unit, position = moved_pose(on_se3, (q[at], q[at + 1], q[at + 2], q[at + 3]), load3(q, at + 4, 0.0), x)
    out[at], out[at + 1], out[at + 2], out[at + 3] = unit
    store3(out, at + 4, position)


@kernel
def bracket(on_se3, x, y):
    """[x, y] in the algebra of a body's space."""
    if on_se3:
        return motion_cross(x, y)
    zero = like(0.0, x[0][0])
    return cross(x[0], y[0]), (zero, zero, zero)


@kernel
def onward(on_se3, x, y):
    """dexp_{-x} y: how a change of the coordinates moves the body, seen from where it ends."""
    if on_se3:
        return se3.dexp_apply((neg(x[0]), neg(x[1])), y)
    return so3.dexp_apply(neg(x[0]), y[0]), y[1]


@kernel
def onward_inverse(on_se3, x, y):
    """dexpinv_{-x} y."""
    if on_se3:
        return se3.dexpinv_apply((neg(x[0]), neg(x[1])), y)
    return so3.dexpinv_apply(neg(x[0]), y[0]), y[1]


@kernel
def plus(a, s, b):
    """a + s b of pairs of vectors, with one rounding, also where `a` is a product: the compiler has no choice, so that
    runs on lanes have the bits of single ones."""
    return fused(a[0], s, b[0]), fused(a[1], s, b[1])


@kernel
def fused(a, s, b):
    return fma(s, b[0], a[0]), fma(s, b[1], a[1]), fma(s, b[2], a[2])


@kernel
def scaled(s, a):
    """s a."""
    return scale(s, a[0]), scale(s, a[1])


@kernel
def minus(a, b):
    return sub(a[0], b[0]), sub(a[1], b[1])


@kernel
def lift(on_se3, x, dx):
    """dexp_{-x} dx to the order that methods of order 2 need: dx - [x, dx]/2 + [x, [x, dx]]/6."""
    one = bracket(on_se3, x, dx)
    return plus(plus(dx, -0.5, one), 1 / 6, bracket(on_se3, x, one))


@kernel
def lift_rate(on_se3, x, dx, ddx):
    """The derivative of `lift` in time: ddx - [x, ddx]/2 + ([dx, [x, dx]] + [x, [x, ddx]])/6."""
    last = bracket(on_se3, dx, bracket(on_se3, x, dx))
    return plus(lift(on_se3, x, ddx), 1 / 6, last)


@kernel
def pulled_back(on_se3, x, p):
    """dexpinv_xᵀ p."""
    if on_se3:
        A, B, _ = se3.dexpinv(x)
        return add(mul_t(A, p[0]), mul_t(B, p[1])), mul_t(A, p[1])
    return so3.dexpinv_apply(neg(x[0]), p[0]), p[1]


@kernel
def four_in_space(bodies, n, i):
    """Whether bodies i to i + 3 are there and all on SO(3)xR3: what is done to them can be done at once, in lanes."""
    if i + WIDTH > n:
        return False
    turning = 0
    for k in range(i, i + WIDTH):
        turning += bodies[k * BODY.size + BODY.space] == SE3
    return turning == 0


@kernel
def load_four(vectors, i):
    """Six numbers each of bodies i to i + 3, as lanes."""
    x = load_rows(vectors, TWIST * i, TWIST, TWIST)
    return (x[0], x[1], x[2]), (x[3], x[4], x[5])


@kernel
def store_four(vectors, i, x):
    store_rows(vectors, TWIST * i, TWIST, (*x[0], *x[1]))


@kernel
def rotation_at(q, i):
    """Rotation matrix of body i."""
    at = POSE * i
    return quaternion.to_matrix((q[at], q[at + 1], q[at + 2], q[at + 3]))
