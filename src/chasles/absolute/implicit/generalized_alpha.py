"""Generalized alpha on the group: index 3, and the stabilized index 2 of Gear, Gupta and Leimkuhler.

    q_{n+1} = q_n exp(x),   x* = h V + h²(1/2 - β) a + h² β a_{n+1},   x = x* [- W J_nᵀ ζ]
    x' = V + h(1 - γ) a + h γ a_{n+1},   (1 - αm) a_{n+1} + αm a = (1 - αf) x'' + αf V'

Textbook form (bruels2012): V_{n+1} = x', V'_{n+1} = x''. Local form: x, x', x'' are coordinates and their
derivatives in the chart q_n exp(x), so V_{n+1} = dexp_{-x*} x' and V'_{n+1} its derivative, with as many brackets as
order 2 needs, and a is carried to the next chart. With the equations of motion and g = 0 [and J V = 0] at t_{n+1}.
"""

from __future__ import annotations

from numba import carray

from chasles.absolute.implicit.alpha import Alpha, algorithmic, carry_on, change_step, predict, trial_state
from chasles.absolute.implicit.chart import bracket, onward, onward_inverse, plus
from chasles.absolute.implicit.estimate import measure, relative_size, tangent_part
from chasles.absolute.implicit.iterate import (
    KEPT,
    LEFT,
    SHARPER,
    TRIES,
    Attempt,
    Limits,
    add_multipliers,
    iterate,
)
from chasles.absolute.implicit.layout import ITERATIONS, desk_of, vector_of
from chasles.absolute.implicit.loop import (
    TAIL,
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
from chasles.absolute.implicit.newton import IN_POSITION, IN_VELOCITY, LINEAR, Step, correction
from chasles.absolute.implicit.position import correct_position, sweeps_for
from chasles.absolute.implicit.reference import by_reference, value_of
from chasles.absolute.implicit.scale import UNKNOWN, set_goals, size_of_correction, size_of_noise
from chasles.absolute.implicit.velocity import project_velocity
from chasles.absolute.redundant import factorize_rows
from chasles.absolute.tables import BODY, FIELD, HEAD, SE3
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout, load6, store6

ROUNDING = 4e-15  # of positions, relative to how far they are from the origin
SHARE = 2.0  # tolerance of one body, the slowest too, for a tolerance of all of them
TRUSTED = 8.0  # steps for which the convergence of Newton's method is taken to be what it was
# parameters: αm, αf, γ, β, index, whether in local coordinates, tolerance, address of the forces' derivatives,
# whether to project velocities, tolerances of the error (zero: no estimate)
ALPHA = layout(
    "ALPHA", am=1, af=1, gamma=1, beta=1, index=1, local=1, tolerance=1, stiffen=1, project=1, rtol=1, atol=1
)


@kernel
def correct(desk, own, step, iteration, fresh):
    """One correction of x, its derivatives, λ and ζ."""
    regular, x = desk.tables.gravity[FIELD.regularization], own.x
    trial_state(desk, own)
    power = apply_forces(desk, step.t + step.h, desk.new_q, own.new_v)
    set_state(desk, desk.new_q, own.new_v)
    weight = regular if iteration < TRIES else SHARPER * regular
    off, uneven = correction(
        desk, step, own.index, own.form, own.stiffen, x, own.new_v, own.new_rate, own.lam, weight, fresh
    )
    (largest, total), noise = size_of_correction(desk), size_of_noise(desk, iteration)
    for i in range(desk.tables.n):
        on_se3, at = desk.tables.bodies[i * BODY.size + BODY.space] == SE3, load6(x, 6 * i, 0.0)
        change = load6(desk.d, 6 * i, 0.0)
        dx = to_chart(desk, i, change)
        if own.form == IN_VELOCITY:
            dx = plus(dx, -0.5 * step.kappa, bracket(on_se3, load6(own.new_v, 6 * i, 0.0), dx))
            change = from_chart(desk, i, dx)
        if own.index == 3 or own.local:
            dx = onward_inverse(on_se3, at, dx)
        else:
            change = from_chart(desk, i, onward(on_se3, at, dx))
        store6(desk.step, 6 * i, change)
        store6(own.moved, 6 * i, dx)
    add_multipliers(desk, step.s, own.lam)
    if own.index == 2:
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
    tail = own.tail
    set_goals(desk, step.h, SHARE * own.tolerance, ROUNDING, own.rate_n)
    expected = tail[2] if tail[3] < TRUSTED else UNKNOWN
    tries = ITERATIONS if desk.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits = Limits(1e-11, KEPT, expected, tries, own.tolerance)
    outcome = iterate(correct, desk, own, step, limits)
    if outcome.contraction >= 0.0:
        tail[2], tail[3] = outcome.contraction, 0.0
    elif outcome.largest * expected < LEFT:
        tail[3] += 1.0
    return outcome


@kernel
def estimate(desk, own, h, h_before):
    """The error of the step relative to the tolerance, of coordinates and velocities."""
    n, am, af, x, moved = desk.tables.n, own.am, own.af, own.x, own.moved
    for k in range(6 * n):
        x[k] = h * h * (1 / 6 - own.beta - 0.5 * (am - af)) * (algorithmic(own, k) - own.a_n[k])
        bend = 2.0 * (own.second[k] - own.rate_n[k] - own.growth[k]) / (h * (h + h_before))
        moved[k] = h * h * h * (-1 / 12 + (am - af) * (0.5 - af)) * bend
    if not own.local:
        for i in range(n):
            on_se3 = desk.tables.bodies[i * BODY.size + BODY.space] == SE3
            twist = bracket(on_se3, load6(desk.v, 6 * i, 0.0), load6(own.rate_n, 6 * i, 0.0))
            store6(x, 6 * i, plus(load6(x, 6 * i, 0.0), h * h * h / 12, twist))
    if desk.tables.nt > 0:
        tangent_part(desk, x)
        tangent_part(desk, moved)
    measure(desk, desk.new_q, own.new_v)
    size = relative_size(desk, x, False, h, own.rtol, own.atol)
    return max(size, relative_size(desk, moved, True, h, own.rtol, own.atol))


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
    tail, am, af, gamma, beta = own.tail, own.am, own.af, own.gamma, own.beta
    h_before = tail[1]
    if h != h_before:
        change_step(desk, own, h)
    predict(desk, own, t, h)
    predict_angles(desk, t, h, tail)
    cm = (1.0 - am) / (1.0 - af)
    step = Step(t, h, beta * h * h, cm, gamma * h, beta * h / gamma, sweeps_for(abs(h) * fastest_spin(desk)))
    outcome = solve(desk, own, step)
    if not outcome.found:
        return give_up(desk, 1 if own.index == 2 else 0)
    keep_targets(desk, desk.left)
    power = outcome.power + power_to_keep(desk, desk.plan.nodes, own.lam, desk.left)
    trial_state(desk, own)
    if own.atol + own.rtol > 0.0:
        tail[4] = estimate(desk, own, h, h_before)
    carry_on(desk, own)
    impulse = project(desk, own)
    finish_step(desk, impulse + 0.5 * h * (tail[0] + power), own.new_v, tail)
    tail[0] = power
    return True


@native
def generalized_alpha(
    limit, p_at, p_size, e_at, e_size, parameters_at, memory_at, work_at, counts_at, history_at, times_at, total,
    every, saved_t_at, saved_y_at,
):  # fmt: skip
    """Take up to `limit` steps. Memory: the point y, then V', a, λ, ζ, the changes of ζ and x'' in the step before."""
    desk = by_reference(desk_of(p_at, p_size, e_at, e_size, memory_at, work_at, counts_at, history_at, times_at))
    p, n, nn = carray(parameters_at, (ALPHA.size,)), desk.tables.n, desk.tables.nn
    a = desk.y.shape[0]
    b = a + 6 * n
    c = b + 6 * n
    d = c + 3 * desk.plan.n_nodes
    e = d + 3 * nn
    f = e + 3 * nn
    g = f + 6 * n
    memory = carray(memory_at, (g + TAIL + desk.whole[HEAD.n_angles],))
    index, local = int(p[ALPHA.index]), p[ALPHA.local] != 0.0
    onto = index == 2 and desk.tables.gravity[FIELD.regularization] > 0.0
    if onto:
        index = 3
    asked = p[ALPHA.project] != 0.0 and desk.tables.nt > 0
    form = IN_POSITION if index == 3 and not local else IN_VELOCITY if index == 2 and local else LINEAR
    own = Alpha(
        *(p[ALPHA.am], p[ALPHA.af], p[ALPHA.gamma], p[ALPHA.beta], index, local, form, p[ALPHA.tolerance]),
        *(int(p[ALPHA.stiffen]), onto, asked, p[ALPHA.rtol], p[ALPHA.atol]),
        *(memory[a:b], memory[b:c], memory[c:d], memory[d:e], memory[e:f], memory[f:g], memory[g:]),
        *(vector_of(desk, 0), vector_of(desk, 1), vector_of(desk, 2), vector_of(desk, 3)),
        *(vector_of(desk, 4), vector_of(desk, 5), vector_of(desk, 6)),
    )
    take_steps(advance, desk, by_reference(own), limit, total, every, saved_t_at, saved_y_at)
