"""The memory of `loop_field` and `loop_projection`: what the cotangents of a closed mechanism need beside its packed
array, whose sizes are at the head of that."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from chasles.constraint.rows import CUSTOM, NUMBERS, ROLL, TILE, TRAVEL, TURN
from chasles.constraint.tile_work import EXTRA, EXTRA_AT
from chasles.kernel.lanes import WIDTH, buffer
from chasles.kernel.memory import Regions
from chasles.kernel.workspace import layout
from chasles.relative.forward import LIMB
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.tables import CLOSED
from chasles.simulation.adjoint.loop_special import SPECIAL, TILE_ALONE, TILE_SIDE
from chasles.simulation.adjoint.loop_tiles import JETS, TILE_FRAME, WEIGHT
from chasles.simulation.adjoint.tree import BACK
from chasles.simulation.closed.tangent import ClosedTangentTables

# where things are in the memory: the address of `pull_linkage`, whether free joints have the velocities of their
# positions, whether rows may hold velocities alone, `ROOM`, tiles that are computed on duals and how many, the
# `TILE_ALONE` of these, the memory of the forces (of no size if there are none), and of a projection its spots and a
# packed mechanism of its own
LOOP = layout(
    "LOOP", linkage=1, free=1, speeds=1, room=1, special=1, specials=1, alone=1, forces=1, spots=1, packed=1, end=1
)  # fmt: skip

_SIZES = CLOSED.sizes
# of a state: velocities, accelerations (or other rates), those that the cotangents of these would be (μ), and what
# multiplies the rows; `fall` has gravity and its cotangent, `state` what forces are asked for
ROOM = Regions(
    "LoopRoom",
    back=BACK.size * (_SIZES.n_links + 1),
    apart=BACK.size * (_SIZES.n_links + 1),
    limbs=LIMB.size * (_SIZES.n_links + 1),
    others=LIMB.size * (_SIZES.n_links + 1),
    frames=TILE_FRAME.size * (_SIZES.n_touched + 1),
    weights=WEIGHT.size * _SIZES.n_tiles,
    jets=JETS,
    sides=2 * TILE_SIDE.size,
    fall=6,
    v=_SIZES.n_v,
    a=_SIZES.n_v,
    mu=_SIZES.n_v,
    a_bar=_SIZES.n_v,
    v_bar=_SIZES.n_v,
    still=_SIZES.n_v,
    held=_SIZES.n_rows,
    q=_SIZES.n_q,
    speed=_SIZES.n_v,
    bar=_SIZES.n_v,
    held_bar=_SIZES.n_v,
    first=_SIZES.n_rows,
    second=_SIZES.n_rows,
    state=2 * _SIZES.n_q + 3 * _SIZES.n_v + 6 * _SIZES.n_links,
)
loop_room_of = ROOM.views
# of each sweep of a projection: where it begins, the multipliers of the rows and what they move, how far it is off and
# whose factor it has; and the cotangent of where it begins
LOOP_SPOT = Regions("LoopSpot", q=_SIZES.n_q, x=_SIZES.n_rows, change=_SIZES.n_v, v=_SIZES.n_v, info=2, bar=_SIZES.n_q)
loop_spot_views, loop_spot_size = LOOP_SPOT.views, LOOP_SPOT.total


def tiles_on_duals(mechanism: ClosedMechanism) -> list[int]:
    """Which tiles are computed on duals: rolling, laws, and coordinates that a law with parameters drives."""
    found = []
    for j, tile in enumerate(mechanism.closing.tiles):
        law, count = (tile.numbers[EXTRA_AT + at] for at in (EXTRA.law, EXTRA.count))
        if tile.kind in (CUSTOM, ROLL) or (tile.kind in (TURN, TRAVEL) and law and count):
            found.append(j)
    return found


def special_tiles(
    mechanism: ClosedMechanism, tables: ClosedTangentTables, duals: int
) -> Iterator[tuple[list[int], Any]]:
    """The heads of the tiles that are computed on duals, and their numbers, the first of which are at `duals` of the
    memory."""
    count = len(mechanism.tree.numbers)
    for j in tiles_on_duals(mechanism):
        tile, own = mechanism.closing.tiles[j], tables.tiles[j * NUMBERS.size : (j + 1) * NUMBERS.size].copy()
        begin, more = (int(own[EXTRA_AT + at]) for at in (EXTRA.parameters, EXTRA.count))
        if tile.kind == ROLL:  # the numbers there are none of a law
            begin, more = 0, 0
        else:
            own[EXTRA_AT + EXTRA.parameters] = NUMBERS.size
        alone = tile.integers.copy()
        alone[TILE.first], alone[TILE.second] = min(tile.first, 0), 1 if tile.second >= 0 else -1
        numbers = np.concatenate([own, tables.tiles[begin : begin + more]])
        yield [j, duals, len(numbers), count + j * NUMBERS.size, count + begin, *alone], numbers
        duals += WIDTH * len(numbers)


def loop_memory(
    mechanism: ClosedMechanism,
    packed: np.ndarray,
    tables: ClosedTangentTables,
    linkage: int,
    free: bool,
    forces: np.ndarray | None = None,
    spots: int = 0,
    own: np.ndarray | None = None,
) -> np.ndarray:
    """packed: the mechanism; tables: of it on duals; linkage: the address of `pull_linkage`. forces: the memory of
    `pull_forces`, if there are any; spots: numbers of a projection's; own: a packed mechanism of its own with
    workspace."""
    head = packed.view(np.int64)
    count = len(tiles_on_duals(mechanism))
    begin = -(-(LOOP.size + SPECIAL.size * count) // WIDTH) * WIDTH
    special = list(special_tiles(mechanism, tables, begin))
    parts = [numbers for _, numbers in special]
    sizes = [
        sum(WIDTH * len(part) for part in parts),
        ROOM.size(head),
        WIDTH * TILE_ALONE.size,
        0 if forces is None else len(forces),
        spots,
        0 if own is None else len(own),
    ]
    places = [int(at) for at in begin + np.cumsum([0, *(-(-size // WIDTH) * WIDTH for size in sizes)])]
    memory = buffer(places[-1] // WIDTH)
    integers = memory.view(np.int64)
    speeds = any(tile.kind in (ROLL, CUSTOM) for tile in mechanism.closing.tiles)
    integers[: LOOP.size] = linkage, free, speeds, places[1], LOOP.size, count, *places[2:]
    integers[LOOP.size : LOOP.size + SPECIAL.size * count] = np.ravel([place for place, _ in special])
    at = begin
    for part in parts:
        memory[at : at + WIDTH * len(part) : WIDTH] = part
        at += WIDTH * len(part)
    for place, array in ((places[3], forces), (places[5], own)):
        if array is not None:
            memory[place : place + len(array)] = array
    return memory


def numbers_in(packed: np.ndarray) -> int:
    """How many numbers of the tree and of the tiles a packed mechanism has."""
    return len(CLOSED.part(packed, "numbers")) + len(CLOSED.part(packed, "constants"))
