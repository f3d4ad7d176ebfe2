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

from chasles.absolute.tables import FIELD
from chasles.constrained.alpha_estimate import estimate
from chasles.constrained.alpha_formulas import carry_on, change_step, displace, predict, trial_state
from chasles.constrained.chart import plus
from chasles.constrained.correction import IN_POSITION, IN_VELOCITY, LINEAR, Step, correction
from chasles.constrained.goals import UNKNOWN, set_goals, size_of_correction, size_of_noise
from chasles.constrained.newton import (
    LEAST,
    LEFT,
    SHARPER,
    STUCK,
    TRIES,
    Attempt,
    Limits,
    Outcome,
    add_multipliers,
    iterate,
)
from chasles.constrained.position import correct_position, sweeps_for
from chasles.constrained.scheme import Scheme, StepRule
from chasles.constrained.steps import (
    apply_forces_before,
    elements_at_end,
    fastest_spin,
    finish_step,
    give_up,
    keep_targets,
    power_to_keep,
    predict_angles,
    set_state,
    take_steps,
)
from chasles.constrained.tables import SIZES
from chasles.constrained.velocity import factorize_at_hand, project_velocity
from chasles.constrained.workspace import CARRIED, COUNTS, ITERATIONS, NO_ROW, STATE_VECTOR, workspace_at
from chasles.force.table import ACTED
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.integrate.status import NOT_FINITE, RUNNING
from chasles.kernel.dual_memory import DualRegions
from chasles.kernel.memory import joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference
from chasles.kernel.workspace import fill, layout, load6, store6

if TYPE_CHECKING:
    from chasles.constrained.run import ConstrainedStepper
    from chasles.constrained.start import Start

ROUNDING = 4e-15  # of positions, relative to how far they are from the origin
SHARE = 2.0  # tolerance of one body, the slowest too, for a tolerance of all of them
ATTEMPTS = 3  # to predict a step of given length
TRUSTED = 8.0  # steps for which the convergence of Newton's method is taken to be what it was


# parameters: αm, αf, γ, β, index, whether in local coordinates, tolerance, whether to project velocities, tolerances of
# the error (zero: no estimate)
ALPHA = layout("ALPHA", am=1, af=1, gamma=1, beta=1, index=1, local=1, tolerance=1, project=1, rtol=1, atol=1)
STATE = DualRegions(
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
VECTORS = DualRegions(
    "AlphaVectors",
    x=6 * SIZES.n_bodies,
    star=6 * SIZES.n_bodies,
    rate=6 * SIZES.n_bodies,  # x'
    second=6 * SIZES.n_bodies,  # x''
    trial_v=6 * SIZES.n_bodies,
    trial_rate=6 * SIZES.n_bodies,
    moved=6 * SIZES.n_bodies,  # the change of x* in an iteration
    lam_n=3 * SIZES.n_nodes,  # λ and ζ at the begin of the step
    zeta_n=3 * SIZES.n_row_nodes,
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
def correct(workspace, method, step, iteration, fresh):
    """One correction of x, its derivatives, λ and ζ."""
    regular, x = workspace.tables.gravity[FIELD.regularization], method.x
    trial_state(workspace, method)
    weight = regular if iteration < TRIES else SHARPER * regular
    first = elements_at_end(workspace) if (fresh or weight > 0.0) and workspace.force_tangents.shape[0] > 0 else NO_ROW
    apply_forces_before(workspace, first, step.t + step.h, workspace.trial_q, method.trial_v)
    off, uneven = correction(workspace, method, step, weight, fresh, first)
    power = workspace.acted[ACTED.power]
    (largest, total), noise = size_of_correction(workspace), size_of_noise(workspace, iteration)
    displace(workspace, method, step)
    add_multipliers(workspace, step.s, method.lam)
    if method.solved_index == 2:
        correct_position(workspace, step.sweeps, x, method.zeta)
        largest = max(largest, size_of_correction(workspace)[0])
        noise = max(noise, size_of_noise(workspace, iteration))
        for k in range(0, 6 * workspace.tables.n, 6):
            change = plus(load6(workspace.d, k, 0.0), 1.0, load6(method.moved, k, 0.0))
            store6(x, k, plus(load6(x, k, 0.0), 1.0, change))
    return Attempt(largest, noise, total, off, uneven, power)


@kernel
def solve(workspace, method, step):
    """Newton's method, which trusts that it converges as it did in a step before."""
    set_goals(workspace, step.h, SHARE * method.tolerance, ROUNDING, method.rate_n)
    expected = method.contraction[0] if method.unseen[0] < TRUSTED else UNKNOWN
    tries = ITERATIONS if workspace.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits = Limits(STUCK, LEAST, expected, tries, method.tolerance)
    outcome = iterate(correct, workspace, method, step, limits)
    if outcome.contraction >= 0.0:
        method.contraction[0], method.unseen[0] = outcome.contraction, 0.0
    elif outcome.largest * expected < LEFT:
        method.unseen[0] += 1.0
    return outcome


@kernel
def project(workspace, method):
    """Velocities onto the constraints; returns the work of constraints that depend on time."""
    weights, sweeps, accuracy = workspace.metric, 4, 1e-15
    set_state(workspace, workspace.trial_q, method.trial_v)
    if method.onto:
        weights, sweeps, accuracy = workspace.tables.masses, 2, 0.0
        factorize_at_hand(workspace, weights)
    impulse = project_velocity(workspace, weights, method.trial_v, sweeps, accuracy)
    return impulse if method.onto else 0.0


@kernel
def advance(workspace, method, t, h):
    """One step."""
    am, af, gamma, beta = method.am, method.af, method.gamma, method.beta
    h_before = method.last_step[0]
    if h != h_before:
        change_step(workspace, method, h)
    cm = (1.0 - am) / (1.0 - af)
    sweeps = sweeps_for(abs(h) * fastest_spin(workspace))
    step = Step(*(t, h, beta * h * h, cm, gamma * h, beta * h / gamma, sweeps, method.solved_index, method.form))
    outcome = Outcome(False, 0.0, 0.0, 0.0)
    for attempt in range(1 if method.atol + method.rtol > 0.0 else ATTEMPTS):
        predict(workspace, method, t, h, attempt)
        predict_angles(workspace, t, h, method.angles)
        if workspace.counts[COUNTS.status] == NOT_FINITE:
            workspace.counts[COUNTS.status] = RUNNING
        outcome = solve(workspace, method, step)
        if outcome.converged:
            break
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


@native(vectorized=False)
def generalized_alpha(at, call):
    """Take up to `limit` steps."""
    workspace = workspace_at(at)
    onto = int(call.parameters[ALPHA.index]) == 2 and workspace.tables.gravity[FIELD.regularization] > 0.0
    asked = call.parameters[ALPHA.project] != 0.0 and workspace.tables.nt > 0
    values = alpha_values(call.parameters, onto, asked)
    method = make_method(values, state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, workspace, by_reference(method), call)


@kernel
def alpha_values(p, onto, asked):
    """Numbers of the method, from its parameters."""
    index, local = 3 if onto else int(p[ALPHA.index]), p[ALPHA.local] != 0.0
    form = IN_POSITION if index == 3 and not local else IN_VELOCITY if index == 2 and local else LINEAR
    am, af, light = p[ALPHA.am], p[ALPHA.af], 1.0 / (1.0 - p[ALPHA.am])
    return (
        *(am, af, p[ALPHA.gamma], p[ALPHA.beta], light * (1.0 - af), light * af, light * am),
        *(index, local, form, p[ALPHA.tolerance], onto, asked, p[ALPHA.rtol], p[ALPHA.atol]),
    )


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
        STATE_VECTOR.split(y, begin.structure.packed).v[:] = (v + off - tangent).ravel()
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
        STATE_VECTOR.split(run.state.point, run.packed).v[:] = (on + (h / before) ** 2 * (v - on)).ravel()


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
