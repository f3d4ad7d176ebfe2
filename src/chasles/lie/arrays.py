"""Checks of arguments for the functions that are plain NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def real_array(function: str, argument: str, value: ArrayLike, shape: tuple[int, ...] | None = None) -> np.ndarray:
    """The argument as float64; ValueError unless it has finite real numbers and the trailing shape (None: any axis)."""
    expected = "(..., n)" if shape is None else "(" + ", ".join(["...", *map(str, shape)]) + ")"
    try:
        array = np.asarray(value)
    except ValueError:  # ragged lists
        array = np.asarray(None)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"{function}: {argument} is not an array of real numbers; expected shape {expected}")
    if (shape is None and array.ndim == 0) or (shape and array.shape[-len(shape) :] != shape):
        raise ValueError(f"{function}: {argument} has shape {array.shape}; expected {expected}")
    if not np.isfinite(array).all():
        bad = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{function}: {argument}{list(bad)} is not finite: {array[bad]}")
    return array.astype(float)
