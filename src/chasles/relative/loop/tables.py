"""A closed mechanism as one packed array: the tree, the tiles that close it, and where each row of equations acts.

Tiles see the links that they hold as bodies, with the links' frames: `touched` says which. A group is a tile, or two
that share their row (coupled coordinates); a row is one of the three of its group. `visits` are the links between the
bodies of a group and the ground, outermost first: all that a wrench on these bodies reaches. `levers` are lengths [m]
of the groups: the size of the largest link in their loops.
"""

from __future__ import annotations

from chasles.constraint.rows import MOTION
from chasles.constraint.tile_work import rows_size
from chasles.force.table import SCRATCH
from chasles.kernel.dual_memory import DualRegions
from chasles.kernel.memory import Packed
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout
from chasles.relative.forward import LIMB
from chasles.relative.kinematics import STATE
from chasles.relative.loop.triangle import ORDER_NUMBERS

ADDRESSES = (
    *("articulate", "evaluate", "factor", "respond", "accelerations", "derivative", "project", "linearize", "act"),
)
GROUP = layout("GROUP", tile=1, count=1, visit=1, visits=1)
ROW = layout("ROW", group=1, place=1)
CLOSED = Packed(
    "HEAD",
    {
        **dict.fromkeys(("topology", "tiles", "groups", "rows", "visits", "touched", "counted", "table"), int),
        "sizes": int,  # those that `act` asks for
        **dict.fromkeys(("numbers", "constants", "levers", "feedback", "values", "control"), float),
    },
    (
        *("n_q", "n_v", "n_links", "n_tiles", "n_rows", "n_touched", "n_counted"),
        "n_matrix",  # rows times velocities
        "rank",  # independent rows, once a start is known; -1: as many as are found
        *ADDRESSES,
    ),
    addresses=(*ADDRESSES, "constants", "table"),  # these parts: of laws
)
HEAD = CLOSED.head


@kernel(allocates=True)  # a view counts as an array that is made
def part(array, integers, first):
    """A part of the packed array, as numbers or, of its other view, as integers."""
    return array[integers[first] : integers[first + 1]]


SIZES = CLOSED.sizes
# workspace of accelerations and projections
WORK = DualRegions(
    "LoopWork",
    limbs=LIMB.size * (SIZES.n_links + 1),
    states=STATE.size * (SIZES.n_links + 1),
    motion=MOTION.size * SIZES.n_touched,
    rows=rows_size(SIZES.n_tiles, SIZES.n_counted),
    matrix=SIZES.n_matrix,
    scales=2 * SIZES.n_rows,
    order=ORDER_NUMBERS * SIZES.n_rows,
    x=2 * SIZES.n_rows,
    wrenches=6 * SIZES.n_links,
    pushes=6 * SIZES.n_links,
    change=SIZES.n_v,
    tau=SIZES.n_v,
    still=SIZES.n_v,
    scratch=SCRATCH,
    report=4,
)
loop_work_of, loop_work_size = WORK.views, WORK.total
