"""Times of fields on lanes: one for all four, or each lane's own, which a field finds in its parameters."""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.code.lanes import LANES, VECTOR


@intrinsic
def told_time(typing_context, t, p):
    """The time to call a field with. If t is lanes, they go to the first four of the parameters p, and this is 0: a
    field whose lanes have times of their own adds what it finds there."""

    def generate(context, builder, sig, args):
        if sig.args[0] != LANES:
            return args[0]
        parameters = context.make_array(sig.args[1])(context, builder, args[1])
        builder.store(args[0], builder.bitcast(parameters.data, VECTOR.as_pointer()), align=8)
        return ir.Constant(ir.DoubleType(), 0.0)

    kind = LANES if t == LANES else types.float64
    return signature(types.float64, kind, p), generate
