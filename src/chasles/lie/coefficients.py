"""All small-angle code of the package: coefficient functions of s = theta^2, good to rounding for every angle.

The maps of SO(3) and SE(3) are polynomials in ad whose coefficients are combinations of the Stumpff functions

    c_k(s) = sum_j (-s)^j / (2j + k)!        c_0 = cos theta, c_1 = sin theta / theta, c_2 = (1 - cos theta)/s, ...

Below theta = pi the two highest that are needed are summed as series and the others follow downwards, because closed
forms cancel near zero; beyond pi closed forms are used, because the series cancel there:

    near:  c_k = 1/k! - s c_{k+2},    c_k' = (k c_{k+2} - c_{k+1})/2        (derivatives with respect to s)
    far:   c_3 = (1 - c_1)/s,         c_k' = (c_{k-1} - k c_k)/(2s),  c_k'' = (c_{k-1}' - (k + 2) c_k')/(2s)
"""

from __future__ import annotations

from math import factorial, pi

from chasles.kernel.algebra import two_product, two_sum
from chasles.kernel.functions import polynomial, sincos
from chasles.kernel.lanes import fma, maximum, select, sqrt
from chasles.kernel.policy import kernel

SERIES_LIMIT = pi**2
QUOTIENT_LIMIT = 6.25  # where dexp and dexpinv change form: on either side of theta = 2.5 the better one
TERMS = 13  # the first neglected term at theta = pi is below 1e-18 of the sum
SERIES_7 = tuple((-1.0) ** j / factorial(2 * j + 7) for j in reversed(range(TERMS)))
SERIES_8 = tuple((-1.0) ** j / factorial(2 * j + 8) for j in reversed(range(TERMS)))
FAR = 1e12  # rad
TINY = 1e-300  # keeps 0/0 away: sin(t)/t is exactly 1 there


@kernel
def half_angle(x):
    """(s, cos(theta/2), sin(theta/2)/theta) of a rotation vector x, theta = |x|.

    theta carries a correction for the rounding of the sum of squares and of the root: at theta = 5 it would cost six
    units in the last place of the rotation. It is a turn by so little that two terms of its sine and cosine do, and the
    result is on the group to rounding. Beyond FAR that would end; there the angle is known to 2e-16 of its size only.
    """
    p0, e0 = two_product(x[0], x[0])
    p1, e1 = two_product(x[1], x[1])
    p2, e2 = two_product(x[2], x[2])
    p, e3 = two_sum(p0, p1)
    s, e4 = two_sum(p, p2)
    square = maximum(s, TINY)
    theta = sqrt(square)
    correction = (fma(-theta, theta, square) + (e0 + e1 + e2 + e3 + e4)) / (theta + theta)
    sine, cosine = sincos(0.5 * theta)
    rest = select(theta < FAR, 0.5 * correction, 0.0)
    bend = -0.5 * rest * rest
    quotient = fma(bend, sine, fma(rest, cosine, sine)) / theta
    return s, fma(bend, cosine, fma(-rest, sine, cosine)), fma(-quotient, correction / theta, quotient)


@kernel
def half_angle_planar(w):
    """The same for a signed angle w."""
    square = maximum(w * w, TINY)
    theta = sqrt(square)
    sine, cosine = sincos(0.5 * theta)
    return w * w, cosine, sine / theta


@kernel
def versine(s, c, h):
    """c_2 = 2 sin^2(theta/2)/s, from the smaller of sine and cosine."""
    return select(c * c < 0.5, 2.0 * fma(-c, c, 1.0) / maximum(s, TINY), 2.0 * h * h)


@kernel
def series(t):
    """(c_3, ..., c_8) for t <= pi^2."""
    c8, c7 = polynomial(t, SERIES_8), polynomial(t, SERIES_7)
    c6, c5 = 1 / 720 - t * c8, 1 / 120 - t * c7
    c4, c3 = 1 / 24 - t * c6, 1 / 6 - t * c5
    return c3, c4, c5, c6, c7, c8


@kernel
def stumpff(half):
    """((c_1, c_2, c_3), first derivatives, second derivatives) from the outcome of `half_angle`."""
    s, c, h = half
    near = s < SERIES_LIMIT
    n3, n4, n5, n6, n7, _ = series(select(near, s, 0.0))
    c1, c2 = 2.0 * c * h, versine(s, c, h)
    # near: k c_{k+2} - c_{k+1}
    nd1, nd2, nd3 = 0.5 * (n3 - c2), 0.5 * (2.0 * n4 - n3), 0.5 * (3.0 * n5 - n4)
    nd4, nd5 = 0.5 * (4.0 * n6 - n5), 0.5 * (5.0 * n7 - n6)
    ne1, ne2, ne3 = 0.5 * (nd3 - nd2), 0.5 * (2.0 * nd4 - nd3), 0.5 * (3.0 * nd5 - nd4)
    # far: divided by s
    r = 1.0 / select(near, 1.0, s)
    f3 = (1.0 - c1) * r
    q = 0.5 * r
    fd1, fd2, fd3 = (fma(2.0 * c, c, -1.0) - c1) * q, (c1 - 2.0 * c2) * q, (c2 - 3.0 * f3) * q
    fe1, fe2, fe3 = (-0.5 * c1 - 3.0 * fd1) * q, (fd1 - 4.0 * fd2) * q, (fd2 - 5.0 * fd3) * q
    return (
        (c1, c2, select(near, n3, f3)),
        (select(near, nd1, fd1), select(near, nd2, fd2), select(near, nd3, fd3)),
        (select(near, ne1, fe1), select(near, ne2, fe2), select(near, ne3, fe3)),
    )


# Each map is phi(ad_x) = k0 I + k1 x~ + k2 x x^T on so(3). The functions below return (k0, k1, k2), their derivatives
# with respect to s, and their second derivatives: the derivatives serve SE(3), the second ones derivatives there.


@kernel
def exp_coefficients(half):
    """exp: k = (c_0, c_1, c_2), the cosine from the smaller of sine and cosine of the half angle."""
    s, c, h = half
    (c1, c2, _), (d1, d2, _), (e1, e2, _) = stumpff(half)
    c0 = select(c * c < 0.5, fma(2.0 * c, c, -1.0), fma(-2.0 * s * h, h, 1.0))
    return (c0, c1, c2), (-0.5 * c1, d1, d2), (-0.5 * d1, e1, e2)


@kernel
def dexp_coefficients(half):
    """dexp = (e^z - 1)/z: k = (c_1, c_2, c_3); c_1 = 1 - s c_3 near zero, where it is exact to half a unit."""
    s = half[0]
    (c1, c2, c3), first, second = stumpff(half)
    return (select(s < QUOTIENT_LIMIT, fma(-s, c3, 1.0), c1), c2, c3), first, second


@kernel
def dexpinv_coefficients(half):
    """dexpinv = z/(e^z - 1): k = (u, -1/2, g), u = (theta/2) cot(theta/2), g = (1 - u)/s; pole at theta = 2 pi.

    u = cos(theta/2)/(2 h) with h = sin(theta/2)/theta. Near: g = n/(2 c_2) with n = c_3 - 2 c_4 and (2 c_2)' = -n, so
    g' = (n' + g n)/(2 c_2), g'' = (n'' + 2 g' n + g n')/(2 c_2), u' = -g - s g', u'' = -2 g' - s g'': nothing cancels.
    Far: g as it stands, u' = (u - k)/(2s), u'' = -(u' + k')/(2s) with k = 1/(4 h^2). Source: celledoni2022, section
    2.3.
    """
    s, c, h = half
    near = s < QUOTIENT_LIMIT
    c3, c4, c5, c6, c7, c8 = series(select(near, s, 0.0))
    r = 0.5 / select(near, versine(s, c, h), 1.0)
    n = c3 - 2.0 * c4
    d4, d5, d6 = 0.5 * (4.0 * c6 - c5), 0.5 * (5.0 * c7 - c6), 0.5 * (6.0 * c8 - c7)
    dn = 0.5 * (3.0 * c5 - c4) - 2.0 * d4
    ddn = 0.5 * (3.0 * d5 - d4) - (4.0 * d6 - d5)
    g = n * r
    dg = (dn + g * n) * r
    ddg = (ddn + 2.0 * dg * n + g * dn) * r

    q = 1.0 / select(near, 1.0, s)
    k = 0.25 / (h * h)
    u = 0.5 * c / h
    du = 0.5 * (u - k) * q
    dk = -k * (0.5 * c - h) * q / h
    ddu = -0.5 * (du + dk) * q
    f = (1.0 - u) * q
    df = -(du + f) * q
    ddf = -(ddu + 2.0 * df) * q
    zero = 0.0 * s
    return (
        (select(near, fma(-s, g, 1.0), u), zero - 0.5, select(near, g, f)),
        (select(near, -g - s * dg, du), zero, select(near, dg, df)),
        (select(near, -2.0 * dg - s * ddg, ddu), zero, select(near, ddg, ddf)),
    )


# Beyond theta = 2.5 the derivative of k0 I + k1 x~ + k2 x x^T along the axis itself, t x, is taken as one:
# t (m0 I + m1 x~ + m2 x x^T) with m0 = 2 s k0', m1 = k1 + 2 s k1', m2 = 2 (k2 + s k2'), because the two parts of m1
# and m2 cancel there.


@kernel
def dexp_axial(half):
    """m = (c_0 - c_1, c_1 - c_2, c_2 - c_3)."""
    (c1, c2, c3), _, _ = stumpff(half)
    return fma(2.0 * half[1], half[1], -1.0) - c1, c1 - c2, c2 - c3


@kernel
def dexpinv_axial(half):
    """m = (u - k, -1/2, (k - u)/s) with u and k as in `dexpinv_coefficients`."""
    s, c, h = half
    m0 = 0.5 * c / h - 0.25 / (h * h)
    return m0, 0.0 * s - 0.5, -m0 / maximum(s, 1.0)
