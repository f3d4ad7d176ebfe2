"""Rows of a table that lie anywhere, read as lanes: how four elements of a model are computed at once.

`kernel.rows` reads rows at equal distances; elements of a model, such as forces, have theirs where their bodies are.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.code.lanes import INDEX, LANES, VECTOR, WIDTH, address_in, flat_float64
from chasles.kernel.code.rows import _shift, _squares, _transpose


@intrinsic
def gather_rows(typing_context, array, starts, count):
    """`count` numbers (a literal, at least four) from each of `WIDTH` places on, as a tuple of lanes."""
    known = isinstance(starts, types.UniTuple) and starts.count == WIDTH and isinstance(count, types.IntegerLiteral)
    if not flat_float64(array) or not known or count.literal_value < WIDTH:
        return None
    n = count.literal_value

    def generate(context, builder, sig, args):
        firsts = [builder.extract_value(args[1], r) for r in range(WIDTH)]
        rows = [address_in(context, builder, sig.args[0], args[0], first, 1, n, "row load") for first in firsts]
        columns = [None] * n
        for c in _squares(n):
            quads = [builder.bitcast(_shift(builder, row, c), VECTOR.as_pointer()) for row in rows]
            columns[c : c + 4] = _transpose(builder, [builder.load(quad, align=8) for quad in quads])
        return context.make_tuple(builder, sig.return_type, columns)

    return signature(types.UniTuple(LANES, n), array, types.UniTuple(types.intp, WIDTH), count), generate


@intrinsic
def lanes_from(typing_context, values):
    """Lanes from a tuple of `WIDTH` floats."""
    if not (isinstance(values, types.UniTuple) and values.count == WIDTH and values.dtype == types.float64):
        return None

    def generate(context, builder, sig, args):
        vector = ir.Constant(VECTOR, ir.Undefined)
        for r in range(WIDTH):
            vector = builder.insert_element(vector, builder.extract_value(args[0], r), ir.Constant(INDEX, r))
        return vector

    return signature(LANES, values), generate
