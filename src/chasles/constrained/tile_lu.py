"""LU on 3x3 tiles by the operation list of `symbolic`, for a matrix whose tiles come with their mirror images.

Tiles: n diagonal ones in elimination order, the lower ones column by column, then the upper ones in the same order.
No tile is exchanged with another: the order sees to it that pivots are regular (`symbolic.Support`).
"""

from __future__ import annotations

from chasles.kernel.algebra import mul, sub
from chasles.kernel.dense import inverse3
from chasles.kernel.policy import kernel
from chasles.kernel.tile_memory import store_product, subtract_product
from chasles.kernel.workspace import load3, load9, store3, store9


@kernel
def factorize_lu(n, lower, column, row, first, operations, tiles, factors):
    """factors: inverse pivots of the nodes, then L; U stays in the upper tiles, the rest of the tiles is used up."""
    for k in range(n):
        pivot = inverse3(load9(tiles, 9 * k, 0.0))
        store9(factors, 9 * k, pivot)
        start, end = column[k], column[k + 1]
        for e in range(start, end):
            store_product(factors, 9 * (n + e), tiles, 9 * (n + e), pivot)
        if end == start + 1:  # a column of a tree
            subtract_product(tiles, 9 * row[start], factors, 9 * (n + start), tiles, 9 * (n + lower + start))
        else:
            for o in range(first[k], first[k + 1]):
                a, b, target = operations[3 * o], operations[3 * o + 1], operations[3 * o + 2]
                subtract_product(tiles, 9 * target, factors, 9 * (n + a), tiles, 9 * (n + lower + b))
                if a != b:
                    target += lower
                    subtract_product(tiles, 9 * target, factors, 9 * (n + b), tiles, 9 * (n + lower + a))


@kernel
def solve_lu(n, lower, column, row, tiles, factors, x):
    """x (three numbers a node, in elimination order) becomes the solution."""
    for k in range(n):
        b = load3(x, 3 * k, 0.0)
        for e in range(column[k], column[k + 1]):
            at = 3 * row[e]
            store3(x, at, sub(load3(x, at, 0.0), mul(load9(factors, 9 * (n + e), 0.0), b)))
    for k in range(n - 1, -1, -1):
        b = load3(x, 3 * k, 0.0)
        for e in range(column[k], column[k + 1]):
            b = sub(b, mul(load9(tiles, 9 * (n + lower + e), 0.0), load3(x, 3 * row[e], 0.0)))
        store3(x, 3 * k, mul(load9(factors, 9 * k, 0.0), b))
