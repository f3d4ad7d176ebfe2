"""Operations on whole points of a space: move a point, pull a velocity back to the algebra, combine moves.

The operations on blocks of rotations, spatial and planar motions are compiled once for each scalar type in use, and
called through their addresses (`kernel.address`): a loop that uses them does not compile them again, and only those
that a space needs are compiled at all. Vectors are done here.
"""

from __future__ import annotations

from functools import cache
from types import ModuleType
from typing import Any

import numpy as np

from chasles.integrate import (
    chart_blocks,
    planar_blocks,
    product_chart_blocks,
    rotation_blocks,
    row_blocks,
    spatial_blocks,
)
from chasles.integrate.scalar import ON_SCALARS, ZEROS
from chasles.integrate.table import (
    ABELIAN,
    ALGEBRA_AT,
    ALGEBRA_CHART,
    ALGEBRA_PLANE,
    ALGEBRA_PRODUCT,
    ALGEBRA_SE3,
    ALGEBRA_SO3,
    CAYLEY,
    CAYLEY2,
    COLUMNS,
    COUNT,
    EXP,
    KIND,
    POINT_AT,
    SE2,
    SERIES,
    SIDE,
    algebra_of,
)
from chasles.kernel.address import INTEGER, INTEGERS, NUMBERS, address_of, invoke
from chasles.kernel.algebra import cross, scale
from chasles.kernel.face import compile_text
from chasles.kernel.lanes import like, load, maximum, sqrt, store
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import load3, load6, store3, store6
from chasles.lie import se2, se3

MODULES: dict[int, ModuleType] = {
    ALGEBRA_SO3: rotation_blocks,
    ALGEBRA_SE3: spatial_blocks,
    ALGEBRA_PLANE: planar_blocks,
    ALGEBRA_CHART: chart_blocks,
    ALGEBRA_PRODUCT: product_chart_blocks,
}
MOVE, PULLBACK, COMBINE, AS_EXPONENTIAL = range(4)
OPERATION_NAMES = ("move", "pullback", "combine", "as_exponential")
_TEXT = """
def {name}(table, blocks, terms, a, a_size, b, b_size, out, out_size, first):
    rows, x, y, result = carray(table, (blocks, {columns})), carray(a, a_size), carray(b, b_size), carray(out, out_size)
    function(rows, first_map, second_map, third_map, terms, x, y, result, first, zero())
"""


# what can be done with four blocks at a time, if there are many; but in the product with the quaternion of a Cayley map
# compilers fuse other sums than for one block, and lanes of an ensemble have the bits of that
IN_ROWS = {MOVE: row_blocks.MOVES, PULLBACK: row_blocks.PULLBACKS}
NOT_IN_ROWS = {(MOVE, CAYLEY), (MOVE, CAYLEY2)}


@cache
def _address(algebra: int, operation: int, mapping: int, on: str, in_rows: bool) -> int:
    """Address of an operation on the blocks of one algebra; compiled on first use, or loaded from the cache."""
    module, name = MODULES[algebra], OPERATION_NAMES[operation]
    function, home, full = getattr(module, name), module, f"{name}_{mapping}_{on}"
    if in_rows:
        function, home, full = IN_ROWS[operation][algebra], row_blocks, f"rows_{algebra}_{full}"
    scope: dict[str, Any] = {"__name__": home.__name__, "function": function, "carray": carray}
    scope["first_map"], scope["second_map"], scope["third_map"] = module.MAPS[mapping]
    scope["zero"] = ZEROS[on]
    function = native(compile_text(_TEXT.format(name=full, columns=COLUMNS), full, scope))
    pair, long = (NUMBERS, INTEGER), INTEGER
    return address_of(function, INTEGERS, long, long, *pair, *pair, *pair, long)


def operations(table: np.ndarray, *needed: int, mapping: int = EXP, on: str = ON_SCALARS) -> np.ndarray:
    """Addresses of the needed operations for the blocks of a table: a row an algebra, a column an operation."""
    result = np.zeros((len(MODULES) + 1, len(OPERATION_NAMES)), dtype=np.int64)
    for algebra in {int(algebra_of.py_func(kind)) for kind in table[:, KIND]} - {ABELIAN}:
        rows = on == ON_SCALARS and row_blocks.in_rows(table, algebra)
        for operation in needed:
            own = EXP if operation == COMBINE or (operation == MOVE and mapping == SERIES) else mapping  # compile once
            four = rows and operation in IN_ROWS and (operation, own) not in NOT_IN_ROWS
            result[algebra, operation] = _address(algebra, operation, own, on, four)
    return result


# ---------------------------------------------------------------- in the loops


@kernel
def on_blocks(table, addresses, operation, terms, a, b, out, first):
    """An operation on the blocks of each algebra that the space has."""
    for algebra in range(addresses.shape[0]):
        address = addresses[algebra, operation]
        if address != 0:
            sizes = table.shape[0], a.shape[0], b.shape[0], out.shape[0]
            invoke(address, table, sizes[0], terms, a, sizes[1], b, sizes[2], out, sizes[3], first)


@kernel
def move(table, addresses, y, x, out, z):
    """out = exp(x) y, or y exp(x) on the right; `z` tells the scalar type (0.0, or lanes)."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ABELIAN:
            iy, ix = table[i, POINT_AT], table[i, ALGEBRA_AT]
            for k in range(table[i, COUNT]):
                store(out, iy + k, load(y, iy + k, z) + load(x, ix + k, z))
    on_blocks(table, addresses, MOVE, -1, y, x, out, 0)


@kernel
def pullback(table, addresses, terms, x, f, out, first, z):
    """out = dexpinv_{side x} f for the coordinate map in use; `terms` counts for a truncated series only."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ABELIAN:
            ix = table[i, ALGEBRA_AT]
            for k in range(table[i, COUNT]):
                store(out, first + ix + k, load(f, ix + k, z))
    on_blocks(table, addresses, PULLBACK, terms, x, f, out, first)


@kernel
def combine(table, addresses, x, y, out, z):
    """out = log(exp(x) exp(y)), or log(exp(y) exp(x)) on the right: the move y followed by the move x."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ABELIAN:
            ix = table[i, ALGEBRA_AT]
            for k in range(table[i, COUNT]):
                store(out, ix + k, load(x, ix + k, z) + load(y, ix + k, z))
    on_blocks(table, addresses, COMBINE, -1, x, y, out, 0)


@kernel
def as_exponential(table, addresses, mapping, x, out, size, z):
    """out = exponential coordinates of the move whose coordinates in another map are x."""
    for k in range(size):
        store(out, k, load(x, k, z))
    if mapping != EXP and mapping != SERIES:
        on_blocks(table, addresses, AS_EXPONENTIAL, -1, x, x, out, 0)


@kernel
def bracket(table, x, ix0, y, iy0, out, z):
    """out = [x, y] on all blocks (with the sign of the side, so that formulas for left actions hold for right ones)."""
    for i in range(table.shape[0]):
        kind, ix, sign = table[i, KIND], table[i, ALGEBRA_AT], float(table[i, SIDE])
        algebra = algebra_of(kind)
        if algebra == ALGEBRA_SO3:
            a, b = load3(x, ix0 + ix, z), load3(y, iy0 + ix, z)
            store3(out, ix, scale(sign, cross(a, b)))
        elif algebra == ALGEBRA_SE3 or algebra == ALGEBRA_CHART:
            u, v = se3.bracket(load6(x, ix0 + ix, z), load6(y, iy0 + ix, z))
            store6(out, ix, (scale(sign, u), scale(sign, v)))
        elif kind == SE2:
            v, w = planar_blocks.twist(x, ix0 + ix, z), planar_blocks.twist(y, iy0 + ix, z)
            a0, (a1, a2) = se2.bracket(v, w)
            store3(out, ix, scale(sign, (a0, a1, a2)))
        else:
            for k in range(table[i, COUNT]):
                store(out, ix + k, like(0.0, z))
            if algebra == ALGEBRA_PRODUCT:
                a, b = load3(x, ix0 + ix, z), load3(y, iy0 + ix, z)
                store3(out, ix, scale(sign, cross(a, b)))


@kernel
def largest_angle(table, x, z):
    """Largest rotation angle of a move, over all blocks (the plane's rotations have no pole and do not count)."""
    largest = like(0.0, z)
    for i in range(table.shape[0]):
        kind, ix = table[i, KIND], table[i, ALGEBRA_AT]
        algebra = algebra_of(kind)
        if algebra != ABELIAN and algebra != ALGEBRA_PLANE:
            a, b, c = load3(x, ix, z)
            largest = maximum(largest, a * a + b * b + c * c)
        elif kind == SE2:
            a = load(x, ix, z)
            largest = maximum(largest, a * a)
    return sqrt(largest)


@kernel(entry=True)
def move_point(table, addresses, y, x, out):
    """`move` for callers in Python."""
    move(table, addresses, y, x, out, 0.0)
