"""What is loaded when something is compiled: Numba, with the compilers and the listeners of the package.

This is the only place that calls Numba's `njit`, so the flags are the same everywhere.
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable
from typing import Any

import numba
from numba.core import types
from numba.extending import typeof_impl

from chasles.kernel import notice as notice
from chasles.kernel.face import Face
from chasles.kernel.late import MODULES, Late, late
from chasles.kernel.machine_code import Compiled
from chasles.kernel.numba_private import c_address, counting, cpu_target
from chasles.kernel.policy import CHECKED, COMPILER_FLAGS, PLAIN, Inlined, own
from chasles.kernel.undisturbed import COMPILING

if not PLAIN:
    from chasles.kernel.compiler import InlinedCompiler, InlinedPackageCompiler, PackageCompiler, ScalarLoopsCompiler

if numba.config.DISABLE_JIT:
    raise RuntimeError("Numba is switched off by its settings; use NUMBA_DISABLE_JIT=1, which chasles sees before")


# ---------------------------------------------------------------- dispatchers


def inlined(function: Callable, allocates: bool, shared: bool = False) -> Any:
    """Numba's object of a kernel that is inlined into others."""
    options: dict[str, Any] = _counting(function, allocates)
    if not PLAIN:
        options["pipeline_class"] = InlinedPackageCompiler if own(function) else InlinedCompiler
    options |= {"forceinline": not (CHECKED or shared), "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(**COMPILER_FLAGS, **options)(function)


def entry(function: Callable, allocates: bool) -> Any:
    """Numba's object of a loop that Python calls."""
    return _undisturbed(function, _counting(function, allocates))


def native(function: Callable) -> Any:
    """Numba's object of a function that is called through its address."""
    return _undisturbed(function, {"no_cpython_wrapper": True})


def kept(function: Callable, allocates: bool, native: bool, vectorized: bool = True) -> Any:
    """Numba's object of a function whose machine code is kept, and runs without Numba (see `kernel.code.front`)."""
    options = {"no_cpython_wrapper": True} if native else {"no_cfunc_wrapper": True, **_counting(function, allocates)}
    compiler = PackageCompiler if vectorized else ScalarLoopsCompiler
    return _undisturbed(function, {**options, "pipeline_class": compiler})


def _undisturbed(function: Callable, options: dict[str, Any]) -> Any:
    """Put Ctrl-C off while machine code is made."""
    dispatcher = numba.njit(nogil=True, **COMPILER_FLAGS, **options)(function)
    make = dispatcher.compile

    def compile(signature: Any) -> Any:
        with COMPILING:
            return make(signature)

    dispatcher.compile = compile
    return dispatcher


def _counting(function: Callable, allocates: bool) -> dict[str, Any]:
    """The package's kernels, but for a few, allocate nothing, so they need not count references to arrays, which costs
    time twice: when they are compiled and when they run. The option is Numba's own and may go; then all count.

    Those that do allocate must say so: without a word they take the option of the caller that compiles them first,
    which depends on what is in the cache."""
    return counting(allocates) if own(function) else {}


# ---------------------------------------------------------------- kinds of arguments

LANES, DUAL = late("chasles.kernel.code.lanes", "LANES"), late("chasles.kernel.code.dual", "DUAL")
_ARRAY = re.compile(r"(readonly )?array\((\w+), (\d)d, ([ACF])\)").fullmatch


def type_of(kind: str) -> Any:
    """Numba's type of a kind of argument (see `kernel.address`)."""
    if kind.endswith("*"):
        return types.CPointer(type_of(kind[:-1]))
    if ":" in kind:  # see `kind_in`
        module, _, name = kind.partition(":")
        return getattr(importlib.import_module(module), name)
    if found := _ARRAY(kind):
        return types.Array(getattr(types, found[2]), int(found[3]), found[4], readonly=bool(found[1]))
    if kind.startswith("Lanes"):
        return LANES.made
    if kind.startswith("Dual"):
        return DUAL.made
    return getattr(types, kind)


def address(function: Any, kinds: tuple[str, ...]) -> int:
    """The address of a function whose code is not kept."""
    arguments = tuple(map(type_of, kinds))
    function.compile(types.void(*arguments))
    return c_address(function.overloads[arguments])


def compiled(function: Any, kinds: tuple[str, ...], given: Any) -> Any:
    """The result of Numba's compiler for kinds of arguments, or for those that were given."""
    arguments = tuple(map(type_of, kinds)) if given is None else tuple(map(numba.typeof, given))
    function.compile(arguments)
    return function.overloads[arguments]


# ---------------------------------------------------------------- what kernels see


def refresh() -> None:
    """Let Numba see what modules have told it since something was compiled."""
    cpu_target.typing_context.refresh()
    cpu_target.target_context.refresh()


@typeof_impl.register(Inlined)
@typeof_impl.register(Compiled)
def _typeof_compiled(value, context):
    return typeof_impl(value.dispatcher, context)


@typeof_impl.register(Face)
def _typeof_face(value, context):
    return typeof_impl(value.kernel, context)


@typeof_impl.register(Late)
def _typeof_late(value, context):
    return cpu_target.typing_context.resolve_value_type(value.made)


for _module in MODULES:
    importlib.import_module(_module)
