"""Quaternion kernels shared by the rotation groups: product, rotation of a vector, to and from matrices."""

from __future__ import annotations

from chasles.kernel.algebra import add, add_scaled, cross, scale
from chasles.kernel.functions import atan2_upper
from chasles.kernel.lanes import fma, maximum, select, sqrt
from chasles.kernel.policy import kernel
from chasles.lie.coefficients import TINY, half_angle


@kernel
def product(a, b):
    return (
        a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3],
        a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2],
        a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1],
        a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0],
    )


@kernel
def keep_unit(q):
    """A quaternion whose length is off 1 by rounding, put right by one Newton step for 1/|q|.

    Over many products the rounding would add up, and R(q) would cease to be a rotation in the last digits.
    """
    # products are fused with sums in this order, whatever loop this is a part of: compilers choose differently
    squared = fma(q[3], q[3], fma(q[2], q[2], fma(q[1], q[1], q[0] * q[0])))
    r = fma(-0.5, squared, 1.5)
    return (q[0] * r, q[1] * r, q[2] * r, q[3] * r)


@kernel
def conjugate(q):
    return (q[0], -q[1], -q[2], -q[3])


@kernel
def rotate(q, p):
    """R(q) p = p + 2 w v x p + 2 v x (v x p)."""
    v = (q[1], q[2], q[3])
    t = scale(2.0, cross(v, p))
    return add(add_scaled(p, q[0], t), cross(v, t))


@kernel
def to_matrix(q):
    """R = I + 2 w v~ + 2 v~^2 (mueller2022 eq. (39))."""
    w, x, y, z = q
    return (
        *(1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)),
        *(2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)),
        *(2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)),
    )


@kernel
def normalize(q):
    r = 1.0 / sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3])
    return (q[0] * r, q[1] * r, q[2] * r, q[3] * r)


@kernel
def flip(q):
    """The one of q, -q with w >= 0: the shorter rotation."""
    back = q[0] < 0.0
    return (
        select(back, -q[0], q[0]),
        select(back, -q[1], q[1]),
        select(back, -q[2], q[2]),
        select(back, -q[3], q[3]),
    )


@kernel
def from_matrix(m):
    """Unit quaternion of a rotation matrix, w >= 0; the row of the largest component is used (shepperd1978)."""
    t0, t1 = 1.0 + (m[0] + m[4] + m[8]), 1.0 + (m[0] - m[4] - m[8])
    t2, t3 = 1.0 + (m[4] - m[0] - m[8]), 1.0 + (m[8] - m[0] - m[4])
    x, y, z = m[7] - m[5], m[2] - m[6], m[3] - m[1]
    xy, xz, yz = m[1] + m[3], m[2] + m[6], m[5] + m[7]
    use = t1 > t0
    best = select(use, t1, t0)
    a, b, c, d = select(use, x, t0), select(use, t1, x), select(use, xy, y), select(use, xz, z)
    use = t2 > best
    best = select(use, t2, best)
    a, b, c, d = select(use, y, a), select(use, xy, b), select(use, t2, c), select(use, yz, d)
    use = t3 > best
    a, b, c, d = select(use, z, a), select(use, xz, b), select(use, yz, c), select(use, t3, d)
    return flip(normalize((a, b, c, d)))


@kernel
def exp(x):
    """(cos(|x|/2), sin(|x|/2) x/|x|) (mueller2022 eq. (38))."""
    _, c, h = half_angle(x)
    return (c, h * x[0], h * x[1], h * x[2])


@kernel
def log(q):
    """x with exp(x) = q and |x| in [0, 2 pi]; at q = -1, where every axis serves, 2 pi about the first axis."""
    s = q[1] * q[1] + q[2] * q[2] + q[3] * q[3]
    size = sqrt(maximum(s, TINY))
    factor = 2.0 * atan2_upper(size, q[0]) / size
    lost = (s < 1e-290) & (q[0] < 0.0)
    return (select(lost, 6.283185307179586, factor * q[1]), factor * q[2], factor * q[3])
