"""Derivatives of elements between two bodies for Newton's matrix, bushings and elements of rods: dense 6x6 blocks,
exact, of four at a time (lanes).

In the axes of the second frame, with X = log C, M = dexpinv_{-X} and the twist W of the second frame relative to the
first, the wrench on the second body is F = -Mᵀ P, P = K X + D X', X' = M W. Along a relative displacement η

    δX = M η,   δW = ratio η - ad_Y η + what turns with the bodies,   -δF = H η + N (what turns)
    H = T₁ M + Mᵀ (K M + D (T₂ M + M (ratio - ad_Y))),   N = Mᵀ D M,   T₁ δX = δMᵀ P,   T₂ δX = δM W

where Y is the twist of the first body at the second frame. The wrench on the first body is -F, carried along with η:
there H has [t~ f~; f~ 0] more. Bodies on SO(3)xR3 keep their velocities in space as they turn: that is the last term.
For an element of a rod, P has the gradient of its energy in place of K X, and K is the matrix of second derivatives.

M is [A 0; B A] with A = k₀ I + x~/2 + k₂ x xᵀ and B its derivative along v, X = (x, v): so(3) over the dual numbers. So
with Φ = ∂(A w)/∂x and Φ' its derivative along (v, u), T₂ = [Φ 0; Φ' Φ], and T₁ = [Φ' Φ; Φ 0] of Aᵀ and P. All products
are in the axes of space; rotations of the bodies come last. A 6x6 matrix is four tiles: (aa, al, la, ll), angular or
linear row, angular or linear column.
"""

from __future__ import annotations

from chasles.absolute.tables import BODY, SE3
from chasles.constrained.body_tangent import twice_crossed
from chasles.constrained.saddle import plus_diagonal
from chasles.constrained.tables import BLOCK, ELEMENT
from chasles.constrained.tangent_job import job_of
from chasles.force.bushing import PUSH, four_motions, four_of, run_of_elements
from chasles.force.table import ACTED, FORCE, FORCES, MOVING
from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    mat_add,
    mat_mul,
    mat_mul_t,
    mat_neg,
    mat_scale,
    mul,
    mul_t,
    neg,
    outer,
    scale,
    skew,
    skew_mul,
    sub,
)
from chasles.kernel.gather import lanes_from
from chasles.kernel.lanes import all_true
from chasles.kernel.policy import kernel
from chasles.kernel.reference import by_reference
from chasles.kernel.rows import store_rows
from chasles.kernel.tile_memory import add_tile, subtract_tile
from chasles.kernel.tiles import mat_sub, mul_skew, sum_of, t_mul
from chasles.kernel.workspace import add3, load3


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
def matrix_times(m, a, b):
    """A symmetric matrix (aa, al, ll) times [a 0; b a]: its four tiles."""
    aa, al, ll = m
    return (
        mat_add(mat_mul(aa, a), mat_mul(al, b)),
        mat_mul(al, a),
        mat_add(t_mul(al, a), mat_mul(ll, b)),
        mat_mul(ll, a),
    )


@kernel
def is_diagonal(m):
    """Whether four symmetric matrices (aa, al, ll) have nothing off their diagonals."""
    aa, al, ll = m
    across = abs(al[0]) + abs(al[1]) + abs(al[2]) + abs(al[3]) + abs(al[4]) + abs(al[5])
    across = across + (abs(al[6]) + abs(al[7]) + abs(al[8]))
    beside = abs(aa[1]) + abs(aa[2]) + abs(aa[5]) + abs(ll[1]) + abs(ll[2]) + abs(ll[5])
    return all_true(across + beside == 0.0)


@kernel
def rows_scaled(m, a):
    """The diagonal of m, as a matrix, times a."""
    return (
        *(m[0] * a[0], m[0] * a[1], m[0] * a[2]),
        *(m[4] * a[3], m[4] * a[4], m[4] * a[5]),
        *(m[8] * a[6], m[8] * a[7], m[8] * a[8]),
    )


@kernel
def damped_map(ratio, at, A, B):
    """T₂ M + M (ratio - ad_Y), as [a 0; b a]; M has been turned to the axes of space on its right."""
    (x, v), V, Y, S, (k, dk, ddk) = at.X, at.twist, at.carried, at.frame[0], at.coefficients
    turned, more = turned_map(x, v, sub(V[0], Y[0]), sub(V[1], Y[1]), 1.0, k, dk, ddk)
    w, u = mul(S, Y[0]), mul(S, Y[1])
    a = mat_add(mat_mul(turned, A), mat_sub(mat_scale(ratio, A), mul_skew(A, w)))
    b = mat_add(mat_mul(more, A), mat_mul(turned, B))
    return a, mat_sub(mat_add(b, mat_scale(ratio, B)), mat_add(mul_skew(B, w), mul_skew(A, u)))


@kernel
def diagonal_products(K, D, A, B, a, b):
    """K [A 0; B A] + D [a 0; b a] without its second tile, which is zero, and the tiles N_al and N_ll; K and D are
    diagonal, as those of most bushings are."""
    inner = (
        mat_add(rows_scaled(K[0], A), rows_scaled(D[0], a)),
        mat_add(rows_scaled(K[2], B), rows_scaled(D[2], b)),
        mat_add(rows_scaled(K[2], A), rows_scaled(D[2], a)),
    )
    D_ll = rows_scaled(D[2], A)
    return inner, (t_mul(B, D_ll), t_mul(A, D_ll))


@kernel
def under_map(A, B, aa, al, la, ll):
    """[A 0; B A]ᵀ of four tiles."""
    return (
        mat_add(t_mul(A, aa), t_mul(B, la)),
        mat_add(t_mul(A, al), t_mul(B, ll)),
        t_mul(A, la),
        t_mul(A, ll),
    )


@kernel
def stiffness_matrices(mount, at, A, B, damped, diagonal, ratio):
    """Mᵀ (K M + D (T₂ M + M (ratio - ad_Y))), and the tiles N_al and N_ll; all in the axes of space."""
    K, D, zero = mount.stiffness, mount.damping, mat_scale(0.0, A)
    a, b, N = zero, zero, (zero, zero)
    if damped:
        a, b = damped_map(ratio, at, A, B)
    if diagonal:
        (aa, la, ll), N = diagonal_products(K, D, A, B, a, b)
        return (mat_add(t_mul(A, aa), t_mul(B, la)), t_mul(B, ll), t_mul(A, la), t_mul(A, ll)), N
    inner = matrix_times(K, A, B)
    if damped:
        inner = sum_of(inner, matrix_times(D, a, b))
        D_al, D_ll = mat_mul(D[1], A), mat_mul(D[2], A)
        N = mat_add(t_mul(A, D_al), t_mul(B, D_ll)), t_mul(A, D_ll)
    return under_map(A, B, *inner), N


@kernel
def element_matrices(mount, at, damped, diagonal, ratio):
    """H, the tiles N_al and N_ll, the wrench (torque, force) on the second body at its frame, all in the axes of
    space."""
    (S, _), (x, v), (A, B), pull, drag = at.frame, at.X, at.map, at.pull, at.drag
    k, dk, ddk = at.coefficients
    P, Q = add(pull[0], drag[0]), add(pull[1], drag[1])
    torque, force = mul(S, neg(add(mul_t(A, P), mul_t(B, Q)))), mul(S, neg(mul_t(A, Q)))
    A, B = mat_mul_t(A, S), mat_mul_t(B, S)
    (aa, al, la, ll), N = stiffness_matrices(mount, at, A, B, damped, diagonal, ratio)
    turned, changed = turned_map(x, v, Q, P, -1.0, k, dk, ddk)
    turned, changed = mat_mul(S, turned), mat_mul(S, changed)
    across = mat_mul(turned, A)
    aa = mat_add(mat_add(mat_mul(changed, A), mat_mul(turned, B)), aa)
    return (aa, mat_add(across, al), mat_add(across, la), ll), N, (torque, force)


@kernel
def columns_of(motion, in_space, place, H, N):
    """How the wrench at the place changes as a body turns about its center, in the axes of space: the angular tiles of
    H [I 0; a~ I] + N u~, a from the place to the center, u the velocity that stays as it is in space (in_space: 1; on
    SE(3) 0)."""
    R, r, V = motion
    a, u = sub(r, place), mul(R, scale(in_space, V[1]))
    aa = mat_add(H[0], mat_add(mul_skew(H[1], a), mul_skew(N[0], u)))
    return aa, mat_add(H[2], mat_add(mul_skew(H[3], a), mul_skew(N[1], u)))


@kernel
def row_of(R, a, upper, lower):
    """[I a~ᵀ] of two tiles, in the axes of the body: its angular row."""
    return t_mul(R, mat_sub(upper, skew_mul(a, lower)))


@kernel
def fixed_in_space(bodies, four):
    """Of four bodies: 1 for those whose velocities stay as they are in space, 0 on SE(3) and for the ground."""
    a, b, c, d = four
    return lanes_from((is_fixed(bodies, a), is_fixed(bodies, b), is_fixed(bodies, c), is_fixed(bodies, d)))


@kernel
def is_fixed(bodies, i):
    return 1.0 if i >= 0 and bodies[i * BODY.size + BODY.space] != SE3 else 0.0


@kernel
def element_tiles(job, k, count, mount, at, motions, diagonal, power):
    """s ∂(-Q)/∂d of up to four elements from row k on, to the rows of job.tiles (`ELEMENT`); their wrenches (torque in
    the body, force in space) and power to the rows of job.scratch (`PUSH`). diagonal: whether stiffness and damping
    are. power: beside that of the damping."""
    table, s = job.forces.table, job.s
    i, j = four_of(table, k, count, FORCE.first), four_of(table, k, count, FORCE.second)
    a, b, c, d = four_of(table, k, count, FORCE.third)
    H, N, (torque, force) = element_matrices(mount, at, (a | b | c | d) != 0, diagonal, job.ratio)
    on_first, on_second = motions
    (R, r, _), (S, p, _), place = on_first, on_second, at.frame[1]
    u, w = sub(r, place), sub(p, place)
    turn, twist = mul_t(R, sub(cross(u, force), torque)), mul_t(S, sub(torque, cross(w, force)))
    power = power - dot(at.rate[0], at.drag[0]) - dot(at.rate[1], at.drag[1])
    store_rows(job.scratch, 0, PUSH.size, (*turn, *neg(force), *twist, *force, power, 0.0 * power))
    first = columns_of(on_first, fixed_in_space(job.forces.bodies, i), place, H, N)
    second = columns_of(on_second, fixed_in_space(job.forces.bodies, j), place, H, N)
    # the wrench on the first body is carried along: [t~ f~; f~ 0] more
    t, f = skew(torque), skew(force)
    aa, la = mat_add(first[0], mat_add(t, twice_crossed(force, u))), mat_add(first[1], f)
    to_first, la_second = mat_add(second[0], mat_add(t, twice_crossed(force, w))), mat_add(second[1], f)
    Q, T, none = mat_scale(s, R), mat_scale(s, S), (0.0 * power, 0.0 * power, 0.0 * power)
    store_rows(job.tiles, ELEMENT.first, ELEMENT.size, (
        *mat_mul(row_of(Q, u, aa, la), R), *none,
        *mat_mul(row_of(T, w, second[0], second[1]), S), *none,
        *mat_neg(mat_mul(row_of(Q, u, to_first, la_second), S)), *none,
        *mat_neg(mat_mul(row_of(T, w, first[0], first[1]), R)), *none,
    ))  # fmt: skip
    store_rows(job.tiles, ELEMENT.al_first, ELEMENT.size, (
        *row_of(Q, u, mat_add(H[1], f), H[3]), *none,
        *row_of(T, w, H[1], H[3]), *none,
        *mat_mul(first[1], Q), *none,
        *mat_mul(la_second, T), *none,
        *mat_scale(s, H[3]), *none,
    ))  # fmt: skip


@kernel
def push_bodies(job, k, count):
    """Add the wrenches of up to four elements from row k on, as `element_tiles` left them, and their power."""
    table, scratch, wrenches = job.forces.table, job.scratch, job.wrenches
    for r in range(count):
        line, at = FORCES.size + (k + r) * FORCE.size, r * PUSH.size
        i, j = table[line + FORCE.first], table[line + FORCE.second]
        if j >= 0:
            add3(wrenches, 6 * j, load3(scratch, at + PUSH.second, 0.0))
            add3(wrenches, 6 * j + 3, load3(scratch, at + PUSH.second + 3, 0.0))
        if i >= 0:
            add3(wrenches, 6 * i, load3(scratch, at + PUSH.first, 0.0))
            add3(wrenches, 6 * i + 3, load3(scratch, at + PUSH.first + 3, 0.0))
        job.acted[ACTED.power] += scratch[at + PUSH.power]


@kernel
def add_to_block(blocks, i, tiles, places):
    """An element's tiles (aa, al, la, ll) to the block of a body; the ground has none."""
    if i >= 0:
        add_tile(blocks, i * BLOCK.size + BLOCK.aa, tiles, places[0])
        add_tile(blocks, i * BLOCK.size + BLOCK.al, tiles, places[1])
        add_tile(blocks, i * BLOCK.size + BLOCK.la, tiles, places[2])
        add_tile(blocks, i * BLOCK.size + BLOCK.ll, tiles, places[3])


@kernel
def add_coupling(matrix, slots, m, tiles, places):
    """An element's tiles to the matrix: but for the first they are those of the blocks, with the other sign."""
    add_tile(matrix, 9 * slots[m], tiles, places[0])
    subtract_tile(matrix, 9 * slots[m + 1], tiles, places[1])
    subtract_tile(matrix, 9 * slots[m + 2], tiles, places[2])
    subtract_tile(matrix, 9 * slots[m + 3], tiles, places[3])


@kernel
def place_elements(job, k, count):
    """Add the tiles of up to four elements from row k on, as `element_tiles` left them; and their wrenches, if they are
    not known yet."""
    table, tiles = job.forces.table, job.tiles
    if k >= job.first:
        push_bodies(job, k, count)
    for r in range(count):
        line, at, m = FORCES.size + (k + r) * FORCE.size, r * ELEMENT.size, job.coupled[k + r]
        al, bl, la, lb = at + ELEMENT.al_first, at + ELEMENT.al_second, at + ELEMENT.la_first, at + ELEMENT.la_second
        ll = at + ELEMENT.ll
        add_to_block(job.blocks, table[line + FORCE.first], tiles, (at + ELEMENT.first, al, la, ll))
        add_to_block(job.blocks, table[line + FORCE.second], tiles, (at + ELEMENT.second, bl, lb, ll))
        if m >= 0:
            add_coupling(job.matrix, job.slots, m, tiles, (at + ELEMENT.across, al, lb, ll))
            add_coupling(job.matrix, job.slots, m + 4, tiles, (at + ELEMENT.back, bl, la, ll))


@kernel
def add_element_tangents(call, kind, tiles_of):
    """Add s ∂(-Q)/∂d of all elements of a kind to the blocks of the bodies, and couplings to the matrix.
    tiles_of(job, k, count, first, second) makes the tiles of up to four from row k on, between bodies with these
    motions."""
    job, k = by_reference(job_of(call)), 0
    table, states = job.forces.table, job.states
    while k < table[FORCES.count]:
        count = 1
        if table[FORCES.size + k * FORCE.size + FORCE.kind] == kind:
            count = run_of_elements(table, k)
            first = four_motions(four_of(table, k, count, FORCE.first), states, MOVING.size)
            second = four_motions(four_of(table, k, count, FORCE.second), states, MOVING.size)
            tiles_of(job, k, count, first, second)
            place_elements(job, k, count)
        k += count
