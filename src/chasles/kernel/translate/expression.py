"""Expressions: the type and the code of each, from those of its parts."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any

from llvmlite import ir
from numba import carray
from numba.core import types
from numba.core.typing.templates import signature

from chasles.kernel.code.flat_array import field
from chasles.kernel.numba_private import fold_arguments, literal_or_omitted, return_if_error
from chasles.kernel.translate.syntax import ARITHMETIC, SIGNS, UNKNOWN, folded

COMPARISONS: dict[type, Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
ON_FLOATS = {operator.add: "fadd", operator.sub: "fsub", operator.mul: "fmul"}
ARRAY = {"size": "nitems", "shape": "shape"}  # what Numba calls these fields of an array
FLOAT, INTEGER = types.float64, types.int64
DOUBLE, WORD = ir.DoubleType(), ir.IntType(64)


def _views(kind: Any) -> bool:
    """Whether a function that gives an array gives a view: `carray`, or one of the package that writes LLVM's code."""
    key = getattr(kind, "typing_key", None)
    return key is carray or str(getattr(key, "__module__", "")).startswith("chasles.")


def _holds_arrays(kind: Any) -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_holds_arrays, kind)))


class UntranslatedError(Exception):
    """What this compiler does not know; Numba's passes do."""


class Value:
    """What an expression is: its type, its code, and its value if that is known when the kernel is compiled."""

    __slots__ = ("code", "kind", "known")

    def __init__(self, kind: Any, code: Any, known: Any = UNKNOWN):
        self.kind, self.code, self.known = kind, code, known


RULES: dict[Any, Any] = {}  # what Numba says of an operator or a function and types of arguments, found before


class Expressions:
    """Writes expressions at the place where `builder` is."""

    builder: ir.IRBuilder

    def __init__(self, typing: Any, context: Any, function: FunctionType):
        self.typing, self.context, self.function = typing, context, function
        self.counted = False  # whether Numba's way counts references to arrays; this one does not
        self.scope: dict[str, Value] = {}  # the local variables
        self.locals = frozenset(function.__code__.co_varnames)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        self.enclosed = dict(zip(function.__code__.co_freevars, cells, strict=True))

    def expression(self, node: ast.AST) -> Value:
        """The value of an expression."""
        found = getattr(self, f"_{type(node).__name__.lower()}", None)
        if found is None:
            raise UntranslatedError(type(node).__name__)
        return found(node)

    # ------------------------------------------------------------ values

    def code(self, value: Value) -> Any:
        """The code of a value; that of a constant is written here."""
        if value.code is None:
            known = value.known
            if value.kind == FLOAT:
                return ir.Constant(DOUBLE, known)
            if type(known) is int:
                return ir.Constant(WORD, known)
            return self.context.get_constant_generic(self.builder, value.kind, known)
        return value.code

    def cast(self, value: Value, kind: Any) -> Any:
        """The code of a value as another type."""
        if value.kind is kind or value.kind == kind:
            return self.code(value)
        if kind == FLOAT and type(value.known) is int:
            return ir.Constant(DOUBLE, float(value.known))
        return self.context.cast(self.builder, self.code(value), value.kind, kind)

    def constant(self, known: Any, literal: bool = True) -> Value:
        """A constant in the text."""
        if type(known) is float:
            return Value(FLOAT, None, known)
        if isinstance(known, bool | int | str) and literal:
            return Value(types.literal(known), None, known)
        return Value(self.typing.resolve_value_type(known), None, known)

    def from_outside(self, known: Any) -> Value:
        """A constant of the module or of an enclosing function."""
        if isinstance(known, bool | int | str | float):
            return self.constant(known)
        if isinstance(known, ModuleType) or callable(known):
            return Value(None, None, known)
        try:
            kind = self.typing.resolve_value_type(known)
        except ValueError as error:
            raise UntranslatedError(str(error)) from error
        if isinstance(kind, types.Array):
            kind = kind.copy(readonly=True)
        elif isinstance(kind, types.BaseAnonymousTuple):
            if not all(isinstance(one, bool | int | float) for one in known):
                raise UntranslatedError("a constant tuple of other things than numbers")
            literals = [types.maybe_literal(one) for one in known]
            kind = types.Tuple(literals) if all(literals) else kind
        return Value(kind, None, known)

    def element(self, value: Value, index: int) -> Value:
        """An element of a tuple."""
        kind = value.kind.types[index]
        if value.known is not UNKNOWN and isinstance(value.known[index], bool | int | float):
            return Value(kind, None, value.known[index])
        return Value(kind, self.builder.extract_value(self.code(value), index % len(value.kind)))

    def tuple_of(self, values: Sequence[Value]) -> Value:
        """A tuple of values."""
        kinds = tuple(self.kind(one) for one in values)
        uniform = bool(kinds) and all(kind == kinds[0] for kind in kinds)
        kind = types.UniTuple(kinds[0], len(kinds)) if uniform else types.Tuple(kinds)
        made = ir.Constant(self.context.get_value_type(kind), ir.Undefined)
        for index, one in enumerate(values):
            made = self.builder.insert_value(made, self.code(one), index)
        return Value(kind, made)

    def kind(self, value: Value) -> Any:
        """The type of a value; of functions it is found when it is asked for."""
        if value.kind is None:
            value.kind = self.typing.resolve_value_type(value.known)
        return value.kind

    # ------------------------------------------------------------ names and constants

    def _constant(self, node: ast.Constant) -> Value:
        return self.constant(node.value)

    def _name(self, node: ast.Name) -> Value:
        if node.id in self.scope:
            return self.scope[node.id]
        if node.id in self.locals:
            raise UntranslatedError(f"{node.id} may not be set")
        for place in (self.enclosed, self.function.__globals__, vars(builtins)):
            if node.id in place:
                return self.from_outside(place[node.id])
        raise UntranslatedError(f"no name {node.id}")

    def _tuple(self, node: ast.Tuple) -> Value:
        if (constant := folded(node)) is not UNKNOWN:
            return self.constant(constant, literal=False)
        return self.tuple_of(self.listed(node.elts))

    def listed(self, nodes: Sequence[ast.expr]) -> list[Value]:
        """Expressions of which some are tuples with a star."""
        values = []
        for node in nodes:
            if isinstance(node, ast.Starred):
                whole = self.expression(node.value)
                if not isinstance(whole.kind, types.BaseTuple):
                    raise UntranslatedError("a star before something else than a tuple")
                values += [self.element(whole, k) for k in range(len(whole.kind))]
            else:
                values.append(self.expression(node))
        return values

    # ------------------------------------------------------------ operators

    def operate(self, function: Any, *values: Value) -> Value:
        """An operator on values."""
        kinds = tuple(self.kind(one) for one in values)
        if function in ON_FLOATS and kinds == (FLOAT, FLOAT):
            return Value(FLOAT, getattr(self.builder, ON_FLOATS[function])(*(self.code(one) for one in values)))
        if isinstance(kinds[0], types.Array) and function is operator.getitem:
            kinds = kinds[0], types.unliteral(kinds[1])
        named, found = self.rule(function, kinds)
        codes = [self.cast(one, kind) for one, kind in zip(values, found.args, strict=True)]
        return Value(found.return_type, self.context.get_function(named, found)(self.builder, codes))

    def rule(self, function: Any, kinds: tuple[Any, ...]) -> Any:
        """How Numba calls an operator, and its signature for these types."""
        if (function, kinds) not in RULES:
            named = function if isinstance(function, str) else self.typing.resolve_value_type(function)
            found = self.typing.resolve_function_type(named, kinds, {})
            if found is None:
                raise UntranslatedError(f"{function.__name__} of {kinds}")
            RULES[function, kinds] = named, found
        return RULES[function, kinds]

    def _binop(self, node: ast.BinOp) -> Value:
        if (constant := folded(node)) is not UNKNOWN:
            return self.constant(constant)
        left, right = self.expression(node.left), self.expression(node.right)
        return self.operate(ARITHMETIC[type(node.op)], left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        if (constant := folded(node)) is not UNKNOWN:
            return self.constant(constant)
        value = self.expression(node.operand)
        if isinstance(node.op, ast.Not) and isinstance(value.known, bool | int):
            return self.constant(not value.known)
        return self.operate(SIGNS[type(node.op)], value)

    def compare(self, sign: ast.cmpop, left: Value, right: Value) -> Value:
        """Whether a comparison holds."""
        if isinstance(sign, ast.Is | ast.IsNot):
            if right.known is not None or isinstance(left.kind, types.Optional):
                raise UntranslatedError("`is` with something else than None")
            return self.constant((self.kind(left) == types.none) == isinstance(sign, ast.Is))
        if type(sign) not in COMPARISONS:
            raise UntranslatedError(type(sign).__name__)
        function = COMPARISONS[type(sign)]
        if isinstance(left.known, bool | int) and isinstance(right.known, bool | int):
            return self.constant(function(left.known, right.known))
        return self.operate(function, left, right)

    # ------------------------------------------------------------ parts

    def _attribute(self, node: ast.Attribute) -> Value:
        value = self.expression(node.value)
        if value.kind is None:  # of a module or a function
            return self.from_outside(getattr(value.known, node.attr))
        if isinstance(value.kind, types.BaseNamedTuple):
            if node.attr not in value.kind.fields:
                raise UntranslatedError(f"no field {node.attr}")
            return self.element(value, value.kind.fields.index(node.attr))
        kind = self.typing.resolve_getattr(value.kind, node.attr)
        if isinstance(value.kind, types.Array) and node.attr in ARRAY:
            return Value(kind, field(self.context, self.builder, value.kind, self.code(value), ARRAY[node.attr]))
        if kind is None:
            raise UntranslatedError(f"no attribute {node.attr}")
        if isinstance(kind, types.BoundFunction):
            return Value(kind, self.cast(value, kind.this))
        implement = self.context.get_getattr(value.kind, node.attr)
        return Value(kind, implement(self.context, self.builder, value.kind, self.code(value), node.attr))

    def _subscript(self, node: ast.Subscript) -> Value:
        return self.item(self.expression(node.value), self.index(node.slice))

    def index(self, node: ast.expr) -> Value:
        """What stands in brackets."""
        if not isinstance(node, ast.Slice):
            if isinstance(node, ast.Tuple) and any(isinstance(one, ast.Slice) for one in node.elts):
                return self.tuple_of([self.index(one) for one in node.elts])
            return self.expression(node)
        parts = [self.constant(None) if one is None else self.expression(one) for one in (node.lower, node.upper)]
        parts += [self.expression(node.step)] if node.step else []
        made = self.call(self.from_outside(slice), parts)
        if all(part.known is not UNKNOWN for part in parts):
            made.known = slice(*(part.known for part in parts))
        return made

    def item(self, whole: Value, index: Value) -> Value:
        """An element, or some, of a tuple or an array."""
        if isinstance(whole.kind, types.BaseTuple) and index.known is not UNKNOWN:
            if type(index.known) is int:
                return self.element(whole, index.known)
            if isinstance(index.known, slice):
                found = self.typing.resolve_static_getitem(value=whole.kind, index=index.known)
                static = signature(found.return_type, whole.kind, literal_or_omitted(index.known))
                implement = self.context.get_function("static_getitem", static)
                return Value(found.return_type, implement(self.builder, (self.code(whole), index.known)))
        if (place := self.element_of(whole, index)) is not None:
            return Value(whole.kind.dtype, self.context.unpack_value(self.builder, whole.kind.dtype, place))
        return self.operate(operator.getitem, whole, index)

    def element_of(self, whole: Value, index: Value) -> Any:
        """Pointer to an element of an array of one dimension; negative indices count from its end. None if it is no
        such array or no integer."""
        kind = self.kind(whole)
        if not (isinstance(kind, types.Array) and kind.ndim == 1 and kind.layout == "C" and kind.aligned):
            return None
        if types.unliteral(self.kind(index)) != INTEGER:
            return None
        array, at = self.code(whole), self.cast(index, INTEGER)
        if index.known is UNKNOWN or index.known < 0:
            size = self.builder.extract_value(field(self.context, self.builder, kind, array, "shape"), 0)
            negative = self.builder.icmp_signed("<", at, ir.Constant(WORD, 0))
            at = self.builder.select(negative, self.builder.add(at, size), at)
        return self.builder.gep(field(self.context, self.builder, kind, array, "data"), [at])

    # ------------------------------------------------------------ calls

    def _call(self, node: ast.Call) -> Value:
        function = self.expression(node.func)
        positional = self.listed(node.args)
        if any(one.arg is None for one in node.keywords):
            raise UntranslatedError("a call with **")
        named = {one.arg: self.expression(one.value) for one in node.keywords if one.arg}
        return self.call(function, positional, named)

    def call(self, function: Value, positional: Sequence[Value], named: dict[str, Value] | None = None) -> Value:
        """A call of a kernel, an intrinsic or one of Numba's functions."""
        named, kind = named or {}, self.kind(function)
        if isinstance(kind, types.Dispatcher):
            if kind.dispatcher.is_compiling:
                raise UntranslatedError("recursion")
            if not named and len(positional) == len(kind.dispatcher._compiler.pysig.parameters):
                return self._call_kernel(kind.dispatcher, positional)
        kinds = tuple(self.kind(one) for one in positional)
        found = self._signature(kind, kinds, tuple((name, self.kind(one)) for name, one in named.items()))
        if isinstance(found.return_type, types.Phantom):
            raise UntranslatedError("a call that gives nothing that is there")
        if self.counted and isinstance(found.return_type, types.Array) and not _views(kind):
            raise UntranslatedError("an array is made, which somebody has to free")
        codes = self._folded_arguments(found, positional, named)
        if found.recvr:
            codes = [function.code, *codes]
        made = self.context.get_function(kind, found)(self.builder, codes)
        if made is None:
            made = self.context.get_dummy_value()
        return Value(found.return_type, made)

    def _signature(self, kind: Any, kinds: tuple[Any, ...], named: tuple[tuple[str, Any], ...]) -> Any:
        """The signature of a function for these types of arguments."""
        found = RULES.get((kind, kinds, named))
        if found is None:
            resolved = kind.instance_type if isinstance(kind, types.TypeRef) else kind
            found = self.typing.resolve_function_type(resolved, kinds, dict(named))
            if found is None:
                raise UntranslatedError(f"{kind} of {kinds}")
            if not any(isinstance(one, types.WeakType) for one in (kind, *kinds)):  # of functions that may vanish
                RULES[kind, kinds, named] = found
        return found

    def _folded_arguments(self, found: Any, positional: Sequence[Value], named: dict[str, Value]) -> list[Any]:
        """The codes of the arguments as the function takes them."""
        if found.pysig is None:
            if named:
                raise UntranslatedError("names in a call of a function without names")
            return [self.cast(one, kind) for one, kind in zip(positional, found.args, strict=False)]

        def given(index: int, parameter: Any, one: Value) -> Any:
            return self.cast(one, found.args[index])

        def default(index: int, parameter: Any, one: Any) -> Any:
            return self.context.get_constant_generic(self.builder, found.args[index], one)

        def rest(index: int, parameter: Any, ones: Any) -> Any:
            codes = [self.cast(one, kind) for one, kind in zip(ones, found.args[index], strict=True)]
            made = ir.Constant(ir.LiteralStructType([code.type for code in codes]), ir.Undefined)
            for k, code in enumerate(codes):
                made = self.builder.insert_value(made, code, k)
            return made

        return fold_arguments(found.pysig, positional, named, given, default, rest)

    def _call_kernel(self, dispatcher: Any, values: Sequence[Value]) -> Value:
        """A call of what Numba or this compiler has compiled, or compiles now."""
        kinds = tuple(self.kind(one) for one in values)
        compiled = dispatcher.overloads.get(kinds)
        if compiled is None:
            dispatcher.compile(kinds)
            compiled = dispatcher.overloads[kinds]
        described = compiled.fndesc
        function = self.context.declare_function(self.builder.module, described)
        codes = [self.cast(one, kind) for one, kind in zip(values, described.argtypes, strict=True)]
        status, result = self.context.call_conv.call_function(
            self.builder, function, described.restype, described.argtypes, codes
        )
        if getattr(compiled.library, "raises", True):
            return_if_error(self.context, self.builder, status)
        if isinstance(described.restype, types.Optional):
            raise UntranslatedError("a kernel that gives a value or None")
        if self.counted and not hasattr(compiled.library, "raises") and _holds_arrays(described.restype):
            raise UntranslatedError("a kernel of Numba's gives an array, which somebody may have to free")
        self.context.add_linking_libs((compiled.library,))
        return Value(described.restype, result)
