"""All small-angle code of the package: coefficient functions of s = theta^2, good to rounding for every angle.

The maps of SO(3) and SE(3) are polynomials in ad whose coefficients are combinations of the Stumpff functions

    c_k(s) = sum_j (-s)^j / (2j + k)!        c_0 = cos theta, c_1 = sin theta / theta, c_2 = (1 - cos theta)/s, ...
    c_k = 1/k! - s c_{k+2},                  c_k' = (k c_{k+2} - c_{k+1}) / 2     (derivative with respect to s)

Closed forms of c_3 and beyond cancel near zero. Below theta = pi the two highest are summed as a series, the others
follow by the recurrence downwards, which is stable there; beyond pi the recurrence is used upwards.
"""

from __future__ import annotations

from math import factorial, pi

from chasles.kernel.functions import polynomial, sincos
from chasles.kernel.lanes import maximum, select, sqrt
from chasles.kernel.policy import kernel

SERIES_LIMIT = pi**2
TERMS = 13  # the first neglected term at theta = pi is below 1e-18 of the sum
SERIES_7 = tuple((-1.0) ** j / factorial(2 * j + 7) for j in reversed(range(TERMS)))
SERIES_8 = tuple((-1.0) ** j / factorial(2 * j + 8) for j in reversed(range(TERMS)))
TINY = 1e-300  # keeps 0/0 away: sin(t)/t is exactly 1 there


@kernel
def half_angle(s):
    """(cos(theta/2), sin(theta/2)/theta) for s = theta^2: all that the exponential needs, without cancellation."""
    theta = sqrt(maximum(s, TINY))
    sine, cosine = sincos(0.5 * theta)
    return cosine, sine / theta


@kernel
def stumpff(s):
    """(c_1, c_2, ..., c_8) at s = theta^2."""
    c, h = half_angle(s)
    c1 = 2.0 * c * h
    c2 = 2.0 * h * h
    near = s < SERIES_LIMIT
    t = select(near, s, 0.0)
    n8, n7 = polynomial(t, SERIES_8), polynomial(t, SERIES_7)
    n6, n5 = 1 / 720 - t * n8, 1 / 120 - t * n7
    n4, n3 = 1 / 24 - t * n6, 1 / 6 - t * n5
    r = 1.0 / select(near, 1.0, s)
    f3, f4 = (1.0 - c1) * r, (0.5 - c2) * r
    f5, f6 = (1 / 6 - f3) * r, (1 / 24 - f4) * r
    f7, f8 = (1 / 120 - f5) * r, (1 / 720 - f6) * r
    return (
        c1,
        c2,
        select(near, n3, f3),
        select(near, n4, f4),
        select(near, n5, f5),
        select(near, n6, f6),
        select(near, n7, f7),
        select(near, n8, f8),
    )


# Each map is phi(ad_x) = g0 + g1 ad + g2 ad^2 on so(3). The functions below return (g0, g1, g2), their derivatives
# with respect to s, and their second derivatives: the derivatives serve SE(3), the second ones derivatives there.


@kernel
def exp_coefficients(s):
    """exp: g1 = c_1, g2 = c_2."""
    c1, c2, c3, c4, c5, c6, _, _ = stumpff(s)
    zero = 0.0 * s
    d1, d2 = 0.5 * (c3 - c2), 0.5 * (2.0 * c4 - c3)
    # c_1'' = (c_3' - c_2')/2, c_2'' = (2 c_4' - c_3')/2 with the same rule
    e3, e4 = 0.5 * (3.0 * c5 - c4), 0.5 * (4.0 * c6 - c5)
    return (zero + 1.0, c1, c2), (zero, d1, d2), (zero, 0.5 * (e3 - d2), 0.5 * (2.0 * e4 - e3))


@kernel
def dexp_coefficients(s):
    """dexp = (e^z - 1)/z: g1 = c_2, g2 = c_3."""
    _, c2, c3, c4, c5, c6, c7, _ = stumpff(s)
    zero = 0.0 * s
    d2, d3 = 0.5 * (2.0 * c4 - c3), 0.5 * (3.0 * c5 - c4)
    d4, d5 = 0.5 * (4.0 * c6 - c5), 0.5 * (5.0 * c7 - c6)
    return (zero + 1.0, c2, c3), (zero, d2, d3), (zero, 0.5 * (2.0 * d4 - d3), 0.5 * (3.0 * d5 - d4))


@kernel
def dexpinv_coefficients(s):
    """dexpinv = z/(e^z - 1): g1 = -1/2, g2 = (1 - (theta/2) cot(theta/2))/s = (c_3 - 2 c_4)/(2 c_2).

    The quotient has no cancellation and is right up to the pole at theta = 2 pi. With n = c_3 - 2 c_4 and
    (2 c_2)' = -n: g2' = (n' + g2 n)/(2 c_2) and g2'' = (n'' + 2 g2' n + g2 n')/(2 c_2). Source: 004, section 2.3.
    """
    _, c2, c3, c4, c5, c6, c7, c8 = stumpff(s)
    zero = 0.0 * s
    r = 0.5 / c2
    n = c3 - 2.0 * c4
    d3, d4 = 0.5 * (3.0 * c5 - c4), 0.5 * (4.0 * c6 - c5)
    dn = d3 - 2.0 * d4
    d5, d6 = 0.5 * (5.0 * c7 - c6), 0.5 * (6.0 * c8 - c7)
    ddn = 0.5 * (3.0 * d5 - d4) - (4.0 * d6 - d5)
    g = n * r
    dg = (dn + g * n) * r
    ddg = (ddn + 2.0 * dg * n + g * dn) * r
    return (zero + 1.0, zero - 0.5, g), (zero, zero, dg), (zero, zero, ddg)
