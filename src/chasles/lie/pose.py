"""SE(3) stored as quaternion and position, 7 numbers (w, x, y, z, position): how models, states and files keep poses.

The same group as `se3`: q and -q are the same pose, `log` takes the shorter rotation. Twists, ad and all
differentials are those of `se3`. In kernels an element is the pair (q, p).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.algebra import add, cross, neg, scale, skew_mul, sub
from chasles.kernel.face import Guard, face
from chasles.kernel.policy import kernel
from chasles.lie import quaternion, s3, se3, so3
from chasles.lie.arrays import real_array
from chasles.lie.kinds import BLOCK_LOWER, POSE, POSE_MATRIX, SCALAR, TWIST, VECTOR, WRENCH
from chasles.lie.se3 import (
    ad,
    adT_apply,
    bch,
    bracket,
    dcay,
    dcay2,
    dcay2inv,
    dcayinv,
    dccsk,
    dccskinv,
    ddexp,
    ddexpinv,
    dexp,
    dexp_apply,
    dexpinv,
    dexpinv_apply,
    hat,
    vee,
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
    "cay",
    "cay2",
    "cay2inv",
    "cayinv",
    "ccsk",
    "ccskinv",
    "compose",
    "dcay",
    "dcay2",
    "dcay2inv",
    "dcayinv",
    "dccsk",
    "dccskinv",
    "ddexp",
    "ddexpinv",
    "dexp",
    "dexp_apply",
    "dexpinv",
    "dexpinv_apply",
    "exp",
    "from_matrix",
    "hat",
    "identity",
    "interpolate",
    "inverse",
    "log",
    "project",
    "random",
    "to_matrix",
    "vee",
]


def identity(shape: tuple[int, ...] = ()) -> np.ndarray:
    """Identity poses in an array with the given leading shape."""
    return np.broadcast_to([1.0, 0, 0, 0, 0, 0, 0], (*shape, 7)).copy()


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Poses with uniformly distributed rotation and standard normal position."""
    return np.concatenate([s3.random(rng, shape), rng.standard_normal((*shape, 3))], axis=-1)


def project(g: ArrayLike) -> np.ndarray:
    """The pose with its quaternion made unit, the position kept."""
    g = real_array("pose.project", "g", g, (7,))
    return np.concatenate([s3.project(g[..., :4]), g[..., 4:]], axis=-1)


@face(g=POSE_MATRIX, out=POSE)
def from_matrix(g):
    """Pose of a 4x4 matrix, with w >= 0."""
    return quaternion.from_matrix(g[0]), g[1]


@face(g=POSE, out=POSE_MATRIX)
def to_matrix(g):
    """The 4x4 matrix of a pose."""
    return quaternion.to_matrix(g[0]), g[1]


@face(g=POSE, h=POSE, out=POSE)
def compose(g, h):
    """Product g h = (q_g q_h, p_g + R_g p_h)."""
    return quaternion.product(g[0], h[0]), add(g[1], quaternion.rotate(g[0], h[1]))


@face(g=POSE, out=POSE)
def inverse(g):
    """Inverse (q*, -Rᵀ p)."""
    q = quaternion.conjugate(g[0])
    return q, neg(quaternion.rotate(q, g[1]))


@face(g=POSE, p=VECTOR, out=VECTOR)
def act(g, p):
    """Move a point: R p + position."""
    return add(quaternion.rotate(g[0], p), g[1])


@face(g=POSE, h=POSE, t=SCALAR, out=POSE)
def interpolate(g, h, t):
    """Screw motion from g (t = 0) to h (t = 1): g exp(t log(g⁻¹ h)), the shorter way round."""
    x, v = log(compose(inverse(g), h))
    return compose(g, exp((scale(t, x), scale(t, v))))


@face(g=POSE, out=BLOCK_LOWER)
def Ad(g):
    """Adjoint action on twists, [[R, 0], [p~ R, R]]."""
    r = quaternion.to_matrix(g[0])
    return r, skew_mul(g[1], r), r


@face(g=POSE, x=TWIST, out=TWIST)
def Ad_apply(g, x):
    """Ad_g X."""
    w = quaternion.rotate(g[0], x[0])
    return w, add(quaternion.rotate(g[0], x[1]), cross(g[1], w))


@face(g=POSE, f=WRENCH, out=WRENCH)
def AdT_apply(g, f):
    """Ad_gᵀ F, on wrenches."""
    q = quaternion.conjugate(g[0])
    return quaternion.rotate(q, sub(f[0], cross(g[1], f[1]))), quaternion.rotate(q, f[1])


@face(x=TWIST, out=POSE)
def exp(x):
    """Screw motion of a twist. Source: mueller2013 eq. (7), mueller2022 eqs. (38), (63)."""
    return quaternion.exp(x[0]), so3.dexp_apply(x[0], x[1])


@face(g=POSE, out=TWIST)
def log(g):
    """Twist with exp(X) = g and rotation angle at most π."""
    x = quaternion.log(quaternion.flip(g[0]))
    return x, so3.dexpinv_apply(x, g[1])


@face(x=TWIST, out=POSE)
def cay(x):
    """Cayley map of SE(3). Source: mueller2022 eqs. (41), corrected, and (48)."""
    return s3.cay(x[0]), se3.plus_cay(x[0], x[1])


@kernel
def half_turn_distance(g):
    return s3.scalar_part(g[0])


@face(g=POSE, out=TWIST, guard=Guard(half_turn_distance, so3.HALF_TURN.found, so3.HALF_TURN_ADVICE))
def cayinv(g):
    """Extended Rodrigues vector (c, d) with cay(c, d) = g; infinite at half a turn."""
    c = s3.cayinv(g[0])
    return c, se3.half_minus(c, g[1])


@face(x=TWIST, out=POSE)
def cay2(x):
    """Second-order Cayley map cay(X)²."""
    c, d = x
    return so3.cay2_quaternion(c), se3.plus_cay(c, se3.plus_cay(c, d))


@face(g=POSE, out=TWIST)
def cay2inv(g):
    """The coordinates (c, d), |c| <= 1, with cay2(c, d) = g."""
    c = so3.cay2inv_quaternion(quaternion.flip(g[0]))
    return c, se3.half_minus(c, se3.half_minus(c, g[1]))


@face(x=TWIST, out=POSE)
def ccsk(x):
    """Canonical coordinates of the second kind: exp(x₁ E₁) ... exp(x₆ E₆)."""
    r, p = se3.ccsk(x)
    return quaternion.from_matrix(r), p


@face(g=POSE, out=TWIST)
def ccskinv(g):
    """Coordinates with ccsk(X) = g, second angle at most π/2."""
    return se3.ccskinv((quaternion.to_matrix(g[0]), g[1]))
