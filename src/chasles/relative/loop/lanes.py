"""Computations on four closed mechanisms of one structure at once, on lanes: `steps` and `entry` with other numbers in
each lane.

What depends on values is decided lane by lane, as one mechanism alone decides it: which rows are taken, whether a
projection goes on, and with which factor. So a lane has the same bits whatever the others compute. Tiles of special
kinds are computed one lane after the other, by the function that single mechanisms call.

The parameters are one buffer: times of the lanes (`kernel.own_time`), a head (`LANE_PLACE`), the integers of the packed
mechanism (`tables`), its numbers as lanes in the same layout, workspace as lanes and a copy of it, and numbers that
each lane needs for itself.
"""

from __future__ import annotations

import numpy as np

from chasles.constraint.rows import MOTION, NUMBERS, ROWS, TILE, TURN, acceleration_term, evaluate_tile
from chasles.constraint.special import EVALUATE, RATE, TARGET
from chasles.constraint.tile_work import EXTRA, EXTRA_AT, TILE_WORK, tile_work_at
from chasles.kernel.address import as_integer_array, invoke
from chasles.kernel.lane_view import as_lanes
from chasles.kernel.lanes import WIDTH, all_true, lanes_of, select
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout
from chasles.relative.by_lane import gather, scatter
from chasles.relative.forward import LIMB
from chasles.relative.kinematics import move_links
from chasles.relative.loop.rows import (
    last_tile,
    set_clock,
    set_motion,
    times_accelerations,
    times_velocities,
    value_of,
)
from chasles.relative.loop.steps import fill_rows
from chasles.relative.loop.tables import HEAD, ROW, loop_work_of, loop_work_size, part
from chasles.relative.loop.triangle import IN_TURN, least_pivot, product, reflect
from chasles.relative.tables import GRAVITY

# places in the buffer (`integers` and their `count`, `numbers`, `work`, `copy`, `forces`, `own` and the `width` of a
# lane there); whether free joints have the velocities of their positions, and Baumgarte's feedback is on; where in the
# workspace matrix, scales, order and x are; addresses
LANE_PLACE = layout(
    "LANE_PLACE",
    **dict.fromkeys(("integers", "count", "numbers", "work", "copy", "forces", "own", "width", "end"), 1),
    **dict.fromkeys(("free", "fed", "matrix", "scales", "order", "x"), 1),
    **dict.fromkeys(("evaluate", "factor", "special", "accelerate", "project"), 1),
)


@kernel(allocates=True)  # views count as arrays that are made
def apart(packed):
    """Head, integers, numbers as lanes and workspace, of which arrays of numbers and of lanes are views."""
    bits = as_integer_array(packed)
    head = bits[WIDTH : WIDTH + LANE_PLACE.size]
    integers = bits[head[LANE_PLACE.integers] : head[LANE_PLACE.integers] + head[LANE_PLACE.count]]
    numbers = as_lanes(packed[head[LANE_PLACE.numbers] : head[LANE_PLACE.work]])
    return head, integers, numbers, packed[head[LANE_PLACE.work] : head[LANE_PLACE.copy]]


@kernel(allocates=True)
def lanes_of_work(work, integers):
    """The regions of the workspace, as lanes."""
    return loop_work_of(as_lanes(work[: WIDTH * loop_work_size(integers)]), integers)


@native
def special_by_lane(packed_at, packed_size, what, j, motion_at, rows_at):
    """What a tile of a special kind computes, in all lanes."""
    packed = carray(packed_at, (packed_size,))
    head, integers, _, _ = apart(packed)
    tiles, n_constants = part(integers, integers, HEAD.tiles), integers[HEAD.constants + 1] - integers[HEAD.constants]
    n_motion, width = MOTION.size * integers[HEAD.n_touched], head[LANE_PLACE.width]
    n_rows = width - n_constants - n_motion
    motion, rows = carray(motion_at, (WIDTH * n_motion,)), carray(rows_at, (WIDTH * n_rows,))
    for lane in range(WIDTH):
        own = packed[head[LANE_PLACE.own] + lane * width : head[LANE_PLACE.own] + (lane + 1) * width]
        constants, here = own[:n_constants], own[n_constants : n_constants + n_motion]
        work = own[n_constants + n_motion :]
        gather(motion, lane, here)
        gather(rows, lane, work)
        address = int(constants[j * NUMBERS.size + EXTRA_AT + EXTRA.function])
        invoke(address, what, tiles, constants, j, here, work, n_rows)
        scatter(work, lane, rows)


@kernel
def is_special(tiles, j):
    return tiles[j * TILE.size + TILE.kinds] >= TURN


@native
def evaluate(packed_at, packed_size, t, q_at, v_at):
    """`steps.evaluate`; the time of a lane is its own later than t."""
    packed = carray(packed_at, (packed_size,))
    head, integers, p, work = apart(packed)
    q, v = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (integers[HEAD.n_v],))
    space = lanes_of_work(work, integers)
    states, motion, rows = space.states, space.motion, space.rows
    move_links(part(integers, integers, HEAD.topology), part(p, integers, HEAD.numbers), q, v, q[0:0], states, q[0])
    set_motion(part(integers, integers, HEAD.touched), integers[HEAD.n_touched], states, motion)
    now = t + as_lanes(packed[:WIDTH])[0]
    set_clock(now, part(integers, integers, HEAD.counted), integers[HEAD.n_counted], q, rows)
    tiles, constants = part(integers, integers, HEAD.tiles), part(p, integers, HEAD.constants)
    for j in range(integers[HEAD.n_tiles]):
        if is_special(tiles, j):
            invoke(head[LANE_PLACE.special], packed, packed_size, EVALUATE, j, motion, rows)
        else:
            evaluate_tile(tiles, constants, j, motion, rows)


@kernel
def chosen(lane, s, m, order, scales, left, free, in_turn):
    """The row that a lane takes next, or -1 if none is independent of those before: see `triangle.triangle`."""
    best, pivot = 0.0, s
    if in_turn and left[WIDTH * s + lane] > IN_TURN:
        best = left[WIDTH * s + lane]
    else:
        for j in range(s, m):
            row = int(order[WIDTH * j + lane])
            if order[WIDTH * (m + row) + lane] == 0.0 and not left[WIDTH * j + lane] <= best:
                best, pivot = left[WIDTH * j + lane], j
    least = least_pivot(free, scales[WIDTH * (m + int(order[WIDTH * pivot + lane])) + lane])
    return pivot if best > least else -1


@kernel
def measure(F, left, s, m, nv):
    """Squared lengths of what is left: of row s, and of those behind it if a lane does not take it in turn."""
    left[s] = product(F, s * nv + s, s * nv + s, nv - s)
    if not all_true(left[s] > IN_TURN):
        for j in range(s + 1, m):
            left[j] = product(F, j * nv + s, j * nv + s, nv - s)


@kernel
def swap(lane, F, order, left, i, j, nv):
    """Rows i and j of a lane change places."""
    a, b = WIDTH * i + lane, WIDTH * j + lane
    order[a], order[b] = order[b], order[a]
    left[a], left[b] = left[b], left[a]
    for k in range(nv):
        a, b = WIDTH * (i * nv + k) + lane, WIDTH * (j * nv + k) + lane
        F[a], F[b] = F[b], F[a]


@kernel(allocates=True)
def triangle(head, work, m, nv, rank, flags, ranks):
    """`triangle.triangle` with rows that each lane chooses for itself; flags: whether its choice is free. `ranks` tells
    the rank of each lane, or -1."""
    F, order = work[WIDTH * head[LANE_PLACE.matrix] :], work[WIDTH * head[LANE_PLACE.order] :]
    scales, left = work[WIDTH * head[LANE_PLACE.scales] :], work[WIDTH * (head[LANE_PLACE.x] + m) :]
    on_lanes, rest = as_lanes(F), as_lanes(left)
    for lane in range(WIDTH):
        ranks[lane] = float(rank)
        for j in range(m):
            order[WIDTH * j + lane] = float(j)
            if flags[lane] != 0.0:
                order[WIDTH * (m + j) + lane] = 0.0
    for s in range(rank):
        if rank == m:
            measure(on_lanes, rest, s, m, nv)
        for lane in range(WIDTH):
            pivot = -1
            if ranks[lane] >= 0.0:
                pivot = chosen(lane, s, m, order, scales, left, int(flags[lane]), rank == m)
            if pivot < 0:
                ranks[lane] = -1.0
            elif pivot != s:
                swap(lane, F, order, left, s, pivot, nv)
        reflect(on_lanes, rest, s, m, nv)
    for lane in range(WIDTH):
        if flags[lane] != 0.0 and ranks[lane] >= 0.0:
            for s in range(rank, m):
                order[WIDTH * (m + int(order[WIDTH * s + lane])) + lane] = 1.0


@native
def factor(packed_at, packed_size):
    """`steps.factor`: the second of the report has whether the choice of rows is free in each lane, and the first tells
    the rank, or -1."""
    packed = carray(packed_at, (packed_size,))
    head, integers, p, work = apart(packed)
    fill_rows(integers, p, lanes_of_work(work, integers))
    m, nv = integers[HEAD.n_rows], integers[HEAD.n_v]
    report = work[WIDTH * (loop_work_size(integers) - 4) :]
    triangle(head, work, m, nv, integers[HEAD.rank], report[WIDTH : 2 * WIDTH], report[:WIDTH])


@kernel(allocates=True)
def solve(head, integers, work):
    """`triangle.solve`, with the order of each lane."""
    m, nv, rank = integers[HEAD.n_rows], integers[HEAD.n_v], integers[HEAD.rank]
    order, scales = work[WIDTH * head[LANE_PLACE.order] :], work[WIDTH * head[LANE_PLACE.scales] :]
    x, F = work[WIDTH * head[LANE_PLACE.x] :], as_lanes(work[WIDTH * head[LANE_PLACE.matrix] :])
    for lane in range(WIDTH):
        for s in range(rank):
            j = WIDTH * int(order[WIDTH * s + lane]) + lane
            x[WIDTH * (m + s) + lane] = scales[j] * x[j]
    y = as_lanes(x[WIDTH * m :])
    for s in range(rank):  # Rᵀ y = b
        total = y[s]
        for k in range(s):
            total -= F[s * nv + k] * y[k]
        y[s] = total / F[s * nv + s]
    for s in range(rank - 1, -1, -1):  # R x = y
        total = y[s]
        for k in range(s + 1, rank):
            total -= F[k * nv + s] * y[k]
        y[s] = total / F[s * nv + s]
    for k in range(WIDTH * m):
        x[k] = 0.0
    for lane in range(WIDTH):
        for s in range(rank):
            j = WIDTH * int(order[WIDTH * s + lane]) + lane
            x[j] = scales[j] * x[WIDTH * (m + s) + lane]


@kernel
def target_of(packed, head, tiles, groups, equations, rows, r, motion):
    """What J V of row r must be."""
    j = last_tile(groups, equations[r * ROW.size + ROW.group])
    target = lanes_of(0.0)
    if is_special(tiles, j):
        invoke(head[LANE_PLACE.special], packed, packed.shape[0], TARGET, j, motion, rows)
        target = rows[tile_work_at(rows) + TILE_WORK.target + equations[r * ROW.size + ROW.place]]
    return target


@kernel
def speed_of(packed, head, tiles, groups, equations, rows, r, motion):
    """J V of row r minus what it must be."""
    target = target_of(packed, head, tiles, groups, equations, rows, r, motion)
    return times_velocities(tiles, groups, equations, rows, r, motion) - target


@native
def accelerate(packed_at, packed_size, t, q_at, v_at, tau_at, wrenches_at, a_at):
    """`entry.accelerations`; NaN in lanes where fewer rows are independent than must be."""
    packed = carray(packed_at, (packed_size,))
    head, integers, p, work = apart(packed)
    limbs, _, motion, rows, _, _, _, x, _, _, change, _, _, _, report = lanes_of_work(work, integers)
    nv, m = integers[HEAD.n_v], integers[HEAD.n_rows]
    q, v, tau = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (nv,)), carray(tau_at, (nv,))
    wrenches, a = carray(wrenches_at, (6 * integers[HEAD.n_links],)), carray(a_at, (nv,))
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, touched = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.touched)
    numbers, constants = part(p, integers, HEAD.numbers), part(p, integers, HEAD.constants)
    space = as_lanes(work)
    invoke(integers[HEAD.articulate], integers, p, head[LANE_PLACE.count], q, v, tau, wrenches, space, a)
    invoke(head[LANE_PLACE.evaluate], packed, packed_size, t, q, v)
    for j in range(integers[HEAD.n_tiles]):
        if is_special(tiles, j):
            invoke(head[LANE_PLACE.special], packed, packed_size, RATE, j, motion, rows)
        else:
            acceleration_term(tiles, constants, j, motion, rows)
    fall = (numbers[GRAVITY.vector], numbers[GRAVITY.vector + 1], numbers[GRAVITY.vector + 2])
    found, fed = limbs[LIMB.motion :], p[integers[HEAD.feedback] : integers[HEAD.feedback] + 2]
    for r in range(m):
        x[r] = times_accelerations(tiles, groups, equations, touched, rows, r, motion, found, LIMB.size, fall)
        x[r] -= value_of(groups, equations, rows, r, ROWS.rate)
        if head[LANE_PLACE.fed] != 0:
            x[r] += 2.0 * fed[0] * speed_of(packed, head, tiles, groups, equations, rows, r, motion)
            x[r] += fed[1] * fed[1] * value_of(groups, equations, rows, r, ROWS.residual)
    free = integers[HEAD.rank] == m
    report[1] = 1.0 if free else 0.0
    invoke(head[LANE_PLACE.factor], packed, packed_size)
    if not free and not all_true(report[0] >= 0.0):  # those that failed choose anew
        report[1] = select(report[0] >= 0.0, lanes_of(0.0), lanes_of(1.0))
        invoke(head[LANE_PLACE.factor], packed, packed_size)
    solve(head, integers, work)
    invoke(integers[HEAD.respond], integers, p, head[LANE_PLACE.count], -1.0, space)
    nothing = lanes_of(np.nan)
    for k in range(nv):
        a[k] = select(report[0] >= 0.0, a[k] + change[k], nothing)
