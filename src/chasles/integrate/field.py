"""Vector fields as addresses: the compiled loops call any field through one C signature, so a new field never
recompiles a loop.

    @field
    def spin(t, y, p, out):        # y point, p parameters, out the algebra element f(t, y)
        out[0] = p[0] * y[1]

A field is compiled on first use. A plain Python function with the same arguments works too, through a callback, at the
cost of a microsecond or more for each evaluation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.policy import COMPILED, FAST_MATH, kernel

_POINTER = types.CPointer(types.float64)
# time, point, parameters, result, and the three lengths
SIGNATURE = types.void(types.float64, _POINTER, _POINTER, _POINTER, types.int64, types.int64, types.int64)
_C_POINTER = ctypes.POINTER(ctypes.c_double)
_C_SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_double, _C_POINTER, _C_POINTER, _C_POINTER, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)


class Field:
    """A compiled field f(t, y, p, out). Made by the decorator `field`; compiled when a solver first needs it."""

    def __init__(self, function: Callable):
        self.function = function
        self.kernel = kernel(function)
        self.__doc__, self.__name__ = function.__doc__, function.__name__
        self._compiled: Any = None

    def __repr__(self) -> str:
        return f"<compiled field {self.__name__}>"

    def __call__(self, t: float, y: np.ndarray, p: np.ndarray, out: np.ndarray) -> None:
        """Evaluate the compiled field, on contiguous float64 arrays, for a look at it or a test."""
        arrays = [np.ascontiguousarray(a, dtype=float) for a in (y, p)]
        pointers = [a.ctypes.data_as(_C_POINTER) for a in (*arrays, out)]
        if out.dtype != np.float64 or not out.flags.c_contiguous:
            raise ValueError(f"{self.__name__}: out must be a contiguous float64 array")
        _C_SIGNATURE(self.address)(float(t), *pointers, *(a.size for a in (*arrays, out)))

    @property
    def address(self) -> int:
        if self._compiled is None:
            inner = self.kernel

            def adaptor(t, y, p, out, ny, np_, nout):
                inner(t, carray(y, ny), carray(p, np_), carray(out, nout))

            self._compiled = cfunc(SIGNATURE, fastmath=FAST_MATH, error_model="numpy")(adaptor)
        return self._compiled.address


def field(function: Callable) -> Field:
    """Decorator: make a function f(t, y, p, out) a compiled field."""
    return Field(function)


class PythonField:
    """A plain Python function f(t, y, p) as a field of `size` numbers (0: it returns a single number).

    An exception in it ends the run and is raised by `solve`.
    """

    def __init__(self, function: Callable, size: int):
        self.function = function
        self.error: BaseException | None = None
        name = getattr(function, "__name__", "the function")

        def callback(t, y, p, out, ny, np_, nout):
            target = np.ctypeslib.as_array(out, (nout,))
            try:
                point = np.ctypeslib.as_array(y, (ny,))
                parameters = np.ctypeslib.as_array(p, (np_,)) if np_ else np.empty(0)
                value = np.asarray(function(t, point, parameters), dtype=float)
                if value.shape != ((size,) if size else ()):
                    raise ValueError(
                        f"{name} returned shape {value.shape} at t = {t:.6g}; expected "
                        + (f"({size},), the dimension of the algebra that acts on the space" if size else "a number")
                    )
                target[:] = value
            except BaseException as error:  # a C loop is in between: keep it and stop the loop by a NaN
                self.error = self.error or error
                target[:] = np.nan

        self._callback = _C_SIGNATURE(callback)

    @property
    def address(self) -> int:
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0


if COMPILED:

    @intrinsic
    def call(typing_context, address, t, y, iy, p, out, iout, ny, nout):
        """Evaluate the field at `address` on the point at y[iy:], writing to out[iout:]."""

        def generate(context, builder, sig, args):
            double, long = ir.DoubleType(), ir.IntType(64)
            pointer = double.as_pointer()
            kind = ir.FunctionType(ir.VoidType(), [double, pointer, pointer, pointer, long, long, long])
            target, time, point, first, parameters, result, start, points, results = args
            arrays = {
                name: context.make_array(sig.args[k])(context, builder, value)
                for name, k, value in (("y", 2, point), ("p", 4, parameters), ("out", 6 - 1, result))
            }
            function = builder.inttoptr(target, kind.as_pointer())
            builder.call(
                function,
                [
                    time,
                    builder.gep(arrays["y"].data, [first]),
                    arrays["p"].data,
                    builder.gep(arrays["out"].data, [start]),
                    points,
                    builder.extract_value(arrays["p"].shape, 0),
                    results,
                ],
            )
            return context.get_dummy_value()

        integer = types.int64
        return (
            signature(types.void, integer, types.float64, y, integer, p, out, integer, integer, integer),
            generate,
        )

else:
    raise ImportError("chasles.integrate needs the compiler: unset NUMBA_DISABLE_JIT")
