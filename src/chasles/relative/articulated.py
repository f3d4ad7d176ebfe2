"""Articulated-body inertias: symmetric 6x6 matrices ((J, H), (Hᵀ, M)) as 21 numbers, J six, H nine by rows, M six."""

from __future__ import annotations

from chasles.kernel.algebra import (
    cross,
    dot,
    mat_add,
    mat_mul,
    mul,
    mul_t,
    scale,
    sym_mul,
    transpose,
)
from chasles.kernel.lanes import like
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, load3, load9, store3, store9

H_AT, M_AT, SIZE = 6, 15, 21


@kernel
def load_symmetric(work, at, z):
    return (*load3(work, at, z), *load3(work, at + 3, z))


@kernel
def store_symmetric(work, at, s):
    store3(work, at, (s[0], s[1], s[2]))
    store3(work, at + 3, (s[3], s[4], s[5]))


@kernel
def load_articulated(work, at, z):
    return load_symmetric(work, at, z), load9(work, at + H_AT, z), load_symmetric(work, at + M_AT, z)


@kernel
def store_rigid(work, at, inertia, z):
    """A rigid link: J its rotational inertia, H = h~ with the first moment h, M = m I."""
    m, h, J = inertia
    zero, mass = like(0.0, z), like(m, z)
    store_symmetric(
        work, at, (like(J[0], z), like(J[1], z), like(J[2], z), like(J[3], z), like(J[4], z), like(J[5], z))
    )
    x, y, w = like(h[0], z), like(h[1], z), like(h[2], z)
    store9(work, at + H_AT, (zero, -w, y, w, zero, -x, -y, x, zero))
    store_symmetric(work, at + M_AT, (mass, zero, zero, mass, zero, mass))


@kernel
def add_articulated(work, at, J, H, M):
    """Three at a time: registers are few."""
    add3(work, at, (J[0], J[1], J[2]))
    add3(work, at + 3, (J[3], J[4], J[5]))
    add3(work, at + H_AT, (H[0], H[1], H[2]))
    add3(work, at + H_AT + 3, (H[3], H[4], H[5]))
    add3(work, at + H_AT + 6, (H[6], H[7], H[8]))
    add3(work, at + M_AT, (M[0], M[1], M[2]))
    add3(work, at + M_AT + 3, (M[3], M[4], M[5]))


@kernel
def store_with_rigid(work, at, inertia, J, H, M):
    """A rigid link and what hangs on it."""
    m, h, own = inertia
    J = (J[0] + own[0], J[1] + own[1], J[2] + own[2], J[3] + own[3], J[4] + own[4], J[5] + own[5])
    store_symmetric(work, at, J)
    store3(work, at + H_AT, (H[0], H[1] - h[2], H[2] + h[1]))
    store3(work, at + H_AT + 3, (H[3] + h[2], H[4], H[5] - h[0]))
    store3(work, at + H_AT + 6, (H[6] - h[1], H[7] + h[0], H[8]))
    store_symmetric(work, at + M_AT, (M[0] + m, M[1], M[2], M[3] + m, M[4], M[5] + m))


# ---------------------------------------------------------------- to the parent's frame


@kernel
def rotate_symmetric(R, S):
    """R S Rᵀ."""
    x, y, w = (R[0], R[1], R[2]), (R[3], R[4], R[5]), (R[6], R[7], R[8])
    a, b, c = sym_mul(S, x), sym_mul(S, y), sym_mul(S, w)
    return (dot(x, a), dot(y, a), dot(w, a), dot(y, b), dot(w, b), dot(w, c))


@kernel
def translate(p, J, H, M):
    """To the frame whose origin is at -p: H + p~ M, and J + X + Xᵀ with X = -(H + p~ M / 2) p~."""
    c0, c1, c2 = cross(p, (M[0], M[1], M[2])), cross(p, (M[1], M[3], M[4])), cross(p, (M[2], M[4], M[5]))
    C = (c0[0], c1[0], c2[0], c0[1], c1[1], c2[1], c0[2], c1[2], c2[2])
    x = cross(p, (H[0] + 0.5 * C[0], H[1] + 0.5 * C[1], H[2] + 0.5 * C[2]))
    y = cross(p, (H[3] + 0.5 * C[3], H[4] + 0.5 * C[4], H[5] + 0.5 * C[5]))
    w = cross(p, (H[6] + 0.5 * C[6], H[7] + 0.5 * C[7], H[8] + 0.5 * C[8]))
    moved = (
        *(J[0] + (x[0] + x[0]), J[1] + (x[1] + y[0]), J[2] + (x[2] + w[0])),
        *(J[3] + (y[1] + y[1]), J[4] + (y[2] + w[1]), J[5] + (w[2] + w[2])),
    )
    return moved, mat_add(H, C), M


@kernel
def shift(R, p, J, H, M):
    """The inertia in the parent's frame, in which the link is at (R, p)."""
    turned = mat_mul(mat_mul(R, H), transpose(R))
    return translate(p, rotate_symmetric(R, J), turned, rotate_symmetric(R, M))


@kernel
def shift_turning(R, p, J, H, M):
    """The same behind a revolute joint, where the z rows of J and H vanish: J is (xx, xy, yy), H has two rows."""
    a0, a1 = R[0] * J[0] + R[1] * J[1], R[0] * J[1] + R[1] * J[2]
    b0, b1 = R[3] * J[0] + R[4] * J[1], R[3] * J[1] + R[4] * J[2]
    c0, c1 = R[6] * J[0] + R[7] * J[1], R[6] * J[1] + R[7] * J[2]
    rotational = (
        *(a0 * R[0] + a1 * R[1], a0 * R[3] + a1 * R[4], a0 * R[6] + a1 * R[7]),
        *(b0 * R[3] + b1 * R[4], b0 * R[6] + b1 * R[7], c0 * R[6] + c1 * R[7]),
    )
    x, y = mul(R, (H[0], H[1], H[2])), mul(R, (H[3], H[4], H[5]))
    coupling = (
        *(R[0] * x[0] + R[1] * y[0], R[0] * x[1] + R[1] * y[1], R[0] * x[2] + R[1] * y[2]),
        *(R[3] * x[0] + R[4] * y[0], R[3] * x[1] + R[4] * y[1], R[3] * x[2] + R[4] * y[2]),
        *(R[6] * x[0] + R[7] * y[0], R[6] * x[1] + R[7] * y[1], R[6] * x[2] + R[7] * y[2]),
    )
    return translate(p, rotational, coupling, rotate_symmetric(R, M))


# ---------------------------------------------------------------- equations


@kernel
def articulated_mul(J, H, M, a):
    """The wrench (torque, force) of an acceleration."""
    torque, force = mul(H, a[1]), mul_t(H, a[0])
    x, y = sym_mul(J, a[0]), sym_mul(M, a[1])
    return (x[0] + torque[0], x[1] + torque[1], x[2] + torque[2]), (y[0] + force[0], y[1] + force[1], y[2] + force[2])


@kernel
def without(J, H, M, U, pivot):
    """The inertia behind a joint with one freedom: I - U Uᵀ / D, U = I S, pivot = 1/D."""
    (u, v), x = U, scale(pivot, U[0])
    y = scale(pivot, U[1])
    J = (
        *(J[0] - x[0] * u[0], J[1] - x[0] * u[1], J[2] - x[0] * u[2]),
        *(J[3] - x[1] * u[1], J[4] - x[1] * u[2], J[5] - x[2] * u[2]),
    )
    H = (
        *(H[0] - x[0] * v[0], H[1] - x[0] * v[1], H[2] - x[0] * v[2]),
        *(H[3] - x[1] * v[0], H[4] - x[1] * v[1], H[5] - x[1] * v[2]),
        *(H[6] - x[2] * v[0], H[7] - x[2] * v[1], H[8] - x[2] * v[2]),
    )
    M = (
        *(M[0] - y[0] * v[0], M[1] - y[0] * v[1], M[2] - y[0] * v[2]),
        *(M[3] - y[1] * v[1], M[4] - y[1] * v[2], M[5] - y[2] * v[2]),
    )
    return J, H, M
