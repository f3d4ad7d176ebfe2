"""Radau IIA of order 5 on the group: three stages of index 2 in Munthe-Kaas form, for stiff systems and long steps.

In the coordinates X of q = q_n exp(X) the equations are those of a vector space, X' = dexpinv_{-X} V, V' = a. With the
matrix A and the nodes c of the method, the stages i = 1, 2, 3 are

    X_i = h Σ A_ij dexpinv_{-X_j} V_j,   V_i = V_n + h Σ A_ij a_j
    M a_i + J(Q_i)ᵀ Λ_i = F(Q_i, V_i, t_n + c_i h),   J(Q_i) V_i = target,   Q_i = q_n exp X_i

and the last one is the end of the step. Positions drift by O(h⁶) a step, so each ends with a projection. Order 5 of
positions and velocities, 3 of the multipliers (hairer1996, chapter VII.4).

The stages are solved one after the other, in sweeps (vanderhouwen1997): Newton's matrix has T instead of A, A = T U,
with T lower triangular and U upper triangular with ones on its diagonal. What is infinitely stiff is then right after
three sweeps, since I - T⁻¹ A = I - U has only zeros on and below its diagonal; what is not stiff converges the faster
the shorter the step is. In a sweep stage i begins at what the other stages say; open are ΔX_i = κ ΔV_i and
ΔV_i = κ Δa_i with κ = h T_ii, which are the equations of `correction`.

The error is that of an embedded formula of order 3, made smooth by the matrix of the last stage (`embedded`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.absolute.entry import set_clock
from chasles.absolute.tables import BODY, FIELD, HEAD, SE3
from chasles.constrained.chart import minus, onward_inverse, plus
from chasles.constrained.correction import LINEAR, Step, correction
from chasles.constrained.error_estimate import error_size, leave_tangent
from chasles.constrained.goals import GOAL, UNKNOWN, set_goals, size_of_correction, size_of_noise
from chasles.constrained.newton import SHARPER, TRIES, Attempt, Limits, add_multipliers, iterate
from chasles.constrained.position import keep_rows
from chasles.constrained.scheme import Scheme, StepRule
from chasles.constrained.steps import (
    apply_forces,
    count_from,
    finish_step,
    give_up,
    keep_targets,
    move_bodies,
    power_to_keep,
    predict_angles,
    project_state,
    take_steps,
    to_chart,
)
from chasles.constrained.tables import SIZES
from chasles.constrained.workspace import CARRIED, COUNTS, NO_ROW, STATE_VECTOR, workspace_at
from chasles.integrate.constrained_method import RadauIIA
from chasles.kernel.algebra import dot
from chasles.kernel.lanes import sqrt
from chasles.kernel.memory import Regions, joined
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import by_reference
from chasles.kernel.workspace import fill, layout, load6, store6

if TYPE_CHECKING:
    from chasles.constrained.start import Start

STAGES = 3
ROUNDING = 4e-15  # of positions, relative to how far they are from the origin
FAR = 0.1  # [rad], and of a body's length: forces are taken to be linear in displacements up to this
# parameters: tolerance, tolerances of the error (zero: no estimate); A and T by rows, nodes, how the stages of a step
# continue those of an equal step before, how a polynomial through the stages goes on backward to the begin
RADAU = layout("RADAU", tolerance=1, rtol=1, atol=1, a=9, t=9, nodes=3, onward=9, backward=3)
STATE = Regions(
    "RadauState",
    point=STATE_VECTOR.count,
    lam=3 * SIZES.n_nodes,  # of the stage at hand, after a step that of its end
    rates=6 * STAGES * SIZES.n_bodies,  # a of all stages
    **CARRIED,
)
VECTORS = Regions(
    "RadauVectors",
    x=6 * SIZES.n_bodies,  # X, V and a of the stage at hand
    trial_v=6 * SIZES.n_bodies,
    trial_rate=6 * SIZES.n_bodies,
    ways=6 * STAGES * SIZES.n_bodies,  # X of all stages
    slopes=6 * STAGES * SIZES.n_bodies,  # dexpinv_{-X} V of all stages
    old_slopes=6 * STAGES * SIZES.n_bodies,  # before the sweep
    old_rates=6 * STAGES * SIZES.n_bodies,
    multipliers=3 * STAGES * SIZES.n_nodes,
    powers=STAGES,
    first_rate=6 * SIZES.n_bodies,  # a at the begin of the step
    error_x=6 * SIZES.n_bodies,
    error_v=6 * SIZES.n_bodies,
    end_v=6 * SIZES.n_bodies,  # V of the last stage
)
state_of, vectors_of = STATE.views, VECTORS.views
make_method = joined("Radau", "tolerance rtol atol a t nodes onward backward", STATE, VECTORS)


class Sweep(NamedTuple):
    """A step, and whether not its stages but its errors are solved for."""

    t: float
    h: float
    smoothing: bool


@kernel
def set_stage_time(workspace, method, t, h, i):
    """Clock, and counted angles, of a stage."""
    turns, angles = workspace.counted_angles, workspace.stage_angles
    for k in range(workspace.integers[HEAD.n_angles]):
        angles[k] = turns[k] + method.nodes[i] * (method.angles[k] - turns[k])
    count_from(workspace, angles)
    set_clock(workspace.integers, workspace.row_work, t + method.nodes[i] * h, angles, 0)


@kernel
def onward_of(method, ratio, i):
    """Weights of the stages of the step before in stage i of a step that is `ratio` times as long."""
    if ratio == 1.0:
        return method.onward[STAGES * i], method.onward[STAGES * i + 1], method.onward[STAGES * i + 2]
    a, b, c, at = method.nodes[0], method.nodes[1], method.nodes[2], 1.0 + ratio * method.nodes[i]
    return (
        (at - b) * (at - c) / ((a - b) * (a - c)),
        (at - a) * (at - c) / ((b - a) * (b - c)),
        (at - a) * (at - b) / ((c - a) * (c - b)),
    )


@kernel
def predict(workspace, method, h):
    """Stages as the polynomial of the step before goes on; its first ones are equal. Λ stays."""
    n, size = workspace.tables.n, 6 * workspace.tables.n
    ratio = h / method.last_step[0] if method.atol + method.rtol > 0.0 else 1.0
    w = onward_of(method, ratio, 0), onward_of(method, ratio, 1), onward_of(method, ratio, 2)
    for k in range(size):
        one, two, three = method.rates[k], method.rates[size + k], method.rates[2 * size + k]
        method.first_rate[k] = three
        for i in range(STAGES):
            method.rates[size * i + k] = w[i][0] * one + w[i][1] * two + w[i][2] * three
    for i in range(STAGES):
        for k in range(size):
            fast = 0.0
            for j in range(STAGES):
                fast += method.a[STAGES * i + j] * method.rates[size * j + k]
            method.trial_v[k] = workspace.v[k] + h * fast
            method.x[k] = method.nodes[i] * h * (workspace.v[k] + 0.5 * h * fast)
            method.ways[size * i + k] = method.x[k]
        for body in range(n):
            keep_slope(workspace, method, i, body)
        for k in range(3 * workspace.plan.n_nodes):
            method.multipliers[3 * workspace.plan.n_nodes * i + k] = method.lam[k]


@kernel
def keep_slope(workspace, method, i, body):
    """dexpinv_{-X} V of a body at the stage at hand."""
    on_se3, at = workspace.tables.bodies[body * BODY.size + BODY.space] == SE3, 6 * body
    slope = onward_inverse(on_se3, load6(method.x, at, 0.0), load6(method.trial_v, at, 0.0))
    store6(method.slopes, 6 * workspace.tables.n * i + at, slope)


@kernel
def begin_stage(workspace, method, h, i):
    """X, V and a of stage i as the other stages say, with its own a of the sweep before."""
    size, kappa = 6 * workspace.tables.n, h * method.t[(STAGES + 1) * i]
    for k in range(size):
        far, fast = 0.0, 0.0
        for j in range(STAGES):
            a, t = method.a[STAGES * i + j], method.t[STAGES * i + j]
            far += a * method.old_slopes[size * j + k]
            fast += a * method.old_rates[size * j + k]
            if j < i:
                far += t * (method.slopes[size * j + k] - method.old_slopes[size * j + k])
                fast += t * (method.rates[size * j + k] - method.old_rates[size * j + k])
        method.x[k], method.trial_v[k] = h * far, workspace.v[k] + h * fast
        method.trial_rate[k] = method.rates[size * i + k]
    for body in range(workspace.tables.n):
        on_se3, at = workspace.tables.bodies[body * BODY.size + BODY.space] == SE3, 6 * body
        x = load6(method.x, at, 0.0)
        slope = onward_inverse(on_se3, x, load6(method.trial_v, at, 0.0))
        store6(method.x, at, plus(x, kappa, minus(slope, load6(method.old_slopes, size * i + at, 0.0))))
    nodes = 3 * workspace.plan.n_nodes
    for k in range(nodes):
        method.lam[k] = method.multipliers[nodes * i + k]


@kernel
def end_stage(workspace, method, kappa, i):
    """The correction d = κ ΔV, and what the stage has now; d becomes the change of X."""
    size, nodes = 6 * workspace.tables.n, 3 * workspace.plan.n_nodes
    for body in range(workspace.tables.n):
        on_se3, at = workspace.tables.bodies[body * BODY.size + BODY.space] == SE3, 6 * body
        change, x = to_chart(workspace, body, load6(workspace.d, at, 0.0)), load6(method.x, at, 0.0)
        store6(method.x, at, plus(x, 1.0, onward_inverse(on_se3, x, change)))
        store6(method.trial_v, at, plus(load6(method.trial_v, at, 0.0), 1.0 / kappa, change))
        rate = plus(load6(method.trial_rate, at, 0.0), 1.0 / (kappa * kappa), change)
        store6(method.rates, size * i + at, rate)
        keep_slope(workspace, method, i, body)
    for k in range(size):
        workspace.d[k] = method.x[k] - method.ways[size * i + k]
        method.ways[size * i + k] = method.x[k]
    add_multipliers(workspace, kappa * kappa, method.lam)
    for k in range(nodes):
        method.multipliers[nodes * i + k] = method.lam[k]


@kernel
def displace(workspace, method, kappa):
    """The last stage moved by errors e, to X + e_X + κ e_V and V + e_V; if they are large, by the part it returns."""
    size, far = 6 * workspace.tables.n, 0.0
    last = (STAGES - 1) * size
    for body in range(workspace.tables.n):
        shift = plus(load6(method.error_x, 6 * body, 0.0), kappa, load6(method.error_v, 6 * body, 0.0))
        moved = workspace.goals[GOAL.size * body + GOAL.inverse] * dot(shift[1], shift[1])
        far = max(far, max(dot(shift[0], shift[0]), moved))
    near = min(1.0, FAR / sqrt(far)) if far > 0.0 else 1.0
    for k in range(size):
        method.x[k] = method.ways[last + k] + near * (method.error_x[k] + kappa * method.error_v[k])
        method.trial_v[k] = method.end_v[k] + near * method.error_v[k]
        method.trial_rate[k] = method.rates[last + k]
    return near


@kernel
def smooth(workspace, method, kappa, near):
    """Errors e to those that solve E_X - κ E_V = e_X, E_V - κ a'(E) = e_V with J E_V = 0: where `displace` put the last
    stage, `correction` found d = κ² a'(E)."""
    for body in range(workspace.tables.n):
        change, at = to_chart(workspace, body, load6(workspace.d, 6 * body, 0.0)), 6 * body
        shift = plus(load6(method.error_x, at, 0.0), kappa, load6(method.error_v, at, 0.0))
        store6(method.error_x, at, plus(shift, 1.0 / near, change))
        store6(method.error_v, at, plus(load6(method.error_v, at, 0.0), 1.0 / (near * kappa), change))
    last = 6 * (STAGES - 1) * workspace.tables.n
    for k in range(6 * workspace.tables.n):
        method.x[k], method.trial_v[k] = method.ways[last + k], method.end_v[k]


@kernel
def correct(workspace, method, step, iteration, fresh):
    """One sweep over the stages; or, of errors, the last one alone with the factors at hand (`smooth`)."""
    regular, t, h = workspace.tables.gravity[FIELD.regularization], step.t, step.h
    weight = regular if iteration < TRIES else SHARPER * regular
    largest, noise, total, off, uneven, near = 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    if not step.smoothing:
        for k in range(6 * STAGES * workspace.tables.n):
            method.old_slopes[k], method.old_rates[k] = method.slopes[k], method.rates[k]
    for i in range(STAGES - 1 if step.smoothing else 0, STAGES):
        kappa, now = h * method.t[(STAGES + 1) * i], t + method.nodes[i] * h
        if step.smoothing:
            near = displace(workspace, method, kappa)
        else:
            begin_stage(workspace, method, h, i)
        move_bodies(workspace, method.x)
        set_stage_time(workspace, method, t, h, i)
        power = apply_forces(workspace, now, workspace.trial_q, method.trial_v)
        solved = Step(*(now - h, h, kappa * kappa, 1.0, kappa, kappa, 0, 2, LINEAR))
        residual, beside = correction(workspace, method, solved, weight, not step.smoothing, NO_ROW)
        if step.smoothing:
            smooth(workspace, method, kappa, near)
            break
        keep_targets(workspace, workspace.targets)
        method.powers[i] = power + power_to_keep(workspace, workspace.plan.nodes, method.lam, workspace.targets)
        end_stage(workspace, method, kappa, i)
        size, sum_of_all = size_of_correction(workspace)
        largest, total = max(largest, size), total + sum_of_all
        noise = max(noise, size_of_noise(workspace, iteration))
        off, uneven = max(off, residual), max(uneven, beside)
    workspace.counts[COUNTS.evaluations] += 0 if step.smoothing else STAGES - 1  # the sweep itself counts for one
    return Attempt(largest, noise, total, off, uneven, 0.0)


@kernel
def embedded(workspace, method, h):
    """The error of coordinates and velocities, not yet smoothed, as hairer1996, section IV.8, has it.

    The embedded formula has the weight γ of the begin of the step and is of order 3, so that with the polynomial p
    through the derivatives of the stages it differs from the step by γ h (y'_n - p(t_n)); γ = T_33. Solving with
    I - γ h f' (`smooth`) keeps it small for what is infinitely stiff.
    """
    size, gamma = 6 * workspace.tables.n, method.t[STAGES * STAGES - 1]
    for k in range(size):
        slope, rate = 0.0, 0.0
        for i in range(STAGES):
            slope += method.backward[i] * method.slopes[size * i + k]
            rate += method.backward[i] * method.rates[size * i + k]
        method.error_x[k] = gamma * h * (workspace.v[k] - slope)
        method.error_v[k] = gamma * h * (method.first_rate[k] - rate)
        method.end_v[k] = method.trial_v[k]
    leave_tangent(workspace, method)


@kernel
def solve(workspace, method, t, h, controlled):
    """The stages, and if steps are controlled the errors: one loop for both, to compile it once."""
    tries = TRIES if workspace.tables.gravity[FIELD.regularization] > 0.0 else 0
    limits, converged = Limits(1e-11, 0.0, UNKNOWN, tries, method.tolerance), True
    for smoothing in range(2 if controlled else 1):
        if smoothing == 1:
            embedded(workspace, method, h)
        converged = converged and iterate(correct, workspace, method, Sweep(t, h, smoothing == 1), limits).converged
    return converged


@kernel
def advance(workspace, method, t, h):
    """One step."""
    last = 6 * (STAGES - 1) * workspace.tables.n
    controlled = method.atol + method.rtol > 0.0
    set_goals(workspace, h, method.tolerance, ROUNDING, method.rates[last:])
    if controlled:
        keep_rows(workspace, t)
    predict_angles(workspace, t, h, method.angles)
    predict(workspace, method, h)
    if not solve(workspace, method, t, h, controlled):
        return give_up(workspace, 1)
    move_bodies(workspace, method.x)
    if controlled:
        method.errors[0] = error_size(workspace, method, h)
    if workspace.tables.nt > 0:
        project_state(workspace, method.trial_v)
    work = 0.0
    for i in range(STAGES):
        work += h * method.a[STAGES * (STAGES - 1) + i] * method.powers[i]
    finish_step(workspace, work, method.trial_v, method.angles)
    method.last_step[0] = h
    return True


@native(vectorized=False)
def radau(at, call):
    """Take up to `limit` steps."""
    workspace, p = workspace_at(at), call.parameters
    values = (
        *(p[RADAU.tolerance], p[RADAU.rtol], p[RADAU.atol], p[RADAU.a : RADAU.t], p[RADAU.t : RADAU.nodes]),
        *(p[RADAU.nodes : RADAU.onward], p[RADAU.onward : RADAU.backward], p[RADAU.backward :]),
    )
    method = make_method(values, state_of(call.state, call.structure), vectors_of(call.vectors, call.structure))
    take_steps(advance, workspace, by_reference(method), call)


def collocation(nodes: np.ndarray) -> np.ndarray:
    """A of the collocation method with these nodes: integrals of the Lagrange polynomials up to each."""
    powers = np.arange(1, len(nodes) + 1)
    return (nodes[:, None] ** powers / powers) @ np.linalg.inv(nodes[:, None] ** (powers - 1))


def lower_factor(a: np.ndarray) -> np.ndarray:
    """T of A = T U, U one on its diagonal (Crout)."""
    t, left = np.zeros_like(a), a.copy()
    for k in range(len(a)):
        t[k:, k] = left[k:, k]
        left -= np.outer(t[:, k], left[k] / left[k, k])
    return t


def parameters_of(method: RadauIIA, rtol: float, atol: float) -> np.ndarray:
    nodes = np.array([(4 - 6**0.5) / 10, (4 + 6**0.5) / 10, 1.0])
    powers = np.arange(STAGES)
    a, through = collocation(nodes), np.linalg.inv(nodes[:, None] ** powers)
    onward = (1.0 + nodes[:, None]) ** powers @ through
    table = {"a": a, "t": lower_factor(a), "nodes": nodes, "onward": onward, "backward": through[0]}
    return fill(RADAU, tolerance=method.tolerance, rtol=rtol, atol=atol, **table)


def start(begin: Start, method: RadauIIA) -> dict[str, Any]:
    rates, multipliers = begin.motion(begin.v)
    return begin.carried() | {"lam": multipliers, "rates": np.tile(np.ravel(rates), STAGES)}


def step_rule(method: RadauIIA) -> StepRule:
    """The estimate grows with h⁴ and the error at the end with h⁵: so tol^(4/5) of the one makes the other follow tol.
    Limits of the change, and what is kept, are those of RADAU5 (hairer1996, section IV.8); the share is what measured
    errors call for."""
    return StepRule(4, 0.9, 0.2, 8.0, keep=(1.0, 1.2), share=0.1, power=4 / 5)


SCHEME = Scheme(
    data=RadauIIA,
    loop=radau,
    state=STATE,
    vectors=VECTORS,
    parameters=parameters_of,
    start=start,
    positions_alone=lambda method: False,
    step_rule=step_rule,
)
