"""What the loops of all methods share: the clock, forces, counted angles, the point reached and saving it.

A point y is (central poses, velocities, counted angles, work of the forces). The memory of a loop begins with it and
ends with the tail: power of the forces, the step before, how fast Newton's method converged and steps since that was
seen (of generalized alpha), one or two estimates of the error of the step relative to the tolerance; and of the counted
angles their rates, or during a step the angles predicted for its end.
"""

from __future__ import annotations

from numba import carray

from chasles.absolute.entry import set_clock, work_size
from chasles.absolute.implicit.layout import COUNTS, TIMES, has_forces, room_of_forces
from chasles.absolute.implicit.saddle import BLOCK
from chasles.absolute.implicit.structure import HEAD as PLAN
from chasles.absolute.kkt import POSE, TWIST, set_motion
from chasles.absolute.tables import BODY, HEAD, MASS, SE3
from chasles.constraint.rows import CUSTOM, MOTION, NUMBERS, ROWS, SCREWS, TILE, TRAVEL
from chasles.constraint.special import EXTRA, EXTRA_AT, ROOM, TARGET, TURN, angle_rates, call_special, coordinate
from chasles.kernel.address import invoke
from chasles.kernel.algebra import dot, mul, mul_t
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import load3, load9, store3

TAIL = 6  # numbers of the tail before the angles


@kernel
def point_size(whole):
    """Numbers in a point."""
    return (POSE + TWIST) * whole[HEAD.n_bodies] + whole[HEAD.n_angles] + 1


@kernel
def total_size(whole, packed):
    """Numbers in the workspace: `layout.total_work`."""
    n, nt, nn, lower = whole[HEAD.n_bodies], whole[HEAD.n_tiles], packed[PLAN.n_nodes], packed[PLAN.n_lower]
    rows = 2 * ROWS.size * nt + BLOCK.size * n + 9 * (2 * nn + 3 * lower)
    own = (25 + MASS.size + 6 * packed[PLAN.vectors]) * n
    return work_size(whole) + rows + own + 3 * nn + room_of_forces(whole)


@kernel
def start_step(counts, times, total):
    """(t, step, whether it is the last): times are counted from the start, full steps are equal."""
    k = counts[COUNTS.step]
    last = k + 1 == total
    return times[TIMES.start] + k * times[TIMES.step], times[TIMES.last] if last else times[TIMES.step], last


@kernel(allocates=True)
def apply_forces(whole, p, t, q, v, wrenches, room):
    """Wrenches of all forces but gravity; returns their power."""
    if not has_forces(whole):
        for k in range(6 * whole[HEAD.n_bodies]):
            wrenches[k] = 0.0
        return 0.0
    result = room[room.shape[0] - 2 :]
    invoke(whole[HEAD.act], t, p, p.shape[0], q, v, wrenches, room, result)
    return result[0]


@kernel
def count_from(whole, p, angles, at):
    """Let forces along joints count their angles from those in an array, from `at` on."""
    for k in range(whole[HEAD.n_angles]):
        p[whole[HEAD.counted] + k] = angles[at + k]


@kernel
def keep_choice(tiles, constants, nt, y, at, tail):
    """Coordinates of joints given by screws are guessed to stay: by the guess their rows are chosen, and those of both
    ends of a step must be the same."""
    for j in range(nt):
        if tiles[j * TILE.size + TILE.kinds] == SCREWS:
            place = j * NUMBERS.size + EXTRA_AT
            own, count = int(constants[place + EXTRA.angle]), int(constants[place + EXTRA.count]) // 6
            for k in range(own, own + count):
                tail[TAIL + k] = y[at + k]


@kernel(allocates=True)
def predict_angles(whole, p, tables, own, t, h, y, motion, tail):
    """Counted angles at the end of the step, near enough to know their turns, and the clock of its end."""
    n, count = tables[12], whole[HEAD.n_angles]
    if count > 0:
        set_motion(tables[0], n, y[: POSE * n], y[POSE * n : (POSE + TWIST) * n], motion)
        angle_rates(tables[1], tables[10], tables[13], motion, tail[TAIL:])
        for k in range(count):
            tail[TAIL + k] = y[(POSE + TWIST) * n + k] + h * tail[TAIL + k]
        keep_choice(tables[1], tables[10], tables[13], y, (POSE + TWIST) * n, tail)
        count_from(whole, p, tail, TAIL)
    set_clock(whole, own, t + h, tail, TAIL)


@kernel
def finish_step(whole, p, tables, work, new_q, new_v, y, motion, rows, tail):
    """The new point: poses, velocities, angles in their turns, and the work of the step."""
    bodies, tiles, constants, n, nt = tables[0], tables[1], tables[10], tables[12], tables[13]
    for k in range(POSE * n):
        y[k] = new_q[k]
    for k in range(TWIST * n):
        y[POSE * n + k] = new_v[k]
    if whole[HEAD.n_angles] > 0:
        for k in range(whole[HEAD.n_angles]):  # of joints on which something acts, as `act` left them
            y[(POSE + TWIST) * n + k] = p[whole[HEAD.counted] + k]
            tail[TAIL + k] = p[whole[HEAD.rates] + k]
        set_motion(bodies, n, new_q, new_v, motion)
        for j in range(nt):
            if tiles[j * TILE.size + TILE.kinds] == TURN:
                at = j * NUMBERS.size
                own = int(constants[at + EXTRA_AT + EXTRA.angle])
                if own >= 0:
                    value = coordinate(tiles, constants, j, motion, rows, 0.0)
                    y[(POSE + TWIST) * n + own] = value / constants[at + NUMBERS.s]
    y[y.shape[0] - 1] += work


@kernel
def keep_targets(whole, tables, motion, rows, targets):
    """What J V of each tile must be, three numbers a tile: not zero where a constraint depends on time."""
    tiles, constants, nt = tables[1], tables[10], tables[13]
    if whole[HEAD.n_moving] == 0:
        return
    for j in range(nt):
        kind = tiles[j * TILE.size + TILE.kinds]
        target = (0.0, 0.0, 0.0)
        if kind == CUSTOM or kind == TURN or kind == TRAVEL:
            call_special(TARGET, tiles, constants, j, motion, rows)
            target = load3(rows, rows.shape[0] - 1 - ROOM.size, 0.0)
        store3(targets, 3 * j, target)


@kernel
def power_to_keep(whole, tables, nodes, lam, targets):
    """Power of constraints that depend on time: -λ·(J V), where J V is what they ask for."""
    power = 0.0
    if whole[HEAD.n_moving] != 0:
        for j in range(tables[13]):
            power -= dot(load3(lam, 3 * nodes[j], 0.0), load3(targets, 3 * j, 0.0))
    return power


@kernel
def to_chart(bodies, i, motion, d):
    """A displacement (in the body, in space) in the algebra of the body's space."""
    if bodies[i * BODY.size + BODY.space] == SE3:
        return d[0], mul_t(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), d[1])
    return d


@kernel
def from_chart(bodies, i, motion, d):
    if bodies[i * BODY.size + BODY.space] == SE3:
        return d[0], mul(load9(motion, i * MOTION.size + MOTION.rotation, 0.0), d[1])
    return d


@kernel
def worst_tile(tiles, nt, nodes, g):
    """The tile with the largest of g."""
    worst, largest = 0, -1.0
    for t in range(nt):
        for k in range(3):
            if not abs(g[3 * nodes[t] + k]) <= largest:
                worst, largest = t, abs(g[3 * nodes[t] + k])
    return worst


@kernel(allocates=True)
def save_point(counts, times, total, every, y, saved_t_at, saved_y_at):
    """Save the point if it is its turn."""
    k = counts[COUNTS.step]
    if k == total or (every > 0 and k % every == 0):
        row, size = counts[COUNTS.rows], y.shape[0]
        saved_t, saved_y = carray(saved_t_at, (row + 1,)), carray(saved_y_at, ((row + 1) * size,))
        saved_t[row] = times[TIMES.end] if k == total else times[TIMES.start] + k * times[TIMES.step]
        for m in range(size):
            saved_y[row * size + m] = y[m]
        counts[COUNTS.rows] = row + 1
