"""Cotangents through the operations on whole points of a space (`integrate.blocks`).

A cotangent has a number for each number of a point or a vector. Vectors are done here; of rotations and motions the
derivatives come from the same operations on dual numbers, all blocks at once: which number of a block is seeded in
which pass is in `seeds`.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.blocks import MOVE, PULLBACK, on_blocks
from chasles.integrate.space import Space
from chasles.integrate.table import (
    ABELIAN,
    ALGEBRA_AT,
    ALGEBRA_SE3,
    ALGEBRA_SO3,
    COUNT,
    KIND,
    POINT_AT,
    SIDE,
    algebra_of,
)
from chasles.kernel.algebra import cross, force_cross, scale
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, layout, load3, load6

# a number that is seeded: along which tangent, of which argument, where, and what its block results in
SEED = layout("SEED", tangent=1, argument=1, place=1, first=1, last=1)


def seeds_of(space: Space, operation: int) -> tuple[np.ndarray, np.ndarray]:
    """The seeds of an operation on a space (passes one after the other), and where each pass begins."""
    rows: list[list[tuple[int, ...]]] = []
    points = [*(int(at) for at in space.table[:, POINT_AT]), space.size]
    algebras = [*(int(at) for at in space.table[:, ALGEBRA_AT]), space.dimension]
    for k, kind in enumerate(space.table[:, KIND]):
        if algebra_of.py_func(int(kind)) == ABELIAN:
            continue
        point, vector = range(points[k], points[k + 1]), range(algebras[k], algebras[k + 1])
        first, result = (point, point) if operation == MOVE else (vector, vector)
        places = [*((0, place) for place in first), *((1, place) for place in vector)]
        for n, (argument, place) in enumerate(places):
            while len(rows) <= n // TANGENTS:
                rows.append([])
            rows[n // TANGENTS].append((1 + n % TANGENTS, argument, place, result.start, result.stop))
    flat = np.array([row for one in rows for row in one], dtype=np.int64).reshape(-1, SEED.size)
    return flat, np.cumsum([0, *map(len, rows)]).astype(np.int64)


@kernel
def pull_blocks(table, addresses, operation, terms, a, b, bar, a_bar, b_bar, seeds, passes, duals):
    """Add to the cotangents of the arguments a and b what that of the result, `bar`, makes of them, on all blocks but
    vectors."""
    n, m = WIDTH * a.shape[0], WIDTH * b.shape[0]
    A, B, out = duals[:n], duals[n : n + m], duals[n + m :]
    if passes.shape[0] > 1:
        for k in range(a.shape[0]):
            A[WIDTH * k] = a[k]
            for j in range(1, WIDTH):
                A[WIDTH * k + j] = 0.0
        for k in range(b.shape[0]):
            B[WIDTH * k] = b[k]
            for j in range(1, WIDTH):
                B[WIDTH * k + j] = 0.0
    for p in range(passes.shape[0] - 1):
        for s in range(passes[p], passes[p + 1]):
            at = WIDTH * seeds[s, SEED.place] + seeds[s, SEED.tangent]
            if seeds[s, SEED.argument] == 0:
                A[at] = 1.0
            else:
                B[at] = 1.0
        on_blocks(table, addresses, operation, terms, A, B, out, 0)
        for s in range(passes[p], passes[p + 1]):
            place, tangent, total = seeds[s, SEED.place], seeds[s, SEED.tangent], 0.0
            for k in range(seeds[s, SEED.first], seeds[s, SEED.last]):
                total += bar[k] * out[WIDTH * k + tangent]
            if seeds[s, SEED.argument] == 0:
                A[WIDTH * place + tangent] = 0.0
                a_bar[place] += total
            else:
                B[WIDTH * place + tangent] = 0.0
                b_bar[place] += total


@kernel
def pull_move(table, addresses, y, x, bar, y_bar, x_bar, seeds, passes, duals):
    """Cotangents of y and x from that of `blocks.move`."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ABELIAN:
            iy, ix = table[i, POINT_AT], table[i, ALGEBRA_AT]
            for k in range(table[i, COUNT]):
                y_bar[iy + k] += bar[iy + k]
                x_bar[ix + k] += bar[iy + k]
    pull_blocks(table, addresses, MOVE, -1, y, x, bar, y_bar, x_bar, seeds, passes, duals)


@kernel
def pull_pullback(table, addresses, terms, x, f, bar, x_bar, f_bar, seeds, passes, duals):
    """Cotangents of x and f from that of `blocks.pullback`."""
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) == ABELIAN:
            ix = table[i, ALGEBRA_AT]
            for k in range(table[i, COUNT]):
                f_bar[ix + k] += bar[ix + k]
    pull_blocks(table, addresses, PULLBACK, terms, x, f, bar, x_bar, f_bar, seeds, passes, duals)


@kernel
def pull_bracket(table, weight, x, y, bar, x_bar, y_bar):
    """Cotangents of x and y from that of weight [x, y] (`blocks.bracket`), of rotations and spatial motions."""
    for i in range(table.shape[0]):
        ix, size = table[i, ALGEBRA_AT], weight * float(table[i, SIDE])
        algebra = algebra_of(table[i, KIND])
        if algebra == ALGEBRA_SO3:
            a, b, w = load3(x, ix, 0.0), load3(y, ix, 0.0), load3(bar, ix, 0.0)
            add3(x_bar, ix, scale(size, cross(b, w)))
            add3(y_bar, ix, scale(size, cross(w, a)))
        elif algebra == ALGEBRA_SE3:
            u, v, w = load6(x, ix, 0.0), load6(y, ix, 0.0), load6(bar, ix, 0.0)
            first, second = force_cross(v, w), force_cross(u, w)
            add3(x_bar, ix, scale(size, first[0]))
            add3(x_bar, ix + 3, scale(size, first[1]))
            add3(y_bar, ix, scale(-size, second[0]))
            add3(y_bar, ix + 3, scale(-size, second[1]))
