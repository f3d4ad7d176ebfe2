"""What loops and Python call: accelerations, projections and rows of a packed closed mechanism."""

from __future__ import annotations

import functools

import numpy as np

from chasles.constraint.projection import (
    SPEED_ROUNDING,
    SPEED_SWEEPS,
    goes_on,
    is_poor,
    is_slow,
    is_stuck,
    is_torn,
    worse,
)
from chasles.constraint.rows import MOTION, ROWS
from chasles.constraint.special import evaluate_rate
from chasles.force.table import FORCES
from chasles.kernel.address import INTEGER, INTEGERS, NUMBER, NUMBERS, address_of, invoke
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.lanes import absolute, maximum, primal
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.relative.forward import LIMB
from chasles.relative.kinematics import STATE, move_links
from chasles.relative.loop import steps
from chasles.relative.loop.rows import push, size_of_row, speed_of, target_of, times_accelerations, value_of
from chasles.relative.loop.steps import retract, row_of_jacobian
from chasles.relative.loop.tables import GROUP, HEAD, ROW, loop_work_of, loop_work_size, part
from chasles.relative.loop.triangle import solve
from chasles.relative.tables import GRAVITY


@kernel
def farthest(states, levers, links):
    """How far links are from the origin, or large [m]."""
    far = 0.0
    for i in range(1, links + 1):
        for k in range(3):
            far = maximum(far, absolute(primal(states[i * STATE.size + STATE.position + k])))
    for k in range(levers.shape[0]):
        far = maximum(far, primal(levers[k]))
    return far


@kernel
def largest_residual(tiles, groups, equations, rows, m, far):
    """Largest residual, and the largest relative to what it is the difference of; NaN stays NaN."""
    worst, share = 0.0, 0.0
    for r in range(m):
        off = abs(primal(value_of(groups, equations, rows, r, ROWS.residual)))
        if off != 0.0:
            total = size_of_row(tiles, groups, equations, rows, r, 1.0, far)
            worst, share = worse(off, total, worst, share)
    return worst, share


@kernel
def fastest(motion, far):
    """The largest angular velocity of links that rows hold, and the largest velocity, of the origin or of a point that
    turns with a link."""
    spin, fast = 0.0, 0.0
    for k in range(motion.shape[0] // MOTION.size):
        for j in range(3):
            spin = maximum(spin, absolute(primal(motion[k * MOTION.size + MOTION.spin + j])))
            fast = maximum(fast, absolute(primal(motion[k * MOTION.size + MOTION.velocity + j])))
    return maximum(spin, fast / far), maximum(fast, spin * far)


@native
def accelerations(integers_at, p_at, p_size, t, q_at, v_at, tau_at, wrenches_at, work_at, a_at):
    """Accelerations a of the joints under generalized forces and wrenches on the links: M a + Jᵀ λ = f, J a = c.

    The multipliers λ stay in the workspace, the rank in its report. If fewer rows are independent than must be, a is
    NaN: what follows would be decided by rounding.
    """
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    work = carray(work_at, (loop_work_size(integers),))
    limbs, _, motion, rows, F, scales, order, x, _, _, change, _, _, _, report = loop_work_of(work, integers)
    nv, m, nt = integers[HEAD.n_v], integers[HEAD.n_rows], integers[HEAD.n_tiles]
    q, v, tau = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (nv,)), carray(tau_at, (nv,))
    wrenches, a = carray(wrenches_at, (6 * integers[HEAD.n_links],)), carray(a_at, (nv,))
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, touched = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.touched)
    numbers, constants = part(p, integers, HEAD.numbers), part(p, integers, HEAD.constants)
    alpha, beta = p[integers[HEAD.feedback]], p[integers[HEAD.feedback] + 1]
    invoke(integers[HEAD.articulate], integers, p, p_size, q, v, tau, wrenches, work, a)
    invoke(integers[HEAD.evaluate], integers, p, p_size, t, q, v, work)
    for j in range(nt):
        evaluate_rate(tiles, constants, j, motion, rows)
    # the tree is computed in a frame that falls with gravity
    fall = (numbers[GRAVITY.vector], numbers[GRAVITY.vector + 1], numbers[GRAVITY.vector + 2])
    found = limbs[LIMB.motion :]
    for r in range(m):
        x[r] = times_accelerations(tiles, groups, equations, touched, rows, r, motion, found, LIMB.size, fall)
        x[r] -= value_of(groups, equations, rows, r, ROWS.rate)
        if alpha != 0.0:
            x[r] += 2.0 * alpha * speed_of(tiles, groups, equations, constants, rows, r, motion)
        if beta != 0.0:
            x[r] += beta * beta * value_of(groups, equations, rows, r, ROWS.residual)
    # of dependent rows, those that the last projection chose: a step that goes off the constraints by its error sees
    # rows that are not quite dependent, and other rows would be other equations
    free = 1 if integers[HEAD.rank] < 0 or integers[HEAD.rank] == m else 0
    invoke(integers[HEAD.factor], integers, p, p_size, integers[HEAD.rank], free, work)
    if report[0] < 0.0 and free == 0:
        invoke(integers[HEAD.factor], integers, p, p_size, integers[HEAD.rank], 1, work)
    rank = int(primal(report[0]))
    if rank < 0:
        for k in range(nv):
            a[k] = np.nan
        return
    solve(F, scales, order, rank, m, nv, x)
    invoke(integers[HEAD.respond], integers, p, p_size, -1.0, work)
    for k in range(nv):
        a[k] += change[k]


@native
def derivative(t, integers_at, p_at, p_size, y_at, work_at, out_at):
    """(v, a, power) of a state y = (q, v, work) under the system's forces and the control."""
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    nq, nv, work = integers[HEAD.n_q], integers[HEAD.n_v], carray(work_at, (loop_work_size(integers),))
    y, out = carray(y_at, (nq + nv,)), carray(out_at, (2 * nv + 1,))
    q, v = y[:nq], y[nq:]
    _, states, motion, rows, _, _, _, x, _, wrenches, _, tau, _, scratch, report = loop_work_of(work, integers)
    control, table = part(p, integers, HEAD.control), part(integers, integers, HEAD.table)
    power = 0.0
    for k in range(nv):
        tau[k] = control[k]
        power += control[k] * v[k]
        out[k] = v[k]
    if table[FORCES.count] + table[FORCES.passive] != 0:
        topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
        values, sizes = part(p, integers, HEAD.values), part(integers, integers, HEAD.sizes)
        invoke(
            *(integers[HEAD.act], t, topology, numbers, table, values, q, v),
            *(tau, wrenches, states, scratch, report, sizes),
        )
        power += report[0]
    else:
        for k in range(6 * integers[HEAD.n_links]):
            wrenches[k] = 0.0
    before = flush_denormals()
    invoke(integers[HEAD.accelerations], integers, p, p_size, t, q, v, tau, wrenches, work, out[nv : 2 * nv])
    restore_denormals(before)
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, constants = part(integers, integers, HEAD.rows), part(p, integers, HEAD.constants)
    for r in range(integers[HEAD.n_rows]):  # constraints that move do work: -λ·(J V), with what they ask of J V
        power -= x[r] * target_of(tiles, groups, equations, constants, rows, r, motion)
    out[2 * nv] = power


@kernel(allocates=True)
def has_factor(integers, p, q, still, tau, wrenches, work, change, found):
    """Factorize the rows that are there; False if too few of them are independent."""
    p_size = p.shape[0]
    invoke(integers[HEAD.articulate], integers, p, p_size, q, still, tau, wrenches, work, change)
    invoke(integers[HEAD.factor], integers, p, p_size, integers[HEAD.rank], 1, work)
    return found[0] >= 0.0


@kernel(allocates=True)
def give_up(v, report, off, sweeps):
    for k in range(v.shape[0]):
        v[k] = np.nan
    report[1], report[2], report[3] = off, np.nan, float(sweeps)


@kernel(allocates=True)
def onto_rows(integers, p, t, q, v, work, report, more):
    """Bring a state back onto the constraints, mass-orthogonally: positions first, then velocities.

    Both are iterated to rounding with one factor, unless that converges slowly, and positions then `more` times: so
    often that derivatives are there too. report: the largest residual before and after, the largest |J v - target|
    after, sweeps. With too few independent rows, and where there are no positions nearby, v becomes NaN.
    """
    _, states, motion, rows, F, scales, order, x, _, wrenches, change, tau, still, _, found = loop_work_of(
        work, integers
    )
    nv, m, links = integers[HEAD.n_v], integers[HEAD.n_rows], integers[HEAD.n_links]
    p_size = p.shape[0]
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, constants = part(integers, integers, HEAD.rows), part(p, integers, HEAD.constants)
    topology = part(integers, integers, HEAD.topology)
    for k in range(nv):
        tau[k] = still[k] = 0.0
    for k in range(6 * links):
        wrenches[k] = 0.0
    invoke(integers[HEAD.evaluate], integers, p, p_size, t, q, v, work)
    far, sweeps, stale, left = farthest(states, part(p, integers, HEAD.levers), links), 0, True, more
    off, share = largest_residual(tiles, groups, equations, rows, m, far)
    report[0] = off
    while True:
        fresh = stale
        if stale and not has_factor(integers, p, q, still, tau, wrenches, work, change, found):
            give_up(v, report, np.nan, sweeps)
            return
        if not goes_on(share, sweeps):
            if left == 0:
                break
            left -= 1
        for r in range(m):
            x[r] = value_of(groups, equations, rows, r, ROWS.residual)
        solve(F, scales, order, int(primal(found[0])), m, nv, x)
        invoke(integers[HEAD.respond], integers, p, p_size, -1.0, work)
        retract(topology, q, v, change)
        invoke(integers[HEAD.evaluate], integers, p, p_size, t, q, v, work)
        sweeps += 1
        before = share
        off, share = largest_residual(tiles, groups, equations, rows, m, far)
        stale = is_slow(share, before)
        if is_stuck(share, before, sweeps, fresh) and left == 0:
            break
    if is_torn(share):
        give_up(v, report, off, sweeps)
        return
    report[1], report[3] = off, float(sweeps)
    for sweep in range(SPEED_SWEEPS):
        spin, fast = fastest(motion, far)
        before, speed, share = share, 0.0, 0.0
        for r in range(m):
            x[r] = speed_of(tiles, groups, equations, constants, rows, r, motion)
            size = abs(primal(x[r]))
            if size != 0.0:
                whole_row = size_of_row(tiles, groups, equations, rows, r, spin, fast)
                speed, share = worse(size, whole_row, speed, share)
        report[2] = speed
        if not share > SPEED_ROUNDING and sweep >= more:  # a NaN ends it too
            break
        poor = sweep == 1 and is_poor(share, before)
        if poor and not has_factor(integers, p, q, still, tau, wrenches, work, change, found):
            give_up(v, report, off, sweeps)
            return
        solve(F, scales, order, int(primal(found[0])), m, nv, x)
        invoke(integers[HEAD.respond], integers, p, p_size, -1.0, work)
        for k in range(nv):
            v[k] += change[k]
        invoke(integers[HEAD.evaluate], integers, p, p_size, t, q, v, work)


@native
def project(integers_at, p_at, p_size, t, q_at, v_at, work_at, report_at):
    """`onto_rows` for one state."""
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    work, report = carray(work_at, (loop_work_size(integers),)), carray(report_at, (4,))
    q, v = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (integers[HEAD.n_v],))
    onto_rows(integers, p, t, q, v, work, report, 0)


@kernel(allocates=True)
def collect(integers, p, q, v, still, states, motion, rows, wrenches, residual, speed, right, J, z):
    """What `linearize` gives, once the tiles are evaluated; z: a number of the kind of q."""
    nv, m = integers[HEAD.n_v], integers[HEAD.n_rows]
    topology, numbers = part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers)
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, visits = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.visits)
    touched, constants = part(integers, integers, HEAD.touched), part(p, integers, HEAD.constants)
    for k in range(nv):
        still[k] = 0.0
    move_links(topology, numbers, q, v, still, states, z)  # accelerations too, of joints that do not accelerate
    for j in range(integers[HEAD.n_tiles]):
        evaluate_rate(tiles, constants, j, motion, rows)
    for k in range(6 * integers[HEAD.n_links]):
        wrenches[k] = 0.0
    for k in range(m * nv):
        J[k] = 0.0
    drift, none = states[STATE.acceleration :], (0.0, 0.0, 0.0)
    for r in range(m):
        residual[r] = value_of(groups, equations, rows, r, ROWS.residual)
        speed[r] = speed_of(tiles, groups, equations, constants, rows, r, motion)
        right[r] = value_of(groups, equations, rows, r, ROWS.rate)
        right[r] -= times_accelerations(tiles, groups, equations, touched, rows, r, motion, drift, STATE.size, none)
        group = equations[r * ROW.size + ROW.group] * GROUP.size
        first, count = groups[group + GROUP.visit], groups[group + GROUP.visits]
        push(tiles, groups, equations, touched, rows, r, motion, 1.0, wrenches)
        row_of_jacobian(topology, numbers, visits, first, count, states, wrenches, J, r * nv)


@native
def linearize(integers_at, p_at, p_size, t, q_at, v_at, work_at, residual_at, speed_at, right_at, jacobian_at):
    """Of all rows g, g' = J v - target, c of J a = c, and J (rows, nv)."""
    integers, p = carray(integers_at, (p_size,)), carray(p_at, (p_size,))
    work = carray(work_at, (loop_work_size(integers),))
    _, states, motion, rows, _, _, _, _, wrenches, _, _, _, still, _, _ = loop_work_of(work, integers)
    nv, m = integers[HEAD.n_v], integers[HEAD.n_rows]
    q, v = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (nv,))
    residual, speed, right = carray(residual_at, (m,)), carray(speed_at, (m,)), carray(right_at, (m,))
    J = carray(jacobian_at, (m * nv,))
    invoke(integers[HEAD.evaluate], integers, p, p_size, t, q, v, work)
    collect(integers, p, q, v, still, states, motion, rows, wrenches, residual, speed, right, J, 0.0)


@functools.cache
def addresses() -> dict[str, int]:
    """Addresses of all that a packed mechanism names, compiled now or loaded from the cache."""
    size, real, i, n = INTEGER, NUMBER, INTEGERS, NUMBERS
    return {
        "articulate": address_of(steps.articulate, i, n, size, *(n,) * 6),
        "evaluate": address_of(steps.evaluate, i, n, size, real, *(n,) * 3),
        "factor": address_of(steps.factor, i, n, size, size, size, n),
        "respond": address_of(steps.respond, i, n, size, real, n),
        "accelerations": address_of(accelerations, i, n, size, real, *(n,) * 6),
        "derivative": address_of(derivative, real, i, n, size, *(n,) * 3),
        "project": address_of(project, i, n, size, real, *(n,) * 4),
        "linearize": address_of(linearize, i, n, size, real, *(n,) * 7),
    }


@kernel(entry=True, allocates=True)
def accelerations_of_states(integers, p, times, q, v, tau, wrenches, work, a, multipliers, ranks):
    """Accelerations, multipliers and ranks of a batch of states, by rows."""
    space = loop_work_of(work, integers)
    for k in range(q.shape[0]):
        at = integers[HEAD.accelerations]
        invoke(at, integers, p, p.shape[0], times[k], q[k], v[k], tau[k], wrenches[k], work, a[k])
        for j in range(multipliers.shape[1]):
            multipliers[k, j] = space.x[j]
        ranks[k] = space.report[0]


@kernel(entry=True)
def project_state(integers, p, t, q, v, work, report):
    invoke(integers[HEAD.project], integers, p, p.shape[0], t, q, v, work, report)


@kernel(entry=True)
def rows_of_states(integers, p, times, q, v, work, first, residuals, speeds, rights, jacobians, tiles):
    """What `linearize` gives for a batch of states, and the rows of the tiles, which begin at `first`."""
    for k in range(q.shape[0]):
        at = integers[HEAD.linearize]
        invoke(
            *(at, integers, p, p.shape[0], times[k], q[k], v[k], work),
            *(residuals[k], speeds[k], rights[k], jacobians[k]),
        )
        for j in range(tiles.shape[1]):
            tiles[k, j] = work[first + j]
