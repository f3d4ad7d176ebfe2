"""Functions: what a kernel takes and gives, and the library that holds its code."""

from __future__ import annotations

import ast
from typing import Any

from llvmlite import ir
from llvmlite.ir.instructions import Ret
from numba.core import types
from numba.core.typing.templates import signature

from chasles.kernel.code.front import add_front
from chasles.kernel.numba_private import (
    Environment,
    FunctionDescriptor,
    LiteralTypingError,
    NumbaError,
    compile_result,
)
from chasles.kernel.translate.expression import UntranslatedError, Value
from chasles.kernel.translate.statement import Statements, WiderError
from chasles.kernel.translate.syntax import tree_of

TRIES = 6  # of loops whose variables become wider
LEFT: list[tuple[str, str, str]] = []  # what was left to Numba: module, name, reason
NOT_HERE = (UntranslatedError, NumbaError, NotImplementedError, LiteralTypingError)


def translated(state: Any, library: Any) -> Any:
    """What Numba's compiler would give for the function of `state`, made from its syntax tree; None if this compiler
    does not know something in it."""
    function = state.func_id.func
    if state.func_ir is not None or state.flags.boundscheck:
        return None
    tree = tree_of(function)
    if tree is None or not _plain(tree):
        return None
    wider: dict[Any, Any] = {}
    for _ in range(TRIES):
        try:
            return _Function(state, library(), tree, wider).compiled()
        except WiderError:
            continue
        except NOT_HERE as reason:
            LEFT.append((function.__module__, function.__qualname__, str(reason)))
            return None
    return None


def _plain(tree: ast.FunctionDef) -> bool:
    """Whether a function takes its arguments one by one."""
    arguments = tree.args
    return not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs)


class _Function:
    """A function on its way to LLVM."""

    def __init__(self, state: Any, library: Any, tree: ast.FunctionDef, wider: dict[Any, Any]):
        self.state, self.library, self.tree = state, library, tree
        identity, flags, target = state.func_id, state.flags, state.targetctx
        self.described = FunctionDescriptor(
            *(True, identity.func.__module__, identity.func_qualname, identity.unique_name),
            *(identity.func.__doc__ or "", {}, types.none, {}, tuple(identity.arg_names), ()),
            mangler=target.mangler,
            argtypes=tuple(state.args),
            inline=flags.forceinline,
            noalias=flags.noalias,
            abi_tags=[flags.get_mangle_string()],
            uid=identity.unique_id,
        )
        self.environment = Environment.from_fndesc(self.described)
        self.module = library.create_ir_module(self.described.unique_name)
        # references are not counted, whatever the flags say: nothing is allocated here, so nothing has to be freed
        self.context = target.subtarget(environment=self.environment, fndesc=self.described, enable_nrt=False)
        self.body = Statements(state.typingctx, self.context, identity.func, tree)
        self.body.wider, self.body.counted = wider, flags.nrt

    def compiled(self) -> Any:
        """The compiled function, as Numba keeps it."""
        with self.state.targetctx.push_code_library(self.library):
            helper = self._write()
            self.context.post_lowering(self.module, self.library)
            self.library.add_ir_module(self.module)
            _forget(self.module)
            self._fronts()
        return self._finished(helper)

    def _write(self) -> Any:
        described, context, convention = self.described, self.context, self.context.call_conv
        context.declare_env_global(self.module, context.get_env_name(described))
        function = context.declare_function(self.module, described)
        body, entry = self.body, function.append_basic_block("entry")
        body.builder = ir.IRBuilder(entry)
        helper = convention.init_call_helper(body.builder)
        codes = convention.decode_arguments(body.builder, described.argtypes, function)
        for name, kind, code in zip(described.args, described.argtypes, codes, strict=True):
            body.scope[name] = self._argument(kind, code)
        arguments = set(map(id, body.scope.values()))
        tail, first = body.builder.block, function.append_basic_block("first")
        body.builder.position_at_end(first)
        if body.statements(self.tree.body):
            body.returned.append((body.builder.block, body.constant(None)))
        kinds = [body.kind(value) for _, value in body.returned]
        described.restype = result = body.common(kinds) if kinds else types.none
        given = all(id(value) in arguments for _, value in body.returned)
        if isinstance(result, types.Array) and not (given or body.counted):
            raise UntranslatedError("an array is given back that was not given")
        _retype(function, convention.get_function_type(result, described.argtypes))
        ends = {id(block) for block, _ in body.returned}
        others = [block for block in function.blocks if id(block) not in ends]
        self.library.raises = any(isinstance(block.terminator, Ret) for block in others)
        for block, value in body.returned:
            body.builder.position_at_end(block)
            code = body.cast(value, result)
            if body.counted:
                code = _uncounted(context, body.builder, result, code)
            code = context.get_return_value(body.builder, result, code)
            convention.return_value(body.builder, code)
        body.builder.position_at_end(tail)
        body.builder.branch(first)
        return helper

    def _argument(self, kind: Any, code: Any) -> Value:
        if isinstance(kind, types.Omitted | types.StarArgTuple | types.Optional):
            raise UntranslatedError("an argument that may be left out")
        if isinstance(kind, types.IntegerLiteral | types.BooleanLiteral):
            return Value(kind, None, kind.literal_value)
        if isinstance(kind, types.Dispatcher):
            return Value(kind, code, kind.dispatcher)
        return Value(kind, code)

    def _fronts(self) -> None:
        """What Python and C call."""
        flags = self.state.flags
        if not flags.no_cpython_wrapper:
            add_front(self.library, self.state.targetctx, self.described, native=False)
        if not flags.no_cfunc_wrapper:
            add_front(self.library, self.state.targetctx, self.described, native=True)

    def _finished(self, helper: Any) -> Any:
        state, target = self.state, self.state.targetctx
        entry = target.get_executable(self.library, self.described, self.environment)
        target.insert_user_function(entry, self.described, [self.library])
        return compile_result(
            typing_context=state.typingctx,
            target_context=target,
            entry_point=entry,
            typing_error=None,
            type_annotation=None,
            library=self.library,
            call_helper=helper,
            signature=signature(self.described.restype, *state.args),
            objectmode=False,
            lifted=(),
            fndesc=self.described,
            environment=self.environment,
            metadata=state.metadata,
            reload_init=list(self.library._reload_init),
        )


def _uncounted(context: Any, builder: ir.IRBuilder, kind: Any, code: Any) -> Any:
    """What is given back, with arrays whose references nobody counts: a caller that counts would take one away that was
    never added."""
    if isinstance(kind, types.Array):
        for name in ("meminfo", "parent"):
            at = context.data_model_manager[kind].get_field_position(name)
            code = builder.insert_value(code, ir.Constant(code.type.elements[at], None), at)
    elif isinstance(kind, types.BaseTuple):
        for k, one in enumerate(kind):
            if isinstance(one, types.Array | types.BaseTuple):
                part = _uncounted(context, builder, one, builder.extract_value(code, k))
                code = builder.insert_value(code, part, k)
    return code


def _retype(function: ir.Function, kind: ir.FunctionType) -> None:
    """What a function gives back is known when its last statement is written; until then its type is another."""
    function.ftype, function.type = kind, kind.as_pointer()
    for argument, one in zip(function.args, kind.args, strict=True):
        argument.type = one


def _forget(module: ir.Module) -> None:
    """Let go of the text of a module: its parts hold each other, and the collector of garbage rests."""
    for function in module.functions:
        for block in function.blocks:
            block.instructions.clear()
        function.blocks.clear()
