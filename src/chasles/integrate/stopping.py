"""When Newton's method ends: one rule for all its loops.

Let e_k be the error after correction d_k. The matrix is kept, or nearly right, so errors shrink as e_k = C e_{k-1} with
a matrix C that hardly changes; then d_k = e_{k-1} - e_k up to sign, and d_{k+1} = C d_k. So the contraction that is
seen, η = |d_k|/|d_{k-1}|, says how large the next correction would be, and what is left altogether:

    |d_{k+1}| ≈ η |d_k|,    |e_k| = |d_{k+1} + d_{k+2} + ...| <= η/(1 - η) |d_k| <= 2 η |d_k|    if η <= 1/2

With an exact matrix η itself shrinks from one correction to the next, and less is left than that. The iteration ends

- converged (`converged`), if the correction is below the goal, or η < 1/2 and the next one would be below `left`: then
  what is left is below 2 `left`. η is taken to be at least `least` where a contraction seen once may be luck, as parts
  that converge more slowly are still hidden under others;
- at rounding (`at_rounding`), if η >= 1/2 and corrections are below a floor: the residual is known to rounding only, so
  they stop shrinking. It counts as converged;
- failed: NOT_FINITE, SINGULAR, or NO_CONVERGENCE after a number of corrections. That they grow is no reason to end: far
  from the solution they may, and shrink later. If they go on, they are soon not finite or too many.

Sizes are relative, in units of the loop:

    loop                        goal, left                     least         floor of rounding
    integrate.newton            1e-3 ε of the unknowns, both   0             32 ε, with a new matrix 1e-9
    integrate.variational       the same                       0             1e-9
    constrained.newton          1, 0.1 of `goals`              0 or 0.01     1e-11 or 1e-12 of positions
    transition.implicit.newton  1, 1/2 of a tenth of the       0.1           1e-11 of positions
                                tolerance
"""

from __future__ import annotations

from chasles.kernel.functions import larger
from chasles.kernel.policy import kernel

FAST = 0.5  # contraction below which what is left is at most twice the next correction


@kernel
def converged(size, contraction, least, goal, left):
    """Whether a correction of this size is below the goal, or the next one would be below `left`."""
    return size <= goal or (contraction < FAST and size * max(contraction, least) <= left)


@kernel
def lanes_converged(size, contraction, least, goal, left):
    """The same of lanes: a mask."""
    return (size <= goal) | ((contraction < FAST) & (size * larger(contraction, least) <= left))


@kernel
def lanes_at_rounding(size, contraction, floor):
    """`at_rounding` of lanes."""
    return (contraction >= FAST) & (size <= floor)


@kernel
def at_rounding(size, contraction, floor):
    """Whether corrections no longer shrink and are below the floor of rounding."""
    return contraction >= FAST and size <= floor
