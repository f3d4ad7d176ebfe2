"""Tuple algebra: 3-vectors, 3x3 matrices, symmetric matrices, spatial vectors and inertias as tuples of scalars.

A vector is (x, y, z). A matrix is nine scalars by rows, a symmetric one six: (xx, xy, xz, yy, yz, zz). A spatial
vector is a pair of vectors, (angular, linear) or (torque, force). A spatial inertia is (mass, first moment m c,
symmetric rotational inertia about the frame's origin). Scalars are float64 or lanes alike.
"""

from __future__ import annotations

from chasles.kernel.lanes import exact_add, exact_sub, fma, select
from chasles.kernel.policy import kernel

# ---------------------------------------------------------------- vectors


@kernel
def add(a, b):
    return (a[0] + b[0], a[1] + b[1], a[2] + b[2])


@kernel
def sub(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2])


@kernel
def neg(a):
    return (-a[0], -a[1], -a[2])


@kernel
def scale(s, a):
    return (s * a[0], s * a[1], s * a[2])


@kernel
def add_scaled(a, s, b):
    """a + s b."""
    return (a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2])


@kernel
def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@kernel
def cross(a, b):
    return (a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0])


# ---------------------------------------------------------------- matrices


@kernel
def mat_add(a, b):
    return (
        *(a[0] + b[0], a[1] + b[1], a[2] + b[2]),
        *(a[3] + b[3], a[4] + b[4], a[5] + b[5]),
        *(a[6] + b[6], a[7] + b[7], a[8] + b[8]),
    )


@kernel
def mat_scale(s, a):
    return (s * a[0], s * a[1], s * a[2], s * a[3], s * a[4], s * a[5], s * a[6], s * a[7], s * a[8])


@kernel
def mat_neg(a):
    return (-a[0], -a[1], -a[2], -a[3], -a[4], -a[5], -a[6], -a[7], -a[8])


@kernel
def mat_select(mask, a, b):
    return (
        *(select(mask, a[0], b[0]), select(mask, a[1], b[1]), select(mask, a[2], b[2])),
        *(select(mask, a[3], b[3]), select(mask, a[4], b[4]), select(mask, a[5], b[5])),
        *(select(mask, a[6], b[6]), select(mask, a[7], b[7]), select(mask, a[8], b[8])),
    )


@kernel
def transpose(a):
    return (a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8])


@kernel
def mul(m, a):
    """Matrix times vector."""
    return (
        m[0] * a[0] + m[1] * a[1] + m[2] * a[2],
        m[3] * a[0] + m[4] * a[1] + m[5] * a[2],
        m[6] * a[0] + m[7] * a[1] + m[8] * a[2],
    )


@kernel
def mul_t(m, a):
    """Transposed matrix times vector."""
    return (
        m[0] * a[0] + m[3] * a[1] + m[6] * a[2],
        m[1] * a[0] + m[4] * a[1] + m[7] * a[2],
        m[2] * a[0] + m[5] * a[1] + m[8] * a[2],
    )


@kernel
def mat_mul(a, b):
    return (
        a[0] * b[0] + a[1] * b[3] + a[2] * b[6],
        a[0] * b[1] + a[1] * b[4] + a[2] * b[7],
        a[0] * b[2] + a[1] * b[5] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[3] + a[5] * b[6],
        a[3] * b[1] + a[4] * b[4] + a[5] * b[7],
        a[3] * b[2] + a[4] * b[5] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[3] + a[8] * b[6],
        a[6] * b[1] + a[7] * b[4] + a[8] * b[7],
        a[6] * b[2] + a[7] * b[5] + a[8] * b[8],
    )


@kernel
def mat_mul_t(a, b):
    """a bᵀ."""
    return (
        a[0] * b[0] + a[1] * b[1] + a[2] * b[2],
        a[0] * b[3] + a[1] * b[4] + a[2] * b[5],
        a[0] * b[6] + a[1] * b[7] + a[2] * b[8],
        a[3] * b[0] + a[4] * b[1] + a[5] * b[2],
        a[3] * b[3] + a[4] * b[4] + a[5] * b[5],
        a[3] * b[6] + a[4] * b[7] + a[5] * b[8],
        a[6] * b[0] + a[7] * b[1] + a[8] * b[2],
        a[6] * b[3] + a[7] * b[4] + a[8] * b[5],
        a[6] * b[6] + a[7] * b[7] + a[8] * b[8],
    )


@kernel
def skew(a):
    """The matrix of the cross product, skew(a) b = a x b."""
    zero = 0.0 * a[0]
    return (zero, -a[2], a[1], a[2], zero, -a[0], -a[1], a[0], zero)


@kernel
def skew_mul(a, m):
    """skew(a) m, column by column."""
    x, y, z = a
    return (
        *(y * m[6] - z * m[3], y * m[7] - z * m[4], y * m[8] - z * m[5]),
        *(z * m[0] - x * m[6], z * m[1] - x * m[7], z * m[2] - x * m[8]),
        *(x * m[3] - y * m[0], x * m[4] - y * m[1], x * m[5] - y * m[2]),
    )


@kernel
def outer(a, b):
    return (
        *(a[0] * b[0], a[0] * b[1], a[0] * b[2]),
        *(a[1] * b[0], a[1] * b[1], a[1] * b[2]),
        *(a[2] * b[0], a[2] * b[1], a[2] * b[2]),
    )


# ---------------------------------------------------------------- symmetric matrices, spatial vectors, inertias


@kernel
def sym_mul(s, a):
    """Symmetric matrix (xx, xy, xz, yy, yz, zz) times vector."""
    return (
        s[0] * a[0] + s[1] * a[1] + s[2] * a[2],
        s[1] * a[0] + s[3] * a[1] + s[4] * a[2],
        s[2] * a[0] + s[4] * a[1] + s[5] * a[2],
    )


@kernel
def motion_cross(v, w):
    """ad_v w = (a x b, a x y + x x b) for v = (a, x), w = (b, y)."""
    return (cross(v[0], w[0]), add(cross(v[0], w[1]), cross(v[1], w[0])))


@kernel
def force_cross(v, f):
    """-ad_v^T f: how a wrench f = (t, f) changes when carried along a twist v."""
    return (add(cross(v[0], f[0]), cross(v[1], f[1])), cross(v[0], f[1]))


@kernel
def inertia_mul(inertia, v):
    """Momentum (angular, linear) of a twist v: (I w + h x v, m v - h x w) with h = m c."""
    mass, moment, rotational = inertia
    angular, linear = v
    return (
        add(sym_mul(rotational, angular), cross(moment, linear)),
        sub(scale(mass, linear), cross(moment, angular)),
    )


# ---------------------------------------------------------------- error-free transformations


@kernel
def two_product(a, b):
    """a b = product + error exactly."""
    product = a * b
    return product, fma(a, b, -product)


@kernel
def two_sum(a, b):
    """a + b = total + error exactly (Knuth); protected from fusing by the compiler."""
    total = exact_add(a, b)
    part = exact_sub(total, a)
    return total, exact_add(exact_sub(a, exact_sub(total, part)), exact_sub(b, part))
