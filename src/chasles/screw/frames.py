"""Poses as arguments, and the few operations on arrays of 3-vectors that this layer needs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array

EXPECTED = "expected a pose (w, x, y, z, position), shape (..., 7), or a pose matrix, shape (..., 4, 4)"


def is_matrix(function: str, pose: ArrayLike) -> bool:
    """Whether a pose is given as 4x4 matrices (True) or as 7 numbers (False); ValueError if it is neither."""
    shape = np.shape(real_array(function, "pose", pose))
    if shape[-2:] == (4, 4):
        return True
    if shape[-1] == 7:
        return False
    raise ValueError(f"{function}: pose has shape {shape}; {EXPECTED}")


def rotation_and_position(function: str, pose: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Rotation matrix and position [m] of a pose in either form; off the group is an error."""
    as_matrix = is_matrix(function, pose)
    try:
        if as_matrix:
            pose_group.from_matrix(pose)  # for its checks: a rotation, and the last row
        else:
            pose = pose_group.to_matrix(pose)
    except ValueError as error:
        raise ValueError(f"{function}: pose{str(error).partition(': g')[2]}") from None
    matrix = np.asarray(pose, dtype=float)
    return matrix[..., :3, :3], matrix[..., :3, 3]


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Scalar products over the last axis."""
    return np.einsum("...i,...i->...", a, b)


def rotate(r: np.ndarray, a: np.ndarray) -> np.ndarray:
    """R a."""
    return np.einsum("...ij,...j->...i", r, a)


def rotate_back(r: np.ndarray, a: np.ndarray) -> np.ndarray:
    """Rᵀ a."""
    return np.einsum("...ji,...j->...i", r, a)


def halves(function: str, argument: str, value: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """The two halves of checked 6-vectors: (angular, linear) or (torque, force)."""
    array = real_array(function, argument, value, (6,))
    return array[..., :3], array[..., 3:]


def join(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """6-vectors of two halves, which broadcast."""
    shape = np.broadcast_shapes(a.shape, b.shape)
    return np.concatenate([np.broadcast_to(a, shape), np.broadcast_to(b, shape)], axis=-1)


def check_batches(function: str, **arrays: np.ndarray) -> None:
    """ValueError that lists the leading shapes if they do not broadcast; arrays are given without trailing axes."""
    shapes = {name: array.shape[:-1] for name, array in arrays.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        listing = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"{function}: leading axes do not broadcast: {listing}") from None


def unit(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Length and direction of vectors, without underflow for tiny ones; zero has the direction zero."""
    largest = np.max(np.abs(a), axis=-1, keepdims=True)
    scaled = a / np.where(largest > 0, largest, 1.0)
    norm = np.sqrt(np.sum(scaled * scaled, axis=-1, keepdims=True))
    return (largest * norm)[..., 0], scaled / np.where(norm > 0, norm, 1.0)
