"""Four runs on lanes whose steps follow the error, each its own: they share the arithmetic of a step, nothing else.

A step is taken by all lanes at once, each from its own time and as long as it wants. What follows from it, its error
above all, is found one lane after the other by the kernels of single runs: so a run has the bits that it has alone.
Steps that were accepted are corrected on all lanes, if the problem says how. A lane whose run is at its end gets the
next one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.integrate.dense_output import keep_move, record, room
from chasles.integrate.engine import begun_anew, choose_step, commit, correct, has_last, short_of
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import REAL, SET, STATE, TALLY, scratch
from chasles.integrate.explicit_step import copy
from chasles.integrate.scalar import ON_LANES
from chasles.integrate.status import DONE, FULL, NOT_FINITE, REJECTED, RUNNING, UNDERFLOW
from chasles.integrate.step_address import step_address, take_step
from chasles.integrate.step_control import finite, judge
from chasles.integrate.vector_field import call
from chasles.kernel.lanes import WIDTH, buffer, lanes_of, load
from chasles.kernel.own_time import told_time
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

ROWS = 128  # saved points a lane and piece
AT_ONCE = 4096  # steps of all lanes in a call of the loop
# of a step whose end waits until points between are saved: whether there is one, its end, what follows from it; of each
# step its goal, whether it ends at the next stop or at the end of the run, whether that is a stop, and whether the run
# begins anew there
KEPT = layout("KEPT", saving=1, target=1, h=1, error=1, verdict=1, goal=1, last=1, at_stop=1, anew=1)


@kernel
def next_step(settings, real, state, counts, times, stops, kept):
    """(t, end, size) of the next step of a lane; shorter ones go to times to save at. Those that end at a stop are
    shorter by a rounding error. stops: those that are left."""
    if kept[KEPT.saving] != 0.0:
        t = state[STATE.t]
        return t, kept[KEPT.target], times[counts[TALLY.next_time]] - t
    goal = stops[0] if stops.shape[0] > 0 else real[REAL.end]
    t, target, h, last = choose_step(settings, real, state, counts[TALLY.accepted], goal)
    at_stop = last and stops.shape[0] > 0
    kept[KEPT.goal], kept[KEPT.last], kept[KEPT.at_stop] = target, 1.0 if last else 0.0, 1.0 if at_stop else 0.0
    if at_stop:
        h = short_of(t, target)
        return t, t + h, h
    return t, target, h


@kernel
def saved_between(settings, real, counts, f0, times, records, kept, parts):
    """Save at the end of a step if it is asked for; whether a time before it is left, to which a shorter one goes."""
    n, d = settings[SET.point], settings[SET.algebra]
    target, direction = kept[KEPT.target], 1.0 if real[REAL.end] >= real[REAL.start] else -1.0
    while counts[TALLY.next_time] < times.shape[0] and direction * (times[counts[TALLY.next_time]] - target) <= 0.0:
        if times[counts[TALLY.next_time]] != target:
            kept[KEPT.saving] = 1.0
            return True
        record(records, counts[TALLY.records], target, kept[KEPT.size :], f0, parts[3], n, d, 0.0)
        counts[TALLY.records] += 1
        counts[TALLY.next_time] += 1
    kept[KEPT.saving] = 0.0
    return False


@kernel
def judged(table, measured, addresses, settings, real, weights, e, program, state, counts, y, kept, parts, h, last):
    """Judge the step of a lane, whose result is in `parts`; whether it is to be corrected and gone on from."""
    counts[TALLY.evaluations] += settings[SET.stages] - 1
    if kept[KEPT.saving] != 0.0:
        kept[KEPT.verdict] = float(DONE if finite(parts[4], settings[SET.point], 0.0) else NOT_FINITE)
    else:
        verdict, kept[KEPT.h], kept[KEPT.error] = judge(
            *(table, measured, addresses, settings, real, e, program, weights, state, counts, y, h, last),
            *(parts[6][0], parts),
        )
        kept[KEPT.verdict] = float(verdict)
    return kept[KEPT.verdict] == DONE


@kernel
def settle(
    table, addresses, settings, real, state, counts, y, f0, x_sum, times, records, kept, parts
):  # fmt: skip
    """What follows from the step of a lane, corrected and judged, as in the loop of single runs."""
    n, d, by_time = settings[SET.point], settings[SET.algebra], times.shape[0] > 0
    out, f1, verdict = parts[4], parts[7], int(kept[KEPT.verdict])
    if verdict == REJECTED:
        counts[TALLY.rejected] += 1
        counts[TALLY.just_rejected] = 1
        state[STATE.h] = kept[KEPT.h]
        return
    if verdict != DONE or not finite(out, n, 0.0):
        counts[TALLY.status] = NOT_FINITE if verdict == DONE else verdict
        return
    if kept[KEPT.saving] != 0.0:
        record(records, counts[TALLY.records], times[counts[TALLY.next_time]], out, f0, parts[3], n, d, 0.0)
        counts[TALLY.records] += 1
        counts[TALLY.next_time] += 1
    else:
        if not has_last(settings):
            counts[TALLY.evaluations] += 1
        if not finite(f1, d, 0.0):
            counts[TALLY.status] = NOT_FINITE
            return
        kept[KEPT.target] = kept[KEPT.goal]
        if by_time:
            copy(out, 0, kept, KEPT.size, n, 0.0)
            copy(f1, 0, kept, KEPT.size + n, d, 0.0)
        else:
            keep_move(table, addresses, settings, state, parts[3], x_sum, parts[6], 0.0)
    if by_time:
        if saved_between(settings, real, counts, f0, times, records, kept, parts):
            return
        copy(kept, KEPT.size, out, 0, n, 0.0)
        copy(kept, KEPT.size + n, f1, 0, d, 0.0)
    target = kept[KEPT.target]
    commit(settings, state, counts, target, y, f0, x_sum, records, target == real[REAL.end], by_time, parts, 0.0)
    state[STATE.h], state[STATE.old_error] = kept[KEPT.h], kept[KEPT.error]
    if target == real[REAL.end]:
        counts[TALLY.status] = DONE
    else:
        kept[KEPT.anew] = kept[KEPT.at_stop]


@kernel
def after_stops(
    settings, reals, states, tallies, points, values, sums, records, kept, memory, passed, y, f0, by_time, on_four, now,
    address, p, z,
):  # fmt: skip
    """Begin anew in lanes that came to a stop, as single runs do: `engine.begin_anew` on all lanes."""
    n, d, size = settings[SET.point], settings[SET.algebra], memory.shape[0] // WIDTH
    width, rows, more = reals.shape[0] // WIDTH, records.shape[0] // WIDTH, kept.shape[0] // WIDTH
    for lane in range(WIDTH):
        now[lane] = np.nan
        if kept[more * lane + KEPT.anew] != 0.0:
            real = reals[width * lane : width * (lane + 1)]
            direction = 1.0 if real[REAL.end] >= real[REAL.start] else -1.0
            now[lane] = np.nextafter(states[STATE.size * lane + STATE.t], direction * np.inf)
    copy(y, 0, on_four[4], 0, n, z)
    correct(settings, told_time(load(now, 0, z), p), on_four, p, z)
    for lane in range(WIDTH):
        if kept[more * lane + KEPT.anew] == 0.0:
            now[lane] = states[STATE.size * lane + STATE.t]
            continue
        for m in range(n):
            points[n * lane + m] = y[WIDTH * m + lane] = on_four[4][WIDTH * m + lane]
    call(address, told_time(load(now, 0, z), p), y, p, on_four[7], 0, n, d, z)
    for lane in range(WIDTH):
        if kept[more * lane + KEPT.anew] == 0.0:
            continue
        kept[more * lane + KEPT.anew] = 0.0
        passed[lane] += 1
        point, value = points[n * lane : n * (lane + 1)], values[d * lane : d * (lane + 1)]
        for m in range(d):
            value[m] = f0[WIDTH * m + lane] = on_four[7][WIDTH * m + lane]
        counts = tallies[TALLY.size * lane : TALLY.size * (lane + 1)]
        state, before = states[STATE.size * lane : STATE.size * (lane + 1)], memory[size * lane : size * (lane + 1)]
        fine = finite(point, n, 0.0) and begun_anew(
            *(settings, now[lane], state, counts, point, value, scratch(before, settings, 1)[7]),
            *(sums[d * lane : d * (lane + 1)], records[rows * lane : rows * (lane + 1)], by_time),
        )
        if not fine:
            counts[TALLY.status] = NOT_FINITE


@kernel
def value_at_ends(settings, parts, ends, address, p, z):
    """The field where the steps of all lanes end: the last stage, if the method has it there, or one more."""
    n, d, stages = settings[SET.point], settings[SET.algebra], settings[SET.stages]
    if has_last(settings):
        copy(parts[0], (stages - 1) * d, parts[7], 0, d, z)
    else:
        call(address, told_time(load(ends, 0, z), p), parts[4], p, parts[7], 0, n, d, z)


@kernel(entry=True)
def advance_lanes(
    table, measured, addresses, on_lanes, settings, reals, a, b, c, e, extra, program, states, tallies, points, values,
    sums, times, stops, passed, records, kept, memory, y, f0, lane_memory, now, address, p, limit,
):  # fmt: skip
    """Take up to `limit` steps in each lane, until one of them needs attention: its status tells.

    Real settings, states, tallies, points, field values, moves, records and what is kept of a step are those of four
    runs, one after the other, as are times at which steps end and begin anew, `stops`, of which `passed` says how many
    are passed, and how many there are. y, f0, lane_memory and p are buffers of lanes; `now` has times, steps and
    ends of all, and which times are reached by steps that are accepted."""
    z = lanes_of(0.0)
    n, d, size = settings[SET.point], settings[SET.algebra], memory.shape[0] // WIDTH
    on_four = scratch(lane_memory, settings, WIDTH)
    width, rows, more = reals.shape[0] // WIDTH, records.shape[0] // WIDTH, kept.shape[0] // WIDTH
    start, step, ends = now[:WIDTH], now[WIDTH : 2 * WIDTH], now[2 * WIDTH : 3 * WIDTH]
    accepted, most = now[3 * WIDTH : 4 * WIDTH], stops.shape[0] // WIDTH
    for _ in range(limit):
        for lane in range(WIDTH):
            counts = tallies[TALLY.size * lane : TALLY.size * (lane + 1)]
            state, real = states[STATE.size * lane : STATE.size * (lane + 1)], reals[width * lane : width * (lane + 1)]
            if counts[TALLY.status] == RUNNING:
                if counts[TALLY.records] + 3 >= room(records[rows * lane : rows * (lane + 1)], settings, 1):
                    counts[TALLY.status] = FULL
                    return
                own = kept[more * lane : more * (lane + 1)]
                left = stops[most * lane + passed[lane] : most * lane + passed[WIDTH + lane]]
                start[lane], ends[lane], step[lane] = next_step(settings, real, state, counts, times, left, own)
                if own[KEPT.saving] == 0.0 and (
                    abs(step[lane]) < real[REAL.shortest] or start[lane] + step[lane] == start[lane]
                ):
                    counts[TALLY.status] = UNDERFLOW
                    return
            else:
                step[lane] = 0.0
        take_step(
            table, on_lanes, settings, a, b, c, extra, program, start, step, y, f0, lane_memory, on_four, address, p, z
        )
        for lane in range(WIDTH):
            counts = tallies[TALLY.size * lane : TALLY.size * (lane + 1)]
            accepted[lane] = np.nan
            if counts[TALLY.status] == RUNNING:
                own = memory[size * lane : size * (lane + 1)]
                for m in range(size):
                    own[m] = lane_memory[WIDTH * m + lane]
                state = states[STATE.size * lane : STATE.size * (lane + 1)]
                real, kept_here = reals[width * lane : width * (lane + 1)], kept[more * lane : more * (lane + 1)]
                last = kept_here[KEPT.last] != 0.0
                if judged(
                    *(table, measured, addresses, settings, real, a, e, program, state, counts),
                    *(points[n * lane : n * (lane + 1)], kept_here, scratch(own, settings, 1), step[lane], last),
                ):
                    between = kept_here[KEPT.saving] != 0.0
                    accepted[lane] = times[counts[TALLY.next_time]] if between else ends[lane]
        correct(settings, told_time(load(accepted, 0, z), p), on_four, p, z)
        value_at_ends(settings, on_four, ends, address, p, z)
        attention, stopped = False, False
        for lane in range(WIDTH):
            counts = tallies[TALLY.size * lane : TALLY.size * (lane + 1)]
            if counts[TALLY.status] != RUNNING:
                continue
            parts = scratch(memory[size * lane : size * (lane + 1)], settings, 1)
            for m in range(n):
                parts[4][m] = on_four[4][WIDTH * m + lane]
            for m in range(d):
                parts[7][m] = on_four[7][WIDTH * m + lane]
            state, real = states[STATE.size * lane : STATE.size * (lane + 1)], reals[width * lane : width * (lane + 1)]
            point, value, moved = points[n * lane : n * (lane + 1)], values[d * lane : d * (lane + 1)], sums[d * lane :]
            settle(
                *(table, addresses, settings, real, state, counts, point, value, moved, times),
                *(records[rows * lane : rows * (lane + 1)], kept[more * lane : more * (lane + 1)], parts),
            )
            stopped = stopped or kept[more * lane + KEPT.anew] != 0.0
            attention = attention or counts[TALLY.status] != RUNNING
            for m in range(n):
                y[WIDTH * m + lane] = point[m]
            for m in range(d):
                f0[WIDTH * m + lane] = value[m]
        if stopped:
            after_stops(
                *(settings, reals, states, tallies, points, values, sums, records, kept, memory, passed, y, f0),
                *(times.shape[0] > 0, on_four, accepted, address, p, z),
            )
            for lane in range(WIDTH):
                attention = attention or tallies[TALLY.size * lane + TALLY.status] == NOT_FINITE
        if attention:
            return


class Advanced(NamedTuple):
    """A run that came to its end: saved points (rows, numbers), the last point and the counters."""

    rows: np.ndarray
    y: np.ndarray
    counts: np.ndarray


class LaneAdvance:
    """Four lanes, each with a run of its own: put in by `begin`, and gone on with until one is at its end.

    lead: a run of the same method and options, with which all begin; address: of the field on lanes, p its parameters;
    correction: of what corrects points on lanes after each step, or 0. It leaves lanes alone whose time is NaN. most:
    times that a run may have at which steps end and begin anew.
    """

    def __init__(self, lead: ExplicitStepper, address: int, p: np.ndarray, correction: int = 0, most: int = 0):
        self.lead, self.address, self.p = lead, address, p
        self.settings = lead.settings.copy()
        self.settings[SET.step] = step_address(int(lead.settings[SET.family]), ON_LANES, own=True)
        self.settings[SET.correction] = correction
        n, d = lead.space.size, lead.space.dimension
        self.reals, self.states = np.zeros((WIDTH, lead.real.size)), np.zeros((WIDTH, STATE.size))
        self.tallies = np.zeros((WIDTH, TALLY.size), dtype=np.int64)
        self.tallies[:, TALLY.status] = DONE
        self.points, self.values, self.sums = (np.zeros((WIDTH, size)) for size in (n, d, d))
        self.records = np.zeros((WIDTH, ROWS, lead.width))
        self.kept = np.zeros((WIDTH, KEPT.size + n + d))
        self.y, self.f0, self.now = buffer(n), buffer(d), buffer(4)
        self.memory, scalars = buffer(len(lead.memory)), np.zeros(WIDTH * len(lead.memory))
        self.now[:] = 0.0
        self.pieces: list[list[np.ndarray]] = [[] for _ in range(WIDTH)]
        on_lanes = lead.operations(*lead.needed(), on=ON_LANES)
        space = (lead.space.table, lead.space.measured, lead.addresses, on_lanes)
        method = (self.settings, self.reals.reshape(-1), *lead.arrays(estimate=True)[2:])
        of_lanes = (self.states, self.tallies, self.points, self.values, self.sums)
        flat = [part.reshape(-1) for part in of_lanes]
        self.stops, self.passed = np.zeros((WIDTH, most)), np.zeros((2, WIDTH), dtype=np.int64)
        ends = self.stops.reshape(-1), self.passed.reshape(-1)
        stored = (lead.times, *ends, self.records.reshape(-1), self.kept.reshape(-1), scalars)
        self._arguments: tuple[Any, ...] = (*space, *method, *flat, *stored, self.y, self.f0, self.memory, self.now)

    def begin(self, lane: int, stops: np.ndarray | None = None) -> None:
        """Put the run of the lead, which is at its begin, into a lane; stops: in the order in which it passes them, all
        after its begin."""
        lead, count = self.lead, 0 if stops is None else len(stops)
        self.passed[:, lane] = 0, count
        self.stops[lane, :count] = 0.0 if stops is None else stops
        self.reals[lane], self.states[lane], self.tallies[lane] = lead.real, lead.state, lead.counts
        self.points[lane], self.values[lane], self.sums[lane] = lead.y, lead.f0, 0.0
        self.kept[lane], self.pieces[lane] = 0.0, []
        self.y[lane::WIDTH], self.f0[lane::WIDTH] = lead.y, lead.f0
        self.tallies[lane, TALLY.status] = RUNNING

    @property
    def free(self) -> list[int]:
        """Lanes without a run."""
        return np.flatnonzero(self.tallies[:, TALLY.status] != RUNNING).tolist()

    def go_on(self) -> None:
        """Take steps, until a run is at its end or a while is over."""
        advance_lanes(*self._arguments, self.address, self.p, AT_ONCE)
        for lane in range(WIDTH):
            count = self.tallies[lane, TALLY.records]
            if count and self.tallies[lane, TALLY.status] != RUNNING:
                self.pieces[lane].append(self.records[lane, :count].copy())
                self.tallies[lane, TALLY.records] = 0
            if self.tallies[lane, TALLY.status] == FULL:
                self.tallies[lane, TALLY.status] = RUNNING

    def ended(self, lane: int) -> Advanced | None:
        """The run of a lane that is free, if it got to its end."""
        if self.tallies[lane, TALLY.status] != DONE:
            return None
        rows = np.concatenate(self.pieces[lane]) if self.pieces[lane] else np.empty((0, self.lead.width))
        return Advanced(rows, self.points[lane].copy(), self.tallies[lane].copy())
