"""S3, unit quaternions (w, x, y, z); algebra: rotation vectors x [rad], exp(x) = (cos(|x|/2), sin(|x|/2) x/|x|).

A group of its own, which covers SO(3) twice: `log` gives angles up to 2π, and q and -q are different elements. The
algebra is that of SO(3), and so are ad and all differentials.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.algebra import scale
from chasles.kernel.face import Guard, face
from chasles.kernel.lanes import absolute, sqrt
from chasles.kernel.policy import kernel
from chasles.lie import quaternion, so3
from chasles.lie.arrays import real_array
from chasles.lie.kinds import ANY_QUATERNION, MATRIX, SCALAR, UNIT_QUATERNION, VECTOR
from chasles.lie.so3 import (
    ad,
    adT_apply,
    bracket,
    dcay,
    dcay2,
    dcay2inv,
    dcayinv,
    ddexp,
    ddexpinv,
    dexp,
    dexp_apply,
    dexpinv,
    dexpinv_apply,
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
    "compose",
    "dcay",
    "dcay2",
    "dcay2inv",
    "dcayinv",
    "ddexp",
    "ddexpinv",
    "dexp",
    "dexp_apply",
    "dexpinv",
    "dexpinv_apply",
    "exp",
    "hat",
    "identity",
    "interpolate",
    "inverse",
    "log",
    "project",
    "random",
    "vee",
]


def identity(shape: tuple[int, ...] = ()) -> np.ndarray:
    """Identity elements in an array with the given leading shape."""
    return np.broadcast_to([1.0, 0.0, 0.0, 0.0], (*shape, 4)).copy()


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Unit quaternions distributed uniformly on the sphere."""
    return project(rng.standard_normal((*shape, 4)))


def project(q: ArrayLike) -> np.ndarray:
    """Nearest unit quaternion, q/|q|. Raises ValueError for the zero quaternion."""
    q = real_array("s3.project", "q", q, (4,))
    norm = np.linalg.norm(q, axis=-1, keepdims=True)
    if not np.all(norm > 0):
        raise ValueError("s3.project: the zero quaternion has no direction")
    return q / norm


@face(g=UNIT_QUATERNION, h=UNIT_QUATERNION, out=UNIT_QUATERNION)
def compose(g, h):
    """Quaternion product g h."""
    return quaternion.product(g, h)


@face(g=UNIT_QUATERNION, out=UNIT_QUATERNION)
def inverse(g):
    """Inverse, the conjugate."""
    return quaternion.conjugate(g)


@face(g=UNIT_QUATERNION, p=VECTOR, out=VECTOR)
def act(g, p):
    """Rotate a point: g p g⁻¹."""
    return quaternion.rotate(g, p)


@face(g=UNIT_QUATERNION, h=UNIT_QUATERNION, t=SCALAR, out=UNIT_QUATERNION)
def interpolate(g, h, t):
    """Geodesic on the sphere from g (t = 0) to h (t = 1): g exp(t log(g⁻¹ h)). From g to -h is the other way round."""
    step = quaternion.exp(scale(t, quaternion.log(quaternion.product(quaternion.conjugate(g), h))))
    return quaternion.product(g, step)


@face(x=VECTOR, out=ANY_QUATERNION)
def hat(x):
    """The tangent at the identity as a pure quaternion, (0, x/2)."""
    return (0.0 * x[0], 0.5 * x[0], 0.5 * x[1], 0.5 * x[2])


@face(m=ANY_QUATERNION, out=VECTOR)
def vee(m):
    """Twice the vector part; the inverse of `hat` on pure quaternions."""
    return (2.0 * m[1], 2.0 * m[2], 2.0 * m[3])


@face(g=UNIT_QUATERNION, out=MATRIX)
def Ad(g):
    """Adjoint action on the algebra: the rotation matrix of g."""
    return quaternion.to_matrix(g)


@face(g=UNIT_QUATERNION, x=VECTOR, out=VECTOR)
def Ad_apply(g, x):
    """Ad_g x."""
    return quaternion.rotate(g, x)


@face(g=UNIT_QUATERNION, f=VECTOR, out=VECTOR)
def AdT_apply(g, f):
    """Ad_gᵀ f, the coadjoint action on torques."""
    return quaternion.rotate(quaternion.conjugate(g), f)


@face(x=VECTOR, out=UNIT_QUATERNION)
def exp(x):
    """(cos(θ/2), sin(θ/2) x/θ), θ = |x| [rad]. Source: mueller2022 eq. (38)."""
    return quaternion.exp(x)


@face(g=UNIT_QUATERNION, out=VECTOR)
def log(g):
    """x [rad] with exp(x) = g and |x| <= 2π. At g = -1, where every axis serves, 2π about the first axis."""
    return quaternion.log(g)


@face(x=VECTOR, y=VECTOR, out=VECTOR)
def bch(x, y):
    """log(exp(x) exp(y)) in closed form, |result| <= 2π. Source: mueller2022 eqs. (72)-(76)."""
    return quaternion.log(quaternion.product(quaternion.exp(x), quaternion.exp(y)))


@face(c=VECTOR, out=UNIT_QUATERNION)
def cay(c):
    """Cayley map, the quaternion (1, c)/√(1 + |c|²) = √(σ/2) (1, c). Source: mueller2022 eq. (41), corrected."""
    r = sqrt(0.5 * so3.cayley_sigma(c))
    return (r, r * c[0], r * c[1], r * c[2])


@kernel
def scalar_part(g):
    return absolute(g[0])


@face(
    g=UNIT_QUATERNION,
    out=VECTOR,
    guard=Guard(scalar_part, "is a rotation by half a turn, which has no Rodrigues vector", so3.HALF_TURN_ADVICE),
)
def cayinv(g):
    """Rodrigues vector of the rotation of g; cay(cayinv(g)) is the one of g, -g with w > 0."""
    r = 1.0 / g[0]
    return (r * g[1], r * g[2], r * g[3])


@face(c=VECTOR, out=UNIT_QUATERNION)
def cay2(c):
    """Second-order Cayley map, (1 - |c|², 2 c)/(1 + |c|²); c = tan(θ/4) n."""
    return so3.cay2_quaternion(c)


@kernel
def full_turn_distance(g):
    return 1.0 + g[0]


@face(
    g=UNIT_QUATERNION,
    out=VECTOR,
    guard=Guard(full_turn_distance, "is -1, a full turn, where cay2inv is infinite", "use log, or the element -g"),
)
def cay2inv(g):
    """The vector c with cay2(c) = g; infinite at g = -1."""
    return so3.cay2inv_quaternion(g)
