"""The motion of a closed mechanism on dual numbers: the fields of `motion`, with derivatives in three directions.

State, numbers of the tree, of its constraints and of its forces, and control are all duals.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from chasles.cached import cached_property
from chasles.constraint.rows import NUMBERS as TILE_NUMBERS
from chasles.constraint.rows import TURN
from chasles.constraint.tile_work import EXTRA, EXTRA_AT
from chasles.force.law_tangent import DUALS, LawTangent
from chasles.force.table import FORCE, FORCES
from chasles.kernel.address import INTEGER, NUMBER, NUMBERS, address_of, as_integer_array
from chasles.kernel.dual import as_duals, dual_of
from chasles.kernel.lanes import WIDTH, buffer
from chasles.kernel.late import carray
from chasles.kernel.policy import kernel, native
from chasles.kernel.workspace import layout
from chasles.model.constraint import Drive
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.duals import act_address, addresses, special_address
from chasles.relative.loop.tables import CLOSED, HEAD
from chasles.simulation.closed.motion import corrected, rates
from chasles.simulation.tree.tangent import put_tangents

# in front of the packed mechanism: its length, where its numbers as duals begin and where the workspace, and whether
# free joints have the velocities of their positions
FRONT = layout("FRONT", length=1, numbers=1, work=1, free=1)
VARYING = ("numbers", "constants", "values", "control")  # parts of the packed mechanism that may have derivatives


@kernel(allocates=True)
def apart(p):
    """The packed mechanism as integers and as duals, and workspace."""
    front = as_integer_array(p)
    duals, work = front[FRONT.numbers], front[FRONT.work]
    integers = front[FRONT.size : FRONT.size + front[FRONT.length]]
    return integers, as_duals(p[duals:work]), as_duals(p[work:]), front[FRONT.free] != 0


@native
def closed_tangent(t, y, p, out, y_size, p_size, out_size):
    """`closed_motion` on duals; p as `ClosedTangentTables` packs it."""
    integers, numbers, space, free = apart(carray(p, WIDTH * p_size))
    rates(t, integers, numbers, space, free, carray(y, y_size), carray(out, out_size), dual_of(0.0))


@native
def onto_loops_tangent(t, y, p, out, y_size, p_size, out_size):
    """`onto_loops` on duals."""
    integers, numbers, space, free = apart(carray(p, WIDTH * p_size))
    corrected(t, integers, numbers, space, free, carray(y, y_size), carray(out, out_size), dual_of(0.0))


@cache
def tangent_addresses() -> tuple[int, int]:
    """Addresses of the field and of the correction, compiled now or loaded from the cache."""
    kinds = NUMBER, DUALS, NUMBERS, DUALS, *(INTEGER,) * 3
    return address_of(closed_tangent, *kinds), address_of(onto_loops_tangent, *kinds)


def varying(mechanism: ClosedMechanism) -> np.ndarray:
    """The numbers of a mechanism that may depend on parameters: of the tree, of constraints and of forces."""
    constants = CLOSED.part(mechanism.packed.parameters, "constants").copy()
    tiles = constants[: len(mechanism.closing.tiles) * TILE_NUMBERS.size].reshape(-1, TILE_NUMBERS.size)
    special = [tile.kind >= TURN for tile in mechanism.closing.tiles]
    for name in ("function", "law"):  # addresses
        tiles[special, EXTRA_AT + getattr(EXTRA, name)] = 0.0
    return np.concatenate([mechanism.tree.numbers, constants, mechanism.tables.acting.values])


class ClosedTangentTables:
    """The parameters of the fields for a mechanism whose start is known (`parameters`, of `ClosedDynamics`); as
    `TangentTables` of a tree."""

    def __init__(self, mechanism: ClosedMechanism, parameters: np.ndarray, free: bool):
        self.configuration, acting = mechanism.tables.configuration, mechanism.tables.acting
        end = int(parameters.view(np.int64)[HEAD.end])
        self.base, self.acts, self.closing = parameters[:end].copy(), not acting.empty, mechanism.closing
        integers = self.base.view(np.int64)
        self.laws = [LawTangent(law) for law in acting.laws]
        rows = CLOSED.part(self.base, "table")[FORCES.size :].reshape(-1, FORCE.size)
        put_tangents(rows, acting.laws, self.laws)
        self.of_tiles = self._tangents(mechanism)
        self.laws += self.of_tiles
        self.free, self.work = free, len(parameters) - end
        self.constants = varying(mechanism)
        edges = [(int(integers[at]), int(integers[at + 1])) for at in (getattr(HEAD, name) for name in VARYING)]
        self.where = np.concatenate([np.arange(*edge) for edge in edges])

    def _tangents(self, mechanism: ClosedMechanism) -> list[LawTangent]:
        """Of the laws of constraints."""
        tangents = [LawTangent(law) for law in mechanism.closing.laws]
        in_time = [one.value for one in mechanism.system.constraints if isinstance(one, Drive)]
        for one in tangents:  # of laws of time there is nothing to difference
            if any(one.law is law for law in in_time):
                one.note = ""
        return tangents

    @cached_property
    def tiles(self) -> np.ndarray:
        """The numbers of tiles, the special ones with the functions that compute them on duals."""
        found, left = CLOSED.part(self.base, "constants").copy(), iter(self.of_tiles)
        rows = found[: len(self.closing.tiles) * TILE_NUMBERS.size].reshape(-1, TILE_NUMBERS.size)
        for tile, row in zip(self.closing.tiles, rows, strict=True):
            if tile.kind >= TURN:
                row[EXTRA_AT + EXTRA.function] = special_address()
                if row[EXTRA_AT + EXTRA.law]:
                    row[EXTRA_AT + EXTRA.law] = next(left).address
        return found

    @property
    def places(self) -> np.ndarray:
        """Where the numbers that may have derivatives are in the buffer."""
        return self._first + WIDTH * self.where

    @property
    def _first(self) -> int:
        """Where the duals begin in the buffer."""
        return -(-(FRONT.size + len(self.base)) // 8) * 8

    def packed(self, control: np.ndarray, tangents: np.ndarray) -> np.ndarray:
        """A buffer with the tables. tangents: of (numbers, constants, values, control), (count, 3)."""
        length, first = len(self.base), self._first
        work = first + WIDTH * length
        p = buffer(work // WIDTH + self.work)
        front = p.view(np.int64)
        front[FRONT.length], front[FRONT.numbers], front[FRONT.work], front[FRONT.free] = length, first, work, self.free
        p[FRONT.size : FRONT.size + length] = self.base
        integers = front[FRONT.size : FRONT.size + length]
        for name, address in addresses().items():
            integers[getattr(HEAD, name)] = address
        integers[HEAD.act] = act_address() if self.acts else 0
        duals = p[first:work].reshape(-1, WIDTH)
        duals[:, 0] = self.base
        duals[integers[HEAD.constants] : integers[HEAD.constants + 1], 0] = self.tiles
        duals[self.where[-len(control) :], 0] = control
        duals[self.where, 1:] = tangents
        return p
