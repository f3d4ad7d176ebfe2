"""SE(2), motions of the plane as 3x3 matrices; algebra: (w, vx, vy), the angular part first.

In complex notation (v = vx + i vy, i a quarter turn) ad_(w,v) = [[0, 0], [-i v, i w]]. So a function
phi(ad) is [[phi(0), 0], [psi(i w) (-i v), phi(i w)]] with psi(z) = (phi(z) - phi(0))/z.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.face import Guard, face
from chasles.kernel.functions import atan2, sincos
from chasles.kernel.lanes import absolute, maximum, rint
from chasles.kernel.policy import kernel
from chasles.lie import so2
from chasles.lie.arrays import real_array
from chasles.lie.coefficients import dexp_coefficients, dexpinv_coefficients, exp_coefficients, half_angle_planar
from chasles.lie.kinds import MATRIX, PLANAR_POSE, PLANAR_TWIST, SCALAR, VECTOR2
from chasles.lie.so2 import turn, turn_back
from chasles.lie.so3 import POLE as SO3_POLE
from chasles.lie.so3 import TWO_PI


def identity(shape: tuple[int, ...] = ()) -> np.ndarray:
    """Identity elements in an array with the given leading shape."""
    return np.broadcast_to(np.eye(3), (*shape, 3, 3)).copy()


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Motions with uniformly distributed rotation and standard normal position."""
    g = identity(shape)
    g[..., :2, :2], g[..., :2, 2] = so2.random(rng, shape), rng.standard_normal((*shape, 2))
    return g


def project(m: ArrayLike) -> np.ndarray:
    """Nearest planar motion: the rotation block by `so2.project`, the position kept, the last row restored."""
    m = real_array("se2.project", "m", m, (3, 3))
    g = identity(m.shape[:-2])
    g[..., :2, :2], g[..., :2, 2] = so2.project(m[..., :2, :2]), m[..., :2, 2]
    return g


@face(g=PLANAR_POSE, h=PLANAR_POSE, out=PLANAR_POSE)
def compose(g, h):
    """Product g h."""
    p = turn(g[0], h[1])
    return turn(g[0], h[0]), (g[1][0] + p[0], g[1][1] + p[1])


@face(g=PLANAR_POSE, out=PLANAR_POSE)
def inverse(g):
    """Inverse."""
    p = turn_back(g[0], g[1])
    return (g[0][0], -g[0][1]), (-p[0], -p[1])


@face(g=PLANAR_POSE, p=VECTOR2, out=VECTOR2)
def act(g, p):
    """Move a point of the plane."""
    a = turn(g[0], p)
    return (a[0] + g[1][0], a[1] + g[1][1])


@face(g=PLANAR_POSE, h=PLANAR_POSE, t=SCALAR, out=PLANAR_POSE)
def interpolate(g, h, t):
    """Rotation about a pole from g (t = 0) to h (t = 1): g exp(t log(g⁻¹ h))."""
    w, v = log(compose(inverse(g), h))
    return compose(g, exp((t * w, (t * v[0], t * v[1]))))


@face(x=PLANAR_TWIST, out=MATRIX)
def hat(x):
    """[[0, -w, vx], [w, 0, vy], [0, 0, 0]]."""
    w, v = x
    z = 0.0 * w
    return (z, -w, v[0], w, z, v[1], z, z, z)


@face(m=MATRIX, out=PLANAR_TWIST)
def vee(m):
    """The inverse of `hat`."""
    return 0.5 * (m[3] - m[1]), (m[2], m[5])


@kernel
def block(first, column, z):
    """[[first, 0], [column, z]] with the complex number z as a 2x2 matrix."""
    zero = 0.0 * column[0]
    return (first + zero, zero, zero, column[0], z[0], -z[1], column[1], z[1], z[0])


@face(g=PLANAR_POSE, out=MATRIX)
def Ad(g):
    """Adjoint action: (w, v) -> (w, R v - w i p)."""
    return block(1.0, (g[1][1], -g[1][0]), g[0])


@face(g=PLANAR_POSE, x=PLANAR_TWIST, out=PLANAR_TWIST)
def Ad_apply(g, x):
    """Ad_g X."""
    v = turn(g[0], x[1])
    return x[0], (v[0] + x[0] * g[1][1], v[1] - x[0] * g[1][0])


@face(g=PLANAR_POSE, f=PLANAR_TWIST, out=PLANAR_TWIST)
def AdT_apply(g, f):
    """Ad_gᵀ F on planar wrenches (moment, force)."""
    return f[0] + g[1][1] * f[1][0] - g[1][0] * f[1][1], turn_back(g[0], f[1])


@face(x=PLANAR_TWIST, out=MATRIX)
def ad(x):
    """ad_X Y = [X, Y]."""
    w, v = x
    zero = 0.0 * w
    return block(0.0, (v[1], -v[0]), (zero, w))


@face(x=PLANAR_TWIST, y=PLANAR_TWIST, out=PLANAR_TWIST)
def bracket(x, y):
    """Lie bracket (0, i (w v' - w' v))."""
    (a, v), (b, u) = x, y
    return 0.0 * a * b, (b * v[1] - a * u[1], a * u[0] - b * v[0])


@face(x=PLANAR_TWIST, f=PLANAR_TWIST, out=PLANAR_TWIST)
def adT_apply(x, f):
    """ad_Xᵀ F on planar wrenches (moment, force)."""
    w, v = x
    return v[1] * f[1][0] - v[0] * f[1][1], (w * f[1][1], -w * f[1][0])


@face(x=PLANAR_TWIST, out=PLANAR_POSE)
def exp(x):
    """Rotation by w about a pole: (exp w, (e^{iw} - 1)/(iw) v)."""
    w, v = x
    s, c = sincos(w)
    g, _, _ = exp_coefficients(half_angle_planar(w))
    return (c, s), turn((g[1], w * g[2]), v)


@face(g=PLANAR_POSE, out=PLANAR_TWIST)
def log(g):
    """Twist with exp(X) = g, |w| <= π."""
    w = atan2(g[0][1], g[0][0])
    k, _, _ = dexpinv_coefficients(half_angle_planar(w))
    return w, turn((k[0], -0.5 * w), g[1])


@kernel
def pole_distance(x):
    w = absolute(x[0])
    return absolute(w - TWO_PI * maximum(rint(w / TWO_PI), 1.0))


@kernel
def pole_distance_along(x, y):
    return pole_distance(x)


POLE = Guard(pole_distance, SO3_POLE.found, SO3_POLE.advice)
POLE_ALONG = Guard(pole_distance_along, SO3_POLE.found, SO3_POLE.advice)


@kernel
def turned(v):
    """-i v."""
    return (v[1], -v[0])


@face(x=PLANAR_TWIST, out=MATRIX)
def dexp(x):
    """Right-trivialized differential of `exp`."""
    w, v = x
    half = half_angle_planar(w)
    e, _, _ = exp_coefficients(half)
    g, _, _ = dexp_coefficients(half)
    return block(1.0, turn((g[1], w * g[2]), turned(v)), (e[1], w * e[2]))


@face(x=PLANAR_TWIST, out=MATRIX, guard=POLE)
def dexpinv(x):
    """Inverse of `dexp`; pole at |w| = 2π."""
    w, v = x
    g, _, _ = dexpinv_coefficients(half_angle_planar(w))
    zero = 0.0 * w
    return block(1.0, turn((zero - 0.5, w * g[2]), turned(v)), (g[0], -0.5 * w))


@face(x=PLANAR_TWIST, y=PLANAR_TWIST, out=MATRIX)
def ddexp(x, y):
    """Directional derivative of dexp: the matrix d/dt dexp(X + t Y) at t = 0."""
    (w, v), (a, u) = x, y
    s = w * w
    half = half_angle_planar(w)
    e, de, _ = exp_coefficients(half)
    g, dg, _ = dexp_coefficients(half)
    along = turn((2.0 * a * w * dg[1], a * (g[2] + 2.0 * s * dg[2])), turned(v))
    across = turn((g[1], w * g[2]), turned(u))
    corner = (2.0 * a * w * de[1], a * (e[2] + 2.0 * s * de[2]))
    return block(0.0, (along[0] + across[0], along[1] + across[1]), corner)


@face(x=PLANAR_TWIST, y=PLANAR_TWIST, out=MATRIX, guard=POLE_ALONG)
def ddexpinv(x, y):
    """Directional derivative of dexpinv: the matrix d/dt dexpinv(X + t Y) at t = 0."""
    (w, v), (a, u) = x, y
    s = w * w
    g, dg, _ = dexpinv_coefficients(half_angle_planar(w))
    rate = a * (g[2] + 2.0 * s * dg[2])
    zero = 0.0 * w
    along = turn((zero, rate), turned(v))
    across = turn((zero - 0.5, w * g[2]), turned(u))
    corner = (-2.0 * a * w * (g[2] + s * dg[2]), -0.5 * a)
    return block(0.0, (along[0] + across[0], along[1] + across[1]), corner)


@face(x=PLANAR_TWIST, y=PLANAR_TWIST, out=PLANAR_TWIST)
def bch(x, y):
    """log(exp(X) exp(Y))."""
    return log(compose(exp(x), exp(y)))
