"""The forces of a system as the tables that `relative.force` interprets."""

from __future__ import annotations

import numpy as np

from chasles.force.build import Acting, body_force_row, finish, is_passive, passive_rows, seen_row, sees_frames
from chasles.force.table import FORCE, JOINT
from chasles.lie import pose as pose_group
from chasles.model.body import GROUND
from chasles.model.force import JointForce
from chasles.model.rod_parts import NodeLoad
from chasles.model.system import System
from chasles.relative.tree import Tree


def tables(system: System, tree: Tree, own: bool = False) -> Acting:
    """The tables of a system's forces on its tree; with `own`, joints have a place for springs even if none has any."""
    places = {body.name: (int(tree.link_of_body[k]), tree.body_in_link[k]) for k, body in enumerate(system.bodies)}
    places[GROUND] = (-1, pose_group.identity())
    passive = own or any(is_passive(joint) for joint in tree.joints)
    joints = [passive_rows(joint) for joint in tree.joints if joint.nv] if passive else []
    rows = [
        (*(_joint_row(force, tree) if isinstance(force, JointForce) else body_force_row(force, places)), force)
        for force in system.forces
        if not (isinstance(force, NodeLoad) and places[force.body][0] < 0)  # moves nothing; only reactions have it
    ]
    motion = any(not isinstance(force, JointForce) for force in system.forces) or sees_frames(system)

    def sight(joint: str, k: int) -> tuple[int, int]:
        return tree.coordinates[joint].start + k, tree.velocities[joint].start + k

    return finish(rows, joints, passive, motion, lambda seen: seen_row(seen, system, places, sight))


def _joint_row(force: JointForce, tree: Tree) -> tuple[np.ndarray, list[float]]:
    row = np.zeros(FORCE.size, dtype=np.int64)
    q, v = tree.coordinates[force.joint], tree.velocities[force.joint]
    row[: FORCE.numbers] = JOINT, q.start, q.stop - q.start, v.start, v.stop - v.start
    return row, []
