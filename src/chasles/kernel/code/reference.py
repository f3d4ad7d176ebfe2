"""Named tuples that kernels pass on by reference.

Numba passes a tuple field by field, and of an array each of its seven numbers: with dozens of arrays, in all kernels
and calls, that is most of the time of compilation. A reference is one pointer. Once all kernels are inlined nothing is
left of it: the compiler sees who reads what.
"""

from __future__ import annotations

from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model

from chasles.kernel.numba_private import AttributeTemplate, alloca_once_value, impl_ret_borrowed


class Reference(types.Type):
    """Where a named tuple is; its fields are read as those of the tuple, and named tuples among them are references,
    too."""

    def __init__(self, bundle: types.BaseNamedTuple):
        self.bundle = bundle
        super().__init__(name=f"Reference({bundle})")


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
        return Reference(found) if isinstance(found, types.BaseNamedTuple) else found


@lower_getattr_generic(Reference)
def read_field(context, builder, kind, place, field):
    index = kind.bundle.fields.index(field)
    zero, at = context.get_constant(types.int32, 0), context.get_constant(types.int32, index)
    place, found = builder.gep(place, [zero, at], inbounds=True), kind.bundle.types[index]
    if isinstance(found, types.BaseNamedTuple):
        return place
    return impl_ret_borrowed(context, builder, found, builder.load(place))


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
        return impl_ret_borrowed(context, builder, sig.return_type, builder.load(args[0]))

    return signature(reference.bundle, reference), generate
