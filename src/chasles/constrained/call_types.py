"""The types of `Call` and `ForceCall` in kernels: references to named tuples. This needs Numba (see `kernel.late`)."""

from __future__ import annotations

from numba import types

from chasles.constrained.workspace import Call, ForceCall
from chasles.kernel.code.reference import Reference

FLOATS, INTEGERS = types.Array(types.float64, 1, "C"), types.Array(types.int64, 1, "C")
CALL = Reference(
    types.NamedTuple(
        [FLOATS, INTEGERS, *[FLOATS] * 5, INTEGERS, *[FLOATS] * 4, INTEGERS, *[types.int64] * 3],
        Call,
    )
)
FORCE_CALL = Reference(
    types.NamedTuple([*[types.float64] * 3, FLOATS, INTEGERS, *[FLOATS] * 9, types.int64], ForceCall)
)
