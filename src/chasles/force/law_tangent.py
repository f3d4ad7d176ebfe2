"""Derivatives of force laws: the law compiled for dual numbers or, where that cannot be, central differences."""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from chasles.kernel.address import DUALS as DUALS
from chasles.kernel.address import INTEGER, NUMBER, NUMBERS, address_of, clear
from chasles.kernel.dual import TANGENTS
from chasles.kernel.face import compile_text
from chasles.kernel.lanes import WIDTH
from chasles.kernel.late import carray, compiler_error, with_numba
from chasles.kernel.policy import kernel, native
from chasles.model.law import C_SIGNATURE, LAW_TEXT, Law, PythonLaw
from chasles.model.user_function import UserAddresses

DIFFERENCE = 2.0**-10  # of an argument of size one; the formula is of fourth order: about 1e-12 for smooth laws
_POINTER = ctypes.POINTER(ctypes.c_double)
with_numba("chasles.kernel.code.numpy_on_duals")


class LawTangent:
    """A law on dual numbers, by its address. `note` says so if its derivatives are differences."""

    def __init__(self, law: Law, varied: bool = True):
        """varied: whether its parameters are dual numbers too."""
        self.law, self.note, self.varied = law, "", varied
        if not isinstance(law, PythonLaw):
            try:
                self.address = _compiled(law.compiled, varied)
                return
            except compiler_error():
                self.note = f"law {law.__name__!r} does not compile for dual numbers"
        else:
            self.note = f"law {law.__name__!r} is a plain Python function"
        self.note += ": its derivatives are central differences of fourth order"
        self._evaluate = C_SIGNATURE(law.address)
        self._callback = C_SIGNATURE(self._difference)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def _difference(self, t: float, x: Any, y: Any, p: Any, out: Any, *sizes: int) -> None:
        try:
            self._differences(t, x, y, p, out, *sizes)
        except BaseException as error:  # a C loop is in between: keep it and let NaN come out
            self.law.error = self.law.error or error
            ctypes.memset(out, 0xFF, 8 * WIDTH * sizes[3])

    def _differences(
        self, t: float, x: Any, y: Any, p: Any, out: Any, x_size: int, y_size: int, p_size: int, out_size: int
    ) -> None:
        """The law at the values, and along each tangent of all its arguments together."""
        sizes = (x_size, y_size, p_size)
        given = [
            np.ctypeslib.as_array(a, (n, WIDTH)) if n else np.empty((0, WIDTH))
            for a, n in zip((x, y, p) if self.varied else (x, y), sizes, strict=False)
        ]
        if not self.varied:
            constants = np.ctypeslib.as_array(p, (p_size,)) if p_size else np.empty(0)
            given.append(np.concatenate([constants[:, None], np.zeros((p_size, TANGENTS))], axis=1))
        arguments = np.concatenate(given)
        result = np.ctypeslib.as_array(out, (out_size, WIDTH))
        center, edges = arguments[:, 0], np.cumsum(sizes)

        def law_at(place: np.ndarray) -> np.ndarray:
            force = np.zeros(out_size)
            parts = [np.ascontiguousarray(part) for part in np.split(place, edges[:-1])]
            pointers = (part.ctypes.data_as(_POINTER) for part in (*parts, force))
            self._evaluate(t, *pointers, *sizes, out_size)
            return force

        result[:, 0] = law_at(center)
        for k in range(1, TANGENTS + 1):
            along = arguments[:, k]
            size = np.abs(along).max(initial=0.0)
            if not size > 0.0:
                result[:, k] = 0.0 if size == 0.0 else np.nan
                continue
            h = DIFFERENCE / size
            near = law_at(center + h * along) - law_at(center - h * along)
            far = law_at(center + 2 * h * along) - law_at(center - 2 * h * along)
            result[:, k] = (8 * near - far) / (12 * h)


def _compiled(law: Law, varied: bool) -> int:
    """Address of a compiled law on duals; compiled once for the constants that it uses."""
    found: UserAddresses = law.__dict__.setdefault("_on_duals", UserAddresses(law, functools.partial(_made, law)))
    return found.of(varied)


def _made(law: Law, varied: bool) -> int:
    scope = {"__name__": law.__module__, "function": kernel(law.function), "carray": carray, "clear": clear}
    name = f"law_{law.__name__}_on_duals" if law.__name__.isidentifier() else "law_on_duals"
    function = native(compile_text(LAW_TEXT.format(name=name), name, scope))
    law._natives.append(function)  # kept alive with the law
    return address_of(function, NUMBER, DUALS, DUALS, DUALS if varied else NUMBERS, DUALS, *(INTEGER,) * 4)
