"""What joints of a tree exert: the wrench that the bodies beyond a joint need, without what acts along its freedoms.

Kernels see bodies that are welded together as one link, and forces on it as one wrench. The reaction of a weld asks
which of them act beyond it, so it is computed for the tree with hinges at rest in place of welds (`apart`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.constraint.screws import SLIDES
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.joint import Joint, revolute
from chasles.model.system import System

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism
    from chasles.relative.mechanism import Mechanism

Z = (0.0, 0.0, 1.0)


def apart(system: System) -> System:
    """A tree with a hinge in place of each weld, so that every body is a link of its own. Its rotor is there for bodies
    without mass; nothing is accelerated."""
    joints = [
        item
        if item.nv
        else revolute(
            *(item.name, item.parent, item.child), axis=Z, at=item.parent_frame, child_at=item.child_frame, armature=1.0
        )
        for item in system.joints
    ]
    return system.rearranged(joints=joints)


def with_hinges(mechanism: Mechanism | ClosedMechanism, q: np.ndarray, *rates: np.ndarray) -> list[np.ndarray]:
    """Coordinates and velocities or the like of a mechanism as those of `mechanism._apart`, with its hinges at rest."""
    own, other, found = mechanism.tree, mechanism._apart, [np.zeros((*q.shape[:-1], mechanism._apart.nq))]
    moving = [item.name for item in own.joints if item.nv]
    for name in moving:
        found[0][..., other.tree.coordinates[name]] = q[..., own.coordinates[name]]
    for values in rates:
        found.append(np.zeros((*values.shape[:-1], other.nv)))
        for name in moving:
            found[-1][..., other.tree.velocities[name]] = values[..., own.velocities[name]]
    return found


def reactions(
    mechanism: Mechanism, joint: Joint, q: np.ndarray, v: np.ndarray, a: np.ndarray, t: np.ndarray
) -> np.ndarray:
    """The wrench that a joint of a tree exerts on its child, in the joint's frame on it, (..., 6)."""
    if joint.nv or joint.traits.holds_nothing:
        return through(mechanism, joint, q, v, a, t)
    q, v, a = with_hinges(mechanism, q, v, a)
    return through(mechanism._apart, joint, q, v, a, t)


def through(
    mechanism: Mechanism,
    joint: Joint,
    q: np.ndarray,
    v: np.ndarray,
    a: np.ndarray,
    t: np.ndarray,
    closing: np.ndarray | None = None,
) -> np.ndarray:
    """`reactions` of a joint that cuts no link in two.

    Newton's and Euler's equations of all bodies that it carries, summed in its frame, give the wrench through it.
    What is left after taking away what acts along the joint's freedoms is reciprocal to its screws: it does no work.
    closing: wrenches on the links of what closes loops.
    """
    if joint.traits.holds_nothing:
        return np.zeros((*q.shape[:-1], 6))
    carried = carried_by(mechanism.tree.all_joints, joint.child)
    bodies = [k for k, body in enumerate(mechanism.system.bodies) if body.name in carried]
    poses = mechanism.poses(q)
    frame = pose_group.compose(poses[..., mechanism.bodies.index(joint.child), :], np.array(joint.child_frame))
    wrenches = mechanism.applied_forces(q, v, t).wrenches.reshape(*q.shape[:-1], -1, 6)
    if closing is not None:
        wrenches = wrenches + closing
    moving = mechanism.twists(q, v), mechanism.accelerations(q, v, a)
    wrench = _needed(mechanism, bodies, poses, *moving, frame)
    wrench -= applied_through(mechanism, wrenches, bodies, poses, frame)
    return without_freedoms(mechanism, joint, q, wrench)


def without_freedoms(mechanism: Mechanism, joint: Joint, q: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """A wrench in a joint's frame without what acts along the joint's freedoms."""
    if joint.traits.holds_nothing:
        return np.zeros_like(wrench)
    if joint.traits.ball:
        return np.concatenate([np.zeros_like(wrench[..., :3]), wrench[..., 3:]], axis=-1)
    if not joint.nv:
        return wrench
    return wrench - _along(joint_screws(joint, _own_coordinates(mechanism, joint, q)), wrench)


def _own_coordinates(mechanism: Mechanism, joint: Joint, q: np.ndarray) -> np.ndarray:
    """Coordinates of a joint among those of all; of one that follows another, by its rule."""
    depends = mechanism.tree.dependence
    rule = None if depends is None else depends.following.get(joint.name)
    if rule is None:
        return q[..., mechanism.tree.coordinates[joint.name]]
    return rule.ratio * q[..., mechanism.tree.coordinates[rule.leader]] + rule.offset


def _along(screws: np.ndarray, wrench: np.ndarray) -> np.ndarray:
    """The wrench that does the same along screws (..., 6, k) as a given one: of the least force and then torque.

    As `screw_wrench` of absolute coordinates: no length is weighed against an angle, so units do not matter.
    """
    turning, sliding = np.swapaxes(screws[..., :3, :], -1, -2), np.swapaxes(screws[..., 3:, :], -1, -2)
    tau = np.einsum("...ik,...i->...k", screws, wrench)
    U, sizes, _ = np.linalg.svd(turning)
    slides = np.concatenate([sizes, np.zeros((*sizes.shape[:-1], U.shape[-1] - sizes.shape[-1]))], axis=-1) <= SLIDES
    U = np.swapaxes(np.where(slides[..., None, :], U, 0.0), -1, -2)  # combinations of the screws that do not turn
    slide = U @ sliding
    slide[np.abs(slide) <= SLIDES * np.abs(sliding).max(axis=(-2, -1), keepdims=True)] = 0.0  # nor move: dependent
    force = np.linalg.pinv(slide) @ (U @ tau[..., None])
    torque = np.linalg.pinv(turning, rcond=SLIDES) @ (tau[..., None] - sliding @ force)
    return np.concatenate([torque, force], axis=-2)[..., 0]


def carried_by(joints: tuple[Joint, ...], first: str) -> set[str]:
    """A body and all that it carries; joints are in the order of the tree."""
    carried = {first}
    for joint in joints:
        if joint.parent in carried:
            carried.add(joint.child)
    return carried


def _needed(
    mechanism: Mechanism,
    bodies: list[int],
    poses: np.ndarray,
    twists: np.ndarray,
    accelerations: np.ndarray,
    frame: np.ndarray,
) -> np.ndarray:
    """The sum of the wrenches that bodies need for their motion besides gravity, in a frame."""
    chosen = [mechanism.system.bodies[k] for k in bodies]
    mass, com = np.array([body.mass for body in chosen])[:, None], np.array([body.com for body in chosen])
    inertia, where = np.array([body.inertia for body in chosen]), poses[..., bodies, :]
    twist, rate = twists[..., bodies, :], accelerations[..., bodies, :]
    down = np.einsum("...ji,j->...i", quaternion_to_matrix(where[..., :4]), np.array(mechanism.system.gravity))
    spin, speed = twist[..., :3], twist[..., 3:] + np.cross(twist[..., :3], com)  # of the center of mass
    force = mass * (rate[..., 3:] + np.cross(rate[..., :3], com) + np.cross(spin, speed) - down)
    torque = np.einsum("bij,...bj->...bi", inertia, rate[..., :3])
    torque += np.cross(spin, np.einsum("bij,...bj->...bi", inertia, spin))
    center = np.concatenate([where[..., :4], pose_group.act(where, com)], axis=-1)
    to_frame = pose_group.compose(pose_group.inverse(center), frame[..., None, :])
    return pose_group.AdT_apply(to_frame, np.concatenate([torque, force], axis=-1)).sum(axis=-2)


def applied_through(
    mechanism: Mechanism, wrenches: np.ndarray, bodies: list[int], poses: np.ndarray, frame: np.ndarray
) -> np.ndarray:
    """The sum of the wrenches on bodies, of those on links (times, links, 6), in a frame."""
    tree, total = mechanism.tree, np.zeros((*frame.shape[:-1], 6))
    for link in {int(tree.link_of_body[k]) for k in bodies}:
        members = np.flatnonzero(tree.link_of_body == link)
        place = pose_group.compose(poses[..., members[0], :], pose_group.inverse(tree.body_in_link[members[0]]))
        total += pose_group.AdT_apply(pose_group.compose(pose_group.inverse(place), frame), wrenches[..., link, :])
    return total


def joint_screws(joint: Joint, q: np.ndarray) -> np.ndarray:
    """The screws of a joint in its frame on the child, (times, 6, nv)."""
    result = np.empty((*q.shape[:-1], 6, len(joint.screws)))
    after = np.broadcast_to(pose_group.identity(), (*q.shape[:-1], 7))
    for k in reversed(range(len(joint.screws))):
        screw = np.array(joint.screws[k])
        result[..., k] = pose_group.Ad_apply(pose_group.inverse(after), screw)
        after = pose_group.compose(pose_group.exp(q[..., k : k + 1] * screw), after)
    return result
