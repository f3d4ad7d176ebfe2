"""Derivatives of bushings for Newton's matrix: dense 6x6 blocks, exact.

In the axes of the second frame, with X = log C, M = dexpinv_{-X} and the twist W of the second frame relative to the
first, the wrench on the second body is F = -Mᵀ P, P = K X + D X', X' = M W. Along a relative displacement η

    δX = M η,   δM by `ddexpinv`,   δW = ratio η - ad_Y η + what turns with the bodies,   -δF = H η + ...
    H = (T₁ + Mᵀ (K + D T₂)) M + N (ratio - ad_Y),   N = Mᵀ D M,   T₁ δX = δMᵀ P,   T₂ δX = δM W

where Y is the twist of the first body at the second frame. The wrench on the first body is -F, carried along with η:
there H has [t~ f~; f~ 0] more. Bodies on SO(3)xR3 keep their velocities in space as they turn, which is the last term.
A 6x6 matrix is four tiles: (aa, al, la, ll), angular or linear row, angular or linear column.
"""

from __future__ import annotations

from chasles.absolute.tables import BODY, SE3
from chasles.constrained.saddle import BLOCK
from chasles.constraint.rows import IDENTITY, ZERO
from chasles.force.table import BUSH, FORCE, MOVING, SYMMETRIC, bushing_state, motion_at
from chasles.kernel.algebra import (
    add,
    mat_add,
    mat_mul,
    mat_mul_t,
    mat_neg,
    mat_scale,
    mul,
    mul_t,
    neg,
    scale,
    skew,
    skew_mul,
    sub,
    transpose,
)
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add9, load9
from chasles.lie import se3

NO_TILE = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@kernel
def tiles_at(values, at):
    """A symmetric matrix, all four tiles."""
    al = load9(values, at + SYMMETRIC.al, 0.0)
    return load9(values, at + SYMMETRIC.aa, 0.0), al, transpose(al), load9(values, at + SYMMETRIC.ll, 0.0)


@kernel
def sum_of(a, b):
    return mat_add(a[0], b[0]), mat_add(a[1], b[1]), mat_add(a[2], b[2]), mat_add(a[3], b[3])


@kernel
def product(a, b):
    return (
        mat_add(mat_mul(a[0], b[0]), mat_mul(a[1], b[2])),
        mat_add(mat_mul(a[0], b[1]), mat_mul(a[1], b[3])),
        mat_add(mat_mul(a[2], b[0]), mat_mul(a[3], b[2])),
        mat_add(mat_mul(a[2], b[1]), mat_mul(a[3], b[3])),
    )


@kernel
def times_lower(a, A, B):
    """a [A 0; B A]."""
    aa, la = mat_add(mat_mul(a[0], A), mat_mul(a[1], B)), mat_add(mat_mul(a[2], A), mat_mul(a[3], B))
    return aa, mat_mul(a[1], A), la, mat_mul(a[3], A)


@kernel
def lower_times(A, B, a):
    """[A 0; B A]ᵀ a."""
    A, B = transpose(A), transpose(B)
    aa, al = mat_add(mat_mul(A, a[0]), mat_mul(B, a[2])), mat_add(mat_mul(A, a[1]), mat_mul(B, a[3]))
    return aa, al, mat_mul(A, a[2]), mat_mul(A, a[3])


@kernel
def in_space(S, a):
    """S a Sᵀ, tile by tile."""
    return (
        mat_mul(S, mat_mul_t(a[0], S)),
        mat_mul(S, mat_mul_t(a[1], S)),
        mat_mul(S, mat_mul_t(a[2], S)),
        mat_mul(S, mat_mul_t(a[3], S)),
    )


@kernel
def store_column(room, at, k, x):
    """Column k of a 6x6 matrix, in the places of its four tiles."""
    top, bottom = (BLOCK.aa, BLOCK.la) if k < 3 else (BLOCK.al, BLOCK.ll)
    for m in range(3):
        room[at + top + 3 * m + k % 3] = x[0][0] if m == 0 else x[0][1] if m == 1 else x[0][2]
        room[at + bottom + 3 * m + k % 3] = x[1][0] if m == 0 else x[1][1] if m == 1 else x[1][2]


@kernel
def matrix_at(room, at):
    return (
        load9(room, at + BLOCK.aa, 0.0),
        load9(room, at + BLOCK.al, 0.0),
        load9(room, at + BLOCK.la, 0.0),
        load9(room, at + BLOCK.ll, 0.0),
    )


@kernel
def turned_maps(X, P, W, room):
    """T₁ and T₂: how Mᵀ P and M W change with X. `room` has space for both."""
    x = neg(X[0]), neg(X[1])
    for k in range(6):
        unit = (-1.0 if k % 3 == 0 else 0.0, -1.0 if k % 3 == 1 else 0.0, -1.0 if k % 3 == 2 else 0.0)
        A, B, _ = se3.ddexpinv(x, (unit, ZERO) if k < 3 else (ZERO, unit))
        store_column(room, 0, k, (add(mul_t(A, P[0]), mul_t(B, P[1])), mul_t(A, P[1])))
        store_column(room, BLOCK.size, k, (mul(A, W[0]), add(mul(B, W[0]), mul(A, W[1]))))
    return matrix_at(room, 0), matrix_at(room, BLOCK.size)


@kernel
def bushing_matrices(job, line):
    """H and N, the wrench (torque, force) on the second body at its frame, all in the axes of space; that frame."""
    values, at = job.forces.values, job.forces.table[line + FORCE.numbers]
    _, (S, s), _, X, (A, B), (V, Y), _, pull, drag = bushing_state(
        job.forces.table, line, values, at, job.states, MOVING.size
    )
    P, W = (add(pull[0], drag[0]), add(pull[1], drag[1])), (sub(V[0], Y[0]), sub(V[1], Y[1]))
    T1, T2 = turned_maps(X, P, W, job.scratch)
    K, D = tiles_at(values, at + BUSH.stiffness), tiles_at(values, at + BUSH.damping)
    H = times_lower(sum_of(T1, lower_times(A, B, sum_of(K, product(D, T2)))), A, B)
    N = lower_times(A, B, times_lower(D, A, B))
    follow = mat_add(mat_scale(job.ratio, IDENTITY), mat_neg(skew(Y[0])))
    H = sum_of(H, times_lower(N, follow, mat_neg(skew(Y[1]))))
    torque, force = neg(add(mul_t(A, P[0]), mul_t(B, P[1]))), neg(mul_t(A, P[1]))
    return in_space(S, H), in_space(S, N), (mul(S, torque), mul(S, force)), s


@kernel
def arm_of(job, i, s):
    """Of body i: rotation R, how the point s on it moves as it turns, and in its axes the velocity that stays as it is
    in space (of SE(3) none)."""
    R, r, V = motion_at(job.states, MOVING.size, i)
    kept = i >= 0 and job.forces.bodies[i * BODY.size + BODY.space] != SE3
    return R, skew_mul(sub(r, s), R), mat_mul(R, skew(scale(1.0 if kept else 0.0, V[1])))


@kernel
def add_between(target, places, H, N, first, second, factor):
    """Add factor G₁ᵀ (H G₂ + N E₂) to four tiles: G = [R 0; lever I], E what turns with the body."""
    (R, G, _), (S, L, E) = first, second
    aa = mat_add(mat_mul(H[0], S), mat_add(mat_mul(H[1], L), mat_mul(N[1], E)))
    la = mat_add(mat_mul(H[2], S), mat_add(mat_mul(H[3], L), mat_mul(N[3], E)))
    R, G = transpose(R), transpose(G)
    add9(target, places[0], mat_scale(factor, mat_add(mat_mul(R, aa), mat_mul(G, la))))
    add9(target, places[1], mat_scale(factor, mat_add(mat_mul(R, H[1]), mat_mul(G, H[3]))))
    add9(target, places[2], mat_scale(factor, la))
    add9(target, places[3], mat_scale(factor, H[3]))


@kernel
def add_to_body(blocks, i, H, N, arm, force, s):
    """The block of one body; force: on it, in space, which turns with it."""
    if i >= 0:
        at = i * BLOCK.size
        add_between(blocks, (at + BLOCK.aa, at + BLOCK.al, at + BLOCK.la, at + BLOCK.ll), H, N, arm, arm, s)
        add9(blocks, at + BLOCK.la, mat_scale(s, skew_mul(force, arm[0])))


@kernel
def stiffen_bushing(job, line, at_slots):
    """Add s ∂(-Q)/∂d of a bushing."""
    table, slots, s = job.forces.table, job.slots, job.s
    i, j = table[line + FORCE.first], table[line + FORCE.second]
    H, N, (torque, force), place = bushing_matrices(job, line)
    carried = skew(force)
    back = sum_of(H, (skew(torque), carried, carried, NO_TILE))
    first, second = arm_of(job, i, place), arm_of(job, j, place)
    add_to_body(job.blocks, i, back, N, first, neg(force), s)
    add_to_body(job.blocks, j, H, N, second, force, s)
    if at_slots >= 0:
        m = at_slots
        places = 9 * slots[m], 9 * slots[m + 1], 9 * slots[m + 2], 9 * slots[m + 3]
        add_between(job.matrix, places, back, N, first, second, -s)
        places = 9 * slots[m + 4], 9 * slots[m + 5], 9 * slots[m + 6], 9 * slots[m + 7]
        add_between(job.matrix, places, H, N, second, first, -s)
