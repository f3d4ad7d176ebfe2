"""Functions of ad on so(3), and on se(3) by differentiation: g0 + g1 ad + g2 ad^2 with coefficients of s = |x|^2.

On so(3) ad_x is the cross product x~, and every analytic phi(ad_x) has this form. se(3) is so(3) over the dual
numbers: ad_(x,v) = [[x~, 0], [v~, x~]], so the lower left block of phi(ad_(x,v)) is the derivative of phi(x~) in the
direction v. That is 004, section 2.3, whose g~1, g~2 are twice the derivatives with respect to s used here.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, scale
from chasles.kernel.policy import kernel


@kernel
def jordan(a, b):
    """a~ b~ + b~ a~, a symmetric matrix; jordan(a, a) = 2 a~^2."""
    xx, yy, zz = a[0] * b[0], a[1] * b[1], a[2] * b[2]
    return (
        -2.0 * (yy + zz),
        a[0] * b[1] + a[1] * b[0],
        a[0] * b[2] + a[2] * b[0],
        -2.0 * (xx + zz),
        a[1] * b[2] + a[2] * b[1],
        -2.0 * (xx + yy),
    )


@kernel
def sum6(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5])


@kernel
def scale6(s, a):
    return (s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5])


@kernel
def compose_matrix(d, u, s):
    """d I + u~ + S with S symmetric."""
    return (
        *(d + s[0], s[1] - u[2], s[2] + u[1]),
        *(s[1] + u[2], d + s[3], s[4] - u[0]),
        *(s[2] - u[1], s[4] + u[0], d + s[5]),
    )


@kernel
def matrix(x, g):
    """g0 I + g1 x~ + g2 x~^2."""
    return compose_matrix(g[0], scale(g[1], x), scale6(0.5 * g[2], jordan(x, x)))


@kernel
def matrix_derivative(x, v, g, dg):
    """Derivative of `matrix` along v; dg are the derivatives of g with respect to s."""
    a = 2.0 * dot(x, v)
    u = add_scaled(scale(g[1], v), a * dg[1], x)
    s = sum6(scale6(g[2], jordan(x, v)), scale6(0.5 * a * dg[2], jordan(x, x)))
    return compose_matrix(a * dg[0], u, s)


@kernel
def matrix_second_derivative(x, v, y, g, dg, ddg):
    """Second derivative of `matrix` along v and y."""
    a, b, c = 2.0 * dot(x, v), 2.0 * dot(x, y), 2.0 * dot(v, y)
    ab = a * b
    u = add(add(scale(b * dg[1], v), scale(a * dg[1], y)), scale(c * dg[1] + ab * ddg[1], x))
    s = sum6(
        sum6(scale6(b * dg[2], jordan(x, v)), scale6(a * dg[2], jordan(x, y))),
        sum6(scale6(g[2], jordan(v, y)), scale6(0.5 * (c * dg[2] + ab * ddg[2]), jordan(x, x))),
    )
    return compose_matrix(c * dg[0] + ab * ddg[0], u, s)


@kernel
def apply(x, y, g):
    """(g0 + g1 x~ + g2 x~^2) y."""
    xy = cross(x, y)
    return add(add_scaled(scale(g[0], y), g[1], xy), scale(g[2], cross(x, xy)))


@kernel
def apply_se3(twist, y, g, dg):
    """phi(ad_(x,v)) (b, c): 004, section 2.3, for a function with g0 constant."""
    (x, v), (b, c) = twist, y
    a = 2.0 * dot(x, v)
    xb = cross(x, b)
    first = add_scaled(add_scaled(scale(g[0], b), g[1], xb), g[2], cross(x, xb))
    inner = add(cross(v, b), cross(x, c))
    linear = add_scaled(scale(g[0], c), g[1], inner)
    linear = add_scaled(linear, a * dg[1], xb)
    linear = add_scaled(linear, a * dg[2], cross(x, xb))
    return first, add_scaled(linear, g[2], add(cross(v, xb), cross(x, inner)))
