"""Solids as triangles with normals, for drawing: triangles turn left seen from outside, normals point outwards."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from chasles.view.part import Part

ROUND, COARSE = 40, 12  # edges of a circle, of one with a large radius and of a small one
CREASE = math.cos(math.radians(35.0))  # faces of a mesh that meet at more than this angle have an edge between them


class Surface(NamedTuple):
    """Vertices (n, 3) [m], unit normals there (n, 3), triangles (m, 3), and the face (m,) that each belongs to: lines
    are drawn between faces."""

    vertices: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    faces: np.ndarray


def surface(part: Part, large: float = 0.0) -> Surface:
    """The surface of a part in its own frame; circles smaller than the radius `large` [m] have fewer edges."""
    size = part.size
    if part.kind == "box":
        return box(np.array(size))
    edges = ROUND
    if size and large > 0:
        radius = max(size) if part.kind == "ellipsoid" else size[0]
        edges = 4 * round(min(1.0, math.sqrt(radius / large)) * (ROUND - COARSE) / 4) + COARSE
    if part.kind == "sphere":
        return ellipsoid(np.full(3, size[0]), edges)
    if part.kind == "ellipsoid":
        return ellipsoid(np.array(size), edges)
    if part.kind == "cylinder":
        return cylinder(size[0], size[1], edges)
    if part.kind == "capsule":
        return capsule(size[0], size[1], edges)
    assert part.vertices is not None
    assert part.triangles is not None
    return mesh(part.vertices, part.triangles)


def box(edges: np.ndarray) -> Surface:
    """A box with edges [m] along x, y, z."""
    vertices, normals = [], []
    for axis in range(3):
        for side in (-1.0, 1.0):
            normal = np.zeros(3)
            normal[axis] = side
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
                corner = np.empty(3)
                corner[axis], corner[(axis + 1) % 3], corner[(axis + 2) % 3] = side, a * side, b
                vertices.append(corner * edges / 2)
                normals.append(normal)
    first = 4 * np.arange(6)[:, None]
    triangles = np.concatenate([first + np.array([0, 1, 2]), first + np.array([0, 2, 3])])
    return Surface(np.array(vertices), np.array(normals), triangles.astype(np.int32), np.tile(np.arange(6), 2))


def ellipsoid(radii: np.ndarray, edges: int = ROUND) -> Surface:
    """An ellipsoid with semi-axes [m]; a ball if they are equal."""
    unit = revolved(*_arc(math.pi, -math.pi / 2, edges // 2), edges)
    normals = unit.vertices / radii
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    return Surface(unit.vertices * radii, normals, unit.triangles, unit.faces)


def cylinder(radius: float, length: float, edges: int = ROUND) -> Surface:
    """A cylinder along z with flat ends."""
    h = length / 2
    profile = np.array([(0.0, -h), (radius, -h), (radius, -h), (radius, h), (radius, h), (0.0, h)])
    normals = np.array([(0.0, -1.0), (0.0, -1.0), (1.0, 0.0), (1.0, 0.0), (0.0, 1.0), (0.0, 1.0)])
    return revolved(profile, normals, edges, (0, 0, 1, 1, 2))


def capsule(radius: float, length: float, edges: int = ROUND) -> Surface:
    """A cylinder along z, length without its round ends."""
    below, above = _arc(math.pi / 2, -math.pi / 2, edges // 4)[0], _arc(math.pi / 2, 0.0, edges // 4)[0]
    normals = np.concatenate([below, above])
    profile = radius * normals
    profile[: len(below), 1] -= length / 2
    profile[len(below) :, 1] += length / 2
    return revolved(profile, normals, edges)


def _arc(angle: float, start: float, pieces: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (distance from the axis, height) on a circle of radius 1, and normals there."""
    at = start + angle * np.arange(pieces + 1) / pieces
    points = np.stack([np.maximum(np.cos(at), 0.0), np.sin(at)], axis=1)
    return points, points


def revolved(profile: np.ndarray, normals: np.ndarray, edges: int, faces: tuple[int, ...] = ()) -> Surface:
    """A profile (distance from z, height), from below to above, turned about z; faces: that of each of its pieces."""
    angle = 2 * math.pi * np.arange(edges) / edges
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)

    def around(points: np.ndarray) -> np.ndarray:
        flat = points[:, None, :1] * circle
        return np.concatenate([flat, np.broadcast_to(points[:, None, 1:], (*flat.shape[:2], 1))], axis=2).reshape(-1, 3)

    vertices, triangles = around(profile), _strips(len(profile), edges)
    face = np.tile(np.repeat(faces or np.zeros(len(profile) - 1, dtype=np.int64), edges), 2)
    corners = vertices[triangles]
    area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    real = area > 1e-12 * float(area.max())
    return Surface(vertices, around(normals), triangles[real], face[real])


def _strips(rings: int, edges: int) -> np.ndarray:
    """Triangles between rings of so many vertices, one after the other."""
    ring, at = np.meshgrid(np.arange(rings - 1) * edges, np.arange(edges), indexing="ij")
    after = (at + 1) % edges
    a, b, c, d = ring + at, ring + after, ring + edges + at, ring + edges + after
    halves = [np.stack(corners, axis=-1).reshape(-1, 3) for corners in ((a, b, d), (a, d, c))]
    return np.concatenate(halves).astype(np.int32)


def mesh(vertices: np.ndarray, triangles: np.ndarray) -> Surface:
    """A mesh with corners of its own for each triangle; normals are smooth where the faces around a vertex nearly
    agree."""
    corners = vertices[triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(across, axis=1, keepdims=True)
    face = np.where(size > 0, across / np.maximum(size, 1e-300), [0.0, 0.0, 1.0])
    mean = np.zeros((len(vertices), 3))
    for k in range(3):
        np.add.at(mean, triangles[:, k], across)  # each face counts by its area
    mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-300)
    smooth = mean[triangles]
    agrees = np.einsum("tkj,tj->tk", smooth, face) > CREASE
    normals = np.where(agrees[..., None], smooth, face[:, None])
    numbers = np.arange(3 * len(triangles), dtype=np.int32).reshape(-1, 3)
    return Surface(corners.reshape(-1, 3), normals.reshape(-1, 3), numbers, np.zeros(len(triangles), dtype=np.int64))


def tube(points: np.ndarray, radius: float, edges: int = 8) -> Surface:
    """A tube around a curve (n, 3)."""
    way = np.gradient(points, axis=0)
    way /= np.maximum(np.linalg.norm(way, axis=1, keepdims=True), 1e-300)
    side = np.empty_like(points)
    side[0] = np.cross(way[0], np.eye(3)[int(np.argmin(np.abs(way[0])))])
    for k in range(1, len(points)):  # turned as little as possible
        side[k] = side[k - 1] - (side[k - 1] @ way[k]) * way[k]
        side[k] /= max(float(np.linalg.norm(side[k])), 1e-300)
    side[0] /= max(float(np.linalg.norm(side[0])), 1e-300)
    other = np.cross(way, side)
    angle = 2 * math.pi * np.arange(edges) / edges
    normals = np.cos(angle)[:, None] * side[:, None] + np.sin(angle)[:, None] * other[:, None]
    triangles = _strips(len(points), edges)
    vertices = points[:, None] + radius * normals
    faces = np.zeros(len(triangles), dtype=np.int64)
    return Surface(vertices.reshape(-1, 3), normals.reshape(-1, 3), triangles, faces)
