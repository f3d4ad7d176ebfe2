"""Declared memory (`kernel.memory`) of arrays of numbers or of dual numbers."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.memory import WORD, Regions, _after, _head_pointer, _part


class DualRegions(Regions):
    """Regions of an array of numbers or of duals."""

    def _views(self) -> Any:
        names, counts, bundle = list(self.counts), list(self.counts.values()), self.bundle

        @intrinsic
        def views_of(typing_context, array, head):
            kind = types.Array(array.dtype, 1, "C")
            result = types.NamedTuple([kind] * len(names), bundle)

            def generate(context, builder, sig, args):
                pointer, end, regions = _head_pointer(context, builder, head, args[1]), ir.Constant(WORD, 0), []
                size = ir.Constant(WORD, context.get_abi_sizeof(context.get_data_type(array.dtype)))
                for name, count in zip(names, counts, strict=True):
                    begin, end = end, _after(builder, pointer, end, count)
                    part = context.make_array(kind)(
                        context, builder, _part(context, builder, array.dtype, array, args[0], begin, end, name)
                    )
                    part.itemsize, part.strides = size, builder.insert_value(part.strides, size, 0)
                    regions.append(part._getvalue())
                return context.make_tuple(builder, result, regions)

            return signature(result, array, head), generate

        return views_of
