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
from chasles.constrained.chart import (
    POSE,
    bracket,
    four_in_space,
    lift,
    lift_rate,
    load_four,
    minus,
    move_body,
    moved_pose,
    onward,
    onward_inverse,
    plus,
    store_four,
)
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
    apply_forces_before,
    elements_at_end,
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
from chasles.constrained.workspace import CARRIED, ITERATIONS, NO_ROW, STATE_VECTOR, workspace_of
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.kernel.lanes import WIDTH
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference, value_of
from chasles.kernel.rows import load_rows, store_rows
from chasles.kernel.workspace import fill, layout, load6, store6

if TYPE_CHECKING:
    from chasles.constrained.run import ConstrainedStepper
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
    zeta=3 * SIZES.n_row_nodes,
    drift=3 * SIZES.n_row_nodes,  # the change of ζ in the step before
    growth=6 * SIZES.n_bodies,  # the change of x'' in the step before
    **CARRIED,
)
VECTORS = Regions(
    "AlphaVectors",
    x=6 * SIZES.n_bodies,
    star=6 * SIZES.n_bodies,
    rate=6 * SIZES.n_bodies,  # x'
    second=6 * SIZES.n_bodies,  # x''
    trial_v=6 * SIZES.n_bodies,
    trial_rate=6 * SIZES.n_bodies,
    moved=6 * SIZES.n_bodies,  # the change of x* in an iteration
    zeta_n=3 * SIZES.n_row_nodes,  # ζ at the begin of the step
    error_x=6 * SIZES.n_bodies,  # estimates, of coordinates and of velocities
    error_v=6 * SIZES.n_bodies,
)
state_of, vectors_of = STATE.views, VECTORS.views
# index is that of the equations: 3 also if rows depend on others, when the matrix is symmetric and velocities are
# projected (`onto`); `project`: they are because it was asked for. of_second, of_rate, of_before: shares
# of x'', V' and a in a_{n+1}
make_method = joined(
    "Alpha",
    "am af gamma beta of_second of_rate of_before solved_index local form tolerance onto project rtol atol",
    STATE,
    VECTORS,
)


@kernel
def trial_motion(on_se3, local, star, rate, second):
    """Velocity and its derivative from x*, x' and x''."""
    if local:
        return lift(on_se3, star, rate), lift_rate(on_se3, star, rate, second)
    return rate, second


@kernel
def trial_of_body(workspace, method, i):
    on_se3 = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3
    move_body(on_se3, workspace.q, i, load6(method.x, 6 * i, 0.0), workspace.trial_q)
    star, rate = load6(method.star, 6 * i, 0.0), load6(method.rate, 6 * i, 0.0)
    velocity, acceleration = trial_motion(on_se3, method.local, star, rate, load6(method.second, 6 * i, 0.0))
    store6(method.trial_v, 6 * i, velocity)
    store6(method.trial_rate, 6 * i, acceleration)


@kernel
def trial_of_four(workspace, method, i):
    """Of bodies i to i + 3, on SO(3)xR3."""
    q = load_rows(workspace.q, POSE * i, POSE, POSE)
    unit, place = moved_pose(False, (q[0], q[1], q[2], q[3]), (q[4], q[5], q[6]), load_four(method.x, i))
    star, rate = load_four(method.star, i), load_four(method.rate, i)
    velocity, acceleration = trial_motion(False, method.local, star, rate, load_four(method.second, i))
    store_rows(workspace.trial_q, POSE * i, POSE, (*unit, *place))
    store_four(method.trial_v, i, velocity)
    store_four(method.trial_rate, i, acceleration)


@kernel
def trial_state(workspace, method):
    """Poses, velocities and their derivatives from the coordinates."""
    n, i = workspace.tables.n, 0
    while i < n:
        if four_in_space(workspace.tables.bodies, n, i):
            trial_of_four(workspace, method, i)
            i += WIDTH
        else:
            trial_of_body(workspace, method, i)
            i += 1


@kernel
def algorithmic(method, k):
    """a_{n+1} from x''."""
    return method.of_second * method.second[k] + method.of_rate * method.rate_n[k] - method.of_before * method.a_n[k]


@kernel
def change_step(workspace, method, h):
    """a belongs to a time off t_n by so much of the step."""
    before = method.last_step[0]
    for k in range(6 * workspace.tables.n):
        method.a_n[k] = method.rate_n[k] + h / before * (method.a_n[k] - method.rate_n[k])
        method.growth[k] *= h / before
    method.last_step[0], method.contraction[0] = h, 1.0


@kernel
def predict(workspace, method, t, h):
    """Predicted: x'' and ζ change as in the step before, λ stays."""
    v, gamma, beta = workspace.v, method.gamma, method.beta
    for k in range(6 * workspace.tables.n):
        method.second[k] = method.rate_n[k] + method.growth[k]
        end = algorithmic(method, k)
        method.rate[k] = v[k] + h * ((1.0 - gamma) * method.a_n[k] + gamma * end)
        method.star[k] = h * (v[k] + h * ((0.5 - beta) * method.a_n[k] + beta * end))
        method.x[k] = method.star[k]
    if method.solved_index == 2 or method.atol + method.rtol > 0.0:
        keep_rows(workspace, t)
    if method.solved_index == 2:
        for k in range(3 * workspace.tables.nn):
            method.zeta_n[k] = method.zeta[k]
            method.zeta[k] += method.drift[k]
        displacement(workspace, method.zeta)
        for k in range(6 * workspace.tables.n):
            method.x[k] += workspace.response[k]
    if workspace.tables.gravity[FIELD.regularization] > 0.0:  # what dependent rows leave open must not be carried on
        for k in range(3 * workspace.plan.n_nodes):
            method.lam[k] = 0.0


@kernel
def carry_on(workspace, method):
    """V', a and what the next step is predicted with."""
    for i in range(workspace.tables.n):
        on_se3 = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3
        for k in range(6 * i, 6 * i + 6):
            method.growth[k] = method.second[k] - method.rate_n[k]
            method.a_n[k] = algorithmic(method, k)
        if method.local:
            off = minus(load6(method.a_n, 6 * i, 0.0), load6(method.second, 6 * i, 0.0))
            ahead = lift(on_se3, load6(method.star, 6 * i, 0.0), off)
            store6(method.a_n, 6 * i, plus(load6(method.trial_rate, 6 * i, 0.0), 1.0, ahead))
    for k in range(6 * workspace.tables.n):
        method.rate_n[k] = method.trial_rate[k]
    if method.solved_index == 2:
        for k in range(3 * workspace.tables.nn):
            method.drift[k] = method.zeta[k] - method.zeta_n[k]


@kernel
def displace_body(workspace, method, step, i):
    on_se3, at = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3, load6(method.x, 6 * i, 0.0)
    change = load6(workspace.d, 6 * i, 0.0)
    dx = to_chart(workspace, i, change)
    if method.form == IN_VELOCITY:
        dx = plus(dx, -0.5 * step.kappa, bracket(on_se3, load6(method.trial_v, 6 * i, 0.0), dx))
        change = from_chart(workspace, i, dx)
    if method.solved_index == 3 or method.local:
        dx = onward_inverse(on_se3, at, dx)
    else:
        change = from_chart(workspace, i, onward(on_se3, at, dx))
    store6(workspace.displacement, 6 * i, change)
    store6(method.moved, 6 * i, dx)


@kernel
def displace_four(workspace, method, step, i):
    """Of bodies i to i + 3, on SO(3)xR3: there displacements are coordinates of the chart."""
    at, dx = load_four(method.x, i), load_four(workspace.d, i)
    if method.form == IN_VELOCITY:
        dx = plus(dx, -0.5 * step.kappa, bracket(False, load_four(method.trial_v, i), dx))
    if method.solved_index == 3 or method.local:
        store_four(workspace.displacement, i, dx)
        store_four(method.moved, i, onward_inverse(False, at, dx))
    else:
        store_four(workspace.displacement, i, onward(False, at, dx))
        store_four(method.moved, i, dx)


@kernel
def displace(workspace, method, step):
    """The displacements of the bodies and the change of x* by the correction d."""
    n, i = workspace.tables.n, 0
    while i < n:
        if four_in_space(workspace.tables.bodies, n, i):
            displace_four(workspace, method, step, i)
            i += WIDTH
        else:
            displace_body(workspace, method, step, i)
            i += 1


@kernel
def correct(workspace, method, step, iteration, fresh):
    """One correction of x, its derivatives, λ and ζ."""
    regular, x = workspace.tables.gravity[FIELD.regularization], method.x
    trial_state(workspace, method)
    weight = regular if iteration < TRIES else SHARPER * regular
    first = elements_at_end(workspace) if (fresh or weight > 0.0) and workspace.force_tangents.shape[0] > 0 else NO_ROW
    apply_forces_before(workspace, first, step.t + step.h, workspace.trial_q, method.trial_v)
    set_state(workspace, workspace.trial_q, method.trial_v)
    off, uneven = correction(workspace, method, step, weight, fresh, first)
    power = workspace.power[0]
    (largest, total), noise = size_of_correction(workspace), size_of_noise(workspace, iteration)
    displace(workspace, method, step)
    add_multipliers(workspace, step.s, method.lam)
    if method.solved_index == 2:
        correct_position(workspace, step.sweeps, x, method.zeta)
        largest = max(largest, size_of_correction(workspace)[0])
        noise = max(noise, size_of_noise(workspace, iteration))
        for k in range(6 * workspace.tables.n):
            x[k] += workspace.d[k]
    faster, bend = 1.0 / step.kappa, step.cm / step.s
    for k in range(6 * workspace.tables.n):
        x[k] += method.moved[k]
        method.star[k] += method.moved[k]
        method.rate[k] += faster * method.moved[k]
        method.second[k] += bend * method.moved[k]
    return Attempt(largest, noise, total, off, uneven, power)


@kernel
def solve(workspace, method, step):
    """Newton's method, which trusts that it converges as it did in a step before."""
    set_goals(workspace, step.h, SHARE * method.tolerance, ROUNDING, method.rate_n)
    expected = method.contraction[0] if method.unseen[0] < TRUSTED else UNKNOWN
    tries = ITERATIONS if workspace.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits = Limits(1e-11, KEPT, expected, tries, method.tolerance)
    outcome = iterate(correct, workspace, method, step, limits)
    if outcome.contraction >= 0.0:
        method.contraction[0], method.unseen[0] = outcome.contraction, 0.0
    elif outcome.largest * expected < LEFT:
        method.unseen[0] += 1.0
    return outcome


@kernel
def estimate(workspace, method, h, h_before):
    """The error of the step relative to the tolerance, of coordinates and velocities.

    With δ = αm - αf the recursion of a gives a_n = V' + δ h x''' + O(h²), and γ = 1/2 - δ. By Taylor's series the
    formulas of x* and x' have, to leading order, the errors

        e = x(h) - x* = cx h³ x''',    cx = 1/6 - β - δ/2 = -1/12 - δ²/4,    where h x''' = a_{n+1} - a_n
        x'(h) - x' = cv h³ x'''',      cv = -1/12 + δ(1/2 - αf)

    Let b be twice the second divided difference of x''. Textbook form: x''' = V'', x'''' = V''' = b, but x lacks
    h³/12 [V, V']. Local form, where V = dexp_{-x} x': x''' = V'' + [V, V']/2 and x'''' = V''' + [V, V''], while
    b = V''' + [V, V'']/2, being of two charts. What a has beyond V' is turned on its way to the next chart, which adds
    δ/4 (1/2 - αf) h³ [V, [V, V']] to the error of x'; and e turns V by [V, e]/2. All in all the error of V is

        h³ cv b + (1 + cv/cx)/2 [V, e] + h³/48 [V, [V, V']]

    What the constraints take back of these errors is left out.
    """
    n, shift, x, v = workspace.tables.n, method.am - method.af, method.error_x, method.error_v
    cx, cv = 1 / 6 - method.beta - 0.5 * shift, -1 / 12 + shift * (0.5 - method.af)
    for k in range(6 * n):
        x[k] = h * h * cx * (algorithmic(method, k) - method.a_n[k])
        bend = 2.0 * (method.second[k] - method.rate_n[k] - method.growth[k]) / (h * (h + h_before))
        v[k] = h * h * h * cv * bend
    for i in range(n):
        on_se3, velocity = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3, load6(workspace.v, 6 * i, 0.0)
        twist, off = bracket(on_se3, velocity, load6(method.rate_n, 6 * i, 0.0)), load6(x, 6 * i, 0.0)
        if method.local:
            turned = plus(load6(v, 6 * i, 0.0), 0.5 * (1.0 + cv / cx), bracket(on_se3, velocity, off))
            store6(v, 6 * i, plus(turned, h * h * h / 48, bracket(on_se3, velocity, twist)))
        else:
            store6(x, 6 * i, plus(off, h * h * h / 12, twist))
    if workspace.tables.nt > 0:
        tangent_part(workspace, x)
        tangent_part(workspace, v)
    measure(workspace, workspace.trial_q, method.trial_v)
    size = relative_size(workspace, x, False, h, method.rtol, method.atol)
    return max(size, relative_size(workspace, v, True, h, method.rtol, method.atol))


@kernel
def project(workspace, method):
    """Velocities onto the constraints; returns the work of constraints that depend on time."""
    weights, sweeps, accuracy = workspace.metric, 4, 1e-15
    set_state(workspace, workspace.trial_q, method.trial_v)
    if method.onto:
        weights, sweeps, accuracy = workspace.tables.masses, 2, 0.0
        factorize_rows(value_of(workspace.tables), weights, workspace.rows, workspace.row_matrix, workspace.row_factors)
    impulse = project_velocity(workspace, weights, workspace.targets, method.trial_v, sweeps, accuracy)
    return impulse if method.onto else 0.0


@kernel
def advance(workspace, method, t, h):
    """One step."""
    am, af, gamma, beta = method.am, method.af, method.gamma, method.beta
    h_before = method.last_step[0]
    if h != h_before:
        change_step(workspace, method, h)
    predict(workspace, method, t, h)
    predict_angles(workspace, t, h, method.angles)
    cm = (1.0 - am) / (1.0 - af)
    sweeps = sweeps_for(abs(h) * fastest_spin(workspace))
    step = Step(*(t, h, beta * h * h, cm, gamma * h, beta * h / gamma, sweeps, method.solved_index, method.form))
    outcome = solve(workspace, method, step)
    if not outcome.converged:
        return give_up(workspace, 1 if method.solved_index == 2 else 0)
    keep_targets(workspace, workspace.targets)
    power = outcome.power + power_to_keep(workspace, workspace.plan.nodes, method.lam, workspace.targets)
    trial_state(workspace, method)
    if method.atol + method.rtol > 0.0:
        method.errors[0] = estimate(workspace, method, h, h_before)
    carry_on(workspace, method)
    impulse = 0.0
    if method.onto or method.project:
        impulse = project(workspace, method)
    finish_step(workspace, impulse + 0.5 * h * (method.power[0] + power), method.trial_v, method.angles)
    method.power[0] = power
    return True


@native
def generalized_alpha(call):
    """Take up to `limit` steps."""
    workspace, p = by_reference(workspace_of(call)), call.parameters
    index, local = int(p[ALPHA.index]), p[ALPHA.local] != 0.0
    onto = index == 2 and workspace.tables.gravity[FIELD.regularization] > 0.0
    if onto:
        index = 3
    asked = p[ALPHA.project] != 0.0 and workspace.tables.nt > 0
    form = IN_POSITION if index == 3 and not local else IN_VELOCITY if index == 2 and local else LINEAR
    am, af, light = p[ALPHA.am], p[ALPHA.af], 1.0 / (1.0 - p[ALPHA.am])
    values = (
        *(am, af, p[ALPHA.gamma], p[ALPHA.beta], light * (1.0 - af), light * af, light * am),
        *(index, local, form, p[ALPHA.tolerance], onto, asked, p[ALPHA.rtol], p[ALPHA.atol]),
    )
    method = make_method(values, state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, workspace, by_reference(method), call)


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
    as the method would: without this the multipliers oscillate, with an error of order 1 (arnold2015). Where V' would
    change beyond all measure in a step (stiff dampers, far from balance) V'' says nothing about its end: left out.
    """
    h, v, y, constrained = begin.h, begin.v, begin.y.copy(), method.index == 3 and bool(begin.mechanism.tiles)
    if constrained:  # a step of this method before may have left them off
        v = begin.onto_constraints(v)
    rates, multipliers = begin.motion(v)
    change = begin.rates_after(h, v, rates)  # h V''
    change = change - rates if begin.jump else 0.5 * (change - begin.rates_after(-h, v, rates))
    if not begin.resolves(change, v, rates):
        change = begin.change_in_time(v, rates)
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


def step_rule(method: GeneralizedAlpha) -> StepRule:
    """Each change of the step costs accuracy, so it is kept where it may be. An error of h³ a step adds up to h² at the
    end, which follows tol if that of a step is tol^(3/2)."""
    return StepRule(3, 0.85, 0.3, 2.0, keep=(0.95, 1.15), power=3 / 2)


def change_velocity(run: ConstrainedStepper, t: float, h: float) -> None:
    """With index 3 the method wants velocities off the constraints by what grows with h² (`start`): that part goes with
    the step. Else the multipliers would oscillate with an error of order 1."""
    before = float(run.state.last_step[0])
    if run.method.index == 3 and run.mechanism.tiles and h != before:
        y = run.point()
        q, v, _ = run.problem.split(y)
        on = run.mechanism.project(q, v, t, run.problem.angles(y))[1]
        n = run.mechanism.n
        run.state.point[7 * n : 13 * n] = (on + (h / before) ** 2 * (v - on)).ravel()


SCHEME = Scheme(
    data=GeneralizedAlpha,
    loop=generalized_alpha,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: method.index == 3,
    step_rule=step_rule,
    change_step=change_velocity,
)
