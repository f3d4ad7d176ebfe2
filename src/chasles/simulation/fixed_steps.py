"""Fixed steps of explicit methods that are taken from outside, one after the other, of one system or of many on lanes.

Inputs change before each step, so the field at the end of one is not that at the begin of the next: it is found there.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.engine import choose_step, correct
from chasles.integrate.explicit_layout import LARGEST_ANGLE, MUNTHE_KAAS, REAL, SET, STATE, TALLY, scratch
from chasles.integrate.explicit_step import copy
from chasles.integrate.status import DONE, NEAR_POLE, NOT_FINITE, RUNNING, UNDERFLOW
from chasles.integrate.step_address import take_step
from chasles.integrate.step_control import flaw
from chasles.integrate.vector_field import call
from chasles.kernel.lanes import WIDTH, lanes_of, like, load, store
from chasles.kernel.policy import kernel


@kernel(entry=True)
def hold(forces, index, gear, low, high, given, kept):
    """Generalized forces of an input, as `Actuation.along` has them, and a copy of it."""
    for k in range(forces.shape[0]):
        forces[k] = 0.0
    for k in range(given.shape[0]):
        kept[k] = given[k]
        forces[index[k]] += gear[k] * min(max(given[k], low[k]), high[k])


@kernel
def fixed_step(table, addresses, settings, real, a, b, c, extra, program, i, y, f0, memory, parts, address, p, z):
    """Step i, its result in the parts of the scratch space; returns the largest angle. Times are counted from the
    start, as `engine.choose_step` does."""
    t = real[REAL.start] + i * real[REAL.step]
    h = real[REAL.start] + (i + 1) * real[REAL.step] - t
    call(address, t, y, p, f0, 0, settings[SET.point], settings[SET.algebra], z)
    return take_step(table, addresses, settings, a, b, c, extra, program, t, h, y, f0, memory, parts, address, p, z)


@kernel(entry=True)
def step_one(
    table, addresses, settings, real, a, b, c, extra, program, state, counts, y, f0, memory, address, p, count,
):  # fmt: skip
    """Take `count` steps of one system."""
    parts = scratch(memory, settings, 1)
    for _ in range(count):
        angle = fixed_step(
            *(table, addresses, settings, real, a, b, c, extra, program, counts[TALLY.accepted]),
            *(y, f0, memory, parts, address, p, 0.0),
        )
        counts[TALLY.evaluations] += settings[SET.stages]
        verdict = flaw(settings, angle, parts, 0.0)
        if verdict != DONE:
            counts[TALLY.status] = verdict
            return
        copy(parts[4], 0, y, 0, settings[SET.point], 0.0)
        counts[TALLY.accepted] += 1
        state[STATE.t] = real[REAL.start] + counts[TALLY.accepted] * real[REAL.step]
    counts[TALLY.status] = RUNNING


@kernel(entry=True)
def run_period(
    table, addresses, settings, real, a, b, c, extra, program, state, counts, y, f0, memory, address, p, fresh, forces,
    given, at, rows, told, kept, limit,
):  # fmt: skip
    """A run of fixed steps from y that ends in at most `limit` of them, with the input `given`, whose forces go to
    p[at:]; what else is in the parameters is fresh. told: start, end, step. rows: room for saved points, each (time,
    point, input), after those of runs before; kept: how many there are, and the steps and evaluations of these runs."""
    start, end = told[0], told[1]
    n, d, every, parts = (
        settings[SET.point],
        settings[SET.algebra],
        settings[SET.save_every],
        scratch(memory, settings, 1),
    )
    same_last = settings[SET.same_last] and settings[SET.family] == MUNTHE_KAAS and settings[SET.correction] == 0
    for k in range(p.shape[0]):
        p[k] = fresh[k]
    for k in range(forces.shape[0]):
        p[at + k] = forces[k]
    real[REAL.start], real[REAL.end], real[REAL.step], largest = start, end, told[2], max(abs(start), abs(end))
    real[REAL.shortest] = 16.0 * (np.nextafter(largest, np.inf) - largest)
    state[STATE.t], since = start, 0
    for k in range(counts.shape[0]):
        counts[k] = 0
    for i in range(limit):
        t, target, h, last = choose_step(settings, real, state, i, end)
        if abs(h) < real[REAL.shortest] or t + h == t:
            counts[TALLY.status] = UNDERFLOW
            return
        known = i > 0 and same_last  # as the last stage of the step before
        if known:
            copy(parts[0], (settings[SET.stages] - 1) * d, f0, 0, d, 0.0)
        else:
            call(address, t, y, p, f0, 0, n, d, 0.0)
        angle = take_step(
            table, addresses, settings, a, b, c, extra, program, t, h, y, f0, memory, parts, address, p, 0.0
        )
        counts[TALLY.evaluations] += settings[SET.stages] - (1 if known else 0)
        counts[TALLY.status] = flaw(settings, angle, parts, 0.0)
        if counts[TALLY.status] != DONE:
            return
        copy(parts[4], 0, y, 0, n, 0.0)
        state[STATE.t] = target
        counts[TALLY.accepted] += 1
        since += 1
        if last or (every > 0 and since >= every):
            k, since = kept[0] + counts[TALLY.records], 0
            rows[k, 0] = target
            for m in range(n):
                rows[k, 1 + m] = y[m]
            for m in range(given.shape[0]):
                rows[k, 1 + n + m] = given[m]
            counts[TALLY.records] += 1
        if last:
            kept[0] += counts[TALLY.records]
            kept[1] += counts[TALLY.accepted]
            kept[2] += counts[TALLY.evaluations]
            return
    counts[TALLY.status] = RUNNING


@kernel
def good_lanes(settings, angle, parts, block, status, y, z):
    """Where not all lanes of a step are good: move the points of those that are, and note what is wrong with others."""
    n, stages = settings[SET.point], settings[SET.stages]
    f, out, wrong = parts[0], parts[4], parts[6]
    total = like(0.0, z)
    for m in range(n):
        total += 0.0 * load(out, m, z)
    for m in range(stages * settings[SET.algebra]):
        total += 0.0 * load(f, m, z)
    store(wrong, 0, total)
    store(wrong, 1, angle)
    for lane in range(WIDTH):
        if wrong[lane] != 0.0:
            status[WIDTH * block + lane] = NOT_FINITE
        elif wrong[WIDTH + lane] > LARGEST_ANGLE:
            status[WIDTH * block + lane] = NEAR_POLE
        else:
            for m in range(n):
                y[WIDTH * m + lane] = out[WIDTH * m + lane]


@kernel(entry=True)
def step_blocks(
    table, addresses, settings, real, a, b, c, extra, program, states, forces, held, status, y, f0, memory, address,
    p, size, at, first_kept, kept, done, count,
):  # fmt: skip
    """Take `count` steps after `done` ones, of four members at a time, one block after the other.

    states: a column for each; forces: on all velocities, likewise; held: whether a member stays where it is; status:
    RUNNING, or what is wrong with its next step. p: tables of each block, or one for all, of a `size`; their inputs
    begin at `at`. kept: room for what fields remember from step to step, which begins at `first_kept`: members that are
    held remember what they did.
    """
    z = lanes_of(0.0)
    n, parts = settings[SET.point], scratch(memory, settings, WIDTH)
    for k in range(states.shape[1] // WIDTH):
        first = k * size if p.shape[0] > size else 0
        own = p[first : first + size]
        for lane in range(WIDTH):
            member = WIDTH * k + lane
            status[member] = RUNNING
            for m in range(n):
                y[WIDTH * m + lane] = states[m, member]
            for m in range(forces.shape[0]):
                own[at + WIDTH * m + lane] = 0.0 if held[member] else forces[m, member]
        for m in range(kept.shape[0]):
            kept[m] = own[first_kept + m]
        for i in range(done, done + count):
            angle = fixed_step(
                table, addresses, settings, real, a, b, c, extra, program, i, y, f0, memory, parts, address, own, z
            )
            verdict = flaw(settings, angle, parts, z)
            if correct(settings, real[REAL.start] + (i + 1) * real[REAL.step], parts, own, z) and verdict == DONE:
                copy(parts[4], 0, y, 0, n, z)
            else:
                good_lanes(settings, angle, parts, k, status, y, z)
        for lane in range(WIDTH):
            if held[WIDTH * k + lane]:
                for m in range(kept.shape[0] // WIDTH):
                    own[first_kept + WIDTH * m + lane] = kept[WIDTH * m + lane]
            else:
                for m in range(n):
                    states[m, WIDTH * k + lane] = y[WIDTH * m + lane]
