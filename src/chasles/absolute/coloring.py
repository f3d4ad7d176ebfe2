"""Colors of bodies: two that some residual depends on have different ones, so that one evaluation on duals serves all
bodies of a color."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.joint_force import ABOUT_Z, AXES, FRAMES, FREEDOM, JOINT, LOOSE, SCREWS
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.constraint.rows import DOT, EMPTY, POINT, ROTOR, TILE
from chasles.force.table import FORCE, FORCES
from chasles.force.table import JOINT as ON_JOINT


class Colors(NamedTuple):
    """The color of each body; and of each color which body has it among those that the residuals of a body (colors,
    bodies), of a tile (colors, tiles), or a velocity of a joint (colors, nv) depend on, or -1."""

    of_body: np.ndarray
    bodies: np.ndarray
    tiles: np.ndarray
    joints: np.ndarray


def force_rows(mechanism: AbsoluteMechanism) -> list[np.ndarray]:
    """The rows of all forces (`FORCE`)."""
    table = mechanism.forces.table
    return [table[FORCES.size + k * FORCE.size :][: FORCE.size] for k in range(int(table[FORCES.count]))]


def colored(mechanism: AbsoluteMechanism) -> Colors:
    n, tiles = mechanism.n, mechanism.tiles
    of_node: dict[int, set[int]] = {}
    for node, tile in zip(mechanism._node, tiles, strict=True):
        of_node.setdefault(int(node), set()).update(body for body in (tile.first, tile.second) if body >= 0)
    of_tiles = [of_node[int(node)] for node in mechanism._node]
    of_bodies: list[set[int]] = [{body} for body in range(n)]
    for group in (*of_node.values(), *_of_forces(mechanism)):
        for body in group:
            of_bodies[body] |= group
    of_joints = [
        {int(row[place]) for place in (JOINT.first, JOINT.second) if row[place] >= 0}
        for row in mechanism.joint_tables.rows
        for _ in range(row[JOINT.velocities])
    ]
    color = np.full(n, -1, dtype=np.int64)
    near: list[set[int]] = [set() for _ in range(n)]
    for group in (*of_bodies, *of_joints):  # a free joint has no tile
        for body in group:
            near[body] |= group
    for body in range(n):
        taken = {int(color[other]) for other in near[body]}
        color[body] = next(c for c in range(n + 1) if c not in taken)
    count = int(color.max(initial=-1)) + 1

    def owners(groups: list[set[int]]) -> np.ndarray:
        table = np.full((count, len(groups)), -1, dtype=np.int64)
        for k, group in enumerate(groups):
            for body in group:
                table[color[body], k] = body
        return table

    return Colors(color, owners(of_bodies), owners(of_tiles), owners(of_joints))


def translates(mechanism: AbsoluteMechanism) -> bool:
    """Whether Jacobians, forces or velocities of joints depend on where bodies are, beside how they are turned: not if
    all joints are rotations that meet in points, and nothing else acts. Accelerations of points on bodies are apart."""
    numbers = mechanism.joint_tables.numbers
    for tile in mechanism.tiles:
        if not {*tile.integers[TILE.kinds : TILE.kinds + 3]} <= {EMPTY, POINT, DOT, ROTOR}:
            return True
    for row in mechanism.joint_tables.rows:
        first = row[JOINT.numbers] + FRAMES.size + FREEDOM.kind
        kinds = {int(numbers[first + k * FREEDOM.size]) for k in range(row[JOINT.velocities])}
        if row[JOINT.form] in (LOOSE, SCREWS) or (row[JOINT.form] == AXES and not kinds <= {ABOUT_Z}):
            return True
    return any(row[FORCE.kind] != ON_JOINT or _sees(mechanism, row) for row in force_rows(mechanism))


def _sees(mechanism: AbsoluteMechanism, row: np.ndarray) -> bool:
    """Whether a law of a force sees what is elsewhere. Rows of the laws on a joint are behind those of all forces."""
    if row[FORCE.kind] != ON_JOINT:
        return bool(row[FORCE.seen])
    joint = mechanism.joint_tables.rows[row[FORCE.first]]
    laws = mechanism.forces.table[FORCES.size + joint[JOINT.laws] * FORCE.size :][: joint[JOINT.count] * FORCE.size]
    return bool(laws.reshape(-1, FORCE.size)[:, FORCE.seen].any())


def _of_forces(mechanism: AbsoluteMechanism) -> list[set[int]]:
    """Bodies that the force of each row may depend on; all, if its law sees what is elsewhere."""
    joints, n = mechanism.joint_tables.rows, mechanism.n
    groups = []
    for row in force_rows(mechanism):
        if _sees(mechanism, row):
            return [set(range(n))]
        if row[FORCE.kind] == ON_JOINT:
            joint = joints[row[FORCE.first]]
            group = [int(joint[JOINT.first]), int(joint[JOINT.second])]
        else:
            group = [int(row[place]) for place in range(FORCE.first, FORCE.fourth + 1)]
        groups.append({body for body in group if 0 <= body < n})
    return groups
