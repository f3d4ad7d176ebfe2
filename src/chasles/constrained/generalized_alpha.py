"""Generalized alpha on the group: index 3, and the stabilized index 2 of Gear, Gupta and Leimkuhler.

    q_{n+1} = q_n exp(x),   x* = h V + h²(1/2 - β) a + h² β a_{n+1},   x = x* [- W J_nᵀ ζ]
    x' = V + h(1 - γ) a + h γ a_{n+1},   (1 - αm) a_{n+1} + αm a = (1 - αf) x'' + αf V'

Textbook form (bruels2012): V_{n+1} = x', V'_{n+1} = x''. Local form: x, x', x'' are coordinates and their
derivatives in the chart q_n exp(x), so V_{n+1} = dexp_{-x*} x' and V'_{n+1} its derivative, with as many brackets as
order 2 needs, and a is carried to the next chart. With the equations of motion and g = 0 [and J V = 0] at t_{n+1}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.absolute.redundant import factorize_rows
from chasles.absolute.tables import BODY, FIELD, SE3
from chasles.constrained.chart import bracket, lift, lift_rate, minus, move_body, onward, onward_inverse, plus
from chasles.constrained.correction import IN_POSITION, IN_VELOCITY, LINEAR, Step, correction
from chasles.constrained.error_estimate import measure, relative_size, tangent_part
from chasles.constrained.goals import UNKNOWN, set_goals, size_of_correction, size_of_noise
from chasles.constrained.newton import (
    KEPT,
    LEFT,
    SHARPER,
    TRIES,
    Attempt,
    Limits,
    add_multipliers,
    iterate,
)
from chasles.constrained.position import correct_position, displacement, keep_rows, sweeps_for
from chasles.constrained.scheme import Scheme, StepRule
from chasles.constrained.steps import (
    apply_forces,
    fastest_spin,
    finish_step,
    from_chart,
    give_up,
    keep_targets,
    power_to_keep,
    predict_angles,
    set_state,
    take_steps,
    to_chart,
)
from chasles.constrained.tables import SIZES
from chasles.constrained.velocity import project_velocity
from chasles.constrained.workspace import CARRIED, ITERATIONS, STATE_VECTOR, desk_of
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference, value_of
from chasles.kernel.workspace import fill, layout, load6, store6

if TYPE_CHECKING:
    from chasles.constrained.start import Start

ROUNDING = 4e-15  # of positions, relative to how far they are from the origin
SHARE = 2.0  # tolerance of one body, the slowest too, for a tolerance of all of them
TRUSTED = 8.0  # steps for which the convergence of Newton's method is taken to be what it was


# parameters: αm, αf, γ, β, index, whether in local coordinates, tolerance, whether to project velocities, tolerances of
# the error (zero: no estimate)
ALPHA = layout("ALPHA", am=1, af=1, gamma=1, beta=1, index=1, local=1, tolerance=1, project=1, rtol=1, atol=1)
STATE = Regions(
    "AlphaState",
    point=STATE_VECTOR.count,
    rate_n=6 * SIZES.n_bodies,  # V'
    a_n=6 * SIZES.n_bodies,
    lam=3 * SIZES.n_nodes,
    zeta=3 * SIZES.n_kept,
    drift=3 * SIZES.n_kept,  # the change of ζ in the step before; during a step, ζ at its begin
    growth=6 * SIZES.n_bodies,  # the change of x'' in the step before
    **CARRIED,
)
VECTORS = Regions(
    "AlphaVectors",
    x=6 * SIZES.n_bodies,
    star=6 * SIZES.n_bodies,
    rate=6 * SIZES.n_bodies,  # x'
    second=6 * SIZES.n_bodies,  # x''
    new_v=6 * SIZES.n_bodies,
    new_rate=6 * SIZES.n_bodies,
    moved=6 * SIZES.n_bodies,  # the change of x* in an iteration
    error_x=6 * SIZES.n_bodies,  # estimates, of coordinates and of velocities
    error_v=6 * SIZES.n_bodies,
)
state_of, vectors_of = STATE.views, VECTORS.views
# index is that of the equations: 3 also if rows depend on others, when the matrix is symmetric and velocities are
# projected (`onto`); `project`: they are because it was asked for
make_alpha = joined("Alpha", "am af gamma beta level local form tolerance onto project rtol atol", STATE, VECTORS)


@kernel
def trial_state(desk, own):
    """Poses, velocities and their derivatives from the coordinates."""
    for i in range(desk.tables.n):
        on_se3 = desk.tables.bodies[i * BODY.size + BODY.space] == SE3
        move_body(on_se3, desk.q, i, load6(own.x, 6 * i, 0.0), desk.new_q)
        velocity, acceleration = load6(own.rate, 6 * i, 0.0), load6(own.second, 6 * i, 0.0)
        if own.local:
            at = load6(own.star, 6 * i, 0.0)
            acceleration = lift_rate(on_se3, at, velocity, acceleration)
            velocity = lift(on_se3, at, velocity)
        store6(own.new_v, 6 * i, velocity)
        store6(own.new_rate, 6 * i, acceleration)


@kernel
def algorithmic(own, k):
    """a_{n+1} from x''."""
    return ((1.0 - own.af) * own.second[k] + own.af * own.rate_n[k] - own.am * own.a_n[k]) / (1.0 - own.am)


@kernel
def change_step(desk, own, h):
    """a belongs to a time off t_n by so much of the step."""
    before = own.last_step[0]
    for k in range(6 * desk.tables.n):
        own.a_n[k] = own.rate_n[k] + h / before * (own.a_n[k] - own.rate_n[k])
        own.growth[k] *= h / before
    own.last_step[0], own.contraction[0] = h, 1.0


@kernel
def predict(desk, own, t, h):
    """Predicted: x'' and ζ change as in the step before, λ stays."""
    v, gamma, beta = desk.v, own.gamma, own.beta
    for k in range(6 * desk.tables.n):
        own.second[k] = own.rate_n[k] + own.growth[k]
        end = algorithmic(own, k)
        own.rate[k] = v[k] + h * ((1.0 - gamma) * own.a_n[k] + gamma * end)
        own.star[k] = h * (v[k] + h * ((0.5 - beta) * own.a_n[k] + beta * end))
        own.x[k] = own.star[k]
    if own.level == 2 or own.atol + own.rtol > 0.0:
        keep_rows(desk, t)
    if own.level == 2:
        for k in range(3 * desk.tables.nn):
            before_step = own.zeta[k]
            own.zeta[k] += own.drift[k]
            own.drift[k] = before_step
        displacement(desk, own.zeta)
        for k in range(6 * desk.tables.n):
            own.x[k] += desk.a[k]
    if desk.tables.gravity[FIELD.regularization] > 0.0:  # what dependent rows leave open must not be carried on
        for k in range(3 * desk.plan.n_nodes):
            own.lam[k] = 0.0


@kernel
def carry_on(desk, own):
    """V', a and what the next step is predicted with."""
    for i in range(desk.tables.n):
        on_se3 = desk.tables.bodies[i * BODY.size + BODY.space] == SE3
        for k in range(6 * i, 6 * i + 6):
            own.growth[k] = own.second[k] - own.rate_n[k]
            own.a_n[k] = algorithmic(own, k)
        if own.local:
            off = minus(load6(own.a_n, 6 * i, 0.0), load6(own.second, 6 * i, 0.0))
            ahead = lift(on_se3, load6(own.star, 6 * i, 0.0), off)
            store6(own.a_n, 6 * i, plus(load6(own.new_rate, 6 * i, 0.0), 1.0, ahead))
    for k in range(6 * desk.tables.n):
        own.rate_n[k] = own.new_rate[k]
    if own.level == 2:
        for k in range(3 * desk.tables.nn):
            own.drift[k] = own.zeta[k] - own.drift[k]


@kernel
def correct(desk, own, step, iteration, fresh):
    """One correction of x, its derivatives, λ and ζ."""
    regular, x = desk.tables.gravity[FIELD.regularization], own.x
    trial_state(desk, own)
    power = apply_forces(desk, step.t + step.h, desk.new_q, own.new_v)
    set_state(desk, desk.new_q, own.new_v)
    weight = regular if iteration < TRIES else SHARPER * regular
    off, uneven = correction(desk, step, own.level, own.form, x, own.new_v, own.new_rate, own.lam, weight, fresh)
    (largest, total), noise = size_of_correction(desk), size_of_noise(desk, iteration)
    for i in range(desk.tables.n):
        on_se3, at = desk.tables.bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
        change = load6(desk.d, 6 * i, 0.0)
        dx = to_chart(desk, i, change)
        if own.form == IN_VELOCITY:
            dx = plus(dx, -0.5 * step.kappa, bracket(on_se3, load6(own.new_v, 6 * i, 0.0), dx))
            change = from_chart(desk, i, dx)
        if own.level == 3 or own.local:
            dx = onward_inverse(on_se3, at, dx)
        else:
            change = from_chart(desk, i, onward(on_se3, at, dx))
        store6(desk.step, 6 * i, change)
        store6(own.moved, 6 * i, dx)
    add_multipliers(desk, step.s, own.lam)
    if own.level == 2:
        correct_position(desk, step.sweeps, x, own.zeta)
        largest = max(largest, size_of_correction(desk)[0])
        noise = max(noise, size_of_noise(desk, iteration))
        for k in range(6 * desk.tables.n):
            x[k] += desk.d[k]
    for k in range(6 * desk.tables.n):
        x[k] += own.moved[k]
        own.star[k] += own.moved[k]
        own.rate[k] += own.moved[k] / step.kappa
        own.second[k] += step.cm / step.s * own.moved[k]
    return Attempt(largest, noise, total, off, uneven, power)


@kernel
def solve(desk, own, step):
    """Newton's method, which trusts that it converges as it did in a step before."""
    set_goals(desk, step.h, SHARE * own.tolerance, ROUNDING, own.rate_n)
    expected = own.contraction[0] if own.unseen[0] < TRUSTED else UNKNOWN
    tries = ITERATIONS if desk.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits = Limits(1e-11, KEPT, expected, tries, own.tolerance)
    outcome = iterate(correct, desk, own, step, limits)
    if outcome.contraction >= 0.0:
        own.contraction[0], own.unseen[0] = outcome.contraction, 0.0
    elif outcome.largest * expected < LEFT:
        own.unseen[0] += 1.0
    return outcome


@kernel
def estimate(desk, own, h, h_before):
    """The error of the step relative to the tolerance, of coordinates and velocities."""
    n, am, af, x, v = desk.tables.n, own.am, own.af, own.error_x, own.error_v
    for k in range(6 * n):
        x[k] = h * h * (1 / 6 - own.beta - 0.5 * (am - af)) * (algorithmic(own, k) - own.a_n[k])
        bend = 2.0 * (own.second[k] - own.rate_n[k] - own.growth[k]) / (h * (h + h_before))
        v[k] = h * h * h * (-1 / 12 + (am - af) * (0.5 - af)) * bend
    if not own.local:
        for i in range(n):
            on_se3 = desk.tables.bodies[i * BODY.size + BODY.space] == SE3
            twist = bracket(on_se3, load6(desk.v, 6 * i, 0.0), load6(own.rate_n, 6 * i, 0.0))
            store6(x, 6 * i, plus(load6(x, 6 * i, 0.0), h * h * h / 12, twist))
    if desk.tables.nt > 0:
        tangent_part(desk, x)
        tangent_part(desk, v)
    measure(desk, desk.new_q, own.new_v)
    size = relative_size(desk, x, False, h, own.rtol, own.atol)
    return max(size, relative_size(desk, v, True, h, own.rtol, own.atol))


@kernel
def project(desk, own):
    """Velocities onto the constraints, if they are to be; returns the work of constraints that depend on time."""
    if not (own.onto or own.project):
        return 0.0
    weights, sweeps, accuracy = desk.weights, 4, 1e-15
    set_state(desk, desk.new_q, own.new_v)
    if own.onto:
        weights, sweeps, accuracy = desk.tables.masses, 2, 0.0
        factorize_rows(value_of(desk.tables), weights, desk.rows, desk.kept_matrix, desk.kept_factors)
    impulse = project_velocity(desk, weights, desk.left, own.new_v, sweeps, accuracy)
    return impulse if own.onto else 0.0


@kernel
def advance(desk, own, t, h):
    """One step."""
    am, af, gamma, beta = own.am, own.af, own.gamma, own.beta
    h_before = own.last_step[0]
    if h != h_before:
        change_step(desk, own, h)
    predict(desk, own, t, h)
    predict_angles(desk, t, h, own.angles)
    cm = (1.0 - am) / (1.0 - af)
    step = Step(t, h, beta * h * h, cm, gamma * h, beta * h / gamma, sweeps_for(abs(h) * fastest_spin(desk)))
    outcome = solve(desk, own, step)
    if not outcome.found:
        return give_up(desk, 1 if own.level == 2 else 0)
    keep_targets(desk, desk.left)
    power = outcome.power + power_to_keep(desk, desk.plan.nodes, own.lam, desk.left)
    trial_state(desk, own)
    if own.atol + own.rtol > 0.0:
        own.errors[0] = estimate(desk, own, h, h_before)
    carry_on(desk, own)
    impulse = project(desk, own)
    finish_step(desk, impulse + 0.5 * h * (own.power[0] + power), own.new_v, own.angles)
    own.power[0] = power
    return True


@native
def generalized_alpha(call):
    """Take up to `limit` steps."""
    desk, p = by_reference(desk_of(call)), call.parameters
    level, local = int(p[ALPHA.index]), p[ALPHA.local] != 0.0
    onto = level == 2 and desk.tables.gravity[FIELD.regularization] > 0.0
    if onto:
        level = 3
    asked = p[ALPHA.project] != 0.0 and desk.tables.nt > 0
    form = IN_POSITION if level == 3 and not local else IN_VELOCITY if level == 2 and local else LINEAR
    values = (
        *(p[ALPHA.am], p[ALPHA.af], p[ALPHA.gamma], p[ALPHA.beta], level, local, form, p[ALPHA.tolerance]),
        *(onto, asked, p[ALPHA.rtol], p[ALPHA.atol]),
    )
    own = make_alpha(values, state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, desk, by_reference(own), call)


def parameters_of(method: GeneralizedAlpha, rtol: float, atol: float) -> np.ndarray:
    am, af, gamma, beta = method.coefficients
    return fill(
        ALPHA,
        am=am,
        af=af,
        gamma=gamma,
        beta=beta,
        index=method.index,
        local=method.local,
        tolerance=method.tolerance,
        project=method.project_velocity,
        rtol=rtol,
        atol=atol,
    )


def start(begin: Start, method: GeneralizedAlpha) -> dict[str, Any]:
    """Order 2 in positions, velocities and multipliers from the first step on.

    a = V' + (αm - αf) h V''; with index 3 the velocity is also moved off the constraints, mass-orthogonally, by as much
    as the method would: without this the multipliers oscillate, with an error of order 1 (arnold2015).
    """
    h, v, y, constrained = begin.h, begin.v, begin.y.copy(), method.index == 3 and bool(begin.mechanism.tiles)
    if constrained:  # a step of this method before may have left them off
        v = begin.onto_constraints(v)
    rates, multipliers = begin.motion(v)
    change = begin.rates_after(h, v, rates)  # h V''
    change = change - rates if begin.jump else 0.5 * (change - begin.rates_after(-h, v, rates))
    twist = h * begin.bracket(v, rates)
    if method.local:  # derivatives of the coordinates, not of the velocity
        change, twist = change + 0.5 * twist, 0.0 * twist
    if constrained:
        off = h * ((1 - 6 * method.coefficients[3] - 3 * method.shift) / 6 * change + twist / 12)
        tangent = begin.onto_constraints(v + off) - v
        n = begin.mechanism.n
        y[7 * n : 13 * n] = (v + off - tangent).ravel()
    state = {"rate_n": rates, "a_n": rates + method.shift * change, "growth": change, "lam": multipliers}
    return begin.carried() | {"point": y, **state}


def step_rule(method: GeneralizedAlpha) -> StepRule | None:
    """Each change of the step costs accuracy, so it is kept where it may be. With index 3 it must not change."""
    return StepRule(3, 0.85, 0.3, 2.0, keep=(0.95, 1.15)) if method.index == 2 else None


SCHEME = Scheme(
    data=GeneralizedAlpha,
    loop=generalized_alpha,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: method.index == 3,
    step_rule=step_rule,
)
