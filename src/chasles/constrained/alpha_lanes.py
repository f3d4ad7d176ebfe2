"""Generalized alpha with fixed steps for four runs of one structure at once, on lanes.

The formulas are those of single runs. What depends on values is decided lane by lane, as a single run decides it: when
Newton's method ends, and how often positions are corrected. A lane that is done goes on with corrections that are zero.
Where lanes that are not done disagree whether they need new factors, or one of them fails, the step is not taken:
single runs take it (`lane_run`). So a run has the same bits whatever the others are.

For mechanisms without forces, special tiles and equations that depend on each other.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from chasles.absolute.entry import set_clock
from chasles.absolute.factor import factorize
from chasles.absolute.joint_force import silent_angles, silent_rates
from chasles.absolute.kkt import TWIST, assemble, set_motion
from chasles.absolute.tables import HEAD, lane_joints_of, lane_tables_of, work_of
from chasles.constrained.alpha_formulas import carry_on, displace_body, predict, trial_of_body
from chasles.constrained.chart import plus
from chasles.constrained.correction import (
    Step,
    TrialState,
    correction,
    motion_blocks,
    motion_residuals,
    position_residual,
    speed_residual,
)
from chasles.constrained.generalized_alpha import (
    ROUNDING,
    SHARE,
    TRUSTED,
    alpha_values,
    make_method,
    state_of,
    vectors_of,
)
from chasles.constrained.goals import UNKNOWN, set_goals, size_of_correction, size_of_noise
from chasles.constrained.newton import LEAST, LEFT, SLOW, STUCK, add_multipliers
from chasles.constrained.operations import ITERATION, STEP
from chasles.constrained.position import copy_rows, leave_unmeasured, remaining_position, solve_rows
from chasles.constrained.saddle import empty_matrix, factorize_saddle, solve_saddle
from chasles.constrained.steps import count_from, fastest_spin, finish_step, save_point, start_clock
from chasles.constrained.tables import plan_of
from chasles.constrained.velocity_rows import velocity_rows
from chasles.constrained.workspace import (
    COUNTS,
    ITERATIONS,
    LANE_CALL,
    NO_ROW,
    OPERATIONS,
    TIMES,
    lane_workspace_at,
    make_workspace,
    point_of,
    point_size,
    shared_of,
)
from chasles.constraint.rows import evaluate_tile
from chasles.integrate.status import DONE, NO_CONVERGENCE, RUNNING
from chasles.integrate.stopping import lanes_at_rounding, lanes_converged
from chasles.kernel.address import INTEGER, MANY_LANES, NUMBER, address_of, invoke
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.functions import larger
from chasles.kernel.lane_view import as_lanes
from chasles.kernel.lanes import absolute, all_true, lanes_of, select
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.reference import address, by_reference, value_of
from chasles.kernel.workspace import load3, load6, store3, store6

# ---------------------------------------------------------------- operations


@kernel
def evaluate(workspace, q, v):
    """Motion of the bodies, residuals and Jacobians of a state."""
    tables = workspace.tables
    set_motion(tables.bodies, tables.n, q, v, workspace.motion)
    for j in range(tables.nt):
        evaluate_tile(tables.tiles, tables.constants, j, workspace.motion, workspace.rows)


@native(vectorized=False)
def keep_rows_on_lanes(at, t):
    """`position.keep_rows`."""
    workspace = lane_workspace_at(at)
    start_clock(workspace, t)
    evaluate(workspace, workspace.q, workspace.v)
    copy_rows(workspace)
    bodies, tiles, nodes, incidences, slots, column, row, first, operations, _, _, _, n, nt, nn, nm = value_of(
        workspace.tables
    )
    matrix = workspace.row_matrix
    assemble(bodies, tiles, nodes, incidences, slots, workspace.metric, n, nt, nm, workspace.rows, matrix)
    factorize(nn, column, row, first, operations, matrix, workspace.row_factors)


@native(vectorized=False)
def correction_on_lanes(at, x, v, rate, lam, given, iteration):
    """`correction.correction`."""
    workspace, step = lane_workspace_at(at), by_reference(value_of(given))
    size, multipliers = 6 * workspace.tables.n, 3 * workspace.plan.n_nodes
    method = by_reference(
        TrialState(carray(x, (size,)), carray(v, (size,)), carray(rate, (size,)), carray(lam, (multipliers,)))
    )
    evaluate(workspace, workspace.trial_q, method.trial_v)
    rows, index, fresh = workspace.rows, step.solved_index, iteration.fresh
    if fresh:
        empty_matrix(workspace)
        motion_blocks(workspace, method, step)
    motion_residuals(workspace, method, step)
    if index == 2:
        speed_residual(workspace, -step.kappa)
        if fresh:
            velocity_rows(workspace, step.kappa)
    else:
        position_residual(workspace)
    used = workspace.left_rows if index == 2 else rows
    if fresh:
        factorize_saddle(workspace, used, rows)
    solve_saddle(workspace, used, rows, workspace.d)


@native(vectorized=False)
def finish_angles_on_lanes(at, trial_v, angles):
    """`steps.finish_angles_apart`."""
    workspace = lane_workspace_at(at)
    n, count = workspace.tables.n, workspace.integers[HEAD.n_angles]
    v, rates = carray(trial_v, (TWIST * n,)), carray(angles, (count,))
    set_motion(workspace.tables.bodies, n, workspace.trial_q, v, workspace.motion)
    joints = lane_joints_of(workspace.integers, workspace.mechanism)
    silent_angles(joints.joints, joints.joint_numbers, joints.n, workspace.motion, joints.counted)
    silent_rates(joints.joints, joints.joint_numbers, joints.n, workspace.motion, joints.rates)
    for k in range(count):
        workspace.counted_angles[k] = joints.counted[k]
        rates[k] = joints.rates[k]


# ---------------------------------------------------------------- a step


@kernel
def hold(numbers, count, mask):
    """Zeros in the lanes where a mask does not hold."""
    for k in range(count):
        numbers[k] = select(mask, numbers[k], 0.0)


@kernel
def sweeps_in_lanes(turned):
    """`position.sweeps_for` of lanes, as numbers."""
    return select(turned < 0.01, lanes_of(1.0), select(turned < 0.1, lanes_of(2.0), lanes_of(3.0)))


@kernel
def correct(workspace, method, step, sweeps, going, iteration, fresh):
    """`generalized_alpha.correct` in the lanes that are `going`: sizes of the correction, relative to its goal and to
    positions, and the sum of all of it."""
    n, nn = workspace.tables.n, workspace.tables.nn
    for i in range(n):
        trial_of_body(workspace, method, i)
    correction(workspace, method, step, 0.0, fresh, NO_ROW)
    now = going > 0.0
    if not all_true(now):
        hold(workspace.d, 6 * n, now)
        hold(workspace.g, 3 * workspace.plan.n_nodes, now)
    (largest, total), noise = size_of_correction(workspace), size_of_noise(workspace, iteration)
    for i in range(n):
        displace_body(workspace, method, step, i)
    add_multipliers(workspace, step.s, method.lam)
    if method.solved_index == 2:
        remaining_position(workspace)
        for sweep in range(step.sweeps):
            leave_unmeasured(workspace)
            swept = now & (sweeps > float(sweep))
            if not all_true(swept):
                hold(workspace.row_solution, 3 * nn, swept)
            solve_rows(workspace, method.x, method.zeta, sweep + 1 < step.sweeps)
        largest = larger(largest, size_of_correction(workspace)[0])
        noise = larger(noise, size_of_noise(workspace, iteration))
        for k in range(0, 6 * n, 6):
            change = plus(load6(workspace.d, k, 0.0), 1.0, load6(method.moved, k, 0.0))
            store6(method.x, k, plus(load6(method.x, k, 0.0), 1.0, change))
    return largest, noise, total


@kernel
def solve(workspace, method, step, sweeps, tally):
    """`generalized_alpha.solve`; whether all lanes converged, and agreed on new factors where they went on."""
    set_goals(workspace, step.h, SHARE * method.tolerance, ROUNDING, method.rate_n)
    none, one = lanes_of(0.0), lanes_of(1.0)
    expected = select(method.unseen[0] < TRUSTED, method.contraction[0], lanes_of(UNKNOWN))
    going, largest, first, contraction, done, fresh, iterations = one, none, lanes_of(-1.0), none, False, True, none
    for iteration in range(ITERATIONS):
        now, previous = going > 0.0, largest
        size, noise, total = correct(workspace, method, step, sweeps, going, iteration, fresh)
        iterations += going
        if not all_true(absolute(total) < 1e300):
            break
        largest = select(now, size, largest)
        if iteration == 0:
            ended = lanes_converged(size, expected, none, 1.0, LEFT)
        else:
            contraction = select(now, size / previous, contraction)
            if iteration == 1:
                first = select(now, contraction, first)
            ended = lanes_converged(size, contraction, lanes_of(LEAST), 1.0, LEFT)
            if iteration > 1:
                ended = ended | lanes_at_rounding(noise, contraction, STUCK)
        going = select(ended, none, going)
        if all_true(going <= 0.0):
            done = True
            break
        over = going <= 0.0
        fresh = all_true(over | (contraction > SLOW))
        if not fresh and not all_true(over | (contraction <= SLOW)):
            break
    if done:
        seen, unseen = first >= 0.0, method.unseen[0]
        method.contraction[0] = select(seen, first, method.contraction[0])
        method.unseen[0] = select(seen, none, select(largest * expected < LEFT, unseen + 1.0, unseen))
        tally[0] += iterations
        tally[1] = iterations
    return done


@kernel
def predict_angles(workspace, t, h, angles):
    """`steps.predict_angles`, of joints along which nothing acts; the rates are kept among the targets of tiles."""
    for k in range(workspace.integers[HEAD.n_angles]):
        workspace.stage_angles[k] = angles[k]
        angles[k] = workspace.counted_angles[k] + h * angles[k]
    count_from(workspace, angles)
    set_clock(workspace.integers, workspace.row_work, t + h, angles, 0)


@kernel
def advance(workspace, method, t, h, tally):
    """One step; False, and the state as it was, if single runs must take it."""
    turned = sweeps_in_lanes(abs(h) * fastest_spin(workspace))
    sweeps = 1 if all_true(turned < 1.5) else 2 if all_true(turned < 2.5) else 3
    cm, gamma, beta = (1.0 - method.am) / (1.0 - method.af), method.gamma, method.beta
    step = Step(*(t, h, beta * h * h, cm, gamma * h, beta * h / gamma, sweeps, method.solved_index, method.form))
    predict(workspace, method, t, h, 0)
    predict_angles(workspace, t, h, method.angles)
    if not solve(workspace, method, step, turned, tally):
        for k in range(0, 3 * workspace.plan.n_nodes, 3):
            store3(method.lam, k, load3(method.lam_n, k, 0.0))
        for k in range(0, 3 * workspace.tables.nn, 3):
            store3(method.zeta, k, load3(method.zeta_n, k, 0.0))
        for k in range(workspace.integers[HEAD.n_angles]):
            method.angles[k] = workspace.stage_angles[k]
        workspace.counts[COUNTS.status] = NO_CONVERGENCE
        return False
    for i in range(workspace.tables.n):
        trial_of_body(workspace, method, i)
    carry_on(workspace, method)
    finish_step(workspace, 0.5 * h * method.power[0], method.trial_v, method.angles)
    method.power[0] = 0.0
    return True


class Points(NamedTuple):
    """Where `save_point` saves."""

    saved_t: Any
    saved_y: Any
    total: int
    every: int


@native(vectorized=False)
def alpha_on_lanes(call):
    """Take up to `limit` steps of full length."""
    integers, packed, p, times, counts = (
        call.integers,
        call.structure,
        as_lanes(call.mechanism),
        call.times,
        call.counts,
    )
    y, row_work, work = as_lanes(call.state), as_lanes(call.row_work), as_lanes(call.work)
    rows, point = work_of(row_work, integers), y[: point_size(packed)]
    workspace = by_reference(
        make_workspace(
            (
                *(integers, p, lane_tables_of(integers, p), packed, plan_of(packed), counts, times, times),
                *(integers[:0], call.operations, point),
                *(row_work, rows.motion, rows.rows, rows.matrix, rows.factors, rows.x, rows.a, rows.velocity),
                rows.refinement,
            ),
            point_of(point, packed),
            shared_of(work, packed),
        )
    )
    call.operations[OPERATIONS.workspace] = address(workspace)
    method = by_reference(
        make_method(
            alpha_values(call.parameters, False, False),
            state_of(y, packed),
            vectors_of(as_lanes(call.vectors), packed),
        )
    )
    points = by_reference(Points(call.saved_t, as_lanes(call.saved_y), call.total, call.every))
    tally, before = as_lanes(call.tally), flush_denormals()
    counts[COUNTS.status] = RUNNING
    for _ in range(call.limit):
        if not advance(
            workspace, method, times[TIMES.start] + counts[COUNTS.step] * times[TIMES.step], times[TIMES.step], tally
        ):
            break
        counts[COUNTS.step] += 1
        save_point(workspace, points)
        if counts[COUNTS.step] == call.total:
            counts[COUNTS.status] = DONE
            break
    restore_denormals(before)


@cache
def addresses() -> np.ndarray:
    """The table of the operations of a run on lanes."""
    table = np.zeros(OPERATIONS.size, dtype=np.int64)
    kinds = (*[MANY_LANES] * 4, STEP, ITERATION)
    table[OPERATIONS.loop] = address_of(alpha_on_lanes, LANE_CALL)
    table[OPERATIONS.correction] = address_of(correction_on_lanes, INTEGER, *kinds)
    table[OPERATIONS.keep_rows] = address_of(keep_rows_on_lanes, INTEGER, NUMBER)
    table[OPERATIONS.finish_angles] = address_of(finish_angles_on_lanes, INTEGER, MANY_LANES, MANY_LANES)
    return table


@kernel(entry=True)
def run_lanes(address, call):
    """Let runs on lanes go on."""
    invoke(address, by_reference(call))
