"""Coordinates of a joint from the motion of its two bodies: of one that closes a loop, which no coordinate is of."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie import se3
from chasles.model.body import GROUND
from chasles.model.joint import Joint
from chasles.relative.reaction import joint_screws


def is_readable(joint: Joint) -> bool:
    """Whether the pose of a joint tells its coordinates by itself: all its freedoms are about and along one line."""
    return bool(joint.nv) and joint.traits.line


def of_body(states: Any, what: str, body: str, frame: np.ndarray) -> np.ndarray:
    """ "poses", "twists" or "accelerations" of a frame on a body or on the ground, in this frame."""
    if body == GROUND:
        still = frame if what == "poses" else np.zeros(6)
        return np.broadcast_to(still, (*np.shape(states.t), len(still)))
    own = getattr(states, what)[..., states.mechanism.bodies.index(body), :]
    if what == "poses":
        return pose_group.compose(own, frame)
    return pose_group.Ad_apply(pose_group.inverse(frame), own)


def _sides(states: Any, joint: Joint, *what: str) -> tuple[tuple[np.ndarray, ...], ...]:
    sides = ((joint.parent, joint.parent_frame), (joint.child, joint.child_frame))
    return tuple(tuple(of_body(states, one, body, np.array(frame)) for one in what) for body, frame in sides)


def joint_states(states: Any, joint: Joint) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of a readable joint. An angle is within half a turn of zero at the first of the times
    and goes on from there, by its velocities; that of a thread follows from how far it went."""
    parent, child = _sides(states, joint, "poses", "twists")
    between = pose_group.compose(pose_group.inverse(parent[0]), child[0])
    twist = child[1] - pose_group.Ad_apply(pose_group.inverse(between), parent[1])
    q, v = [], []
    for screw in np.array(joint.screws):
        axis, turns = (screw[:3], True) if screw[:3].any() else (screw[3:], False)
        rate = twist[..., :3] @ axis if turns else twist[..., 3:] @ axis
        along = between[..., 4:] @ axis
        if not turns:
            value = along
        elif pitch := float(axis @ screw[3:]):
            value = along / pitch
        else:
            value = _counted(states.t, 2.0 * np.arctan2(between[..., 1:4] @ axis, between[..., 0]), rate)
        q.append(value)
        v.append(rate)
    return np.stack(q, axis=-1), np.stack(v, axis=-1)


def _counted(t: np.ndarray, angle: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """Angles over full turns, in steps that are nearest to what the rates say."""
    angle = np.asarray(angle)
    first = np.remainder(angle + np.pi, 2 * np.pi) - np.pi
    if np.ndim(t) != 1 or len(t) < 2:
        return first
    expected = 0.5 * (rate[1:] + rate[:-1]) * np.diff(t)
    turns = np.round((expected - np.diff(first)) / (2 * np.pi))
    return first + 2 * np.pi * np.concatenate([[0.0], np.cumsum(turns)])


def joint_accelerations(states: Any, joint: Joint, q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """From V_rel = V_child - Ad⁻¹ V_parent in the joint's frame on the child, and V_rel = S(q) v."""
    if not joint.nv:
        return np.zeros((*np.shape(states.t), 0))
    parent, child = _sides(states, joint, "poses", "twists", "accelerations")
    back = pose_group.compose(pose_group.inverse(child[0]), parent[0])
    carried = pose_group.Ad_apply(back, parent[1])
    rate = child[2] - pose_group.Ad_apply(back, parent[2]) + se3.bracket(child[1] - carried, carried)
    if joint.traits.quaternion:
        return rate[..., : joint.nv]
    screws = joint_screws(joint, q)
    after = np.zeros_like(rate)  # the twist of the screws beyond one, by which it is turned
    for k in reversed(range(joint.nv)):
        screw = screws[..., k]
        rate = rate + v[..., k, None] * se3.bracket(after, screw)
        after = after + v[..., k, None] * screw
    return np.einsum("...ki,...i->...k", np.linalg.pinv(screws), rate)
