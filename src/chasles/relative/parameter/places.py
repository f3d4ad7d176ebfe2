"""Where the geometry of a mechanism can change: frames of joints on their two bodies, and frames on bodies.

A parameter is a small screw δ = (rotation, translation) in such a frame, the place:

    (joint, "parent")   parent_frame exp(δ): the joint and all it carries are displaced
    (joint, "child")    child_frame exp(δ): the child and all it carries are displaced, backward
    (frame, "frame")    pose exp(δ) of a frame on a body: the frame alone is displaced

This is B(π) = B exp(U π) of mueller2018 section 6.2 with six unit screws a place. The same δ on both sides of a joint
moves its screws and nothing else: exp(δ) exp(Y q) exp(-δ) = exp(Ad Y q).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import GROUND, Frame
from chasles.model.system import System
from chasles.relative.tree import Tree, inertias_on_links

SIDES = ("parent", "child")
SCREWS = ("rx", "ry", "rz", "x", "y", "z")  # rotations [rad] about and translations [m] along the axes of the place


@dataclass(frozen=True)
class Places:
    """Places with the tables that the kernels read (`geometry.PLACED`), in the links' frames."""

    names: tuple[tuple[str, str], ...]  # (joint, "parent"), (joint, "child") or (frame, "frame")
    table: np.ndarray  # (places, 4): host, links [first, last) that hang on it, sign
    poses: np.ndarray  # (places, 12): rotation and position on the host
    parts: np.ndarray  # (places, 10): mass properties of what is part of the host and hangs on the place
    spans: np.ndarray  # (places, 2): the joints [first, last) that carry the bodies that hang on it

    def __len__(self) -> int:
        return len(self.names)

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of the parameters, six a place."""
        return tuple(f"{name}, {side}, {screw}" for name, side in self.names for screw in SCREWS)

    def hanging(self, frames: Sequence[Frame], carriers: dict[str, int]) -> np.ndarray:
        """Whether frames hang on places, (frames, places); carriers: the joint that carries each body, by number."""
        at = np.array([carriers[frame.body] for frame in frames]).reshape(-1, 1)
        found = (self.spans[:, 0] <= at) & (at < self.spans[:, 1])
        for k, (name, side) in enumerate(self.names):
            if side == "frame":
                found[:, k] = [frame.name == name for frame in frames]
        return found


def carriers_of(tree: Tree) -> dict[str, int]:
    """The number of the joint that carries each body; -1 for the ground."""
    return {GROUND: -1, **{joint.child: k for k, joint in enumerate(tree.joints)}}


def choose(function: str, system: System, tree: Tree, wanted: Any) -> list[tuple[str, str]]:
    """Names of places from what a user writes: joints (both sides), pairs (joint, side), frames; None: all joints."""
    joints, frames = {joint.name for joint in system.joints}, {frame.name for frame in system.frames}
    if wanted is None:
        wanted = [joint.name for joint in tree.joints if joint.name in joints]
    if isinstance(wanted, str) or (isinstance(wanted, tuple) and len(wanted) == 2 and wanted[1] in SIDES):
        wanted = [wanted]
    if not isinstance(wanted, Iterable):
        raise ValueError(f"{function}: places is {wanted!r}; expected joints, pairs (joint, side) or frames")
    chosen: list[tuple[str, str]] = []
    for item in wanted:
        name, side = (item, None) if isinstance(item, str) else tuple(item) if len(item) == 2 else (item, "")
        if name in joints and side in (None, *SIDES):
            chosen += [(name, side)] if side else [(name, one) for one in SIDES]
        elif name in frames and side in (None, "frame"):
            chosen.append((name, "frame"))
        else:
            raise ValueError(
                f"{function}: place {item!r} is unknown; expected the name of a joint or a frame of "
                f"{system.name!r}, or a pair such as ({next(iter(joints), 'joint')!r}, 'parent')"
            )
    if len(set(chosen)) < len(chosen):
        twice = next(place for place in chosen if chosen.count(place) > 1)
        raise ValueError(f"{function}: place {twice} is given twice")
    return chosen


def places_of(function: str, system: System, tree: Tree, wanted: Any) -> Places:
    """The tables of places; see `choose` for what a user writes."""
    chosen = choose(function, system, tree, wanted)
    index = {body.name: k for k, body in enumerate(system.bodies)}
    carriers = carriers_of(tree)
    starts, ends = _spans(tree, carriers)
    joints = {joint.name: k for k, joint in enumerate(tree.joints)}
    on_link: dict[int, list[int]] = {}
    for b, link in enumerate(tree.link_of_body.tolist()):
        on_link.setdefault(link, []).append(b)
    ten, _ = inertias_on_links(system, tree.body_in_link)
    carried = [carriers[body.name] for body in system.bodies]

    table, poses = np.zeros((len(chosen), 4), dtype=np.int64), np.empty((len(chosen), 7))
    parts, spans = np.zeros((len(chosen), 10)), np.zeros((len(chosen), 2), dtype=np.int64)
    for row, (name, side) in enumerate(chosen):
        if side == "frame":
            frame = system.frame(name)
            body, pose, links, sign = frame.body, frame.pose, (0, 0), 1
        else:
            k = joints[name]
            joint, spans[row] = tree.joints[k], (k, ends[k])
            body, pose = (joint.parent, joint.parent_frame) if side == "parent" else (joint.child, joint.child_frame)
            links, sign = (starts[k if side == "parent" else k + 1], starts[ends[k]]), 1 if side == "parent" else -1
        host = int(tree.link_of_body[index[body]]) if body in index else -1
        on_body = np.array(pose)
        poses[row] = pose_group.compose(tree.body_in_link[index[body]], on_body) if body in index else on_body
        table[row] = host, *links, sign
        hang = [b for b in on_link.get(host, ()) if spans[row, 0] <= carried[b] < spans[row, 1]]
        parts[row] = ten[hang].sum(axis=0)
    matrices = quaternion_to_matrix(poses[:, :4]).reshape(-1, 9)
    return Places(tuple(chosen), table, np.concatenate([matrices, poses[:, 4:]], axis=1), parts, spans)


def _spans(tree: Tree, carriers: dict[str, int]) -> tuple[list[int], list[int]]:
    """The first link of each joint (and the number of links), and one past the last joint of all that it carries."""
    owned: dict[str, int] = dict.fromkeys((joint.name for joint in tree.joints), 0)
    for name in tree.joint_of_link:
        owned[name] += 1
    starts = np.concatenate([[0], np.cumsum(list(owned.values()), dtype=np.int64)]).tolist()
    ends = list(range(1, len(tree.joints) + 1))
    for k in range(len(tree.joints) - 1, -1, -1):
        before = carriers[tree.joints[k].parent]
        if before >= 0:
            ends[before] = max(ends[before], ends[k])
    return starts, ends


def displaced(system: System, places: Places, delta: np.ndarray) -> System:
    """The system with every place displaced by its δ, (places, 6)."""
    moves = dict(zip(places.names, pose_group.exp(delta), strict=True))

    def moved(pose: Any, place: tuple[str, str]) -> Any:
        return pose_group.compose(np.array(pose), moves[place]) if place in moves else pose

    joints = [
        replace(
            joint,
            parent_frame=moved(joint.parent_frame, (joint.name, "parent")),
            child_frame=moved(joint.child_frame, (joint.name, "child")),
        )
        for joint in system.joints
    ]
    frames = [replace(frame, pose=moved(frame.pose, (frame.name, "frame"))) for frame in system.frames]
    return replace(system, joints=joints, frames=frames)
