"""Velocities and accelerations of the joints from the motion of the bodies: 002 Remark 1, O(n).

From V_i - Ad V_parent = X_i v_i (002 eq. (108) solved for the joint's part) and

    V_i' - Ad V_parent' - [Ad V_parent, X_i v_i] - X_i' v_i = X_i a_i                 002 eq. (65a)

each joint's numbers follow by the pseudo-inverse of its screws, (XᵀX)⁻¹Xᵀ as in (11). Remark 3, the same with (65b),
needs a dot that is missing there. X_i' is zero for joints with one axis, and for spherical and free joints.
If the motions do not fit the joints, the numbers are those of least squares, joint by joint.
"""

from __future__ import annotations

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
    from chasles.relative.analysis import Analysis


def screws_at(joint: Joint, q: np.ndarray) -> np.ndarray:
    """Screws of a joint at its coordinates q (..., nq), in the child's frame: (..., nv, 6)."""
    if joint.kind in ("spherical", "free"):
        columns = np.broadcast_to(np.eye(6)[: joint.nv], (*q.shape[:-1], joint.nv, 6))
    else:
        columns = np.empty((*q.shape[:-1], joint.nv, 6))
        after = pose_group.identity(q.shape[:-1])  # of the child's joint frame, as the later axes moved it
        for k in range(joint.nv - 1, -1, -1):
            screw = np.array(joint.screws[k])
            columns[..., k, :] = pose_group.Ad_apply(pose_group.inverse(after), screw)
            after = pose_group.compose(pose_group.exp(q[..., k, None] * screw), after)
    return pose_group.Ad_apply(np.array(joint.child_frame), columns)


def _drift(columns: np.ndarray, v: np.ndarray) -> np.ndarray:
    """X' v of a joint with axes: each screw moves with the axes after it, X_k' = [X_k, Σ_(l>k) X_l v_l]."""
    total = np.zeros((*columns.shape[:-2], 6))
    later = np.zeros_like(total)
    for k in range(columns.shape[-2] - 1, -1, -1):
        own = columns[..., k, :] * v[..., k, None]
        total += se3.bracket(own, later)
        later += own
    return total


def _solved(columns: np.ndarray, motion: np.ndarray) -> np.ndarray:
    """Least squares: the numbers x with Σ x_k X_k nearest to a motion."""
    return (np.linalg.pinv(np.swapaxes(columns, -1, -2)) @ motion[..., None])[..., 0]


def joint_rates(
    mechanism: Analysis,
    function: str,
    q: ArrayLike,
    twists: ArrayLike,
    accelerations: ArrayLike | None = None,
    representation: str = "body",
) -> tuple[np.ndarray, np.ndarray]:
    """v, and a if accelerations are given, (..., nv) each, from the motion (..., bodies, 6) of all bodies."""
    check_representation(function, representation)
    coordinates = mechanism.check_q(function, q)
    V = real_array(function, "twists", twists, (len(mechanism.bodies), 6))
    A = (
        np.zeros_like(V)
        if accelerations is None
        else real_array(function, "accelerations", accelerations, V.shape[-2:])
    )
    try:
        batch = np.broadcast_shapes(coordinates.shape[:-1], V.shape[:-2], A.shape[:-2])
    except ValueError:
        raise ValueError(
            f"{function}: leading axes do not broadcast: q {coordinates.shape[:-1]}, twists {V.shape[:-2]}, "
            f"accelerations {A.shape[:-2]}"
        ) from None
    poses = np.broadcast_to(mechanism.poses(coordinates), (*batch, *V.shape[-2:-1], 7))
    A = convert_acceleration(np.broadcast_to(A, (*batch, *A.shape[-2:])), V, poses, representation, "body")
    V = convert_twist(np.broadcast_to(V, (*batch, *V.shape[-2:])), poses, representation, "body")
    coordinates = np.broadcast_to(coordinates, (*batch, mechanism.nq))
    index = {name: k for k, name in enumerate(mechanism.bodies)}
    v, a = np.zeros((*batch, mechanism.nv)), np.zeros((*batch, mechanism.nv))
    for joint in mechanism.tree.joints:
        if not joint.nv:
            continue
        child, along = index[joint.child], mechanism.tree.velocities[joint.name]
        carried, rate = np.zeros((*batch, 6)), np.zeros((*batch, 6))
        if joint.parent != GROUND:
            parent = index[joint.parent]
            seen = pose_group.compose(pose_group.inverse(poses[..., child, :]), poses[..., parent, :])
            carried = pose_group.Ad_apply(seen, V[..., parent, :])
            rate = pose_group.Ad_apply(seen, A[..., parent, :])
        columns = screws_at(joint, coordinates[..., mechanism.tree.coordinates[joint.name]])
        v[..., along] = _solved(columns, V[..., child, :] - carried)
        if accelerations is not None:
            own = np.einsum("...ki,...k->...i", columns, v[..., along])
            rate = rate + se3.bracket(carried, own)
            if joint.screws:
                rate = rate + _drift(columns, v[..., along])
            a[..., along] = _solved(columns, A[..., child, :] - rate)
    return v, a
