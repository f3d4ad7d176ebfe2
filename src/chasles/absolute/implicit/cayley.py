"""Cayley steps of the energy-momentum scheme: poses, rows at the mean of both rotations, Newton's blocks."""

from __future__ import annotations

from chasles.absolute.implicit.chart import rotation_at
from chasles.absolute.implicit.layout import CARRIED, STATE_VECTOR
from chasles.absolute.implicit.saddle import separate_block
from chasles.absolute.implicit.stiffness import rotational, turned_reaction
from chasles.absolute.implicit.structure import SIZES
from chasles.absolute.kkt import POSE
from chasles.absolute.tables import BODY, MASS, PAIR
from chasles.constraint.rows import (
    DISTANCE,
    DOT,
    EMPTY,
    IDENTITY,
    MOTION,
    NUMBERS,
    POINT,
    ROWS,
    TILE,
    ZERO,
    pose_of,
    vector,
)
from chasles.kernel.algebra import (
    add,
    add_scaled,
    cross,
    dot,
    mat_add,
    mat_mul,
    mat_scale,
    mul,
    mul_t,
    neg,
    scale,
    skew,
    sub,
)
from chasles.kernel.lanes import sqrt
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store3, store9
from chasles.lie import quaternion

STATE = Regions("CayleyState", point=STATE_VECTOR.count, lam=3 * SIZES.n_nodes, **CARRIED)
VECTORS = Regions(
    "CayleyVectors",
    x=6 * SIZES.n_bodies,
    new_v=6 * SIZES.n_bodies,
    push=6 * SIZES.n_bodies,  # h p_0 and half of the forces' impulse, times h/2
    mid=MOTION.size * SIZES.n_bodies,  # mean rotations and positions, as the motion of bodies is kept
)
state_of, vectors_of = STATE.views, VECTORS.views
make_own = joined("Cayley", "tolerance", STATE, VECTORS)


@kernel
def move(desk, own, h):
    """Poses and velocities at the end of the step; mean rotations and positions to `mid`."""
    q, x, new_q, mid = desk.q, own.x, desk.new_q, own.mid
    for k in range(6 * desk.tables.n):
        own.new_v[k] = 2.0 / h * x[k] - desk.v[k]
    for i in range(desk.tables.n):
        at, half = POSE * i, scale(0.5, load3(x, 6 * i, 0.0))
        size = 1.0 + dot(half, half)
        unit = (q[at], q[at + 1], q[at + 2], q[at + 3])
        s = 1.0 / sqrt(size)
        turned = quaternion.product(unit, (s, s * half[0], s * half[1], s * half[2]))
        new_q[at], new_q[at + 1], new_q[at + 2], new_q[at + 3] = quaternion.keep_unit(turned)
        here, shift = load3(q, at + 4, 0.0), load3(x, 6 * i + 3, 0.0)
        store3(new_q, at + 4, add(here, shift))
        # (I - Y~)⁻¹ = (I + Y~ + Y Yᵀ)/(1 + Y·Y)
        Y = half
        square = (
            *(Y[0] * Y[0], Y[0] * Y[1], Y[0] * Y[2]),
            *(Y[1] * Y[0], Y[1] * Y[1], Y[1] * Y[2]),
            *(Y[2] * Y[0], Y[2] * Y[1], Y[2] * Y[2]),
        )
        C = mat_scale(1.0 / size, mat_add(mat_add(IDENTITY, skew(Y)), square))
        store9(mid, i * MOTION.size + MOTION.rotation, mat_mul(quaternion.to_matrix(unit), C))
        store3(mid, i * MOTION.size + MOTION.position, add_scaled(here, 0.5, shift))


@kernel
def to_body(q, x, i, torque):
    """R_m⁻¹ t = (I - x~/2) R_0ᵀ t."""
    if i < 0:
        return ZERO
    turned = mul_t(rotation_at(q, i), torque)
    return add_scaled(turned, -0.5, cross(load3(x, 6 * i, 0.0), turned))


@kernel
def mean_rows(desk, own):
    """Torque in the body and force in space of each multiplier on both bodies, as rows of a Jacobian are stored."""
    tiles, numbers, q, x, mid, rows = desk.tables.tiles, desk.tables.constants, desk.q, own.x, own.mid, desk.old
    for j in range(desk.tables.nt):
        row, n, at = j * TILE.size, j * NUMBERS.size, j * ROWS.size
        A, B = tiles[row + TILE.first], tiles[row + TILE.second]
        RA, rA = pose_of(mid, A)
        RB, rB = pose_of(mid, B)
        alpha, beta = mul(RA, vector(numbers, n + NUMBERS.a)), mul(RB, vector(numbers, n + NUMBERS.b))
        d = sub(add(rB, beta), add(rA, alpha))
        for k in range(3):
            kind = tiles[row + TILE.kinds + k]
            first, second, force = ZERO, ZERO, ZERO
            if kind == DOT:
                U, W = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k)), mul(RB, vector(numbers, n + NUMBERS.w + 3 * k))
                first = cross(U, W)
                second = neg(first)
            elif kind != EMPTY:
                if kind == POINT:
                    force = (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)
                elif kind == DISTANCE:
                    force = scale(1.0 / numbers[n + NUMBERS.s + k], d)
                else:  # SLIDE: the direction turns with A
                    force = mul(RA, vector(numbers, n + NUMBERS.u + 3 * k))
                    first = cross(force, d)
                first, second = sub(first, cross(alpha, force)), cross(beta, force)
            place = at + 3 * k
            store3(rows, place + ROWS.first_angular, to_body(q, x, A, first))
            store3(rows, place + ROWS.first_linear, neg(force))
            store3(rows, place + ROWS.second_angular, to_body(q, x, B, second))
            store3(rows, place + ROWS.second_linear, force)


@kernel
def cayley_block(desk, own, i, x, s):
    """Newton's block of body i, with how reactions turn with the mean rotation."""
    bodies, tiles, incidences = desk.tables.bodies, desk.tables.tiles, desk.tables.incidences
    masses, constants, nodes = desk.tables.masses, desk.tables.constants, desk.plan.nodes
    theta, R = load3(masses, i * MASS.size + MASS.moments, 0.0), load9(own.mid, i * MOTION.size + MOTION.rotation, 0.0)
    turned = mat_scale(0.0, IDENTITY)
    first = bodies[i * BODY.size + BODY.first]
    for e in range(first, first + bodies[i * BODY.size + BODY.count]):
        tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
        turned = mat_add(turned, turned_reaction(tiles, constants, nodes, tile, side, R, own.mid, own.lam))
    turn = mat_mul(rotational(theta, x, 1.0, 0.5), mat_add(IDENTITY, skew(scale(0.5, x))))
    separate_block(desk, i, mat_add(turn, mat_scale(0.5 * s, turned)), masses[i * MASS.size + MASS.mass])
