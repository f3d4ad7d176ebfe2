"""All that is used of Numba beyond its public functions, in one place, and whether this version of Numba has it.

Numba's public functions compile everything here. What is private makes it bearable: code is kept on disk
(`kernel.code_store`), and much of the compiler's work is left out (`kernel.compiler`). Such parts may change with any
version of Numba, so versions are bounded by what was tested, and `missing` tests the features themselves.

`CHASLES_PLAIN_NUMBA=1` does without: nothing is kept, the first call of everything compiles, results are the same. A
version that was not tested is refused without it.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
from types import ModuleType
from typing import Any

import llvmlite
import numba
from numba.core import event

# ruff: noqa: F401 (others import these names from here)
# of the low-level interface for extensions: what the types of `kernel.lanes`, `kernel.dual` and references are made of
from numba.core.cgutils import alloca_once, alloca_once_value, if_unlikely, memset
from numba.core.imputils import impl_ret_borrowed
from numba.core.typeconv import Conversion
from numba.core.typing.templates import AbstractTemplate, AttributeTemplate, ConcreteTemplate, infer_global

from chasles.kernel.policy import PLAIN

ABSENT = ""  # what cannot be imported
try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import Compiler, compile_result
    from numba.core.compiler_machinery import PassManager, register_pass
    from numba.core.environment import Environment
    from numba.core.errors import LiteralTypingError, NumbaError
    from numba.core.funcdesc import PythonFunctionDescriptor as FunctionDescriptor
    from numba.core.lowering import Lower
    from numba.core.lowering import _lit_or_omitted as literal_or_omitted
    from numba.core.options import DefaultOptions
    from numba.core.registry import cpu_target
    from numba.core.targetconfig import ConfigStack
    from numba.core.typed_passes import (
        InlineOverloads,
        IRLegalization,
        NativeLowering,
        NoPythonBackend,
        NopythonTypeInference,
        PreLowerStripPhis,
    )
    from numba.core.typing import Context as TypingContext
    from numba.core.typing import fold_arguments
    from numba.core.untyped_passes import (
        DeadBranchPrune,
        FixupArgs,
        GenericRewrites,
        IRProcessing,
        ReconstructSSA,
        RewriteSemanticConstants,
        TranslateByteCode,
    )
except ImportError as error:
    ABSENT = error.msg

# the first version of each and the first that was not tested, as in pyproject.toml
TESTED = {"numba": ("0.62", "0.69"), "llvmlite": ("0.45", "0.51")}
# what `kernel.compiler` and `kernel.code_store` call or put something else in the place of
USED = {
    "JITCodeLibrary": (
        *("enable_object_caching", "get_pointer_to_function", "_ensure_finalized", "_optimize_functions"),
        *("_optimize_final_module", "_finalize_final_module", "_finalize_dynamic_globals", "_finalize_specific"),
        *("_verify_declare_only_symbols", "_get_compiled_object", "_get_module_for_linking"),
    ),
    "Compiler": ("define_pipelines",),
    "PassManager": ("add_pass", "finalize"),
    "Lower": ("create_cpython_wrapper", "create_cfunc_wrapper"),
    "TypingContext": ("resolve_function_type",),
}
COMPILER_ARGUMENTS = ["typingctx", "targetctx", "library", "args", "return_type", "flags", "locals"]


def missing() -> list[str]:
    """The private parts that this version of Numba does not have, or not as they are used here."""
    if ABSENT:
        return [ABSENT]
    found = [
        f"{name}.{one}" for name, all_used in USED.items() for one in all_used if not hasattr(globals()[name], one)
    ]
    if list(inspect.signature(Compiler).parameters) != COMPILER_ARGUMENTS:
        found.append(f"Compiler({', '.join(COMPILER_ARGUMENTS)})")
    return found


def untested(package: ModuleType) -> str:
    """What is wrong with the version of a package; nothing if it was tested."""
    first, end = TESTED[package.__name__]
    if _numbers(first) <= _numbers(package.__version__) < _numbers(end):
        return ""
    return (
        f"chasles is not tested with {package.__name__} {package.__version__}, only from {first} to below {end}. "
        f"Install one of these (pip install '{package.__name__}>={first},<{end}'), or set CHASLES_PLAIN_NUMBA=1 to try "
        "without Numba's private parts: compiled code is then not kept"
    )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version)[:2])


def check() -> None:
    """Refuse versions that were not tested, or that lack a private part; unless the user does without."""
    if PLAIN:
        return
    for package in (numba, llvmlite):
        if wrong := untested(package):
            raise ImportError(wrong)
    if absent := missing():
        raise ImportError(
            f"numba {numba.__version__} lacks what chasles uses to compile and to keep code ({absent[0]}). Install "
            "another version, or set CHASLES_PLAIN_NUMBA=1 to do without: every process then compiles again"
        )


def counting(allocates: bool) -> dict[str, bool]:
    """The option of `njit` that says whether references to arrays are counted; nothing if there is no such option."""
    return {"_nrt": allocates} if not PLAIN and hasattr(DefaultOptions, "_nrt") else {}


def machine_code_of(library: Any) -> tuple[bytes, tuple[str, ...]]:
    """The machine code of a compiled function, and the names of functions that it calls outside of it."""
    module = library._get_module_for_linking()
    outside = [one.name for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")]
    return library._get_compiled_object(), tuple(outside)


def c_address(compiled: Any) -> int:
    """Address of the C form of a compiled function: what `numba.cfunc` gives, for functions that are kept on disk."""
    return compiled.library.get_pointer_to_function(compiled.fndesc.llvm_cfunc_wrapper_name)


def return_if_error(context: Any, builder: Any, status: Any) -> None:
    """After a call: if it raised an error, so does the caller."""
    with if_unlikely(builder, status.is_error):
        context.call_conv.return_status_propagate(builder, status)


class ArraysFirst(event.Listener):
    """Before the first compilation; what is loaded from disk does without."""

    def on_start(self, event: event.Event) -> None:
        load_arrays()

    def on_end(self, event: event.Event) -> None:
        """Nothing to do."""


@functools.cache
def load_arrays() -> None:
    """Load Numba's functions of arrays without SciPy's linear algebra, 0.3 s, which Numba loads only to see whether
    there is a BLAS. No kernel uses one; what a user compiles that does looks for it then."""

    def look() -> None:
        if importlib.util.find_spec("scipy") is None:
            raise ImportError

    try:
        from numba.np import linalg

        own, linalg.ensure_blas = linalg.ensure_blas, look
        try:
            from numba.np import arraymath
        finally:
            linalg.ensure_blas = own
        arraymath.ensure_blas = own
    except (ImportError, AttributeError):  # another version of Numba: it loads what it likes
        pass


check()
if not PLAIN:
    event.register("numba:compile", ArraysFirst())
