"""The compilation policy: what is compiled how, and kept.

`contract` lets a*b + c become one fused operation, `nsz` ignores the sign of zero; nothing else of fast-math, so NaN
and infinity keep their meaning. `error_model="numpy"`: no branch before each division.

Numba is loaded when something is compiled (`kernel.compiling`, the only place that calls its `njit`), not before:
machine code from disk runs without it.
"""

from __future__ import annotations

import functools
import importlib
import os
import sys
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, overload

from chasles.cached import cached_property
from chasles.kernel.array_layout import known
from chasles.kernel.machine_code import Compiled


def _asked(variable: str) -> bool:
    return os.environ.get(variable, "") not in ("", "0")


CHECKED, PLAIN, COMPILED = _asked("CHASLES_CHECK"), _asked("CHASLES_PLAIN_NUMBA"), not _asked("NUMBA_DISABLE_JIT")
FAST_MATH = {"contract", "nsz"}
COMPILER_FLAGS: dict[str, Any] = {
    "fastmath": FAST_MATH,
    "error_model": "numpy",
    **({"boundscheck": True} if CHECKED else {}),
}

ENTRIES: list[Any] = []  # the kernels called from Python; the budget test counts their signatures


def compiling() -> Any:
    """What compiles; loads Numba."""
    return importlib.import_module("chasles.kernel.compiling")


def loaded() -> bool:
    """Whether Numba was needed in this process."""
    return "chasles.kernel.compiling" in sys.modules


class _Depth(threading.local):
    """Of each thread its own: in another one a `face` must not act as a kernel meanwhile."""

    depth = 0


INTERPRETED = _Depth()


class Interpreted(ContextDecorator):
    """Marks that kernels run as plain Python, so that a `face` called by a kernel acts as the kernel."""

    def __enter__(self):
        INTERPRETED.depth += 1

    def __exit__(self, *exception):
        INTERPRETED.depth -= 1


@overload
def kernel(function: Callable) -> Any: ...
@overload
def kernel(
    *, entry: bool = ..., allocates: bool = ..., vectorized: bool = ..., shared: bool = ...
) -> Callable[[Callable], Any]: ...
def kernel(
    function: Callable | None = None,
    *,
    entry: bool = False,
    allocates: bool = False,
    vectorized: bool = True,
    shared: bool = False,
) -> Any:
    """Compile a function under the package's policy.

    Plain `@kernel` is for what other kernels call: it is inlined into them, always, and costs nothing by itself. A
    large one that is called at several places may be `shared`: the code that calls it has one copy, and calls that.
    `@kernel(entry=True)` is for the loops that Python calls: compiled once a signature, kept on disk if part of the
    package, releases the interpreter lock. A kernel that makes arrays, or gives back views, says `allocates=True`. If
    an entry is not `vectorized`, LLVM does not vectorize its loops (see `native`), which compiles sooner.
    With NUMBA_DISABLE_JIT=1 both return the plain Python function, which then runs on whole NumPy columns instead of
    lanes (see `kernel.lanes`).
    """
    if function is None:
        options = {"entry": entry, "allocates": allocates, "vectorized": vectorized, "shared": shared}
        return lambda f: kernel(f, **options)
    if not COMPILED:
        return Interpreted()(function) if entry else function
    if not entry:
        return Inlined(function, allocates, shared)
    kept = _kept(function)
    made = Compiled(function, allocates, vectorized=vectorized) if kept else compiling().entry(function, allocates)
    ENTRIES.append(made)
    return made


class Inlined:
    """A kernel that is inlined into others, or of which they have one copy. Numba's object, 0.1 ms for each of a
    thousand, is made when one of them is compiled."""

    py_func: Callable

    def __init__(self, function: Callable, allocates: bool, shared: bool = False):
        functools.update_wrapper(self, function)  # type: ignore[arg-type]
        self.py_func, self._allocates, self._shared = function, allocates, shared

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object."""
        return compiling().inlined(self.py_func, self._allocates, self._shared)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python looks for what is not there
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


@overload
def native(function: Callable, *, keep: bool = ...) -> Any: ...
@overload
def native(*, vectorized: bool) -> Callable[[Callable], Any]: ...
def native(function: Callable | None = None, *, keep: bool = True, vectorized: bool = True) -> Any:
    """Compile a function of numbers and pointers that is called through its address only (see `kernel.address`).

    Without `keep` it is not kept on disk: for functions that are not the same in each process. If not `vectorized`,
    LLVM leaves loops as they are: where they are short and go through many arrays, looking whether any two of these
    overlap takes longer than the loops.
    """
    if function is None:
        return lambda f: _native(f, keep, vectorized)
    return _native(function, keep, vectorized)


def _native(function: Callable, keep: bool, vectorized: bool) -> Any:
    if not COMPILED:  # there is no address to call; what needs one says so when it is used
        return function
    if keep and _kept(function):
        return Compiled(function, native=True, vectorized=vectorized)
    return compiling().native(function)


def own(function: Callable) -> bool:
    """Whether a function is one of the package."""
    return (function.__module__ or "").startswith("chasles.")


def _kept(function: Callable) -> bool:
    """Whether machine code is kept on disk. In checked mode it is not: an error that is raised needs Numba."""
    return own(function) and not (PLAIN or CHECKED) and known()
