"""A closed mechanism as one packed array: the tree, the tiles that close it, and where each row of equations acts.

Tiles see the links that they hold as bodies, with the links' frames: `touched` says which. A group is a tile, or two
that share their row (coupled coordinates); a row is one of the three of its group. `visits` are the links between the
bodies of a group and the ground, outermost first: all that a wrench on these bodies reaches. `levers` are lengths [m]
of the groups: the size of the largest link in their loops.
"""

from __future__ import annotations

import numpy as np

from chasles.constraint.rows import MOTION, ROWS
from chasles.constraint.special import ROOM
from chasles.force.table import SCRATCH
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout
from chasles.relative.forward import LIMB
from chasles.relative.kinematics import STATE

GROUP = layout("GROUP", tile=1, count=1, visit=1, visits=1)
ROW = layout("ROW", group=1, place=1)
PARTS = (
    *("topology", "tiles", "groups", "rows", "visits", "touched", "counted", "table"),  # integers
    *("numbers", "constants", "levers", "feedback", "values", "control"),  # numbers
)
COUNTS = (
    *("n_q", "n_v", "n_links", "n_tiles", "n_rows", "n_touched", "n_counted"),
    "rank",  # independent rows, once a start is known; -1: as many as are found
    *(
        "articulate",
        "evaluate",
        "factor",
        "respond",
        "accelerations",
        "derivative",
        "project",
        "linearize",
        "act",
    ),  # addresses
)
HEAD = layout("HEAD", **dict.fromkeys((*PARTS, "end", *COUNTS), 1), sizes=8)  # sizes: those that `act` asks for


def pack(parts: dict[str, np.ndarray], counts: dict[str, int], sizes: tuple[int, ...]) -> np.ndarray:
    """One array of floats; integers are kept as their bits."""
    arrays = [np.ascontiguousarray(parts[name]).reshape(-1).view(float) for name in PARTS]
    edges = HEAD.size + np.concatenate([[0], np.cumsum([len(array) for array in arrays])])
    head = np.array([*edges, *(counts[name] for name in COUNTS), *sizes], dtype=np.int64)
    return np.concatenate([head.view(float), *arrays])


@kernel(allocates=True)  # a view counts as an array that is made
def part(array, whole, first):
    """A part of the packed array, as numbers or, of its other view, as integers."""
    return array[whole[first] : whole[first + 1]]


@kernel
def rows_size(whole):
    """Numbers of the rows with what laws and coordinates need behind them (`constraint.special`)."""
    return ROWS.size * whole[HEAD.n_tiles] + whole[HEAD.n_counted] + ROOM.size + 1


@kernel
def work_size(whole):
    """Numbers that accelerations and projections need."""
    links, nv, m = whole[HEAD.n_links], whole[HEAD.n_v], whole[HEAD.n_rows]
    slots = (LIMB.size + STATE.size) * (links + 1)
    of_links = 12 * links + MOTION.size * whole[HEAD.n_touched]
    return slots + of_links + rows_size(whole) + m * nv + 6 * m + 3 * nv + SCRATCH + 4


@kernel(allocates=True)
def rooms(whole, work):
    """limbs, states, motion, rows, matrix, scales, order, x, wrenches, pushes, change, tau, still, scratch, report."""
    links, nv, m = whole[HEAD.n_links], whole[HEAD.n_v], whole[HEAD.n_rows]
    states = LIMB.size * (links + 1)
    motion = states + STATE.size * (links + 1)
    rows = motion + MOTION.size * whole[HEAD.n_touched]
    matrix = rows + rows_size(whole)
    scales = matrix + m * nv
    order, x = scales + 2 * m, scales + 4 * m
    wrenches = x + 2 * m
    pushes = wrenches + 6 * links
    change = pushes + 6 * links
    scratch = change + 3 * nv
    return (
        work[:states],
        work[states:motion],
        work[motion:rows],
        work[rows:matrix],
        work[matrix:scales],
        work[scales:order],
        work[order:x],
        work[x:wrenches],
        work[wrenches:pushes],
        work[pushes:change],
        work[change : change + nv],
        work[change + nv : change + 2 * nv],
        work[change + 2 * nv : scratch],
        work[scratch : scratch + SCRATCH],
        work[scratch + SCRATCH :],
    )
