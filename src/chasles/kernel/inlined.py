"""A compiler for functions that are only ever inlined: it stops before machine code.

Numba optimises each function and translates it to machine code, also those that are inlined into all of their callers.
With kernels in several layers most of the time of a cold start went there. This compiler leaves the function as it
comes out of the lowering; the caller optimises it together with its own code.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler


class _WithoutEnvironment:
    """The code generator, except that there is no machine code that an environment could be given to."""

    def __init__(self, codegen: Any):
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to do: inlined kernels use no environment."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class InlinedLibrary(JITCodeLibrary):
    """Code that is linked into others and never run by itself."""

    @property
    def codegen(self):
        return _WithoutEnvironment(self._codegen)

    def get_pointer_to_function(self, name: str) -> int:
        self._ensure_finalized()
        return 0  # Numba's word for "not defined here"

    def _optimize_final_module(self):
        """Left to the callers."""

    def _finalize_final_module(self):
        self._finalize_dynamic_globals()
        self._verify_declare_only_symbols()
        self._finalized = True


class InlinedCompiler(Compiler):
    """Numba's compiler with such a library."""

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(typingctx, targetctx, library, args, return_type, flags, locals)
        if library is None:
            self.state.library = InlinedLibrary(self.state.targetctx.codegen(), "inlined kernel")
