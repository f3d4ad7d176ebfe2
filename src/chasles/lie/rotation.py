"""Conversions among descriptions of a rotation: matrix, quaternion, axis and angle, Rodrigues vector, Euler angles.

The quaternion (w, x, y, z) is the hub: each description converts to and from it, and `convert` goes between any two.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.algebra import dot, scale
from chasles.kernel.face import TOLERANCE, Guard, face
from chasles.kernel.functions import atan2, sincos
from chasles.kernel.lanes import absolute, select, sqrt
from chasles.kernel.policy import kernel
from chasles.lie import quaternion, s3, so3
from chasles.lie.arrays import real_array
from chasles.lie.kinds import ANY_QUATERNION, MATRIX, ROTATION, SCALAR, UNIT_QUATERNION, VECTOR

# ---------------------------------------------------------------- matrix, rotation vector, Rodrigues vectors


@face(q=UNIT_QUATERNION, out=ROTATION)
def quaternion_to_matrix(q):
    """Rotation matrix of a unit quaternion."""
    return quaternion.to_matrix(q)


@face(r=ROTATION, out=UNIT_QUATERNION)
def matrix_to_quaternion(r):
    """Unit quaternion of a rotation matrix, with w >= 0."""
    return quaternion.from_matrix(r)


rotation_vector_to_quaternion = s3.exp


@face(q=UNIT_QUATERNION, out=VECTOR)
def quaternion_to_rotation_vector(q):
    """Rotation vector [rad] of angle at most π."""
    return quaternion.log(quaternion.flip(q))


rodrigues_to_quaternion = s3.cay
quaternion_to_rodrigues = s3.cayinv
modified_rodrigues_to_quaternion = s3.cay2


@face(q=UNIT_QUATERNION, out=VECTOR)
def quaternion_to_modified_rodrigues(q):
    """tan(θ/4) n, of length at most 1: a quarter of the Wiener-Milenkovic vector."""
    return so3.cay2inv_quaternion(quaternion.flip(q))


# ---------------------------------------------------------------- axis and angle


@kernel
def _axis_length(axis, angle):
    """1e-8 is the tolerance of guards; a unit axis passes, anything else fails."""
    return select(absolute(dot(axis, axis) - 1.0) <= 1e-8, 1.0, 0.0) + 0.0 * angle


_UNIT_AXIS = Guard(_axis_length, "is not a unit vector", "divide it by its length, or use a rotation vector")


@face(axis=VECTOR, angle=SCALAR, out=UNIT_QUATERNION, guard=_UNIT_AXIS)
def axis_angle_to_quaternion(axis, angle):
    """Quaternion of a rotation by `angle` [rad] about a unit `axis`."""
    s, c = sincos(0.5 * angle)
    return (c, s * axis[0], s * axis[1], s * axis[2])


@face(q=UNIT_QUATERNION, out=(VECTOR, SCALAR))
def quaternion_to_axis_angle(q):
    """Unit axis, and angle [rad] in [0, π]. The identity has no axis: the first one is returned, with angle 0."""
    x = quaternion.log(quaternion.flip(q))
    angle = sqrt(dot(x, x))
    none = angle == 0.0
    axis = scale(1.0 / select(none, 1.0, angle), x)
    return (select(none, 1.0, axis[0]), axis[1], axis[2]), angle


# ---------------------------------------------------------------- Euler angles

SEQUENCES = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX", "XYX", "XZX", "YXY", "YZY", "ZXZ", "ZYZ")


def _axes(sequence: str) -> tuple[int, int, int, bool]:
    """Axis indices in intrinsic order, and whether the caller's order is extrinsic (lower case)."""
    if (
        not isinstance(sequence, str)
        or sequence.upper() not in SEQUENCES
        or sequence not in (sequence.upper(), sequence.lower())
    ):
        raise ValueError(
            f"rotation: {sequence!r} is not a sequence of Euler angles; expected one of {', '.join(SEQUENCES)} "
            "(upper case: about the moving axes; lower case: about the fixed axes)"
        )
    extrinsic = sequence.islower()
    i, j, k = ("XYZ".index(letter) for letter in (sequence[::-1] if extrinsic else sequence).upper())
    return i, j, k, extrinsic


@face(angles=VECTOR, axes=MATRIX, out=UNIT_QUATERNION)
def _three_turns(angles, axes):
    """Product of rotations by three angles about the rows of `axes`, each about the axes moved by those before it."""
    s1, c1 = sincos(0.5 * angles[0])
    s2, c2 = sincos(0.5 * angles[1])
    s3_, c3 = sincos(0.5 * angles[2])
    first = (c1, s1 * axes[0], s1 * axes[1], s1 * axes[2])
    second = (c2, s2 * axes[3], s2 * axes[4], s2 * axes[5])
    third = (c3, s3_ * axes[6], s3_ * axes[7], s3_ * axes[8])
    return quaternion.product(quaternion.product(first, second), third)


def euler_to_quaternion(angles: ArrayLike, sequence: str) -> np.ndarray:
    """Quaternion of three Euler angles [rad], e.g. sequence "ZYX" (yaw, pitch, roll) or "zxz" (about fixed axes).

    All twelve sequences; upper case turns about the moving axes, lower case about the fixed ones.
    """
    i, j, k, extrinsic = _axes(sequence)
    angles = real_array("rotation.euler_to_quaternion", "angles", angles, (3,))
    return _three_turns(angles[..., ::-1] if extrinsic else angles, np.eye(3)[[i, j, k]])


@face(q=ANY_QUATERNION, out=VECTOR)
def _half_sums(q):
    """Half sum and half difference of the outer angles, and the middle angle, of a permuted quaternion (a, b, c, d).

    For a proper sequence i j i: a + i b = cos(β/2) e^{i (α+γ)/2}, c + i d = sin(β/2) e^{i (α-γ)/2}.
    """
    a, b, c, d = q
    plus, minus = atan2(b, a), atan2(d, c)
    near, far = sqrt(a * a + b * b), sqrt(c * c + d * d)
    plus = select(near < 1e-15, minus, plus)  # gimbal lock: only one combination is determined, the last angle is 0
    minus = select(far < 1e-15, plus, minus)
    return (plus + minus, 2.0 * atan2(far, near), plus - minus)


def quaternion_to_euler(q: ArrayLike, sequence: str) -> np.ndarray:
    """Euler angles [rad] in the given sequence, outer angles in [-π, π].

    The middle angle is in [0, π] for sequences such as ZXZ, in [-π/2, π/2] for those like ZYX
    (yaw, pitch, roll). At gimbal lock only the sum or difference of the outer angles is determined. Then the last
    angle in the order of the moving axes is zero. Source of the method: bernardes2022.
    """
    i, j, k, extrinsic = _axes(sequence)
    unit = real_array("rotation.quaternion_to_euler", "q", q, (4,))
    off = abs((unit**2).sum(axis=-1) - 1)
    if not (off <= TOLERANCE).all():
        where = [int(n) for n in np.argwhere(off > TOLERANCE)[0]] or ""
        raise ValueError(
            f"rotation.quaternion_to_euler: q{where} is off the group by {off.max():.3g}; expected a unit quaternion"
        )
    w, v = unit[..., 0], unit[..., 1:]
    proper = i == k
    third = 3 - i - j
    sign = float((i - j) * (j - third) * (third - i) / 2)
    a, b, c, d = w, v[..., i], v[..., j], v[..., third] * sign
    if not proper:  # times a quarter turn about the middle axis: i j k becomes i j i
        a, b, c, d = a - c, b - d, c + a, d + b
    angles = _half_sums(np.stack([a, b, c, d], axis=-1))
    if not proper:
        angles[..., 2] *= -sign
        angles[..., 1] -= np.pi / 2
    angles[..., [0, 2]] = np.remainder(angles[..., [0, 2]] + np.pi, 2 * np.pi) - np.pi
    return angles[..., ::-1].copy() if extrinsic else angles


@face(q=UNIT_QUATERNION, out=UNIT_QUATERNION)
def _checked_quaternion(q):
    """The quaternion itself, after the checks every function makes."""
    return q


# ---------------------------------------------------------------- any to any

_TO_QUATERNION: dict[str, Callable] = {
    "quaternion": _checked_quaternion,
    "matrix": matrix_to_quaternion,
    "rotation_vector": rotation_vector_to_quaternion,
    "rodrigues": rodrigues_to_quaternion,
    "modified_rodrigues": modified_rodrigues_to_quaternion,
    "axis_angle": lambda value: axis_angle_to_quaternion(*value),
}
_FROM_QUATERNION: dict[str, Callable] = {
    "quaternion": _checked_quaternion,
    "matrix": quaternion_to_matrix,
    "rotation_vector": quaternion_to_rotation_vector,
    "rodrigues": quaternion_to_rodrigues,
    "modified_rodrigues": quaternion_to_modified_rodrigues,
    "axis_angle": quaternion_to_axis_angle,
}
DESCRIPTIONS = (*_TO_QUATERNION, "euler:<sequence>")


def convert(value, source: str, target: str):
    """Convert a rotation between descriptions: convert(R, "matrix", "euler:ZYX").

    Descriptions: quaternion, matrix, rotation_vector, rodrigues, modified_rodrigues, axis_angle (a pair of axis and
    angle), and euler:ZYX and so on.
    """
    return _stage(_FROM_QUATERNION, target, quaternion_to_euler)(
        _stage(_TO_QUATERNION, source, euler_to_quaternion)(value)
    )


def _stage(table: dict[str, Callable], name: str, euler: Callable) -> Callable:
    if isinstance(name, str) and name.startswith("euler:"):
        return lambda value: euler(value, name.removeprefix("euler:"))
    if name not in table:
        raise ValueError(
            f"rotation.convert: {name!r} is not a description of rotations; expected one of {', '.join(DESCRIPTIONS)}"
        )
    return table[name]
