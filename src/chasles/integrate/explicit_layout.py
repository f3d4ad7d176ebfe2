"""What the loop of the explicit methods finds in its arrays: settings, stepping state, counters, scratch space."""

from __future__ import annotations

from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

# integer settings of a run
SET = layout(
    "SET",
    family=1,
    step=1,  # address of a step of the method
    mapping=1,
    terms=1,
    stages=1,
    adaptive=1,
    step_control=1,
    same_last=1,
    save_every=1,
    commutators=1,
    dense=1,  # whether the moves between saved points are kept, for a curve through them
    estimates=1,
    point=1,
    algebra=1,
    correction=1,  # address of the function that corrects a point after each step, or 0
    most=1,  # evaluations of the field that the run may take
)
# real settings; behind them atol of each coordinate of the algebra
REAL = layout("REAL", start=1, end=1, step=1, rtol=1, atol=1, safety=1, exponent=1, shortest=1, longest=1, floor=1)
# stepping state: reals, then integers
STATE = layout("STATE", t=1, h=1, old_error=1, since_save=1, event_step=1)
TALLY = layout(
    "TALLY",
    accepted=1,
    rejected=1,
    evaluations=1,
    status=1,
    records=1,
    next_time=1,
    just_rejected=1,
    pass_event=1,  # the step that an event interrupted is to be taken as it is
)

MUNTHE_KAAS, EXPONENTIALS = 0, 1  # families
FIXED, PAPER, PREDICTIVE = 0, 1, 2  # rules of step control
LARGEST_ANGLE = 6.0  # a move this near to the pole of dexpinv at 2 pi is refused


def scratch_size(stages: int, n: int, d: int) -> int:
    """Numbers of scratch space for a method of so many stages on points of n numbers and algebra vectors of d."""
    return 2 * stages * d + stages * max(n, d) + 5 * d + 3 * n


@kernel
def scratch(memory, settings, width):
    """The parts of the scratch space; `width` is the number of doubles in a scalar.

    Field values of the stages, their pullbacks or points, moves to them, the move of the step, its result, another
    point, work (two vectors), the field at the result, another vector, a point that steps leave alone.
    """
    stages, n, d = settings[SET.stages], width * settings[SET.point], width * settings[SET.algebra]
    i = stages * d
    j = i + stages * max(n, d)
    k = j + stages * d
    f, points, moves, x = memory[:i], memory[i:j], memory[j:k], memory[k : k + d]
    out, other = memory[k + d : k + d + n], memory[k + d + n : k + d + 2 * n]
    m = k + d + 2 * n
    work, f1, u = memory[m : m + 2 * d], memory[m + 2 * d : m + 3 * d], memory[m + 3 * d : m + 4 * d]
    return f, points, moves, x, out, other, work, f1, u, memory[m + 4 * d : m + 4 * d + n]
