"""Poses, vectors and names as users write them, checked."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chasles.lie import pose as pose_group

Pose = Any  # seven numbers wxyz_xyz, a 4x4 matrix, or a position
ORIGIN = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
LAST_BITS = 1e-15  # a length off 1 by this is left alone, so that what was made unit once stays the same
LONGEST_NAME = 200  # characters
UNIT_TOLERANCE = 1e-6  # by how much the length of a quaternion in a model may be off; it is then made unit


def check_name(what: str, name: Any) -> None:
    """A name that a file and a terminal can show; the rules are those of model files."""
    if not isinstance(name, str) or not name.strip():
        raise ValueError(f"{what}: name is {name!r}; expected a string that is not empty")
    if not name.isprintable() and any(ord(c) < 32 or ord(c) == 127 or 0xD800 <= ord(c) < 0xE000 for c in name):
        raise ValueError(f"{what}: name is {name[:LONGEST_NAME]!r}; expected no control characters")
    if len(name) > LONGEST_NAME:
        raise ValueError(f"{what}: name has {len(name)} characters; expected at most {LONGEST_NAME}")


def as_numbers(where: str, what: str, value: Any, *shapes: tuple[int, ...], example: str = "") -> np.ndarray:
    """A float array of one of the given shapes, all numbers finite."""
    if type(value) is float and () in shapes and math.isfinite(value):  # most are, and thousands of each rod
        return np.array(value)
    expected = " or ".join(str(shape) if shape else "a number" for shape in shapes)
    expected += f", such as {example}" if example else ""
    if isinstance(value, np.ndarray) and value.dtype.kind == "c":  # NumPy would take the real part
        raise ValueError(f"{where}: {what} is complex; expected {expected} of real numbers")
    try:
        if value is None:  # NumPy takes it for a number that is none
            raise TypeError
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{where}: {what} is {value!r}; expected {expected}") from None
    if array.shape not in shapes:
        raise ValueError(f"{where}: {what} has shape {array.shape}; expected {expected}")
    if not np.isfinite(array).all():
        raise ValueError(f"{where}: {what} is not finite: {array.tolist()}")
    return array


def as_pose(where: str, what: str, value: Any) -> tuple[float, ...]:
    """A pose as seven numbers, from seven numbers, a 4x4 matrix, or a position alone."""
    if value is ORIGIN:
        return ORIGIN  # type: ignore[no-any-return]  # it is what was asked
    array = as_numbers(where, what, value, (7,), (4, 4), (3,))
    if array.shape == (3,):
        return (1.0, 0.0, 0.0, 0.0, *array.tolist())
    if array.shape == (4, 4):
        try:
            return tuple(pose_group.from_matrix(array).tolist())
        except ValueError as error:
            raise ValueError(f"{where}: {what} is not a pose: {error}") from None
    length = float(np.linalg.norm(array[:4]))
    if abs(length - 1) > UNIT_TOLERANCE:
        raise ValueError(f"{where}: the quaternion of {what} has length {length:.9g}; expected 1 (order w, x, y, z)")
    if abs(length - 1) > LAST_BITS:
        array[:4] /= length
    return tuple(array.tolist())


def unit_vector(where: str, what: str, value: Any) -> np.ndarray:
    """A direction made unit; an error if it has no length."""
    array = as_numbers(where, what, value, (3,), example="(0, 0, 1)")
    length = math.hypot(*array)  # no underflow: the unit of length does not matter
    if not length > 0.0:
        raise ValueError(f"{where}: {what} {array.tolist()} has no length; expected a direction")
    return array / length if abs(length - 1) > LAST_BITS else array


def two_bodies(where: str, bodies: Any) -> tuple[str, str]:
    """The names of two different bodies."""
    names = (bodies,) if isinstance(bodies, str) else tuple(bodies)
    if len(names) != 2 or names[0] == names[1]:
        raise ValueError(f"{where}: bodies is {bodies!r}; expected the names of two different bodies")
    return names[0], names[1]


def frame_with_z(axis: np.ndarray) -> np.ndarray:
    """A quaternion that turns z into the unit vector `axis` by the shortest way; straight back, about x."""
    x, y, z = axis
    w = 1.0 + z if z >= 0 else (x * x + y * y) / (1.0 - z)  # 1 + z, without its cancellation
    q = np.array([w, -y, x, 0.0])
    length = math.hypot(w, x, y)  # no underflow
    return q / length if length > 0 else np.array([0.0, 1.0, 0.0, 0.0])
