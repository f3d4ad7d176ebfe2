"""The equations S x = b of the rows, S = F Fᵀ, by the triangle of F: QR of Fᵀ with pivoting, never S itself.

F has a row of nv numbers for each equation, divided by its reach (`response`), so that rounding is the same in all rows
and a pivot below `DEPENDENT` tells a row that depends on the others, or moves nothing. The reflections are not kept:
S = Rᵀ R needs R alone.
"""

from __future__ import annotations

from chasles.kernel.lanes import absolute, primal, select, sqrt
from chasles.kernel.policy import kernel

DEPENDENT = 1e-9  # of a row's reach
WEAK = 1e-3  # of the length of a row that was chosen before: with a pivot below, others are looked for


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
def swap(F, order, left, i, j, nv):
    order[i], order[j] = order[j], order[i]
    left[i], left[j] = left[j], left[i]
    for k in range(nv):
        F[i * nv + k], F[j * nv + k] = F[j * nv + k], F[i * nv + k]


@kernel
def reflect(F, left, s, m, nv):
    """Bring row s of F to zeros behind its entry s by a reflection, which the rows behind it undergo too."""
    at = s * nv + s
    length, head = sqrt(left[s]), F[at]
    new = select(head > 0.0, -length, length)
    F[at] = head - new  # now the row is the vector of the reflection, of squared length 2 length (length + |head|)
    factor = 1.0 / (length * (length + absolute(head)))
    for j in range(s + 1, m):
        along = factor * product(F, at, j * nv + s, nv - s)
        left[j] = subtract(F, j * nv + s, along, at, nv - s)
    F[at] = new


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
    """
    for j in range(m):
        order[j] = float(j)
        if free != 0:
            order[m + j] = 0.0
    most = min(m, nv) if wanted < 0 else wanted
    for s in range(most):
        best, pivot = 0.0, s
        for j in range(s, m):
            if order[m + int(primal(order[j]))] == 0.0 and not left[j] <= best:  # a NaN is taken, and ends it
                best, pivot = left[j], j
        if not best > least_pivot(free, scales[m + int(primal(order[pivot]))]):
            return s if wanted < 0 and best == best else -1
        swap(F, order, left, s, pivot, nv)
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
        for k in range(s):
            total -= F[s * nv + k] * x[m + k]
        x[m + s] = total / F[s * nv + s]
    for s in range(rank - 1, -1, -1):  # R x = y
        total = x[m + s]
        for k in range(s + 1, rank):
            total -= F[k * nv + s] * x[m + k]
        x[m + s] = total / F[s * nv + s]
    for j in range(m):
        x[j] = 0.0
    for s in range(rank):
        j = int(primal(order[s]))
        x[j] = scales[j] * x[m + s]
