"""One step of an explicit method, on one state or on lanes, which share t and h or have each their own.

A step maps (t, y, f(t, y)) to (t + h, Y) with Y = exp(X) y. Two families:

- Munthe-Kaas: a Runge-Kutta method for X' = dexpinv_X f in the algebra, optionally with a truncated dexpinv and a few
  commutators added to stages (the minimal-commutator forms).
- products of exponentials (commutator-free, Crouch-Grossman, low-storage): each stage starts from the first point or an
  earlier stage and is moved by exponentials of combinations of the stages' field values.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate import blocks
from chasles.integrate.explicit_layout import LARGEST_ANGLE, SET
from chasles.integrate.table import CAYLEY, CAYLEY2, EXP, SECOND_KIND, SERIES
from chasles.integrate.vector_field import call
from chasles.kernel.lanes import like, load, maximum, select, store
from chasles.kernel.own_time import told_time
from chasles.kernel.policy import kernel


@kernel
def copy(source, first, target, start, size, z):
    """Copy `size` scalars from source[first:] to target[start:]."""
    for m in range(size):
        store(target, start + m, load(source, first + m, z))


@kernel
def linear(out, weights, iw, count, values, size, h, z):
    """out = h sum_j weights[iw + j] values[j]; those that vanish are left out."""
    empty = True
    for j in range(count):
        w, at, counts = h * weights[iw + j], j * size, weights[iw + j] != 0.0
        if counts and empty:
            for k in range(size):
                store(out, k, w * load(values, at + k, z))
            empty = False
        elif counts:
            for k in range(size):
                store(out, k, load(out, k, z) + w * load(values, at + k, z))
    if empty:
        for k in range(size):
            store(out, k, like(0.0, z))


@kernel
def add_commutators(table, extra, target, h, f, x, work, d, z):
    """x += coefficient h^2 [f_i, f_j] for the rows (target, i, j, coefficient) of this target."""
    for row in range(extra.shape[0]):
        if extra[row, 0] == target:
            blocks.bracket(table, f, int(extra[row, 1]) * d, f, int(extra[row, 2]) * d, work, z)
            for m in range(d):
                store(x, m, load(x, m, z) + h * h * extra[row, 3] * load(work, m, z))


@kernel
def add_move(table, addresses, x, x_sum, first, d, z):
    """Follow the move x_sum, if it is not the first, by the move x; NaN once the logarithm is not unique any more."""
    if first:
        copy(x, 0, x_sum, 0, d, z)
    else:
        turn = blocks.largest_angle(table, x, z) + blocks.largest_angle(table, x_sum, z)
        unique = turn < np.pi
        blocks.combine(table, addresses, x, x_sum, x_sum, z)
        for m in range(d):
            store(x_sum, m, select(unique, load(x_sum, m, z), np.nan))


@kernel
def turn_weight(mapping):
    """What the angle |ω| h of a step counts: LARGEST_ANGLE at the end of the chart, half a turn for Rodrigues vectors,
    a full one for those of cay2 and a quarter for coordinates of the second kind. The coordinates alone do not tell."""
    if mapping == CAYLEY:
        return LARGEST_ANGLE / 3.141592653589793
    if mapping == SECOND_KIND:
        return LARGEST_ANGLE / 1.5707963267948966
    return LARGEST_ANGLE / 6.283185307179586 if mapping == CAYLEY2 else 0.0


@kernel
def munthe_kaas(table, addresses, settings, a, b, c, extra, program, t, h, y, f0, parts, address, p, z):
    """One step; returns the largest angle of a move. f are the field values of the stages, k their pullbacks."""
    f, k, _, x, out, _, work, _, _, _ = parts
    stages, d, n = settings[SET.stages], settings[SET.algebra], settings[SET.point]
    mapping, terms = settings[SET.mapping], settings[SET.terms]
    angle, turn = like(0.0, z), turn_weight(mapping)
    copy(f0, 0, f, 0, d, z)
    if turn > 0.0:
        angle = abs(h) * turn * blocks.largest_angle(table, f0, z)
    if mapping == EXP or mapping == SERIES:
        copy(f0, 0, k, 0, d, z)  # dexpinv_0 is the identity
    else:
        for m in range(d):
            store(x, m, like(0.0, z))
        blocks.pullback(table, addresses, terms, x, f0, k, 0, z)
    for i in range(1, stages + 1):
        if i < stages:
            linear(x, a, i * stages, i, k, d, h, z)
        else:
            linear(x, b, 0, stages, k, d, h, z)
        add_commutators(table, extra, i, h, f, x, work, d, z)
        angle = maximum(angle, blocks.largest_angle(table, x, z))
        blocks.move(table, addresses, y, x, out, z)
        if i < stages:
            call(address, told_time(t + c[i] * h, p), out, p, work, 0, n, d, z)
            copy(work, 0, f, i * d, d, z)
            if turn > 0.0:
                angle = maximum(angle, abs(h) * turn * blocks.largest_angle(table, work, z))
            blocks.pullback(table, addresses, terms, x, work, k, i * d, z)
    return angle


@kernel
def exponentials(table, addresses, settings, weights, b, c, extra, program, t, h, y, f0, parts, address, p, z):
    """One step of a product of exponentials; returns the largest angle of a factor.

    `program` has a row (base, first factor, end of factors) for each stage and for the result. `points` holds the
    stages' points; with dense output `moves` holds their coordinates from y, and x becomes those of the result.
    """
    f, points, moves, x, out, _, work, _, _, _ = parts
    stages, d, n = settings[SET.stages], settings[SET.algebra], settings[SET.point]
    dense = settings[SET.dense]
    angle = like(0.0, z)
    for i in range(stages + 1):
        base, first, last = program[i, 0], program[i, 1], program[i, 2]
        if base < 0:
            copy(y, 0, out, 0, n, z)
        else:
            copy(points, base * n, out, 0, n, z)
        for m in range(d):
            store(x, m, like(0.0, z))
        if base >= 0 and dense:
            copy(moves, base * d, x, 0, d, z)
        for row in range(first, last):
            linear(work, weights, row * stages, min(i, stages), f, d, h, z)
            angle = maximum(angle, blocks.largest_angle(table, work, z))
            blocks.move(table, addresses, out, work, out, z)
            if dense:
                add_move(table, addresses, work, x, base < 0 and row == first, d, z)
        if i < stages:
            copy(out, 0, points, i * n, n, z)
            copy(x, 0, moves, i * d, d, z)
            if i == 0:
                copy(f0, 0, f, 0, d, z)
            else:
                call(address, told_time(t + c[i] * h, p), out, p, f, i * d, n, d, z)
    return angle


@kernel
def second_result(table, addresses, settings, program, weights, f, points, y, h, other, work):
    """The embedded result of a pair of exponential products, from the stages of the main one and its own factors."""
    stages, n, d = settings[SET.stages], settings[SET.point], settings[SET.algebra]
    base, first, last = program[stages + 1, 0], program[stages + 1, 1], program[stages + 1, 2]
    for m in range(n):
        other[m] = y[m] if base < 0 else points[base * n + m]
    for row in range(first, last):
        linear(work, weights, row * stages, stages, f, d, h, 0.0)
        blocks.move(table, addresses, other, work, other, 0.0)
