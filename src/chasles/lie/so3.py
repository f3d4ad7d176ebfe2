"""SO(3), rotation matrices; algebra so(3) = rotation vectors x [rad] with hat(x) y = x × y.

The functions of the algebra (ad, dexp, ...) are those of S3 too: both groups have the same algebra.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.algebra import cross, dot, mat_mul, mat_scale, mul, mul_t, scale, skew, transpose
from chasles.kernel.face import Guard, face
from chasles.kernel.functions import atan2, sincos
from chasles.kernel.lanes import absolute, maximum, rint, select, sqrt
from chasles.kernel.policy import kernel
from chasles.lie import ad_polynomial, quaternion
from chasles.lie.arrays import real_array
from chasles.lie.coefficients import dexp_coefficients, dexpinv_coefficients, exp_coefficients, half_angle
from chasles.lie.kinds import MATRIX, ROTATION, SCALAR, VECTOR

TWO_PI = 2.0 * np.pi

# ---------------------------------------------------------------- the group


def identity(shape: tuple[int, ...] = ()) -> np.ndarray:
    """Identity elements in an array with the given leading shape."""
    return np.broadcast_to(np.eye(3), (*shape, 3, 3)).copy()


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Rotations distributed uniformly (Haar measure)."""
    q = rng.standard_normal((*shape, 4))
    return _matrix_of_quaternion(q / np.linalg.norm(q, axis=-1, keepdims=True))


def _matrix_of_quaternion(q):
    from chasles.lie.rotation import quaternion_to_matrix

    return quaternion_to_matrix(q)


def project(m: ArrayLike) -> np.ndarray:
    """Nearest rotation matrix (Frobenius norm), by the polar decomposition. Raises ValueError if det m <= 0."""
    m = real_array("so3.project", "m", m, (3, 3))
    if not np.all(np.linalg.det(m) > 0):
        raise ValueError("so3.project: a matrix with determinant <= 0 has no nearest rotation of the same orientation")
    u, _, vt = np.linalg.svd(m)
    return u @ vt


@face(g=ROTATION, h=ROTATION, out=ROTATION)
def compose(g, h):
    """Product g h."""
    return mat_mul(g, h)


@face(g=ROTATION, out=ROTATION)
def inverse(g):
    """Inverse, the transpose."""
    return transpose(g)


@face(g=ROTATION, p=VECTOR, out=VECTOR)
def act(g, p):
    """Rotate a point: R p."""
    return mul(g, p)


@face(g=ROTATION, h=ROTATION, t=SCALAR, out=ROTATION)
def interpolate(g, h, t):
    """Geodesic from g (t = 0) to h (t = 1): g exp(t log(g⁻¹ h))."""
    return mat_mul(g, exp(scale(t, log(mat_mul(transpose(g), h)))))


# ---------------------------------------------------------------- the algebra


@face(x=VECTOR, out=MATRIX)
def hat(x):
    """Skew matrix x~ of a vector: x~ y = x × y."""
    return skew(x)


@face(m=MATRIX, out=VECTOR)
def vee(m):
    """Vector of the skew part of a matrix; the inverse of `hat` on skew matrices."""
    return (0.5 * (m[7] - m[5]), 0.5 * (m[2] - m[6]), 0.5 * (m[3] - m[1]))


@face(g=ROTATION, out=MATRIX)
def Ad(g):
    """Adjoint action on the algebra, hat(Ad x) = g hat(x) g⁻¹: the rotation matrix itself."""
    return g


@face(g=ROTATION, x=VECTOR, out=VECTOR)
def Ad_apply(g, x):
    """Ad_g x."""
    return mul(g, x)


@face(g=ROTATION, f=VECTOR, out=VECTOR)
def AdT_apply(g, f):
    """Ad_gᵀ f, the coadjoint action on torques."""
    return mul_t(g, f)


@face(x=VECTOR, out=MATRIX)
def ad(x):
    """ad_x y = [x, y] = x × y."""
    return skew(x)


@face(x=VECTOR, y=VECTOR, out=VECTOR)
def bracket(x, y):
    """Lie bracket [x, y] = ad_x y."""
    return cross(x, y)


@face(x=VECTOR, f=VECTOR, out=VECTOR)
def adT_apply(x, f):
    """ad_xᵀ f = f × x, on torques."""
    return cross(f, x)


# ---------------------------------------------------------------- exponential coordinates


@face(x=VECTOR, out=ROTATION)
def exp(x):
    """R = exp(x~) = I + sin θ/θ x~ + (1 - cos θ)/θ² x~², θ = |x| [rad].

    Source: mueller2013 eq. (8), corrected (the square of θ is missing in print).
    """
    g, _, _ = exp_coefficients(half_angle(x))
    return ad_polynomial.matrix(x, g)


@face(g=ROTATION, out=VECTOR)
def log(g):
    """Rotation vector x [rad] with exp(x) = g, |x| <= π. At exactly π both signs are right; one is returned."""
    return quaternion.log(quaternion.from_matrix(g))


@kernel
def pole_distance(x):
    """Distance of θ = |x| from the poles 2π, 4π, ... of dexpinv."""
    theta = sqrt(dot(x, x))
    return absolute(theta - TWO_PI * maximum(rint(theta / TWO_PI), 1.0))


@kernel
def pole_distance_along(x, y):
    return pole_distance(x)


_POLE = "has an angle at a multiple of 2 pi, where dexp is singular and dexpinv has a pole"
_AWAY = "use an equivalent vector of angle below 2 pi, or a shorter step"
POLE = Guard(pole_distance, _POLE, _AWAY)
POLE_ALONG = Guard(pole_distance_along, _POLE, _AWAY)


@face(x=VECTOR, out=MATRIX)
def dexp(x):
    """Right-trivialized differential: d/dt exp(x) = hat(dexp_x x') exp(x); body velocity is dexp_{-x} x'.

    dexp_x = I + (1 - cos θ)/θ² x~ + (θ - sin θ)/θ³ x~². Source: mueller2022 eqs. (31), (32), (31) corrected.
    """
    g, _, _ = dexp_coefficients(half_angle(x))
    return ad_polynomial.matrix(x, g)


@face(x=VECTOR, y=VECTOR, out=VECTOR)
def dexp_apply(x, y):
    """dexp_x y, without forming the matrix."""
    g, _, _ = dexp_coefficients(half_angle(x))
    return ad_polynomial.apply(x, y, g)


@face(x=VECTOR, out=MATRIX, guard=POLE)
def dexpinv(x):
    """Inverse of `dexp`: I - x~/2 + (1 - (θ/2) cot(θ/2))/θ² x~²; pole at θ = 2π. Source: celledoni2022 section 2.2."""
    g, _, _ = dexpinv_coefficients(half_angle(x))
    return ad_polynomial.matrix(x, g)


@face(x=VECTOR, y=VECTOR, out=VECTOR, guard=POLE_ALONG)
def dexpinv_apply(x, y):
    """dexpinv_x y, without forming the matrix."""
    g, _, _ = dexpinv_coefficients(half_angle(x))
    return ad_polynomial.apply(x, y, g)


@face(x=VECTOR, y=VECTOR, out=MATRIX)
def ddexp(x, y):
    """Directional derivative of dexp: the matrix d/dt dexp(x + t y) at t = 0."""
    g, dg, _ = dexp_coefficients(half_angle(x))
    return ad_polynomial.matrix_derivative(x, y, g, dg)


@face(x=VECTOR, y=VECTOR, out=MATRIX, guard=POLE_ALONG)
def ddexpinv(x, y):
    """Directional derivative of dexpinv: the matrix d/dt dexpinv(x + t y) at t = 0."""
    g, dg, _ = dexpinv_coefficients(half_angle(x))
    return ad_polynomial.matrix_derivative(x, y, g, dg)


@face(x=VECTOR, y=VECTOR, out=VECTOR)
def bch(x, y):
    """log(exp(x) exp(y)) in closed form, |result| <= π. Source: mueller2022 eqs. (72)-(76), by quaternions."""
    return quaternion.log(quaternion.flip(quaternion.product(quaternion.exp(x), quaternion.exp(y))))


# ---------------------------------------------------------------- Cayley coordinates


@kernel
def half_turn_distance(g):
    """cos(θ/2) of a rotation: zero at half a turn, where the Rodrigues vector is infinite."""
    return quaternion.from_matrix(g)[0]


HALF_TURN_ADVICE = "use log or cay2inv, which are regular there"
HALF_TURN = Guard(half_turn_distance, "is a rotation by half a turn, which has no Rodrigues vector", HALF_TURN_ADVICE)


@kernel
def cayley_sigma(c):
    """σ = 2/(1 + |c|²)."""
    return 2.0 / (1.0 + dot(c, c))


@face(c=VECTOR, out=ROTATION)
def cay(c):
    """Cayley map (I - c~)⁻¹(I + c~) = I + σ(c~ + c~²), σ = 2/(1 + |c|²); c = tan(θ/2) n.

    Source: mueller2022 eq. (35).
    """
    s = cayley_sigma(c)
    return ad_polynomial.matrix(c, (0.5 * s * (1.0 - dot(c, c)), s, s))


@face(g=ROTATION, out=VECTOR, guard=HALF_TURN)
def cayinv(g):
    """Rodrigues vector c with cay(c) = g; infinite at half a turn."""
    q = quaternion.from_matrix(g)
    r = 1.0 / q[0]
    return (q[1] * r, q[2] * r, q[3] * r)


@face(c=VECTOR, out=MATRIX)
def dcay(c):
    """Right-trivialized differential of `cay`: σ(I + c~); 2 I at c = 0. Source: mueller2022 eq. (36)."""
    s = cayley_sigma(c)
    return ad_polynomial.matrix(c, (s, s, 0.0))


@face(c=VECTOR, out=MATRIX)
def dcayinv(c):
    """Inverse of `dcay`: (I - c~ + c cᵀ)/2. Source: mueller2022 eq. (37)."""
    return ad_polynomial.compose_matrix(0.5, scale(-0.5, c), ad_polynomial.scaled_square(0.5, c))


# ---------------------------------------------------------------- second-order Cayley coordinates


@face(c=VECTOR, out=ROTATION)
def cay2(c):
    """Second-order Cayley map cay(c)²; c = tan(θ/4) n, a quarter of the Wiener-Milenkovic vector.

    Its quaternion is (1 - |c|², 2 c)/(1 + |c|²): regular to θ = 2π.
    """
    return quaternion.to_matrix(cay2_quaternion(c))


@kernel
def cay2_quaternion(c):
    s = dot(c, c)
    r = 1.0 / (1.0 + s)
    return ((1.0 - s) * r, 2.0 * r * c[0], 2.0 * r * c[1], 2.0 * r * c[2])


@face(g=ROTATION, out=VECTOR)
def cay2inv(g):
    """The vector c, |c| <= 1, with cay2(c) = g."""
    return cay2inv_quaternion(quaternion.from_matrix(g))


@kernel
def cay2inv_quaternion(q):
    r = 1.0 / (1.0 + q[0])
    return (q[1] * r, q[2] * r, q[3] * r)


@face(c=VECTOR, out=MATRIX)
def dcay2(c):
    """Right-trivialized differential of `cay2`: (I + cay c) dcay_c = 2 σ cay(c), a multiple of a rotation."""
    return mat_scale(2.0 * cayley_sigma(c), cay(c))


@face(c=VECTOR, out=MATRIX)
def dcay2inv(c):
    """Inverse of `dcay2`: ((1 - |c|²) I - 2 c~ + 2 c cᵀ)/4."""
    return ad_polynomial.compose_matrix(0.25 * (1.0 - dot(c, c)), scale(-0.5, c), ad_polynomial.scaled_square(0.5, c))


# ---------------------------------------------------------------- canonical coordinates of the second kind


@kernel
def second_kind_columns(x):
    """Sine and cosine of the three angles."""
    return sincos(x[0]), sincos(x[1]), sincos(x[2])


@kernel
def second_kind_singular(x):
    return absolute(sincos(x[1])[1])


SECOND_KIND_POLE = Guard(
    second_kind_singular,
    "has its second angle at a right angle, where these coordinates are singular",
    "restart the coordinates from the current element",
)


@face(x=VECTOR, out=ROTATION)
def ccsk(x):
    """Canonical coordinates of the second kind: exp(x₁ e₁) exp(x₂ e₂) exp(x₃ e₃)."""
    (s1, c1), (s2, c2), (s3, c3) = second_kind_columns(x)
    return (
        *(c2 * c3, -c2 * s3, s2),
        *(c1 * s3 + s1 * s2 * c3, c1 * c3 - s1 * s2 * s3, -s1 * c2),
        *(s1 * s3 - c1 * s2 * c3, s1 * c3 + c1 * s2 * s3, c1 * c2),
    )


@face(g=ROTATION, out=VECTOR)
def ccskinv(g):
    """Angles with ccsk(x) = g, |x₂| <= π/2. At |x₂| = π/2 only x₁ ± x₃ is determined: x₃ = 0 there."""
    cosine = sqrt(g[0] * g[0] + g[1] * g[1])
    x1 = atan2(-g[5], g[8])
    locked = cosine < 1e-15
    x1 = select(locked, atan2(g[7], g[4]), x1)
    s1, c1 = sincos(x1)
    return (x1, atan2(g[2], cosine), atan2(c1 * g[3] + s1 * g[6], c1 * g[4] + s1 * g[7]))


@face(x=VECTOR, out=MATRIX)
def dccsk(x):
    """Right-trivialized differential of `ccsk`: columns e₁, exp(x₁ e₁) e₂, exp(x₁ e₁) exp(x₂ e₂) e₃."""
    (s1, c1), (s2, c2), _ = second_kind_columns(x)
    zero = 0.0 * s1
    return (zero + 1.0, zero, s2, zero, c1, -s1 * c2, zero, s1, c1 * c2)


@face(x=VECTOR, out=MATRIX, guard=SECOND_KIND_POLE)
def dccskinv(x):
    """Inverse of `dccsk`; singular at |x₂| = π/2."""
    (s1, c1), (s2, c2), _ = second_kind_columns(x)
    zero = 0.0 * s1
    t, r = s2 / c2, 1.0 / c2
    return (zero + 1.0, s1 * t, -c1 * t, zero, c1, s1, zero, -s1 * r, c1 * r)
