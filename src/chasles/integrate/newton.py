"""Newton's method for the equations of a step, to rounding.

The matrix is found by differences, kept from step to step, and found anew when another one is cheaper than the
iterations that the old one would still take. Iteration ends when the corrections no longer become smaller; it must end
near the rounding level, else the step has failed (`stopping` has the rule).
"""

from __future__ import annotations

import numpy as np

from chasles.integrate.status import DONE, NO_CONVERGENCE, NOT_FINITE, SINGULAR
from chasles.integrate.stopping import at_rounding, converged
from chasles.kernel.dense import lu_factor, lu_solve
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

EPS = 2.220446049250313e-16
ITERATIONS = 40  # in one attempt at a step
REMAINDER = 1e-3 * EPS  # what may be left of the iteration; a tenth of EPS shows as drift in 1e6 steps
NOISE = 32 * EPS  # corrections that stop shrinking below this are rounding
STUCK = 1e-9  # ... and below this if the matrix is new
FLOOR = 1e-6  # sizes of unknowns below this part of the largest do not count
DIFFERENCE = 1.4901161193847656e-08  # sqrt(EPS), relative difference for the matrix

# integer memory of a run; `matrices` counts how often Newton's matrix was found
COUNTS = layout("COUNTS", step=1, rows=1, status=1, evaluations=1, iterations=1, matrices=1, tried=1)


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
def iterations_left(correction, rate):
    """How many more corrections it takes from this one, at this rate, until nothing is left."""
    return np.log(REMAINDER / correction) / np.log(rate) if rate < 1.0 else np.inf


@kernel
def evaluate_all(residual, context, z, r, matrix, groups, base, size, counts, work, m):
    """The residual at z; if there is no matrix that can be used, also its differences in each unknown.

    One loop does both, because `residual` is compiled anew wherever it is called. False if the matrix is singular.
    """
    lu, pivots, valid = matrix
    trial, changed = work[:m], work[m : 2 * m]
    for i in range(m):
        trial[i] = z[i]
    for j in range(-1, 0 if valid[0] else m):
        delta = 0.0
        if j >= 0:
            trial[j] = z[j] + DIFFERENCE * size[groups[j]]
            delta = trial[j] - z[j]
        residual(context, trial, changed)
        if j < 0:
            for i in range(m):
                r[i] = changed[i]
            measure(z, r, groups, base, size, m)
        else:
            trial[j] = z[j]
            for i in range(m):
                lu[i * m + j] = (changed[i] - r[i]) / delta
    if valid[0]:
        return True
    counts[COUNTS.matrices] += 1
    return lu_factor(lu, pivots, m)


@kernel
def newton(residual, context, z, r, matrix, groups, base, size, counts, history, work, m):
    """Solve residual(context, z, r) = 0 from the guess z; DONE, or what went wrong. r becomes scratch space.

    `matrix` (factors, pivots, whether they are valid) is kept between calls. `history` receives residual and
    correction of each iteration, relative to the sizes of the unknowns.
    """
    lu, pivots, valid = matrix
    fresh = False
    before = np.inf
    for k in range(history.shape[1]):
        fresh = fresh or not valid[0]
        regular = evaluate_all(residual, context, z, r, matrix, groups, base, size, counts, work, m)
        counts[COUNTS.iterations] += 1
        counts[COUNTS.tried] = k + 1
        history[0, k] = relative(r, groups, size, m)
        history[1, k] = np.nan
        valid[0] = 0
        if not np.isfinite(history[0, k]):
            return NOT_FINITE
        if not regular:
            return SINGULAR
        lu_solve(lu, pivots, r, m)
        measure(z, r, groups, base, size, m)
        correction = relative(r, groups, size, m)
        history[1, k] = correction
        if not np.isfinite(correction):
            return SINGULAR
        valid[0] = 1
        for i in range(m):
            z[i] -= r[i]
        rate = correction / before if k > 0 else np.inf
        before = correction
        if converged(correction, rate, 0.0, REMAINDER, REMAINDER):
            return DONE
        if k == 0:
            continue
        if at_rounding(correction, rate, STUCK if fresh else NOISE):
            return DONE
        if iterations_left(correction, rate) > m + 3:
            valid[0] = 0
    valid[0] = 0
    return NO_CONVERGENCE
