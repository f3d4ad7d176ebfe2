"""Small dense equations: LU and Cholesky of m x m matrices in arrays, row by row, and 3x3 matrices as tuples.

Symmetric 3x3 matrices (LDLᵀ, six numbers) are in `kernel.algebra`.
"""

from __future__ import annotations

from chasles.kernel.algebra import cross, dot, scale
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel


@kernel
def lu_factor(a, pivots, m):
    """Replace the m x m matrix by its triangular factors, rows exchanged; False if it is singular."""
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if abs(a[i * m + k]) > abs(a[best * m + k]):
                best = i
        pivots[k] = best
        if not abs(a[best * m + k]) > 0.0:
            return False
        if best != k:
            for j in range(m):
                a[k * m + j], a[best * m + j] = a[best * m + j], a[k * m + j]
        inverse = 1.0 / a[k * m + k]
        for i in range(k + 1, m):
            a[i * m + k] *= inverse
            for j in range(k + 1, m):
                a[i * m + j] -= a[i * m + k] * a[k * m + j]
    return True


@kernel
def lu_solve(a, pivots, b, m):
    """Solve with the factors; b becomes the solution."""
    for k in range(m):
        other = pivots[k]
        b[k], b[other] = b[other], b[k]
    for i in range(m):
        for j in range(i):
            b[i] -= a[i * m + j] * b[j]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            b[i] -= a[i * m + j] * b[j]
        b[i] /= a[i * m + i]


@kernel
def cholesky_factor(a, m):
    """Replace the lower triangle of a positive definite m x m matrix by that of L, a = L Lᵀ."""
    for i in range(m):
        for j in range(i + 1):
            total = a[m * i + j]
            for k in range(j):
                total -= a[m * i + k] * a[m * j + k]
            a[m * i + j] = sqrt(total) if i == j else total / a[m * j + j]


@kernel
def cholesky_solve(a, b, m):
    """Solve with the factor; b becomes the solution."""
    for i in range(m):
        for k in range(i):
            b[i] -= a[m * i + k] * b[k]
        b[i] /= a[m * i + i]
    for i in range(m - 1, -1, -1):
        for k in range(i + 1, m):
            b[i] -= a[m * k + i] * b[k]
        b[i] /= a[m * i + i]


@kernel
def inverse3(m):
    """Inverse of a 3x3 matrix, by cofactors."""
    a, b, c = (m[0], m[1], m[2]), (m[3], m[4], m[5]), (m[6], m[7], m[8])
    bc, ca, ab = cross(b, c), cross(c, a), cross(a, b)
    r = 1.0 / dot(a, bc)
    x, y, z = scale(r, bc), scale(r, ca), scale(r, ab)
    return (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])


@kernel
def solve3(m, b):
    """Solution of a system of three equations, by cofactors."""
    x, y, z = (m[0], m[3], m[6]), (m[1], m[4], m[7]), (m[2], m[5], m[8])
    yz = cross(y, z)
    r = 1.0 / dot(x, yz)
    return scale(r, (dot(b, yz), dot(b, cross(z, x)), dot(b, cross(x, y))))
