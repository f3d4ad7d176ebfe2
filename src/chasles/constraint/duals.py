"""The tiles of constraints on dual numbers: what computes the special ones, and their laws."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from chasles.constraint.joints import Tile
from chasles.constraint.rows import NUMBERS, SCREWS, TURN
from chasles.constraint.screw_rows import screw_rate, screw_rows, solve_screws
from chasles.constraint.special import EVALUATE, RATE, UNBOUNDED, special_tangent
from chasles.constraint.tile_work import EXTRA, EXTRA_AT, TILE_WORK, angle_at, tile_work_at
from chasles.force.law_tangent import DUALS, LawTangent
from chasles.kernel.address import INTEGER, INTEGERS, address_of
from chasles.kernel.address import NUMBERS as REALS
from chasles.kernel.late import carray
from chasles.kernel.policy import native
from chasles.kernel.workspace import store3
from chasles.model.law import Law


@native
def screws_tangent(what, tiles_at, numbers_at, j, motion_at, work_at, work_size):
    """`special` of a joint given by screws, with motion and rows on dual numbers."""
    tiles, numbers = carray(tiles_at, (UNBOUNDED,)), carray(numbers_at, (UNBOUNDED,))
    motion, work = carray(motion_at, (UNBOUNDED,)), carray(work_at, (work_size,))
    if what == EVALUATE:
        # where the guess is right, Newton's step is nothing but the derivatives: they become part of the guess
        count, _, _, _ = solve_screws(tiles, numbers, j, motion, work)
        at, first = tile_work_at(work), int(numbers[j * NUMBERS.size + EXTRA_AT + EXTRA.angle])
        for k in range(count):
            work[angle_at(work, first + k)] = work[at + TILE_WORK.q + k]
        screw_rows(tiles, numbers, j, motion, work)
    elif what == RATE:
        screw_rate(tiles, numbers, j, motion, work)
    else:  # what J V must be
        store3(work, tile_work_at(work) + TILE_WORK.target, (0.0, 0.0, 0.0))


@cache
def special_address(screws: bool, varied: bool) -> int:
    """Address of what computes special tiles, those of joints given by screws or others; compiled or loaded now.
    varied: whether their numbers are duals too."""
    function, size = screws_tangent if screws else special_tangent, INTEGER
    return address_of(function, size, INTEGERS, DUALS if varied else REALS, size, DUALS, DUALS, size)


def on_duals(
    constants: np.ndarray, tiles: Sequence[Tile], laws: Iterable[Law], varied: bool = False
) -> tuple[np.ndarray, list[LawTangent]]:
    """The numbers of tiles with the addresses of what computes them on duals, and the laws, to be kept alive. varied:
    whether the numbers are duals too."""
    lifted, tangents = constants.copy(), [LawTangent(law, varied) for law in laws]
    numbers, left = lifted[: len(tiles) * NUMBERS.size].reshape(-1, NUMBERS.size), iter(tangents)
    for tile, row in zip(tiles, numbers, strict=True):
        if tile.kind >= TURN:
            row[EXTRA_AT + EXTRA.function] = special_address(tile.kind == SCREWS, varied)
            if row[EXTRA_AT + EXTRA.law]:
                row[EXTRA_AT + EXTRA.law] = next(left).address
    return lifted, tangents
