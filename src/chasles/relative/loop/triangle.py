"""The equations S x = b of the rows, S = F Fᵀ, by the triangle of F: QR of Fᵀ with pivoting, never S itself.

F has a row of nv numbers for each equation, divided by its reach (`response`), so that rounding is the same in all rows
and a pivot below `DEPENDENT` tells a row that depends on the others, or moves nothing. The reflections are not kept:
S = Rᵀ R needs R alone.

Where all rows must be independent they are taken in turn: rows of loops that are far from each other share no joints,
and so most of F stays zero. `EXTENT` tells where each row has numbers; a reflection leaves alone what it does not meet.
So a row of loops costs as much as it is long, not the cube of that. Results have the same bits as without it:
the numbers that are left out are zeros, and sums are taken in the same groups. That is why the lengths of rows, by
which a row out of turn is chosen, are summed anew for each choice: those kept from before another group of sums would
have other bits in rows that were left alone, and of equal rows another would be the longest.
"""

from __future__ import annotations

from chasles.kernel.lanes import primal, select, sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

DEPENDENT = 1e-9  # of a row's reach
WEAK = 1e-3  # of the length of a row that was chosen before: with a pivot below, others are looked for
IN_TURN = 1e-4  # of its squared reach: with so much left, the row whose turn it is will do
# numbers of each row behind the order and the marks: where its places begin and end, and the first row that met it
EXTENT = layout("EXTENT", begin=1, end=1, met=1)
ORDER_NUMBERS = 2 + EXTENT.size  # numbers of each row in `order`


@kernel
def product(F, i, j, size):
    """Sum of F[i + k] F[j + k]; four sums at a time, which the compiler may not reorder by itself."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    k = 0
    while k + 4 <= size:
        a += F[i + k] * F[j + k]
        b += F[i + k + 1] * F[j + k + 1]
        c += F[i + k + 2] * F[j + k + 2]
        d += F[i + k + 3] * F[j + k + 3]
        k += 4
    while k < size:
        a += F[i + k] * F[j + k]
        k += 1
    return (a + b) + (c + d)


@kernel
def subtract(F, i, factor, j, size):
    """F[i + k] -= factor F[j + k]; the sum of squares of the results but the first."""
    F[i] -= factor * F[j]
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    k = 1
    while k + 4 <= size:
        w, x = F[i + k] - factor * F[j + k], F[i + k + 1] - factor * F[j + k + 1]
        y, z = F[i + k + 2] - factor * F[j + k + 2], F[i + k + 3] - factor * F[j + k + 3]
        F[i + k], F[i + k + 1], F[i + k + 2], F[i + k + 3] = w, x, y, z
        a, b, c, d = a + w * w, b + x * x, c + y * y, d + z * z
        k += 4
    while k < size:
        w = F[i + k] - factor * F[j + k]
        F[i + k] = w
        a += w * w
        k += 1
    return (a + b) + (c + d)


@kernel
def scale_rows(F, scales, left, m, nv):
    """Divide all rows by their reach, whose squares come in `scales` and leave it inverted (0 for a row without).

    left: of each row the squared length of what is not yet part of the triangle, all of it here; a copy is in the
    second half of `scales`.
    """
    for j in range(m):
        scales[j] = select(scales[j] != 0.0, 1.0 / sqrt(scales[j]), 0.0)
        for k in range(nv):
            F[j * nv + k] *= scales[j]
        scales[m + j] = left[j] = product(F, j * nv, j * nv, nv)


@kernel
def swap(F, order, left, i, j, m, nv):
    order[i], order[j] = order[j], order[i]
    for k in range(2 * m, 2 * m + EXTENT.size):
        a, b = k + EXTENT.size * i, k + EXTENT.size * j
        order[a], order[b] = order[b], order[a]
    left[i], left[j] = left[j], left[i]
    for k in range(nv):
        F[i * nv + k], F[j * nv + k] = F[j * nv + k], F[i * nv + k]


@kernel
def reflect(F, left, s, m, nv):
    """Bring row s of F to zeros behind its entry s by a reflection, which the rows behind it undergo too."""
    at = s * nv + s
    new, factor = aim(F, at, left[s])
    for j in range(s + 1, m):
        along = factor * product(F, at, j * nv + s, nv - s)
        left[j] = subtract(F, j * nv + s, along, at, nv - s)
    F[at] = new


@kernel
def aim(F, at, squared):
    """Make the row at `at`, of this squared length, the vector of its reflection, of squared length 2 length (length +
    |head|): what its head becomes, and the factor of projections onto it."""
    length, head = sqrt(squared), F[at]
    new = select(head > 0.0, -length, length)
    F[at] = head - new
    size = select(head > 0.0, head, -head)  # not |head|: at a head of zero its derivative is that of this branch
    return new, 1.0 / (length * (length + size))


@kernel
def reached(begin, end, nv):
    """How many numbers from `begin` to take for those before `end`: sums are of four at a time."""
    return min(4 * ((end - begin + 3) // 4), nv - begin)


@kernel
def left_of(F, order, j, s, m, nv):
    """The squared length of what is left of row j from number s on."""
    at = j * nv + s
    return product(F, at, at, reached(s, int(primal(order[2 * m + EXTENT.size * j + EXTENT.end])), nv))


@kernel
def reflect_near(F, order, left, s, m, nv):
    """`reflect`, which leaves rows alone that have no number where row s has one, and lengths of rows as they are."""
    at, places = s * nv + s, 2 * m + EXTENT.size * s
    end = max(int(primal(order[places + EXTENT.end])), s + 1)
    size = reached(s, end, nv)
    new, factor = aim(F, at, left[s])
    for j in range(s + 1, m):
        own = 2 * m + EXTENT.size * j
        if int(primal(order[own + EXTENT.begin])) < end:
            last = max(end, int(primal(order[own + EXTENT.end])))
            along = factor * product(F, at, j * nv + s, size)
            subtract(F, j * nv + s, along, at, reached(s, last, nv))
            order[own + EXTENT.begin], order[own + EXTENT.end] = 0.0, float(last)
            if int(primal(order[own + EXTENT.met])) > s:
                order[own + EXTENT.met] = float(s)
    F[at] = new


@kernel
def set_everywhere(order, m, nv):
    """All rows may have numbers in all places."""
    for j in range(m):
        own = 2 * m + EXTENT.size * j
        order[own + EXTENT.begin], order[own + EXTENT.end], order[own + EXTENT.met] = 0.0, float(nv), 0.0


@kernel
def least_pivot(free, squared):
    """The squared pivot that a row must exceed to count, of its squared length before any others were taken."""
    least = DEPENDENT * DEPENDENT
    if free == 0:
        least = max(least, WEAK * WEAK * squared)
    return least


@kernel
def triangle(F, scales, order, left, m, nv, wanted, free):
    """R in place: R[s, j] at F[j nv + s], rows in the order `order`. The rank is returned.

    With wanted >= 0 this many rows are taken, and if they are not independent, -1 is returned. Behind the order are
    marks of the rows that are not taken: set here if the choice is free, else kept to, with better pivots asked for.
    Behind the marks are the places of the rows (`EXTENT`).
    """
    for j in range(m):
        order[j] = float(j)
        if free != 0:
            order[m + j] = 0.0
    most = min(m, nv) if wanted < 0 else wanted
    in_turn = wanted == m
    if not in_turn:
        set_everywhere(order, m, nv)
    for s in range(most):
        best, pivot = 0.0, s
        if in_turn:
            left[s] = left_of(F, order, s, s, m, nv)
        if in_turn and left[s] > IN_TURN:
            best = left[s]
        else:
            for j in range(s, m):
                if in_turn:
                    left[j] = left_of(F, order, j, s, m, nv)
                if order[m + int(primal(order[j]))] == 0.0 and not left[j] <= best:  # a NaN is taken, and ends it
                    best, pivot = left[j], j
        if not best > least_pivot(free, scales[m + int(primal(order[pivot]))]):
            return s if wanted < 0 and best == best else -1
        if pivot != s:
            swap(F, order, left, s, pivot, m, nv)
        if in_turn:
            reflect_near(F, order, left, s, m, nv)
        else:
            reflect(F, left, s, m, nv)
    if free != 0:
        for s in range(most, m):
            order[m + int(primal(order[s]))] = 1.0
    return most


@kernel
def solve(F, scales, order, rank, m, nv, x):
    """x becomes the solution of S x = x whose entries are zero in all rows but the independent ones.

    x has room for 2 m numbers.
    """
    for s in range(rank):  # Rᵀ y = b
        j = int(primal(order[s]))
        total = scales[j] * x[j]
        for k in range(min(int(primal(order[2 * m + EXTENT.size * s + EXTENT.met])), s), s):
            total -= F[s * nv + k] * x[m + k]
        x[m + s] = total / F[s * nv + s]
    for s in range(rank - 1, -1, -1):  # R x = y
        total = x[m + s]
        for k in range(s + 1, rank):
            if int(primal(order[2 * m + EXTENT.size * k + EXTENT.met])) <= s:
                total -= F[k * nv + s] * x[m + k]
        x[m + s] = total / F[s * nv + s]
    for j in range(m):
        x[j] = 0.0
    for s in range(rank):
        j = int(primal(order[s]))
        x[j] = scales[j] * x[m + s]
