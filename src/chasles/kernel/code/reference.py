"""Named tuples that kernels pass on by reference.

Numba passes a tuple field by field, and of an array each of its seven numbers: with dozens of arrays, in all kernels
and calls, that is most of the time of compilation. A reference is one pointer. Once all kernels are inlined nothing is
left of it: the compiler sees who reads what.

A function that is called through its address gets a reference as a number (`address`, `at_address`). Nothing in the
tuple changes while it runs, and the compiler is told so. Else it would read all of it again after each number that is
stored, as that might be one of the tuple.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

from chasles.kernel.code.flat_array import flat_array
from chasles.kernel.numba_private import (
    AttributeTemplate,
    alloca_once_value,
    impl_ret_borrowed,
)


class Reference(types.Type):
    """Where a named tuple is; its fields are read as those of the tuple, and named tuples among them are references,
    too. constant: it was there before the function began, and does not change until it ends."""

    def __init__(self, bundle: types.BaseNamedTuple, constant: bool = False):
        self.bundle, self.constant = bundle, constant
        super().__init__(name=f"{'Constant' if constant else 'Reference'}({bundle})")


@register_model(Reference)
class ReferenceModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        super().__init__(manager, kind, manager.lookup(kind.bundle).get_value_type().as_pointer())


@infer_getattr
class ReferenceFields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, kind, field):
        if field not in kind.bundle.fields:
            return None
        found = kind.bundle.types[kind.bundle.fields.index(field)]
        return Reference(found, kind.constant) if isinstance(found, types.BaseNamedTuple) else found


def _constant(context, builder, kind, place):
    """What is at a place where nothing changes. Of an array the pointer and the count alone: the rest is known."""
    if isinstance(kind, types.Array):
        model = context.data_model_manager[kind]
        at = [_element(builder, place, model.get_field_position(name)) for name in ("data", "shape")]
        data, count = (_unchanging(builder, pointer) for pointer in (at[0], _element(builder, at[1], 0)))
        return flat_array(context, builder, kind, data, count)
    if isinstance(kind, types.BaseNamedTuple):
        fields = [_constant(context, builder, one, _element(builder, place, k)) for k, one in enumerate(kind.types)]
        return context.make_tuple(builder, kind, fields)
    return _unchanging(builder, place)


def _element(builder, place, index):
    return builder.gep(place, [ir.Constant(ir.IntType(32), 0), ir.Constant(ir.IntType(32), index)], inbounds=True)


def _unchanging(builder, place):
    value = builder.load(place)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


@lower_getattr_generic(Reference)
def read_field(context, builder, kind, place, field):
    index = kind.bundle.fields.index(field)
    place, found = _element(builder, place, index), kind.bundle.types[index]
    if isinstance(found, types.BaseNamedTuple):
        return place
    value = _constant(context, builder, found, place) if kind.constant else builder.load(place)
    return impl_ret_borrowed(context, builder, found, value)


@intrinsic
def by_reference(typing_context, bundle):
    """A reference to a named tuple, for as long as the function that makes it runs."""

    def generate(context, builder, sig, args):
        return alloca_once_value(builder, args[0])

    return signature(Reference(bundle), bundle), generate


@intrinsic
def value_of(typing_context, reference):
    """The named tuple itself, for kernels that take it apart."""

    def generate(context, builder, sig, args):
        value = _constant(context, builder, bundle, args[0]) if reference.constant else builder.load(args[0])
        return impl_ret_borrowed(context, builder, bundle, value)

    bundle = reference.bundle
    return signature(bundle, reference), generate


@intrinsic
def address(typing_context, reference):
    """Where a named tuple is, as a number."""

    def generate(context, builder, sig, args):
        return builder.ptrtoint(args[0], context.get_value_type(types.int64))

    return signature(types.int64, reference), generate


def at_address(bundle: types.BaseNamedTuple):
    """A kernel that takes the address of a named tuple of this type and gives a reference to it, as a constant."""
    kind = Reference(bundle, constant=True)

    @intrinsic
    def constant_at(typing_context, place):
        def generate(context, builder, sig, args):
            return builder.inttoptr(args[0], context.get_value_type(kind))

        return signature(kind, types.int64), generate

    return constant_at
