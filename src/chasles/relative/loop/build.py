"""The rows that close a tree, and the packed array of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from chasles.constraint.joints import Tile, joint_tiles
from chasles.constraint.rows import EMPTY, TILE
from chasles.constraint.tiles import TileBuilder, shares_row
from chasles.lie import pose as pose_group
from chasles.model.body import GROUND
from chasles.model.constraint import Constraint
from chasles.model.law import Law
from chasles.model.scale import length_of
from chasles.relative.force import act_address
from chasles.relative.kinematics import STATE
from chasles.relative.loop.entry import addresses
from chasles.relative.loop.spanning import Spanning
from chasles.relative.loop.tables import CLOSED, WORK
from chasles.relative.mechanism import Mechanism
from chasles.relative.tables import CONSTANT, GRAVITY, LINK, link_table

Places = dict[str, tuple[int, np.ndarray]]  # of each body its link (-1: ground) and its pose on it


@dataclass
class Closing:
    """The tiles that close a tree, the groups of those that share their row, and the rows: (group, row of its tile)."""

    names: tuple[str, ...]  # of cut joints, of joints for which a body was split, and of constraints
    places: Places
    tiles: list[Tile]
    laws: tuple[Law, ...]
    counted: list[int]  # where the angles of coupled joints are in q
    constants: np.ndarray
    groups: list[list[int]] = field(default_factory=list)
    rows: list[tuple[int, int]] = field(default_factory=list)

    def __post_init__(self):
        for t, tile in enumerate(self.tiles):
            if shares_row(tile):
                self.groups[-1].append(t)
            else:
                self.groups.append([t])
        for g, group in enumerate(self.groups):
            kinds = self.tiles[group[-1]].integers[TILE.kinds : TILE.kinds + 3]
            self.rows += [(g, k) for k in range(3) if kinds[k] != EMPTY]

    @property
    def name_of_row(self) -> np.ndarray:
        """Of each row, which of the names it belongs to."""
        order = {name: k for k, name in enumerate(self.names)}
        return np.array([order[self.tiles[self.groups[g][0]].joint] for g, _ in self.rows], dtype=int)


def close(spanning: Spanning, constraints: Sequence[Constraint], mechanism: Mechanism) -> Closing:
    """The tiles of a spanning tree: cut joints, welds of split bodies, constraints."""
    tree = mechanism.tree
    places: Places = {GROUND: (-1, pose_group.identity())}
    for k, body in enumerate(spanning.system.bodies):
        places[body.name] = int(tree.link_of_body[k]), tree.body_in_link[k]
    tiles: list[Tile] = []
    for joint in (*spanning.cut, *spanning.welds):
        (first, on_first), (second, on_second) = places[joint.parent], places[joint.child]
        at = pose_group.compose(on_first, np.array(joint.parent_frame))
        child_at = pose_group.compose(on_second, np.array(joint.child_frame))
        tiles += joint_tiles(joint, first, second, at, child_at, special=False)
    builder = TileBuilder(spanning.system, places)
    for constraint in constraints:
        tiles += builder.build(constraint)
    names = [item.name for item in (*spanning.cut, *spanning.welds, *constraints)]
    counted = [tree.coordinates[joint].start + k for joint, k in builder.counted]
    return Closing(tuple(names), places, tiles, tuple(builder.laws), counted, builder.numbers(tiles))


@dataclass(frozen=True)
class PackedLoop:
    """The packed array of a closed mechanism, what its workspace needs, and what is where in it."""

    parameters: np.ndarray
    work: int
    rows_at: int
    scales_at: int


def packed(mechanism: Mechanism, closing: Closing) -> PackedLoop:
    """A tree and the rows that close it as one array (`tables`)."""
    parents = link_table(mechanism.tree.topology)[:, LINK.parent]
    touched = sorted({link for tile in closing.tiles for link in (tile.first, tile.second) if link >= 0})
    place = {link: c for c, link in enumerate(touched)} | {-1: -1}
    tiles = np.array([tile.integers for tile in closing.tiles], dtype=np.int64).reshape(-1, TILE.size)
    sizes_of_links = _sizes(mechanism, parents)
    groups: list[tuple[int, int, int, int]] = []
    visits: list[int] = []
    levers: list[float] = []
    for group in closing.groups:
        met: set[int] = set()
        loop: set[int] = set()
        for t in group:
            ends = closing.tiles[t].first, closing.tiles[t].second
            tiles[t, [TILE.first, TILE.second]] = [place[link] for link in ends]
            first, second = (_way(parents, link) for link in ends)
            met |= first | second
            loop |= first ^ second
        levers.append(max((sizes_of_links[link] for link in loop), default=0.0) or length_of(mechanism.system))
        groups.append((group[0], len(group), len(visits), len(met)))
        visits += sorted(met, reverse=True)
    integers: dict[str, list] = {"groups": groups, "rows": closing.rows, "visits": visits, "touched": touched}
    acting, links, nv, m = mechanism.tables.acting, mechanism.tables.links, mechanism.nv, len(closing.rows)
    tables = (mechanism.tree.topology, mechanism.tree.numbers, acting.table, acting.values)
    array = CLOSED.pack(
        topology=mechanism.tree.topology,
        tiles=tiles,
        **integers,
        counted=closing.counted,
        table=acting.table,
        sizes=(*map(len, tables), mechanism.nq, nv, 6 * links, STATE.size * (links + 1)),
        numbers=mechanism.tree.numbers,
        constants=closing.constants,
        levers=levers,
        feedback=np.zeros(2),
        values=acting.values,
        control=np.zeros(nv),
        n_q=mechanism.nq,
        n_v=nv,
        n_links=links,
        n_tiles=len(tiles),
        n_rows=m,
        n_touched=len(touched),
        n_counted=len(closing.counted),
        n_matrix=m * nv,
        rank=-1,
        **addresses(),
        act=0 if acting.empty else act_address(),  # not called where nothing acts
    )
    head = array.view(np.int64)
    at = (WORK.offset(name, head) for name in ("rows", "scales"))
    return PackedLoop(array, WORK.size(head), *at)


def _way(parents: np.ndarray, link: int) -> set[int]:
    """The links from one to the ground."""
    way = set()
    while link >= 0:
        way.add(link)
        link = int(parents[link])
    return way


def _sizes(mechanism: Mechanism, parents: np.ndarray) -> np.ndarray:
    """The size of each link [m]: the largest distance of a joint that it carries, or of its mass on an average."""
    constants = mechanism.tree.numbers[GRAVITY.size :].reshape(-1, CONSTANT.size)
    mass, inertia = constants[:, CONSTANT.mass], constants[:, CONSTANT.inertia : CONSTANT.inertia + 6]
    squared = inertia[:, [0, 3, 5]].sum(axis=1) / (2.0 * np.where(mass > 0, mass, np.inf))
    away = np.sum(constants[:, CONSTANT.position : CONSTANT.position + 3] ** 2, axis=1)
    carried = parents >= 0
    np.maximum.at(squared, parents[carried], away[carried])
    return np.sqrt(squared)
