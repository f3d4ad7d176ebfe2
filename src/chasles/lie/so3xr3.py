"""SO(3) x R3, the direct product: rotation and position are independent. Elements are stored as the 4x4 matrix of the
same pose, so formulations can be compared, but they compose as (R S, r + s), not by the matrix product.

The algebra element is (x, v) with mixed velocity: body angular velocity and the rate of the position. Rotation and
translation do not interact: ad, Ad and dexp are block diagonal.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, mat_mul, mul, mul_t, neg, scale, skew, sub, transpose
from chasles.kernel.face import face
from chasles.kernel.policy import kernel
from chasles.lie import so3
from chasles.lie.kinds import BLOCK_LOWER, POSE_MATRIX, SCALAR, TWIST, WRENCH
from chasles.lie.se3 import POLE, POLE_ALONG, from_parts, hat, identity, project, random, vee

__all__ = [
    "Ad",
    "AdT_apply",
    "Ad_apply",
    "act",
    "ad",
    "adT_apply",
    "bch",
    "bracket",
    "compose",
    "ddexp",
    "ddexpinv",
    "dexp",
    "dexp_apply",
    "dexpinv",
    "dexpinv_apply",
    "exp",
    "from_parts",
    "hat",
    "identity",
    "interpolate",
    "inverse",
    "log",
    "project",
    "random",
    "vee",
]


@kernel
def with_identity(m):
    """diag(m, I) as blocks."""
    z = 0.0 * m[0]
    o = z + 1.0
    return m, (z, z, z, z, z, z, z, z, z), (o, z, z, z, o, z, z, z, o)


@kernel
def with_zero(m):
    """diag(m, 0) as blocks."""
    z = 0.0 * m[0]
    zeros = (z, z, z, z, z, z, z, z, z)
    return m, zeros, zeros


@face(g=POSE_MATRIX, h=POSE_MATRIX, out=POSE_MATRIX)
def compose(g, h):
    """Product (R_g R_h, r_g + r_h). Source: mueller2013 eq. (13)."""
    return mat_mul(g[0], h[0]), add(g[1], h[1])


@face(g=POSE_MATRIX, out=POSE_MATRIX)
def inverse(g):
    """Inverse (Rᵀ, -r)."""
    return transpose(g[0]), neg(g[1])


@face(g=POSE_MATRIX, p=TWIST, out=TWIST)
def act(g, p):
    """Action on a direction and a point, (a, b) -> (R a, b + r)."""
    return mul(g[0], p[0]), add(p[1], g[1])


@face(g=POSE_MATRIX, h=POSE_MATRIX, t=SCALAR, out=POSE_MATRIX)
def interpolate(g, h, t):
    """Geodesic from g to h: the rotation about a fixed axis, the position along a straight line."""
    return so3.interpolate(g[0], h[0], t), add_scaled(g[1], t, sub(h[1], g[1]))


@face(g=POSE_MATRIX, out=BLOCK_LOWER)
def Ad(g):
    """diag(R, I)."""
    return with_identity(g[0])


@face(g=POSE_MATRIX, x=TWIST, out=TWIST)
def Ad_apply(g, x):
    """Ad_g X = (R x, v)."""
    return mul(g[0], x[0]), x[1]


@face(g=POSE_MATRIX, f=WRENCH, out=WRENCH)
def AdT_apply(g, f):
    """Ad_gᵀ F = (Rᵀ t, f)."""
    return mul_t(g[0], f[0]), f[1]


@face(x=TWIST, out=BLOCK_LOWER)
def ad(x):
    """diag(x~, 0)."""
    return with_zero(skew(x[0]))


@face(x=TWIST, y=TWIST, out=TWIST)
def bracket(x, y):
    """[X, Y] = (x × y, 0)."""
    return cross(x[0], y[0]), scale(0.0, y[1])


@face(x=TWIST, f=WRENCH, out=WRENCH)
def adT_apply(x, f):
    """ad_Xᵀ F = (t × x, 0)."""
    return cross(f[0], x[0]), scale(0.0, f[1])


@face(x=TWIST, out=POSE_MATRIX)
def exp(x):
    """(exp x, v)."""
    return so3.exp(x[0]), x[1]


@face(g=POSE_MATRIX, out=TWIST)
def log(g):
    """(log R, r), |log R| <= π."""
    return so3.log(g[0]), g[1]


@face(x=TWIST, out=BLOCK_LOWER)
def dexp(x):
    """diag(dexp_x, I). Source: mueller2022 eqs. (31) corrected, (34)."""
    return with_identity(so3.dexp(x[0]))


@face(x=TWIST, y=TWIST, out=TWIST)
def dexp_apply(x, y):
    """dexp_X Y."""
    return so3.dexp_apply(x[0], y[0]), y[1]


@face(x=TWIST, out=BLOCK_LOWER, guard=POLE)
def dexpinv(x):
    """diag(dexpinv_x, I); pole at |x| = 2π."""
    return with_identity(so3.dexpinv(x[0]))


@face(x=TWIST, y=TWIST, out=TWIST, guard=POLE_ALONG)
def dexpinv_apply(x, y):
    """dexpinv_X Y."""
    return so3.dexpinv_apply(x[0], y[0]), y[1]


@face(x=TWIST, y=TWIST, out=BLOCK_LOWER)
def ddexp(x, y):
    """Directional derivative of dexp."""
    return with_zero(so3.ddexp(x[0], y[0]))


@face(x=TWIST, y=TWIST, out=BLOCK_LOWER, guard=POLE_ALONG)
def ddexpinv(x, y):
    """Directional derivative of dexpinv."""
    return with_zero(so3.ddexpinv(x[0], y[0]))


@face(x=TWIST, y=TWIST, out=TWIST)
def bch(x, y):
    """log(exp(X) exp(Y)) = (bch(x, y), v + w)."""
    return so3.bch(x[0], y[0]), add(x[1], y[1])
