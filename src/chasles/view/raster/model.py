"""The triangles of a scene: those fixed to bodies, made once, and those that are made for each picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.placement import frame_with_z
from chasles.view.part import ON_GROUND, Part
from chasles.view.raster.camera import Camera
from chasles.view.raster.look import FLAT, OUTLINED
from chasles.view.scene import Scene, SceneJoint
from chasles.view.tessellate import Surface, surface, tube

STEEL = (0.36, 0.38, 0.42, 1.0)
PIN, PIN_LENGTH, BALL, RAIL, LINK = 0.032, 0.13, 0.045, 0.012, 0.014  # of the typical length of a body
COILS, TURN = 9, 14  # of a spring, and points of each
PALE = 0.80  # how far a trail has gone to white at its end


class Triangles:
    """Arrays of the kernels, built from surfaces: vertices and normals, triangles with color, flags and face."""

    def __init__(self) -> None:
        self.vertices: list[np.ndarray] = []
        self.normals: list[np.ndarray] = []
        self.triangles: list[np.ndarray] = []
        self.colors: list[np.ndarray] = []
        self.flags: list[np.ndarray] = []
        self.parts: list[np.ndarray] = []
        self.count = self.pieces = 0

    def add(self, piece: Surface, colors: Any, flags: int) -> None:
        """A surface; colors: one, or one for each triangle, as they look, so that their squares are linear."""
        m = len(piece.triangles)
        shown = np.broadcast_to(np.asarray(colors, dtype=float), (m, 4)).copy()
        shown[:, :3] **= 2
        self.vertices.append(piece.vertices)
        self.normals.append(piece.normals)
        self.triangles.append(piece.triangles + self.count)
        self.colors.append(shown)
        self.flags.append(np.full(m, flags, dtype=np.int32))
        self.parts.append((piece.faces + self.pieces).astype(np.int32))
        self.count, self.pieces = self.count + len(piece.vertices), self.pieces + int(piece.faces.max(initial=0)) + 1

    def arrays(self) -> tuple[np.ndarray, ...]:
        """vertices, normals, triangles, colors, flags, parts."""
        none = ((0, 3), float), ((0, 3), float), ((0, 3), np.int32), ((0, 4), float), ((0,), np.int32), ((0,), np.int32)
        lists = (self.vertices, self.normals, self.triangles, self.colors, self.flags, self.parts)
        made = [np.concatenate([np.empty(*empty), *given]) for empty, given in zip(none, lists, strict=True)]
        made[2] = made[2].astype(np.int32)
        return tuple(made)


class Solids:
    """All that is fixed to bodies and ground."""

    def __init__(self, scene: Scene):
        self.scene = scene
        built = Triangles()
        self.ranges: list[tuple[int, int, int]] = []  # body, and its vertices
        thickness: list[np.ndarray] = [np.empty(0)]
        joints = _joint_parts(scene)
        large = 0.25 * max((body.reach for body in scene.bodies), default=0.0)
        for body in range(ON_GROUND, len(scene.bodies)):
            start = built.count
            own = scene.bodies[body].parts if body != ON_GROUND else scene.standing
            parts = (*own, *joints.get(body, ()))
            for part in parts:
                piece = surface(part, large)
                built.add(_placed(piece, np.array(part.pose)), part.color, OUTLINED)
                thin = float(np.ptp(piece.vertices, axis=0).min()) if len(piece.vertices) else 0.0
                thickness.append(np.full(len(piece.triangles), thin))
            self.ranges.append((body, start, built.count))
        self.vertices, self.normals, self.triangles, self.colors, self.flags, self.parts = built.arrays()
        self.pieces = built.pieces
        self.thickness = np.concatenate(thickness)  # of the part of each triangle [m]

    def at(self, poses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Vertices and normals in space for poses (bodies, 7)."""
        vertices, normals = self.vertices.copy(), self.normals.copy()
        turned = quaternion_to_matrix(poses[:, :4]) if len(poses) else np.empty((0, 3, 3))
        for body, start, stop in self.ranges:
            if body != ON_GROUND:
                rows = slice(start, stop)
                vertices[rows] = self.vertices[rows] @ turned[body].T + poses[body, 4:]
                normals[rows] = self.normals[rows] @ turned[body].T
        return vertices, normals


def _placed(piece: Surface, pose: np.ndarray) -> Surface:
    turned = quaternion_to_matrix(pose[:4])
    return Surface(piece.vertices @ turned.T + pose[4:], piece.normals @ turned.T, piece.triangles, piece.faces)


def _joint_parts(scene: Scene) -> dict[int, list[Part]]:
    """A pin for an axis, a ball for a ball joint, a rail for what slides."""
    found: dict[int, list[Part]] = {}
    size = scene.size
    for joint in scene.joints:
        if joint.traits.ball:
            at = (1.0, 0.0, 0.0, 0.0, *joint.parent_frame[4:])
            found.setdefault(joint.parent, []).append(Part("sphere", (BALL * size,), at, STEEL))
        for axis in _drawn_axes(joint):
            pose = (*frame_with_z(np.array(axis.direction)).tolist(), *axis.point)
            long = (PIN * size, PIN_LENGTH * size) if axis.turns else (RAIL * size, 1.2 * size)
            found.setdefault(axis.body, []).append(Part("cylinder", long, pose, STEEL))
    return found


def _drawn_axes(joint: SceneJoint) -> Sequence[Any]:
    return () if joint.traits.plane else joint.axes


def links(built: Triangles, scene: Scene, poses: np.ndarray) -> None:
    """Springs and rigid links between points of bodies, at their poses."""
    for link in scene.links:
        ends = []
        for body, point in zip(link.bodies, link.points, strict=True):
            place = np.array(point, dtype=float)
            ends.append(place if body == ON_GROUND else pose_group.act(poses[body], place))
        if np.linalg.norm(ends[1] - ends[0]) < 1e-9 * scene.size:
            continue
        curve = (
            _coil(ends[0], ends[1], 0.045 * scene.size) if link.kind == "spring" else np.linspace(ends[0], ends[1], 3)
        )
        built.add(tube(curve, (0.4 if link.kind == "spring" else 1.0) * LINK * scene.size), STEEL, OUTLINED)


def _coil(start: np.ndarray, end: np.ndarray, radius: float) -> np.ndarray:
    """A helix with straight ends."""
    s = np.linspace(0.0, 1.0, COILS * TURN + 1)
    frame = quaternion_to_matrix(np.array(frame_with_z((end - start) / np.linalg.norm(end - start))))
    wide = radius * np.clip(np.minimum(s, 1.0 - s) / 0.08, 0.0, 1.0)
    angle = 2 * math.pi * COILS * s
    off = np.stack([wide * np.cos(angle), wide * np.sin(angle)], axis=1) @ frame[:, :2].T
    along = np.clip((s - 0.04) / 0.92, 0.0, 1.0)
    return start + along[:, None] * (end - start) + off


def trail(built: Triangles, camera: Camera, points: np.ndarray, color: Sequence[float], width: float) -> None:
    """A path (n, 3) as a ribbon that faces the eye, paler with age; width: as seen from a unit of length away."""
    if len(points) < 2:
        return
    away = points - camera.eye
    far = np.linalg.norm(away, axis=1, keepdims=True)
    side = np.cross(np.gradient(points, axis=0), away)
    side /= np.maximum(np.linalg.norm(side, axis=1, keepdims=True), 1e-300)
    half = 0.5 * width * far * side
    vertices = np.stack([points - half, points + half], axis=1).reshape(-1, 3)
    at = 2 * np.arange(len(points) - 1)[:, None]
    triangles = np.stack([at + np.array([0, 1, 2]), at + np.array([2, 1, 3])], axis=1).reshape(-1, 3)
    age = np.repeat(np.linspace(PALE, 0.0, len(points) - 1), 2)[:, None]
    shown = np.ones((len(triangles), 4))
    shown[:, :3] = (1.0 - age) * np.array(color[:3]) + age
    built.add(
        Surface(vertices, np.zeros_like(vertices), triangles.astype(np.int32), age[:, 0].astype(int)), shown, FLAT
    )
