"""The call of a vector field by its address, as code of LLVM. This needs Numba (see `kernel.late`)."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.lanes import WIDTH


@intrinsic
def call(typing_context, address, t, y, p, out, first, y_size, out_size, pattern):
    """Evaluate the field at `address` on the point y, writing to out[first:]; `pattern` tells the scalar type."""
    width = 1 if isinstance(pattern, types.Number) else WIDTH

    def generate(context, builder, sig, args):
        double, long = ir.DoubleType(), ir.IntType(64)
        pointer = double.as_pointer()
        kind = ir.FunctionType(ir.VoidType(), [double, pointer, pointer, pointer, long, long, long])
        target, time, point, parameters, result, start, points, results, _ = args
        point, parameters, result = (
            context.make_array(sig.args[k])(context, builder, value)
            for k, value in ((2, point), (3, parameters), (4, result))
        )
        lanes = ir.Constant(long, width)
        where = builder.gep(result.data, [builder.mul(start, lanes)])
        count = builder.sdiv(builder.extract_value(parameters.shape, 0), lanes)
        function = builder.inttoptr(target, kind.as_pointer())
        builder.call(function, [time, point.data, parameters.data, where, points, count, results])
        return context.get_dummy_value()

    integer = types.int64
    return (
        signature(types.void, integer, types.float64, y, p, out, integer, integer, integer, pattern),
        generate,
    )
