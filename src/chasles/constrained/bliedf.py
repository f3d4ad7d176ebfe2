"""BLieDF: BDF in canonical coordinates centered at the new point, stabilized index 2, k = 2 to 5 steps.

With increments x_j (q_{j+1} = q_j exp x_j, newest first: x_0 is the unknown), X_i = log(exp(-x_0) ... exp(-x_{i-1})),

    h V_{n+1} = Σ_{i≥1} α_i X_i + γ_0 W J_nᵀ ζ,     h V'_{n+1} = Σ_{i≥0} α_i V_{n+1-i}

and the equations of motion, g = 0 and J V = 0 at t_{n+1}. "first" logarithms keep the first commutators of the
products, which is enough up to k = 4; γ_j = Σ_{i≤j} α_i:

    h V_{n+1} = Σ_j γ_j x_j - 1/2 Σ_{l≥1} γ_l Σ_{j<l} [x_j, x_l] + γ_0 W J_nᵀ ζ

α_i is h times the derivative at t_{n+1} of the Lagrange polynomial of the point t_{n+1-i}. So all of this holds for
steps of any length (`backward`): X(t) = log(q_{n+1}⁻¹ q(t)) has the derivative V_{n+1} there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.absolute.tables import BODY, FIELD, SE3
from chasles.constrained.backward import GROWTH, MOST, set_coefficients, set_prediction
from chasles.constrained.chart import bracket, move_body, onward, plus
from chasles.constrained.correction import LINEAR, Step, correction
from chasles.constrained.error_estimate import error_size, leave_tangent
from chasles.constrained.goals import UNKNOWN, set_goals, size_of_correction, size_of_noise
from chasles.constrained.newton import (
    LEAST,
    Attempt,
    Limits,
    add_multipliers,
    iterate,
)
from chasles.constrained.position import begin_zeta, correct_position, displacement, keep_rows, sweeps_for
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
    take_steps,
    to_chart,
)
from chasles.constrained.tables import SIZES
from chasles.constrained.workspace import CARRIED, COUNTS, NO_ROW, STATE_VECTOR, workspace_at
from chasles.integrate.constrained_method import BLieDF
from chasles.integrate.status import DONE
from chasles.kernel.algebra import add, neg, scale
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference
from chasles.kernel.workspace import fill, layout, load6, store6
from chasles.lie import quaternion, so3

if TYPE_CHECKING:
    from chasles.constrained.run import ConstrainedStepper
    from chasles.constrained.start import Start

ROUNDING = 4e-15  # of positions, relative to how far they are from the origin
# parameters: steps, whether logarithms are exact, tolerance, tolerances of the error (zero: no estimate); α and γ of
# equal steps
BDF = layout("BDF", steps=1, exact=1, tolerance=1, rtol=1, atol=1, alpha=MOST + 1, gamma=MOST)
STATE = Regions(
    "BackwardState",
    point=STATE_VECTOR.count,
    lam=3 * SIZES.n_nodes,
    zeta=3 * SIZES.n_row_nodes,
    past=6 * MOST * SIZES.n_bodies,  # increments, velocities and works of the past, newest first
    velocities=6 * (MOST + 1) * SIZES.n_bodies,
    works=MOST,
    lengths=MOST,  # of the steps of the past, zero where there is none
    **CARRIED,
)
VECTORS = Regions(
    "BackwardVectors",
    x=6 * SIZES.n_bodies,
    star=6 * SIZES.n_bodies,
    trial_v=6 * SIZES.n_bodies,
    trial_rate=6 * SIZES.n_bodies,
    moved=6 * SIZES.n_bodies,  # the change of x* in an iteration
    nodes=MOST + 2,  # the new point and those of the past, in steps
    alpha=MOST + 1,  # of the step
    gamma=MOST + 1,
    beta=MOST + 2,  # weights of the past in what it would have predicted, the first -1; and their sums
    sums=MOST + 2,
    error_x=6 * SIZES.n_bodies,
    error_v=6 * SIZES.n_bodies,
)
state_of, vectors_of = STATE.views, VECTORS.views
make_method = joined("Backward", "steps exact tolerance rtol atol equal_alpha equal_gamma", STATE, VECTORS)


def parameters_of(method: BLieDF, rtol: float, atol: float) -> np.ndarray:
    alpha = np.zeros(MOST + 1)
    alpha[: method.k + 1] = method.alpha
    gamma = np.cumsum(alpha)[:MOST]
    gamma[method.k :] = 0.0
    form = {"steps": method.k, "exact": method.exact, "alpha": alpha, "gamma": gamma}
    return fill(BDF, tolerance=method.tolerance, rtol=rtol, atol=atol, **form)


@kernel
def first_commutators(on_se3, i, n, method, gamma, points):
    """Σ α_i X_i over points of the past, with γ of α."""
    x, past = method.x, method.past
    here = load6(x, 6 * i, 0.0)
    total = (scale(gamma[0], here[0]), scale(gamma[0], here[1]))
    newer = here  # the sum of all increments newer than x_l
    for m in range(points - 1):
        before = load6(past, 6 * (m * n + i), 0.0)
        total = plus(total, gamma[m + 1], before)
        total = plus(total, -0.5 * gamma[m + 1], bracket(on_se3, newer, before))
        newer = plus(newer, 1.0, before)
    return total


@kernel
def exact_logarithms(on_se3, i, n, method, alpha, points):
    """Σ α_i X_i over points of the past; the products as quaternions and positions, so that small logarithms stay
    accurate."""
    here = load6(method.x, 6 * i, 0.0)
    total = (scale(-alpha[1], here[0]), scale(-alpha[1], here[1]))
    back = neg(here[0])
    unit = quaternion.exp(back)
    place = so3.dexp_apply(back, neg(here[1])) if on_se3 else neg(here[1])
    for m in range(points - 1):
        past = load6(method.past, 6 * (m * n + i), 0.0)
        back = neg(past[0])
        if on_se3:
            place = add(place, quaternion.rotate(unit, so3.dexp_apply(back, neg(past[1]))))
        else:
            place = add(place, neg(past[1]))
        unit = quaternion.keep_unit(quaternion.product(unit, quaternion.exp(back)))
        turn = quaternion.log(unit)
        shift = so3.dexpinv_apply(turn, place) if on_se3 else place
        total = plus(total, alpha[m + 2], (turn, shift))
    return total


@kernel
def combined(workspace, method, i, alpha, gamma, points):
    """Σ α_i X_i of body i; α_0 + ... = 0, and γ are the sums of α."""
    on_se3, n = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3, workspace.tables.n
    if method.exact:
        return exact_logarithms(on_se3, i, n, method, alpha, points)
    return first_commutators(on_se3, i, n, method, gamma, points)


@kernel
def trial_state(workspace, method, h):
    """Poses, velocities and their derivatives from the increment."""
    n, x, star, trial_v, alpha = workspace.tables.n, method.x, method.star, method.trial_v, method.alpha
    for i in range(n):
        on_se3 = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3
        move_body(on_se3, workspace.q, i, load6(x, 6 * i, 0.0), workspace.trial_q)
        store6(trial_v, 6 * i, combined(workspace, method, i, alpha, method.gamma, method.steps))
        for k in range(6 * i, 6 * i + 6):
            trial_v[k] = (trial_v[k] + method.gamma[0] * (star[k] - x[k])) / h
            rate = alpha[0] * trial_v[k]
            for m in range(method.steps):
                rate += alpha[m + 1] * method.velocities[6 * n * m + k]
            method.trial_rate[k] = rate / h


@kernel
def predict(workspace, method, t, h):
    """x* and x from the past, with ζ as it was."""
    n, past, v = workspace.tables.n, method.past, workspace.v
    one, two = method.lengths[0], method.lengths[1]
    equal = one == h and (two == h or method.steps == 2)
    for k in range(6 * n):
        if equal:
            further = (
                2.0 * past[k] - past[6 * n + k]
                if method.steps > 2
                else past[k] + h * (v[k] - method.velocities[6 * n + k])
            )
        else:  # means of the velocity belong to the midst of the steps
            bend = (v[k] - method.velocities[6 * n + k]) / one
            if method.steps > 2:
                bend = 2.0 * (past[k] / one - past[6 * n + k] / two) / (one + two)
            further = h * (past[k] / one + 0.5 * (h + one) * bend)
        method.star[k], method.x[k] = further, further
    keep_rows(workspace, t)
    if workspace.tables.gravity[FIELD.regularization] > 0.0:  # what dependent rows leave open must not add up
        for k in range(3 * workspace.tables.nn):
            method.zeta[k] = 0.0
    begin_zeta(workspace, method.zeta)
    displacement(workspace, method.zeta)
    for k in range(6 * n):
        method.star[k] -= workspace.response[k]


@kernel
def correct(workspace, method, step, iteration, fresh):
    """One correction of x, λ and ζ."""
    n, x, gamma = workspace.tables.n, method.x, method.gamma
    trial_state(workspace, method, step.h)
    power = apply_forces(workspace, step.t + step.h, workspace.trial_q, method.trial_v)
    off, uneven = correction(workspace, method, step, workspace.tables.gravity[FIELD.regularization], fresh, NO_ROW)
    (largest, total), noise = size_of_correction(workspace), size_of_noise(workspace, iteration)
    for i in range(n):
        on_se3, at = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
        e = to_chart(workspace, i, load6(workspace.d, 6 * i, 0.0))
        dx = e
        for m in range(method.steps - 1):
            twist = bracket(on_se3, load6(method.past, 6 * (m * n + i), 0.0), e)
            dx = plus(dx, -0.5 * gamma[m + 1] / gamma[0], twist)
        store6(workspace.displacement, 6 * i, from_chart(workspace, i, onward(on_se3, at, dx)))
        store6(method.moved, 6 * i, dx)
    add_multipliers(workspace, step.s, method.lam)
    correct_position(workspace, step.sweeps, x, method.zeta)
    largest = max(largest, size_of_correction(workspace)[0])
    noise = max(noise, size_of_noise(workspace, iteration))
    for k in range(6 * n):
        x[k] += method.moved[k] + workspace.d[k]
        method.star[k] += method.moved[k]
    return Attempt(largest, noise, total, off, uneven, power)


@kernel
def remember(workspace, method, h):
    """The step goes to the past."""
    n, past, velocities, works = workspace.tables.n, method.past, method.velocities, method.works
    for k in range(6 * n):
        velocities[6 * n * MOST + k] = velocities[6 * n * (MOST - 1) + k]
    for m in range(MOST - 1, 0, -1):
        works[m], method.lengths[m] = works[m - 1], method.lengths[m - 1]
        for k in range(6 * n):
            past[6 * n * m + k] = past[6 * n * (m - 1) + k]
            velocities[6 * n * m + k] = velocities[6 * n * (m - 1) + k]
    for k in range(6 * n):
        past[k], velocities[k] = method.x[k], method.trial_v[k]
    works[0], method.lengths[0] = workspace.work_done[0], h


@kernel
def estimate(workspace, method, h):
    """The error of the step relative to the tolerance, of coordinates and velocities.

    With D the divided difference of order k + 1 of y, over t_{n+1} and k + 1 points of the past, what these predict for
    t_{n+1} is off by y(t_{n+1}) - p = D Π_{1≤i≤k+1} (t_{n+1} - t_{n+1-i}), and the derivative of the polynomial through
    t_{n+1} and k of the past by D Π_{1≤i≤k} (t_{n+1} - t_{n+1-i}). In h y' = Σ α_i y_{n+1-i} the latter makes
    y_{n+1} - y(t_{n+1}) = (y(t_{n+1}) - p)/ν with ν = α_0 (t_{n+1} - t_{n-k})/h. So, as Milne does, to leading order

        y_{n+1} - p = (ν + 1) (y_{n+1} - y(t_{n+1}))

    Coordinates are those around the new point, where it is at zero.
    """
    n, x, v = workspace.tables.n, method.error_x, method.error_v
    set_prediction(method)
    share = 1.0 / (1.0 - method.alpha[0] * method.nodes[method.steps + 1])
    for i in range(n):
        store6(x, 6 * i, combined(workspace, method, i, method.beta, method.sums, method.steps + 1))
    for k in range(6 * n):
        v[k] = method.trial_v[k]
        for m in range(method.steps + 1):
            v[k] -= method.beta[m + 1] * method.velocities[6 * n * m + k]
        x[k], v[k] = share * x[k], share * v[k]
    leave_tangent(workspace, method)
    return error_size(workspace, method, h)


@kernel
def advance(workspace, method, t, h):
    """One step."""
    set_coefficients(method, h)
    predict(workspace, method, t, h)
    predict_angles(workspace, t, h, method.angles)
    kappa = h / method.gamma[0]
    sweeps = sweeps_for(abs(h) * fastest_spin(workspace))
    step = Step(t, h, kappa * kappa, 1.0, kappa, kappa, sweeps, 2, LINEAR)
    set_goals(workspace, h, method.tolerance, ROUNDING, workspace.response[:0])
    outcome = iterate(correct, workspace, method, step, Limits(1e-11, LEAST, UNKNOWN, 0, method.tolerance))
    if not outcome.converged:
        return give_up(workspace, 1)
    keep_targets(workspace, workspace.targets)
    power = outcome.power + power_to_keep(workspace, workspace.plan.nodes, method.lam, workspace.targets)
    trial_state(workspace, method, h)
    if method.atol + method.rtol > 0.0:
        method.errors[0] = estimate(workspace, method, h)
    remember(workspace, method, h)
    work = h * power
    for m in range(method.steps):
        work -= method.alpha[m + 1] * method.works[m]
    finish_step(workspace, work / method.alpha[0] - method.works[0], method.trial_v, method.angles)
    return True


@native(vectorized=False)
def bliedf(at, call):
    """Take up to `limit` steps."""
    workspace, p = workspace_at(at), call.parameters
    values = (
        *(int(p[BDF.steps]), p[BDF.exact] != 0.0, p[BDF.tolerance], p[BDF.rtol], p[BDF.atol]),
        *(p[BDF.alpha : BDF.gamma], p[BDF.gamma :]),
    )
    method = make_method(values, state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, workspace, by_reference(method), call)


def start(begin: Start, method: BLieDF) -> dict[str, Any]:
    velocities = np.zeros((MOST + 1, np.size(begin.v)))
    velocities[0] = np.ravel(begin.v)
    return begin.carried() | {"lam": begin.motion(begin.v)[1], "velocities": velocities}


def take_beside(run: ConstrainedStepper, limit: int) -> int:
    """The first k - 1 steps, and a last one that is shorter, by an explicit method of order 8."""
    plan, k = run.plan, run.method.k
    while limit > 0 and run.steps < min(k - 1, plan.steps):
        points = first_points(run)
        run.set_point(points[run.steps])
        run.save_step()
        limit -= 1
        if run.steps == k - 1:
            fill_past(run, np.array([run.begin, *points[: k - 1]])[::-1])
    regular = plan.steps - (plan.last != plan.step)
    if limit > 0 and run.steps == regular < plan.steps:
        run.set_point(run.exact_points(run.time, [plan.end], run.point())[0])
        run.save_step()
        run.counts[COUNTS.status] = DONE
        return 0
    return min(limit, regular - run.steps)


def first_points(run: ConstrainedStepper) -> np.ndarray:
    """The points of the first k - 1 steps."""
    if run.points_beside is None:
        plan, count = run.plan, min(run.method.k - 1, run.plan.steps)
        times = [plan.end if m == plan.steps else plan.start + m * plan.step for m in range(1, count + 1)]
        run.points_beside = run.exact_points(plan.start, times, run.begin)
    return run.points_beside


def fill_past(run: ConstrainedStepper, points: np.ndarray) -> None:
    """Increments, velocities and works of the first steps, newest first."""
    k, state, n = run.method.k, run.state, run.mechanism.n
    q, v, work = run.problem.split(points)
    for m in range(k - 1):
        state.past.reshape(MOST, n, 6)[m] = run.increment(q[m + 1], q[m])
    state.velocities.reshape(MOST + 1, n, 6)[:k] = v
    state.works[: k - 1], state.lengths[: k - 1] = work[1:], run.plan.step


def first_step(run: ConstrainedStepper, t: float, h: float) -> bool:
    """One of the first k steps of a run whose steps change, by an explicit method of order 8; False if it is none."""
    state, n = run.state, run.mechanism.n
    if np.count_nonzero(state.lengths[: run.method.k]) == run.method.k:
        return False
    before = run.point()
    after = run.exact_points(t, [t + h], before)[0]
    (q, _, work), (new_q, v, _) = run.problem.split(before), run.problem.split(after)
    past, velocities = state.past.reshape(MOST, n, 6), state.velocities.reshape(MOST + 1, n, 6)
    for array, new in ((past, run.increment(q, new_q)), (velocities, v), (state.works, work), (state.lengths, h)):
        array[1:] = array[:-1].copy()
        array[0] = new
    run.set_point(after)
    return True


def step_rule(method: BLieDF) -> StepRule:
    """An error of h^(k+1) a step adds up to h^k at the end, which follows tol if that of a step is tol^((k+1)/k). From
    three steps on the formulas carry errors on for longer: the share is what measured errors call for."""
    k = method.k
    return StepRule(k + 1, 0.85, 0.3, GROWTH[k], keep=(0.97, 1.03), share=0.3 if k == 2 else 0.03, power=(k + 1) / k)


SCHEME = Scheme(
    data=BLieDF,
    loop=bliedf,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: False,
    step_rule=step_rule,
    take_beside=take_beside,
    first_step=first_step,
)
