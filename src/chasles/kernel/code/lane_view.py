"""Arrays of numbers seen as arrays of lanes: for tables whose numbers differ from lane to lane."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.code.lanes import LANES, VECTOR, WIDTH


@intrinsic
def as_lanes(typing_context, array):
    """The lanes in an aligned array of numbers: a view that owns nothing, so the array must live longer."""

    def generate(context, builder, sig, args):
        old, view = (
            context.make_array(sig.args[0])(context, builder, args[0]),
            context.make_array(sig.return_type)(context, builder),
        )
        long = ir.IntType(64)
        count = builder.udiv(builder.extract_value(old.shape, 0), ir.Constant(long, WIDTH))
        view.data = builder.bitcast(old.data, VECTOR.as_pointer())
        view.nitems, view.itemsize = count, ir.Constant(long, 8 * WIDTH)
        view.shape = builder.insert_value(old.shape, count, 0)
        view.strides = builder.insert_value(old.strides, ir.Constant(long, 8 * WIDTH), 0)
        view.meminfo, view.parent = (ir.Constant(x.type, None) for x in (old.meminfo, old.parent))
        return view._getvalue()

    return signature(types.Array(LANES, 1, "C"), array), generate
