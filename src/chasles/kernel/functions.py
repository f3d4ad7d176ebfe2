"""Elementary functions without a branch on values, for float64 and lanes: sine and cosine together, and atan2.

Both are good to about 1 ulp (tests/kernel/test_functions.py measures it against mpmath).
"""

from __future__ import annotations

import math

import numpy as np

from chasles.kernel.lanes import absolute, chain2, maximum, minimum, primal, select
from chasles.kernel.late import late
from chasles.kernel.policy import COMPILED, kernel


def _numpy_sincos(x):
    return np.sin(x), np.cos(x)


def _numpy_polynomial(x, coefficients):
    return np.polyval(coefficients, x)


sincos, polynomial = (
    late("chasles.kernel.code.functions", "sincos", "polynomial") if COMPILED else (_numpy_sincos, _numpy_polynomial)
)


# atan t = t + t u P(u), u = t^2 <= tan(pi/8)^2: Chebyshev interpolation of degree 11, computed with 60 digits by
# `python -m tools.polynomials`.
ARCTANGENT = (
    0.016285756855221028,
    -0.034570561981427744,
    0.04551593220626549,
    -0.05230454270650244,
    0.05878928997834775,
    -0.06666424885738255,
    0.07692296375032143,
    -0.09090908753500877,
    0.11111111105155447,
    -0.14285714285659828,
    0.19999999999999804,
    -0.3333333333333333,
)
TAN_EIGHTH_PI = 0.41421356237309503
PI_LOW = 1.2246467991473532e-16


@kernel
def angle_slopes(y, x):
    """Derivatives of the angle of the point (x, y) with respect to y and x; 0 at the origin. The larger coordinate is
    divided out, so that small ones do not underflow."""
    size = maximum(absolute(y), absolute(x))
    r = 1.0 / select(size == 0.0, 1.0, size)
    a, b = y * r, x * r
    r = r / select(size == 0.0, 1.0, a * a + b * b)
    return b * r, -(a * r)


@kernel
def atan2_upper(y, x):
    """Angle in [0, pi] of the point (x, y) of the upper half plane, y >= 0; 0 at the origin."""
    slope_y, slope_x = angle_slopes(primal(y), primal(x))  # free of cost where there are no derivatives
    return chain2(_upper_angle(primal(y), primal(x)), slope_y, y, slope_x, x)


@kernel
def _upper_angle(y, x):
    """Folded into the first octant, then by pi/8: atan(n/d) = pi/4 + atan((n-d)/(n+d))."""
    size = absolute(x)
    numerator, denominator = minimum(y, size), maximum(y, size)
    denominator = select(denominator == 0.0, 1.0, denominator)
    steep = numerator > TAN_EIGHTH_PI * denominator
    n = select(steep, numerator - denominator, numerator)
    d = select(steep, numerator + denominator, denominator)
    t = n / d
    u = t * t
    tail = t * u * polynomial(u, ARCTANGENT)
    # each fold adds its constant in two parts, so the result keeps its last bit
    base = select(steep, 0.25 * math.pi, 0.0)
    low = tail + select(steep, 0.25 * PI_LOW, 0.0)
    over = y > size
    base, t, low = (
        select(over, 0.5 * math.pi - base, base),
        select(over, -t, t),
        select(over, 0.5 * PI_LOW - low, low),
    )
    left = x < 0.0
    base, t, low = select(left, math.pi - base, base), select(left, -t, t), select(left, PI_LOW - low, low)
    return base + (t + low)


@kernel
def atan2(y, x):
    """Angle in [-pi, pi] of the point (x, y)."""
    height = primal(y)
    angle = _upper_angle(absolute(height), primal(x))
    slope_y, slope_x = angle_slopes(height, primal(x))
    return chain2(select(height < 0.0, -angle, angle), slope_y, y, slope_x, x)


@kernel
def larger(x, y):
    """max(x, y), in each lane."""
    return select(y > x, y, x)


@kernel
def smaller(x, y):
    """min(x, y), in each lane."""
    return select(y < x, y, x)
