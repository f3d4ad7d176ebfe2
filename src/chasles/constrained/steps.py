"""The loop over steps, and what the steps of all methods share: clock, forces, counted angles, the point reached."""

from __future__ import annotations

from chasles.absolute.entry import set_clock
from chasles.absolute.joint_force import silent_angles, silent_rates
from chasles.absolute.kkt import POSE, TWIST, prepare, set_motion
from chasles.absolute.tables import BODY, HEAD, SE3, forces_of
from chasles.constrained.chart import move_body
from chasles.constrained.workspace import COUNTS, OPERATIONS, TIMES, has_forces, workspace_at
from chasles.constraint.rows import CUSTOM, MOTION, NUMBERS, SCREWS, TILE, TRAVEL
from chasles.constraint.special import TARGET, TURN, angle_rates, call_special, coordinate
from chasles.constraint.tile_work import EXTRA, EXTRA_AT, tile_target
from chasles.force.bushing import is_element
from chasles.force.table import ACTED, FORCES
from chasles.integrate.status import DONE, NO_CONVERGENCE, RUNNING
from chasles.kernel.address import invoke
from chasles.kernel.algebra import dot, mul, mul_t
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.functions import larger
from chasles.kernel.lanes import sqrt
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import load3, load6, load9, store3


@kernel
def take_steps(advance, workspace, method, call):
    """Take up to `limit` steps, each by advance(workspace, method, t, h), which returns whether it could.

    method: its parameters, its state and its workspace. Times are counted from the start, full steps are equal.
    """
    counts, times = workspace.counts, workspace.times
    before = flush_denormals()
    counts[COUNTS.status] = RUNNING
    for _ in range(call.limit):
        k = counts[COUNTS.step]
        last = k + 1 == call.total
        if not advance(
            workspace,
            method,
            times[TIMES.start] + k * times[TIMES.step],
            times[TIMES.last] if last else times[TIMES.step],
        ):
            break
        counts[COUNTS.step] += 1
        save_point(workspace, call)
        if last:
            counts[COUNTS.status] = DONE
            break
    restore_denormals(before)


@kernel
def save_point(workspace, call):
    """Save the point if it is its turn."""
    counts, times, y = workspace.counts, workspace.times, workspace.point
    k = counts[COUNTS.step]
    if k == call.total or (call.every > 0 and k % call.every == 0):
        row, size = counts[COUNTS.rows], y.shape[0]
        call.saved_t[row] = times[TIMES.end] if k == call.total else times[TIMES.start] + k * times[TIMES.step]
        for m in range(size):
            call.saved_y[row * size + m] = y[m]
        counts[COUNTS.rows] = row + 1


@kernel
def evaluate_state(workspace, q, v):
    """Motion of the bodies, residuals and Jacobians of a state, at the time of the clock."""
    tables = workspace.tables
    set_motion(tables.bodies, tables.n, q, v, workspace.motion)
    prepare(tables.tiles, tables.constants, tables.nt, workspace.motion, workspace.rows)


@native(vectorized=False)
def set_state_apart(at, q, v):
    workspace = workspace_at(at)
    n = workspace.tables.n
    evaluate_state(workspace, carray(q, (POSE * n,)), carray(v, (TWIST * n,)))


@kernel
def set_state(workspace, q, v):
    """`evaluate_state` by its address."""
    operations = workspace.operations
    invoke(operations[OPERATIONS.set_state], operations[OPERATIONS.workspace], q, v)


@kernel
def start_clock(workspace, t):
    """The clock of the begin of a step."""
    set_clock(workspace.integers, workspace.row_work, t, workspace.counted_angles, 0)


@kernel
def move_bodies(workspace, x):
    """Poses at the end of the step from its increment, in the space of each body."""
    bodies = workspace.tables.bodies
    for i in range(workspace.tables.n):
        move_body(bodies[i * BODY.size + BODY.space] == SE3, workspace.q, i, load6(x, 6 * i, 0.0), workspace.trial_q)


@kernel
def fastest_spin(workspace):
    """The largest angular velocity."""
    fastest = 0.0
    for i in range(workspace.tables.n):
        spin = load3(workspace.v, 6 * i, 0.0)
        fastest = larger(fastest, dot(spin, spin))
    return sqrt(fastest)


@kernel
def apply_forces(workspace, t, q, v):
    """Wrenches of all forces but gravity; returns their power."""
    integers, p, force_work = workspace.integers, workspace.mechanism, workspace.force_work
    if not has_forces(integers):
        for k in range(6 * integers[HEAD.n_bodies]):
            workspace.wrenches[k] = 0.0
        return 0.0
    invoke(integers[HEAD.act], t, p, p.shape[0], q, v, workspace.wrenches, force_work, workspace.acted)
    return workspace.acted[ACTED.power]


@kernel
def elements_at_end(workspace):
    """The row of the table from which on all forces are bushings or elements of rods."""
    table = forces_of(workspace.mechanism).table
    k = table[FORCES.count]
    while k > 0 and is_element(table, k - 1):
        k -= 1
    return k


@kernel
def apply_forces_before(workspace, first, t, q, v):
    """`apply_forces` of those before a row of the table, to the workspace's wrenches and power."""
    table = forces_of(workspace.mechanism).table
    count = table[FORCES.count]
    table[FORCES.count] = min(first, count)
    workspace.acted[ACTED.power] = apply_forces(workspace, t, q, v)
    table[FORCES.count] = count


@kernel
def count_from(workspace, angles):
    """Let forces along joints count their angles from these."""
    for k in range(workspace.integers[HEAD.n_angles]):
        workspace.mechanism[workspace.integers[HEAD.counted] + k] = angles[k]


@kernel
def keep_choice(tiles, constants, nt, turns, angles):
    """Coordinates of joints given by screws are guessed to stay: by the guess their rows are chosen, and those of both
    ends of a step must be the same."""
    for j in range(nt):
        if tiles[j * TILE.size + TILE.kinds] == SCREWS:
            place = j * NUMBERS.size + EXTRA_AT
            angle, count = int(constants[place + EXTRA.angle]), int(constants[place + EXTRA.count]) // 6
            for k in range(angle, angle + count):
                angles[k] = turns[k]


@kernel
def predict_angles(workspace, t, h, angles):
    """Counted angles at the end of the step, near enough to know their turns, and the clock of its end."""
    tables, count = workspace.tables, workspace.integers[HEAD.n_angles]
    if count > 0:
        set_motion(tables.bodies, tables.n, workspace.q, workspace.v, workspace.motion)
        angle_rates(tables.tiles, tables.constants, tables.nt, workspace.motion, angles)
        for k in range(count):
            angles[k] = workspace.counted_angles[k] + h * angles[k]
        keep_choice(tables.tiles, tables.constants, tables.nt, workspace.counted_angles, angles)
        count_from(workspace, angles)
    set_clock(workspace.integers, workspace.row_work, t + h, angles, 0)


@native(vectorized=False)
def finish_angles_apart(at, trial_v, angles):
    """Counted angles of the new point in their turns, and their rates."""
    workspace = workspace_at(at)
    integers, n, count = workspace.integers, workspace.tables.n, workspace.integers[HEAD.n_angles]
    v, rates = carray(trial_v, (TWIST * n,)), carray(angles, (count,))
    tiles, constants = workspace.tables.tiles, workspace.tables.constants
    set_motion(workspace.tables.bodies, n, workspace.trial_q, v, workspace.motion)
    forces, joints = forces_of(workspace.mechanism), integers[HEAD.n_joints]
    silent_angles(forces.joints, forces.joint_numbers, joints, workspace.motion, forces.counted)
    silent_rates(forces.joints, forces.joint_numbers, joints, workspace.motion, forces.rates)
    for k in range(count):  # of joints on which something acts, as `act` left them
        workspace.counted_angles[k] = forces.counted[k]
        rates[k] = forces.rates[k]
    for j in range(workspace.tables.nt):
        if tiles[j * TILE.size + TILE.kinds] == TURN:
            place = j * NUMBERS.size
            angle = int(constants[place + EXTRA_AT + EXTRA.angle])
            if angle >= 0:
                value = coordinate(tiles, constants, j, workspace.motion, workspace.rows, 0.0)
                workspace.counted_angles[angle] = value / constants[place + NUMBERS.s]


@kernel
def finish_step(workspace, work, trial_v, angles):
    """The new point: poses, velocities, angles in their turns, and the work of the step; the angles become rates."""
    operations, n = workspace.operations, workspace.tables.n
    for k in range(POSE * n):
        workspace.q[k] = workspace.trial_q[k]
    for k in range(TWIST * n):
        workspace.v[k] = trial_v[k]
    if workspace.integers[HEAD.n_angles] > 0:
        invoke(operations[OPERATIONS.finish_angles], operations[OPERATIONS.workspace], trial_v, angles)
    workspace.work_done[0] += work


@kernel
def project_state(workspace, trial_v):
    """The trial state onto the constraints, by the mechanism's own function; with a factor of its own, since a run that
    is resumed has none at hand either."""
    p = workspace.mechanism
    invoke(workspace.integers[HEAD.project], p, p.shape[0], workspace.trial_q, trial_v, workspace.row_work, 0)


@kernel
def give_up(workspace, level):
    """A step that did not converge: where the largest of g is, and whether of positions or of velocities."""
    tiles, nodes, worst, largest = workspace.tables.nt, workspace.plan.nodes, 0, -1.0
    for t in range(tiles):
        for k in range(3):
            if not abs(workspace.g[3 * nodes[t] + k]) <= largest:
                worst, largest = t, abs(workspace.g[3 * nodes[t] + k])
    if workspace.counts[COUNTS.status] == RUNNING:
        workspace.counts[COUNTS.status] = NO_CONVERGENCE
    workspace.counts[COUNTS.worst], workspace.counts[COUNTS.level] = worst, level
    return False


@kernel
def keep_targets(workspace, targets):
    """What J V of each tile must be, three numbers a tile: not zero where a constraint depends on time."""
    tiles, rows = workspace.tables.tiles, workspace.rows
    if workspace.integers[HEAD.n_moving] == 0:
        return
    for j in range(workspace.tables.nt):
        kind = tiles[j * TILE.size + TILE.kinds]
        target = (0.0, 0.0, 0.0)
        if kind == CUSTOM or kind == TURN or kind == TRAVEL:
            call_special(TARGET, tiles, workspace.tables.constants, j, workspace.motion, rows)
            target = tile_target(rows)
        store3(targets, 3 * j, target)


@kernel
def power_to_keep(workspace, nodes, lam, targets):
    """Power of constraints that depend on time: -λ·(J V), where J V is what they ask for."""
    power = 0.0
    if workspace.integers[HEAD.n_moving] != 0:
        for j in range(workspace.tables.nt):
            power -= dot(load3(lam, 3 * nodes[j], 0.0), load3(targets, 3 * j, 0.0))
    return power


@kernel
def to_chart(workspace, i, d):
    """A displacement (in the body, in space) in the algebra of the body's space."""
    if workspace.tables.bodies[i * BODY.size + BODY.space] == SE3:
        return d[0], mul_t(load9(workspace.motion, i * MOTION.size + MOTION.rotation, 0.0), d[1])
    return d


@kernel
def from_chart(workspace, i, d):
    if workspace.tables.bodies[i * BODY.size + BODY.space] == SE3:
        return d[0], mul(load9(workspace.motion, i * MOTION.size + MOTION.rotation, 0.0), d[1])
    return d
