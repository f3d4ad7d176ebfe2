"""How a loop over steps, or Newton's method in it, ended: one list for the compiled loops of all methods."""

from __future__ import annotations

(
    RUNNING,  # may go on
    DONE,
    FULL,  # no room for the next point
    NOT_FINITE,  # the field, the solution or an iterate
    UNDERFLOW,  # the step became too small
    NEAR_POLE,  # a step turned by more than its chart can
    EVENT,
    REJECTED,  # the step; it is tried again
    SPENT,  # evaluations
    NO_CONVERGENCE,  # of Newton's method
    SINGULAR,  # Newton's matrix
) = range(11)
