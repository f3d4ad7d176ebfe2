"""How far and how fast each joint moves, and how two motions differ, relative to that.

Angles and distances are apart: a satellite's orbit must not hide its attitude. Motions are those of the joints' frames
on the two bodies, so they are the same in both kinds of coordinates, and of joints that are cut to open a loop too.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.placement import ORIGIN
from chasles.model.scale import length_of
from chasles.model.system import System

EPS = np.finfo(float).eps
ROUNDING = 1e6 * EPS  # of a position or of an angle: what is below is not a motion
FAR_OFF = 1e4 * EPS  # of the distance from the origin of space
BESIDE = 1e-9  # of the angle that the fastest joint turns by: what others move less than is not a motion of their own
LOADS = 1e-9  # of the loads: what they may be off balance by, for a mechanism that is held at rest
STILL = 1e-3  # of 1 rad, and of the speed at which loads let it swing: the scale of a mechanism that stays at rest
SWINGS = 10.0  # periods of a pendulum, or nearly, for which a load off balance counts


class Pair(NamedTuple):
    """A joint as what is compared: names, the frames on both bodies, and whether it turns, and slides."""

    name: str
    parent: str
    child: str
    frames: tuple[Any, Any]
    moves: tuple[bool, bool]


def pairs_of(system: System, without: Collection[str] = ()) -> list[Pair]:
    """All joints that can move, and the bodies that no joint holds."""
    found = []
    for joint in system.joints:
        if not joint.nv or joint.name in without:
            continue
        screws = np.array(joint.screws).reshape(-1, 6)
        turns = bool(screws[:, :3].any()) or joint.traits.quaternion
        slides = bool(screws[:, 3:].any()) or joint.traits.holds_nothing
        found.append(
            Pair(joint.name, joint.parent, joint.child, (joint.parent_frame, joint.child_frame), (turns, slides))
        )
    held = {joint.child for joint in system.joints}
    loose = [body.name for body in system.bodies if body.name not in held and body.name not in without]
    return found + [Pair(name, "ground", name, (ORIGIN, ORIGIN), (True, True)) for name in loose]


@dataclass(frozen=True)
class Movement:
    """Poses and twists (joints, times, ...) of the joints' frames on the child, relative to those on the parent."""

    names: tuple[str, ...]
    moves: np.ndarray  # (joints, 2): turns, slides
    reach: np.ndarray  # (joints,): radius of gyration of the child [m]; 0 for a point
    away: np.ndarray  # (joints,): how far the child is from the origin of space [m]
    length: float  # of the model [m]
    t: np.ndarray
    poses: np.ndarray
    twists: np.ndarray

    def __getitem__(self, rows: Any) -> Movement:
        """At some of the times."""
        poses, twists = self.poses[:, rows], self.twists[:, rows]
        return replace(self, t=self.t[rows], poses=poses, twists=twists)


def movement(dynamics: Any, t: np.ndarray, y: np.ndarray, without: Collection[str] = ()) -> Movement:
    """The motion of the joints at states y."""
    mechanism = dynamics.mechanism
    q, v, _ = dynamics.split(np.asarray(y))
    poses, twists = mechanism.poses(q), mechanism.twists(q, v)
    place = {name: k for k, name in enumerate(mechanism.bodies)}
    pairs = [pair for pair in pairs_of(mechanism.system, without) if pair.child in place]
    relative, speed = [], []
    for pair in pairs:
        parent_frame, child_frame = (np.array(frame) for frame in pair.frames)
        X = pose_group.compose(poses[:, place[pair.child]], child_frame)
        V = pose_group.Ad_apply(pose_group.inverse(child_frame), twists[:, place[pair.child]])
        if pair.parent in place:
            base = pose_group.compose(poses[:, place[pair.parent]], parent_frame)
            X = pose_group.compose(pose_group.inverse(base), X)
            own = pose_group.Ad_apply(pose_group.inverse(parent_frame), twists[:, place[pair.parent]])
            V = V - pose_group.Ad_apply(pose_group.inverse(X), own)
        relative.append(X)
        speed.append(V)
    masses = {body.name: body for body in mechanism.system.bodies}
    reach = np.array([_gyration(masses[pair.child]) for pair in pairs])
    return Movement(
        tuple(pair.name for pair in pairs),
        np.array([pair.moves for pair in pairs], dtype=bool).reshape(-1, 2),
        np.where(reach > 0, reach, reach.max(initial=0.0)),
        np.array([np.abs(poses[:, place[pair.child], 4:]).max(initial=0.0) for pair in pairs]),
        length_of(mechanism.system),
        np.asarray(t),
        np.array(relative).reshape(len(pairs), len(t), 7),
        np.array(speed).reshape(len(pairs), len(t), 6),
    )


def _gyration(body: Any) -> float:
    moment = float(np.abs(np.asarray(body.spatial)[:3, :3]).max())
    return float(np.sqrt(moment / body.mass)) if body.mass > 0 else 0.0


def sizes(twists: np.ndarray) -> np.ndarray:
    """Sizes of the angular and of the linear part, (..., 2)."""
    return np.stack([np.linalg.norm(twists[..., :3], axis=-1), np.linalg.norm(twists[..., 3:], axis=-1)], axis=-1)


def apart(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    """Angle and distance between poses, (..., 2)."""
    same = np.abs(np.sum(X[..., :4] * Y[..., :4], axis=-1))
    turned = X[..., :1] * Y[..., 1:4] - Y[..., :1] * X[..., 1:4] - np.cross(X[..., 1:4], Y[..., 1:4])
    angle = 2 * np.arctan2(np.linalg.norm(turned, axis=-1), same)
    return np.stack([angle, np.linalg.norm(X[..., 4:] - Y[..., 4:], axis=-1)], axis=-1)


@dataclass(frozen=True)
class Scale:
    """What errors of angle and distance, and of their rates, are relative to, (joints, 2) each."""

    far: np.ndarray
    fast: np.ndarray
    smallest: float  # motion that is none of rounding, of 1 rad or a length of the model; 0 if there is none

    def errors(self, a: Movement, b: Movement) -> np.ndarray:
        """(joints, times, 2): the larger of the errors of configuration and of velocity, of angles and distances."""
        place = _over(apart(a.poses, b.poses), self.far[:, None])
        speed = _over(sizes(a.twists - b.twists), self.fast[:, None])
        return np.where(a.moves[:, None], np.maximum(place, speed), 0.0)


def _over(error: np.ndarray, size: np.ndarray) -> np.ndarray:
    """error / size; 0/0 is 0, of what does not move, and what is not a number is not right."""
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        return np.nan_to_num(np.where(error == 0, 0.0, error / size), nan=np.inf, posinf=np.inf)


def scale_of(*motions: Movement, pull: float, resting: bool, span: float) -> Scale:
    """How far and how fast each joint moves, the largest in any of the motions, and not below what rounding and loads
    out of balance by their rounding can do. Of a mechanism that stays where it is, not below a part of what its loads
    would do. An angle is at most π, so that turning wheels keep their phase."""
    first = motions[0]
    far = np.max([apart(m.poses, m.poses[:, :1]).max(axis=1) for m in motions], axis=0)
    fast = np.max([sizes(m.twists).max(axis=1) for m in motions], axis=0)
    turned = np.minimum(fast[:, 0] * span, np.pi)
    far[:, 0] = np.where(turned < np.pi, far[:, 0], np.maximum(far[:, 0], 1.0))
    where = np.max([np.abs(m.poses[..., 4:]).max(axis=(1, 2)) for m in motions], axis=0)
    reach = first.reach
    swing = np.where(reach > 0, np.sqrt(reach / pull), span) if pull > 0 else np.full(len(reach), span)
    load = LOADS * pull * np.minimum(span, SWINGS * swing) ** 2
    turn = np.divide(load, reach, out=np.zeros_like(load), where=reach > 0)
    floor = np.stack([turn + ROUNDING, load + ROUNDING * where + FAR_OFF * first.away], axis=-1)
    beside = BESIDE * fast[:, 0].max(initial=0.0) * span  # the errors of a fast neighbor reach what is at rest
    floor += np.stack([np.full_like(reach, beside), beside * reach], axis=-1)
    slow = floor / np.minimum(span, swing)[:, None] + 1e3 * EPS * fast.max(axis=0, initial=0.0)
    if resting:
        floor = np.maximum(floor, STILL * np.stack([np.ones_like(reach), reach], axis=-1))
        slow = np.maximum(slow, floor / swing[:, None])
    units = np.array([1.0, first.length])
    moving = [*(far / units)[first.moves & (far > floor)], *(fast / units)[first.moves & (fast > slow)]]
    return Scale(np.maximum(far, floor), np.maximum(fast, slow), float(min(moving, default=0.0)))
