"""The numeric phase: LDLᵀ on 3x3 tiles by the operation list of `symbolic`, and the solution of its equations."""

from __future__ import annotations

from chasles.kernel.algebra import mat_mul, mat_mul_t, mat_neg, mul, mul_t, sub
from chasles.kernel.dense import inverse3_symmetric
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add9, load3, load9, store3, store9


@kernel
def factorize(n, column, row, first, operations, tiles, factors):
    """factors: inverse pivots D⁻¹ of the nodes, then L of the lower tiles. The tiles are used up."""
    for k in range(n):
        pivot = inverse3_symmetric(load9(tiles, 9 * k, 0.0))
        store9(factors, 9 * k, pivot)
        start, end = column[k], column[k + 1]
        if end == start + 1:  # a column of a tree: all of it in registers
            a = load9(tiles, 9 * (n + start), 0.0)
            lower = mat_mul(a, pivot)
            store9(factors, 9 * (n + start), lower)
            add9(tiles, 9 * row[start], mat_neg(mat_mul_t(lower, a)))
        else:
            for e in range(start, end):
                store9(factors, 9 * (n + e), mat_mul(load9(tiles, 9 * (n + e), 0.0), pivot))
            for o in range(first[k], first[k + 1]):
                a, b, target = operations[3 * o], operations[3 * o + 1], operations[3 * o + 2]
                update = mat_mul_t(load9(factors, 9 * (n + a), 0.0), load9(tiles, 9 * (n + b), 0.0))
                add9(tiles, 9 * target, mat_neg(update))


@kernel
def solve(n, column, row, factors, x):
    """x (three numbers a node, in elimination order) becomes the solution."""
    for k in range(n):
        b = load3(x, 3 * k, 0.0)
        for e in range(column[k], column[k + 1]):
            at = 3 * row[e]
            store3(x, at, sub(load3(x, at, 0.0), mul(load9(factors, 9 * (n + e), 0.0), b)))
    for k in range(n - 1, -1, -1):
        b = mul(load9(factors, 9 * k, 0.0), load3(x, 3 * k, 0.0))
        for e in range(column[k], column[k + 1]):
            b = sub(b, mul_t(load9(factors, 9 * (n + e), 0.0), load3(x, 3 * row[e], 0.0)))
        store3(x, 3 * k, b)
