"""Velocities and accelerations of the joints from the motion of the bodies: mueller2018 Remark 1, O(n).

From V_i - Ad V_parent = X_i v_i (mueller2018 eq. (108) solved for the joint's part) and

    V_i' - Ad V_parent' - [Ad V_parent, X_i v_i] - X_i' v_i = X_i a_i                 mueller2018 eq. (65a)

each joint's numbers follow by the pseudo-inverse of its screws, (XᵀX)⁻¹Xᵀ as in (11). Remark 3, the same with (65b),
needs a dot that is missing there. X_i' is zero for joints with one axis, and for spherical and free joints.
If the motions do not fit the joints, the numbers are those of least squares, joint by joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.lie import se3
from chasles.lie.arrays import real_array
from chasles.model.body import GROUND
from chasles.model.joint import Joint
from chasles.screw.representation import check_representation, convert_acceleration, convert_twist

if TYPE_CHECKING:
    from chasles.relative.mechanism import Mechanism


@dataclass(frozen=True)
class Alike:
    """Joints with the same number of freedoms, worked on together: each depends on its own two bodies only."""

    with_axes: bool
    screws: np.ndarray  # (joints, nv, 6), of joints with axes in the joint's frame
    child_frames: np.ndarray
    parents: np.ndarray  # bodies; the ground is the one after the last
    children: np.ndarray
    coordinates: np.ndarray  # (joints, nq), where they are in q
    velocities: np.ndarray


def alike(mechanism: Mechanism) -> list[Alike]:
    """The joints that move, in groups."""
    groups: dict[tuple[str, int], list[Joint]] = {}
    for joint in mechanism.tree.joints:
        if joint.nv:
            groups.setdefault(("axes" if joint.screws else joint.kind, joint.nv), []).append(joint)
    index = {GROUND: len(mechanism.bodies), **{name: k for k, name in enumerate(mechanism.bodies)}}
    tree = mechanism.tree
    return [
        Alike(
            kind == "axes",
            np.array([joint.screws if kind == "axes" else np.eye(6)[:nv] for joint in joints]),
            np.array([joint.child_frame for joint in joints]),
            np.array([index[joint.parent] for joint in joints]),
            np.array([index[joint.child] for joint in joints]),
            np.array([np.arange(tree.coordinates[j.name].start, tree.coordinates[j.name].stop) for j in joints]),
            np.array([np.arange(tree.velocities[j.name].start, tree.velocities[j.name].stop) for j in joints]),
        )
        for (kind, nv), joints in groups.items()
    ]


def screws_at(group: Alike, q: np.ndarray) -> np.ndarray:
    """Screws of joints at their coordinates q (..., joints, nq), in the children's frames: (..., joints, nv, 6)."""
    columns = np.broadcast_to(group.screws, (*q.shape[:-1], *group.screws.shape[-2:]))
    if group.with_axes and group.screws.shape[1] > 1:
        columns = columns.copy()
        after = pose_group.identity(q.shape[:-1])  # of the child's joint frame, as the later axes moved it
        for k in range(group.screws.shape[1] - 1, -1, -1):
            screw = group.screws[:, k]
            columns[..., k, :] = pose_group.Ad_apply(pose_group.inverse(after), screw)
            after = pose_group.compose(pose_group.exp(q[..., k, None] * screw), after)
    return pose_group.Ad_apply(group.child_frames[:, None], columns)


def _drift(columns: np.ndarray, v: np.ndarray) -> np.ndarray:
    """X' v of joints with axes: each screw moves with the axes after it, X_k' = [X_k, Σ_(l>k) X_l v_l]."""
    total = np.zeros((*columns.shape[:-2], 6))
    later = np.zeros_like(total)
    for k in range(columns.shape[-2] - 1, -1, -1):
        own = columns[..., k, :] * v[..., k, None]
        total += se3.bracket(own, later)
        later += own
    return total


def _solved(columns: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """Least squares: the numbers x with Σ x_k X_k nearest to a motion."""
    if columns.shape[-2] == 1:
        screw = columns[..., 0, :]
        return np.sum(screw * motion, axis=-1, keepdims=True) / np.sum(screw * screw, axis=-1, keepdims=True)
    return (np.linalg.pinv(np.swapaxes(columns, -1, -2)) @ motion[..., None])[..., 0]


def with_ground(motion: np.ndarray, ground: np.ndarray) -> np.ndarray:
    """Poses or motions of the bodies, and of the ground as one more."""
    return np.concatenate([motion, np.broadcast_to(ground, (*motion.shape[:-2], 1, motion.shape[-1]))], axis=-2)


def joint_rates(
    mechanism: Mechanism,
    function: str,
    q: ArrayLike,
    twists: ArrayLike,
    accelerations: ArrayLike | None = None,
    representation: str = "body",
) -> tuple[np.ndarray, np.ndarray]:
    """v, and a if accelerations are given, (..., nv) each, from the motion (..., bodies, 6) of all bodies."""
    check_representation(function, representation)
    coordinates = mechanism.tables.check_q(function, q)
    bodies = len(mechanism.bodies)
    V = real_array(function, "twists", twists, (bodies, 6))
    A = np.zeros_like(V) if accelerations is None else real_array(function, "accelerations", accelerations, (bodies, 6))
    try:
        batch = np.broadcast_shapes(coordinates.shape[:-1], V.shape[:-2], A.shape[:-2])
    except ValueError:
        raise ValueError(
            f"{function}: leading axes do not broadcast: q {coordinates.shape[:-1]}, twists {V.shape[:-2]}, "
            f"accelerations {A.shape[:-2]}"
        ) from None
    poses = np.broadcast_to(mechanism.poses(coordinates), (*batch, bodies, 7))
    V, A = np.broadcast_to(V, (*batch, bodies, 6)), np.broadcast_to(A, (*batch, bodies, 6))
    A = with_ground(convert_acceleration(A, V, poses, representation, "body"), np.zeros(6))
    V = with_ground(convert_twist(V, poses, representation, "body"), np.zeros(6))
    poses = with_ground(poses, pose_group.identity())
    coordinates = np.broadcast_to(coordinates, (*batch, mechanism.nq))
    v, a = np.zeros((*batch, mechanism.nv)), np.zeros((*batch, mechanism.nv))
    for group in alike(mechanism):
        parents, children = group.parents, group.children
        seen = pose_group.compose(pose_group.inverse(poses[..., children, :]), poses[..., parents, :])
        carried = pose_group.Ad_apply(seen, V[..., parents, :])
        columns = screws_at(group, coordinates[..., group.coordinates])
        speeds = _solved(columns, V[..., children, :] - carried)
        v[..., group.velocities] = speeds
        if accelerations is not None:
            own = np.einsum("...ki,...k->...i", columns, speeds)
            rate = pose_group.Ad_apply(seen, A[..., parents, :]) + se3.bracket(carried, own)
            if group.with_axes:
                rate = rate + _drift(columns, speeds)
            a[..., group.velocities] = _solved(columns, A[..., children, :] - rate)
    return v, a
