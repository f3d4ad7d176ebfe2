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
from chasles.constrained.saddle import clear_matrix, pushed_by, separate_block, solve_equations
from chasles.constrained.scheme import Density, Scheme
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
from chasles.constrained.velocity import factorize_at_hand, onto_velocities
from chasles.constrained.workspace import CARRIED, COUNTS, STATE_VECTOR, has_forces, workspace_at
from chasles.constraint.rows import ROWS
from chasles.integrate.constrained_method import Rattle
from chasles.kernel.algebra import add, add_scaled, mat_add, mat_scale, mul, neg, scale, skew, sub
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference
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
    trial_v=6 * SIZES.n_bodies,
    push=6 * SIZES.n_bodies,  # h p_n + h²/2 F_n
    half=6 * SIZES.n_bodies,  # velocities without the second half of the forces
)
state_of, vectors_of = STATE.views, VECTORS.views
make_method = joined("Rattle", "tolerance", STATE, VECTORS)


@kernel
def momentum(masses, i, v):
    """M v of body i, in the algebra of its space."""
    m = i * MASS.size
    return each(load3(masses, m + MASS.moments, 0.0), v[0]), scale(masses[m + MASS.mass], v[1])


@kernel
def half_step_block(workspace, i, x):
    """∂(dexpinv_xᵀ M x)/∂d, to first order of the step; the same for both groups."""
    masses = workspace.tables.masses
    theta = load3(masses, i * MASS.size + MASS.moments, 0.0)
    T = (theta[0], 0.0, 0.0, 0.0, theta[1], 0.0, 0.0, 0.0, theta[2])
    half = scale(0.5, x)
    S, P = skew(half), skew(each(theta, half))
    turn = (  # (x~ Θ + Θ x~)/2
        *(0.0, S[1] * (theta[0] + theta[1]), S[2] * (theta[0] + theta[2])),
        *(S[3] * (theta[0] + theta[1]), 0.0, S[5] * (theta[1] + theta[2])),
        *(S[6] * (theta[0] + theta[2]), S[7] * (theta[1] + theta[2]), 0.0),
    )
    separate_block(workspace, i, mat_add(T, mat_add(turn, mat_scale(-1.0, P))), masses[i * MASS.size + MASS.mass])


@kernel
def first_half(workspace, method, t, h):
    """h p_n + h²/2 F_n (torque in the body, force in space), rows and targets at the begin of the step, and a guess."""
    masses, gravity = workspace.tables.masses, workspace.tables.gravity
    start_clock(workspace, t)
    set_state(workspace, workspace.q, workspace.v)
    for k in range(workspace.tables.nt * ROWS.size):
        workspace.old_rows[k] = workspace.rows[k]
    keep_targets(workspace, workspace.targets)
    count_from(workspace, workspace.counted_angles)
    apply_forces(workspace, t, workspace.q, workspace.v)
    for i in range(workspace.tables.n):
        mass = masses[i * MASS.size + MASS.mass]
        turn, shift = from_chart(workspace, i, momentum(masses, i, load6(workspace.v, 6 * i, 0.0)))
        force = add_scaled(load3(workspace.wrenches, 6 * i + 3, 0.0), mass, load3(gravity, FIELD.gravity, 0.0))
        store3(method.push, 6 * i, add_scaled(scale(h, turn), 0.5 * h * h, load3(workspace.wrenches, 6 * i, 0.0)))
        store3(method.push, 6 * i + 3, add_scaled(scale(h, shift), 0.5 * h * h, force))
        for k in range(6 * i, 6 * i + 6):
            method.x[k] = h * workspace.v[k]


@kernel
def correct(workspace, method, step, iteration, fresh):
    """One correction of x and λ⁺ for the first two equations."""
    bodies, masses, x, s = workspace.tables.bodies, workspace.tables.masses, method.x, 0.5 * step.h * step.h
    weight = weight_of_try(workspace, step.h, iteration, x, method.lam)
    move_bodies(workspace, x)
    set_state(workspace, workspace.trial_q, workspace.v)
    clear_matrix(workspace, weight)
    for i in range(workspace.tables.n):
        on_se3, at = bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
        torque, force = pulled_back(on_se3, at, momentum(masses, i, at))
        if on_se3:
            force = mul(rotation_at(workspace.q, i), force)
        reaction = pushed_by(workspace, i, workspace.old_rows, method.lam)
        torque = add_scaled(torque, s, reaction[0])
        force = add_scaled(force, s, reaction[1])
        store3(workspace.f, 6 * i, sub(load3(method.push, 6 * i, 0.0), torque))
        store3(workspace.f, 6 * i + 3, sub(load3(method.push, 6 * i + 3, 0.0), force))
        half_step_block(workspace, i, at[0])
    position_residual(workspace)
    off, uneven = size_of_residual(workspace)
    solve_equations(workspace, True)
    for i in range(workspace.tables.n):
        on_se3, at = bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
        dx = onward_inverse(on_se3, at, to_chart(workspace, i, load6(workspace.d, 6 * i, 0.0)))
        store6(x, 6 * i, (add(at[0], dx[0]), add(at[1], dx[1])))
    add_multipliers(workspace, s, method.lam)
    (largest, total), noise = size_of_correction(workspace), size_of_noise(workspace, iteration)
    return Attempt(largest, noise, total, off, uneven, 0.0)


@kernel
def pushed_velocities(workspace, method, h):
    """(ω in the body, velocity in space) at the end of the step but for reactions, with the wrenches at hand."""
    masses, gravity = workspace.tables.masses, workspace.tables.gravity
    for i in range(workspace.tables.n):
        light = 1.0 / masses[i * MASS.size + MASS.mass]
        spin = each(load3(masses, i * MASS.size + MASS.inverse, 0.0), load3(workspace.wrenches, 6 * i, 0.0))
        fall = add_scaled(load3(gravity, FIELD.gravity, 0.0), light, load3(workspace.wrenches, 6 * i + 3, 0.0))
        store3(workspace.velocity, 6 * i, add_scaled(load3(method.half, 6 * i, 0.0), 0.5 * h, spin))
        store3(workspace.velocity, 6 * i + 3, add_scaled(load3(method.half, 6 * i + 3, 0.0), 0.5 * h, fall))


@kernel
def second_half(workspace, method, t, h):
    """Velocities by the last two equations. Returns whether they converged, the power of the forces at the end and the
    work of constraints that depend on time in this half."""
    masses, trial_v, velocity = workspace.tables.masses, method.trial_v, workspace.velocity
    for i in range(workspace.tables.n):  # M⁻¹ dexpinv_{-x}ᵀ M x / h: (ω in the body, velocity in space)
        on_se3, at = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3, load6(method.x, 6 * i, 0.0)
        turn, shift = pulled_back(on_se3, (neg(at[0]), neg(at[1])), momentum(masses, i, at))
        turn = scale(1.0 / h, each(load3(masses, i * MASS.size + MASS.inverse, 0.0), turn))
        shift = scale(1.0 / (h * masses[i * MASS.size + MASS.mass]), shift)
        store6(method.half, 6 * i, from_chart(workspace, i, (turn, shift)))
        store6(trial_v, 6 * i, (turn, shift))
    power, impulse, change, sweeps = 0.0, 0.0, 0.0, VELOCITY_SWEEPS if has_forces(workspace.integers) else 1
    for _ in range(sweeps):
        power = apply_forces(workspace, t + h, workspace.trial_q, trial_v)
        pushed_velocities(workspace, method, h)
        impulse = onto_velocities(workspace, masses, 2, 0.0)
        for i in range(workspace.tables.n):
            store6(velocity, 6 * i, to_chart(workspace, i, load6(velocity, 6 * i, 0.0)))
        if sweeps > 1:
            change = size_of_change(workspace, trial_v, velocity)
        for k in range(6 * workspace.tables.n):
            trial_v[k] = velocity[k]
        if not change > ROUNDING:
            break
    return change <= ENOUGH, power, impulse


@kernel
def advance(workspace, method, t, h):
    """One step."""
    set_goals(workspace, h, method.tolerance, ROUNDING, workspace.response[:0])
    first_half(workspace, method, t, h)
    predict_angles(workspace, t, h, method.angles)
    tries = TRIES if workspace.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits = Limits(1e-11, 0.0, UNKNOWN, tries, method.tolerance)
    if not iterate(correct, workspace, method, Interval(t, h), limits).converged:
        return give_up(workspace, 0)
    work = 0.5 * h * power_to_keep(workspace, workspace.plan.nodes, method.lam, workspace.targets)
    move_bodies(workspace, method.x)
    set_state(workspace, workspace.trial_q, workspace.v)
    keep_targets(workspace, workspace.targets)
    factorize_at_hand(workspace, workspace.tables.masses)
    converged, power, impulse = second_half(workspace, method, t, h)
    if not converged:
        workspace.counts[COUNTS.tried] = 0
        return give_up(workspace, 1)
    finish_step(workspace, work + impulse + 0.5 * h * (method.power[0] + power), method.trial_v, method.angles)
    method.power[0] = power
    return True


@native(vectorized=False)
def rattle(at, call):
    """Take up to `limit` steps."""
    workspace, tolerance = workspace_at(at), call.parameters[RATTLE.tolerance]
    method = make_method((tolerance,), state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, workspace, by_reference(method), call)


def parameters_of(method: Rattle, rtol: float, atol: float) -> np.ndarray:
    return fill(RATTLE, tolerance=method.tolerance)


def start(begin: Start, method: Rattle) -> dict[str, Any]:
    return begin.carried() | {"lam": begin.motion(begin.v)[1]}


def step_rule(method: Rattle) -> Density:
    """Not by the error of the last step, which would let the energy drift, but reversible."""
    return Density(1.0)


SCHEME = Scheme(
    data=Rattle,
    loop=rattle,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: True,
    step_rule=step_rule,
)
