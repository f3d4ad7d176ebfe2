"""Small dense equations, all of them: LU and Cholesky of m x m matrices in arrays, row by row; 3x3 matrices as tuples
of nine numbers, symmetric ones of six (xx, xy, xz, yy, yz, zz) by LDLᵀ; 6x6 ones as 3x3 tiles, by the complement of the
first.
"""

from __future__ import annotations

from chasles.kernel.algebra import cross, dot, mat_add, mat_mul, mat_neg, mul, mul_t, scale, sub, transpose
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.tiles import mat_sub, t_mul


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


@kernel
def inverse6(aa, al, la, ll):
    """Inverse of a 6x6 matrix of four tiles, by the complement of its first."""
    aa = inverse3(aa)
    la = mat_mul(la, aa)
    ll = inverse3(mat_add(ll, mat_neg(mat_mul(la, al))))
    al = mat_neg(mat_mul(mat_mul(aa, al), ll))
    return mat_add(aa, mat_neg(mat_mul(al, la))), al, mat_neg(mat_mul(ll, la)), ll


@kernel
def inverse6_lower(aa, la, ll):
    """The same of a matrix whose tile al is zero; so is that of the inverse."""
    aa, ll = inverse3(aa), inverse3(ll)
    return aa, mat_neg(mat_mul(ll, mat_mul(la, aa))), ll


# ---------------------------------------------------------------- symmetric 3x3 and 6x6 matrices


@kernel
def factor_symmetric(s):
    """LDLᵀ of a positive definite 3x3 matrix: inverse pivots and multipliers."""
    i0 = 1.0 / s[0]
    l10, l20 = s[1] * i0, s[2] * i0
    rest = s[4] - l10 * s[2]
    i1 = 1.0 / (s[3] - l10 * s[1])
    l21 = rest * i1
    return (i0, i1, 1.0 / (s[5] - l20 * s[2] - l21 * rest), l10, l20, l21)


@kernel
def solve_symmetric(factor, x):
    i0, i1, i2, l10, l20, l21 = factor
    b = x[1] - l10 * x[0]
    c = (x[2] - l20 * x[0] - l21 * b) * i2
    b = b * i1 - l21 * c
    return (x[0] * i0 - l10 * b - l20 * c, b, c)


@kernel
def inverse_symmetric(s):
    """Inverse of a definite symmetric matrix, six numbers from six; by LDLᵀ, without the cancellation of cofactors."""
    i0, i1, i2, l10, l20, l21 = factor_symmetric(s)
    m = l10 * l21 - l20  # rows of L⁻¹: (1), (-l10, 1), (m, -l21, 1)
    return (
        *(i0 + l10 * l10 * i1 + m * m * i2, -l10 * i1 - m * l21 * i2, m * i2),
        *(i1 + l21 * l21 * i2, -l21 * i2, i2),
    )


@kernel
def inverse3_symmetric(m):
    """Inverse of a definite symmetric 3x3 matrix that is stored in full."""
    xx, xy, xz, yy, yz, zz = inverse_symmetric((m[0], m[1], m[2], m[4], m[5], m[8]))
    return (xx, xy, xz, xy, yy, yz, xz, yz, zz)


@kernel
def complement(J, H, factor):
    """M - Hᵀ J⁻¹ H without its M: what is subtracted when the equations of J are solved first."""
    x = solve_symmetric(factor, (H[0], H[3], H[6]))
    y = solve_symmetric(factor, (H[1], H[4], H[7]))
    w = solve_symmetric(factor, (H[2], H[5], H[8]))
    first, second = (H[0], H[3], H[6]), (H[1], H[4], H[7])
    third = (H[2], H[5], H[8])
    return (dot(first, x), dot(first, y), dot(first, w), dot(second, y), dot(second, w), dot(third, w))


@kernel
def minus_symmetric(a, b):
    return (a[0] - b[0], a[1] - b[1], a[2] - b[2], a[3] - b[3], a[4] - b[4], a[5] - b[5])


@kernel
def solve6_symmetric(J, H, M, b):
    """Solution of a definite symmetric system of six equations ((J, H), (Hᵀ, M)) for a pair of vectors."""
    factor = factor_symmetric(J)
    rest = factor_symmetric(minus_symmetric(M, complement(J, H, factor)))
    second = solve_symmetric(rest, sub(b[1], mul_t(H, solve_symmetric(factor, b[0]))))
    return solve_symmetric(factor, sub(b[0], mul(H, second))), second


@kernel
def inverse6_symmetric(m):
    """Inverse of a definite symmetric 6x6 matrix, by the complement of its angular tile."""
    aa, al, ll = m
    inner = inverse3_symmetric(aa)
    across = mat_mul(inner, al)
    rest = inverse3_symmetric(mat_sub(ll, t_mul(al, across)))
    back = mat_mul(across, rest)
    return mat_add(inner, mat_mul(back, transpose(across))), mat_neg(back), rest
