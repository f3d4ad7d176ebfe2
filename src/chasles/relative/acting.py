"""The forces of a system as the tables that `relative.force` interprets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.force import Force, Spring, Wrench
from chasles.model.joint import Joint
from chasles.model.law import Law
from chasles.model.system import System
from chasles.relative.force import FORCE, FORCES, JOINT, PASSIVE, SPRING, WRENCH
from chasles.relative.kinematics import REPRESENTATIONS
from chasles.relative.tree import Tree


@dataclass(frozen=True)
class Acting:
    """Tables of all that acts on a tree, and the laws they call (kept alive here)."""

    table: np.ndarray
    values: np.ndarray
    laws: tuple[Law, ...]


def passive_rows(joint: Joint) -> np.ndarray:
    """What a joint does by itself, (velocities, 9)."""
    rows = np.empty((joint.nv, PASSIVE.size))
    for name in PASSIVE._fields[:-1]:
        rows[:, getattr(PASSIVE, name)] = getattr(joint, name)
    return rows


def is_passive(joint: Joint) -> bool:
    stops = joint.stop_stiffness > 0 and np.isfinite([*joint.lower, *joint.upper]).any()
    return bool(any(joint.damping) or any(joint.stiffness) or any(joint.friction) or stops)


def tables(system: System, tree: Tree) -> Acting:
    """The tables of a system's forces on its tree."""
    places = {body.name: (int(tree.link_of_body[k]), tree.body_in_link[k]) for k, body in enumerate(system.bodies)}
    places["ground"] = (-1, pose_group.identity())
    passive = any(is_passive(joint) for joint in tree.joints)
    own = [passive_rows(joint) for joint in tree.joints if joint.nv] if passive else []
    rows: list[np.ndarray] = []
    numbers: list[list[float]] = []
    laws: list[Law] = []
    for force in system.forces:
        row, values = _row(force, tree, places)
        if not isinstance(force, Spring):
            if isinstance(force.value, Law):
                laws.append(force.value)
                row[FORCE.parameters], row[FORCE.law] = len(force.parameters), force.value.address
            values += force.parameters if isinstance(force.value, Law) else force.value
        row[FORCE.numbers] = sum(len(part) for part in numbers)
        rows.append(row)
        numbers.append(values)
    motion = any(isinstance(force, Spring | Wrench) for force in system.forces)
    head = np.array([len(rows), passive, motion, 0], dtype=np.int64)
    assert len(head) == FORCES.size
    every = [*(part.ravel() for part in own), *(np.array(part, dtype=float) for part in numbers)]
    return Acting(
        np.concatenate([head, *rows]) if rows else head,
        np.concatenate(every) if every else np.zeros(1),
        tuple(laws),
    )


def _row(force: Force, tree: Tree, places: dict) -> tuple[np.ndarray, list[float]]:
    """The row of a force, and its numbers without values or parameters."""
    row = np.zeros(FORCE.size, dtype=np.int64)
    if isinstance(force, Spring):
        links, poses = zip(*(places[body] for body in force.bodies), strict=True)
        points = pose_group.act(np.array(poses), np.array(force.points))
        row[: FORCE.third] = SPRING, *links
        return row, [*points.ravel(), force.stiffness, force.damping, force.length]
    if isinstance(force, Wrench):
        link, pose = places[force.body]
        if link < 0:
            raise ValueError(f"wrench {force.name!r}: body {force.body!r} is welded to the ground and does not move")
        row[: FORCE.third] = WRENCH, link, REPRESENTATIONS.index(force.representation)
        return row, [*quaternion_to_matrix(pose[:4]).ravel(), *pose[4:]]
    q, v = tree.coordinates[force.joint], tree.velocities[force.joint]
    row[: FORCE.numbers] = JOINT, q.start, q.stop - q.start, v.start, v.stop - v.start
    return row, []
