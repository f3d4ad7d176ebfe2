"""SIMD lanes: four doubles that behave as one scalar, so one kernel source serves a single state and batches.

A kernel written with + - * / and the functions of this module compiles for float64 and for `Lanes`, an LLVM vector of
`WIDTH` doubles (`kernel.code.lanes`). LLVM splits it where the CPU's registers are shorter, so it is correct
everywhere. Comparisons give a mask, used by `select`; there is no branch on values. The functions decline other scalar
types, which bring their own implementations (see `kernel.dual`).

With the compiler switched off (NUMBA_DISABLE_JIT=1) the same names work on NumPy arrays: a whole batch is one "lane".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.kernel.late import late
from chasles.kernel.policy import COMPILED

WIDTH = 4


def buffer(count: int) -> np.ndarray:
    """An aligned float64 array that holds `count` lanes (or `count * WIDTH` scalars), zero filled."""
    raw = np.zeros(count * WIDTH + 7)
    offset = (-raw.ctypes.data % 64) // 8
    return raw[offset : offset + count * WIDTH]


# ---------------------------------------------------------------- with the compiler switched off


def _numpy_like(value, pattern):
    return value + 0.0 * pattern


def _numpy_chain(value, *slopes):
    return value


def _numpy_lanes_of(value):
    return np.full(WIDTH, value)


def _numpy_lane(lanes, index):
    return lanes[index]


def _numpy_first_of(x):
    return x if np.ndim(x) == 0 else x[0]


def _numpy_load(array, index, pattern):
    return array[index]


def _numpy_store(array, index, value):
    array[index] = value


_IN_NUMPY: dict[str, Any] = {
    "sqrt": np.sqrt,
    "absolute": np.abs,
    "rint": np.rint,
    "copysign": np.copysign,
    "fma": lambda x, y, z: x * y + z,  # one rounding when compiled, two here
    "minimum": np.minimum,  # NaN in, NaN out, as in NumPy
    "maximum": np.maximum,
    "exact_add": np.add,
    "exact_sub": np.subtract,
    "select": np.where,
    "all_true": np.all,
    "like": _numpy_like,
    "primal": _numpy_chain,
    "chain": _numpy_chain,
    "chain2": _numpy_chain,
    "lanes_of": _numpy_lanes_of,
    "lane": _numpy_lane,
    "first_of": _numpy_first_of,
    "load": _numpy_load,
    "store": _numpy_store,
}


def _functions() -> tuple[Any, ...]:
    return late("chasles.kernel.code.lanes", *_IN_NUMPY) if COMPILED else tuple(_IN_NUMPY.values())


sqrt, absolute, rint, copysign, fma, minimum, maximum, exact_add, exact_sub, *_others = _functions()
select, all_true, like, primal, chain, chain2, lanes_of, lane, first_of, load, store = _others
