"""Workspaces whose fields have names: a layout gives the offset of each field in a body's part of a flat buffer."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np

from chasles.kernel.lanes import load, store
from chasles.kernel.policy import kernel


def layout(name: str, **fields: int) -> Any:
    """A named tuple of offsets, one for each field, and `size`, the sum of all.

    ARM = layout("ARM", rotation=9, twist=6)     in a kernel: load3(work, i * ARM.size + ARM.twist, zero)

    As a global it is a compile-time constant in kernels.
    """
    if "size" in fields:
        raise ValueError(f"layout {name}: `size` is the name of the total and cannot be a field")
    for field, count in fields.items():
        if not isinstance(count, int) or count < 1:
            raise ValueError(f"layout {name}: field {field!r} holds {count!r} numbers; expected a positive integer")
    offsets, total = [], 0
    for count in fields.values():
        offsets.append(total)
        total += count
    make_type: Any = namedtuple  # the type is made at run time
    return make_type(name, [*fields, "size"])(*offsets, total)


def fill(fields: Any, **values: Any) -> np.ndarray:
    """An array with values for all fields of a layout."""
    if missing := {*fields._fields} - {"size", *values} | {*values} - {*fields._fields}:
        raise ValueError(f"layout {type(fields).__name__}: values are missing or not known: {sorted(missing)}")
    array, ends = np.zeros(fields.size), [*fields[1:]]
    for (name, begin), end in zip(fields._asdict().items(), ends, strict=False):
        array[begin:end] = np.ravel(values[name])
    return array


@kernel
def load3(work, at, pattern):
    """Three numbers, of the scalar type of `pattern`, from position `at` on."""
    return (load(work, at, pattern), load(work, at + 1, pattern), load(work, at + 2, pattern))


@kernel
def store3(work, at, a):
    store(work, at, a[0])
    store(work, at + 1, a[1])
    store(work, at + 2, a[2])


@kernel
def add3(work, at, a):
    """Add a vector to what is stored."""
    old = load3(work, at, a[0])
    store3(work, at, (old[0] + a[0], old[1] + a[1], old[2] + a[2]))


@kernel
def load6(work, at, pattern):
    """A spatial vector."""
    return (load3(work, at, pattern), load3(work, at + 3, pattern))


@kernel
def store6(work, at, v):
    store3(work, at, v[0])
    store3(work, at + 3, v[1])


@kernel
def load9(work, at, pattern):
    """A 3x3 matrix."""
    return (*load3(work, at, pattern), *load3(work, at + 3, pattern), *load3(work, at + 6, pattern))


@kernel
def store9(work, at, m):
    store3(work, at, (m[0], m[1], m[2]))
    store3(work, at + 3, (m[3], m[4], m[5]))
    store3(work, at + 6, (m[6], m[7], m[8]))


@kernel
def add9(work, at, m):
    """Add a matrix to what is stored, three numbers at a time: registers are few."""
    add3(work, at, (m[0], m[1], m[2]))
    add3(work, at + 3, (m[3], m[4], m[5]))
    add3(work, at + 6, (m[6], m[7], m[8]))
