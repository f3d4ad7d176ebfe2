"""The compiled stepping loops. All that a run needs to go on is in arrays, so it can be stopped, stored and resumed.

One step maps (t, y, f(t, y)) to (t + h, Y, X) with Y the new point and X the coordinates of the move, Y = exp(X) y.
Two families of explicit methods share the loop:

- Munthe-Kaas: a Runge-Kutta method for X' = dexpinv_X f in the algebra, optionally with a truncated dexpinv and a few
  commutators added to stages (the minimal-commutator forms).
- products of exponentials (commutator-free, Crouch-Grossman, low-storage): each stage starts from the first point or an
  earlier stage and is moved by exponentials of combinations of the stages' field values.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate import blocks
from chasles.integrate.blocks import ALGEBRA, KIND, POINT, POSE, SCREWED, SE3, VECTOR, algebra_of
from chasles.integrate.field import call
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

# integer settings of a run
SET = layout(
    "SET",
    family=1,
    mapping=1,
    terms=1,
    stages=1,
    adaptive=1,
    controller=1,
    same_last=1,
    save_every=1,
    commutators=1,
    dense=1,
    estimates=1,
    point=1,
    algebra=1,
)
# real settings
REAL = layout("REAL", start=1, end=1, step=1, rtol=1, atol=1, safety=1, exponent=1, shortest=1)
# stepping state: reals, then integers
STATE = layout("STATE", t=1, h=1, old_error=1, since_save=1, event_step=1)
TALLY = layout(
    "TALLY",
    accepted=1,
    rejected=1,
    evaluations=1,
    status=1,
    records=1,
    next_time=1,
    just_rejected=1,
    pass_event=1,  # the step that an event interrupted is to be taken as it is
)

MUNTHE_KAAS, EXPONENTIALS = 0, 1
FIXED, PAPER, PREDICTIVE = 0, 1, 2  # controllers
RUNNING, DONE, FULL, NOT_FINITE, UNDERFLOW, POLE, EVENT = range(7)
LARGEST_ANGLE = 6.0  # a move this near to the pole of dexpinv at 2 pi is refused


@kernel
def linear(out, io, weights, iw, count, values, size, h):
    """out = h sum_j weights[iw + j] values[j]."""
    for k in range(size):
        out[io + k] = 0.0
    for j in range(count):
        w = weights[iw + j]
        if w != 0.0:
            for k in range(size):
                out[io + k] += h * w * values[j * size + k]


@kernel
def largest_angle(table, x):
    """Largest rotation angle of a move, over all blocks."""
    largest = 0.0
    for i in range(table.shape[0]):
        if algebra_of(table[i, KIND]) != blocks.ABELIAN:
            ix = table[i, ALGEBRA]
            if algebra_of(table[i, KIND]) == blocks.ALGEBRA_SE2:
                square = x[ix] * x[ix]
            else:
                square = x[ix] * x[ix] + x[ix + 1] * x[ix + 1] + x[ix + 2] * x[ix + 2]
            largest = max(largest, np.sqrt(square))
    return largest


@kernel(entry=True)
def munthe_kaas(table, settings, a, b, c, extra, t, h, y, f0, f, k, x, out, work, address, p):
    """One step; returns the largest angle of a move. f holds the field values of the stages, k their pullbacks."""
    stages, d, n = settings[SET.stages], settings[SET.algebra], settings[SET.point]
    mapping, terms = settings[SET.mapping], settings[SET.terms]
    angle = 0.0
    for i in range(stages):
        if i == 0:
            for j in range(d):
                f[j] = f0[j]
                x[j] = 0.0
        else:
            linear(x, 0, a, i * stages, i, k, d, h)
            add_commutators(table, extra, i, h, f, x, work, d)
            angle = max(angle, largest_angle(table, x))
            blocks.move(table, mapping, y, x, out, 0.0)
            call(address, t + c[i] * h, out, 0, p, work, 0, n, d)
            for j in range(d):
                f[i * d + j] = work[j]
        if i == 0:
            for j in range(d):
                work[j] = f0[j]
        blocks.pullback(table, mapping, terms, x, work, k, i * d, 0.0)
    linear(x, 0, b, 0, stages, k, d, h)
    add_commutators(table, extra, stages, h, f, x, work, d)
    blocks.move(table, mapping, y, x, out, 0.0)
    return max(angle, largest_angle(table, x))


@kernel
def add_commutators(table, extra, target, h, f, x, work, d):
    """x += coefficient h^2 [f_i, f_j] for the rows (target, i, j, coefficient) of this target."""
    for row in range(extra.shape[0]):
        if extra[row, 0] == target:
            i, j = int(extra[row, 1]), int(extra[row, 2])
            blocks.bracket(table, f, i * d, f, j * d, work, 0, 0.0)
            for m in range(d):
                x[m] += h * h * extra[row, 3] * work[m]


@kernel(entry=True)
def exponentials(table, settings, program, weights, c, t, h, y, f0, f, points, moves, x, out, work, address, p):
    """One step of a product of exponentials; returns the largest angle of a factor.

    `program` has a row (base, first factor, end of factors) for each stage and for the result. `points` holds the
    stages' points; with dense output `moves` holds their coordinates from y, and x becomes those of the result.
    """
    stages, d, n = settings[SET.stages], settings[SET.algebra], settings[SET.point]
    dense = settings[SET.dense]
    angle = 0.0
    for i in range(stages + 1):
        base, first, last = program[i, 0], program[i, 1], program[i, 2]
        for m in range(n):
            out[m] = y[m] if base < 0 else points[base * n + m]
        for m in range(d):
            x[m] = 0.0 if base < 0 or not dense else moves[base * d + m]
        for row in range(first, last):
            linear(work, 0, weights, row * stages, min(i, stages), f, d, h)
            angle = max(angle, largest_angle(table, work))
            blocks.move(table, blocks.EXP, out, work, out, 0.0)
            if dense:
                blocks.combine(table, work, 0, x, 0, x, 0, 0.0)
        if i < stages:
            for m in range(n):
                points[i * n + m] = out[m]
            for m in range(d):
                moves[i * d + m] = x[m]
            if i == 0:
                for m in range(d):
                    f[m] = f0[m]
            else:
                call(address, t + c[i] * h, out, 0, p, f, i * d, n, d)
    return angle


# ---------------------------------------------------------------- error norms


@kernel
def scale_of(table, i, m, y, out):
    """Size that coordinate m of block i is compared with: 1 for rotations, the numbers themselves for vectors."""
    kind, iy = table[i, KIND], table[i, POINT]
    if kind == VECTOR:
        return max(abs(y[iy + m]), abs(out[iy + m]))
    if m < 3 or algebra_of(kind) != blocks.ALGEBRA_SE3:
        return 1.0
    largest = 1e-300
    if kind == SE3:
        for k in range(3):
            largest = max(largest, max(abs(y[iy + 4 * k + 3]), abs(out[iy + 4 * k + 3])))
    else:
        first = iy + 4 if kind == POSE else iy + 3 if kind == SCREWED else iy
        for k in range(3):
            largest = max(largest, max(abs(y[first + k]), abs(out[first + k])))
    return largest


@kernel
def algebra_norm(table, e, y, out, rtol, atol, size):
    """Root mean square of an error in the algebra, each coordinate relative to atol + rtol times its scale."""
    total = 0.0
    for i in range(table.shape[0]):
        ix = table[i, ALGEBRA]
        width = table[i + 1, ALGEBRA] - ix if i + 1 < table.shape[0] else size - ix
        for m in range(width):
            ratio = e[ix + m] / (atol + rtol * scale_of(table, i, m, y, out))
            total += ratio * ratio
    return np.sqrt(total / size)


@kernel
def plain_norm(e, size):
    total = 0.0
    for m in range(size):
        total += e[m] * e[m]
    return np.sqrt(total)


@kernel
def point_norm(y, out, other, rtol, atol, size, paper):
    """Distance of two results as points of the embedding space, scaled or (paper) Euclidean."""
    total = 0.0
    for m in range(size):
        difference = out[m] - other[m]
        if not paper:
            difference = difference / (atol + rtol * max(abs(y[m]), abs(out[m])))
        total += difference * difference
    return np.sqrt(total if paper else total / size)


@kernel
def error_of_step(table, settings, real, e, program, weights, f, k, y, h, out, other, work):
    """Estimated error of a step: in the algebra for Munthe-Kaas methods, between points for pairs of products."""
    stages, n, d = settings[SET.stages], settings[SET.point], settings[SET.algebra]
    rtol, atol = real[REAL.rtol], real[REAL.atol]
    paper = settings[SET.controller] == PAPER
    if settings[SET.family] != MUNTHE_KAAS:
        second_result(table, settings, program, weights, stages, f, k, y, h, other, work)
        return point_norm(y, out, other, rtol, atol, n, paper)
    linear(work, 0, e, 0, stages, k, d, h)
    if paper:
        return plain_norm(work, d)
    error = algebra_norm(table, work, y, out, rtol, atol, d)
    if settings[SET.estimates] > 1 and error > 0.0:  # DOP853: the lower estimate damps the higher one
        linear(work, 0, e, stages, stages, k, d, h)
        second = algebra_norm(table, work, y, out, rtol, atol, d)
        error = error * error / np.sqrt(error * error + 0.01 * second * second)
    return error


@kernel
def factor(controller, error, old_error, real, tolerance):
    """By how much the step is to change; the paper's rule, or a proportional-integral one with limits."""
    if controller == PAPER:
        if error == 0.0:
            return 5.0
        return real[REAL.safety] * (tolerance / error) ** real[REAL.exponent]
    if error == 0.0:
        return 5.0
    alpha = real[REAL.exponent]
    value = real[REAL.safety] * error ** (-0.7 * alpha) * old_error ** (0.4 * alpha)
    return min(5.0, max(0.2, value))


# ---------------------------------------------------------------- dense output


@kernel
def hermite(table, mapping, terms, theta, h, y, f0, f1, x, out, u, work):
    """Point at fraction theta of a step: exp(u) y with u the cubic through 0 and x with slopes from f0 and f1."""
    d = u.shape[0]
    for m in range(d):
        u[m] = 0.0
    blocks.pullback(table, mapping, terms, u, f0, work, 0, 0.0)
    blocks.pullback(table, mapping, terms, x, f1, work, d, 0.0)
    s2, s3 = theta * theta, theta * theta * theta
    for m in range(d):
        u[m] = (3 * s2 - 2 * s3) * x[m] + h * ((theta - 2 * s2 + s3) * work[m] + (s3 - s2) * work[d + m])
    blocks.move(table, mapping, y, u, out, 0.0)


@kernel(entry=True)
def interpolate(table, mapping, terms, theta, h, y, f0, f1, x, out, u, work):
    """`hermite` for callers in Python."""
    hermite(table, mapping, terms, theta, h, y, f0, f1, x, out, u, work)


# ---------------------------------------------------------------- the loop


@kernel
def record(records, row, t, y, f, x, n, d):
    """A saved point: time, point, field value, and the move since the point saved before it."""
    records[row, 0] = t
    for m in range(n):
        records[row, 1 + m] = y[m]
    for m in range(d):
        records[row, 1 + n + m] = f[m]
        records[row, 1 + n + d + m] = x[m]


@kernel
def add_move(table, x, x_sum, first, d):
    """Add the move of a step to that since the last saved point; NaN once its logarithm is not unique any more."""
    if first:
        for m in range(d):
            x_sum[m] = x[m]
    elif largest_angle(table, x) + largest_angle(table, x_sum) < 3.141592653589793:
        blocks.combine(table, x, 0, x_sum, 0, x_sum, 0, 0.0)
    else:
        for m in range(d):
            x_sum[m] = np.nan


@kernel
def finite(values, size):
    total = 0.0
    for m in range(size):
        total += 0.0 * values[m]
    return total == 0.0


@kernel(entry=True)
def advance(
    table,
    settings,
    real,
    a,
    b,
    c,
    e,
    extra,
    program,
    state,
    counts,
    y,
    f0,
    x_sum,
    times,
    records,
    memory,
    address,
    p,
    watched,
    levels,
    limit,
):
    """Take up to `limit` steps. State, counts, y, f0 and x_sum are the whole memory of the run; see `solve`.

    `a`, `b` are the tableau (or `a` the factors' weights of a product), `e` rows of error weights, `times` the times
    to save at (or empty: every `save_every` steps), `memory` scratch space. `watched` has the addresses and directions
    of event functions, `levels` their values: a step over a zero is not taken but reported, for `solve` to look closer.
    """
    family, stages = settings[SET.family], settings[SET.stages]
    n, d = settings[SET.point], settings[SET.algebra]
    mapping, terms = settings[SET.mapping], settings[SET.terms]
    adaptive, controller = settings[SET.adaptive], settings[SET.controller]
    end, start = real[REAL.end], real[REAL.start]
    direction = 1.0 if end >= start else -1.0
    offset = 0
    f = memory[offset : offset + stages * d]
    offset += stages * d
    k = memory[offset : offset + max(stages * d, stages * n)]
    offset += max(stages * d, stages * n)
    moves = memory[offset : offset + stages * d]
    offset += stages * d
    x = memory[offset : offset + d]
    out = memory[offset + d : offset + d + n]
    other = memory[offset + d + n : offset + d + 2 * n]
    work = memory[offset + d + 2 * n : offset + d + 2 * n + 2 * d]
    f1 = memory[offset + 3 * d + 2 * n : offset + 4 * d + 2 * n]
    u = memory[offset + 4 * d + 2 * n : offset + 5 * d + 2 * n]

    for _ in range(limit):
        t, h = state[STATE.t], state[STATE.h]
        if counts[TALLY.records] + 1 >= records.shape[0]:
            counts[TALLY.status] = FULL
            return
        last = direction * (t + h * (1.0 + 1e-10) - end) >= 0.0
        if not adaptive:
            # the end of a fixed step is counted from the start, so that rounding does not pile up
            target = end if last else start + (counts[TALLY.accepted] + 1) * real[REAL.step]
        else:
            target = end if last else t + h
        h = target - t
        new_h, new_error = state[STATE.h], state[STATE.old_error]
        if abs(h) < real[REAL.shortest] or t + h == t:
            counts[TALLY.status] = UNDERFLOW
            return
        if family == MUNTHE_KAAS:
            angle = munthe_kaas(table, settings, a, b, c, extra, t, h, y, f0, f, k, x, out, work, address, p)
        else:
            angle = exponentials(table, settings, program, a, c, t, h, y, f0, f, k, moves, x, out, work, address, p)
        counts[TALLY.evaluations] += stages - 1
        healthy = finite(out, n) and finite(f, stages * d)
        if not adaptive and not healthy:
            counts[TALLY.status] = NOT_FINITE
            return
        if angle > LARGEST_ANGLE and not adaptive:
            counts[TALLY.status] = POLE
            return
        if adaptive:
            paper = controller == PAPER
            tolerance = real[REAL.atol] if paper else 1.0
            error = np.inf
            if healthy and angle <= LARGEST_ANGLE:
                error = error_of_step(table, settings, real, e, program, a, f, k, y, h, out, other, work)
            change = factor(controller, error, state[STATE.old_error], real, tolerance) if np.isfinite(error) else 0.2
            accepted = error < tolerance if paper else error <= tolerance
            if not accepted:
                counts[TALLY.rejected] += 1
                counts[TALLY.just_rejected] = 1
                state[STATE.h] = h * min(change, 0.9)
                continue
            if counts[TALLY.just_rejected] and not paper:
                change = min(change, 1.0)
            new_error = max(error, 1e-4)
            new_h = state[STATE.h] if last and not paper else h * change
        if settings[SET.same_last] and family == MUNTHE_KAAS:
            for m in range(d):
                f1[m] = f[(stages - 1) * d + m]
        else:
            call(address, target, out, 0, p, f1, 0, n, d)
            counts[TALLY.evaluations] += 1
            if not finite(f1, d):
                counts[TALLY.status] = NOT_FINITE
                return
        if event_in_step(watched, levels, target, out, p, work, n) and not counts[TALLY.pass_event]:
            counts[TALLY.status] = EVENT
            state[STATE.event_step] = h
            return
        if times.shape[0] > 0:
            clock = (direction, t, target, h)
            if not save_times(table, mapping, terms, clock, y, f0, f1, x, other, u, work, times, records, counts, n, d):
                counts[TALLY.status] = FULL  # the step is taken again when there is room
                return
        else:
            blocks.as_exponential(table, mapping, x, work)
            add_move(table, work, x_sum, state[STATE.since_save] == 0.0, d)
            state[STATE.since_save] += 1.0
        # from here on the step counts
        counts[TALLY.accepted] += 1
        counts[TALLY.just_rejected] = counts[TALLY.pass_event] = 0
        state[STATE.t], state[STATE.h], state[STATE.old_error] = target, new_h, new_error
        for m in range(n):
            y[m] = out[m]
        for m in range(d):
            f0[m] = f1[m]
        for m in range(levels.shape[0]):
            levels[m, 0] = levels[m, 1]
        every = settings[SET.save_every]
        if times.shape[0] == 0 and (last or (every > 0 and state[STATE.since_save] >= every)):
            record(records, counts[TALLY.records], target, y, f0, x_sum, n, d)
            counts[TALLY.records] += 1
            state[STATE.since_save] = 0.0
            for m in range(d):
                x_sum[m] = 0.0
        if last:
            counts[TALLY.status] = DONE
            return
    counts[TALLY.status] = RUNNING


@kernel
def event_in_step(watched, levels, t, y, p, work, n):
    """Evaluate the event functions at the end of a step (second column of levels); whether one changed sign."""
    crossed = False
    for m in range(watched.shape[0]):
        call(watched[m, 0], t, y, 0, p, work, 0, n, 1)
        before, after, direction = levels[m, 0], work[0], watched[m, 1]
        levels[m, 1] = after
        rising, falling = before < 0.0 <= after, before > 0.0 >= after
        if (rising and direction >= 0) or (falling and direction <= 0) or after != after:
            crossed = True
    return crossed


@kernel(entry=True)
def trial(table, settings, a, b, c, extra, program, t, h, y, f0, memory, address, p, out):
    """One step of any size from (t, y), which changes nothing: how events are located."""
    stages, n, d = settings[SET.stages], settings[SET.point], settings[SET.algebra]
    wide = max(stages * d, stages * n)
    f, k = memory[: stages * d], memory[stages * d : stages * d + wide]
    moves = memory[stages * d + wide : 2 * stages * d + wide]
    x = memory[2 * stages * d + wide : 2 * stages * d + wide + d]
    work = memory[2 * stages * d + wide + d + 2 * n : 2 * stages * d + wide + 3 * d + 2 * n]
    if settings[SET.family] == MUNTHE_KAAS:
        munthe_kaas(table, settings, a, b, c, extra, t, h, y, f0, f, k, x, out, work, address, p)
    else:
        exponentials(table, settings, program, a, c, t, h, y, f0, f, k, moves, x, out, work, address, p)


@kernel
def second_result(table, settings, program, weights, stages, f, points, y, h, other, work):
    """The embedded result of a pair of exponential products, from the stages of the main one and its own."""
    n, d = settings[SET.point], settings[SET.algebra]
    base, first, last = program[stages + 1, 0], program[stages + 1, 1], program[stages + 1, 2]
    for m in range(n):
        other[m] = y[m] if base < 0 else points[base * n + m]
    for row in range(first, last):
        linear(work, 0, weights, row * stages, stages, f, d, h)
        blocks.move(table, blocks.EXP, other, work, other, 0.0)


@kernel
def save_times(table, mapping, terms, clock, y, f0, f1, x, point, u, work, times, records, counts, n, d):
    """Save the requested times in (t, target]; False if the records have no room for all of them."""
    direction, t, target, h = clock
    rows, i = counts[TALLY.records], counts[TALLY.next_time]
    while i < times.shape[0] and direction * (times[i] - target) <= 0.0:
        if rows >= records.shape[0]:
            return False
        hermite(table, mapping, terms, (times[i] - t) / h, h, y, f0, f1, x, point, u, work)
        record(records, rows, times[i], point, f1, x, n, d)
        rows += 1
        i += 1
    counts[TALLY.next_time] = i
    counts[TALLY.records] = rows
    return True


@kernel(entry=True)
def evaluate(address, t, y, p, out):
    """The field at one point, for callers in Python."""
    call(address, t, y, 0, p, out, 0, y.shape[0], out.shape[0])
