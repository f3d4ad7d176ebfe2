"""How bodies look: solids for the shapes they have, with thin rods to where something holds them.

Bodies without shapes get a look of their own: rods from the places where something holds them to the center of mass,
and there a small box with the proportions of a box of the same inertia, so that it can be seen to turn.
"""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from chasles.display.style import COLORS
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.body import GROUND, Body
from chasles.model.placement import ORIGIN
from chasles.model.rod_parts import RodLink, RodNode
from chasles.model.system import System
from chasles.screw import shape as shapes
from chasles.view.mesh import read_mesh
from chasles.view.part import Color, Part, Vector, tube
from chasles.view.rod_solids import rod_solids

PALETTE = (*COLORS, "#1f8f9c", "#c0578d", "#7d8a2f", "#5f6f86")
NOTHING = 1e-9  # of lengths: what is less, beside another, is a point
TRIANGLES = 200_000  # of all meshes of a scene together; beyond that bodies are drawn without them


def rod_colors(system: System) -> dict[str, Color]:
    """Colors of the rods by name."""
    return {rod.name: _color(PALETTE[k % len(PALETTE)]) for k, rod in enumerate(system.rods)}


def looks_of(system: System, rods: bool = True) -> tuple[float, list[tuple[Part, ...]], list[Color], list[str]]:
    """A typical length of a body [m]; what is drawn of each, and its color; notes of what could not be drawn. rods:
    whether pieces of them are on their nodes."""
    notes: list[str] = []
    held, drawn = _places(system), _drawn_shapes(system, notes)
    size = _typical_length(system, held, drawn)
    # the color of a body, in lists and of its trail, is that of its first shape
    colors = [solids[0].color if solids else _color(PALETTE[k % len(PALETTE)]) for k, solids in enumerate(drawn)]
    of_rods = rod_solids(system, rod_colors(system))
    parts: list[tuple[Part, ...]] = []
    for k, (body, solids, places) in enumerate(zip(system.bodies, drawn, held, strict=True)):
        along = tuple(of_rods.get(body.name, ()))
        if isinstance(body, RodLink):
            parts.append(())
        elif isinstance(body, RodNode) and along:
            colors[k] = along[0].color
            parts.append(along if rods else ())
        else:
            own = _with_stalks(solids, places, size) if solids else _own_look(body, places, size, colors[k])
            parts.append((*own, *(along if rods else ())))
    return size, parts, colors, notes


def _color(text: str, opacity: float = 1.0) -> Color:
    red, green, blue = (int(text[k : k + 2], 16) / 255 for k in (1, 3, 5))
    return red, green, blue, opacity


def _drawn_shapes(system: System, notes: list[str]) -> list[tuple[Part, ...]]:
    """The shapes that bodies have; meshes are read from their files."""
    room = TRIANGLES
    found: list[tuple[Part, ...]] = []
    for k, body in enumerate(system.bodies):
        parts = []
        for shape in body.shapes:
            color = _color(PALETTE[k % len(PALETTE)])
            if shape.color is not None:
                red, green, blue, *opacity = shape.color
                color = (red, green, blue, opacity[0] if opacity else 1.0)
            if not isinstance(shape, shapes.Mesh):
                parts.append(Part(type(shape).__name__.lower(), _size(shape), tuple(shape.pose), color))
                continue
            try:
                vertices, triangles = read_mesh(Path(shape.path))
                if len(triangles) > room:
                    raise ValueError(f"{len(triangles)} triangles are more than the {room} that are left for the page")
            except (ValueError, OSError) as error:
                said = str(error).replace(shape.path, Path(shape.path).name)  # pages are sent to others
                notes.append(f"the mesh {Path(shape.path).name} of body {body.name!r} is not drawn: {said}")
                continue
            room -= len(triangles)
            parts.append(Part("mesh", (), tuple(shape.pose), color, vertices * np.array(shape.scale), triangles))
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


def _places(system: System) -> list[np.ndarray]:
    """Where each body is held or marked, in its frame, each place once, (n, 3)."""
    found: dict[str, list[Vector]] = {name: [] for name in (GROUND, *(body.name for body in system.bodies))}
    for joint in system.joints:
        if not joint.traits.holds_nothing:
            found[joint.child].append(joint.child_frame[4:])
            found[joint.parent].append(joint.parent_frame[4:])
    for frame in system.frames:
        found[frame.body].append(frame.pose[4:])
    for item in (*system.forces, *system.constraints):
        for name, point in zip(getattr(item, "bodies", ()), getattr(item, "points", ()), strict=False):
            found[name].append(point)
    rows = (np.array(found[body.name], dtype=float).reshape(-1, 3) for body in system.bodies)
    return [_each_once(places) for places in rows]


def _each_once(places: np.ndarray) -> np.ndarray:
    extent = float(np.abs(places).max(initial=0.0)) or 1.0
    return places[np.unique(np.round(places / extent, 12), axis=0, return_index=True)[1]]


def _typical_length(system: System, held: list[np.ndarray], drawn: list[tuple[Part, ...]]) -> float:
    """The median extent of the bodies [m]."""
    extents = []
    for body, places, parts in zip(system.bodies, held, drawn, strict=True):
        points = [part.points() for part in parts] or [places, np.array(body.com)[None]]
        cloud = np.concatenate(points)
        extent = float(np.linalg.norm(np.ptp(cloud, axis=0)))
        if body.mass > 0:
            gyration = 2 * math.sqrt(max(np.trace(np.array(body.inertia)), 0.0) / body.mass)
            extent = gyration if extent <= NOTHING * gyration else extent
        extents.append(extent)
    known = [extent for extent in extents if extent > NOTHING * max(extents)]
    return float(np.median(known)) if known else 1.0


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
            stalks.append(tube(place, nearest.points().mean(axis=0), thin, _pale(nearest.color)))
    return (*parts, *stalks)


def _distance_from_box(part: Part, place: np.ndarray) -> float:
    """How far a place is from the box around a solid, along its own axes."""
    pose = np.array(part.pose)
    rotation = quaternion_to_matrix(pose[:4])
    own = (part.points() - pose[4:]) @ rotation
    inside = (place - pose[4:]) @ rotation
    return float(np.linalg.norm(np.maximum(np.maximum(own.min(axis=0) - inside, inside - own.max(axis=0)), 0.0)))


def _pale(color: Color) -> Color:
    red, green, blue = (0.45 * c + 0.55 * 0.72 for c in color[:3])
    return red, green, blue, color[3]


def _own_look(body: Body, places: np.ndarray, size: float, color: Color) -> tuple[Part, ...]:
    """Rods from the places where a body is held to its center, and a box there."""
    hub = np.array(body.com) if body.mass > 0 or not len(places) else places.mean(axis=0)
    thin = 0.022 * size
    parts = [tube(p, hub, thin, _pale(color)) for p in places if np.linalg.norm(hub - p) > 2 * thin]
    longest = max((float(np.linalg.norm(hub - place)) for place in places), default=0.0)
    # a body whose mesh is not drawn stays small: what it is like is known of the others only
    limit = 0.25 * longest if longest > 2 * thin else 0.4 * size if body.shapes else 1.2 * size
    box = _equal_box(body, size)
    if box is None:
        radius = max(2.5 * thin, 0.15 * limit) if body.mass > 0 else 1.5 * thin
        parts.append(Part("sphere", (radius,), (*ORIGIN[:4], *hub.tolist()), color))
        return tuple(parts)
    pose, edges = box
    edges = edges * min(1.0, limit / edges.max())
    edges = np.maximum(edges, max(0.2 * float(edges.max()), 3.2 * thin))
    return (*parts, Part("box", tuple(edges.tolist()), pose, color))


def _equal_box(body: Body, size: float) -> tuple[Vector, np.ndarray] | None:
    """Pose and edges of the box of uniform density with the mass and inertia of a body, if it has any beside a
    typical length."""
    if body.mass <= 0:
        return None
    moments, axes = np.linalg.eigh(np.array(body.inertia))
    if moments[-1] <= 1e-12 * body.mass * size**2:
        return None
    squares = 6.0 * (moments.sum() - 2.0 * moments) / body.mass  # a² = 6 (J_b + J_c - J_a) / m
    axes[:, 2] = np.cross(axes[:, 0], axes[:, 1])  # a right-handed frame
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = axes, body.com
    return tuple(pose_group.from_matrix(matrix).tolist()), np.sqrt(np.maximum(squares, 0.0))
