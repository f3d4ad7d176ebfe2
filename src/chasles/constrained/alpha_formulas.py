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
    scaled,
    store_four,
)
from chasles.constrained.correction import IN_VELOCITY
from chasles.constrained.position import begin_zeta, displacement, keep_rows
from chasles.constrained.steps import from_chart, to_chart
from chasles.kernel.algebra import sub
from chasles.kernel.lanes import WIDTH, all_true
from chasles.kernel.policy import kernel
from chasles.kernel.rows import load_rows, store_rows
from chasles.kernel.workspace import add3, load3, load6, store3, store6


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


# Loops over bodies and nodes, not over numbers: the compiler would look, for each pair of arrays, whether they overlap.


@kernel
def algorithmic(method, second, rate, a):
    """a_{n+1} of a body from x''."""
    return plus(plus(scaled(method.of_second, second), method.of_rate, rate), -method.of_before, a)


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
    for k in range(0, 3 * workspace.plan.n_nodes, 3):
        if attempt == 0:
            store3(method.lam_n, k, load3(method.lam, k, 0.0))
        else:
            store3(method.lam, k, load3(method.lam_n, k, 0.0))
    for k in range(0, 3 * workspace.tables.nn, 3):
        if attempt == 0:
            store3(method.zeta_n, k, load3(method.zeta, k, 0.0))
        else:
            store3(method.zeta, k, load3(method.zeta_n, k, 0.0))


@kernel
def predict(workspace, method, t, h, attempt):
    """Predicted: x'' and ζ change as in the step before, λ stays. From stiff parts, as rods along their axis, that can
    be far off: then Newton's method is begun again where a stays, and where it vanishes."""
    gamma, beta = method.gamma, method.beta
    keep_multipliers(workspace, method, attempt)
    for k in range(0, 6 * workspace.tables.n, 6):
        v, a, rate = load6(workspace.v, k, 0.0), load6(method.a_n, k, 0.0), load6(method.rate_n, k, 0.0)
        second = plus(rate, 1.0, load6(method.growth, k, 0.0))
        if attempt > 0:
            rest = algorithmic(method, scaled(0.0, rate), rate, a)
            second = scaled(1.0 / method.of_second, minus(scaled(1.0 if attempt == 1 else 0.0, a), rest))
        end = algorithmic(method, second, rate, a)
        star = scaled(h, plus(v, h, plus(scaled(0.5 - beta, a), beta, end)))
        store6(method.second, k, second)
        store6(method.rate, k, plus(v, h, plus(scaled(1.0 - gamma, a), gamma, end)))
        store6(method.star, k, star)
        store6(method.x, k, star)
    if method.solved_index == 2 or method.atol + method.rtol > 0.0:
        keep_rows(workspace, t)
    if method.solved_index == 2:
        for k in range(0, 3 * workspace.tables.nn, 3):
            add3(method.zeta, k, load3(method.drift, k, 0.0))
        begin_zeta(workspace, method.zeta)
        displacement(workspace, method.zeta)
        for k in range(0, 6 * workspace.tables.n, 6):
            store6(method.x, k, plus(load6(method.x, k, 0.0), 1.0, load6(workspace.response, k, 0.0)))
    if all_true(
        workspace.tables.gravity[FIELD.regularization] > 0.0
    ):  # what dependent rows leave open must not be carried on
        for k in range(3 * workspace.plan.n_nodes):
            method.lam[k] = 0.0


@kernel
def carry_on(workspace, method):
    """V', a and what the next step is predicted with."""
    for i in range(workspace.tables.n):
        on_se3 = workspace.tables.bodies[i * BODY.size + BODY.space] == SE3
        second, rate = load6(method.second, 6 * i, 0.0), load6(method.rate_n, 6 * i, 0.0)
        end, after = (
            algorithmic(method, second, rate, load6(method.a_n, 6 * i, 0.0)),
            load6(method.trial_rate, 6 * i, 0.0),
        )
        if method.local:
            end = plus(after, 1.0, lift(on_se3, load6(method.star, 6 * i, 0.0), minus(end, second)))
        store6(method.growth, 6 * i, minus(second, rate))
        store6(method.a_n, 6 * i, end)
        store6(method.rate_n, 6 * i, after)
    if method.solved_index == 2:
        for k in range(0, 3 * workspace.tables.nn, 3):
            store3(method.drift, k, sub(load3(method.zeta, k, 0.0), load3(method.zeta_n, k, 0.0)))


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
