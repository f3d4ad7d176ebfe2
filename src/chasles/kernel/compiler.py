"""How the package's own functions are compiled: Numba's compiler, with the work left out that they do not need.

Most of a cold start is Numba's own work, in proportion to the number of functions and statements. Some things are left
out, and none of them changes a result:

- Numba's own form of a function, and the inference of its types: `kernel.translate` writes LLVM's code at once;
- for the few that it does not know, passes over what the package's kernels do not have: closures, generators, `with`
  blocks, array expressions, `literal_unroll` (functions that users write keep all passes);
- looking through all that Numba knows of an operator, again for every `a * b` of the same kinds of numbers;
- LLVM's function passes on mere declarations, which are seven of eight functions of a module;
- unrolling of loops before kernels are inlined, when a loop looks small because all that it calls is not there yet;
- machine code of functions that are inlined into all of their callers: the caller optimizes them together
  with its own code;
- the search for cheaper addresses in loops (LLVM's loop strength reduction), two fifths of the time for machine code.
  Loops on lanes are up to a tenth slower without it and keep it; others are as fast.

The garbage collector rests while something is compiled: it finds next to nothing in millions of small objects.
"""

from __future__ import annotations

import functools
import gc
import operator
from typing import Any

import llvmlite.binding as llvm
from numba.core import event, types

from chasles.kernel.code.front import add_front
from chasles.kernel.numba_private import (
    Compiler,
    ConfigStack,
    DeadBranchPrune,
    FixupArgs,
    GenericRewrites,
    InlineOverloads,
    IRLegalization,
    IRProcessing,
    JITCodeLibrary,
    Lower,
    NativeLowering,
    NoPythonBackend,
    NopythonTypeInference,
    PassManager,
    PreLowerStripPhis,
    ReconstructSSA,
    RewriteSemanticConstants,
    TranslateByteCode,
    TypingContext,
    register_pass,
)
from chasles.kernel.translate.function import translated


class FrontLower(Lower):
    """What writes functions by Numba's passes, with fronts of the package instead of Numba's wrappers."""

    def create_cpython_wrapper(self, release_gil=False):
        add_front(self.library, self.context, self.fndesc, native=False)

    def create_cfunc_wrapper(self):
        add_front(self.library, self.context, self.fndesc, native=True)


@register_pass(mutates_CFG=True, analysis_only=False)
class FrontLowering(NativeLowering):
    """Numba's pass, with another class."""

    _name = "front_lowering"

    @property
    def lowering_class(self):
        return FrontLower


class PackageLibrary(JITCodeLibrary):
    """Code of which only functions with a body go through LLVM's function passes, and without unrolling: a first
    iteration taken out of Newton's loop would be a second copy of all that the loop calls. Unrolled is once kernels are
    inlined."""

    def __init__(self, codegen, name):
        super().__init__(codegen, name)
        self.enable_object_caching()  # so that it can be kept on disk
        self.on_lanes = False

    def _optimize_final_module(self):
        # names tell kinds of arguments, as long as kernels are not inlined
        self.on_lanes = any("Lanes" in function.name for function in self._final_module.functions)
        super()._optimize_final_module()

    def _finalize_specific(self):
        if self.on_lanes:
            super()._finalize_specific()
            return
        llvm.set_option("chasles", "-disable-lsr=1")  # of the whole process: Numba's lock lets nobody else compile
        try:
            super()._finalize_specific()
        finally:
            llvm.set_option("chasles", "-disable-lsr=0")

    def _optimize_functions(self, ll_module):
        ll_module.data_layout = self._codegen._data_layout
        options = llvm.create_pipeline_tuning_options(speed_level=3)
        options.loop_vectorization, options.slp_vectorization, options.loop_unrolling = True, False, False
        builder = llvm.create_pass_builder(self._codegen._tm, options)
        passes = builder.getFunctionPassManager()
        for function in ll_module.functions:
            if not function.is_declaration:
                passes.run(function, builder)


class _ScalarLoops:
    """The code generator, except that LLVM does not vectorize loops (see `kernel.policy.native`)."""

    def __init__(self, codegen: Any):
        self._codegen = codegen

    def _module_pass_manager(self, **options: Any) -> Any:
        return self._codegen._module_pass_manager(**options | {"loop_vectorize": False})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class ScalarLoopsLibrary(PackageLibrary):
    """Code whose loops stay as they are."""

    def __init__(self, codegen, name):
        super().__init__(_ScalarLoops(codegen), name)


class _WithoutEnvironment:
    """The code generator, except that there is no machine code that an environment could be given to."""

    def __init__(self, codegen: Any):
        self._codegen = codegen

    def set_env(self, name: str, environment: Any) -> None:
        """Nothing to do: inlined kernels use no environment."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)


class InlinedLibrary(PackageLibrary):
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
        self._finalized = True


OPERATORS = frozenset(value for name, value in vars(operator).items() if not name.startswith("_"))


class RememberingContext(TypingContext):
    """Numba's typing context, which it shares all data with, except that it remembers what operators on numbers give.

    Numba goes through all declarations of an operator, of strings and lists too, until one fits.
    """

    __slots__ = ("_known", "_original")  # not in what is shared

    def __init__(self, context: Any):
        self.__dict__ = context.__dict__  # type: ignore[misc]
        self._known: dict[Any, Any] = {}
        self._original = context

    def __hash__(self) -> int:  # Numba keeps what it finds by context: this one finds it too
        return hash(self._original)

    def __eq__(self, other: object) -> bool:
        return self.__dict__ is getattr(other, "__dict__", None)

    def resolve_function_type(self, func, args, kws):
        if kws or not isinstance(func, types.Function) or func.typing_key not in OPERATORS:
            return super().resolve_function_type(func, args, kws)
        if not all(isinstance(one, types.Number | types.Boolean) for one in args):
            return super().resolve_function_type(func, args, kws)
        if (func, args) not in self._known:
            self._known[func, args] = super().resolve_function_type(func, args, kws)
        return self._known[func, args]


@functools.cache
def _remembering(context: Any) -> RememberingContext:
    return RememberingContext(context)


class _WithLibrary(Compiler):
    """Numba's compiler with a library of another class."""

    library_class: type[PackageLibrary]

    def __init__(self, typingctx, targetctx, library, args, return_type, flags, locals):
        super().__init__(_remembering(typingctx), targetctx, library, args, return_type, flags, locals)
        if library is None:
            self.state.library = self._library()

    def _library(self) -> PackageLibrary:
        return self.library_class(self.state.targetctx.codegen(), self.library_class.__name__)


class InlinedCompiler(_WithLibrary):
    """For functions that are only ever inlined."""

    library_class = InlinedLibrary


FROM_BYTECODE = (TranslateByteCode, FixupArgs)
PASSES = (
    *(IRProcessing, RewriteSemanticConstants, DeadBranchPrune, GenericRewrites, ReconstructSSA),
    *(NopythonTypeInference, InlineOverloads),  # NumPy's functions of lanes and dual numbers are inlined overloads
    *(PreLowerStripPhis, IRLegalization, FrontLowering, NoPythonBackend),
)


@functools.cache
def _passes(from_bytecode: bool) -> PassManager:
    manager = PassManager("package")
    for one in (*(FROM_BYTECODE if from_bytecode else ()), *PASSES):
        manager.add_pass(one, "")
    manager.finalize()
    return manager


class _FewerPasses(_WithLibrary):
    def _compile_core(self):
        return self._translated() or super()._compile_core()

    def _translated(self):
        """The function from its syntax tree; None if it takes Numba's passes."""
        with ConfigStack().enter(self.state.flags.copy()):
            return translated(self.state, self._library)

    def define_pipelines(self):
        self.state.type_annotation = None  # made by a pass that is left out, read by nobody
        return [_passes(self.state.func_ir is None)]


class PackageCompiler(_FewerPasses):
    """For the package's functions that are called from Python or by their address."""

    library_class = PackageLibrary


class ScalarLoopsCompiler(PackageCompiler):
    """For those of them whose loops are not vectorized."""

    library_class = ScalarLoopsLibrary


class InlinedPackageCompiler(_FewerPasses):
    """For the package's functions that are only ever inlined."""

    library_class = InlinedLibrary


class CollectorRests(event.Listener):
    """No collection of garbage during a compilation. Numba's lock lets one thread compile at a time."""

    def __init__(self) -> None:
        self.depth, self.enabled = 0, False

    def on_start(self, event: event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            self.enabled = gc.isenabled()
            gc.disable()

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0 and self.enabled:
            gc.enable()


event.register("numba:compile", CollectorRests())
