"""Calls by address, and pointers (`kernel.address`)."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.code.flat_array import field
from chasles.kernel.code.reference import Reference
from chasles.kernel.numba_private import alloca_once, impl_ret_borrowed, memset

NUMBERS, INTEGERS = types.CPointer(types.float64), types.CPointer(types.int64)


@intrinsic
def invoke(typing_context, address, *arguments):
    """Call the function at an address. Of contiguous arrays the pointer to the first element is passed on, of named
    tuples (`kernel.reference`) the reference."""

    def generate(context, builder, sig, args):
        values = []
        for k, kind in enumerate(arguments):
            value = builder.extract_value(args[1], k)
            if isinstance(kind, types.Array):
                value = field(context, builder, kind, value, "data")
            elif isinstance(kind, Reference):
                pass
            elif not isinstance(kind, types.Float):
                value = context.cast(builder, value, kind, types.int64)
            values.append(value)
        function = ir.FunctionType(ir.VoidType(), [value.type for value in values])
        builder.call(builder.inttoptr(args[0], function.as_pointer()), values)
        return context.get_dummy_value()

    return signature(types.void, types.int64, types.Tuple(arguments)), generate


@intrinsic
def clear(typing_context, pointer, count):
    """Write zeros to so many numbers, lanes or duals from a pointer on."""

    def generate(context, builder, sig, args):
        size = context.get_abi_sizeof(context.get_data_type(pointer.dtype))
        memset(builder, args[0], builder.mul(args[1], ir.Constant(ir.IntType(64), size)), 0)
        return context.get_dummy_value()

    return signature(types.void, pointer, types.int64), generate


@intrinsic(prefer_literal=True)
def scratch(typing_context, like, count):
    """Pointer to so many numbers (a literal) on the stack of the function, of the kind that an array has."""
    if not isinstance(like, types.Array) or not isinstance(count, types.IntegerLiteral):
        return None

    def generate(context, builder, sig, args):
        kind = context.get_data_type(sig.args[0].dtype)
        return alloca_once(builder, kind, size=sig.args[1].literal_value)

    return signature(types.CPointer(like.dtype), like, count), generate


@intrinsic
def as_integers(typing_context, pointer):
    """A pointer to numbers as a pointer to integers: packed arrays keep integers as their bits."""

    def generate(context, builder, sig, args):
        return builder.bitcast(args[0], ir.IntType(64).as_pointer())

    return signature(INTEGERS, NUMBERS), generate


@intrinsic
def as_integer_array(typing_context, array):
    """The integers in the bits of an array of numbers; a view."""

    def generate(context, builder, sig, args):
        old, new = context.make_array(sig.args[0])(context, builder, args[0]), context.make_array(sig.return_type)
        view = new(context, builder)
        pointer = builder.bitcast(old.data, ir.IntType(64).as_pointer())
        for name in ("nitems", "itemsize", "shape", "strides"):
            setattr(view, name, getattr(old, name))
        view.data = pointer
        view.meminfo, view.parent = old.meminfo, old.parent
        return impl_ret_borrowed(context, builder, sig.return_type, view._getvalue())

    return signature(types.Array(types.int64, 1, "C"), array), generate
