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

from chasles.absolute.implicit.cayley import cayley_block, make_own, mean_rows, move, state_of, vectors_of
from chasles.absolute.implicit.iterate import (
    TRIES,
    Attempt,
    Limits,
    add_multipliers,
    iterate,
    weight_of_try,
)
from chasles.absolute.implicit.layout import desk_of
from chasles.absolute.implicit.loop import (
    apply_forces,
    count_from,
    finish_step,
    give_up,
    predict_angles,
    set_state,
    start_clock,
    take_steps,
)
from chasles.absolute.implicit.newton import position_residual
from chasles.absolute.implicit.rattle import Step
from chasles.absolute.implicit.saddle import clear_matrix, factorize_saddle, pushed_by, solve_saddle
from chasles.absolute.implicit.scale import UNKNOWN, set_goals, size_of_correction, size_of_noise, size_of_residual
from chasles.absolute.kkt import each
from chasles.absolute.tables import FIELD, MASS
from chasles.kernel.algebra import add, add_scaled, cross, dot, scale, sub
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference
from chasles.kernel.workspace import layout, load3, store3, store6

ROUNDING = 1e-16  # of positions, relative to how far they are from the origin
# parameters: tolerance of Newton's method, of the velocities
CAYLEY = layout("CAYLEY", tolerance=1)


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
    outcome = iterate(correct, desk, own, Step(t, h), limits)
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
