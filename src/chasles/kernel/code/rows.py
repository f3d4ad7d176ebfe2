"""Between row-major batches and lanes: `WIDTH` consecutive rows of a batch are read as a tuple of columns, and back.

Four rows of four numbers are turned by eight shuffles; a row longer than four is covered by such squares, the last
one overlapping, and a shorter row is gathered element by element.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import signature
from numba.extending import intrinsic

from chasles.kernel.code.lanes import INDEX, LANES, VECTOR, WIDTH, address_in, flat_float64


def _transpose(builder, rows):
    """4x4 transposition by interleaving pairs, then halves."""

    def shuffle(x, y, pattern):
        return builder.shuffle_vector(x, y, ir.Constant(ir.VectorType(INDEX, 4), pattern))

    low01, high01 = shuffle(rows[0], rows[1], [0, 4, 2, 6]), shuffle(rows[0], rows[1], [1, 5, 3, 7])
    low23, high23 = shuffle(rows[2], rows[3], [0, 4, 2, 6]), shuffle(rows[2], rows[3], [1, 5, 3, 7])
    return [
        shuffle(low01, low23, [0, 1, 4, 5]),
        shuffle(high01, high23, [0, 1, 4, 5]),
        shuffle(low01, low23, [2, 3, 6, 7]),
        shuffle(high01, high23, [2, 3, 6, 7]),
    ]


def _squares(count):
    """First columns of the 4x4 squares that cover a row of `count` >= 4 numbers."""
    starts = list(range(0, count - 3, 4))
    return starts if count % 4 == 0 else [*starts, count - 4]


def _shift(builder, pointer, offset):
    return builder.gep(pointer, [ir.Constant(ir.IntType(64), offset)], inbounds=True)


def _columns(context, builder, sig, array, firsts, n):
    """The first n columns of the rows that begin at `firsts`, as a tuple of lanes."""
    rows = [address_in(context, builder, sig.args[0], array, first, 1, n, "row load") for first in firsts]
    columns = [None] * n
    if n >= 4:
        for c in _squares(n):
            quads = [builder.bitcast(_shift(builder, row, c), VECTOR.as_pointer()) for row in rows]
            columns[c : c + 4] = _transpose(builder, [builder.load(quad, align=8) for quad in quads])
    else:
        for c in range(n):
            vector = ir.Constant(VECTOR, ir.Undefined)
            for r, row in enumerate(rows):
                value = builder.load(_shift(builder, row, c), align=8)
                vector = builder.insert_element(vector, value, ir.Constant(INDEX, r))
            columns[c] = vector
    return context.make_tuple(builder, sig.return_type, columns)


@intrinsic
def load_rows(typing_context, array, start, stride, count):
    """Columns 0..count-1 of `WIDTH` rows as a tuple of lanes; row r begins at element `start + r * stride`.

    `stride` is the row length, or 0 when one row serves the whole batch. `count` is a literal.
    """
    if not flat_float64(array) or not isinstance(count, types.IntegerLiteral):
        return None
    n = count.literal_value

    def generate(context, builder, sig, args):
        firsts = [builder.add(args[1], builder.mul(args[2], ir.Constant(args[2].type, r))) for r in range(WIDTH)]
        return _columns(context, builder, sig, args[0], firsts, n)

    return signature(types.UniTuple(LANES, n), array, types.intp, types.intp, count), generate


@intrinsic
def load_rows_at(typing_context, array, firsts, count):
    """As `load_rows`, of rows that begin anywhere: at the elements `firsts`, a tuple of `WIDTH`."""
    if not flat_float64(array) or not isinstance(count, types.IntegerLiteral):
        return None
    n = count.literal_value

    def generate(context, builder, sig, args):
        starts = [builder.extract_value(args[1], r) for r in range(WIDTH)]
        return _columns(context, builder, sig, args[0], starts, n)

    return signature(types.UniTuple(LANES, n), array, types.UniTuple(types.intp, WIDTH), count), generate


@intrinsic
def store_rows(typing_context, array, start, stride, columns):
    """Write a tuple of lanes to `WIDTH` rows of a row-major batch; row r begins at element `start + r * stride`."""
    if not flat_float64(array) or not isinstance(columns, types.UniTuple) or columns.dtype != LANES:
        return None
    n = columns.count

    def generate(context, builder, sig, args):
        values = [builder.extract_value(args[3], c) for c in range(n)]
        firsts = [builder.add(args[1], builder.mul(args[2], ir.Constant(args[2].type, r))) for r in range(WIDTH)]
        rows = [address_in(context, builder, sig.args[0], args[0], first, 1, n, "row store") for first in firsts]
        if n >= 4:
            for c in _squares(n):
                for row, quad in zip(rows, _transpose(builder, values[c : c + 4]), strict=True):
                    builder.store(quad, builder.bitcast(_shift(builder, row, c), VECTOR.as_pointer()), align=8)
        else:
            for c in range(n):
                for r, row in enumerate(rows):
                    element = builder.extract_element(values[c], ir.Constant(INDEX, r))
                    builder.store(element, _shift(builder, row, c), align=8)
        return context.get_dummy_value()

    return types.void(array, types.intp, types.intp, columns), generate


assert WIDTH == 4, "the transposition is written for four lanes"
