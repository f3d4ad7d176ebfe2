"""What is drawn of a mechanism: solids on its bodies, joints with their axes, frames, springs and links.

Everything is placed on a body, so a picture at a time needs the poses of the bodies then and nothing else. Bodies
without shapes get a look of their own: rods from the places where something holds them to the centre of mass, and
there a small box with the proportions of a box of the same inertia, so that it can be seen to turn.
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import GROUND, Body
from chasles.model.constraint import Distance
from chasles.model.force import Spring
from chasles.model.joint import Joint
from chasles.model.placement import ORIGIN, frame_with_z
from chasles.model.system import System
from chasles.screw import shape as shapes
from chasles.study.style import COLOURS

ON_GROUND = -1  # the number of the ground among the bodies
PALETTE = (*COLOURS, "#1f8f9c", "#c0578d", "#7d8a2f", "#5f6f86")
TRIANGLES = 200_000  # of all meshes of a scene together; beyond that bodies are drawn without them
Vector = tuple[float, ...]
Colour = tuple[float, float, float, float]  # red, green, blue, opacity, each in [0, 1]


@dataclass(frozen=True)
class Part:
    """A solid on a body. kind and size: "box" (three edges), "sphere" (radius), "cylinder" and "capsule" (radius,
    length along z without caps), "ellipsoid" (three radii), "mesh" (vertices (n, 3) and triangles (m, 3))."""

    kind: str
    size: Vector
    pose: Vector
    colour: Colour
    vertices: np.ndarray | None = None
    triangles: np.ndarray | None = None

    def points(self) -> np.ndarray:
        """Points in the body's frame whose hull holds the solid, (n, 3)."""
        if self.vertices is not None:
            own = self.vertices
        else:
            size = np.array(self.size)
            if self.kind in ("box", "ellipsoid"):
                half = size / 2 if self.kind == "box" else size
            else:
                r = self.size[0]
                half = np.array([r, r, {"sphere": r}.get(self.kind, size[-1] / 2 + r * (self.kind == "capsule"))])
            own = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
        place = np.array(self.pose)
        return own @ quaternion_to_matrix(place[:4]).T + place[4:]


@dataclass(frozen=True)
class SceneBody:
    """A body with what is drawn of it. reach: how far that goes from the origin of its frame [m]."""

    name: str
    mass: float
    com: Vector
    parts: tuple[Part, ...]
    colour: Colour
    reach: float


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
    """All that is drawn. size: a typical length of a body [m]; up: against gravity; notes: what could not be drawn."""

    name: str
    bodies: tuple[SceneBody, ...]
    joints: tuple[SceneJoint, ...]
    frames: tuple[SceneFrame, ...]
    links: tuple[Link, ...]
    gravity: Vector
    up: Vector
    size: float
    notes: tuple[str, ...]

    def cloud(self, poses: np.ndarray) -> np.ndarray:
        """Points (n, 3) whose hull holds the motion at poses (times, bodies, 7), and what stands on the ground."""
        found = []
        for k, body in enumerate(self.bodies):
            own = np.concatenate([part.points() for part in body.parts] or [np.zeros((1, 3))])
            if len(own) > 64:
                low, high = own.min(axis=0), own.max(axis=0)
                own = np.array(np.meshgrid(*zip(low, high, strict=True))).reshape(3, -1).T
            moved = np.einsum("tij,pj->tpi", quaternion_to_matrix(poses[:, k, :4]), own) + poses[:, None, k, 4:]
            found.append(moved.reshape(-1, 3))
        fixed = [joint.parent_frame[4:] for joint in self.joints if joint.parent == ON_GROUND and joint.kind != "free"]
        fixed += [link.points[k] for link in self.links for k in (0, 1) if link.bodies[k] == ON_GROUND]
        points = np.concatenate([*found, np.array(fixed).reshape(-1, 3)])
        points = points[np.isfinite(points).all(axis=1)]
        return points if len(points) else self.size * np.array([[-1.0, -1, -1], [1, 1, 1]])

    def bounds(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (3,) of a box that holds the motion."""
        points = self.cloud(poses)
        return points.min(axis=0), points.max(axis=0)


def extremes(points: np.ndarray, count: int = 60) -> np.ndarray:
    """Those of points (n, 3) that are farthest in some direction: what a camera has to see to see them all."""
    k = np.arange(count) + 0.5  # directions spread over the sphere by the golden angle
    height, angle = 1 - 2 * k / count, np.pi * (1 + np.sqrt(5)) * k
    across = np.sqrt(1 - height**2)
    directions = np.stack([across * np.cos(angle), across * np.sin(angle), height], axis=1)
    directions = np.concatenate([directions, np.eye(3), -np.eye(3)])
    return np.unique(points[np.argmax(points @ directions.T, axis=0)], axis=0)


def scene_of(what: Any) -> Scene:
    """The scene of a `System`, or of a run or mechanism that has one."""
    system = what if isinstance(what, System) else getattr(what, "mechanism", what).system
    number = {GROUND: ON_GROUND} | {body.name: k for k, body in enumerate(system.bodies)}
    notes: list[str] = []
    held = {body.name: _places(system, body) for body in system.bodies}
    drawn = _drawn_shapes(system, notes)
    size = _typical_length(system, held, drawn)
    bodies = []
    for k, body in enumerate(system.bodies):
        colour = _colour(PALETTE[k % len(PALETTE)])
        places = held[body.name]
        parts = _with_stalks(drawn[k], places, size) if drawn[k] else _own_look(body, places, size, colour)
        reach = max((float(np.linalg.norm(part.points(), axis=1).max()) for part in parts), default=0.0)
        bodies.append(SceneBody(body.name, body.mass, tuple(np.array(body.com).tolist()), parts, colour, reach))
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
    )


def poses_at(run: Any, times: np.ndarray) -> np.ndarray:
    """Poses of all bodies (times, bodies, 7) at times in the span of a run: those of the saved points, and in between
    those of the curve through them. Without a curve, or if saved points are too far apart to have one, bodies move from
    saved pose to saved pose by screw motions."""
    wanted = np.asarray(times, dtype=float)
    t = np.asarray(run.t)
    if run.solution.slopes is not None and len(run) > 1:
        try:
            return poses_of_states(run, run.solution(wanted))
        except ValueError:
            if ((wanted - t[0]) * (wanted - t[-1]) > 0).any():  # not in the span
                raise
    forward = 1.0 if t[-1] >= t[0] else -1.0
    after = np.clip(np.searchsorted(forward * t, forward * wanted, "right"), 1, max(len(t) - 1, 1))
    before = after - 1
    if len(t) == 1:
        after = before
    first, second = poses_of_states(run, run.solution.y[before]), poses_of_states(run, run.solution.y[after])
    part = (wanted - t[before]) / np.where(after > before, t[after] - t[before], 1.0)
    return pose_group.interpolate(first, second, np.clip(part, 0.0, 1.0)[:, None])


def poses_of_states(run: Any, states: np.ndarray) -> np.ndarray:
    """Poses of all bodies, (times, bodies, 7), from states as the solution has them, (times, ...)."""
    return run.mechanism.poses(run.dynamics.split(np.ascontiguousarray(states))[0])


# ---------------------------------------------------------------- the look of bodies


def _colour(text: str, opacity: float = 1.0) -> Colour:
    red, green, blue = (int(text[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue, opacity


def _drawn_shapes(system: System, notes: list[str]) -> list[tuple[Part, ...]]:
    """The shapes that bodies have; meshes are read from their files."""
    room = TRIANGLES
    found: list[tuple[Part, ...]] = []
    for k, body in enumerate(system.bodies):
        parts = []
        for shape in body.shapes:
            colour = _colour(PALETTE[k % len(PALETTE)])
            if shape.colour is not None:
                red, green, blue, *opacity = shape.colour
                colour = (red, green, blue, opacity[0] if opacity else 1.0)
            if not isinstance(shape, shapes.Mesh):
                parts.append(Part(type(shape).__name__.lower(), _size(shape), tuple(shape.pose), colour))
                continue
            try:
                vertices, triangles = importlib.import_module("chasles.view.mesh").read_mesh(Path(shape.path))
                if len(triangles) > room:
                    raise ValueError(f"{len(triangles)} triangles are more than the {room} that are left for the page")
            except (ValueError, OSError) as error:
                notes.append(f"the mesh {Path(shape.path).name} of body {body.name!r} is not drawn: {error}")
                continue
            room -= len(triangles)
            parts.append(Part("mesh", (), tuple(shape.pose), colour, vertices * np.array(shape.scale), triangles))
        found.append(tuple(parts))
    return found


def _size(shape: shapes.Shape) -> Vector:
    if isinstance(shape, shapes.Box):
        return tuple(shape.size)
    if isinstance(shape, shapes.Sphere):
        return (shape.radius,)
    if isinstance(shape, shapes.Cylinder | shapes.Capsule):
        return shape.radius, shape.length
    assert isinstance(shape, shapes.Ellipsoid)
    return tuple(shape.radii)


def _places(system: System, body: Body) -> np.ndarray:
    """Where a body is held or marked, in its frame, each place once, (n, 3)."""
    found = [joint.child_frame[4:] for joint in system.joints if joint.child == body.name and joint.kind != "free"]
    found += [joint.parent_frame[4:] for joint in system.joints if joint.parent == body.name and joint.kind != "free"]
    found += [frame.pose[4:] for frame in system.frames if frame.body == body.name]
    for item in (*system.forces, *system.constraints):
        bodies, points = getattr(item, "bodies", ()), getattr(item, "points", ())
        found += [point for name, point in zip(bodies, points, strict=False) if name == body.name]
    return np.unique(np.round(np.array(found, dtype=float).reshape(-1, 3), 12), axis=0)


def _typical_length(system: System, held: dict[str, np.ndarray], drawn: list[tuple[Part, ...]]) -> float:
    """The median extent of the bodies [m]."""
    extents = []
    for body, parts in zip(system.bodies, drawn, strict=True):
        points = [part.points() for part in parts] or [held[body.name], np.array(body.com)[None]]
        cloud = np.concatenate(points)
        extent = float(np.linalg.norm(np.ptp(cloud, axis=0)))
        if extent < 1e-9 and body.mass > 0:
            extent = 2 * math.sqrt(max(np.trace(np.array(body.inertia)), 0.0) / body.mass)
        if extent > 1e-9:
            extents.append(extent)
    return float(np.median(extents)) if extents else 1.0


def _with_stalks(parts: tuple[Part, ...], places: np.ndarray, size: float) -> tuple[Part, ...]:
    """Shapes, and thin rods to places where the body is held but no shape is near."""
    thin, stalks = 0.016 * size, []
    for place in places:
        nearest, gap = parts[0], math.inf
        for part in parts:
            away = _distance_from_box(part, place)
            if away < gap:
                nearest, gap = part, away
        if gap > 4 * thin:
            stalks.append(_rod(place, nearest.points().mean(axis=0), thin, _pale(nearest.colour)))
    return (*parts, *stalks)


def _distance_from_box(part: Part, place: np.ndarray) -> float:
    """How far a place is from the box around a solid, along its own axes."""
    pose = np.array(part.pose)
    rotation = quaternion_to_matrix(pose[:4])
    own = (part.points() - pose[4:]) @ rotation
    inside = (place - pose[4:]) @ rotation
    return float(np.linalg.norm(np.maximum(np.maximum(own.min(axis=0) - inside, inside - own.max(axis=0)), 0.0)))


def _rod(first: np.ndarray, second: np.ndarray, radius: float, colour: Colour) -> Part:
    """A rod from point to point."""
    way = second - first
    length = float(np.linalg.norm(way))
    pose = (*frame_with_z(way / length).tolist(), *((first + second) / 2).tolist())
    return Part("capsule", (radius, length), pose, colour)


def _pale(colour: Colour) -> Colour:
    red, green, blue = (0.45 * c + 0.55 * 0.72 for c in colour[:3])
    return red, green, blue, colour[3]


def _own_look(body: Body, places: np.ndarray, size: float, colour: Colour) -> tuple[Part, ...]:
    """Rods from the places where a body is held to its centre, and a box there."""
    hub = np.array(body.com) if body.mass > 0 or not len(places) else places.mean(axis=0)
    thin = 0.022 * size
    parts = [_rod(p, hub, thin, _pale(colour)) for p in places if np.linalg.norm(hub - p) > 2 * thin]
    longest = max((float(np.linalg.norm(hub - place)) for place in places), default=0.0)
    limit = 0.25 * longest if longest > 2 * thin else 1.2 * size
    box = _equal_box(body)
    if box is None:
        parts.append(Part("sphere", (max(2.5 * thin, 0.15 * limit),), (*ORIGIN[:4], *hub.tolist()), colour))
        return tuple(parts)
    pose, edges = box
    edges = edges * min(1.0, limit / edges.max())
    edges = np.maximum(edges, max(0.2 * float(edges.max()), 3.2 * thin))
    return (*parts, Part("box", tuple(edges.tolist()), pose, colour))


def _equal_box(body: Body) -> tuple[Vector, np.ndarray] | None:
    """Pose and edges of the box of uniform density with the mass and inertia of a body, if it has any."""
    if body.mass <= 0:
        return None
    moments, axes = np.linalg.eigh(np.array(body.inertia))
    if moments[-1] <= 1e-12 * body.mass:
        return None
    squares = 6.0 * (moments.sum() - 2.0 * moments) / body.mass  # a² = 6 (J_b + J_c - J_a) / m
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])  # a right-handed frame
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = axes, body.com
    return tuple(pose_group.from_matrix(matrix).tolist()), np.sqrt(np.maximum(squares, 0.0))


# ---------------------------------------------------------------- joints


def _joint(joint: Joint, number: dict[str, int]) -> SceneJoint:
    parent, child = number[joint.parent], number[joint.child]
    axes = []
    for k, screw in enumerate(np.array(joint.screws).reshape(-1, 6)):
        # the first screw stays on the parent, the last on the child; those in between are drawn on the child
        on, frame = (parent, joint.parent_frame) if k == 0 else (child, joint.child_frame)
        place = np.array(frame)
        turns = bool(screw[:3].any())
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
                abs(pitch) > 1e-12,
            )
        )
    merged = _merged(axes) if joint.kind == "cylindrical" else tuple(axes)
    return SceneJoint(joint.name, joint.kind, parent, child, joint.parent_frame, joint.child_frame, merged)


def _merged(axes: list[Axis]) -> tuple[Axis, ...]:
    """A cylindrical joint turns about and slides along one line."""
    return (replace(axes[0], turns=True, slides=True),)


def _two(numbers: Iterable[int]) -> tuple[int, int]:
    first, second = numbers
    return first, second
