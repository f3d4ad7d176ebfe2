"""The joints of absolute coordinates in the order of joint coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.lie import pose as pose_group
from chasles.model.joint import Joint
from chasles.relative.loop.spanning import span
from chasles.relative.tree import depth_first


class TreeOrder(NamedTuple):
    """The joints of the spanning tree, and where their coordinates and velocities are: among those of all joints of
    `AbsoluteMechanism.joint_tables`, followed by poses and twists of `floating` bodies.

    A loop that does not reach the ground floats: in the tree one of its bodies has a free joint, which the loop has
    not.
    """

    joints: tuple[Joint, ...]
    coordinates: np.ndarray
    velocities: np.ndarray
    floating: tuple[int, ...]


class Quaternion(NamedTuple):
    """The quaternion of a spherical or free joint: where it is among all coordinates, and the joint's frames on the
    central frames of its bodies (-1: the ground)."""

    name: str
    at: int
    parent: int
    parent_frame: np.ndarray
    child: int
    child_frame: np.ndarray

    def turned_over(self, central: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Whether the quaternion among coordinates q has the other sign than the product of those of the bodies, which
        change their signs at no time of a motion."""
        child = pose_group.compose(central[..., self.child, :], self.child_frame)
        parent = self.parent_frame
        if self.parent >= 0:
            parent = pose_group.compose(central[..., self.parent, :], parent)
        product = pose_group.compose(pose_group.inverse(parent), child)[..., :4]
        return np.sum(product * q[..., self.at : self.at + 4], axis=-1) < 0


def quaternions(mechanism: AbsoluteMechanism) -> tuple[Quaternion, ...]:
    tables, index = mechanism.joint_tables, {name: k for k, name in enumerate(mechanism.bodies)}
    return tuple(
        Quaternion(
            *(joint.name, tables.coordinates[joint.name].start),
            *(index.get(joint.parent, -1), mechanism._central(joint.parent, joint.parent_frame)),
            *(index[joint.child], mechanism._central(joint.child, joint.child_frame)),
        )
        for joint in tables.order
        if joint.kind in ("spherical", "free")
    )


def tree_order(mechanism: AbsoluteMechanism) -> TreeOrder:
    tables, floating = mechanism.joint_tables, list[int]()
    own_joints = {joint.name: joint for joint in tables.order}  # the tree may have a part of a body as child
    order = [joint for joint in depth_first(span(mechanism.system).system) if joint.nv]
    joints = tuple(own_joints.get(joint.name, joint) for joint in order)
    places: tuple[list[int], list[int]] = [], []
    for joint in joints:
        if joint.name not in tables.coordinates:
            own = slice(tables.nq + 7 * len(floating), None), slice(tables.nv + 6 * len(floating), None)
            floating.append(mechanism.bodies.index(joint.child))
        else:
            own = tables.coordinates[joint.name], tables.velocities[joint.name]
        for found, first, count in zip(places, own, (joint.nq, joint.nv), strict=True):
            found += range(first.start, first.start + count)
    return TreeOrder(joints, np.array(places[0], dtype=int), np.array(places[1], dtype=int), tuple(floating))
