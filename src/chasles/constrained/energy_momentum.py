"""Energy-momentum scheme on (SO(3)xR3)^n: Cayley steps, and constraint forces at the mean of both rotations.

With the rotation x of a step and the displacement u,

    R_1 = R_0 cay(x/2),   ω_1 = 2x/h - ω_0,   r_1 = r_0 + u,   v_1 = 2u/h - v_0
    R_m = (R_0 + R_1)/2 = R_0 (I - x~/2)⁻¹
    Θ (x - h ω_0) + 1/2 x × Θ x = h²/2 (τ - R_m⁻¹ t),   m (u - h v_0) = h²/2 (m g + f_a - f),   g(q_1) = 0

f and t are force and torque (in space) of the constraints with R_m and the mean positions. Because
R_1 - R_0 = R_m x~ = (R_0 x)~ R_m, equations that are linear or bilinear in rotations and positions change by the work
of these forces, exactly; so the energy under gravity is kept, and what angular momentum the ground leaves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.absolute.kkt import POSE, each
from chasles.absolute.tables import BODY, FIELD, MASS, PAIR
from chasles.constrained.body_tangent import rotational, turned_reaction
from chasles.constrained.chart import rotation_at
from chasles.constrained.correction import position_residual
from chasles.constrained.goals import UNKNOWN, set_goals, size_of_correction, size_of_noise, size_of_residual
from chasles.constrained.newton import (
    TRIES,
    Attempt,
    Interval,
    Limits,
    add_multipliers,
    iterate,
    weight_of_try,
)
from chasles.constrained.saddle import clear_matrix, factorize_saddle, pushed_by, separate_block, solve_saddle
from chasles.constrained.scheme import Scheme
from chasles.constrained.steps import (
    apply_forces,
    count_from,
    finish_step,
    give_up,
    predict_angles,
    set_state,
    start_clock,
    take_steps,
)
from chasles.constrained.tables import SIZES
from chasles.constrained.workspace import CARRIED, STATE_VECTOR, desk_of
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
from chasles.integrate.constrained_method import EnergyMomentum
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
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference
from chasles.kernel.workspace import fill, layout, load3, load9, store3, store6, store9
from chasles.lie import quaternion

if TYPE_CHECKING:
    from chasles.constrained.start import Start

ROUNDING = 1e-16  # of positions, relative to how far they are from the origin
# parameters: tolerance of Newton's method, of the velocities
CAYLEY = layout("CAYLEY", tolerance=1)


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


@kernel
def begin(desk, own, t, h):
    """What pushes the bodies at the begin of the step, and a guess."""
    masses, gravity, s = desk.tables.masses, desk.tables.gravity, 0.5 * h * h
    count_from(desk, desk.turns)
    start_clock(desk, t)
    apply_forces(desk, t, desk.q, desk.v)
    for i in range(desk.tables.n):
        mass, theta = masses[i * MASS.size + MASS.mass], load3(masses, i * MASS.size + MASS.moments, 0.0)
        turn, shift = each(theta, load3(desk.v, 6 * i, 0.0)), scale(mass, load3(desk.v, 6 * i + 3, 0.0))
        store3(own.push, 6 * i, add_scaled(scale(h, turn), 0.5 * s, load3(desk.wrenches, 6 * i, 0.0)))
        shift = add_scaled(scale(h, shift), s * mass, (gravity[0], gravity[1], gravity[2]))
        store3(own.push, 6 * i + 3, add_scaled(shift, 0.5 * s, load3(desk.wrenches, 6 * i + 3, 0.0)))
        for k in range(6 * i, 6 * i + 6):
            own.x[k] = h * desk.v[k]


@kernel
def correct(desk, own, step, iteration, fresh):
    """One correction of x and λ."""
    masses, x, s = desk.tables.masses, own.x, 0.5 * step.h * step.h
    weight = weight_of_try(desk, step.h, iteration, x, own.lam)
    move(desk, own, step.h)
    set_state(desk, desk.new_q, own.new_v)
    mean_rows(desk, own)
    power = apply_forces(desk, step.t + step.h, desk.new_q, own.new_v)
    clear_matrix(desk, weight)
    for i in range(desk.tables.n):
        mass, theta = masses[i * MASS.size + MASS.mass], load3(masses, i * MASS.size + MASS.moments, 0.0)
        at = load3(x, 6 * i, 0.0)
        torque, force = pushed_by(desk, i, desk.old, own.lam)
        impulse = each(theta, at)
        torque = add_scaled(add_scaled(impulse, 0.5, cross(at, impulse)), s, torque)
        force = add_scaled(scale(mass, load3(x, 6 * i + 3, 0.0)), s, force)
        torque = add_scaled(sub(load3(own.push, 6 * i, 0.0), torque), 0.5 * s, load3(desk.wrenches, 6 * i, 0.0))
        force = sub(load3(own.push, 6 * i + 3, 0.0), force)
        force = add_scaled(force, 0.5 * s, load3(desk.wrenches, 6 * i + 3, 0.0))
        store6(desk.f, 6 * i, (torque, force))
        cayley_block(desk, own, i, at, s)
    position_residual(desk)
    off, uneven = size_of_residual(desk)
    factorize_saddle(desk, desk.rows, desk.old)
    solve_saddle(desk, desk.rows, desk.old, desk.d)
    for i in range(desk.tables.n):  # from a rotation at the end of the step to the coordinates of Cayley's map
        half, turn = scale(0.5, load3(x, 6 * i, 0.0)), load3(desk.d, 6 * i, 0.0)
        dx = add(add(turn, cross(half, turn)), scale(dot(half, turn), half))
        store3(x, 6 * i, add(load3(x, 6 * i, 0.0), dx))
        store3(x, 6 * i + 3, add(load3(x, 6 * i + 3, 0.0), load3(desk.d, 6 * i + 3, 0.0)))
    add_multipliers(desk, s, own.lam)
    (largest, total), noise = size_of_correction(desk), size_of_noise(desk, iteration)
    return Attempt(largest, noise, total, off, uneven, power)


@kernel
def advance(desk, own, t, h):
    """One step."""
    set_goals(desk, h, own.tolerance, ROUNDING, desk.a[:0])
    begin(desk, own, t, h)
    predict_angles(desk, t, h, own.angles)
    tries = TRIES if desk.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits = Limits(1e-12, 0.0, UNKNOWN, tries, own.tolerance)
    outcome = iterate(correct, desk, own, Interval(t, h), limits)
    if not outcome.found:
        return give_up(desk, 0)
    move(desk, own, h)
    finish_step(desk, 0.5 * h * (own.power[0] + outcome.power), own.new_v, own.angles)
    own.power[0] = outcome.power
    return True


@native
def energy_momentum(call):
    """Take up to `limit` steps."""
    desk, tolerance = by_reference(desk_of(call)), call.parameters[CAYLEY.tolerance]
    own = make_own((tolerance,), state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, desk, by_reference(own), call)


def parameters_of(method: EnergyMomentum, rtol: float, atol: float) -> np.ndarray:
    return fill(CAYLEY, tolerance=method.tolerance)


def start(begin: Start, method: EnergyMomentum) -> dict[str, Any]:
    return begin.carried() | {"lam": begin.motion(begin.v)[1]}


SCHEME = Scheme(
    data=EnergyMomentum,
    loop=energy_momentum,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: True,
)
