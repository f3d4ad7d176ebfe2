"""What the equations of implicit steps look like: elimination order and places of all tiles, once for a mechanism.

The equations of a step are

    K d + Rᵀ μ = f,    L d = g

with a block of K for each body and rows L, R of each constraint, which need not be the same. Bodies with few joints are
condensed; others, and bodies that springs or forces of joints couple, are explicit: two nodes each, angular and linear.
The matrix is not symmetric, but where it has tiles it has their mirror images.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.absolute.coloring import force_rows
from chasles.absolute.joint_force import JOINT
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.plan import CONDENSED, nodes_of
from chasles.absolute.space import SE3_NAME
from chasles.absolute.symbolic import Elimination, Support, eliminate
from chasles.constrained.tables import FULL, LOWER, PLACE, SEPARATE, STRUCTURE
from chasles.constraint.special import CUSTOM
from chasles.force.table import BUSHING, FORCE, ROD, SPRING, WRENCH
from chasles.force.table import JOINT as ON_JOINT


@dataclass(frozen=True)
class Structure:
    """Packed integers for the kernels, and where the multipliers of each tile are."""

    packed: np.ndarray
    nodes: np.ndarray  # (tiles,): node of each tile in elimination order
    n_nodes: int


def pulled_bodies(mechanism: AbsoluteMechanism) -> list[tuple[int, int, int]]:
    """(force, body, body) of springs, bushings and elements of rods, and of joints with forces that depend on their
    coordinates; -1 is the ground."""
    joints = mechanism.joint_tables.rows
    pairs = []
    for k, row in enumerate(force_rows(mechanism)):
        if row[FORCE.kind] in (SPRING, BUSHING, ROD):
            pairs.append((k, int(row[FORCE.first]), int(row[FORCE.second])))
        elif row[FORCE.kind] == ON_JOINT:
            joint = joints[row[FORCE.first]]
            if joint[JOINT.passive] or joint[JOINT.count]:
                pairs.append((k, int(joint[JOINT.first]), int(joint[JOINT.second])))
    return pairs


def build(mechanism: AbsoluteMechanism, unmeasured: np.ndarray) -> Structure:
    """The structure of a mechanism; `unmeasured` (tiles, 3) marks rows of velocities alone."""
    tiles, n = mechanism.tiles, mechanism.n
    incident: list[list[int]] = [[] for _ in range(n)]
    for t, tile in enumerate(tiles):
        for body in (tile.first, tile.second):
            if body >= 0:
                incident[body].append(t)
    node = nodes_of(tiles)
    pulled_by = pulled_bodies(mechanism)
    springs = [(k, i, j) for k, i, j in pulled_by if i >= 0 and j >= 0 and i != j]
    pulled = {body for _, i, j in springs for body in (i, j)}
    explicit = [
        i
        for i, some in enumerate(incident)
        if i in pulled or len(some) > CONDENSED or len({node[t] for t in some}) < len(some)
    ]
    first = node[-1] + 1 if tiles else 0
    place = {body: first + 2 * k for k, body in enumerate(explicit)}
    couplings = [(place[i] + a, place[j] + b) for _, i, j in springs for a in (0, 1) for b in (0, 1)]
    for i, some in enumerate(incident):
        its_nodes = [node[t] for t in some]
        if i in place:
            couplings += [(t, place[i] + k) for t in its_nodes for k in (0, 1)]
            couplings.append((place[i], place[i] + 1))
        else:
            couplings += [(a, b) for k, a in enumerate(its_nodes) for b in its_nodes[:k]]
    elimination = eliminate(first + 2 * len(explicit), couplings, _support(mechanism, node, first, explicit), first)
    alone = {body for _, i, j in pulled_by for body in (i, j)}
    return _pack(mechanism, elimination, node, incident, place, springs, alone, unmeasured)


def _support(mechanism: AbsoluteMechanism, node: list[int], first: int, explicit: list[int]) -> Support:
    joint_of = [""] * first
    bodies_of: dict[str, list[int]] = {}
    for t, tile in enumerate(mechanism.tiles):
        joint_of[node[t]] = tile.joint
        # of a user's equations one cannot know whether they move one body alone: they wait for all
        moved = () if tile.kind == CUSTOM else (tile.second, tile.first)
        bodies_of.setdefault(tile.joint, []).extend(b for b in moved if b >= 0)
    return Support(first, joint_of, bodies_of, explicit)


def islands(mechanism: AbsoluteMechanism) -> np.ndarray:
    """For each body a number that it shares with all bodies that joints, constraints and rods connect with it, not
    through the ground."""
    parent = list(range(mechanism.n))

    def root(body: int) -> int:
        while parent[body] != body:
            parent[body] = parent[parent[body]]
            body = parent[body]
        return body

    pairs = [(tile.first, tile.second) for tile in mechanism.tiles]
    pairs += [(row[FORCE.first], row[FORCE.second]) for row in force_rows(mechanism) if row[FORCE.kind] == ROD]
    for pair in pairs:
        if min(pair) >= 0:
            first, second = sorted(map(root, pair))
            parent[second] = first
    return np.unique([root(body) for body in range(mechanism.n)], return_inverse=True)[1].astype(np.int64)


def _pack(mechanism, e: Elimination, node, incident, place, springs, pulled, unmeasured) -> Structure:
    lower = len(e.row)

    def slot(i: int, j: int) -> int:
        """Tile of row i and column j: diagonal tiles, then the lower, then the upper ones."""
        tile, mirrored = e.slot(i, j)
        return tile + lower if mirrored else tile

    rows = force_rows(mechanism)
    pushed = {int(row[FORCE.first]) for row in rows if row[FORCE.kind] == WRENCH and row[FORCE.law] != 0} | pulled
    places = np.zeros((mechanism.n, PLACE.size), dtype=np.int64)
    slots: list[int] = []
    for i, name in enumerate(mechanism.bodies):
        some = [node[t] for t in incident[i]]
        turning = mechanism.spaces[name] == SE3_NAME
        places[i, [PLACE.slots, PLACE.kind]] = len(slots), FULL if i in pushed else LOWER if turning else SEPARATE
        if i in place:
            a, b = place[i], place[i] + 1
            places[i, [PLACE.explicit, PLACE.angular, PLACE.linear]] = 1, e.order[a], e.order[b]
            slots += [slot(a, b), slot(b, a)]
            for t in some:
                slots += [slot(t, a), slot(t, b), slot(a, t), slot(b, t)]
        else:
            slots += [slot(x, y) for y in some for x in some]
    coupled = np.full(max(len(rows), 1), -1, dtype=np.int64)
    for k, i, j in springs:
        coupled[k] = len(slots)
        for a, b in ((place[i], place[j]), (place[j], place[i])):
            slots += [slot(a, b), slot(a, b + 1), slot(a + 1, b), slot(a + 1, b + 1)]
    nodes = e.order[node].astype(np.int64) if node else np.empty(0, dtype=np.int64)
    packed = STRUCTURE.pack(
        places=places,
        nodes=nodes,
        slots=slots,
        column=e.column,
        row=e.row,
        first=e.first,
        operations=e.operations,
        coupled=coupled,
        unmeasured=unmeasured,
        islands=islands(mechanism),
        n_bodies=mechanism.n,
        n_tiles=len(mechanism.tiles),
        n_angles=mechanism.angles_counted,
        n_nodes=e.nodes,
        n_lower=lower,
        n_row_nodes=mechanism.elimination.nodes,
        n_states=mechanism.n + 1 if rows else 0,
        n_rods=sum(int(row[FORCE.kind] == ROD) for row in rows),
    )
    return Structure(packed, nodes, e.nodes)
