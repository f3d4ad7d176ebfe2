"""The compilation policy: the only place that calls Numba's `njit`.

`contract` lets a*b + c become one fused operation, `nsz` ignores the sign of zero; nothing else of fast-math, so NaN
and infinity keep their meaning. `error_model="numpy"`: no branch before each division.
"""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from typing import Any, overload

import numba
from numba.extending import typeof_impl

from chasles.cached import cached_property
from chasles.kernel import notice as notice
from chasles.kernel.numba_private import PLAIN, counting
from chasles.kernel.undisturbed import COMPILING

if not PLAIN:
    from chasles.kernel.code_store import CodeStore
    from chasles.kernel.compiler import InlinedCompiler, InlinedPackageCompiler, PackageCompiler

CHECKED = os.environ.get("CHASLES_CHECK", "") not in ("", "0")
COMPILED = not numba.config.DISABLE_JIT
FAST_MATH = {"contract", "nsz"}
FLAGS: dict[str, Any] = {"fastmath": FAST_MATH, "error_model": "numpy", **({"boundscheck": True} if CHECKED else {})}

ENTRIES: list[Any] = []  # the kernels called from Python; `chasles info` and the budget test count their signatures


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
def kernel(*, entry: bool = ..., allocates: bool = ...) -> Callable[[Callable], Any]: ...
def kernel(function: Callable | None = None, *, entry: bool = False, allocates: bool = False) -> Any:
    """Compile a function under the package's policy.

    Plain `@kernel` is for what other kernels call: it is inlined into them, always, and costs nothing by itself.
    `@kernel(entry=True)` is for the loops that Python calls: compiled once a signature, kept on disk if part of the
    package, releases the interpreter lock. A kernel that makes arrays says `allocates=True`. With NUMBA_DISABLE_JIT=1
    both return the plain Python function, which then runs on whole NumPy columns instead of lanes (see `kernel.lanes`).
    """
    if function is None:
        return lambda f: kernel(f, entry=entry, allocates=allocates)  # type: ignore[call-overload]
    if not COMPILED:
        return Interpreted()(function) if entry else function
    if not entry:
        return Inlined(function, allocates)
    options = {**_counting(function, allocates), **_passes(function)}
    dispatcher = numba.njit(nogil=True, **FLAGS, **options)(function)
    _undisturbed(dispatcher)
    _keep(dispatcher)
    ENTRIES.append(dispatcher)
    return dispatcher


class Inlined:
    """A kernel that is inlined into others. Numba's object, 0.1 ms for each of a thousand, is made when one of them is
    compiled."""

    py_func: Callable

    def __init__(self, function: Callable, allocates: bool):
        functools.update_wrapper(self, function)  # type: ignore[arg-type]
        self.py_func, self._allocates = function, allocates

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's object."""
        options = {**_inlined(self.py_func), **_counting(self.py_func, self._allocates)}
        return numba.njit(forceinline=not CHECKED, no_cpython_wrapper=True, no_cfunc_wrapper=True, **FLAGS, **options)(
            self.py_func
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # Python looks for what is not there
            raise AttributeError(name)
        return getattr(self.dispatcher, name)


@typeof_impl.register(Inlined)
def _typeof_inlined(value, context):
    return typeof_impl(value.dispatcher, context)


def _counting(function: Callable, allocates: bool) -> dict[str, bool]:
    """The package's kernels, but for a few, allocate nothing, so they need not count references to arrays, which costs
    time twice: when they are compiled and when they run. The option is Numba's own and may go; then all count.

    Those that do allocate must say so: without a word they take the option of the caller that compiles them first,
    which depends on what is in the cache."""
    return counting(allocates) if _own(function) else {}


def _passes(function: Callable) -> dict[str, Any]:
    """The shortened compiler, for the package's own functions."""
    return {"pipeline_class": PackageCompiler} if _own(function) and not PLAIN else {}


def _inlined(function: Callable) -> dict[str, Any]:
    """The compiler of what is only ever inlined."""
    if PLAIN:
        return {}
    return {"pipeline_class": InlinedPackageCompiler if _own(function) else InlinedCompiler}


def _own(function: Callable) -> bool:
    return (function.__module__ or "").startswith("chasles.")


def native(function: Callable, keep: bool = True) -> Any:
    """Compile a function of numbers and pointers that is called through its address only (see `kernel.address`).

    Without `keep` it is not kept on disk: for functions that are not the same in each process.
    """
    if not COMPILED:  # there is no address to call; what needs one says so when it is used
        return function
    options = _passes(function)
    dispatcher = numba.njit(nogil=True, no_cpython_wrapper=True, **FLAGS, **options)(function)
    _undisturbed(dispatcher)
    if keep:
        _keep(dispatcher)
    return dispatcher


def _undisturbed(dispatcher: Any) -> None:
    """Put Ctrl-C off while machine code is made, loaded or kept."""
    make = dispatcher.compile

    def compile(signature: Any) -> Any:
        with COMPILING:
            return make(signature)

    dispatcher.compile = compile


def _keep(dispatcher: Any) -> None:
    """Keep the machine code of the package's own functions on disk."""
    if _own(dispatcher.py_func) and not PLAIN:
        dispatcher._cache = CodeStore(dispatcher.py_func)
