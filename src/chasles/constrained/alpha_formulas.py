"""Formulas of generalized alpha: trial state, prediction, what is carried on, displacements (`generalized_alpha`)."""

from __future__ import annotations

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
from chasles.constrained.correction import IN_VELOCITY
from chasles.constrained.position import displacement, keep_rows
from chasles.constrained.steps import from_chart, to_chart
from chasles.kernel.lanes import WIDTH
from chasles.kernel.policy import kernel
from chasles.kernel.rows import load_rows, store_rows
from chasles.kernel.workspace import load6, store6


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
def keep_multipliers(workspace, method, attempt):
    """λ and ζ at the begin of the step: kept in the first attempt, taken again in others."""
    for k in range(3 * workspace.plan.n_nodes):
        if attempt == 0:
            method.lam_n[k] = method.lam[k]
        method.lam[k] = method.lam_n[k]
    for k in range(3 * workspace.tables.nn):
        if attempt == 0:
            method.zeta_n[k] = method.zeta[k]
        method.zeta[k] = method.zeta_n[k]


@kernel
def predict(workspace, method, t, h, attempt):
    """Predicted: x'' and ζ change as in the step before, λ stays. From stiff parts, as rods along their axis, that can
    be far off: then Newton's method is begun again where a stays, and where it vanishes."""
    v, gamma, beta = workspace.v, method.gamma, method.beta
    keep_multipliers(workspace, method, attempt)
    for k in range(6 * workspace.tables.n):
        method.second[k] = method.rate_n[k] + method.growth[k]
        if attempt > 0:
            end = method.a_n[k] if attempt == 1 else 0.0
            rest = method.of_rate * method.rate_n[k] - method.of_before * method.a_n[k]
            method.second[k] = (end - rest) / method.of_second
        end = algorithmic(method, k)
        method.rate[k] = v[k] + h * ((1.0 - gamma) * method.a_n[k] + gamma * end)
        method.star[k] = h * (v[k] + h * ((0.5 - beta) * method.a_n[k] + beta * end))
        method.x[k] = method.star[k]
    if method.solved_index == 2 or method.atol + method.rtol > 0.0:
        keep_rows(workspace, t)
    if method.solved_index == 2:
        for k in range(3 * workspace.tables.nn):
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
    if method.solved_index == 2:
        store6(method.moved, 6 * i, dx)
    else:
        store6(method.x, 6 * i, plus(at, 1.0, dx))
    store6(method.star, 6 * i, plus(load6(method.star, 6 * i, 0.0), 1.0, dx))
    store6(method.rate, 6 * i, plus(load6(method.rate, 6 * i, 0.0), 1.0 / step.kappa, dx))
    store6(method.second, 6 * i, plus(load6(method.second, 6 * i, 0.0), step.cm / step.s, dx))


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
    faster, bend = 1.0 / step.kappa, step.cm / step.s
    for k in range(6 * i, 6 * (i + WIDTH)):
        method.star[k] += method.moved[k]
        method.rate[k] += faster * method.moved[k]
        method.second[k] += bend * method.moved[k]
    if method.solved_index == 3:
        for k in range(6 * i, 6 * (i + WIDTH)):
            method.x[k] += method.moved[k]


@kernel
def displace(workspace, method, step):
    """The displacements of the bodies by the correction d, and the coordinates x*, x', x'' after it; x, too, with index
    3. With index 2 it waits for the correction of positions, and `moved` has what x* changed by."""
    n, i = workspace.tables.n, 0
    while i < n:
        if four_in_space(workspace.tables.bodies, n, i):
            displace_four(workspace, method, step, i)
            i += WIDTH
        else:
            displace_body(workspace, method, step, i)
            i += 1
