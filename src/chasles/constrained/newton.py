"""Newton's method for the equations of a step: one loop for all implicit methods.

It ends by the rule of `integrate.stopping`. Sizes of corrections are relative to their goals (`goals`), rounding is
relative to positions. Two things are added here: the contraction after the first correction may be known from steps
before (`expected`), so that one correction can do; and with redundant constraints the iteration also ends when all
equations hold to rounding (`settled`).

Where equations depend on each other, next to singular configurations, J M⁻¹ Jᵀ has eigenvalues of any size, and
negative ones if its two rows are of both ends of a step. One that is near -ε spoils the regularized step: so it is
tried again with another ε. Positive ones near ε only slow it down: then it goes on with a smaller ε. Along what is
hardly held the iteration may go on for long, though all equations hold to rounding: then it has settled.
"""

from __future__ import annotations

from typing import NamedTuple

from chasles.absolute.tables import FIELD
from chasles.constrained.workspace import COUNTS, ITERATIONS
from chasles.integrate.status import NOT_FINITE
from chasles.integrate.stopping import at_rounding, converged
from chasles.kernel.algebra import scale
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import add3, load3

SLOW = 0.03  # a correction that is not smaller than the one before it by this factor asks for new factors
BENT = 1e-3  # of the motion of a step: larger corrections of rods ask for new factors, as their axial forces are large
LEAST = 0.01  # how much smaller a correction with factors of another one is than the one before it, at best
LEFT = 0.1  # of the goals: what a correction may leave, by the contraction that is seen or expected
STUCK = 1e-11  # of positions: corrections that stop shrinking below it are rounding (generalized alpha)
SHARPER = 1e-2
RATIOS = (1.0, SHARPER, 1e2, 1e-1)  # of the regularization
TRIES = ITERATIONS // len(RATIOS)  # iterations with each


class Interval(NamedTuple):
    """A step of methods that need no more of it."""

    t: float
    h: float


class Limits(NamedTuple):
    """When the iteration of a step ends."""

    stuck: float  # corrections that stop shrinking below it, relative to positions, are rounding
    least: float  # contraction from one correction to the next, at best
    expected: float  # contraction after the first, from steps before
    tries: int  # iterations of a try that may settle; 0: it may not
    tolerance: float  # of the corrections, relative to the motion of a step


class Attempt(NamedTuple):
    """One iteration: the largest correction relative to its goal and to positions, the sum of all; residual of the
    constraints, and relative to positions where rows depend on others; power."""

    largest: float
    noise: float
    total: float
    off: float
    uneven: float
    power: float


class Outcome(NamedTuple):
    """Whether the iteration converged; its last correction, the contraction after the first (negative if there was no
    second), and the power of the forces."""

    converged: bool
    largest: float
    contraction: float
    power: float


@kernel
def iterate(correct, workspace, method, step, limits):
    """Corrections of a step, each by correct(workspace, method, step, iteration, fresh), until they are small enough.

    If not `fresh`, factors of the iteration before are still good.
    """
    counts, history = workspace.counts, workspace.history
    largest, contraction, first, power, fresh, ended = 0.0, 0.0, -1.0, 0.0, True, False
    for iteration in range(ITERATIONS):
        previous = largest
        largest, noise, total, off, uneven, power = correct(workspace, method, step, iteration, fresh)
        counts[COUNTS.iterations] += 1
        counts[COUNTS.tried] = iteration + 1
        history[iteration], history[ITERATIONS + iteration] = largest, off
        if not abs(total) < 1e300:
            counts[COUNTS.status] = NOT_FINITE
            break
        if iteration == 0:
            ended = converged(largest, limits.expected, 0.0, 1.0, LEFT)
        else:
            contraction = largest / previous
            if iteration == 1:
                first = contraction
            ended = converged(largest, contraction, limits.least, 1.0, LEFT)
            ended = ended or (iteration > 1 and at_rounding(noise, contraction, limits.stuck))
            if limits.tries > 0:
                ended = ended or settled(iteration % limits.tries, contraction, largest, uneven, limits)
        if ended:
            break
        bent = workspace.plan.n_rods > 0 and limits.tolerance * largest > BENT
        fresh = contraction > SLOW or bent
    return Outcome(ended, largest, first, power)


@kernel
def settled(iteration, contraction, largest, uneven, limits):
    """Whether all equations hold, and what still moves is small and moves slowly."""
    slow = iteration > 2 and contraction > 0.3
    return slow and uneven < 1e-13 and limits.tolerance * largest < 1e-6


@kernel
def weight_of_try(workspace, h, iteration, x, lam):
    """Weight of the regularization, zero if no rows depend on others. Each try begins the step anew, and multipliers
    at zero: what the equations leave open of them must not be carried on."""
    regular = workspace.tables.gravity[FIELD.regularization]
    if not regular > 0.0:
        return 0.0
    if iteration % TRIES == 0:
        for k in range(6 * workspace.tables.n):
            x[k] = h * workspace.v[k]
        for k in range(3 * workspace.plan.n_nodes):
            lam[k] = 0.0
    return regular * RATIOS[iteration // TRIES]


@kernel
def add_multipliers(workspace, s, lam):
    """λ += g/s."""
    factor = 1.0 / s
    for k in range(0, 3 * workspace.plan.n_nodes, 3):
        add3(lam, k, scale(factor, load3(workspace.g, k, 0.0)))
