"""Where the parts of NumPy's arrays lie in memory, as NumPy promises to functions of C."""

from __future__ import annotations

import ctypes
import functools
import sys
from typing import Any

import numpy as np

OBJECT = object.__basicsize__  # of the head of every object; its class is the last word of it
CLASS, DATA, DIMENSIONS, SHAPE, STRIDES = OBJECT - 8, OBJECT, OBJECT + 8, OBJECT + 16, OBJECT + 24
TYPE, ARRAY_FLAGS = OBJECT + 40, OBJECT + 48
BY_ROWS, BY_COLUMNS, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400  # flags of NumPy
READABLE = BY_ROWS | ALIGNED


@functools.cache
def known() -> bool:
    """Whether arrays lie in memory as is assumed here."""
    if sys.implementation.name != "cpython" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    array = np.zeros((2, 3))

    def word(address: int, kind: Any = ctypes.c_int64) -> int:
        return kind.from_address(address).value

    at, shape, strides = id(array), word(id(array) + SHAPE), word(id(array) + STRIDES)
    return (
        (word(at + CLASS), word(at + DATA), word(at + TYPE)) == (id(np.ndarray), array.ctypes.data, id(np.dtype(float)))
        and (word(at + DIMENSIONS, ctypes.c_int32), word(shape), word(shape + 8)) == (2, 2, 3)
        and (word(strides), word(strides + 8)) == array.strides
        and word(at + ARRAY_FLAGS, ctypes.c_int32) & READABLE == READABLE
        and word(id(array.T) + ARRAY_FLAGS, ctypes.c_int32) & READABLE != READABLE
    )
