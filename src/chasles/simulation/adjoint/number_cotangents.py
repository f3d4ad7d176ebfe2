"""The cotangents of a mechanism's numbers in one pass over states with weights (`pull_numbers`), however many columns
of changes of these they are contracted with."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates
from chasles.absolute.force_duals import acting_address
from chasles.absolute.joint_force import FRAMES, FREEDOM, JOINT
from chasles.absolute.numbers import SystemNumbers
from chasles.absolute.tables import MECHANISM
from chasles.constraint.duals import on_duals
from chasles.constraint.joints import Tile
from chasles.constraint.rows import (
    CUSTOM,
    DISTANCE,
    DOT,
    EMPTY,
    HELIX,
    NUMBERS,
    POINT,
    ROLL,
    ROTOR,
    SCREWS,
    SLIDE,
    TRAVEL,
    TURN,
)
from chasles.constraint.tile_work import EXTRA, EXTRA_AT
from chasles.force.law_tangent import LawTangent
from chasles.force.passive import PASSIVE
from chasles.force.table import BUSHING, FORCE, FORCES, ROD, SPRING
from chasles.force.table import JOINT as ON_JOINT
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH, buffer
from chasles.simulation.adjoint.pull_numbers import NUMBER_ROOM, OF_BLOCK, OF_FORCE, OF_JOINT, OF_TILE, pull_numbers
from chasles.simulation.adjoint.pull_state import ACCOUNT
from chasles.simulation.adjoint.weights import Weighed, Weights
from chasles.simulation.tree.tangent import put_tangents

AT_ONCE = 1000  # states whose rows are in memory
TINY = 1e-300  # friction that comes from zero: laws leave it out where it is zero
# fields of `NUMBERS` that rows of a kind depend on, and those that have a number of their own for each row
OF_KIND = {
    POINT: "ab", SLIDE: "ab", DOT: "", DISTANCE: "ab", HELIX: "ab", TURN: "uws", TRAVEL: "abus", CUSTOM: "abu",
    ROLL: "abuws", SCREWS: "abu", ROTOR: "abuw",
}  # fmt: skip
OF_ROW = {SLIDE: "u", DOT: "uws", DISTANCE: "s", HELIX: "us"}
WHOLE = {"a": 3, "b": 3, "u": 9, "w": 3, "s": 3}  # beyond the first three numbers of w are those of `EXTRA`


class NumberBlock(NamedTuple):
    """What a block of directions belongs to (`pull_numbers.OF_BLOCK`), and places of numbers among all."""

    what: int
    owner: int
    other: int
    bodies: tuple[int, int]
    call: int
    places: np.ndarray


def used_numbers(tile: Tile) -> np.ndarray:
    """Which numbers its rows depend on."""
    used = np.zeros(NUMBERS.size, dtype=bool)
    kinds = tile.integers[2:5].tolist()
    for k, kind in enumerate(kinds):
        if kind == EMPTY:
            continue
        for name in OF_KIND[kind]:
            used[getattr(NUMBERS, name) :][: WHOLE[name]] = True
        for name in OF_ROW.get(kind, ""):
            size = 1 if name == "s" else 3
            used[getattr(NUMBERS, name) + size * k :][:size] = True
    if kinds[-1] == HELIX:  # the angle has its marks in the other rows
        used[NUMBERS.u : NUMBERS.u + 6] = used[NUMBERS.w : NUMBERS.w + 3] = True
    return used


class NumberPull:
    """Cotangents of numbers, contracted with their changes."""

    def __init__(self, residuals: BodyResiduals, numbers: SystemNumbers, changes: np.ndarray, metric: str):
        """changes: of all numbers (`numbers.OF_SYSTEM`), (count, columns)."""
        self.residuals, self.numbers, self.changes, self.metric = residuals, numbers, changes, metric
        self.mechanism, self.n = residuals.mechanism, residuals.n
        sizes = [len(part) for part in numbers.parts(numbers).values()]
        self.edges = np.cumsum([0, *sizes])
        given = [block for block in self._blocks() if changes[block.places].any()]
        special = any(numbers.tiles[block.owner].kind >= TURN for block in given if block.what == OF_TILE)
        self.packed, self.lifted = self._packed(special)
        parts, places, ways, shares = [], [np.zeros(0, dtype=np.int64)], [np.zeros((0, TANGENTS))], []
        taken = 0
        for block in given:
            for way, share in self._directions(block.places):
                used = np.flatnonzero(way.any(axis=1))
                row = np.zeros(OF_BLOCK.size, dtype=np.int64)
                row[[OF_BLOCK.what, OF_BLOCK.owner, OF_BLOCK.other]] = block.what, block.owner, block.other
                row[[OF_BLOCK.bodies, OF_BLOCK.bodies + 1]] = block.bodies
                row[[OF_BLOCK.begin, OF_BLOCK.end, OF_BLOCK.call]] = taken, taken + len(used), block.call
                taken += len(used)
                parts.append(row)
                places.append(block.places[used])
                ways.append(way[used])
                shares.append(share)
        self.blocks = np.concatenate([np.zeros(0, dtype=np.int64), *parts])
        self.places, self.ways = np.concatenate(places), np.concatenate(ways).ravel()
        heavy = changes[self.edges[3] : self.edges[6]]
        self.shares = np.concatenate([*shares, heavy])  # of each column in what is found
        self.found = np.zeros(len(self.shares))
        self.space = buffer(NUMBER_ROOM.size(self.packed.view(np.int64)) // WIDTH + 1)

    @property
    def total(self) -> np.ndarray:
        """What has been found, for each column."""
        return self.found @ self.shares

    # ------------------------------------------------------------ passes

    def add(self, account: Weighed) -> None:
        """States with weights."""
        used = np.flatnonzero(np.any([part.any(axis=1) for part in account.weights], axis=0))
        for first in range(0, len(used), AT_ONCE):
            own = used[first : first + AT_ONCE]
            states = MovingStates(*(part[own] for part in account.states))
            self._add(states, Weights(*(part[own] for part in account.weights)))

    def _add(self, states: MovingStates, weights: Weights) -> None:
        residuals, n, count = self.residuals, self.n, len(states.t)
        shift = np.zeros((count, n, 6))
        if weights.shift.any():
            inverse = residuals.metric(self.metric)
            shift[...] = weights.shift.reshape(count, n, 6)
            shift[..., 3:] = (residuals.rotations(states.q) @ shift[..., 3:, None])[..., 0]
            shift *= -inverse
            if self.metric == "mass":
                self._by_metric(shift, inverse * residuals.at(states).shift.reshape(count, n, 6))
        held = {name: np.zeros((count, 3 * len(residuals.mechanism.tiles))) for name in ("place", "speed", "change")}
        for name, part in held.items():
            part[:, residuals.rows] = getattr(weights, name)
        self.add_rows(account_rows(self.packed, states, motion=weights.motion, shift=shift, **held))

    def _by_metric(self, weights: np.ndarray, pushed: np.ndarray) -> None:
        """By masses and inertias as the metric in which positions are corrected."""
        first, n = len(self.found) - 3 - 10 * self.n, self.n
        self.found[first : first + n] += np.einsum("sij,sij->i", weights[..., 3:], pushed[..., 3:])
        self.found[first + n : first + 10 * n] += np.einsum("sij,sik->ijk", weights[..., :3], pushed[..., :3]).ravel()

    def add_shown(self, states: MovingStates, turns: np.ndarray, speeds: np.ndarray) -> None:
        """States whose joints are seen: derivatives (states, nv) along q exp(δ) of the joints and by velocities."""
        self.add_rows(account_rows(self.packed, states._replace(forced=np.zeros_like(states.forced))), turns, speeds)

    def add_rows(self, rows: np.ndarray, turns: np.ndarray | None = None, speeds: np.ndarray | None = None) -> None:
        """States by rows of the account."""
        none = np.zeros((0, 0))
        with self.residuals.calling:
            pull_numbers(
                *(self.packed, self.lifted, rows, none if turns is None else turns, none if speeds is None else speeds),
                *(self.blocks, self.places, self.ways, self.space, self.found),
            )

    # ------------------------------------------------------------ preparation

    def _packed(self, special: bool) -> tuple[np.ndarray, np.ndarray]:
        """The packed mechanism with laws on duals and a row to spare, and the numbers on duals. special: whether
        special tiles count; else nothing is compiled for them."""
        numbers, given, head = self.numbers, self.residuals.packed, self.residuals.packed.view(np.int64)
        table, joints = numbers.forces.table.copy(), numbers.joint_tables.rows.copy()
        rows = table[FORCES.size :].reshape(-1, FORCE.size)
        put_tangents(rows, self.mechanism.forces.laws, self.residuals.laws)
        rows[:, FORCE.seen_at] += 1
        joints[:, JOINT.laws] += 1
        table[FORCES.count] = 1
        parts = {name: MECHANISM.part(given, name) for name in MECHANISM.elements}
        constants, self.laws = numbers.constants, list[LawTangent]()
        if special:
            constants, self.laws = on_duals(constants, numbers.tiles, self.mechanism.laws, varied=True)
        every = np.concatenate([constants, numbers.forces.values, numbers.joint_tables.numbers])
        parts |= {
            "table": np.concatenate([table[: FORCES.size], np.zeros(FORCE.size, dtype=np.int64), rows.ravel()]),
            "constants": constants,
            "values": numbers.forces.values,
            "joints": joints,
            "joint_numbers": numbers.joint_tables.numbers,
        }
        values = {name: int(head[getattr(MECHANISM.head, name)]) for name in MECHANISM.values}
        packed = MECHANISM.pack(**parts, **values)
        lifted = buffer(len(every))
        lifted[::WIDTH] = every
        for row in joints[joints[:, JOINT.passive] > 0]:
            first = self.edges[2] + row[JOINT.passive] + PASSIVE.friction
            own = first + PASSIVE.size * np.arange(row[JOINT.velocities])
            off = own[(every[own] == 0.0) & self.changes[own].any(axis=1)]
            lifted[WIDTH * off] = TINY
        return packed, lifted

    def _directions(self, places: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Of numbers at places, directions (places, 3), and what each is of the columns (3, columns): the columns
        themselves, or one number after the other."""
        change = self.changes[places]
        rows, columns = np.flatnonzero(change.any(axis=1)), np.flatnonzero(change.any(axis=0))
        along = len(columns) < len(rows)
        chosen = columns if along else rows
        for first in range(0, len(chosen), TANGENTS):
            own = chosen[first : first + TANGENTS]
            way, share = np.zeros((len(places), TANGENTS)), np.zeros((TANGENTS, change.shape[1]))
            every = np.arange(len(own))
            if along:
                way[:, every], share[every, own] = change[:, own], 1.0
            else:
                way[own, every], share[every] = 1.0, change[own]
            yield way, share

    def _blocks(self) -> Iterator[NumberBlock]:
        """What has numbers of its own."""
        yield from self._of_tiles()
        table = self.numbers.forces.table
        rows = table[FORCES.size :].reshape(-1, FORCE.size)
        ends = np.append(rows[1:, FORCE.numbers], len(self.numbers.forces.values))
        joints = self.numbers.joint_tables.rows
        own = [self.edges[1] + np.arange(row[FORCE.numbers], end) for row, end in zip(rows, ends, strict=True)]
        frames = [self._of_joint(row) for row in joints]

        def seen(row: np.ndarray) -> list[np.ndarray]:
            """Of what a law sees."""
            found = []
            for k in range(row[FORCE.seen_at], row[FORCE.seen_at] + row[FORCE.seen]):
                found.append(own[k] if rows[k, FORCE.third] else frames[rows[k, FORCE.first]])
            return found

        for k, row in enumerate(rows[: table[FORCES.count]]):
            given, bodies, kind = [own[k], *seen(row)], (row[FORCE.first], row[FORCE.second]), int(row[FORCE.kind])
            if kind == ON_JOINT:
                joint = joints[row[FORCE.first]]
                bodies = joint[JOINT.first], joint[JOINT.second]
                first, size = self.edges[2] + joint[JOINT.passive], PASSIVE.size * joint[JOINT.velocities]
                passive = np.arange(first, first + size) if joint[JOINT.passive] else np.zeros(0, dtype=int)
                given += [frames[row[FORCE.first]], passive]
                for law in range(joint[JOINT.laws], joint[JOINT.laws] + joint[JOINT.count]):
                    given += [own[law], *seen(rows[law])]
            elif kind not in (SPRING, BUSHING, ROD):
                bodies = row[FORCE.first], -1
            every: np.ndarray = np.unique(np.concatenate(given))
            if self.changes[every].any():  # else nothing is compiled for it
                call = acting_address(kind if kind in (BUSHING, ROD) else SPRING, varied=True)
                yield NumberBlock(OF_FORCE, k + 1, 0, bodies, call, every)
        velocities = itertools.accumulate((int(row[JOINT.velocities]) for row in joints), initial=0)
        for j, (iv, places) in enumerate(zip(velocities, frames, strict=False)):
            yield NumberBlock(OF_JOINT, j, iv, (-1, -1), 0, places)

    def _of_tiles(self) -> Iterator[NumberBlock]:
        residuals, tiles = self.residuals, self.numbers.tiles
        for j, tile in enumerate(tiles):
            places = j * NUMBERS.size + np.flatnonzero(used_numbers(tile))
            if tile.kind in (TURN, TRAVEL, CUSTOM, SCREWS):
                extra = self.numbers.constants[j * NUMBERS.size + EXTRA_AT :]
                first, count = (int(extra[at]) for at in (EXTRA.parameters, EXTRA.count))
                places = np.concatenate([places, np.arange(first, first + count)])
            last = int(residuals.tile_of_rows[residuals.rows_of_tile[j]])
            yield NumberBlock(OF_TILE, j, last, (-1, -1), 0, places)

    def _of_joint(self, row: np.ndarray) -> np.ndarray:
        """Places of frames, and of axes or screws."""
        first, form = self.edges[2] + row[JOINT.numbers], FRAMES.size + FREEDOM.size * row[JOINT.velocities]
        starts = np.sort(np.append(self.numbers.joint_tables.rows[:, [JOINT.numbers, JOINT.passive]], self._of_joints))
        end = self.edges[2] + starts[starts > row[JOINT.numbers]][0]
        return np.concatenate([np.arange(first, first + FRAMES.size), np.arange(first + form, end)])

    @property
    def _of_joints(self) -> int:
        return len(self.numbers.joint_tables.numbers)


def account_rows(packed: np.ndarray, states: MovingStates, **weights: np.ndarray) -> np.ndarray:
    """States with weights as rows of the account."""
    count, head, parts = len(states.t), packed.view(np.int64), []
    given = states._asdict() | weights
    for name, size in ACCOUNT.counts.items():
        part, own = np.zeros((count, size.of(head))), given.get(name)
        if own is not None:
            own = np.reshape(own, (count, -1))
            part[:, : own.shape[1]] = own
        parts.append(part)
    return np.concatenate(parts, axis=1)
