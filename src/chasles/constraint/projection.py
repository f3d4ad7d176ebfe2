"""The rule of a projection onto constraints, mass-orthogonal: when to sweep again, and with which factor.

Positions come first, by Newton's method q ← q ⊕ M⁻¹Jᵀ x with J M⁻¹ Jᵀ x = -g; then velocities, which are linear. The
factor of J M⁻¹ Jᵀ only says how far to go along rows that are those of the state at hand, so it is kept as long as
sweeps converge fast. Velocities have few sweeps, so they ask for more of it than positions do. How J M⁻¹ Jᵀ is
factorized is a matter of the coordinates: blocks of a sparse graph for bodies (`absolute.entry`), rows that the
recursions of the tree give for loops of joints (`relative.loop.entry`).
"""

from __future__ import annotations

from chasles.kernel.lanes import maximum
from chasles.kernel.policy import kernel

SWEEPS, SPEED_SWEEPS = 20, 5  # at most, of positions and of velocities
ROUNDING = 4e-16  # residuals this small, relative to what they are the difference of, are as good as none
SPEED_ROUNDING = 4.0 * ROUNDING
SLOW = 0.1  # a sweep that leaves more than this needs a factor of its own
NOISE = 10.0 * ROUNDING  # below this, what a sweep leaves is rounding: that must not decide whose factor speeds get
POOR = 1e-3  # a first sweep of velocities that leaves more needs a factor of its own: few sweeps come to rounding then
TORN = 1e-3  # of the size of a model: joints that are farther off hold nothing
# a sweep that leaves more than this, after the first two, has come to rounding or has no solution nearby, if its factor
# was its own; one by a factor of poses that were far away is no reason to end
STUCK = 0.5


@kernel
def is_off(share):
    """Whether positions are off the constraints: `share` is the largest residual, relative. A NaN is not."""
    return share > ROUNDING


@kernel
def may_sweep(sweeps):
    return sweeps < SWEEPS


@kernel
def goes_on(share, sweeps):
    """Whether positions need another sweep."""
    return is_off(share) and may_sweep(sweeps)


@kernel
def is_slow(share, before):
    return share > maximum(SLOW * before, NOISE)


@kernel
def is_poor(share, before):
    """Whether the factor that positions left is too far off for velocities."""
    return share > maximum(POOR * before, NOISE)


@kernel
def stays(share, before):
    return share > STUCK * before


@kernel
def is_stuck(share, before, sweeps, fresh):
    """Whether further sweeps are of no use. fresh: whether the last one had a factor of its own."""
    return stays(share, before) and sweeps > 2 and (fresh or share <= NOISE)


@kernel
def is_torn(share):
    """Whether positions stayed so far off that nothing holds there: what goes on from there would be void."""
    return share > TORN


@kernel
def worse(off, size, worst, share):
    """The largest residual so far, and the largest relative to the size of its terms; NaN stays NaN."""
    part = off / size
    return off if not off <= worst else worst, part if not part <= share else share
