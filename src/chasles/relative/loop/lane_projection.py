"""Projections onto constraints on lanes: `entry.onto_rows` of four mechanisms at once, each with its own sweeps."""

from __future__ import annotations

from functools import cache

import numpy as np

from chasles.constraint.projection import (
    NOISE,
    SPEED_ROUNDING,
    SPEED_SWEEPS,
    is_off,
    is_poor,
    is_slow,
    is_torn,
    may_sweep,
    stays,
)
from chasles.constraint.rows import ROWS
from chasles.kernel.address import INTEGER, INTEGERS, MANY_LANES, NUMBER, NUMBERS, address_of, invoke
from chasles.kernel.lane_view import as_lanes
from chasles.kernel.lanes import WIDTH, absolute, all_true, lanes_of, maximum, select
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.relative.loop import steps
from chasles.relative.loop.entry import farthest, fastest
from chasles.relative.loop.lanes import (
    LANE_PLACE,
    accelerate,
    apart,
    evaluate,
    factor,
    lanes_of_work,
    solve,
    special_by_lane,
    speed_of,
)
from chasles.relative.loop.rows import size_of_row, value_of
from chasles.relative.loop.steps import retract
from chasles.relative.loop.tables import HEAD, loop_work_size, part


@kernel
def share_of(tiles, groups, equations, rows, r, off, turn, move, share):
    """The largest so far of what is off, relative to the terms of its row; NaN stays NaN."""
    size = size_of_row(tiles, groups, equations, rows, r, turn, move)
    return maximum(share, select(off != 0.0, absolute(off) / size, lanes_of(0.0)))


@kernel
def largest_share(tiles, groups, equations, rows, m, far):
    """The largest residual relative to what it is the difference of."""
    share, one = lanes_of(0.0), lanes_of(1.0)
    for r in range(m):
        off = value_of(groups, equations, rows, r, ROWS.residual)
        share = share_of(tiles, groups, equations, rows, r, off, one, far, share)
    return share


@kernel(allocates=True)
def keep(source, target):
    for k in range(target.shape[0]):
        target[k] = source[k]


@kernel(allocates=True)
def restore(goes_on, source, target):
    """Lanes that do not go on get what they had."""
    for k in range(target.shape[0]):
        target[k] = select(goes_on > 0.0, target[k], source[k])


@kernel
def where(mask):
    """1 where a comparison holds, 0 elsewhere."""
    return select(mask, lanes_of(1.0), lanes_of(0.0))


@kernel(allocates=True)
def with_factors(packed, q, stale, fine):
    """Lanes that are stale get a factor of their own, the others keep theirs. 1 where there is one."""
    if all_true(stale == 0.0):
        return fine
    head, integers, p, work = apart(packed)
    size, space = loop_work_size(integers), as_lanes(work)
    kept = as_lanes(packed[head[LANE_PLACE.copy] : head[LANE_PLACE.forces]])
    _, _, _, _, _, _, _, _, _, pushes, change, tau, still, _, report = lanes_of_work(work, integers)
    keep(space[:size], kept[:size])
    invoke(integers[HEAD.articulate], integers, p, head[LANE_PLACE.count], q, still, tau, pushes, space, change)
    report[1] = 1.0
    invoke(head[LANE_PLACE.factor], packed, packed.shape[0])
    found = select(stale > 0.0, where(report[0] >= 0.0), fine)
    restore(stale, kept[:size], space[:size])
    return found


@kernel(allocates=True)
def onto_positions(packed, t, q, v, asked):
    """Bring the coordinates of lanes that are asked for onto the constraints; 1 where that was possible, and how far
    links are from the origin."""
    head, integers, p, work = apart(packed)
    size, nq, m, space = loop_work_size(integers), integers[HEAD.n_q], integers[HEAD.n_rows], as_lanes(work)
    _, states, _, rows, _, _, _, x, _, _, change, _, _, _, _ = lanes_of_work(work, integers)
    kept = as_lanes(packed[head[LANE_PLACE.copy] : head[LANE_PLACE.forces]])
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, topology = part(integers, integers, HEAD.rows), part(integers, integers, HEAD.topology)
    one = lanes_of(1.0)
    invoke(head[LANE_PLACE.evaluate], packed, packed.shape[0], t, q, v)
    far = farthest(states, part(p, integers, HEAD.levers), integers[HEAD.n_links])
    share, sweeps, stale, moving = largest_share(tiles, groups, equations, rows, m, far), 0, asked, asked
    fine = one
    while True:
        fine, fresh = with_factors(packed, q, stale, fine), stale
        moving = moving * fine * where(is_off(share))
        if not may_sweep(sweeps) or all_true(moving == 0.0):
            return fine * (one - asked * where(is_torn(share))), far
        for r in range(m):
            x[r] = value_of(groups, equations, rows, r, ROWS.residual)
        solve(head, integers, work)
        invoke(integers[HEAD.respond], integers, p, head[LANE_PLACE.count], -1.0, space)
        keep(q, kept[size : size + nq])
        keep(v, kept[size + nq : size + nq + v.shape[0]])
        retract(topology, q, v, change)
        restore(moving, kept[size : size + nq], q)
        restore(moving, kept[size + nq : size + nq + v.shape[0]], v)
        invoke(head[LANE_PLACE.evaluate], packed, packed.shape[0], t, q, v)
        sweeps += 1
        last, share = share, largest_share(tiles, groups, equations, rows, m, far)
        if sweeps > 2:
            done = maximum(fresh, where(share <= NOISE))
            moving = moving * (one - where(stays(share, last)) * done)
        stale = moving * where(is_slow(share, last))


@kernel(allocates=True)
def onto_velocities(packed, t, q, v, asked, far):
    """Bring the velocities of lanes that are asked for onto the constraints, with the factors that are there, unless
    that converges slowly; 1 where that was possible."""
    head, integers, p, work = apart(packed)
    _, _, motion, rows, _, _, _, x, _, _, change, _, _, _, _ = lanes_of_work(work, integers)
    tiles, groups = part(integers, integers, HEAD.tiles), part(integers, integers, HEAD.groups)
    equations, zero, moving = part(integers, integers, HEAD.rows), lanes_of(0.0), asked
    fine, share = lanes_of(1.0), zero
    for sweep in range(SPEED_SWEEPS):
        (spin, fast), before, share = fastest(motion, far), share, zero
        for r in range(integers[HEAD.n_rows]):
            x[r] = speed_of(packed, head, tiles, groups, equations, rows, r, motion)
            share = share_of(tiles, groups, equations, rows, r, x[r], spin, fast, share)
        moving = moving * where(share > SPEED_ROUNDING)
        if all_true(moving == 0.0):
            return fine
        if sweep == 1:
            fine = with_factors(packed, q, moving * where(is_poor(share, before)), fine)
            moving = moving * fine
        solve(head, integers, work)
        invoke(integers[HEAD.respond], integers, p, head[LANE_PLACE.count], -1.0, as_lanes(work))
        for k in range(v.shape[0]):
            v[k] = select(moving > 0.0, v[k] + change[k], v[k])
        invoke(head[LANE_PLACE.evaluate], packed, packed.shape[0], t, q, v)
    return fine


@kernel(allocates=True)
def brought_back(packed, t, q, v, asked):
    """Bring the lanes that are asked for onto the constraints; velocities are NaN where that was impossible."""
    nothing = lanes_of(np.nan)
    fine, far = onto_positions(packed, t, q, v, asked)
    fine = fine * onto_velocities(packed, t, q, v, asked * fine, far)
    for k in range(v.shape[0]):
        v[k] = select(fine > 0.0, v[k], nothing)


@native
def project(packed_at, packed_size, t, q_at, v_at):
    """`entry.project`. A lane whose own time is NaN is left as it is; laws in it see the time of another lane, since
    those of users may not end at NaN, or look up something there."""
    packed = carray(packed_at, (packed_size,))
    _, integers, _, work = apart(packed)
    q, v = carray(q_at, (integers[HEAD.n_q],)), carray(v_at, (integers[HEAD.n_v],))
    space, times = lanes_of_work(work, integers), as_lanes(packed[:WIDTH])
    for k in range(integers[HEAD.n_v]):
        space.tau[k] = space.still[k] = 0.0
    for k in range(6 * integers[HEAD.n_links]):
        space.pushes[k] = 0.0
    asked, time = where(times[0] == times[0]), np.nan
    for lane in range(WIDTH):
        if packed[lane] == packed[lane]:
            time = packed[lane]
    if time == time:
        times[0] = select(asked > 0.0, times[0], lanes_of(time))
        brought_back(packed, t, q, v, asked)


@cache
def addresses() -> dict[str, int]:
    """Addresses of what is common to all mechanisms on lanes, compiled now or loaded from the cache."""
    size, real, i, n, whole = INTEGER, NUMBER, INTEGERS, MANY_LANES, (NUMBERS, INTEGER)
    return {
        "articulate": address_of(steps.articulate, i, n, size, *(n,) * 6),
        "respond": address_of(steps.respond, i, n, size, real, n),
        "evaluate": address_of(evaluate, *whole, real, n, n),
        "factor": address_of(factor, *whole),
        "special": address_of(special_by_lane, *whole, size, size, NUMBERS, NUMBERS),
        "accelerate": address_of(accelerate, *whole, real, *(n,) * 5),
        "project": address_of(project, *whole, real, n, n),
    }
