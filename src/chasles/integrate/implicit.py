"""Implicit Lie group methods with fixed steps: the Lie midpoint rule, Gauss-Munthe-Kaas, Lie-Poisson midpoint.

The equations of a step are solved to rounding by Newton's method. Its matrix is found by differences, kept from step to
step, and found anew when another one is cheaper than the iterations that the old one would still take. Iteration ends
when the corrections no longer become smaller; it must end near the rounding level, else the step has failed and
`StepError` says where and how.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import blocks, engine
from chasles.integrate.blocks import ALGEBRA, COUNT, KIND, POINT
from chasles.integrate.field import Field, PythonField, call
from chasles.integrate.solve import LieODE, Solution
from chasles.integrate.space import Space
from chasles.kernel.algebra import cross, force_cross
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout, load3, load6, store3, store6

EPS = 2.220446049250313e-16
ITERATIONS = 40  # in one attempt at a step
NOISE = 32 * EPS  # corrections that stop shrinking below this are rounding
STUCK = 1e-9  # ... and below this if the matrix is new
FLOOR = 1e-6  # sizes of unknowns below this part of the largest do not count
DIFFERENCE = 1.4901161193847656e-08  # sqrt(EPS), relative difference for the matrix

RUNNING, DONE, NOT_FINITE, NO_CONVERGENCE, POLE, SINGULAR = range(6)
# integer memory of a run; `matrices` counts how often Newton's matrix was found
COUNTS = layout("COUNTS", step=1, rows=1, status=1, evaluations=1, iterations=1, matrices=1, tried=1)
TIMES = layout("TIMES", start=1, end=1, step=1, last=1, sign=1)
SETTINGS = layout("SETTINGS", mode=1, stages=1, count=1, every=1, point=1, algebra=1)
GROUP, MUNTHE_KAAS, LIE_POISSON = range(3)  # how a stage uses the field

# ---------------------------------------------------------------- Newton's method


@kernel
def lu_factor(a, pivots, m):
    """Replace the m x m matrix by its triangular factors, rows exchanged; False if it is singular."""
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if abs(a[i * m + k]) > abs(a[best * m + k]):
                best = i
        pivots[k] = best
        if not abs(a[best * m + k]) > 0.0:
            return False
        if best != k:
            for j in range(m):
                a[k * m + j], a[best * m + j] = a[best * m + j], a[k * m + j]
        inverse = 1.0 / a[k * m + k]
        for i in range(k + 1, m):
            a[i * m + k] *= inverse
            for j in range(k + 1, m):
                a[i * m + j] -= a[i * m + k] * a[k * m + j]
    return True


@kernel
def lu_solve(a, pivots, b, m):
    """Solve with the factors; b becomes the solution."""
    for k in range(m):
        other = pivots[k]
        b[k], b[other] = b[other], b[k]
    for i in range(m):
        for j in range(i):
            b[i] -= a[i * m + j] * b[j]
    for i in range(m - 1, -1, -1):
        for j in range(i + 1, m):
            b[i] -= a[i * m + j] * b[j]
        b[i] /= a[i * m + i]


@kernel
def measure(z, step, groups, base, size, m):
    """Set the sizes of the groups of unknowns from their base, value and correction."""
    largest = 0.0
    for g in range(base.shape[0]):
        size[g] = base[g]
    for i in range(m):
        size[groups[i]] = max(size[groups[i]], abs(z[i]), abs(step[i]))
    for g in range(base.shape[0]):
        largest = max(largest, size[g])
    for g in range(base.shape[0]):
        size[g] = max(size[g], FLOOR * largest, 1e-300)


@kernel
def relative(v, groups, size, m):
    """Largest component in units of the size of its group; not finite if any is not."""
    worst = 0.0
    for i in range(m):
        ratio = abs(v[i]) / size[groups[i]]
        worst = ratio if not ratio <= worst else worst
    return worst


@kernel
def newton_matrix(residual, context, z, r, lu, pivots, groups, size, counts, trial, changed, m):
    """Differences of the residual (r, at z) in each unknown, as triangular factors."""
    for i in range(m):
        trial[i] = z[i]
    for j in range(m):
        delta = DIFFERENCE * size[groups[j]]
        trial[j] = z[j] + delta
        delta = trial[j] - z[j]
        residual(context, trial, changed)
        trial[j] = z[j]
        for i in range(m):
            lu[i * m + j] = (changed[i] - r[i]) / delta
    counts[COUNTS.evaluations] += m
    counts[COUNTS.matrices] += 1
    return lu_factor(lu, pivots, m)


@kernel
def iterations_left(correction, rate):
    """How many more corrections it takes from this one, at this rate, to a tenth of the rounding."""
    return np.log(0.1 * EPS / correction) / np.log(rate) if rate < 1.0 else np.inf


@kernel
def newton(residual, context, z, r, lu, pivots, valid, groups, base, size, counts, history, work, m):
    """Solve residual(context, z, r) = 0 from the guess z; DONE, or what went wrong.

    `lu`, `pivots` and `valid` keep the matrix between calls. `history` receives residual and correction of each
    iteration, relative to the sizes of the unknowns.
    """
    trial, changed = work[:m], work[m : 2 * m]
    fresh = False
    before = np.inf
    for k in range(history.shape[1]):
        residual(context, z, r)
        counts[COUNTS.evaluations] += 1
        counts[COUNTS.iterations] += 1
        counts[COUNTS.tried] = k + 1
        measure(z, r, groups, base, size, m)
        history[0, k] = relative(r, groups, size, m)
        history[1, k] = np.nan
        if not np.isfinite(history[0, k]):
            return NOT_FINITE
        if not valid[0]:
            if not newton_matrix(residual, context, z, r, lu, pivots, groups, size, counts, trial, changed, m):
                return SINGULAR
            valid[0], fresh = 1, True
        lu_solve(lu, pivots, r, m)
        measure(z, r, groups, base, size, m)
        correction = relative(r, groups, size, m)
        history[1, k] = correction
        if not np.isfinite(correction):
            valid[0] = 0
            return SINGULAR
        for i in range(m):
            z[i] -= r[i]
        if correction <= 0.1 * EPS:
            return DONE
        rate = correction / before
        before = correction
        if k == 0:
            continue
        if rate < 0.5 and correction * rate <= 0.1 * EPS:
            return DONE
        if rate >= 0.5 and (correction <= NOISE or (fresh and correction <= STUCK)):
            return DONE
        if iterations_left(correction, rate) > m + 3:
            valid[0] = 0
    valid[0] = 0
    return NO_CONVERGENCE


# ---------------------------------------------------------------- the equations of a step


@kernel
def largest(y, first, count):
    value = 0.0
    for k in range(count):
        value = max(value, abs(y[first + k]))
    return value


@kernel
def natural_sizes(table, y, base):
    """Size of the two groups of unknowns of each block: 1 for rotations, that of the point for translations."""
    for i in range(table.shape[0]):
        kind, iy = table[i, KIND], table[i, POINT]
        base[2 * i] = 1.0
        base[2 * i + 1] = 0.0
        if kind == blocks.VECTOR:
            base[2 * i] = largest(y, iy, table[i, COUNT])
        elif kind == blocks.SE2:
            base[2 * i + 1] = max(abs(y[iy + 2]), abs(y[iy + 5]))
        elif kind == blocks.SE3:
            base[2 * i + 1] = max(abs(y[iy + 3]), abs(y[iy + 7]), abs(y[iy + 11]))
        elif kind == blocks.POSE:
            base[2 * i + 1] = largest(y, iy + 4, 3)
        elif kind == blocks.SCREWED:
            base[2 * i + 1] = largest(y, iy + 3, 3)
        elif kind == blocks.COSCREWED:
            force = largest(y, iy + 3, 3)
            base[2 * i + 1] = largest(y, iy, 3) / force if force > 0.0 else 1.0


@kernel
def generator(table, x, y, out):
    """The vector with which x moves y, on dual algebras: -ad*_x y (004 section 3.4.2)."""
    for i in range(table.shape[0]):
        iy, ix = table[i, POINT], table[i, ALGEBRA]
        if table[i, KIND] == blocks.ROTATED:
            store3(out, iy, cross(load3(x, ix, 0.0), load3(y, iy, 0.0)))
        else:
            store6(out, iy, force_cross(load6(x, ix, 0.0), load6(y, iy, 0.0)))


@kernel(entry=True)
def stage_residual(context, z, r):
    """Equations of a step of a method in the algebra; z holds h times the stages' slopes.

    z_i = h dexpinv_{S_i} f(t + c_i h, exp(S_i) y) with S_i = sum_j a_ij z_j; without dexpinv for the midpoint rule.
    """
    table, settings, a, _, c, t, h, sign, y, point, s, f, _, address, p = context
    stages, n, d = settings[SETTINGS.stages], settings[SETTINGS.point], settings[SETTINGS.algebra]
    for i in range(stages):
        engine.linear(s, 0, a, i * stages, stages, z, d, 1.0)
        blocks.move(table, blocks.EXP, y, s, point, 0.0)
        call(address, t + c[i] * h, point, 0, p, f, 0, n, d)
        for m in range(d):
            f[m] *= sign
        if settings[SETTINGS.mode] == MUNTHE_KAAS:
            blocks.pullback(table, blocks.EXP, -1, s, f, f, 0, 0.0)
        for m in range(d):
            r[i * d + m] = z[i * d + m] - h * f[m]


@kernel(entry=True)
def poisson_residual(context, z, r):
    """Equations of the Lie-Poisson midpoint rule: z = -h ad*_x (y + z/2), x the mean field between y and y + z."""
    table, settings, _, b, c, t, h, sign, y, point, s, f, total, address, p = context
    n = settings[SETTINGS.point]
    for m in range(n):
        total[m] = 0.0
    for i in range(c.shape[0]):
        for m in range(n):
            point[m] = y[m] + c[i] * z[m]
        call(address, t + 0.5 * h, point, 0, p, f, 0, n, n)
        for m in range(n):
            total[m] += b[i] * f[m]
    for m in range(n):
        point[m] = y[m] + 0.5 * z[m]
    generator(table, total, point, s)
    for m in range(n):
        r[m] = z[m] - h * sign * s[m]


@kernel
def guess(t, h, sign, y, z, f, n, d, address, p):
    """Start from the field at the beginning of the step, the same for all stages."""
    call(address, t, y, 0, p, f, 0, n, d)
    for i in range(z.shape[0]):
        z[i] = h * sign * f[i % d]


@kernel
def poisson_guess(table, t, h, sign, y, z, f, n, address, p):
    call(address, t, y, 0, p, f, 0, n, n)
    generator(table, f, y, z)
    for m in range(n):
        z[m] *= h * sign


@kernel
def save(row, t, y, f, x, saved_t, saved_y, saved_f, saved_x):
    saved_t[row] = t
    for m in range(y.shape[0]):
        saved_y[row, m] = y[m]
    for m in range(f.shape[0]):
        saved_f[row, m] = f[m]
        saved_x[row, m] = x[m]


@kernel
def clock(counts, times, count):
    """(t, end of the step, step, whether it is the last): times are counted from the start, full steps are equal."""
    k = counts[COUNTS.step]
    last = k + 1 == count
    t = times[TIMES.start] + k * times[TIMES.step]
    target = times[TIMES.end] if last else times[TIMES.start] + (k + 1) * times[TIMES.step]
    return t, target, times[TIMES.last] if last else times[TIMES.step], last


@kernel(entry=True)
def advance(
    table,
    settings,
    times,
    a,
    b,
    c,
    groups,
    y,
    z,
    lu,
    pivots,
    valid,
    counts,
    history,
    memory,
    saved_t,
    saved_y,
    saved_f,
    saved_x,
    address,
    p,
    limit,
):
    """Take up to `limit` steps. y, z, lu, pivots, valid and counts are the whole memory of the run."""
    mode, count = settings[SETTINGS.mode], settings[SETTINGS.count]
    n, d, m = settings[SETTINGS.point], settings[SETTINGS.algebra], z.shape[0]
    sign, bases = times[TIMES.sign], 2 * table.shape[0]
    point, s, f, total, x = memory[:n], memory[n : 2 * n], memory[2 * n : 2 * n + d], memory[3 * n : 4 * n], memory[:0]
    s, f, total, x = memory[n : n + d], memory[n + d : n + 2 * d], memory[n + 2 * d : n + 3 * d], memory[:d]
    x = memory[n + 3 * d : n + 4 * d]
    at = n + 4 * d
    base, size = memory[at : at + bases], memory[at + bases : at + 2 * bases]
    at += 2 * bases
    r, work = memory[at : at + m], memory[at + m : at + 3 * m]
    for _ in range(limit):
        if counts[COUNTS.step] >= count:
            counts[COUNTS.status] = DONE
            return
        t, target, h, last = clock(counts, times, count)
        natural_sizes(table, y, base)
        if last:
            for i in range(m):
                z[i] *= h / times[TIMES.step]
        context = table, settings, a, b, c, t, h, sign, y, point, s, f, total, address, p
        status = NO_CONVERGENCE
        for attempt in range(2):
            if attempt == 1 or counts[COUNTS.step] == 0:  # else the stages of the step before are the guess
                valid[0] = 0
                counts[COUNTS.evaluations] += 1
                if mode == LIE_POISSON:
                    poisson_guess(table, t, h, sign, y, z, f, n, address, p)
                else:
                    guess(t, h, sign, y, z, f, n, d, address, p)
            if mode == LIE_POISSON:
                status = newton(
                    *(poisson_residual, context, z, r, lu, pivots, valid, groups, base, size, counts, history, work, m)
                )
            else:
                status = newton(
                    *(stage_residual, context, z, r, lu, pivots, valid, groups, base, size, counts, history, work, m)
                )
            if status == DONE or (attempt == 0 and counts[COUNTS.step] == 0):
                break
        if status != DONE:
            counts[COUNTS.status] = status
            return
        if mode == LIE_POISSON:
            for i in range(n):
                x[i] = 0.0
                y[i] += z[i]
        else:
            engine.linear(x, 0, b, 0, settings[SETTINGS.stages], z, d, 1.0)
            if mode == MUNTHE_KAAS and engine.largest_angle(table, x) > engine.LARGEST_ANGLE:
                counts[COUNTS.status] = POLE
                return
            blocks.move(table, blocks.EXP, y, x, y, 0.0)
        counts[COUNTS.step] += 1
        if last or (settings[SETTINGS.every] > 0 and counts[COUNTS.step] % settings[SETTINGS.every] == 0):
            call(address, target, y, 0, p, f, 0, n, d)
            counts[COUNTS.evaluations] += 1
            for i in range(d):
                f[i] *= sign
            save(counts[COUNTS.rows], target, y, f, x, saved_t, saved_y, saved_f, saved_x)
            counts[COUNTS.rows] += 1
    counts[COUNTS.status] = RUNNING
