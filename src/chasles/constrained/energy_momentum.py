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
from chasles.constrained.error_estimate import error_size, leave_tangent
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
from chasles.constrained.position import keep_rows
from chasles.constrained.saddle import clear_matrix, pushed_by, separate_block, solve_equations
from chasles.constrained.scheme import Scheme, StepRule
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
from chasles.constrained.workspace import CARRIED, STATE_VECTOR, workspace_at
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
# parameters: tolerance of Newton's method, of the velocities; tolerances of the error (zero: no estimate)
CAYLEY = layout("CAYLEY", tolerance=1, rtol=1, atol=1)


STATE = Regions(
    "CayleyState",
    point=STATE_VECTOR.count,
    lam=3 * SIZES.n_nodes,
    means=12 * SIZES.n_bodies,  # mean V' of the last two steps, and how long before the new step they were
    ages=2,
    **CARRIED,
)
VECTORS = Regions(
    "CayleyVectors",
    x=6 * SIZES.n_bodies,
    trial_v=6 * SIZES.n_bodies,
    push=6 * SIZES.n_bodies,  # h p_0 and half of the forces' impulse, times h/2
    mid=MOTION.size * SIZES.n_bodies,  # mean rotations and positions, as the motion of bodies is kept
    error_x=6 * SIZES.n_bodies,
    error_v=6 * SIZES.n_bodies,
)
state_of, vectors_of = STATE.views, VECTORS.views
make_method = joined("Cayley", "tolerance rtol atol", STATE, VECTORS)


@kernel
def move(workspace, method, h):
    """Poses and velocities at the end of the step; mean rotations and positions to `mid`."""
    q, x, new_q, mid = workspace.q, method.x, workspace.trial_q, method.mid
    for k in range(6 * workspace.tables.n):
        method.trial_v[k] = 2.0 / h * x[k] - workspace.v[k]
    for i in range(workspace.tables.n):
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
def mean_rows(workspace, method):
    """Torque in the body and force in space of each multiplier on both bodies, as rows of a Jacobian are stored."""
    tiles, numbers, q, x, mid, rows = (
        workspace.tables.tiles,
        workspace.tables.constants,
        workspace.q,
        method.x,
        method.mid,
        workspace.old_rows,
    )
    for j in range(workspace.tables.nt):
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
def cayley_block(workspace, method, i, x, s):
    """Newton's block of body i, with how reactions turn with the mean rotation."""
    bodies, tiles, incidences = workspace.tables.bodies, workspace.tables.tiles, workspace.tables.incidences
    masses, constants, nodes = workspace.tables.masses, workspace.tables.constants, workspace.plan.nodes
    theta, R = (
        load3(masses, i * MASS.size + MASS.moments, 0.0),
        load9(method.mid, i * MOTION.size + MOTION.rotation, 0.0),
    )
    turned = mat_scale(0.0, IDENTITY)
    first = bodies[i * BODY.size + BODY.first]
    for e in range(first, first + bodies[i * BODY.size + BODY.count]):
        tile, side = incidences[PAIR * e], incidences[PAIR * e + 1]
        turned = mat_add(turned, turned_reaction(tiles, constants, nodes, tile, side, R, method.mid, method.lam))
    turn = mat_mul(rotational(theta, x, 1.0, 0.5), mat_add(IDENTITY, skew(scale(0.5, x))))
    separate_block(workspace, i, mat_add(turn, mat_scale(0.5 * s, turned)), masses[i * MASS.size + MASS.mass])


@kernel
def begin(workspace, method, t, h):
    """What pushes the bodies at the begin of the step, and a guess."""
    masses, gravity, s = workspace.tables.masses, workspace.tables.gravity, 0.5 * h * h
    count_from(workspace, workspace.counted_angles)
    start_clock(workspace, t)
    apply_forces(workspace, t, workspace.q, workspace.v)
    for i in range(workspace.tables.n):
        mass, theta = masses[i * MASS.size + MASS.mass], load3(masses, i * MASS.size + MASS.moments, 0.0)
        turn, shift = each(theta, load3(workspace.v, 6 * i, 0.0)), scale(mass, load3(workspace.v, 6 * i + 3, 0.0))
        store3(method.push, 6 * i, add_scaled(scale(h, turn), 0.5 * s, load3(workspace.wrenches, 6 * i, 0.0)))
        shift = add_scaled(scale(h, shift), s * mass, load3(gravity, FIELD.gravity, 0.0))
        store3(method.push, 6 * i + 3, add_scaled(shift, 0.5 * s, load3(workspace.wrenches, 6 * i + 3, 0.0)))
        for k in range(6 * i, 6 * i + 6):
            method.x[k] = h * workspace.v[k]


@kernel
def correct(workspace, method, step, iteration, fresh):
    """One correction of x and λ."""
    masses, x, s = workspace.tables.masses, method.x, 0.5 * step.h * step.h
    weight = weight_of_try(workspace, step.h, iteration, x, method.lam)
    move(workspace, method, step.h)
    set_state(workspace, workspace.trial_q, method.trial_v)
    mean_rows(workspace, method)
    power = apply_forces(workspace, step.t + step.h, workspace.trial_q, method.trial_v)
    clear_matrix(workspace, weight)
    for i in range(workspace.tables.n):
        mass, theta = masses[i * MASS.size + MASS.mass], load3(masses, i * MASS.size + MASS.moments, 0.0)
        at = load3(x, 6 * i, 0.0)
        torque, force = pushed_by(workspace, i, workspace.old_rows, method.lam)
        impulse = each(theta, at)
        torque = add_scaled(add_scaled(impulse, 0.5, cross(at, impulse)), s, torque)
        force = add_scaled(scale(mass, load3(x, 6 * i + 3, 0.0)), s, force)
        torque = add_scaled(sub(load3(method.push, 6 * i, 0.0), torque), 0.5 * s, load3(workspace.wrenches, 6 * i, 0.0))
        force = sub(load3(method.push, 6 * i + 3, 0.0), force)
        force = add_scaled(force, 0.5 * s, load3(workspace.wrenches, 6 * i + 3, 0.0))
        store6(workspace.f, 6 * i, (torque, force))
        cayley_block(workspace, method, i, at, s)
    position_residual(workspace)
    off, uneven = size_of_residual(workspace)
    solve_equations(workspace, True)
    for i in range(workspace.tables.n):  # from a rotation at the end of the step to the coordinates of Cayley's map
        half, turn = scale(0.5, load3(x, 6 * i, 0.0)), load3(workspace.d, 6 * i, 0.0)
        dx = add(add(turn, cross(half, turn)), scale(dot(half, turn), half))
        store3(x, 6 * i, add(load3(x, 6 * i, 0.0), dx))
        store3(x, 6 * i + 3, add(load3(x, 6 * i + 3, 0.0), load3(workspace.d, 6 * i + 3, 0.0)))
    add_multipliers(workspace, s, method.lam)
    (largest, total), noise = size_of_correction(workspace), size_of_noise(workspace, iteration)
    return Attempt(largest, noise, total, off, uneven, power)


@kernel
def keep_mean(workspace, method, h):
    """Mean V' of the step to the past; V'' h³/12 and V''' h³/12 of the step to the errors."""
    size, means, (young, old) = 6 * workspace.tables.n, method.means, (method.ages[0], method.ages[1])
    for k in range(size):
        mean = (method.trial_v[k] - workspace.v[k]) / h
        slope = (mean - means[k]) / (0.5 * h + young)
        bend = 0.0
        if old != young:
            bend = 2.0 * (slope - (means[k] - means[size + k]) / (old - young)) / (0.5 * h + old)
        method.error_x[k], method.error_v[k] = h * h * h / 12 * slope, h * h * h / 12 * bend
        means[size + k], means[k] = means[k], mean
    method.ages[0], method.ages[1] = 0.5 * h, young + h


@kernel
def estimate(workspace, method, t, h):
    """The error of the step relative to the tolerance, of coordinates and velocities.

    The step is x = h (V_n + V_{n+1})/2, so that it is off by h³/12 V''; Cayley's map takes x for a rotation by
    x - |x|² x/12, and the rotation of the motion has h³/12 ω × ω' besides the integral of ω: together
    h³/12 (V'' - ω × ω' - |ω|² ω). Forces are taken in the midst or at both ends of the step, which makes velocities
    off by h³/24 V''' or h³/12 V''': the larger counts. V'' and V''' are divided differences of mean accelerations.
    """
    keep_mean(workspace, method, h)
    x = method.error_x
    for i in range(workspace.tables.n):
        spin, mean = load3(workspace.v, 6 * i, 0.0), load3(method.means, 6 * i, 0.0)
        off = add_scaled(cross(spin, mean), dot(spin, spin), spin)
        store3(x, 6 * i, add_scaled(load3(x, 6 * i, 0.0), -h * h * h / 12, off))
    if workspace.tables.nt > 0:
        keep_rows(workspace, t)
    leave_tangent(workspace, method)
    return error_size(workspace, method, h)


@kernel
def advance(workspace, method, t, h):
    """One step."""
    set_goals(workspace, h, method.tolerance, ROUNDING, workspace.response[:0])
    begin(workspace, method, t, h)
    predict_angles(workspace, t, h, method.angles)
    tries = TRIES if workspace.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits = Limits(1e-12, 0.0, UNKNOWN, tries, method.tolerance)
    outcome = iterate(correct, workspace, method, Interval(t, h), limits)
    if not outcome.converged:
        return give_up(workspace, 0)
    move(workspace, method, h)
    if method.atol + method.rtol > 0.0:
        method.errors[0] = estimate(workspace, method, t, h)
    finish_step(workspace, 0.5 * h * (method.power[0] + outcome.power), method.trial_v, method.angles)
    method.power[0] = outcome.power
    return True


@native(vectorized=False)
def energy_momentum(at, call):
    """Take up to `limit` steps."""
    workspace, p = workspace_at(at), call.parameters
    values = p[CAYLEY.tolerance], p[CAYLEY.rtol], p[CAYLEY.atol]
    method = make_method(values, state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, workspace, by_reference(method), call)


def parameters_of(method: EnergyMomentum, rtol: float, atol: float) -> np.ndarray:
    return fill(CAYLEY, tolerance=method.tolerance, rtol=rtol, atol=atol)


def start(begin: Start, method: EnergyMomentum) -> dict[str, Any]:
    rates, multipliers = begin.motion(begin.v)
    return begin.carried() | {"lam": multipliers, "means": np.tile(np.ravel(rates), 2)}


def step_rule(method: EnergyMomentum) -> StepRule:
    """The energy is kept whatever the steps. An error of h³ a step adds up to h² at the end, which follows tol if that
    of a step is tol^(3/2)."""
    return StepRule(3, 0.85, 0.3, 2.0, keep=(0.95, 1.15), power=3 / 2)


SCHEME = Scheme(
    data=EnergyMomentum,
    loop=energy_momentum,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: True,
    step_rule=step_rule,
)
