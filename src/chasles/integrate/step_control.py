"""Whether a step is good: its flaws, its error, and what follows for the step size."""

from __future__ import annotations

import numpy as np

from chasles.integrate.explicit_layout import LARGEST_ANGLE, MUNTHE_KAAS, PAPER, REAL, SET, STATE, TALLY
from chasles.integrate.explicit_step import linear, second_result
from chasles.integrate.status import DONE, NEAR_POLE, NOT_FINITE, REJECTED
from chasles.integrate.table import (
    ALGEBRA_AT,
    ALGEBRA_SE3,
    CHART,
    COUNT,
    KIND,
    POINT_AT,
    POSE,
    R_N,
    SCREWED,
    SE2,
    SE3,
    algebra_of,
)
from chasles.kernel.lanes import all_true, like, load
from chasles.kernel.policy import kernel


@kernel
def scale_of(table, i, m, y, out):
    """Size that coordinate m of block i, not a vector, is compared with: 1 for rotations, that of the position."""
    kind, iy = table[i, KIND], table[i, POINT_AT]
    angular = 1 if kind == SE2 else 3
    if m < angular or (algebra_of(kind) != ALGEBRA_SE3 and kind < CHART and kind != SE2):
        return 1.0
    largest = 1e-300
    first, stride = iy, 1
    if kind == SE2:
        return max(max(abs(y[iy + 2]), abs(y[iy + 5])), max(abs(out[iy + 2]), abs(out[iy + 5])))
    if kind == SE3:
        first, stride = iy + 3, 4
    elif kind == POSE:
        first = iy + 4
    elif kind == SCREWED or kind >= CHART:
        first = iy + 3
    for k in range(3):
        largest = max(largest, max(abs(y[first + stride * k]), abs(out[first + stride * k])))
    return largest


@kernel
def algebra_norm(table, measured, e, y, out, real):
    """Root mean square of an error in the algebra, each coordinate relative to its atol + rtol times its scale."""
    total, count, rtol, atol = 0.0, 0, real[REAL.rtol], REAL.size
    for i in range(table.shape[0]):
        ix = table[i, ALGEBRA_AT]
        if table[i, KIND] != R_N:
            count += table[i, COUNT]
            for m in range(table[i, COUNT]):
                ratio = e[ix + m] / (real[atol + ix + m] + rtol * scale_of(table, i, m, y, out))
                total += ratio * ratio
    for k in range(measured.shape[0]):
        first, ix, size = measured[k, 0], measured[k, 1], measured[k, 2]
        floor = real[REAL.floor] if measured[k, 3] else 0.0
        tolerance = real[atol + ix] + rtol * max(size_of(first, size, y, out), floor)
        count += size
        for m in range(size):
            ratio = e[ix + m] / tolerance
            total += ratio * ratio
    return np.sqrt(total / max(count, 1))


@kernel
def size_of(first, size, y, out):
    """The larger length of a vector at both ends of a step: it does not change with the axes that it is written in."""
    if size == 1:
        return max(abs(y[first]), abs(out[first]))
    before, after = 0.0, 0.0
    for m in range(first, first + size):
        before, after = before + y[m] * y[m], after + out[m] * out[m]
    return np.sqrt(max(before, after))


@kernel
def plain_norm(e, size):
    total = 0.0
    for m in range(size):
        total += e[m] * e[m]
    return np.sqrt(total)


@kernel
def point_norm(table, measured, y, out, other, real, size, paper):
    """Distance of two results as points of the embedding space, scaled or (paper) Euclidean."""
    total, count, rtol, atol = 0.0, 0, real[REAL.rtol], REAL.size
    if paper:
        for m in range(size):
            total += (out[m] - other[m]) * (out[m] - other[m])
        return np.sqrt(total)
    for i in range(table.shape[0]):
        if table[i, KIND] != R_N:
            end = table[i + 1, POINT_AT] if i + 1 < table.shape[0] else size
            for m in range(table[i, POINT_AT], end):
                scale, ix = max(abs(y[m]), abs(out[m])), table[i, ALGEBRA_AT]
                if table[i, KIND] == POSE:
                    turns = m < table[i, POINT_AT] + 4
                    scale, ix = (1.0, ix) if turns else (scale_of(table, i, 3, y, out), ix + 3)
                ratio = (out[m] - other[m]) / (real[atol + ix] + rtol * scale)
                total += ratio * ratio
                count += 1
    for k in range(measured.shape[0]):
        first, length = measured[k, 0], measured[k, 2]
        floor = real[REAL.floor] if measured[k, 3] else 0.0
        tolerance = real[atol + measured[k, 1]] + rtol * max(size_of(first, length, y, out), floor)
        count += length
        for m in range(first, first + length):
            ratio = (out[m] - other[m]) / tolerance
            total += ratio * ratio
    return np.sqrt(total / max(count, 1))


@kernel
def error_of_step(table, measured, addresses, settings, real, e, program, weights, y, h, parts):
    """Estimated error of a step: in the algebra for Munthe-Kaas methods, between points for pairs of products."""
    f, k, _, _, out, other, work, _, _, _ = parts
    stages, n, d = settings[SET.stages], settings[SET.point], settings[SET.algebra]
    paper = settings[SET.step_control] == PAPER
    if settings[SET.family] != MUNTHE_KAAS:
        second_result(table, addresses, settings, program, weights, f, k, y, h, other, work)
        return point_norm(table, measured, y, out, other, real, n, paper)
    linear(work, e, 0, stages, k, d, h, 0.0)
    if paper:
        return plain_norm(work, d)
    error = algebra_norm(table, measured, work, y, out, real)
    if settings[SET.estimates] > 1 and error > 0.0:  # DOP853: the lower estimate damps the higher one
        linear(work, e, stages, stages, k, d, h, 0.0)
        second = algebra_norm(table, measured, work, y, out, real)
        error = error * error / np.sqrt(error * error + 0.01 * second * second)
    return error


@kernel
def factor(step_control, error, old_error, real, tolerance):
    """By how much the step is to change; the paper's rule, or a proportional-integral one with limits."""
    if error == 0.0:
        return 5.0
    alpha = real[REAL.exponent]
    if step_control == PAPER:
        return real[REAL.safety] * (tolerance / error) ** alpha
    value = real[REAL.safety] * error ** (-0.7 * alpha) * old_error ** (0.4 * alpha)
    return min(5.0, max(0.2, value))


@kernel
def finite(values, size, z):
    """Whether numbers are finite, in all lanes."""
    zero = like(0.0, z)
    first, second, third, fourth = zero, zero, zero, zero  # four sums, because each addition waits for the one before
    m = 0
    while m + 4 <= size:
        first, second = first + 0.0 * load(values, m, z), second + 0.0 * load(values, m + 1, z)
        third, fourth = third + 0.0 * load(values, m + 2, z), fourth + 0.0 * load(values, m + 3, z)
        m += 4
    while m < size:
        first = first + 0.0 * load(values, m, z)
        m += 1
    return all_true((first + second) + (third + fourth) == 0.0)


@kernel
def flaw(settings, angle, parts, z):
    """What is wrong with the result of a step: NOT_FINITE, NEAR_POLE or nothing (DONE)."""
    n, d, stages = settings[SET.point], settings[SET.algebra], settings[SET.stages]
    if not (finite(parts[4], n, z) and finite(parts[0], stages * d, z)):
        return NOT_FINITE
    return DONE if all_true(angle <= LARGEST_ANGLE) else NEAR_POLE


@kernel
def judge(table, measured, addresses, settings, real, e, program, weights, state, counts, y, h, last, angle, parts):
    """Whether an adaptive step is accepted (DONE) or REJECTED, the next step size, and the error to remember."""
    paper = settings[SET.step_control] == PAPER
    tolerance = real[REAL.atol] if paper else 1.0
    error = np.inf
    if flaw(settings, angle, parts, 0.0) == DONE:
        error = error_of_step(table, measured, addresses, settings, real, e, program, weights, y, h, parts)
    change = 0.2
    if np.isfinite(error):
        change = factor(settings[SET.step_control], error, state[STATE.old_error], real, tolerance)
    accepted = error < tolerance if paper else error <= tolerance
    if not accepted:
        return REJECTED, h * min(change, 0.9), state[STATE.old_error]
    if counts[TALLY.just_rejected] and not paper:
        change = min(change, 1.0)
    return DONE, state[STATE.h] if last and not paper else h * change, max(error, 1e-4)
