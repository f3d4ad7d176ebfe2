"""Vector fields as addresses: the compiled loops call any field through one C signature, so a new field never
recompiles a loop.

    @field
    def spin(t, y, p, out):        # y point, p parameters, out the algebra element f(t, y)
        out[0] = p[0] * y[1]

A field is compiled on first use; those of the package's modules are kept on disk. With `@field(lanes=True)` the same
source is also compiled for SIMD lanes, and batches run four at a time. A plain Python function works too, through a
callback, at the cost of a microsecond or more for each evaluation.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, overload

import numpy as np

from chasles.kernel.address import INTEGER, MANY_LANES, NUMBER, NUMBERS, address_of, clear
from chasles.kernel.face import compile_text
from chasles.kernel.late import carray, compiler_error, late, with_numba
from chasles.kernel.pickled import reduced
from chasles.kernel.policy import COMPILED, kernel, native
from chasles.model.user_function import UserAddresses, check_arguments, explained

if not COMPILED:
    raise ImportError("chasles.integrate needs the compiler: unset NUMBA_DISABLE_JIT")
with_numba("chasles.kernel.code.numpy_on_lanes")

_C_POINTER = ctypes.POINTER(ctypes.c_double)
# time, point, parameters, result, and the three lengths
_C_SIGNATURE = ctypes.CFUNCTYPE(
    None, ctypes.c_double, _C_POINTER, _C_POINTER, _C_POINTER, ctypes.c_int64, ctypes.c_int64, ctypes.c_int64
)
_TEXT = """
def {name}(t, y, p, out, y_size, p_size, out_size):
    {clear}function(t, carray(y, y_size), carray(p, p_size), carray(out, out_size))
"""


FORM = "a compiled field is f(t, y, p, out) and writes to out"
PLAIN_FORM = (
    "a plain Python function is f(t, y, p) and returns its result; with @chasles.integrate.field it is f(t, y, p, out)"
)


class Field:
    """A compiled field f(t, y, p, out). Made by the decorator `field`; compiled when a solver first needs it."""

    def __init__(self, function: Callable[..., Any], lanes: bool = False):
        check_arguments(f"field {function.__name__!r}", function, FORM, "t", "y", "p", "out")
        self.function, self.lanes = function, lanes
        self.kernel = kernel(function)
        self.__doc__, self.__name__, self.__module__ = function.__doc__, function.__name__, function.__module__
        self._natives: list[Any] = []
        self._addresses = UserAddresses(self, self._compiled)

    def __repr__(self) -> str:
        return f"<compiled field {self.__name__}>"

    def __reduce__(self) -> Any:
        return reduced(self, self.function, "field", self.lanes)

    def __deepcopy__(self, memo: object = None) -> Field:
        return self  # as functions are copied

    __copy__ = __deepcopy__

    def __call__(self, t: float, y: np.ndarray, p: np.ndarray, out: np.ndarray) -> None:
        """Evaluate the compiled field, on contiguous float64 arrays, for a look at it or a test."""
        arrays = [np.ascontiguousarray(a, dtype=float) for a in (y, p)]
        if not isinstance(out, np.ndarray) or out.dtype != np.float64 or not out.flags.carray:
            raise ValueError(f"{self.__name__}: out must be a contiguous float64 array that can be written to")
        pointers = [a.ctypes.data_as(_C_POINTER) for a in (*arrays, out)]
        _C_SIGNATURE(self.address)(float(t), *pointers, *(a.size for a in (*arrays, out)))

    def _compiled(self, lanes: bool) -> int:
        function = self.function
        scope = {"__name__": function.__module__, "function": kernel(function), "carray": carray, "clear": clear}
        name = f"field_{function.__name__}" if function.__name__.isidentifier() else "field_function"
        # the package's own fields write all of it
        first = "" if str(self.__module__).startswith("chasles.") else "clear(out, out_size)\n    "
        text = _TEXT.format(name=name, clear=first)
        # a function made inside of another may be a different one each time
        fixed = function.__qualname__ == function.__name__
        made: Any = native(compile_text(text, name, scope), keep=fixed)
        self._natives.append(made)  # problems that were made before may have the address of theirs
        pointer = MANY_LANES if lanes else NUMBERS
        arguments = (NUMBER, pointer, pointer, pointer, *(INTEGER,) * 3)
        if lanes:  # its errors are told by `lanes_address`
            return address_of(made, *arguments)
        with explained(f"field {self.__name__!r}", function):
            return address_of(made, *arguments)

    @property
    def address(self) -> int:
        return self._addresses.of(False)

    @property
    def lanes_address(self) -> int:
        """Address of the field for lanes; TypeError if it cannot be compiled for them."""
        try:
            return self._addresses.of(True)
        except compiler_error() as error:
            raise TypeError(
                f"field {self.__name__!r} cannot be compiled for lanes: there is no branch on values there, and no "
                "function but np.sqrt, np.sin, np.cos, abs and those of chasles.kernel; take lanes=False, or see "
                f"docs/kernels.md. The compiler says:\n{error}"
            ) from None


@overload
def field(function: Callable[..., Any]) -> Field: ...
@overload
def field(*, lanes: bool) -> Callable[[Callable[..., Any]], Field]: ...
def field(function: Callable[..., Any] | None = None, *, lanes: bool = False) -> Any:
    """Decorator: make a function f(t, y, p, out) a compiled field; with lanes=True, for batches on SIMD lanes too. What
    it does not write to out is zero."""
    if function is None:
        return lambda f: Field(f, lanes)
    return Field(function, lanes)


class PythonField:
    """A plain Python function f(t, y, p) as a field of `size` numbers (0: it returns a single number).

    An exception in it ends the run and is raised by `solve`. Where it is called, Ctrl-C has to be put off.
    """

    def __init__(self, function: Callable[..., Any], size: int):
        self.name = getattr(function, "__name__", "the function")
        check_arguments(f"function {self.name!r}", function, PLAIN_FORM, "t", "y", "p")
        self.function = function
        self.error: BaseException | None = None
        self._size = size
        self._callback = _C_SIGNATURE(self._evaluate)

    @property
    def address(self) -> int:
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _evaluate(self, t, y, p, out, y_size, p_size, out_size) -> None:
        try:  # before anything else: what is raised outside is lost, and numbers of the call before are taken
            target = np.ctypeslib.as_array(out, (out_size,))
            point = np.ctypeslib.as_array(y, (y_size,))
            parameters = np.ctypeslib.as_array(p, (p_size,)) if p_size else np.empty(0)
            value = np.asarray(self.function(t, point, parameters))
            if np.iscomplexobj(value):
                raise ValueError(f"{self.name} returned complex numbers at t = {t:.6g}; expected real ones")
            if value.shape != ((self._size,) if self._size else ()):
                wanted = f"({self._size},), the dimension of the algebra that acts on the space"
                raise ValueError(
                    f"{self.name} returned shape {value.shape} at t = {t:.6g}; expected "
                    + (wanted if self._size else "a number")
                )
            target[:] = value
        except BaseException as error:  # a C loop is in between: keep it and stop the loop by a NaN
            self.error = self.error or error
            ctypes.memset(out, 0xFF, 8 * out_size)  # NaN, in one call that makes nothing


call = late("chasles.integrate.field_call", "call")  # call(address, t, y, p, out, first, sizes of y and out, pattern)
