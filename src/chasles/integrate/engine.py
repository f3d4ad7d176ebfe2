"""The compiled loops of the explicit methods. All that a run needs to go on is in arrays, so it can be stopped, stored
and resumed.

`march` takes fixed steps, on one state or on lanes, for batches. `advance` can do more on one state: adaptive steps,
events, points at given times.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.dense_output import keep_move, record, room
from chasles.integrate.explicit_layout import MUNTHE_KAAS, REAL, SET, STATE, TALLY, scratch
from chasles.integrate.explicit_step import copy
from chasles.integrate.status import DONE, EVENT, FULL, NOT_FINITE, REJECTED, RUNNING, SPENT, UNDERFLOW
from chasles.integrate.step_address import take_step
from chasles.integrate.step_control import finite, flaw, judge
from chasles.integrate.vector_field import call
from chasles.kernel.lanes import lanes_of, like, store
from chasles.kernel.policy import kernel

EPS = 2.0**-52


@kernel
def choose_step(settings, real, state, done, goal):
    """(t, end of the step, step, whether it ends at the goal). `done` fixed steps are done; the end of the next is
    counted from the start, so that rounding does not pile up."""
    t = state[STATE.t]
    direction = 1.0 if real[REAL.end] >= real[REAL.start] else -1.0
    h = direction * min(abs(state[STATE.h]), real[REAL.longest])
    if not settings[SET.adaptive]:
        h = real[REAL.start] + (done + 1) * real[REAL.step] - t
    target, last = goal, direction * (t + h * (1.0 + 1e-10) - goal) >= -real[REAL.shortest]
    if not last:
        target = t + h if settings[SET.adaptive] else real[REAL.start] + (done + 1) * real[REAL.step]
    return t, target, target - t, last


@kernel
def next_stop(stops, t, direction):
    """Which stop comes next after the time t."""
    k = 0
    while k < stops.shape[0] and direction * (stops[k] - t) <= 0.0:
        k += 1
    return k


@kernel
def short_of(t, goal):
    """A step from t to the goal, shorter by a rounding error: all its stages lie before the goal, where laws may
    jump."""
    h = goal - t
    bit = np.copysign(EPS * max(abs(t), abs(goal)), h)
    while (t + h - goal) * bit >= 0.0:
        h -= bit
    return h


@kernel
def step_to_stop(settings, real, state, counts, stops, k):
    """The next step as of `choose_step`, and whether it ends at the stop k: then it is shorter by a rounding error."""
    done = counts[TALLY.accepted]
    if stops.shape[0] and not settings[SET.adaptive]:  # steps that ended at stops are not counted
        done = int((state[STATE.t] - real[REAL.start]) / real[REAL.step] + 1e-6)
    at_stop = k < stops.shape[0]
    t, target, h, last = choose_step(settings, real, state, done, stops[k] if at_stop else real[REAL.end])
    at_stop = at_stop and last
    if at_stop:
        h = short_of(t, target)
    return t, target, h, last, at_stop


@kernel
def correct(settings, t, parts, p, z):
    """Bring the result of a step to where it must be, if the problem says how; whether it is finite then."""
    n = settings[SET.point]
    if settings[SET.correction] != 0:
        call(settings[SET.correction], t, parts[4], p, parts[5], 0, n, n, z)
        copy(parts[5], 0, parts[4], 0, n, z)
        return finite(parts[4], n, z)
    return True


@kernel
def has_last(settings):
    """Whether the last stage of a step is the field at its end."""
    return settings[SET.same_last] and settings[SET.family] == MUNTHE_KAAS and settings[SET.correction] == 0


@kernel
def last_value(settings, t, counts, parts, address, p, z):
    """The field at the end of the step: the last stage, if the method has it there, or one more evaluation."""
    f, _, _, _, out, _, _, f1, _, _ = parts
    n, d, stages = settings[SET.point], settings[SET.algebra], settings[SET.stages]
    if has_last(settings):
        copy(f, (stages - 1) * d, f1, 0, d, z)
        return True
    call(address, t, out, p, f1, 0, n, d, z)
    counts[TALLY.evaluations] += 1
    return finite(f1, d, z)


@kernel
def event_in_step(watched, levels, t, y, p, work, n):
    """Evaluate the event functions at the end of a step (second column of levels); whether one changed sign."""
    crossed = False
    for m in range(watched.shape[0]):
        call(watched[m, 0], t, y, p, work, 0, n, 1, 0.0)
        before, after, direction = levels[m, 0], work[0], watched[m, 1]
        levels[m, 1] = after
        rising, falling = before < 0.0 <= after, before > 0.0 >= after
        if (rising and direction >= 0) or (falling and direction <= 0) or after != after:
            crossed = True
    return crossed


@kernel
def save_times(
    table, addresses, settings, a, b, c, extra, program, t, target, y, f0, memory, parts, address, p,
    times, records, counts,
):  # fmt: skip
    """Save the requested times in (t, target], each by a shorter step of its own: so they have the order of the method,
    and the steps of the run do not depend on them. FULL if there is no room: the step is taken again when there is."""
    n, d, stages = settings[SET.point], settings[SET.algebra], settings[SET.stages]
    out, kept = parts[4], parts[9]
    direction = 1.0 if target >= t else -1.0
    first = end = counts[TALLY.next_time]
    while end < times.shape[0] and direction * (times[end] - target) <= 0.0:
        end += 1
    if counts[TALLY.records] + end - first > room(records, settings, 1):
        return FULL
    copy(out, 0, kept, 0, n, 0.0)
    for i in range(first, end):
        if times[i] == target:
            copy(kept, 0, out, 0, n, 0.0)
        else:
            h = times[i] - t
            take_step(table, addresses, settings, a, b, c, extra, program, t, h, y, f0, memory, parts, address, p, 0.0)
            counts[TALLY.evaluations] += stages - 1
            if not (finite(out, n, 0.0) and correct(settings, times[i], parts, p, 0.0)):
                return NOT_FINITE
        record(records, counts[TALLY.records], times[i], out, f0, parts[3], n, d, 0.0)
        counts[TALLY.records] += 1
    counts[TALLY.next_time] = end
    copy(kept, 0, out, 0, n, 0.0)
    return DONE


@kernel
def commit(settings, state, counts, target, y, f0, x_sum, records, last, by_time, parts, z):
    """Make the result of a step the new point, and save it if it is its turn."""
    n, d, every = settings[SET.point], settings[SET.algebra], settings[SET.save_every]
    counts[TALLY.accepted] += 1
    counts[TALLY.just_rejected] = counts[TALLY.pass_event] = 0
    state[STATE.t] = target
    copy(parts[4], 0, y, 0, n, z)
    copy(parts[7], 0, f0, 0, d, z)
    if not by_time and (last or (every > 0 and state[STATE.since_save] >= every)):
        record(records, counts[TALLY.records], target, y, f0, x_sum, n, d, z)
        counts[TALLY.records] += 1
        state[STATE.since_save] = 0.0
        for m in range(d):
            store(x_sum, m, like(0.0, z))


@kernel
def begin_anew(settings, direction, state, counts, y, f0, x_sum, records, by_time, parts, address, p):
    """Begin anew at a stop: the field is that just after it, and no error is remembered. If the field jumps, the point
    is saved a second time, just after the stop, so that the curve through the points has both slopes. Whether all is
    finite."""
    n, d = settings[SET.point], settings[SET.algebra]
    t = np.nextafter(state[STATE.t], direction * np.inf)
    copy(y, 0, parts[4], 0, n, 0.0)
    if not correct(settings, t, parts, p, 0.0):
        return False
    copy(parts[4], 0, y, 0, n, 0.0)
    call(address, t, y, p, f0, 0, n, d, 0.0)
    return begun_anew(settings, t, state, counts, y, f0, parts[7], x_sum, records, by_time)


@kernel
def begun_anew(settings, t, state, counts, y, f0, before, x_sum, records, by_time):
    """What follows once the point and the field just after a stop are there; before: the field before it."""
    n, d = settings[SET.point], settings[SET.algebra]
    state[STATE.old_error] = 1.0
    counts[TALLY.evaluations] += 1
    if not by_time and settings[SET.save_every] == 1:
        jump, size = 0.0, 0.0
        for m in range(d):
            jump, size = max(jump, abs(f0[m] - before[m])), max(size, abs(f0[m]) + abs(before[m]))
            x_sum[m] = 0.0
        if jump > 1e-9 * size:
            record(records, counts[TALLY.records], t, y, f0, x_sum, n, d, 0.0)
            counts[TALLY.records] += 1
    return finite(f0, d, 0.0)


@kernel(entry=True, vectorized=False)
def advance(
    table, measured, addresses, settings, real, a, b, c, e, extra, program, state, counts, y, f0, x_sum, times, stops,
    records, memory, address, p, watched, levels, limit,
):  # fmt: skip
    """Take up to `limit` steps. State, counts, y, f0, x_sum and levels are the whole memory of the run.

    `measured` are the vectors of the point whose errors count. `a`, `b` are the tableau (or `a` the factors' weights of
    a product), `e` rows of error weights, `times` the times to save at (or empty: every `save_every` steps), `stops`
    those to begin anew at, `memory` scratch space. `watched` has the addresses and directions of event functions,
    `levels` their values: a step over a zero is not taken but reported, for `solve` to look closer.
    """
    parts = scratch(memory, settings, 1)
    x, out, work = parts[3], parts[4], parts[6]
    adaptive, by_time, end = settings[SET.adaptive], times.shape[0] > 0, real[REAL.end]
    direction = 1.0 if end >= real[REAL.start] else -1.0
    k = next_stop(stops, state[STATE.t], direction)
    for _ in range(limit):
        if counts[TALLY.records] + 2 >= room(records, settings, 1):
            counts[TALLY.status] = FULL
            return
        if counts[TALLY.evaluations] >= settings[SET.most]:
            counts[TALLY.status] = SPENT
            return
        t, target, h, last, at_stop = step_to_stop(settings, real, state, counts, stops, k)
        if abs(h) < real[REAL.shortest] or t + h == t:
            counts[TALLY.status] = UNDERFLOW
            return
        angle = take_step(
            table, addresses, settings, a, b, c, extra, program, t, h, y, f0, memory, parts, address, p, 0.0
        )
        counts[TALLY.evaluations] += settings[SET.stages] - 1
        new_h, new_error = state[STATE.h], state[STATE.old_error]
        if adaptive:
            verdict, new_h, new_error = judge(
                *(table, measured, addresses, settings, real, e, program, a, state, counts, y, h, last, angle, parts)
            )
        else:
            verdict = flaw(settings, angle, parts, 0.0)
        if verdict == REJECTED:
            counts[TALLY.rejected] += 1
            counts[TALLY.just_rejected] = 1
            state[STATE.h] = new_h
            continue
        reached = t + h if at_stop else target
        if verdict == DONE and not correct(settings, reached, parts, p, 0.0):
            verdict = NOT_FINITE
        if verdict == DONE and not last_value(settings, reached, counts, parts, address, p, 0.0):
            verdict = NOT_FINITE
        if verdict != DONE:
            counts[TALLY.status] = verdict
            return
        if event_in_step(watched, levels, target, out, p, work, settings[SET.point]) and not counts[TALLY.pass_event]:
            counts[TALLY.status] = EVENT
            state[STATE.event_step] = h
            return
        if not by_time:
            keep_move(table, addresses, settings, state, x, x_sum, work, 0.0)
        else:
            method = (settings, a, b, c, extra, program)
            counts[TALLY.status] = save_times(
                *(table, addresses, *method, t, target, y, f0, memory, parts, address, p, times, records, counts)
            )
            if counts[TALLY.status] != DONE:
                return
        commit(settings, state, counts, target, y, f0, x_sum, records, target == end, by_time, parts, 0.0)
        state[STATE.h], state[STATE.old_error] = new_h, new_error
        for m in range(levels.shape[0]):
            levels[m, 0] = levels[m, 1]
        if at_stop and target != end:
            k += 1
            if not begin_anew(settings, direction, state, counts, y, f0, x_sum, records, by_time, parts, address, p):
                counts[TALLY.status] = NOT_FINITE
                return
        if target == end:
            counts[TALLY.status] = DONE
            return
    counts[TALLY.status] = RUNNING


@kernel
def march(
    table, addresses, settings, real, a, b, c, extra, program, state, counts, y, f0, x_sum, records, memory, address,
    p, limit, z,
):  # fmt: skip
    """Take up to `limit` fixed steps without events, on one state or (z: lanes) on four at once."""
    width = y.shape[0] // settings[SET.point]
    parts = scratch(memory, settings, width)
    x, work = parts[3], parts[6]
    for _ in range(limit):
        if counts[TALLY.records] + 1 >= room(records, settings, width):
            counts[TALLY.status] = FULL
            return
        t, target, h, last = choose_step(settings, real, state, counts[TALLY.accepted], real[REAL.end])
        if abs(h) < real[REAL.shortest] or t + h == t:
            counts[TALLY.status] = UNDERFLOW
            return
        angle = take_step(
            table, addresses, settings, a, b, c, extra, program, t, h, y, f0, memory, parts, address, p, z
        )
        counts[TALLY.evaluations] += settings[SET.stages] - 1
        verdict = flaw(settings, angle, parts, z)
        if verdict == DONE and not correct(settings, target, parts, p, z):
            verdict = NOT_FINITE
        if verdict == DONE and not last_value(settings, target, counts, parts, address, p, z):
            verdict = NOT_FINITE
        if verdict != DONE:
            counts[TALLY.status] = verdict
            return
        keep_move(table, addresses, settings, state, x, x_sum, work, z)
        commit(settings, state, counts, target, y, f0, x_sum, records, last, False, parts, z)
        if last:
            counts[TALLY.status] = DONE
            return
    counts[TALLY.status] = RUNNING


@kernel(entry=True)
def march_scalar(
    table, addresses, settings, real, a, b, c, extra, program, state, counts, y, f0, x_sum, records, memory, address,
    p, limit,
):  # fmt: skip
    """`march` on one state."""
    arrays = (table, addresses, settings, real, a, b, c, extra, program, state, counts)
    march(*arrays, y, f0, x_sum, records, memory, address, p, limit, 0.0)


@kernel(entry=True)
def march_lanes(
    table, addresses, settings, real, a, b, c, extra, program, state, counts, y, f0, x_sum, records, memory, address,
    p, limit,
):  # fmt: skip
    """`march` on lanes: point, field values, moves, records, memory and p are buffers of lanes."""
    z = lanes_of(0.0)
    arrays = (table, addresses, settings, real, a, b, c, extra, program, state, counts)
    march(*arrays, y, f0, x_sum, records, memory, address, p, limit, z)


@kernel(entry=True)
def trial(table, addresses, settings, a, b, c, extra, program, t, h, y, f0, memory, address, p, move, point):
    """One step of any size from (t, y), which changes nothing: how events are located. Also gives its move."""
    parts = scratch(memory, settings, 1)
    method = (settings, a, b, c, extra, program)
    take_step(table, addresses, *method, t, h, y, f0, memory, parts, address, p, 0.0)
    copy(parts[3], 0, move, 0, settings[SET.algebra], 0.0)
    copy(parts[4], 0, point, 0, settings[SET.point], 0.0)


@kernel(entry=True)
def evaluate(address, t, y, p, out):
    """The field at one point, for callers in Python."""
    call(address, t, y, p, out, 0, y.shape[0], out.shape[0], 0.0)
