"""What is drawn of a mechanism: solids on its bodies, joints with their axes, frames, springs and links.

Everything is placed on a body, so a picture at a time needs the poses of the bodies then and nothing else.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import GROUND
from chasles.model.constraint import Distance
from chasles.model.force import Spring
from chasles.model.joint import Joint
from chasles.model.joint_kind import JOINT_KINDS, JointKind
from chasles.model.rod_parts import NodeJoint, RodLink
from chasles.model.system import System
from chasles.view.cam_look import cam_parts
from chasles.view.part import ON_GROUND, Color, Part, Vector
from chasles.view.solids import looks_of


@dataclass(frozen=True)
class SceneBody:
    """A body with what is drawn of it. reach: how far that goes from the origin of its frame [m]; inside: whether it is
    a node between the ends of a rod, which leaves no trail."""

    name: str
    mass: float
    com: Vector
    parts: tuple[Part, ...]
    color: Color
    reach: float
    inside: bool = False


@dataclass(frozen=True)
class Axis:
    """A line of a joint, fixed in a body: a point on it, its direction, and what moves there."""

    body: int
    point: Vector
    direction: Vector
    turns: bool
    slides: bool


@dataclass(frozen=True)
class SceneJoint:
    """A joint; parent and child are numbers of bodies, the frames are those of the joint on them."""

    name: str
    kind: str
    parent: int
    child: int
    parent_frame: Vector
    child_frame: Vector
    axes: tuple[Axis, ...]

    @property
    def traits(self) -> JointKind:
        return JOINT_KINDS[self.kind]


@dataclass(frozen=True)
class SceneFrame:
    """A named frame on a body."""

    name: str
    body: int
    pose: Vector


@dataclass(frozen=True)
class Link:
    """A spring, or a rigid link without mass ("distance"), between points of two bodies."""

    name: str
    kind: str
    bodies: tuple[int, int]
    points: tuple[Vector, Vector]
    length: float


@dataclass(frozen=True)
class Scene:
    """All that is drawn. size: a typical length of a body [m]; up: against gravity; notes: what could not be drawn;
    standing: solids on the ground."""

    name: str
    bodies: tuple[SceneBody, ...]
    joints: tuple[SceneJoint, ...]
    frames: tuple[SceneFrame, ...]
    links: tuple[Link, ...]
    gravity: Vector
    up: Vector
    size: float
    notes: tuple[str, ...]
    standing: tuple[Part, ...] = ()

    def hull(self, poses: np.ndarray) -> np.ndarray:
        """The points that are farthest in some direction, of the motion at poses (times, bodies, 7)."""
        return extremes(self.cloud(poses, thin=True))

    def cloud(self, poses: np.ndarray, thin: bool = False) -> np.ndarray:
        """Points (n, 3) whose hull holds the motion at poses (times, bodies, 7), and what stands on the ground. If
        `thin`, only those of each body that are farthest in some direction."""
        found = []
        for k, body in enumerate(self.bodies):
            own = np.concatenate([part.points() for part in body.parts] or [np.zeros((1, 3))])
            if len(own) > 64:
                low, high = own.min(axis=0), own.max(axis=0)
                own = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
            moved = np.einsum("tij,pj->tpi", quaternion_to_matrix(poses[:, k, :4]), own) + poses[:, None, k, 4:]
            points = moved.reshape(-1, 3)
            found.append(extremes(points[np.isfinite(points).all(axis=1)]) if thin else points)
        held = [joint for joint in self.joints if not joint.traits.holds_nothing]
        fixed = [joint.parent_frame[4:] for joint in held if joint.parent == ON_GROUND]
        fixed += [link.points[k] for link in self.links for k in (0, 1) if link.bodies[k] == ON_GROUND]
        found += [part.points() for part in self.standing]
        points = np.concatenate([*found, np.array(fixed).reshape(-1, 3)])
        points = points[np.isfinite(points).all(axis=1)]
        return points if len(points) else self.size * np.array([[-1.0, -1, -1], [1, 1, 1]])

    def bounds(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (3,) of a box that holds the motion."""
        points = self.cloud(poses)
        return points.min(axis=0), points.max(axis=0)


def extremes(points: np.ndarray, count: int = 60) -> np.ndarray:
    """Those of points (n, 3) that are farthest in some direction: what a camera has to see to see them all."""
    if not len(points):
        return points
    k = np.arange(count) + 0.5  # directions spread over the sphere by the golden angle
    height, angle = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k
    across = np.sqrt(1 - height**2)
    directions = np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)
    directions = np.concatenate([directions, np.eye(3), -np.eye(3)])
    return np.unique(points[np.argmax(points @ directions.T, axis=0)], axis=0)


def scene_of(what: Any, rods: bool = True) -> Scene:
    """The scene of a `System`, or of a run or mechanism that has one. rods: with pieces of them on their nodes."""
    system = what if isinstance(what, System) else getattr(what, "mechanism", what).system
    number = {GROUND: ON_GROUND} | {body.name: k for k, body in enumerate(system.bodies)}
    size, looks, colors, notes = looks_of(system, rods)
    cams = cam_parts(system, size, colors)
    standing = cams.pop(ON_GROUND, ())
    for k, parts in cams.items():
        shaped = system.bodies[k].shapes or all(part.kind != "mesh" for part in parts)
        looks[k] = (*looks[k], *parts) if shaped else parts  # a cam is shape enough
    bodies, inside = [], {name for rod in system.rods for name in rod.nodes[1:-1]}
    inside |= {body.name for body in system.bodies if isinstance(body, RodLink)}
    for body, parts, color in zip(system.bodies, looks, colors, strict=True):
        reach = max((float(np.linalg.norm(part.points(), axis=1).max()) for part in parts), default=0.0)
        bodies.append(
            SceneBody(
                body.name, body.mass, tuple(np.array(body.com).tolist()), parts, color, reach, body.name in inside
            )
        )
    gravity = np.array(system.gravity)
    strength = float(np.linalg.norm(gravity))
    return Scene(
        system.name,
        tuple(bodies),
        tuple(_joint(joint, number) for joint in system.joints),
        tuple(SceneFrame(frame.name, number[frame.body], frame.pose) for frame in system.frames),
        tuple(
            Link(item.name, type(item).__name__.lower(), _two(number[b] for b in item.bodies), item.points, item.length)
            for item in (*system.forces, *system.constraints)
            if isinstance(item, Spring | Distance)
        ),
        tuple(gravity.tolist()),
        tuple((0.0 - gravity / strength).tolist()) if strength else (0.0, 0.0, 1.0),
        size,
        tuple(notes),
        standing,
    )


def poses_at(run: Any, times: np.ndarray) -> np.ndarray:
    """Poses of all bodies (times, bodies, 7) at times in the span of a run: those of the saved points, and in between
    those of the curve through them, or without a curve screw motions from saved pose to saved pose. Where nothing tells
    how bodies moved (`unknown`), they stay at the saved pose before."""
    wanted = np.asarray(times, dtype=float)
    t = np.asarray(run.t)
    forward = 1.0 if t[-1] >= t[0] else -1.0
    after = np.clip(np.searchsorted(forward * t, forward * wanted, "right"), 1, max(len(t) - 1, 1))
    before = after - 1
    if len(t) == 1:
        after = before
    held, curve = unknown(run, before, after), run.solution.slopes is not None and len(t) > 1
    if curve and not held.any():
        return poses_of_states(run, run.solution(wanted))
    first, second = poses_of_states(run, run.solution.y[before]), poses_of_states(run, run.solution.y[after])
    part = np.clip((wanted - t[before]) / np.where(after > before, t[after] - t[before], 1.0), 0.0, 1.0)
    poses = pose_group.interpolate(first, second, part[:, None])
    if curve and not held.all():
        poses[~held] = poses_of_states(run, run.solution(wanted[~held]))
    stays = held & (part < 1.0)
    poses[stays] = first[stays]
    return poses


def unknown(run: Any, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Between which of these saved points, by number, nothing tells how bodies moved: the integrator has no curve that
    is the only one there, or, without a curve, bodies turn by half a turn or more, as their speeds tell."""
    solution = run.solution
    if solution.moves is not None:
        return (after > before) & ~np.isfinite(np.asarray(solution.moves)[after]).all(axis=1)
    return turning(run, before, after) >= np.pi


def turning(run: Any, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """By how much bodies turn between saved points at most [rad], as their angular velocities there tell: poses alone
    do not show whole turns."""
    rows, place = np.unique(np.concatenate([before, after]), return_inverse=True)
    twists = run.mechanism.twists(*run.dynamics.split(np.ascontiguousarray(run.solution.y[rows]))[:2])
    with np.errstate(over="ignore"):  # of a run that went out of bounds
        speed = np.linalg.norm(twists[..., :3], axis=-1).max(axis=1, initial=0.0)[place]
    t = np.asarray(run.t)
    return np.maximum(speed[: len(before)], speed[len(before) :]) * np.abs(t[after] - t[before])


def poses_of_states(run: Any, states: np.ndarray) -> np.ndarray:
    """Poses of all bodies, (times, bodies, 7), from states as the solution has them, (times, ...)."""
    return run.mechanism.poses(run.dynamics.split(np.ascontiguousarray(states))[0])


# ---------------------------------------------------------------- joints


def _joint(joint: Joint, number: dict[str, int]) -> SceneJoint:
    parent, child = number[joint.parent], number[joint.child]
    axes = []
    for k, screw in enumerate(np.array(joint.screws).reshape(-1, 6)):
        # the first screw stays on the parent, the last on the child; those in between are drawn on the child, and so
        # is what only slides, as the frame on the parent may be far from it
        turns = bool(screw[:3].any())
        on, frame = (parent, joint.parent_frame) if k == 0 and turns else (child, joint.child_frame)
        place = np.array(frame)
        direction = screw[:3] if turns else screw[3:]
        point = np.cross(screw[:3], screw[3:]) if turns else np.zeros(3)
        pitch = float(screw[:3] @ screw[3:]) if turns else math.inf
        rotation = quaternion_to_matrix(place[:4])
        axes.append(
            Axis(
                on,
                tuple((rotation @ point + place[4:]).tolist()),
                tuple((rotation @ direction).tolist()),
                turns,
                abs(pitch) > 1e-12 * float(np.linalg.norm(screw[3:])),
            )
        )
    merged = _merged(axes) if joint.traits.line and len(axes) > 1 else tuple(axes)
    shown = () if isinstance(joint, NodeJoint) else merged  # a rod is not seen to have joints
    return SceneJoint(joint.name, joint.kind, parent, child, joint.parent_frame, joint.child_frame, shown)


def _merged(axes: list[Axis]) -> tuple[Axis, ...]:
    """Of a joint that turns about and slides along one line."""
    return (replace(axes[0], turns=True, slides=True),)


def _two(numbers: Iterable[int]) -> tuple[int, int]:
    first, second = numbers
    return first, second
