"""The joints of absolute coordinates in the order of joint coordinates."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.lie import pose as pose_group
from chasles.model.joint import Joint
from chasles.once import once
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
    plain: bool  # whether they are all, in their order


class Quaternion(NamedTuple):
    """The quaternion of a spherical or free joint: where it is among all coordinates, its bodies (-1: the ground), and
    the tensor of the product below."""

    name: str
    at: int
    parent: int
    child: int
    product: np.ndarray

    def turned_over(self, central: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Whether the quaternion among coordinates q has the other sign than the product of those of the bodies, which
        change their signs at no time of a motion."""
        child, own = central[..., self.child, :4], q[..., self.at : self.at + 4]
        if self.parent < 0:
            return np.einsum("ik,...i,...k->...", self.product[:, 0], child, own) < 0
        return np.einsum("ijk,...i,...j,...k->...", self.product, child, central[..., self.parent, :4], own) < 0


@once
def quaternions(mechanism: AbsoluteMechanism) -> tuple[Quaternion, ...]:
    tables, index = mechanism.joint_tables, {name: k for k, name in enumerate(mechanism.bodies)}
    units = np.eye(4, 7)
    product = np.moveaxis(pose_group.compose(units[:, None], units)[..., :4], -1, 0)  # (a b)_m of units a and b
    found = []
    for joint in tables.order:
        if joint.traits.quaternion:
            parent, child = (
                product @ mechanism._central(body, frame)[:4]
                for body, frame in ((joint.parent, joint.parent_frame), (joint.child, joint.child_frame))
            )
            # of (child frame) · ((parent frame) q), by the quaternions of the bodies
            both = np.einsum("mi,mnk,nj->ijk", child, product, parent)
            at = tables.coordinates[joint.name].start
            found.append(Quaternion(joint.name, at, index.get(joint.parent, -1), index[joint.child], both))
    return tuple(found)


@once
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
    plain = [list(range(tables.nq)), list(range(tables.nv))] == list(places)
    q, v = (np.array(place, dtype=int) for place in places)
    return TreeOrder(joints, q, v, tuple(floating), plain)
