"""How kernels take declared memory (`kernel.memory`) apart: arrays made of a pointer and a count."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.code.flat_array import field, flat_array
from chasles.kernel.numba_private import impl_ret_borrowed
from chasles.kernel.policy import CHECKED

WORD = ir.IntType(64)
ELEMENTS = {float: types.float64, int: types.int64}


def _integer_at(builder, pointer, place):
    """The integer at a place of a head."""
    return builder.load(builder.gep(pointer, [ir.Constant(WORD, place)], inbounds=True))


def _head_pointer(context, builder, kind, value):
    return builder.bitcast(field(context, builder, kind, value, "data"), WORD.as_pointer())


def _part(context, builder, element, kind, array, begin, end, name):
    """An array of the elements from `begin` to `end` of an array of this kind."""
    if CHECKED:
        size = builder.extract_value(field(context, builder, kind, array, "shape"), 0)
        wrong = builder.or_(
            builder.icmp_signed("<", begin, ir.Constant(WORD, 0)),
            builder.or_(builder.icmp_signed("<", end, begin), builder.icmp_signed(">", end, size)),
        )
        with builder.if_then(wrong, likely=False):
            message = f"the part {name!r} is not within its array"
            context.call_conv.return_user_exc(builder, IndexError, (message,))
    count = builder.sub(end, begin)
    pointer = builder.gep(field(context, builder, kind, array, "data"), [begin], inbounds=True)
    data = builder.bitcast(pointer, context.get_data_type(element).as_pointer())
    return flat_array(context, builder, types.Array(element, 1, "C"), data, count)


def _flat(array: Any) -> bool:
    return isinstance(array, types.Array) and array.ndim == 1 and array.dtype in (types.float64, types.int64)


def _after(builder, pointer, begin, count):
    """Where a region ends."""
    for place, factor in count.terms.items():
        size = ir.Constant(WORD, 1) if place < 0 else _integer_at(builder, pointer, place)
        begin = builder.add(begin, builder.mul(size, ir.Constant(WORD, factor)))
    return begin


def parts_of(parts: Mapping[str, type], values: Mapping[str, str], head: Any, bundle: Any) -> Any:
    """What takes a packed array apart."""
    names, elements = list(parts), [ELEMENTS[kind] for kind in parts.values()]
    kinds = [*(types.Array(element, 1, "C") for element in elements), *(types.int64 for _ in values)]
    result = types.NamedTuple(kinds, bundle)

    @intrinsic
    def apart(typing_context, array):
        if not _flat(array):
            return None

        def generate(context, builder, sig, args):
            at = []
            pointer = _head_pointer(context, builder, array, args[0])
            for part, element in zip(names, elements, strict=True):
                place = getattr(head, part)
                begin, end = _integer_at(builder, pointer, place), _integer_at(builder, pointer, place + 1)
                at.append(_part(context, builder, element, array, args[0], begin, end, part))
            at += [_integer_at(builder, pointer, getattr(head, value)) for value in values.values()]
            return context.make_tuple(builder, result, at)

        return signature(result, array), generate

    apart.kind = result  # what it gives
    return apart


def lane_parts_of(parts: Mapping[str, type], values: Mapping[str, str], head: Any, bundle: Any) -> Any:
    """What takes packed arrays apart that differ in their numbers alone: integers of one, numbers as lanes."""

    def elements_of(element):
        return [element if kind is float else types.int64 for kind in parts.values()]

    def kind(element):
        arrays = [types.Array(one, 1, "C") for one in elements_of(element)]
        return types.NamedTuple([*arrays, *(types.int64 for _ in values)], bundle)

    @intrinsic
    def apart(typing_context, integers, numbers):
        elements, result = elements_of(numbers.dtype), kind(numbers.dtype)

        def generate(context, builder, sig, args):
            at = []
            pointer = _head_pointer(context, builder, integers, args[0])
            for (part, of), element in zip(parts.items(), elements, strict=True):
                place, source = getattr(head, part), 1 if of is float else 0
                begin, end = _integer_at(builder, pointer, place), _integer_at(builder, pointer, place + 1)
                at.append(_part(context, builder, element, sig.args[source], args[source], begin, end, part))
            at += [_integer_at(builder, pointer, getattr(head, value)) for value in values.values()]
            return context.make_tuple(builder, result, at)

        return signature(result, integers, numbers), generate

    apart.kind = kind  # what it gives, for numbers of some type
    return apart


def views_of(counts: Mapping[str, Any], bundle: Any) -> Any:
    """What gives the regions of an array, by the sizes in a head."""
    result = types.NamedTuple([types.Array(types.float64, 1, "C")] * len(counts), bundle)

    @intrinsic
    def views(typing_context, array, head):
        if not (_flat(array) and _flat(head)):
            return None

        def generate(context, builder, sig, args):
            pointer, end, regions = _head_pointer(context, builder, head, args[1]), ir.Constant(WORD, 0), []
            for name, count in counts.items():
                begin, end = end, _after(builder, pointer, end, count)
                regions.append(_part(context, builder, types.float64, array, args[0], begin, end, name))
            return context.make_tuple(builder, result, regions)

        return signature(result, array, head), generate

    return views


def views_of_duals(counts: Mapping[str, Any], bundle: Any) -> Any:
    """What gives the regions of an array of numbers or of duals."""

    @intrinsic
    def views(typing_context, array, head):
        kind = types.Array(array.dtype, 1, "C")
        result = types.NamedTuple([kind] * len(counts), bundle)

        def generate(context, builder, sig, args):
            pointer, end, regions = _head_pointer(context, builder, head, args[1]), ir.Constant(WORD, 0), []
            size = ir.Constant(WORD, context.get_abi_sizeof(context.get_data_type(array.dtype)))
            for name, count in counts.items():
                begin, end = end, _after(builder, pointer, end, count)
                part = context.make_array(kind)(
                    context, builder, _part(context, builder, array.dtype, array, args[0], begin, end, name)
                )
                part.itemsize, part.strides = size, builder.insert_value(part.strides, size, 0)
                regions.append(part._getvalue())
            return context.make_tuple(builder, result, regions)

        return signature(result, array, head), generate

    return views


def total_of(count: Any) -> Any:
    """What gives how many numbers there are, by the sizes in a head."""

    @intrinsic
    def total(typing_context, head):
        if not _flat(head):
            return None

        def generate(context, builder, sig, args):
            pointer = _head_pointer(context, builder, head, args[0])
            return _after(builder, pointer, ir.Constant(WORD, 0), count)

        return signature(types.int64, head), generate

    return total


def join_into(bundle: Any) -> Any:
    """What makes one named tuple of a tuple of values and several named tuples."""

    @intrinsic
    def join(typing_context, values, *regions):
        groups = (values, *regions)
        result = types.NamedTuple([kind for group in groups for kind in group], bundle)

        def generate(context, builder, sig, args):
            parts = [args[0], *(builder.extract_value(args[1], k) for k in range(len(regions)))]
            sizes = zip(parts, map(len, groups), strict=True)
            items = [builder.extract_value(part, k) for part, size in sizes for k in range(size)]
            return impl_ret_borrowed(context, builder, result, context.make_tuple(builder, result, items))

        return signature(result, values, types.Tuple(regions)), generate

    join.kind = lambda kinds, element=types.float64: types.NamedTuple(
        [*kinds, *[types.Array(element, 1, "C")] * (len(bundle._fields) - len(kinds))], bundle
    )
    return join
