"""Laws of forces as addresses: compiled loops call any law through one C signature, so a new law recompiles nothing.

@law
def drag(t, pose, twist, parameters, out):
    for k in range(6):
        out[k] = -parameters[0] * twist[k]
"""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from chasles.kernel.address import INTEGER, NUMBER, NUMBERS, address_of, clear
from chasles.kernel.face import compile_text
from chasles.kernel.late import carray
from chasles.kernel.pickled import reduced
from chasles.kernel.policy import kernel, native
from chasles.model.user_function import UserAddresses, check_arguments, explained

_POINTER = ctypes.POINTER(ctypes.c_double)
# time; two arguments, parameters and the result; their four lengths
C_SIGNATURE = ctypes.CFUNCTYPE(None, ctypes.c_double, *(_POINTER,) * 4, *(ctypes.c_int64,) * 4)
# the same with addresses as plain numbers, of which arrays are made four times faster
_BY_ADDRESS = ctypes.CFUNCTYPE(None, ctypes.c_double, *(ctypes.c_void_p,) * 4, *(ctypes.c_int64,) * 4)
LAW_TEXT = """
def {name}(t, x, y, p, out, x_size, y_size, p_size, out_size):
    clear(out, out_size)
    function(t, carray(x, x_size), carray(y, y_size), carray(p, p_size), carray(out, out_size))
"""


RETURNS = "returns a value, which nobody takes; expected that it writes to its last argument: out[0] = ..."
ARGUMENTS = ("t", "x", "y", "parameters", "out")
FORM = (
    "a law is f(t, q, v, parameters, out) of a joint, f(t, pose, twist, parameters, out) of a body, f(t, _, _, "
    "parameters, out) of a drive or f(t, poses, twists, parameters, out) of a constraint, and writes to out"
)


class Law:
    """A force law f(t, x, y, parameters, out), compiled on first use. Made by the decorator `law`. What it does not
    write to `out` is zero.

    `breaks` are the times at which it jumps or begins to change, or a function of its parameters that gives them.
    """

    in_python = False
    error: BaseException | None = None  # raised in a call from a compiled loop, for whoever runs it

    def __init__(self, function: Callable[..., Any], breaks: Sequence[float] | Callable[..., Any] = ()):
        self.__name__ = getattr(function, "__name__", type(function).__name__)
        check_arguments(f"law {self.__name__!r}", function, FORM, *ARGUMENTS)
        self.function = function
        self.breaks = breaks if callable(breaks) else tuple(map(float, breaks))
        self.__doc__, self.__module__ = function.__doc__, function.__module__
        self._addresses = UserAddresses(self, self._compiled)
        self._natives: list[Any] = []
        self._rehearsed: set[tuple[int, ...]] = set()

    def __repr__(self) -> str:
        return f"<compiled law {self.__name__}>"

    def declared(self, parameters: np.ndarray) -> list[float]:
        """The times at which it says that it changes."""
        found = self.breaks(parameters) if callable(self.breaks) else self.breaks
        return [float(time) for time in np.atleast_1d(np.asarray(found, dtype=float))]

    def rehearse(self, where: str, sizes: tuple[int, int, int, int]) -> None:
        """Call the Python function once, on arrays of these sizes: compiled, it would read and write beyond their ends
        without a word. x is a pose, or two, or coordinates."""
        if self.in_python or sizes in self._rehearsed:
            return
        x, y, p, out = (np.zeros(size) for size in sizes)
        x[::7] = 1.0
        with np.errstate(all="ignore"):
            try:
                result = self.function(0.0, x, y, p, out)
            except IndexError as error:
                raise ValueError(
                    f"{where}: law {self.__name__!r} goes beyond its arrays ({error}): it is given {sizes[0]} and "
                    f"{sizes[1]} numbers and {sizes[2]} parameters, and writes {sizes[3]}"
                ) from None
            except Exception:  # what it does at zero need not be possible, or not in Python
                return
        if result is not None:
            raise ValueError(f"{where}: law {self.__name__!r} {RETURNS}")
        self._rehearsed.add(sizes)

    def take_error(self) -> BaseException | None:
        """What was raised, which is forgotten here."""
        if (error := self.error) is not None:
            self.error = None
        return error

    def __reduce__(self) -> Any:
        return reduced(self, self.function, "law")

    def __deepcopy__(self, memo: object = None) -> Law:
        return self  # as functions are copied

    __copy__ = __deepcopy__

    @property
    def compiled(self) -> Law:
        """The law that holds the compiled function."""
        return self

    @property
    def address(self) -> int:
        return self._addresses.of()

    def _compiled(self, kind: None) -> int:
        scope = {"__name__": self.__module__, "function": kernel(self.function), "carray": carray, "clear": clear}
        name = f"law_{self.__name__}" if self.__name__.isidentifier() else "law_function"
        made: Any = native(compile_text(LAW_TEXT.format(name=name), name, scope))
        self._natives.append(made)  # mechanisms that were made before have the address of theirs
        arguments = (NUMBER, *(NUMBERS,) * 4, *(INTEGER,) * 4)
        with explained(f"law {self.__name__!r}", self.function):
            return address_of(made, *arguments)


class PythonLaw(Law):
    """A plain Python function as a law. An exception in it is kept in `error`, for the thread that called it, and the
    result is NaN. To be called inside of `kernel.undisturbed.Calling`."""

    in_python = True

    def __init__(self, function: Callable[..., Any]):
        super().__init__(function, getattr(function, "breaks", ()))
        self._raised = threading.local()
        self._callback = _BY_ADDRESS(self._evaluate)

    def __repr__(self) -> str:
        return f"<Python law {self.__name__}>"

    @property
    def address(self) -> int:
        return ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    @property
    def error(self) -> BaseException | None:
        return getattr(self._raised, "error", None)

    @error.setter
    def error(self, error: BaseException | None) -> None:
        self._raised.error = error

    def _evaluate(
        self, t: float, x: Any, y: Any, p: Any, out: Any, x_size: int, y_size: int, p_size: int, out_size: int
    ) -> None:
        try:  # before anything else: what is raised outside is lost, and numbers of the call before are taken
            result = _numbers(out, out_size)
            result[:] = 0.0
            found = self.function(t, _numbers(x, x_size), _numbers(y, y_size), _numbers(p, p_size), result)
            if found is not None:
                raise ValueError(f"law {self.__name__!r} {RETURNS}")
        except BaseException as error:  # a C loop is in between: keep it and let a NaN end the run
            self.error = self.error or error
            ctypes.memset(out, 0xFF, 8 * out_size)  # NaN, in one call that makes nothing


@functools.cache
def _room(size: int) -> Any:
    return ctypes.c_double * size


def _numbers(address: int, size: int) -> np.ndarray:
    """The numbers at an address, as they are."""
    return np.frombuffer(_room(size).from_address(address)) if size else np.empty(0)


@overload
def law(function: Callable[..., Any]) -> Law: ...
@overload
def law(*, breaks: Sequence[float] | Callable[..., Any]) -> Callable[[Callable[..., Any]], Law]: ...
def law(function: Callable[..., Any] | None = None, *, breaks: Sequence[float] | Callable[..., Any] = ()) -> Any:
    """Decorator: make a function f(t, x, y, parameters, out) a compiled law. What it does not write to out is zero.

    With @law(breaks=[5.0, 5.1]) adaptive steps end at these times [s] and begin anew; breaks may also be a function of
    the parameters that gives them. A plain Python function can have them as an attribute `breaks`.
    """
    if function is None:
        return lambda f: Law(f, breaks)
    return Law(function, breaks)


def as_law(given: Any) -> Law:
    """A law that compiled loops can call."""
    return given if isinstance(given, Law) else PythonLaw(given)
