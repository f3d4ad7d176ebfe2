"""Functions of ad on so(3), and on se(3) by differentiation: k0 I + k1 x~ + k2 x xᵀ with coefficients of s = |x|².

On so(3) ad_x is the cross product x~, and every analytic phi(ad_x) has this form: k0 = phi₊, k1 = g1, k2 = g2 of
celledoni2022, section 2.3 (there with x~² = x xᵀ - s I, which cancels at large angles). se(3) is so(3) over the dual
numbers: ad_(x,v) = [[x~, 0], [v~, x~]], so the lower left block of phi(ad_(x,v)) is the derivative of phi(x~) along v.
The g~1 and g~2 of the paper are twice the derivatives with respect to s used here.
"""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, dot, scale
from chasles.kernel.lanes import maximum
from chasles.kernel.policy import kernel


@kernel
def symmetric_outer(a, b):
    """a bᵀ + b aᵀ as a symmetric six."""
    return (
        2.0 * a[0] * b[0],
        a[0] * b[1] + a[1] * b[0],
        a[0] * b[2] + a[2] * b[0],
        2.0 * a[1] * b[1],
        a[1] * b[2] + a[2] * b[1],
        2.0 * a[2] * b[2],
    )


@kernel
def scaled_square(s, c):
    """s c cᵀ as a symmetric six."""
    x, y, z = scale(s, c)
    return (x * c[0], x * c[1], x * c[2], y * c[1], y * c[2], z * c[2])


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
def matrix(x, k):
    """k0 I + k1 x~ + k2 x xᵀ."""
    return compose_matrix(k[0], scale(k[1], x), scaled_square(k[2], x))


@kernel
def matrix_derivative(x, v, k, dk):
    """Derivative of `matrix` along v; dk are the derivatives of k with respect to s."""
    a = 2.0 * dot(x, v)
    u = add_scaled(scale(k[1], v), a * dk[1], x)
    s = sum6(scale6(k[2], symmetric_outer(x, v)), scaled_square(a * dk[2], x))
    return compose_matrix(a * dk[0], u, s)


@kernel
def matrix_derivative_split(x, v, s, k, m):
    """The same for large |x|, with v split into a part along x, whose coefficients m do not cancel, and one across."""
    t = dot(x, v) / maximum(s, 1.0)
    across = add_scaled(v, -t, x)
    u = add_scaled(scale(k[1], across), t * m[1], x)
    symmetric = sum6(scale6(k[2], symmetric_outer(x, across)), scaled_square(t * m[2], x))
    return compose_matrix(t * m[0], u, symmetric)


@kernel
def matrix_second_derivative(x, v, y, k, dk, ddk):
    """Second derivative of `matrix` along v and y."""
    a, b, c = 2.0 * dot(x, v), 2.0 * dot(x, y), 2.0 * dot(v, y)
    ab = a * b
    u = add(add(scale(b * dk[1], v), scale(a * dk[1], y)), scale(c * dk[1] + ab * ddk[1], x))
    s = sum6(
        sum6(scale6(b * dk[2], symmetric_outer(x, v)), scale6(a * dk[2], symmetric_outer(x, y))),
        sum6(scale6(k[2], symmetric_outer(v, y)), scaled_square(c * dk[2] + ab * ddk[2], x)),
    )
    return compose_matrix(c * dk[0] + ab * ddk[0], u, s)


@kernel
def apply(x, y, k):
    """(k0 I + k1 x~ + k2 x xᵀ) y."""
    return add_scaled(add_scaled(scale(k[0], y), k[1], cross(x, y)), k[2] * dot(x, y), x)


@kernel
def apply_se3(twist, y, k, dk):
    """phi(ad_(x,v)) (b, c): celledoni2022, section 2.3."""
    (x, v), (b, c) = twist, y
    a, xb = 2.0 * dot(x, v), dot(x, b)
    across = cross(x, b)
    first = add_scaled(add_scaled(scale(k[0], b), k[1], across), k[2] * xb, x)
    linear = add_scaled(scale(k[0], c), a * dk[0], b)
    linear = add_scaled(add_scaled(linear, k[1], add(cross(v, b), cross(x, c))), a * dk[1], across)
    along = k[2] * (dot(v, b) + dot(x, c)) + a * dk[2] * xb
    return first, add_scaled(add_scaled(linear, along, x), k[2] * xb, v)
