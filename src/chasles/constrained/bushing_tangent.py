"""Derivatives of bushings for Newton's matrix: dense 6x6 blocks, exact.

In the axes of the second frame, with X = log C, M = dexpinv_{-X} and the twist W of the second frame relative to the
first, the wrench on the second body is F = -Mᵀ P, P = K X + D X', X' = M W. Along a relative displacement η

    δX = M η,   δW = ratio η - ad_Y η + what turns with the bodies,   -δF = H η + N (what turns)
    H = T₁ M + Mᵀ (K M + D (T₂ M + M (ratio - ad_Y))),   N = Mᵀ D M,   T₁ δX = δMᵀ P,   T₂ δX = δM W

where Y is the twist of the first body at the second frame. The wrench on the first body is -F, carried along with η:
there H has [t~ f~; f~ 0] more. Bodies on SO(3)xR3 keep their velocities in space as they turn: that is the last term.

M is [A 0; B A] with A = k₀ I + x~/2 + k₂ x xᵀ and B its derivative along v, X = (x, v): so(3) over the dual numbers. So
with Φ = ∂(A w)/∂x and Φ' its derivative along (v, u), T₂ = [Φ 0; Φ' Φ], and T₁ = [Φ' Φ; Φ 0] of Aᵀ and P. All products
are in the axes of space. A 6x6 matrix is four tiles: (aa, al, la, ll), angular or linear row, angular or linear column.
"""

from __future__ import annotations

from chasles.absolute.tables import BODY, SE3
from chasles.constrained.saddle import BLOCK, plus_diagonal
from chasles.force.table import BUSH, FORCE, MOVING, SYMMETRIC, bushing_state, motion_at
from chasles.kernel.algebra import (
    add,
    add_scaled,
    dot,
    mat_add,
    mat_mul,
    mat_mul_t,
    mat_scale,
    mul,
    mul_t,
    neg,
    outer,
    scale,
    skew,
    skew_mul,
    sub,
    transpose,
)
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add9, load9
from chasles.lie.coefficients import dexpinv_coefficients, half_angle


@kernel
def t_mul(a, b):
    """aᵀ b."""
    return mat_mul(transpose(a), b)


@kernel
def turned_map(x, v, y, z, sign, k, dk, ddk):
    """Φ = ∂(A y)/∂x of A = k₀ I + sign x~/2 + k₂ x xᵀ, and its derivative along (v, z) of (x, y)."""
    m, dm, ds = dot(x, y), dot(v, y) + dot(x, z), 2.0 * dot(x, v)
    grown = add_scaled(scale(2.0 * dk[0], y), 2.0 * m * dk[2], x)
    changed = add_scaled(scale(2.0 * dk[0], z), 2.0 * ds * ddk[0], y)
    changed = add_scaled(add_scaled(changed, 2.0 * m * dk[2], v), 2.0 * (dm * dk[2] + m * ds * ddk[2]), x)
    first = mat_add(skew(scale(-0.5 * sign, y)), outer(x, scale(k[2], y)))
    first = plus_diagonal(mat_add(first, outer(grown, x)), k[2] * m)
    rate = ds * dk[2]
    second = mat_add(skew(scale(-0.5 * sign, z)), outer(x, add_scaled(scale(k[2], z), rate, y)))
    second = mat_add(second, mat_add(outer(v, scale(k[2], y)), mat_add(outer(changed, x), outer(grown, v))))
    return first, plus_diagonal(second, k[2] * dm + rate * m)


@kernel
def symmetric_times(values, at, a, b):
    """A symmetric matrix times [a 0; b a]: its four tiles."""
    aa, al = load9(values, at + SYMMETRIC.aa, 0.0), load9(values, at + SYMMETRIC.al, 0.0)
    ll = load9(values, at + SYMMETRIC.ll, 0.0)
    return (
        mat_add(mat_mul(aa, a), mat_mul(al, b)),
        mat_mul(al, a),
        mat_add(t_mul(al, a), mat_mul(ll, b)),
        mat_mul(ll, a),
    )


@kernel
def sum_of(a, b):
    return mat_add(a[0], b[0]), mat_add(a[1], b[1]), mat_add(a[2], b[2]), mat_add(a[3], b[3])


@kernel
def bushing_matrices(job, line):
    """H, the tiles N_al and N_ll, the wrench (torque, force) on the second body at its frame, all in the axes of space;
    the place of that frame."""
    values, at = job.forces.values, job.forces.table[line + FORCE.numbers]
    _, (S, place), _, (x, v), (A, B), (V, Y), _, pull, drag = bushing_state(
        job.forces.table, line, values, at, job.states, MOVING.size
    )
    k, dk, ddk = dexpinv_coefficients(half_angle(x))
    P, Q = add(pull[0], drag[0]), add(pull[1], drag[1])
    torque, force = mul(S, neg(add(mul_t(A, P), mul_t(B, Q)))), mul(S, neg(mul_t(A, Q)))
    A, B = mat_mul_t(A, S), mat_mul_t(B, S)
    inner = symmetric_times(values, at + BUSH.stiffness, A, B)
    N_al, N_ll = mat_scale(0.0, A), mat_scale(0.0, A)
    if job.forces.table[line + FORCE.third] != 0:  # it has damping
        turned, more = turned_map(x, v, sub(V[0], Y[0]), sub(V[1], Y[1]), 1.0, k, dk, ddk)
        w, u = mul(S, Y[0]), mul(S, Y[1])
        follow, slip = plus_diagonal(skew(neg(w)), job.ratio), skew(neg(u))
        a = mat_add(mat_mul(turned, A), mat_mul(A, follow))
        b = mat_add(mat_add(mat_mul(more, A), mat_mul(turned, B)), mat_add(mat_mul(B, follow), mat_mul(A, slip)))
        inner = sum_of(inner, symmetric_times(values, at + BUSH.damping, a, b))
        D_al = mat_mul(load9(values, at + BUSH.damping + SYMMETRIC.al, 0.0), A)
        D_ll = mat_mul(load9(values, at + BUSH.damping + SYMMETRIC.ll, 0.0), A)
        N_al, N_ll = mat_add(t_mul(A, D_al), t_mul(B, D_ll)), t_mul(A, D_ll)
    turned, more = turned_map(x, v, Q, P, -1.0, k, dk, ddk)
    turned, more = mat_mul(S, turned), mat_mul(S, more)
    across = mat_mul(turned, A)
    H = (
        mat_add(mat_add(mat_mul(more, A), mat_mul(turned, B)), mat_add(t_mul(A, inner[0]), t_mul(B, inner[2]))),
        mat_add(across, mat_add(t_mul(A, inner[1]), t_mul(B, inner[3]))),
        mat_add(across, t_mul(A, inner[2])),
        t_mul(A, inner[3]),
    )
    return H, (N_al, N_ll), (torque, force), place


@kernel
def arm_of(job, i, place, H, N):
    """Of body i: its rotation R, how the place on it moves as it turns (L), and the angular tiles of H G + N E for
    G = [R 0; L I] and E, what turns with it: its velocity, which stays as it is in space (on SE(3) it does not)."""
    R, r, V = motion_at(job.states, MOVING.size, i)
    L = skew_mul(sub(r, place), R)
    aa, la = mat_add(mat_mul(H[0], R), mat_mul(H[1], L)), mat_add(mat_mul(H[2], R), mat_mul(H[3], L))
    if i >= 0 and job.forces.bodies[i * BODY.size + BODY.space] != SE3:
        E = mat_mul(R, skew(V[1]))
        aa, la = mat_add(aa, mat_mul(N[0], E)), mat_add(la, mat_mul(N[1], E))
    return R, L, aa, la


@kernel
def pulled_tiles(R, L, al, ll, factor):
    """Row of a body: factor (Rᵀ al + Lᵀ ll)."""
    return mat_scale(factor, mat_add(t_mul(R, al), t_mul(L, ll)))


@kernel
def add_tiles(target, places, first, al, ll, second, factor):
    """Add factor G₁ᵀ (H G₂ + N E₂); al: the tile of the row, which is the same for both columns."""
    add9(target, places[0], pulled_tiles(first[0], first[1], second[2], second[3], factor))
    add9(target, places[1], mat_scale(factor, al))
    add9(target, places[2], mat_scale(factor, second[3]))
    add9(target, places[3], mat_scale(factor, ll))


@kernel
def block_places(i):
    at = i * BLOCK.size
    return at + BLOCK.aa, at + BLOCK.al, at + BLOCK.la, at + BLOCK.ll


@kernel
def slot_places(slots, m):
    return 9 * slots[m], 9 * slots[m + 1], 9 * slots[m + 2], 9 * slots[m + 3]


@kernel
def carried(arm, torque, force):
    """Of an arm: with [t~ f~; f~ 0] G more, which is how the wrench on the first body is carried along."""
    R, L, aa, la = arm
    return R, L, mat_add(aa, mat_add(skew_mul(torque, R), skew_mul(force, L))), mat_add(la, skew_mul(force, R))


@kernel
def stiffen_bushing(job, line, at_slots):
    """Add s ∂(-Q)/∂d of a bushing."""
    table, blocks, s = job.forces.table, job.blocks, job.s
    i, j = table[line + FORCE.first], table[line + FORCE.second]
    H, N, (torque, force), place = bushing_matrices(job, line)
    second = arm_of(job, j, place, H, N)
    if j >= 0:
        al = pulled_tiles(second[0], second[1], H[1], H[3], 1.0)
        add_tiles(blocks, block_places(j), second, al, H[3], second, s)
        add9(blocks, j * BLOCK.size + BLOCK.la, mat_scale(s, skew_mul(force, second[0])))
    if i >= 0:
        first = arm_of(job, i, place, H, N)
        back = carried(first, torque, force)
        al = pulled_tiles(back[0], back[1], mat_add(H[1], skew(force)), H[3], 1.0)
        add_tiles(blocks, block_places(i), back, al, H[3], back, s)
        add9(blocks, i * BLOCK.size + BLOCK.la, mat_scale(-s, skew_mul(force, first[0])))
        if at_slots >= 0:
            add_tiles(job.matrix, slot_places(job.slots, at_slots), back, al, H[3], carried(second, torque, force), -s)
            al = pulled_tiles(second[0], second[1], H[1], H[3], 1.0)
            add_tiles(job.matrix, slot_places(job.slots, at_slots + 4), second, al, H[3], first, -s)
