"""Absolute coordinates in kernels: from the numbers of a chart to the pose (quaternion, position) and back.

The pose is the hub: a transition map is `numbers_of(chart, compose(pose_of(chart, numbers), motion))`. For rotation
vectors that is the formula of Baker, Campbell and Hausdorff of mueller2022 (74)-(76), with the quaternion flipped at w
< 0. The chart is a number that all lanes share, so there may be branches on it.
"""

from __future__ import annotations

import math

from chasles.kernel.algebra import add
from chasles.kernel.functions import atan2, sincos
from chasles.kernel.lanes import select, sqrt
from chasles.kernel.policy import kernel
from chasles.lie import pose, quaternion
from chasles.lie.rotation import SEQUENCES
from chasles.lie.transition.coordinates import EULER, ROTATION_VECTOR, ROTATION_VECTOR_2PI, SCREW

PI = math.pi
AXES = tuple("XYZ".index(letter) for sequence in SEQUENCES for letter in sequence)
_PACKED = sum(axis << (2 * k) for k, axis in enumerate(AXES[: 3 * 10]))  # two bits an axis, ten sequences a number
_PACKED_REST = sum(axis << (2 * k) for k, axis in enumerate(AXES[3 * 10 :]))


@kernel
def axis(chart, place):
    """Axis (0, 1, 2) at a place of a chart's sequence of Euler angles, in the order of the moving axes."""
    k = (chart - EULER) % 12
    if k < 10:
        return (_PACKED >> (2 * (3 * k + place))) & 3
    return (_PACKED_REST >> (2 * (3 * (k - 10) + place))) & 3


@kernel
def turn_about(i, angle):
    """Quaternion of a turn about a coordinate axis."""
    s, c = sincos(0.5 * angle)
    none = 0.0 * s
    return (c, s if i == 0 else none, s if i == 1 else none, s if i == 2 else none)


@kernel
def component(v, i):
    """Component i of a vector."""
    return v[0] if i == 0 else (v[1] if i == 1 else v[2])


@kernel
def euler_quaternion(chart, angles):
    """Unit quaternion of three angles in the sequence of the chart."""
    a, b, c = angles
    if chart >= EULER + 12:  # about the fixed axes: the same turns about the moving ones, in the other order
        a, c = c, a
    first, second, third = axis(chart, 0), axis(chart, 1), axis(chart, 2)
    if chart >= EULER + 12:
        first, third = third, first
    q = quaternion.product(turn_about(first, a), turn_about(second, b))
    return quaternion.product(q, turn_about(third, c))


@kernel
def wrapped(angle):
    """An angle of at most one and a half turns brought to [-π, π]."""
    angle = select(angle > PI, angle - 2.0 * PI, angle)
    return select(angle < -PI, angle + 2.0 * PI, angle)


@kernel
def euler_angles(chart, q):
    """Three angles in the sequence of the chart; at gimbal lock the last one about the moving axes is zero.

    Method: bernardes2022, as in `rotation.quaternion_to_euler`.
    """
    i, j, k = axis(chart, 0), axis(chart, 1), axis(chart, 2)
    if chart >= EULER + 12:
        i, k = k, i
    third = 3 - i - j
    sign = 0.5 * float((i - j) * (j - third) * (third - i))
    v = (q[1], q[2], q[3])
    a, b, c, d = q[0], component(v, i), component(v, j), sign * component(v, third)
    if i != k:  # times a quarter turn about the middle axis: i j k becomes i j i
        a, b, c, d = a - c, b - d, c + a, d + b
    plus, minus = atan2(b, a), atan2(d, c)
    near, far = sqrt(a * a + b * b), sqrt(c * c + d * d)
    plus = select(near < 1e-15, minus, plus)
    minus = select(far < 1e-15, plus, minus)
    first, middle, last = plus + minus, 2.0 * atan2(far, near), plus - minus
    if i != k:
        middle, last = middle - 0.5 * PI, -sign * last
    first, last = wrapped(first), wrapped(last)
    if chart >= EULER + 12:
        first, last = last, first
    return first, middle, last


@kernel
def pose_of(chart, x):
    """Pose of two triples of absolute coordinates. Source: mueller2022 eq. (9), the map α."""
    if chart == ROTATION_VECTOR or chart == ROTATION_VECTOR_2PI:
        return quaternion.exp(x[0]), x[1]
    if chart == SCREW:
        return pose.exp(x)
    return euler_quaternion(chart, x[0]), x[1]


@kernel
def numbers_of(chart, g):
    """Absolute coordinates of a pose, two triples."""
    q, position = g
    if chart == ROTATION_VECTOR:
        return quaternion.log(quaternion.flip(q)), position
    if chart == ROTATION_VECTOR_2PI:
        return quaternion.log(q), position
    if chart == SCREW:
        return pose.log(g)
    return euler_angles(chart, q), position


@kernel
def body_to_mixed(q, v):
    """(ω_b, r') of a body twist."""
    return v[0], quaternion.rotate(q, v[1])


@kernel
def mixed_to_body(q, v):
    """Body twist of (ω_b, r')."""
    return v[0], quaternion.rotate(quaternion.conjugate(q), v[1])


@kernel
def compose_product(g, h):
    """Product of SO(3) x R3: rotations and positions by themselves (mueller2022 (66) and (70), corrected)."""
    return quaternion.product(g[0], h[0]), add(g[1], h[1])
