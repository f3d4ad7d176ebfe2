"""Newton's method where equations depend on each other, next to singular configurations.

There J M⁻¹ Jᵀ has eigenvalues of any size, and negative ones if its two rows are of both ends of a step. One that is
near -ε spoils the regularised step: so it is tried again with another ε. Positive ones near ε only slow it down: then
it goes on with a smaller ε. Along what is hardly held the iteration may go on for long, though all equations hold to
rounding: then it has settled.
"""

from __future__ import annotations

from chasles.absolute.implicit.layout import ITERATIONS
from chasles.kernel.policy import kernel

SHARPER = 1e-2
RATIOS = (1.0, SHARPER, 1e2, 1e-1)  # of the regularisation
TRIES = ITERATIONS // len(RATIOS)  # iterations with each


@kernel
def again(n, n_nodes, h, v, x, lam):
    """Begin the step anew. Multipliers begin at zero: what the equations leave open of them must not be carried on."""
    for k in range(6 * n):
        x[k] = h * v[k]
    for k in range(3 * n_nodes):
        lam[k] = 0.0


@kernel
def settled(iteration, contraction, largest, off, displacement, far):
    """Whether all equations hold, and what still moves is small and moves slowly."""
    slow = iteration > 2 and contraction > 0.3
    return slow and off < 1e-13 * far and largest < 1e-6 * abs(displacement)
