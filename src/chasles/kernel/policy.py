"""The compilation policy: the only place that calls Numba's `njit`.

`contract` lets a*b + c become one fused operation, `nsz` ignores the sign of zero; nothing else of fast-math, so NaN
and infinity keep their meaning. `error_model="numpy"`: no branch before each division.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, overload

import numba

from chasles.kernel.cache import PackageCache

CHECKED = os.environ.get("CHASLES_CHECK", "") not in ("", "0")
COMPILED = not numba.config.DISABLE_JIT
FAST_MATH = {"contract", "nsz"}

ENTRIES: list[Any] = []  # the kernels called from Python; `chasles info` and the budget test count their signatures


class Interpreted(ContextDecorator):
    """Marks that kernels run as plain Python, so that a `face` called by a kernel acts as the kernel."""

    depth = 0

    def __enter__(self):
        Interpreted.depth += 1

    def __exit__(self, *exception):
        Interpreted.depth -= 1


@overload
def kernel(function: Callable) -> Any: ...
@overload
def kernel(*, entry: bool) -> Callable[[Callable], Any]: ...
def kernel(function: Callable | None = None, *, entry: bool = False) -> Any:
    """Compile a function under the package's policy.

    Plain `@kernel` is for what other kernels call: it is inlined into them, always, and costs nothing by itself.
    `@kernel(entry=True)` is for the loops that Python calls: compiled once a signature, kept on disk if part of the
    package, releases the interpreter lock. With NUMBA_DISABLE_JIT=1 both return the plain Python function, which then
    runs on whole NumPy columns instead of lanes (see `kernel.lanes`).
    """
    if function is None:
        return lambda f: kernel(f, entry=entry)  # type: ignore[call-overload]
    if not COMPILED:
        return Interpreted()(function) if entry else function
    if not entry:
        return numba.njit(
            forceinline=True, fastmath=FAST_MATH, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True
        )(function)
    dispatcher = numba.njit(fastmath=FAST_MATH, error_model="numpy", nogil=True)(function)
    _keep(dispatcher)
    ENTRIES.append(dispatcher)
    return dispatcher


def native(function: Callable) -> Any:
    """Compile a function of numbers and pointers that is called through its address only (see `kernel.address`)."""
    dispatcher = numba.njit(fastmath=FAST_MATH, error_model="numpy", nogil=True, no_cpython_wrapper=True)(function)
    _keep(dispatcher)
    return dispatcher


def _keep(dispatcher: Any) -> None:
    """Keep the machine code of the package's own functions on disk."""
    if (dispatcher.py_func.__module__ or "").startswith("chasles."):
        dispatcher._cache = PackageCache(dispatcher.py_func)
