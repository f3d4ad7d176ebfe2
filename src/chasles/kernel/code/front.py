"""Fronts: what Python or C calls to run machine code without Numba (see `kernel.machine_code`).

A front is added to the code of its function when that is compiled, so it is kept with it. What is different in each
process, addresses of objects and of functions of Python, it reads from a table.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from chasles.kernel.array_layout import (
    ALIGNED,
    ARRAY_FLAGS,
    BY_COLUMNS,
    BY_ROWS,
    CLASS,
    DATA,
    DIMENSIONS,
    SHAPE,
    STRIDES,
    TYPE,
    WRITEABLE,
)
from chasles.kernel.machine_code import DTYPES, PLACES

WORD, HALF = ir.IntType(64), ir.IntType(32)
LAYOUTS = {"C": ALIGNED | BY_ROWS, "F": ALIGNED | BY_COLUMNS, "A": ALIGNED}


def name_of(described: Any, native: bool) -> str:
    """The name of a front."""
    return described.llvm_cfunc_wrapper_name if native else f"front.{described.llvm_func_name}"


def add_front(library: Any, context: Any, described: Any, native: bool) -> None:
    """Add the front of a function to the library that holds its code."""
    module = library.create_ir_module(name_of(described, native))
    (_write_for_c if native else _write_for_python)(context, module, described)
    library.add_ir_module(module)


def _write_for_c(context: Any, module: ir.Module, described: Any) -> None:
    """What takes the arguments as they are; an error cannot be raised there, and is not."""
    kinds = [context.get_value_type(kind) for kind in described.argtypes]
    front = ir.Function(module, ir.FunctionType(ir.VoidType(), kinds), name_of(described, native=True))
    builder = ir.IRBuilder(front.append_basic_block())
    _called(context, builder, described, front.args)
    builder.ret_void()


def _called(context: Any, builder: ir.IRBuilder, described: Any, arguments: Sequence[Any]) -> tuple[Any, Any]:
    function = context.declare_function(builder.module, described)
    return context.call_conv.call_function(builder, function, described.restype, described.argtypes, arguments)


def _write_for_python(context: Any, module: ir.Module, described: Any) -> None:
    """front(table, arguments, count), a METH_FASTCALL function."""
    front = ir.Function(module, ir.FunctionType(WORD, [WORD] * 3), name_of(described, native=False))
    builder = ir.IRBuilder(front.append_basic_block())
    taken = _Arguments(context, builder, front)
    values = [taken.value(kind) for kind in described.argtypes]
    taken.expect(builder.icmp_signed("==", front.args[2], WORD(taken.place)))
    state = taken.call("release", WORD)
    status, result = _called(context, builder, described, values)
    taken.call("acquire", ir.VoidType(), state)
    with builder.if_then(status.is_error, likely=False):
        builder.ret(taken.kept("failed"))
    builder.ret(taken.object(described.restype, result))
    builder.position_at_end(taken.refuse)
    builder.ret(taken.kept("misfit"))
    builder.position_at_end(taken.broken)
    builder.ret(WORD(0))


class _Arguments:
    """What is given, by Python's objects one after the other, and what is given back."""

    def __init__(self, context: Any, builder: ir.IRBuilder, front: ir.Function):
        self.context, self.builder, self.given, self.place = context, builder, front.args[1], 0
        self.table = self._at(front.args[0], DATA)
        self.refuse, self.broken = front.append_basic_block("refuse"), front.append_basic_block("broken")
        count = front.args[2]
        self._enough = lambda: self.expect(builder.icmp_signed(">", count, WORD(self.place)))

    def _at(self, address: Any, offset: int, kind: ir.Type = WORD) -> Any:
        """What lies at an address."""
        place = self.builder.inttoptr(self.builder.add(address, WORD(offset)), kind.as_pointer())
        return self.builder.load(place)

    def entry(self, name: str) -> Any:
        """What the table has."""
        return self._at(self.table, 8 * PLACES[name])

    def call(self, name: str, result: ir.Type, *arguments: Any) -> Any:
        """Call a function of Python."""
        kind = ir.FunctionType(result, [one.type for one in arguments])
        return self.builder.call(self.builder.inttoptr(self.entry(name), kind.as_pointer()), arguments)

    def expect(self, *conditions: Any) -> None:
        """Go on if all conditions hold."""
        on = self.builder.append_basic_block()
        self.builder.cbranch(functools.reduce(self.builder.and_, conditions), on, self.refuse)
        self.builder.position_at_end(on)

    def _same(self, x: Any, y: Any) -> Any:
        return self.builder.icmp_unsigned("==", x, y)

    def value(self, kind: Any) -> Any:
        """The next argument as a value of a kind; of a tuple, the next ones."""
        if isinstance(kind, types.BaseTuple):
            return self.context.make_tuple(self.builder, kind, [self.value(one) for one in kind.types])
        self._enough()
        given = self._at(self.given, 8 * self.place)
        self.place += 1
        if isinstance(kind, types.Array):
            return self._array(kind, given)
        if kind == types.int64:
            return self._integer(given)
        if kind == types.boolean:
            true = self._same(given, self.entry("true"))
            self.expect(self.builder.or_(true, self._same(given, self.entry("false"))))
            return true
        if kind == types.float64:
            here = self._at(given, CLASS)
            numpys = self._same(here, self.entry("numpy_number"))
            self.expect(self.builder.or_(self._same(here, self.entry("number")), numpys))
            return self.call("as_number", ir.DoubleType(), given)
        raise TypeError(f"a function that Python calls cannot take {kind}")

    def _integer(self, given: Any) -> Any:
        builder = self.builder
        self.expect(self._same(self._at(given, CLASS), self.entry("integer")))
        found = self.call("as_integer", WORD, given)
        with builder.if_then(self._same(found, WORD(-1)), likely=False):
            on = builder.append_basic_block()
            builder.cbranch(self._same(self.call("error", WORD), WORD(0)), on, self.broken)
            builder.position_at_end(on)
        return found

    def _array(self, kind: Any, given: Any) -> Any:
        """An array as Numba has it, without an owner: who calls keeps it alive."""
        builder, count = self.builder, kind.ndim
        self.expect(self._same(self._at(given, CLASS), self.entry("array")))
        wanted = HALF(LAYOUTS[kind.layout] | (WRITEABLE if kind.mutable else 0))
        dtype = next(name for name in DTYPES if str(kind.dtype) in (name, f"{name}ean"))
        self.expect(
            self._same(self._at(given, DIMENSIONS, HALF), HALF(count)),
            self._same(self._at(given, TYPE), self.entry(dtype)),
            self._same(builder.and_(self._at(given, ARRAY_FLAGS, HALF), wanted), wanted),
        )
        made = self.context.make_array(kind)(self.context, builder)
        sizes, steps = self._at(given, SHAPE), self._at(given, STRIDES)
        shape = [self._at(sizes, 8 * axis) for axis in range(count)]
        strides = [self._at(steps, 8 * axis) for axis in range(count)]
        made.shape, made.strides = (self._row(values) for values in (shape, strides))
        made.nitems = functools.reduce(builder.mul, shape, WORD(1))
        made.itemsize = WORD(DTYPES[dtype].itemsize)
        made.data = builder.inttoptr(self._at(given, DATA), made.data.type)
        made.meminfo, made.parent = (ir.Constant(one.type, None) for one in (made.meminfo, made.parent))
        return made._getvalue()

    def _row(self, values: Sequence[Any]) -> Any:
        row = ir.Constant(ir.ArrayType(WORD, len(values)), ir.Undefined)
        for place, value in enumerate(values):
            row = self.builder.insert_value(row, value, place)
        return row

    def kept(self, name: str) -> Any:
        """An object of the table, to be given back."""
        found = self.entry(name)
        self.call("keep", ir.VoidType(), found)
        return found

    def object(self, kind: Any, value: Any) -> Any:
        """The object of Python for a result; 0 if there is no memory for it."""
        builder = self.builder
        if kind == types.none:
            return self.kept("none")
        if kind == types.float64:
            return self.call("of_number", WORD, value)
        if kind == types.boolean:
            found = builder.select(value, self.entry("true"), self.entry("false"))
            self.call("keep", ir.VoidType(), found)
            return found
        if isinstance(kind, types.Integer):
            return self.call("of_integer", WORD, self.context.cast(builder, value, kind, types.int64))
        if not isinstance(kind, types.BaseTuple):
            raise TypeError(f"a function that Python calls cannot give {kind}")
        made = self.call("new_tuple", WORD, WORD(len(kind)))
        on = builder.append_basic_block()
        builder.cbranch(self._same(made, WORD(0)), self.broken, on)
        builder.position_at_end(on)
        for place, one in enumerate(kind.types):
            item = self.object(one, builder.extract_value(value, place))
            self.call("set_item", HALF, made, WORD(place), item)
        return made
