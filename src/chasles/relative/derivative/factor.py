"""The mass matrix as LᵀDL without fill-in (featherstone2008, section 6.5), and its inverse, on matrices by rows.

L is unit lower triangular with entries for the joints between each joint and the ground only. It takes the place of M's
lower triangle, 1/D that of the diagonal.
"""

from __future__ import annotations

import numpy as np

from chasles.kernel.lanes import WIDTH, lanes_of, like, load, store
from chasles.kernel.late import late
from chasles.kernel.policy import COMPILED, kernel
from chasles.relative.tables import HEAD, LINK, VELOCITIES, link_table, run_of_velocity, velocity_before

COLUMNS = 8 * WIDTH  # room for a block of columns, for each velocity


def subtree_ends(topology: np.ndarray) -> np.ndarray:
    """For each velocity, the end of the velocities of all that it carries, which follow it."""
    table = link_table(topology)
    counts = np.array(VELOCITIES)[table[:, LINK.kind]]
    ends = table[:, LINK.velocity] + counts
    for i in range(len(table) - 1, -1, -1):
        parent = table[i, LINK.parent]
        if parent >= 0:
            ends[parent] = max(ends[parent], ends[i])
    return np.repeat(ends, counts)


@kernel
def next_run(topology, k):
    """First and last velocity of a run on the way to the ground, from what `velocity_before` gave."""
    if k < -1:  # a free joint on the ground
        return -2 - k, 3 - k
    return run_of_velocity(topology, k), k


@kernel
def after_run(topology, k, first):
    """Where the way goes on, or -1."""
    return -1 if k < -1 else velocity_before(topology, first)


@kernel
def reduce_row(topology, nv, row, i, ratio, matrix, z):
    """Row i less `ratio` times the row that begins at `row`, from joint i to the ground."""
    k = i
    while k != -1:
        first, last = next_run(topology, k)
        for j in range(first, last + 1):
            at = i * nv + j
            store(matrix, at, load(matrix, at, z) - ratio * load(matrix, row + j, z))
        k = after_run(topology, k, first)


@kernel
def factor(topology, matrix, z):
    """LᵀDL of a mass matrix, in place; entries of joints that are not on one way to the ground are not touched."""
    nv = topology[HEAD.velocities]
    for r in range(nv - 1, -1, -1):
        row = r * nv
        pivot = 1.0 / load(matrix, row + r, z)
        store(matrix, row + r, pivot)
        k = velocity_before(topology, r)
        while k != -1:
            first, last = next_run(topology, k)
            for i in range(last, first - 1, -1):
                entry = load(matrix, row + i, z)
                ratio = entry * pivot
                reduce_row(topology, nv, row, i, ratio, matrix, z)
                store(matrix, row + i, ratio)
            k = after_run(topology, k, first)


# ---------------------------------------------------------------- many columns at a time
#
# Columns are solved for in blocks of eight registers: on lanes a register has one column of four states, else four
# columns of one state. So the solver itself runs on lanes in both cases.


columns_of = late("chasles.relative.derivative.column_count", "columns_of") if COMPILED else (lambda z: 8)  # in a block
pattern = lanes_of if COMPILED else (lambda x: x)  # what the solver runs on


@kernel
def block_at(place, z):
    """The first register, from the beginning of the workspace, that begins at `place` or after it."""
    return (8 * place + columns_of(z) - 1) // columns_of(z)


@kernel
def load8(work, at, y):
    return (
        *(load(work, at, y), load(work, at + 1, y), load(work, at + 2, y), load(work, at + 3, y)),
        *(load(work, at + 4, y), load(work, at + 5, y), load(work, at + 6, y), load(work, at + 7, y)),
    )


@kernel
def store8(work, at, x):
    store(work, at, x[0])
    store(work, at + 1, x[1])
    store(work, at + 2, x[2])
    store(work, at + 3, x[3])
    store(work, at + 4, x[4])
    store(work, at + 5, x[5])
    store(work, at + 6, x[6])
    store(work, at + 7, x[7])


@kernel
def less(x, ratio, y):
    return (
        *(x[0] - ratio * y[0], x[1] - ratio * y[1], x[2] - ratio * y[2], x[3] - ratio * y[3]),
        *(x[4] - ratio * y[4], x[5] - ratio * y[5], x[6] - ratio * y[6], x[7] - ratio * y[7]),
    )


@kernel
def times(ratio, x):
    return (
        *(ratio * x[0], ratio * x[1], ratio * x[2], ratio * x[3]),
        *(ratio * x[4], ratio * x[5], ratio * x[6], ratio * x[7]),
    )


@kernel
def solve_block(topology, ends, matrix, begin, end, count, work, at, z):
    """X becomes M⁻¹ X, for a block that begins with register `at`, of which `count` rows are asked for.

    X is zero from row `end` on and in rows before `begin` of joints that do not carry joint `begin`.
    """
    nv, y = topology[HEAD.velocities], pattern(0.0)
    for i in range(end - 1, -1, -1):
        if i >= begin or ends[i] > begin:
            x, j, stop = load8(work, at + 8 * i, y), i + 1, min(ends[i], end)
            while j < stop:  # all that i carries
                if j < begin and ends[j] <= begin:
                    j = ends[j]
                else:
                    x = less(x, load(matrix, j * nv + i, z), load8(work, at + 8 * j, y))
                    j += 1
            store8(work, at + 8 * i, x)
    for i in range(count):
        x, pivot = load8(work, at + 8 * i, y), load(matrix, i * nv + i, z)
        x, k = times(pivot, x), velocity_before(topology, i)
        while k != -1:
            first, last = next_run(topology, k)
            for j in range(first, last + 1):
                x = less(x, load(matrix, i * nv + j, z), load8(work, at + 8 * j, y))
            k = after_run(topology, k, first)
        store8(work, at + 8 * i, x)


@kernel
def related(ends, nv, begin, end):
    """Where columns of X and Y are not zero, if they have entries for pairs of joints on one way to the ground only."""
    if begin < nv < end:
        return 0, nv
    first, last = (begin - nv, end - nv) if begin >= nv else (begin, end)
    reach = last
    for c in range(first, last):
        reach = max(reach, ends[c])
    return first, reach


@kernel
def solve_negative(topology, ends, matrix, X, Y, work, place, z):
    """X becomes -M⁻¹ X and Y -M⁻¹ Y, both square with entries for joints on one way to the ground only."""
    nv, width, at = topology[HEAD.velocities], columns_of(z), block_at(place, z)
    here = at * width // 8
    for begin in range(0, 2 * nv, width):
        end = min(begin + width, 2 * nv)
        for i in range(nv):
            to, row = here + width * i - begin, i * nv
            for c in range(begin, min(end, nv)):
                store(work, to + c, -load(X, row + c, z))
            for c in range(max(begin, nv), end):
                store(work, to + c, -load(Y, row + c - nv, z))
        first, last = related(ends, nv, begin, end)
        solve_block(topology, ends, matrix, first, last, nv, work, at, z)
        for i in range(nv):
            to, row = here + width * i - begin, i * nv
            for c in range(begin, min(end, nv)):
                store(X, row + c, load(work, to + c, z))
            for c in range(max(begin, nv), end):
                store(Y, row + c - nv, load(work, to + c, z))


@kernel
def invert(topology, ends, matrix, work, place, z):
    """M⁻¹ in place of the factors of M, from the last columns on: what is then needed of L lies above them."""
    nv, width, at, zero = topology[HEAD.velocities], columns_of(z), block_at(place, z), like(0.0, z)
    here, end = at * width // 8, nv
    while end > 0:
        begin = max(end - width, 0)
        for k in range(width * end):
            store(work, here + k, zero)
        for c in range(begin, end):
            store(work, here + width * c + c - begin, zero + 1.0)
        solve_block(topology, ends, matrix, begin, end, end, work, at, z)
        for i in range(end):
            for c in range(begin, end):
                store(matrix, i * nv + c, load(work, here + width * i + c - begin, z))
        end = begin
    for i in range(nv):
        for c in range(i):
            store(matrix, i * nv + c, load(matrix, c * nv + i, z))
