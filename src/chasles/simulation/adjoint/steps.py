"""The steps of a run taken backward: the discrete adjoint of the explicit methods.

A step is taken again from its first point, with its stages kept, and then the cotangent of its result goes back through
the same operations, last first. Sizes of steps count as constants. What goes through the field and through what
corrects a point is left to functions at addresses (`by_duals`, `tree`).
"""

from __future__ import annotations

from chasles.integrate import blocks
from chasles.integrate.explicit_layout import MUNTHE_KAAS, SET
from chasles.integrate.explicit_step import copy, linear
from chasles.integrate.table import EXP, SERIES
from chasles.integrate.vector_field import call
from chasles.kernel.address import invoke
from chasles.kernel.policy import kernel
from chasles.simulation.adjoint.blocks import pull_bracket, pull_move, pull_pullback

OF_FIELD, OF_CORRECTION = 0, 1  # rows of what is pulled through


@kernel
def add_linear(bar, weights, first, count, values_bar, size, h):
    """Cotangents of values from that of h Σ weights[first + j] values[j]."""
    for j in range(count):
        w = h * weights[first + j]
        if w != 0.0:
            for k in range(size):
                values_bar[j * size + k] += w * bar[k]


@kernel
def clear(array):
    for k in range(array.shape[0]):
        array[k] = 0.0


@kernel
def pull_through(pulls, which, t, y, f, bar, y_bar, g, p, memory, sizes):
    """Cotangents through the field, or through the correction."""
    sizes[0], sizes[1], sizes[2], sizes[3], sizes[4] = (
        y.shape[0],
        bar.shape[0],
        g.shape[0],
        p.shape[0],
        memory.shape[0],
    )
    invoke(pulls[which], t, y, f, bar, y_bar, g, p, memory, sizes)


@kernel
def add_brackets(table, extra, target, h, f, bar, f_bar, d):
    """Cotangents of the stages from the commutators of a stage (`explicit_step.add_commutators`)."""
    for row in range(extra.shape[0]):
        if extra[row, 0] == target:
            i, j = int(extra[row, 1]) * d, int(extra[row, 2]) * d
            weight = h * h * extra[row, 3]
            pull_bracket(table, weight, f[i : i + d], f[j : j + d], bar, f_bar[i : i + d], f_bar[j : j + d])


@kernel(allocates=True)  # a view counts as an array that is made
def stage_of(array, i, size):
    """The part of an array that belongs to a stage."""
    return array[i * size : (i + 1) * size]


@kernel
def munthe_kaas_forward(table, addresses, settings, a, b, c, extra, t, begin, h, y, P, address, room):
    """The stages of a step: field values f, their pullbacks k, moves x and points; the last point is the result."""
    f, k, x, points, _, _, _, work = room
    stages, d, n = settings[SET.stages], settings[SET.algebra], settings[SET.point]
    plain = settings[SET.mapping] == EXP or settings[SET.mapping] == SERIES
    for i in range(stages + 1):
        move = stage_of(x, i, d)
        if i == 0:
            clear(move)
            copy(y, 0, points, 0, n, 0.0)
        else:
            if i < stages:
                linear(move, a, i * stages, i, k, d, h, 0.0)
            else:
                linear(move, b, 0, stages, k, d, h, 0.0)
            for row in range(extra.shape[0]):
                if extra[row, 0] == i:
                    blocks.bracket(table, f, int(extra[row, 1]) * d, f, int(extra[row, 2]) * d, work, 0.0)
                    for m in range(d):
                        move[m] += h * h * extra[row, 3] * work[m]
            blocks.move(table, addresses, y, move, stage_of(points, i, n), 0.0)
        if i < stages:
            clear(stage_of(f, i, d))
            call(address, t + c[i] * h if i > 0 else begin, stage_of(points, i, n), P[i], f, i * d, n, d, 0.0)
            if i == 0 and plain:
                copy(f, 0, k, 0, d, 0.0)
            else:
                blocks.pullback(table, addresses, settings[SET.terms], move, stage_of(f, i, d), k, i * d, 0.0)


@kernel
def munthe_kaas_back(table, duals_at, settings, a, b, c, extra, t, begin, h, y, P, pulls, room, seeds, g, more):
    """The cotangent of the first point from that of the result."""
    f, _, x, points, f_bar, k_bar, x_bar, _ = room
    stages, d, n = settings[SET.stages], settings[SET.algebra], settings[SET.point]
    bar, y_bar, _, duals, memory, sizes = more
    move_seeds, move_passes, back_seeds, back_passes = seeds
    plain = settings[SET.mapping] == EXP or settings[SET.mapping] == SERIES
    clear(f_bar)
    clear(k_bar)
    clear(y_bar)
    for i in range(stages, -1, -1):
        if i < stages:
            own = stage_of(f_bar, i, d)
            if i == 0 and plain:
                for m in range(d):
                    own[m] += k_bar[m]
            else:
                clear(x_bar)
                pull_pullback(
                    *(table, duals_at, settings[SET.terms], stage_of(x, i, d), stage_of(f, i, d)),
                    *(stage_of(k_bar, i, d), x_bar, own, back_seeds, back_passes, duals),
                )
            clear(bar)
            time = t + c[i] * h if i > 0 else begin
            pull_through(
                pulls, OF_FIELD, time, stage_of(points, i, n), stage_of(f, i, d), own, bar, g, P[i], memory, sizes
            )
            if i == 0:
                for m in range(n):
                    y_bar[m] += bar[m]
                return
        else:
            clear(x_bar)
        pull_move(table, duals_at, y, stage_of(x, i, d), bar, y_bar, x_bar, move_seeds, move_passes, duals)
        if i < stages:
            add_linear(x_bar, a, i * stages, i, k_bar, d, h)
        else:
            add_linear(x_bar, b, 0, stages, k_bar, d, h)
        add_brackets(table, extra, i, h, f, x_bar, f_bar, d)


@kernel
def exponentials_forward(table, addresses, settings, weights, c, program, t, begin, h, y, P, address, room):
    """The stages of a product of exponentials: field values f, and before each factor the point and its move x; behind
    these points are those of the stages, and the result."""
    f, _, x, points, _, _, _, _ = room
    stages, d, n = settings[SET.stages], settings[SET.algebra], settings[SET.point]
    factors = x.shape[0] // d
    for i in range(stages + 1):
        base, out = program[i, 0], stage_of(points, factors + i, n)
        copy(y if base < 0 else stage_of(points, factors + base, n), 0, out, 0, n, 0.0)
        for row in range(program[i, 1], program[i, 2]):
            copy(out, 0, points, row * n, n, 0.0)
            linear(stage_of(x, row, d), weights, row * stages, min(i, stages), f, d, h, 0.0)
            blocks.move(table, addresses, out, stage_of(x, row, d), out, 0.0)
        if i < stages:
            clear(stage_of(f, i, d))
            call(address, t + c[i] * h if i > 0 else begin, out, P[i], f, i * d, n, d, 0.0)


@kernel
def exponentials_back(table, duals_at, settings, weights, c, program, t, begin, h, y, P, pulls, room, seeds, g, more):
    """The cotangent of the first point from that of the result."""
    f, _, x, points, f_bar, point_bar, x_bar, _ = room
    stages, d, n = settings[SET.stages], settings[SET.algebra], settings[SET.point]
    bar, y_bar, spare, duals, memory, sizes = more
    move_seeds, move_passes, _, _ = seeds
    factors = x.shape[0] // d
    clear(f_bar)
    clear(point_bar)
    clear(y_bar)
    for i in range(stages, -1, -1):
        if i < stages:
            copy(point_bar, i * n, bar, 0, n, 0.0)
            time = t + c[i] * h if i > 0 else begin
            at = stage_of(points, factors + i, n)
            pull_through(
                pulls, OF_FIELD, time, at, stage_of(f, i, d), stage_of(f_bar, i, d), bar, g, P[i], memory, sizes
            )
        for row in range(program[i, 2] - 1, program[i, 1] - 1, -1):
            clear(x_bar)
            clear(spare)
            pull_move(
                *(table, duals_at, stage_of(points, row, n), stage_of(x, row, d), bar, spare, x_bar),
                *(move_seeds, move_passes, duals),
            )
            copy(spare, 0, bar, 0, n, 0.0)
            add_linear(x_bar, weights, row * stages, min(i, stages), f_bar, d, h)
        base = program[i, 0]
        for m in range(n):
            if base < 0:
                y_bar[m] += bar[m]
            else:
                point_bar[base * n + m] += bar[m]


@kernel(entry=True)
def steps_back(
    table, addresses, duals_at, settings, method, timing, points, kicks, inputs, P, address, pulls, room, seeds, g, more
):
    """From the last point to the first: more[1] becomes the cotangent of the first point, g and the cotangents of the
    inputs that of what the field depends on besides.

    points, kicks: of all times the point, and the cotangent that the objective gives it. inputs: of each step which
    input is held, all inputs, their cotangents, and where they are in what the field reads. P: that, for each stage.
    """
    a, b, c, extra, program = method
    times, sizes_of_steps, begins = timing
    which, controls, controls_bar, control_at = inputs
    bar, y_bar, spare, duals, memory, sizes, corrected = more
    nv, n, last = controls.shape[1], settings[SET.point], times.shape[0] - 1
    family, stages = settings[SET.family], settings[SET.stages]
    held = -1
    copy(kicks[last], 0, y_bar, 0, n, 0.0)
    for k in range(last, 0, -1):
        if which[k] != held:
            held = which[k]
            for i in range(stages):
                for m in range(nv):
                    P[i, control_at + m] = controls[held, m]
        for m in range(nv):
            g[m] = 0.0
        t, begin, h, y = times[k - 1], begins[k - 1], sizes_of_steps[k], points[k - 1]
        if family == MUNTHE_KAAS:
            munthe_kaas_forward(table, addresses, settings, a, b, c, extra, t, begin, h, y, P, address, room)
            result = stage_of(room[3], stages, n)
        else:
            exponentials_forward(table, addresses, settings, a, c, program, t, begin, h, y, P, address, room)
            result = stage_of(room[3], room[2].shape[0] // settings[SET.algebra] + stages, n)
        copy(y_bar, 0, bar, 0, n, 0.0)
        if pulls[OF_CORRECTION] != 0:
            clear(spare)
            reached = t + h if begins[k] != times[k] else times[k]
            # what corrects begins with what the last stage left
            then = P[stages - 1]
            pull_through(pulls, OF_CORRECTION, reached, result, result, bar, spare, g, then, corrected, sizes)
            copy(spare, 0, bar, 0, n, 0.0)
        given = bar, y_bar, spare, duals, memory, sizes
        if family == MUNTHE_KAAS:
            munthe_kaas_back(table, duals_at, settings, a, b, c, extra, t, begin, h, y, P, pulls, room, seeds, g, given)
        else:
            exponentials_back(table, duals_at, settings, a, c, program, t, begin, h, y, P, pulls, room, seeds, g, given)
        for m in range(nv):
            controls_bar[held, m] += g[m]
        for m in range(n):
            y_bar[m] += kicks[k - 1, m]
