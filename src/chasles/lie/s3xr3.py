"""S3 x R3, the direct product of unit quaternions and positions, 7 numbers stored as in `pose`.

Composes as (q p, r + s). The algebra and all differentials are those of SO(3) x R3.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, neg, sub
from chasles.kernel.face import face
from chasles.lie import quaternion, s3
from chasles.lie.kinds import BLOCK_LOWER, POSE, SCALAR, TWIST, WRENCH
from chasles.lie.pose import identity, project, random
from chasles.lie.so3xr3 import (
    ad,
    adT_apply,
    bracket,
    ddexp,
    ddexpinv,
    dexp,
    dexp_apply,
    dexpinv,
    dexpinv_apply,
    with_identity,
)

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
    "identity",
    "interpolate",
    "inverse",
    "log",
    "project",
    "random",
]


@face(g=POSE, h=POSE, out=POSE)
def compose(g, h):
    """Product (q_g q_h, r_g + r_h)."""
    return quaternion.product(g[0], h[0]), add(g[1], h[1])


@face(g=POSE, out=POSE)
def inverse(g):
    """Inverse (q*, -r)."""
    return quaternion.conjugate(g[0]), neg(g[1])


@face(g=POSE, p=TWIST, out=TWIST)
def act(g, p):
    """Action on a direction and a point, (a, b) -> (R a, b + r)."""
    return quaternion.rotate(g[0], p[0]), add(p[1], g[1])


@face(g=POSE, h=POSE, t=SCALAR, out=POSE)
def interpolate(g, h, t):
    """Geodesic from g to h on the sphere and along the line."""
    return s3.interpolate(g[0], h[0], t), add_scaled(g[1], t, sub(h[1], g[1]))


@face(g=POSE, out=BLOCK_LOWER)
def Ad(g):
    """diag(R, I)."""
    return with_identity(quaternion.to_matrix(g[0]))


@face(g=POSE, x=TWIST, out=TWIST)
def Ad_apply(g, x):
    """Ad_g X = (R x, v)."""
    return quaternion.rotate(g[0], x[0]), x[1]


@face(g=POSE, f=WRENCH, out=WRENCH)
def AdT_apply(g, f):
    """Ad_gᵀ F = (Rᵀ t, f)."""
    return quaternion.rotate(quaternion.conjugate(g[0]), f[0]), f[1]


@face(x=TWIST, out=POSE)
def exp(x):
    """(exp x, v)."""
    return quaternion.exp(x[0]), x[1]


@face(g=POSE, out=TWIST)
def log(g):
    """(log q, r), |log q| <= 2π."""
    return quaternion.log(g[0]), g[1]


@face(x=TWIST, y=TWIST, out=TWIST)
def bch(x, y):
    """log(exp(X) exp(Y))."""
    return s3.bch(x[0], y[0]), add(x[1], y[1])
