"""The loop over steps, and what the steps of all methods share: clock, forces, counted angles, the point reached."""

from __future__ import annotations

from chasles.absolute.entry import set_clock
from chasles.absolute.joint_force import silent_angles, silent_rates
from chasles.absolute.kkt import POSE, TWIST, prepare, set_motion
from chasles.absolute.tables import BODY, HEAD, SE3, joints_of
from chasles.constrained.chart import move_body
from chasles.constrained.workspace import COUNTS, TIMES, has_forces
from chasles.constraint.rows import CUSTOM, MOTION, NUMBERS, SCREWS, TILE, TRAVEL
from chasles.constraint.special import EXTRA, EXTRA_AT, ROOM, TARGET, TURN, angle_rates, call_special, coordinate
from chasles.integrate.newton import DONE, NO_CONVERGENCE, RUNNING
from chasles.kernel.address import invoke
from chasles.kernel.algebra import dot, mul, mul_t
from chasles.kernel.denormals import flush_denormals, restore_denormals
from chasles.kernel.lanes import sqrt
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load6, load9, store3


@kernel
def take_steps(advance, desk, own, call):
    """Take up to `limit` steps, each by advance(desk, own, t, h), which returns whether it could.

    own: what the method itself has. Times are counted from the start, full steps are equal.
    """
    counts, times = desk.counts, desk.times
    before = flush_denormals()
    counts[COUNTS.status] = RUNNING
    for _ in range(call.limit):
        k = counts[COUNTS.step]
        last = k + 1 == call.total
        if not advance(
            desk, own, times[TIMES.start] + k * times[TIMES.step], times[TIMES.last] if last else times[TIMES.step]
        ):
            break
        counts[COUNTS.step] += 1
        save_point(desk, call)
        if last:
            counts[COUNTS.status] = DONE
            break
    restore_denormals(before)


@kernel
def save_point(desk, call):
    """Save the point if it is its turn."""
    counts, times, y = desk.counts, desk.times, desk.y
    k = counts[COUNTS.step]
    if k == call.total or (call.every > 0 and k % call.every == 0):
        row, size = counts[COUNTS.rows], y.shape[0]
        call.saved_t[row] = times[TIMES.end] if k == call.total else times[TIMES.start] + k * times[TIMES.step]
        for m in range(size):
            call.saved_y[row * size + m] = y[m]
        counts[COUNTS.rows] = row + 1


@kernel
def set_state(desk, q, v):
    """Motion of the bodies, residuals and Jacobians of a state, at the time of the clock."""
    tables = desk.tables
    set_motion(tables.bodies, tables.n, q, v, desk.motion)
    prepare(tables.tiles, tables.constants, tables.nt, desk.motion, desk.rows)


@kernel
def start_clock(desk, t):
    """The clock of the begin of a step."""
    set_clock(desk.whole, desk.work, t, desk.turns, 0)


@kernel
def move_bodies(desk, x):
    """Poses at the end of the step from its increment, in the space of each body."""
    bodies = desk.tables.bodies
    for i in range(desk.tables.n):
        move_body(bodies[i * BODY.size + BODY.space] == SE3, desk.q, i, load6(x, 6 * i, 0.0), desk.new_q)


@kernel
def fastest_spin(desk):
    """The largest angular velocity."""
    fastest = 0.0
    for i in range(desk.tables.n):
        spin = load3(desk.v, 6 * i, 0.0)
        fastest = max(fastest, dot(spin, spin))
    return sqrt(fastest)


@kernel
def apply_forces(desk, t, q, v):
    """Wrenches of all forces but gravity; returns their power."""
    whole, p, room = desk.whole, desk.p, desk.room
    if not has_forces(whole):
        for k in range(6 * whole[HEAD.n_bodies]):
            desk.wrenches[k] = 0.0
        return 0.0
    invoke(whole[HEAD.act], t, p, p.shape[0], q, v, desk.wrenches, room, desk.power)
    return desk.power[0]


@kernel
def count_from(desk, angles):
    """Let forces along joints count their angles from these."""
    for k in range(desk.whole[HEAD.n_angles]):
        desk.p[desk.whole[HEAD.counted] + k] = angles[k]


@kernel
def keep_choice(tiles, constants, nt, turns, angles):
    """Coordinates of joints given by screws are guessed to stay: by the guess their rows are chosen, and those of both
    ends of a step must be the same."""
    for j in range(nt):
        if tiles[j * TILE.size + TILE.kinds] == SCREWS:
            place = j * NUMBERS.size + EXTRA_AT
            own, count = int(constants[place + EXTRA.angle]), int(constants[place + EXTRA.count]) // 6
            for k in range(own, own + count):
                angles[k] = turns[k]


@kernel
def predict_angles(desk, t, h, angles):
    """Counted angles at the end of the step, near enough to know their turns, and the clock of its end."""
    tables, count = desk.tables, desk.whole[HEAD.n_angles]
    if count > 0:
        set_motion(tables.bodies, tables.n, desk.q, desk.v, desk.motion)
        angle_rates(tables.tiles, tables.constants, tables.nt, desk.motion, angles)
        for k in range(count):
            angles[k] = desk.turns[k] + h * angles[k]
        keep_choice(tables.tiles, tables.constants, tables.nt, desk.turns, angles)
        count_from(desk, angles)
    set_clock(desk.whole, desk.work, t + h, angles, 0)


@kernel(allocates=True)
def finish_step(desk, work, new_v, angles):
    """The new point: poses, velocities, angles in their turns, and the work of the step; the angles become rates."""
    whole, p, n = desk.whole, desk.p, desk.tables.n
    tiles, constants = desk.tables.tiles, desk.tables.constants
    for k in range(POSE * n):
        desk.q[k] = desk.new_q[k]
    for k in range(TWIST * n):
        desk.v[k] = new_v[k]
    if whole[HEAD.n_angles] > 0:
        set_motion(desk.tables.bodies, n, desk.new_q, new_v, desk.motion)
        joints = joints_of(p)
        silent_angles(joints.joints, joints.joint_numbers, joints.n, desk.motion, p[whole[HEAD.counted] :])
        silent_rates(joints.joints, joints.joint_numbers, joints.n, desk.motion, p[whole[HEAD.rates] :])
        for k in range(whole[HEAD.n_angles]):  # of joints on which something acts, as `act` left them
            desk.turns[k] = p[whole[HEAD.counted] + k]
            angles[k] = p[whole[HEAD.rates] + k]
        for j in range(desk.tables.nt):
            if tiles[j * TILE.size + TILE.kinds] == TURN:
                at = j * NUMBERS.size
                own = int(constants[at + EXTRA_AT + EXTRA.angle])
                if own >= 0:
                    value = coordinate(tiles, constants, j, desk.motion, desk.rows, 0.0)
                    desk.turns[own] = value / constants[at + NUMBERS.s]
    desk.done[0] += work


@kernel
def give_up(desk, level):
    """A step that did not converge: where the largest of g is, and whether of positions or of velocities."""
    tiles, nodes, worst, largest = desk.tables.nt, desk.plan.nodes, 0, -1.0
    for t in range(tiles):
        for k in range(3):
            if not abs(desk.g[3 * nodes[t] + k]) <= largest:
                worst, largest = t, abs(desk.g[3 * nodes[t] + k])
    if desk.counts[COUNTS.status] == RUNNING:
        desk.counts[COUNTS.status] = NO_CONVERGENCE
    desk.counts[COUNTS.worst], desk.counts[COUNTS.level] = worst, level
    return False


@kernel
def keep_targets(desk, targets):
    """What J V of each tile must be, three numbers a tile: not zero where a constraint depends on time."""
    tiles, rows = desk.tables.tiles, desk.rows
    if desk.whole[HEAD.n_moving] == 0:
        return
    for j in range(desk.tables.nt):
        kind = tiles[j * TILE.size + TILE.kinds]
        target = (0.0, 0.0, 0.0)
        if kind == CUSTOM or kind == TURN or kind == TRAVEL:
            call_special(TARGET, tiles, desk.tables.constants, j, desk.motion, rows)
            target = load3(rows, rows.shape[0] - 1 - ROOM.size, 0.0)
        store3(targets, 3 * j, target)


@kernel
def power_to_keep(desk, nodes, lam, targets):
    """Power of constraints that depend on time: -λ·(J V), where J V is what they ask for."""
    power = 0.0
    if desk.whole[HEAD.n_moving] != 0:
        for j in range(desk.tables.nt):
            power -= dot(load3(lam, 3 * nodes[j], 0.0), load3(targets, 3 * j, 0.0))
    return power


@kernel
def to_chart(desk, i, d):
    """A displacement (in the body, in space) in the algebra of the body's space."""
    if desk.tables.bodies[i * BODY.size + BODY.space] == SE3:
        return d[0], mul_t(load9(desk.motion, i * MOTION.size + MOTION.rotation, 0.0), d[1])
    return d


@kernel
def from_chart(desk, i, d):
    if desk.tables.bodies[i * BODY.size + BODY.space] == SE3:
        return d[0], mul(load9(desk.motion, i * MOTION.size + MOTION.rotation, 0.0), d[1])
    return d
