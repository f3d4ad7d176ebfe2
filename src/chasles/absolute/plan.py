"""Which bodies are condensed and which stay in the matrix, and where everything is in it: the plan of a mechanism."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from chasles.absolute.symbolic import Elimination, Support, eliminate
from chasles.absolute.tables import BODY, MASS, SE3, SO3XR3
from chasles.constraint.joints import Tile
from chasles.constraint.rows import CUSTOM, ROTOR, TILE
from chasles.constraint.tiles import shares_row

CONDENSED = 3  # a body with more joint tiles stays in the matrix


@dataclass(frozen=True)
class Plan:
    """Nodes of the matrix: one for each tile, tiles of coupled coordinates sharing one, then two for each hub."""

    node: list[int]  # of each tile
    incident: list[list[int]]  # the tiles of each body
    node_of_hub: dict[int, int]  # the first of the two nodes of each body that stays in the matrix
    elimination: Elimination


def nodes_of(tiles: Sequence[Tile]) -> list[int]:
    """The node of each tile: one that shares its row has that of the tile before it."""
    first = [not shares_row(tile) for tile in tiles]
    nodes: list[int] = (np.cumsum(first) - 1).astype(int).tolist()
    return nodes


def make_plan(bodies: int, tiles: Sequence[Tile]) -> Plan:
    """The plan for this many bodies and these tiles."""
    incident: list[list[int]] = [[] for _ in range(bodies)]
    for t, tile in enumerate(tiles):
        for body in (tile.first, tile.second):
            if body >= 0:
                incident[body].append(t)
    node = nodes_of(tiles)
    # bodies with many tiles stay in the matrix; also those that meet a node twice, which one slot cannot hold
    hubs = [i for i, some in enumerate(incident) if len(some) > CONDENSED or len({node[t] for t in some}) < len(some)]
    first_hub = node[-1] + 1 if tiles else 0
    node_of_hub = {body: first_hub + 2 * k for k, body in enumerate(hubs)}
    couplings = []
    for i, some in enumerate(incident):
        nodes = [node[t] for t in some]
        if i in node_of_hub:
            couplings += [(t, node_of_hub[i] + k) for t in nodes for k in (0, 1)]
        else:
            couplings += [(a, b) for k, a in enumerate(nodes) for b in nodes[:k]]
    joint_of = [""] * first_hub
    bodies_of: dict[str, list[int]] = {}
    for t, tile in enumerate(tiles):
        joint_of[node[t]] = tile.joint
        # of a user's equations one cannot know whether they move one body alone: they wait for all
        moved = () if tile.kind == CUSTOM else (tile.second, tile.first)
        bodies_of.setdefault(tile.joint, []).extend(b for b in moved if b >= 0)
    rotors = {tile.joint for tile in tiles if tile.kind == ROTOR}
    support = Support(first_hub, joint_of, bodies_of, hubs, rotors)
    return Plan(node, incident, node_of_hub, eliminate(first_hub + 2 * len(hubs), couplings, support, first_hub))


def plan_tables(
    plan: Plan, tiles: Sequence[Tile], on_se3: np.ndarray, masses: np.ndarray, moments: np.ndarray
) -> dict[str, np.ndarray]:
    """The plan as parts of the packed array (`tables.PARTS`)."""
    e, order, count = plan.elimination, plan.elimination.order, len(masses)
    bodies, numbers = np.zeros((count, BODY.size), dtype=np.int64), np.zeros((count, MASS.size))
    incidences: list[tuple[int, int]] = []
    slots: list[tuple[int, int]] = []
    for i, some in enumerate(plan.incident):
        bodies[i, BODY.space] = SE3 if on_se3[i] else SO3XR3
        bodies[i, [BODY.first, BODY.count, BODY.slots]] = len(incidences), len(some), len(slots)
        held = [t for t in some if tiles[t].integers[TILE.subgroup] and tiles[t].second == i]
        bodies[i, BODY.held] = held[0] + 1 if held else 0
        numbers[i] = masses[i], *moments[i], *(1 / moments[i])
        incidences += [(t, int(tiles[t].second == i)) for t in some]
        if i in plan.node_of_hub:
            node = plan.node_of_hub[i]
            bodies[i, [BODY.hub, BODY.angular, BODY.linear]] = 1, order[node], order[node + 1]
            slots += [e.slot(plan.node[t], node + k) for t in some for k in (0, 1)]
        else:
            slots += [e.slot(plan.node[a], plan.node[b]) for k, a in enumerate(some) for b in some[: k + 1]]
    return {
        "bodies": bodies,
        "tiles": np.array([tile.integers for tile in tiles], dtype=np.int64),
        "nodes": order[plan.node].astype(np.int64),
        "incidences": np.array(incidences, dtype=np.int64),
        "slots": np.array(slots, dtype=np.int64),
        "column": e.column,
        "row": e.row,
        "first": e.first,
        "operations": e.operations,
        "masses": numbers,
    }
