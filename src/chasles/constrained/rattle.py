"""RATTLE on the group: symplectic, symmetric, positions and velocities on the constraints. With p = M V and X = h D,

    dexpinv_Xᵀ M D = p_n + h/2 (F_n - J_nᵀ λ⁺),   q_{n+1} = q_n exp(X),   g(q_{n+1}) = 0
    p_{n+1} = dexpinv_{-X}ᵀ M D + h/2 (F_{n+1} - J_{n+1}ᵀ λ⁻),   J_{n+1} V_{n+1} = target

F are the applied forces; the gyroscopic ones come from dexpinv. Forces that depend on velocities are taken at V_n in
the first equation and at V_{n+1} in the second, which keeps order 2. J has the rows of each body in its algebra.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.absolute.kkt import each
from chasles.absolute.redundant import factorize_rows
from chasles.absolute.tables import BODY, FIELD, MASS, SE3
from chasles.constrained.chart import onward_inverse, pulled_back, rotation_at
from chasles.constrained.correction import position_residual
from chasles.constrained.goals import (
    UNKNOWN,
    set_goals,
    size_of_change,
    size_of_correction,
    size_of_noise,
    size_of_residual,
)
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
    from_chart,
    give_up,
    keep_targets,
    move_bodies,
    power_to_keep,
    predict_angles,
    set_state,
    start_clock,
    take_steps,
    to_chart,
)
from chasles.constrained.tables import SIZES
from chasles.constrained.velocity import onto_velocities
from chasles.constrained.workspace import CARRIED, COUNTS, STATE_VECTOR, desk_of, has_forces
from chasles.constraint.rows import ROWS
from chasles.integrate.constrained_method import Rattle
from chasles.kernel.algebra import add, add_scaled, mat_add, mat_scale, mul, neg, scale, skew, sub
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference, value_of
from chasles.kernel.workspace import fill, layout, load3, load6, store3, store6

if TYPE_CHECKING:
    from chasles.constrained.start import Start

VELOCITY_SWEEPS = 30  # for forces that depend on velocities
ENOUGH = 1e-10  # change of velocities in the last of them, relative
ROUNDING = 1e-15  # of positions and velocities
# parameters: tolerance of Newton's method, of the velocities
RATTLE = layout("RATTLE", tolerance=1)


STATE = Regions("RattleState", point=STATE_VECTOR.count, lam=3 * SIZES.n_nodes, **CARRIED)  # λ⁺
VECTORS = Regions(
    "RattleVectors",
    x=6 * SIZES.n_bodies,
    new_v=6 * SIZES.n_bodies,
    push=6 * SIZES.n_bodies,  # h p_n + h²/2 F_n
    half=6 * SIZES.n_bodies,  # velocities without the second half of the forces
)
state_of, vectors_of = STATE.views, VECTORS.views
make_own = joined("Rattle", "tolerance", STATE, VECTORS)


@kernel
def momentum(masses, i, v):
    """M v of body i, in the algebra of its space."""
    m = i * MASS.size
    return each(load3(masses, m + MASS.moments, 0.0), v[0]), scale(masses[m + MASS.mass], v[1])


@kernel
def half_step_block(desk, i, x):
    """∂(dexpinv_xᵀ M x)/∂d, to first order of the step; the same for both groups."""
    masses = desk.tables.masses
    theta = load3(masses, i * MASS.size + MASS.moments, 0.0)
    T = (theta[0], 0.0, 0.0, 0.0, theta[1], 0.0, 0.0, 0.0, theta[2])
    half = scale(0.5, x)
    S, P = skew(half), skew(each(theta, half))
    turn = (  # (x~ Θ + Θ x~)/2
        *(0.0, S[1] * (theta[0] + theta[1]), S[2] * (theta[0] + theta[2])),
        *(S[3] * (theta[0] + theta[1]), 0.0, S[5] * (theta[1] + theta[2])),
        *(S[6] * (theta[0] + theta[2]), S[7] * (theta[1] + theta[2]), 0.0),
    )
    separate_block(desk, i, mat_add(T, mat_add(turn, mat_scale(-1.0, P))), masses[i * MASS.size + MASS.mass])


@kernel
def first_half(desk, own, t, h):
    """h p_n + h²/2 F_n (torque in the body, force in space), rows and targets at the begin of the step, and a guess."""
    masses, gravity = desk.tables.masses, desk.tables.gravity
    start_clock(desk, t)
    set_state(desk, desk.q, desk.v)
    for k in range(desk.tables.nt * ROWS.size):
        desk.old[k] = desk.rows[k]
    keep_targets(desk, desk.left)
    count_from(desk, desk.turns)
    apply_forces(desk, t, desk.q, desk.v)
    for i in range(desk.tables.n):
        mass = masses[i * MASS.size + MASS.mass]
        turn, shift = from_chart(desk, i, momentum(masses, i, load6(desk.v, 6 * i, 0.0)))
        force = add_scaled(load3(desk.wrenches, 6 * i + 3, 0.0), mass, (gravity[0], gravity[1], gravity[2]))
        store3(own.push, 6 * i, add_scaled(scale(h, turn), 0.5 * h * h, load3(desk.wrenches, 6 * i, 0.0)))
        store3(own.push, 6 * i + 3, add_scaled(scale(h, shift), 0.5 * h * h, force))
        for k in range(6 * i, 6 * i + 6):
            own.x[k] = h * desk.v[k]


@kernel
def correct(desk, own, step, iteration, fresh):
    """One correction of x and λ⁺ for the first two equations."""
    bodies, masses, x, s = desk.tables.bodies, desk.tables.masses, own.x, 0.5 * step.h * step.h
    weight = weight_of_try(desk, step.h, iteration, x, own.lam)
    move_bodies(desk, x)
    set_state(desk, desk.new_q, desk.v)
    clear_matrix(desk, weight)
    for i in range(desk.tables.n):
        on_se3, at = bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
        torque, force = pulled_back(on_se3, at, momentum(masses, i, at))
        if on_se3:
            force = mul(rotation_at(desk.q, i), force)
        reaction = pushed_by(desk, i, desk.old, own.lam)
        torque = add_scaled(torque, s, reaction[0])
        force = add_scaled(force, s, reaction[1])
        store3(desk.f, 6 * i, sub(load3(own.push, 6 * i, 0.0), torque))
        store3(desk.f, 6 * i + 3, sub(load3(own.push, 6 * i + 3, 0.0), force))
        half_step_block(desk, i, at[0])
    position_residual(desk)
    off, uneven = size_of_residual(desk)
    factorize_saddle(desk, desk.rows, desk.old)
    solve_saddle(desk, desk.rows, desk.old, desk.d)
    for i in range(desk.tables.n):
        on_se3, at = bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
        dx = onward_inverse(on_se3, at, to_chart(desk, i, load6(desk.d, 6 * i, 0.0)))
        store6(x, 6 * i, (add(at[0], dx[0]), add(at[1], dx[1])))
    add_multipliers(desk, s, own.lam)
    (largest, total), noise = size_of_correction(desk), size_of_noise(desk, iteration)
    return Attempt(largest, noise, total, off, uneven, 0.0)


@kernel
def pushed_velocities(desk, own, h):
    """(ω in the body, velocity in space) at the end of the step but for reactions, with the wrenches at hand."""
    masses, gravity = desk.tables.masses, desk.tables.gravity
    for i in range(desk.tables.n):
        light = 1.0 / masses[i * MASS.size + MASS.mass]
        spin = each(load3(masses, i * MASS.size + MASS.inverse, 0.0), load3(desk.wrenches, 6 * i, 0.0))
        fall = add_scaled((gravity[0], gravity[1], gravity[2]), light, load3(desk.wrenches, 6 * i + 3, 0.0))
        store3(desk.step, 6 * i, add_scaled(load3(own.half, 6 * i, 0.0), 0.5 * h, spin))
        store3(desk.step, 6 * i + 3, add_scaled(load3(own.half, 6 * i + 3, 0.0), 0.5 * h, fall))


@kernel
def second_half(desk, own, t, h):
    """Velocities by the last two equations. Returns whether they converged, the power of the forces at the end and the
    work of constraints that depend on time in this half."""
    masses, new_v, velocity = desk.tables.masses, own.new_v, desk.step
    for i in range(desk.tables.n):  # M⁻¹ dexpinv_{-x}ᵀ M x / h: (ω in the body, velocity in space)
        on_se3, at = desk.tables.bodies[i * BODY.size + BODY.space] == SE3, load6(own.x, 6 * i, 0.0)
        turn, shift = pulled_back(on_se3, (neg(at[0]), neg(at[1])), momentum(masses, i, at))
        turn = scale(1.0 / h, each(load3(masses, i * MASS.size + MASS.inverse, 0.0), turn))
        shift = scale(1.0 / (h * masses[i * MASS.size + MASS.mass]), shift)
        store6(own.half, 6 * i, from_chart(desk, i, (turn, shift)))
        store6(new_v, 6 * i, (turn, shift))
    power, impulse, change, sweeps = 0.0, 0.0, 0.0, VELOCITY_SWEEPS if has_forces(desk.whole) else 1
    for _ in range(sweeps):
        power = apply_forces(desk, t + h, desk.new_q, new_v)
        pushed_velocities(desk, own, h)
        impulse = onto_velocities(desk, masses, desk.left, velocity, 2, 0.0)
        for i in range(desk.tables.n):
            store6(velocity, 6 * i, to_chart(desk, i, load6(velocity, 6 * i, 0.0)))
        if sweeps > 1:
            change = size_of_change(desk, new_v, velocity)
        for k in range(6 * desk.tables.n):
            new_v[k] = velocity[k]
        if not change > ROUNDING:
            break
    return change <= ENOUGH, power, impulse


@kernel
def advance(desk, own, t, h):
    """One step."""
    set_goals(desk, h, own.tolerance, ROUNDING, desk.a[:0])
    first_half(desk, own, t, h)
    predict_angles(desk, t, h, own.angles)
    tries = TRIES if desk.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits = Limits(1e-11, 0.0, UNKNOWN, tries, own.tolerance)
    if not iterate(correct, desk, own, Interval(t, h), limits).found:
        return give_up(desk, 0)
    work = 0.5 * h * power_to_keep(desk, desk.plan.nodes, own.lam, desk.left)
    move_bodies(desk, own.x)
    set_state(desk, desk.new_q, desk.v)
    keep_targets(desk, desk.left)
    factorize_rows(value_of(desk.tables), desk.tables.masses, desk.rows, desk.kept_matrix, desk.kept_factors)
    converged, power, impulse = second_half(desk, own, t, h)
    if not converged:
        desk.counts[COUNTS.tried] = 0
        return give_up(desk, 1)
    finish_step(desk, work + impulse + 0.5 * h * (own.power[0] + power), own.new_v, own.angles)
    own.power[0] = power
    return True


@native
def rattle(call):
    """Take up to `limit` steps."""
    desk, tolerance = by_reference(desk_of(call)), call.parameters[RATTLE.tolerance]
    own = make_own((tolerance,), state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, desk, by_reference(own), call)


def parameters_of(method: Rattle, rtol: float, atol: float) -> np.ndarray:
    return fill(RATTLE, tolerance=method.tolerance)


def start(begin: Start, method: Rattle) -> dict[str, Any]:
    return begin.carried() | {"lam": begin.motion(begin.v)[1]}


SCHEME = Scheme(
    data=Rattle,
    loop=rattle,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: True,
)
