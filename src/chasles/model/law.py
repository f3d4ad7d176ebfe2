"""Laws of forces as addresses: compiled loops call any law through one C signature, so a new law recompiles nothing.

@law
def drag(t, pose, twist, parameters, out):
    for k in range(6):
        out[k] = -parameters[0] * twist[k]
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import carray, types

from chasles.kernel.address import NUMBERS, address_of
from chasles.kernel.face import compile_text
from chasles.kernel.policy import kernel, native

_POINTER = ctypes.POINTER(ctypes.c_double)
# time; two arguments, parameters and the result; their four lengths
C_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_double, *(_POINTER,) * 4, *(ctypes.c_int64,) * 4)
LAW_TEXT = """
def {name}(t, x, y, p, out, x_size, y_size, p_size, out_size):
    function(t, carray(x, x_size), carray(y, y_size), carray(p, p_size), carray(out, out_size))
"""


class Law:
    """A force law f(t, x, y, parameters, out), compiled on first use. Made by the decorator `law`."""

    def __init__(self, function: Callable):
        self.function = function
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self._address = 0

    def __repr__(self) -> str:
        return f"<compiled law {self.__name__}>"

    @property
    def address(self) -> int:
        if not self._address:
            scope = {"__name__": self.__module__, "function": kernel(self.function), "carray": carray}
            name = f"law_{self.__name__}" if self.__name__.isidentifier() else "law_function"
            self._native: Any = native(compile_text(LAW_TEXT.format(name=name), name, scope))
            arguments = (types.float64, *(NUMBERS,) * 4, *(types.int64,) * 4)
            self._address = address_of(self._native, *arguments)
        return self._address


class PythonLaw(Law):
    """A plain Python function as a law. An exception in it is kept in `error`, and the result is NaN."""

    def __init__(self, function: Callable):
        super().__init__(function)
        self.error: BaseException | None = None
        self._callback = C_SIGNATURE(self._evaluate)
        self._address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def __repr__(self) -> str:
        return f"<Python law {self.__name__}>"

    def _evaluate(self, t, x, y, p, out, x_size, y_size, p_size, out_size) -> None:
        arrays = [np.ctypeslib.as_array(a, (n,)) for a, n in ((x, x_size), (y, y_size), (out, out_size))]
        parameters = np.ctypeslib.as_array(p, (p_size,)) if p_size else np.empty(0)
        try:
            arrays[2][:] = 0.0
            self.function(t, arrays[0], arrays[1], parameters, arrays[2])
        except BaseException as error:  # a C loop is in between: keep it and let a NaN end the run
            self.error = self.error or error
            arrays[2][:] = np.nan


def law(function: Callable) -> Law:
    """Decorator: make a function f(t, x, y, parameters, out) a compiled law."""
    return Law(function)


def as_law(given: Any) -> Law:
    """A law that compiled loops can call."""
    return given if isinstance(given, Law) else PythonLaw(given)
