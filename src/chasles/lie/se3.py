"""SE(3), rigid motions as 4x4 matrices [[R, p], [0, 1]]; algebra se(3) = twists X = (x, v), angular part first.

The functions of the algebra (ad, dexp, ...) are those of `pose` too, which stores the same group as quaternion and
position. In kernels an element is the pair (R, p).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    force_cross,
    mat_add,
    mat_mul,
    mat_neg,
    mat_scale,
    mat_select,
    motion_cross,
    mul,
    mul_t,
    neg,
    scale,
    skew,
    skew_mul,
    sub,
    transpose,
)
from chasles.kernel.face import Guard, Kind, face
from chasles.kernel.policy import kernel
from chasles.lie import ad_polynomial, so3
from chasles.lie.arrays import real_array
from chasles.lie.coefficients import (
    QUOTIENT_LIMIT,
    dexp_axial,
    dexp_coefficients,
    dexpinv_axial,
    dexpinv_coefficients,
    half_angle,
)
from chasles.lie.kinds import BLOCK_LOWER, POSE_MATRIX, SCALAR, TWIST, VECTOR, WRENCH

# ---------------------------------------------------------------- the group


def identity(shape: tuple[int, ...] = ()) -> np.ndarray:
    """Identity elements in an array with the given leading shape."""
    return np.broadcast_to(np.eye(4), (*shape, 4, 4)).copy()


def random(rng: np.random.Generator, shape: tuple[int, ...] = ()) -> np.ndarray:
    """Rigid motions with uniformly distributed rotation and standard normal position."""
    return from_parts(so3.random(rng, shape), rng.standard_normal((*shape, 3)))


def from_parts(rotation: ArrayLike, position: ArrayLike) -> np.ndarray:
    """The 4x4 matrix of a rotation matrix and a position [m]."""
    rotation, position = np.asarray(rotation, dtype=float), np.asarray(position, dtype=float)
    shape = np.broadcast_shapes(rotation.shape[:-2], position.shape[:-1])
    g = identity(shape)
    g[..., :3, :3], g[..., :3, 3] = rotation, position
    return g


def project(m: ArrayLike) -> np.ndarray:
    """Nearest rigid motion: the rotation block by `so3.project`, the position kept, the last row restored."""
    m = real_array("se3.project", "m", m, (4, 4))
    return from_parts(so3.project(m[..., :3, :3]), m[..., :3, 3])


@face(g=POSE_MATRIX, h=POSE_MATRIX, out=POSE_MATRIX)
def compose(g, h):
    """Product g h = (R_g R_h, p_g + R_g p_h)."""
    return mat_mul(g[0], h[0]), add(g[1], mul(g[0], h[1]))


@face(g=POSE_MATRIX, out=POSE_MATRIX)
def inverse(g):
    """Inverse (Rᵀ, -Rᵀ p)."""
    return transpose(g[0]), neg(mul_t(g[0], g[1]))


@face(g=POSE_MATRIX, p=VECTOR, out=VECTOR)
def act(g, p):
    """Move a point: R p + position."""
    return add(mul(g[0], p), g[1])


@face(g=POSE_MATRIX, h=POSE_MATRIX, t=SCALAR, out=POSE_MATRIX)
def interpolate(g, h, t):
    """Screw motion from g (t = 0) to h (t = 1): g exp(t log(g⁻¹ h))."""
    x, v = log(compose(inverse(g), h))
    return compose(g, exp((scale(t, x), scale(t, v))))


# ---------------------------------------------------------------- the algebra


@kernel
def _hat_rows(m):
    return m


@kernel
def _unpack_hat(m):
    return ((m[9], m[2], m[4], m[6], m[8], m[1]), (m[3], m[7], m[11]))


HAT = Kind("4x4 matrix", (4, 4), unpack=_unpack_hat, pack=_hat_rows)


@face(x=TWIST, out=HAT)
def hat(x):
    """The 4x4 matrix [[x~, v], [0, 0]]."""
    (a, b, c), v = x
    z = 0.0 * a
    return (z, -c, b, v[0], c, z, -a, v[1], -b, a, z, v[2], z, z, z, z)


@face(m=HAT, out=TWIST)
def vee(m):
    """The twist of a 4x4 matrix (skew part of its rotation block, and its last column); the inverse of `hat`."""
    a, v = m
    return (0.5 * (a[0] - a[3]), 0.5 * (a[1] - a[4]), 0.5 * (a[2] - a[5])), v


@face(g=POSE_MATRIX, out=BLOCK_LOWER)
def Ad(g):
    """Adjoint action on twists, [[R, 0], [p~ R, R]]. Source: mueller2013 eq. (5)."""
    return g[0], skew_mul(g[1], g[0]), g[0]


@face(g=POSE_MATRIX, x=TWIST, out=TWIST)
def Ad_apply(g, x):
    """Ad_g X: the twist in the coordinates g leads to."""
    w = mul(g[0], x[0])
    return w, add(mul(g[0], x[1]), cross(g[1], w))


@face(g=POSE_MATRIX, f=WRENCH, out=WRENCH)
def AdT_apply(g, f):
    """Ad_gᵀ F, on wrenches: (Rᵀ(t - p × f), Rᵀ f)."""
    return mul_t(g[0], sub(f[0], cross(g[1], f[1]))), mul_t(g[0], f[1])


@face(x=TWIST, out=BLOCK_LOWER)
def ad(x):
    """ad_X = [[x~, 0], [v~, x~]]. Source: mueller2013 eq. (6)."""
    a = skew(x[0])
    return a, skew(x[1]), a


@face(x=TWIST, y=TWIST, out=TWIST)
def bracket(x, y):
    """Lie bracket [X, Y] = ad_X Y, the screw product."""
    return motion_cross(x, y)


@face(x=TWIST, f=WRENCH, out=WRENCH)
def adT_apply(x, f):
    """ad_Xᵀ F, on wrenches."""
    t, force = force_cross(x, f)
    return neg(t), neg(force)


# ---------------------------------------------------------------- exponential (screw) coordinates


@face(x=TWIST, out=POSE_MATRIX)
def exp(x):
    """Screw motion (exp x, dexp_x v).

    Source: mueller2013 eq. (7), with the branch at zero angle that print leaves out.
    """
    return so3.exp(x[0]), so3.dexp_apply(x[0], x[1])


@face(g=POSE_MATRIX, out=TWIST)
def log(g):
    """Twist X = (x, dexpinv_x p) with exp(X) = g and |x| <= π."""
    x = so3.log(g[0])
    return x, so3.dexpinv_apply(x, g[1])


@kernel
def pole_distance(x):
    return so3.pole_distance(x[0])


@kernel
def pole_distance_along(x, y):
    return so3.pole_distance(x[0])


POLE = Guard(pole_distance, so3.POLE.found, so3.POLE.advice)
POLE_ALONG = Guard(pole_distance_along, so3.POLE.found, so3.POLE.advice)


@kernel
def _differential(x, s, g, dg, axial):
    """[[D, 0], [Q, D]] of a function of ad: Q is the derivative of D(x) along v."""
    diagonal = ad_polynomial.matrix(x[0], g)
    near = ad_polynomial.matrix_derivative(x[0], x[1], g, dg)
    far = ad_polynomial.matrix_derivative_split(x[0], x[1], s, g, axial)
    return diagonal, mat_select(s < QUOTIENT_LIMIT, near, far), diagonal


@kernel
def _differential_derivative(x, y, g, dg, ddg):
    """The same, differentiated along the twist y."""
    (a, v), (b, w) = x, y
    diagonal = ad_polynomial.matrix_derivative(a, b, g, dg)
    lower = ad_polynomial.matrix_second_derivative(a, v, b, g, dg, ddg)
    return diagonal, mat_add(lower, ad_polynomial.matrix_derivative(a, w, g, dg)), diagonal


@face(x=TWIST, out=BLOCK_LOWER)
def dexp(x):
    """Right-trivialized differential: d/dt exp(X) = hat(dexp_X X') exp(X); body twist is dexp_{-X} X'.

    (e^z - 1)/z at z = ad_X. Source: mueller2013 eq. (9), mueller2022 eqs. (46), (47).
    """
    half = half_angle(x[0])
    g, dg, _ = dexp_coefficients(half)
    return _differential(x, half[0], g, dg, dexp_axial(half))


@face(x=TWIST, y=TWIST, out=TWIST)
def dexp_apply(x, y):
    """dexp_X Y, without forming the matrix."""
    g, dg, _ = dexp_coefficients(half_angle(x[0]))
    return ad_polynomial.apply_se3(x, y, g, dg)


@face(x=TWIST, out=BLOCK_LOWER, guard=POLE)
def dexpinv(x):
    """Inverse of `dexp`: z/(e^z - 1) at z = ad_X; pole at θ = |x| = 2π. For X = (x, v), in blocks:

        dexpinv_X = [[D, 0], [Q, D]]
        D = I - x~/2 + g x~²                       g = (1 - u)/θ²,  u = (θ/2) cot(θ/2)
        Q = -v~/2 + g (x~ v~ + v~ x~) + 2 (x·v) g' x~²     g' = ((θ/2)²/sin²(θ/2) + u - 2)/(2 θ⁴)

    Q is the derivative of D along v, g' that of g by θ². Near θ = 0 both are series: g = 1/12 + θ²/720 + ... Where they
    are computed without cancellation: `coefficients.dexpinv_coefficients`, `ad_polynomial.matrix_derivative`.
    Source: celledoni2022 section 2.3, mueller2013 eq. (10).
    """
    half = half_angle(x[0])
    g, dg, _ = dexpinv_coefficients(half)
    return _differential(x, half[0], g, dg, dexpinv_axial(half))


@face(x=TWIST, y=TWIST, out=TWIST, guard=POLE_ALONG)
def dexpinv_apply(x, y):
    """dexpinv_X Y, without forming the matrix."""
    g, dg, _ = dexpinv_coefficients(half_angle(x[0]))
    return ad_polynomial.apply_se3(x, y, g, dg)


@face(x=TWIST, y=TWIST, out=BLOCK_LOWER)
def ddexp(x, y):
    """Directional derivative of dexp: the matrix d/dt dexp(X + t Y) at t = 0."""
    g, dg, ddg = dexp_coefficients(half_angle(x[0]))
    return _differential_derivative(x, y, g, dg, ddg)


@face(x=TWIST, y=TWIST, out=BLOCK_LOWER, guard=POLE_ALONG)
def ddexpinv(x, y):
    """Directional derivative of dexpinv: the matrix d/dt dexpinv(X + t Y) at t = 0."""
    g, dg, ddg = dexpinv_coefficients(half_angle(x[0]))
    return _differential_derivative(x, y, g, dg, ddg)


@face(x=TWIST, y=TWIST, out=TWIST)
def bch(x, y):
    """log(exp(X) exp(Y)) in closed form, rotation angle at most π. Source: mueller2022 eqs. (68), (72)-(76)."""
    a = so3.bch(x[0], y[0])
    position = add(so3.dexp_apply(x[0], x[1]), so3.act(so3.exp(x[0]), so3.dexp_apply(y[0], y[1])))
    return a, so3.dexpinv_apply(a, position)


# ---------------------------------------------------------------- Cayley coordinates (extended Rodrigues vector)


@kernel
def half_turn_distance(g):
    return so3.half_turn_distance(g[0])


HALF_TURN = Guard(half_turn_distance, so3.HALF_TURN.found, so3.HALF_TURN_ADVICE)


@kernel
def half_minus(c, a):
    """(I - c~) a / 2 = (I + cay c)⁻¹ a."""
    return scale(0.5, sub(a, cross(c, a)))


@kernel
def plus_cay(c, a):
    """(I + cay c) a = σ (a + c × a + c (c·a)), which does not cancel for large c."""
    return scale(so3.cayley_sigma(c), add_scaled(add(a, cross(c, a)), dot(c, a), c))


@kernel
def half_minus_matrix(c):
    """(I - c~)/2 = (I + cay c)⁻¹."""
    zero = 0.0 * c[0]
    return ad_polynomial.matrix(c, (zero + 0.5, zero - 0.5, zero))


@kernel
def plus_cay_matrix(c):
    """I + cay c = σ (I + c~ + c cᵀ)."""
    s = so3.cayley_sigma(c)
    return ad_polynomial.compose_matrix(s, scale(s, c), ad_polynomial.scaled_square(s, c))


@face(x=TWIST, out=POSE_MATRIX)
def cay(x):
    """Cayley map (I - X)⁻¹(I + X) of 4x4 matrices, (cay c, (I + cay c) d) for X = (c, d).

    Source: mueller2022 eq. (48).
    """
    return so3.cay(x[0]), plus_cay(x[0], x[1])


@face(g=POSE_MATRIX, out=TWIST, guard=HALF_TURN)
def cayinv(g):
    """Extended Rodrigues vector (c, d) with cay(c, d) = g; infinite at half a turn."""
    c = so3.cayinv(g[0])
    return c, half_minus(c, g[1])


@face(x=TWIST, out=BLOCK_LOWER)
def dcay(x):
    """Right-trivialized differential of `cay`: [[dcay_c, 0], [d~ dcay_c, I + cay c]]; 2 I at zero."""
    c, d = x
    a = so3.dcay(c)
    return a, skew_mul(d, a), plus_cay_matrix(c)


@face(x=TWIST, out=BLOCK_LOWER)
def dcayinv(x):
    """Inverse of `dcay`: [[dcayinv_c, 0], [(c~ - I) d~/2, (I - c~)/2]]. Source: mueller2022 eq. (49), corrected."""
    c, d = x
    k = half_minus_matrix(c)
    return so3.dcayinv(c), mat_neg(mat_mul(k, skew(d))), k


@face(x=TWIST, out=POSE_MATRIX)
def cay2(x):
    """Second-order Cayley map cay(X)²: rotation vector coordinates tan(θ/4) n, a quarter of Wiener-Milenkovic's."""
    c, d = x
    return so3.cay2(c), plus_cay(c, plus_cay(c, d))


@face(g=POSE_MATRIX, out=TWIST)
def cay2inv(g):
    """The twist coordinates (c, d), |c| <= 1, with cay2(c, d) = g."""
    c = so3.cay2inv(g[0])
    return c, half_minus(c, half_minus(c, g[1]))


@face(x=TWIST, out=BLOCK_LOWER)
def dcay2(x):
    """Right-trivialized differential of `cay2`: (I + Ad_A) dcay_X with A = cay(X)."""
    c, d = x
    r, a, e = so3.cay(c), so3.dcay(c), plus_cay_matrix(c)
    position = plus_cay(c, d)
    lower = mat_add(skew_mul(position, mat_mul(r, a)), mat_mul(e, skew_mul(d, a)))
    return so3.dcay2(c), lower, mat_mul(e, e)


@face(x=TWIST, out=BLOCK_LOWER)
def dcay2inv(x):
    """Inverse of `dcay2`: dcayinv_X (I + Ad_A)⁻¹."""
    c, d = x
    k = half_minus_matrix(c)
    kk = mat_mul(k, k)
    # (I + Ad_A)⁻¹ = [[K, 0], [-K p~ R K, K]] with K = (I + R)⁻¹ = (I - c~)/2 and p = K⁻¹ d
    prk = skew_mul(plus_cay(c, d), mat_mul(so3.cay(c), k))
    lower = mat_add(mat_mul(k, skew_mul(d, k)), mat_mul(kk, prk))
    return so3.dcay2inv(c), mat_neg(lower), kk


# ---------------------------------------------------------------- canonical coordinates of the second kind


@kernel
def second_kind_singular(x):
    return so3.second_kind_singular(x[0])


SECOND_KIND_POLE = Guard(second_kind_singular, so3.SECOND_KIND_POLE.found, so3.SECOND_KIND_POLE.advice)


@face(x=TWIST, out=POSE_MATRIX)
def ccsk(x):
    """Canonical coordinates of the second kind: exp(x₁ E₁) ... exp(x₆ E₆) = (ccsk(x), ccsk(x) v)."""
    r = so3.ccsk(x[0])
    return r, mul(r, x[1])


@face(g=POSE_MATRIX, out=TWIST)
def ccskinv(g):
    """Coordinates with ccsk(X) = g, second angle at most π/2."""
    return so3.ccskinv(g[0]), mul_t(g[0], g[1])


@face(x=TWIST, out=BLOCK_LOWER)
def dccsk(x):
    """Right-trivialized differential of `ccsk`: diag(dccsk_x, ccsk x).

    The rotations act at the origin, so their columns have no linear part; a translation along e_k turns with R.
    """
    d = so3.dccsk(x[0])
    return d, mat_scale(0.0, d), so3.ccsk(x[0])


@face(x=TWIST, out=BLOCK_LOWER, guard=SECOND_KIND_POLE)
def dccskinv(x):
    """Inverse of `dccsk`; singular at |x₂| = π/2."""
    d = so3.dccskinv(x[0])
    return d, mat_scale(0.0, d), transpose(so3.ccsk(x[0]))
