"""Arrays of one dimension in the code of kernels, taken apart and made without the detour through memory that Numba
takes: LLVM finds the same, after much more work."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

WORD = ir.IntType(64)


def field(context: Any, builder: Any, kind: Any, array: Any, name: str) -> Any:
    """A field of an array: data, shape, nitems, ..."""
    return builder.extract_value(array, context.data_model_manager[kind].get_field_position(name))


def flat_array(context: Any, builder: Any, kind: Any, data: Any, count: Any) -> Any:
    """An array of so many numbers of eight bytes, that lie at a place. As of `carray`, nobody counts references to it:
    the caller keeps the memory alive."""
    made, model = ir.Constant(context.get_value_type(kind), ir.Undefined), context.data_model_manager[kind]
    eight = ir.Constant(WORD, 8)
    fields = {
        "meminfo": None,
        "parent": None,
        "nitems": count,
        "itemsize": eight,
        "data": data,
        "shape": [count],
        "strides": [eight],
    }
    for name, value in fields.items():
        at = model.get_field_position(name)
        place = made.type.elements[at]
        if value is None:
            value = ir.Constant(place, None)
        elif isinstance(value, list):
            value = builder.insert_value(ir.Constant(place, ir.Undefined), value[0], 0)
        made = builder.insert_value(made, value, at)
    return made
