"""3x3 tiles in memory, nine numbers by rows: sums and products from place to place, in vectors.

A sum takes nine numbers as 4, 4 and 1. A product takes rows of three, each multiplied by a number of the other tile: a
third of the instructions that it takes number by number. Rows are read as they are written (two and one), so that what
was just written can be read before it has reached the cache. Tiles of lanes are taken number by number.
"""

from __future__ import annotations

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from chasles.kernel.code.lanes import LANES, VECTOR, address_in, call_llvm, flat_float64, flat_lanes, llvm_function

DOUBLE, INDEX, ROW = ir.DoubleType(), ir.IntType(32), ir.VectorType(ir.DoubleType(), 3)
PARTS = ((0, ir.VectorType(DOUBLE, 4)), (4, ir.VectorType(DOUBLE, 4)), (8, DOUBLE))


def _part(builder, tile, offset, kind):
    """Pointer to a part of a tile."""
    return builder.bitcast(builder.gep(tile, [ir.Constant(ir.IntType(64), offset)], inbounds=True), kind.as_pointer())


def _tiles(context, builder, sig, args):
    """Pointers to the tiles of arguments (array, place, array, place, ...)."""
    pairs = range(0, len(args), 2)
    return [address_in(context, builder, sig.args[k], args[k], args[k + 1], 1, 9, "tile") for k in pairs]


def _places(*arguments):
    return all(flat_float64(array) for array in arguments[::2])


def _lane_places(*arguments):
    return all(flat_lanes(array) for array in arguments[::2])


def _combined(operation):
    """target = target `operation` source, nine numbers each."""

    def generate(context, builder, sig, args):
        target, source = _tiles(context, builder, sig, args)
        parts = [(_part(builder, target, at, kind), _part(builder, source, at, kind)) for at, kind in PARTS]
        values = [(builder.load(to, align=8), builder.load(of, align=8)) for to, of in parts]
        for (to, _), pair in zip(parts, values, strict=True):
            builder.store(getattr(builder, operation)(*pair), to, align=8)
        return context.get_dummy_value()

    return generate


@intrinsic
def add_tile(typing_context, target, at, source, place):
    """target += source."""
    if not _places(target, at, source, place):
        return None
    return types.void(target, types.intp, source, types.intp), _combined("fadd")


@intrinsic
def subtract_tile(typing_context, target, at, source, place):
    """target -= source."""
    if not _places(target, at, source, place):
        return None
    return types.void(target, types.intp, source, types.intp), _combined("fsub")


def _splat(builder, value):
    """Three times the same number."""
    none, first = ir.Constant(ROW, ir.Undefined), ir.Constant(ir.VectorType(INDEX, 3), [0, 0, 0])
    return builder.shuffle_vector(builder.insert_element(none, value, ir.Constant(INDEX, 0)), none, first)


def _loaded_rows(builder, tile):
    return [builder.load(_part(builder, tile, 3 * k, ROW), align=8) for k in range(3)]


def _given_rows(builder, numbers):
    """Rows of a tuple of nine numbers."""
    rows = [ir.Constant(ROW, ir.Undefined)] * 3
    for k in range(9):
        value = builder.extract_value(numbers, k)
        rows[k // 3] = builder.insert_element(rows[k // 3], value, ir.Constant(INDEX, k % 3))
    return rows


def _multiply(builder, target, left, rows, sums):
    """Write a tile times rows or, with sums, these less the product."""
    fma = llvm_function(builder, "llvm.fma.v3f64", ROW, [ROW] * 3)
    totals = []
    for i in range(3):
        total = sums[i] if sums else None
        for k in range(3):
            each = _splat(builder, builder.load(_part(builder, left, 3 * i + k, DOUBLE), align=8))
            each = builder.fneg(each) if sums else each
            total = builder.fmul(each, rows[k]) if total is None else builder.call(fma, [each, rows[k], total])
        totals.append(total)
    for i in range(3):
        builder.store(totals[i], _part(builder, target, 3 * i, ROW), align=8)


def _loaded_lanes(builder, tile):
    return [builder.load(_part(builder, tile, k, VECTOR)) for k in range(9)]


def _multiply_lanes(builder, target, left, right, sums):
    """The same, number by number, where numbers are lanes: each in the order of `_multiply`, so with its bits."""
    factors, totals = _loaded_lanes(builder, left), []
    for i in range(3):
        for j in range(3):
            total = sums[3 * i + j] if sums else None
            for k in range(3):
                each = builder.fneg(factors[3 * i + k]) if sums else factors[3 * i + k]
                by = right[3 * k + j]
                total = builder.fmul(each, by) if total is None else call_llvm(builder, "fma", each, by, total)
            totals.append(total)
    for k in range(9):
        builder.store(totals[k], _part(builder, target, k, VECTOR))


@intrinsic
def store_product(typing_context, target, at, left, i, right):
    """target = left right, where right is a tuple of nine numbers."""
    on_lanes = _lane_places(target, at, left, i)
    if not (on_lanes or _places(target, at, left, i)):
        return None
    if right != types.UniTuple(LANES if on_lanes else types.float64, 9):
        return None

    def generate(context, builder, sig, args):
        to, of = _tiles(context, builder, sig, args[:4])
        if on_lanes:
            _multiply_lanes(builder, to, of, [builder.extract_value(args[4], k) for k in range(9)], None)
        else:
            _multiply(builder, to, of, _given_rows(builder, args[4]), None)
        return context.get_dummy_value()

    return types.void(target, types.intp, left, types.intp, right), generate


@intrinsic
def subtract_product(typing_context, target, at, left, i, right, j):
    """target -= left right."""
    on_lanes = _lane_places(target, at, left, i, right, j)
    if not (on_lanes or _places(target, at, left, i, right, j)):
        return None

    def generate(context, builder, sig, args):
        to, of, by = _tiles(context, builder, sig, args)
        if on_lanes:
            _multiply_lanes(builder, to, of, _loaded_lanes(builder, by), _loaded_lanes(builder, to))
        else:
            _multiply(builder, to, of, _loaded_rows(builder, by), _loaded_rows(builder, to))
        return context.get_dummy_value()

    return types.void(target, types.intp, left, types.intp, right, types.intp), generate
