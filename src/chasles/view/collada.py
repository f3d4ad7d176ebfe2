"""The surfaces of a COLLADA file, placed as its scene places them.

Units are turned to meters. The vertical axis of the file is passed over, as in the viewers of ROS, for whose models
these files are written.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from chasles.io.markup import Element, parse_markup
from chasles.view import mesh

INSTANCES = 10_000  # nodes of a scene, each time they are used
DEEPEST = 60  # nodes within each other
TEXTS = frozenset({"float_array", "p", "vcount", "matrix", "translate", "rotate", "scale"})
Surface = tuple[np.ndarray, np.ndarray]


def read_collada(content: bytes, name: str) -> Surface:
    """Vertices [m] and triangles of all geometries in the scene; of all geometries if there is no scene."""
    root = parse_markup(content, name, TEXTS)
    if root.tag.rpartition(":")[2] != "COLLADA":
        raise root.error("", "is not COLLADA")
    ids = {element.attributes["id"]: element for element in root.below() if "id" in element.attributes}
    unit = next((e.number("meter", 1.0) for asset in root.all("asset") for e in asset.all("unit")), 1.0)
    known: dict[str, Surface] = {}
    vertices: list[np.ndarray] = []
    triangles: list[np.ndarray] = []
    used = total = placed = 0

    def add(geometry: Element, place: np.ndarray) -> None:
        nonlocal total, placed
        key = geometry.attributes.get("id", str(id(geometry)))
        if key not in known:
            known[key] = _surface(geometry, ids)
        points, faces = known[key]
        if total + len(faces) > mesh.TRIANGLES or placed + len(points) > 3 * mesh.TRIANGLES:
            raise geometry.error("", f"brings more than {mesh.TRIANGLES} triangles")
        vertices.append(points @ place[:3, :3].T + place[:3, 3])
        triangles.append(faces + placed)
        total, placed = total + len(faces), placed + len(points)

    def visit(node: Element, place: np.ndarray, depth: int) -> None:
        nonlocal used
        used += 1
        if used > INSTANCES or depth > DEEPEST:
            raise node.error("", f"brings more than {INSTANCES} nodes, or {DEEPEST} within each other")
        here = place @ _transform(node)
        for child in node.children:
            if child.tag == "node":
                visit(child, here, depth + 1)
            elif child.tag == "instance_node":
                visit(_found(child, "url", ids, "node"), here, depth + 1)
            elif child.tag == "instance_geometry":
                add(_found(child, "url", ids, "geometry"), here)

    start = np.diag([unit, unit, unit, 1.0])
    scenes = [_found(i, "url", ids, "visual_scene") for s in root.all("scene") for i in s.all("instance_visual_scene")]
    for scene in scenes:
        for node in scene.all("node"):
            visit(node, start, 0)
    if not scenes:
        for library in root.all("library_geometries"):
            for geometry in library.all("geometry"):
                add(geometry, start)
    points = np.concatenate([np.empty((0, 3)), *vertices])
    mesh.check_vertices(points, name, "vertex")
    return points, np.concatenate([np.empty((0, 3), dtype=np.int64), *triangles]).astype(np.int32)


def _found(element: Element, attribute: str, ids: dict[str, Element], tag: str) -> Element:
    """What a reference such as url="#name" means, within the file."""
    name = element.text(attribute)
    target = ids.get(name[1:]) if name.startswith("#") else None
    if target is None or target.tag != tag:
        raise element.error(attribute, f"is {name[:60]!r}; there is no such <{tag}> in the file")
    return target


def _numbers(element: Element, count: int | None = None) -> np.ndarray:
    values = _values(element, np.float64)
    if (count is not None and len(values) != count) or not np.isfinite(values).all():
        raise element.error("", f"has {len(values)} numbers; expected {count or 'as many'}, all finite")
    return values


def _values(element: Element, dtype: type) -> np.ndarray:
    """The numbers of a text, without a list of its words, which would take many times its size."""
    if not element.content.strip():
        return np.empty(0, dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # at a word that is no number
        try:
            return np.fromstring(element.content, dtype, sep=" ")
        except (ValueError, OverflowError, DeprecationWarning):
            kind = "numbers" if dtype is np.float64 else "whole numbers"
            raise element.error("", f"does not consist of {kind}") from None


def _transform(node: Element) -> np.ndarray:
    """The 4x4 matrix of a node: the product of its transformations in their order."""
    result = np.eye(4)
    for child in node.children:
        step = np.eye(4)
        if child.tag == "matrix":
            step = _numbers(child, 16).reshape(4, 4)
        elif child.tag == "translate":
            step[:3, 3] = _numbers(child, 3)
        elif child.tag == "scale":
            step[:3, :3] = np.diag(_numbers(child, 3))
        elif child.tag == "rotate":
            *axis, degrees = _numbers(child, 4)
            step[:3, :3] = _rotation(np.array(axis), math.radians(degrees))
        else:
            continue
        result = result @ step
    return result


def _rotation(axis: np.ndarray, angle: float) -> np.ndarray:
    length = float(np.linalg.norm(axis))
    if length == 0.0:
        return np.eye(3)
    x, y, z = axis / length
    K = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.eye(3) + math.sin(angle) * K + (1.0 - math.cos(angle)) * K @ K


def _surface(geometry: Element, ids: dict[str, Element]) -> Surface:
    """All triangles of a geometry."""
    vertices: list[np.ndarray] = []
    triangles: list[np.ndarray] = []
    placed = 0
    for body in geometry.all("mesh"):
        for group in body.children:
            if group.tag in ("triangles", "polylist", "polygons"):
                points, faces = _group(group, ids)
                vertices.append(points)
                triangles.append(faces + placed)
                placed += len(points)
    return np.concatenate([np.empty((0, 3)), *vertices]), np.concatenate([np.empty((0, 3), dtype=np.int64), *triangles])


def _group(group: Element, ids: dict[str, Element]) -> Surface:
    """Triangles, or polygons as fans."""
    inputs = list(group.all("input"))
    vertex = next((i for i in inputs if i.attributes.get("semantic") == "VERTEX"), None)
    if vertex is None:
        raise group.error("", 'has no <input semantic="VERTEX">')
    offsets = [int(i.number("offset", 0.0)) for i in inputs]
    stride, at = max(offsets) + 1, offsets[inputs.index(vertex)]
    if min(offsets) < 0 or stride > 64:
        raise group.error("offset", "is out of range")
    points = _positions(_found(vertex, "source", ids, "vertices"), ids)
    lists = [_values(p, np.int64) for p in group.all("p")]
    for p in lists:
        if len(p) % stride:
            raise group.error("", f"its <p> has {len(p)} numbers, no multiple of {stride}")
    corners = [p[at::stride] for p in lists]
    if group.tag == "polygons":
        flat, sizes = np.concatenate([np.empty(0, np.int64), *corners]), np.array([len(c) for c in corners], np.int64)
    elif group.tag == "polylist":
        flat = np.concatenate([np.empty(0, np.int64), *corners])
        sizes = np.concatenate([np.empty(0, np.int64), *(_values(v, np.int64) for v in group.all("vcount"))])
    else:
        flat = np.concatenate([np.empty(0, np.int64), *corners])
        sizes = np.full(len(flat) // 3, 3, dtype=np.int64)
    if (sizes < 0).any() or sizes.sum() != len(flat):
        raise group.error("", f"has {len(flat)} corners; its polygons need {sizes.sum()}")
    faces = _fans(flat, sizes)
    wrong = np.flatnonzero(((faces < 0) | (faces >= len(points))).any(axis=1))
    if len(wrong):
        raise group.error("", f"triangle {wrong[0]} has vertices {faces[wrong[0]].tolist()}; there are {len(points)}")
    return points, faces


def _fans(flat: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Triangles (first, k, k + 1) of polygons that stand one after the other."""
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]]) if len(sizes) else np.empty(0, np.int64)
    each = np.maximum(sizes - 2, 0)
    polygon = np.repeat(np.arange(len(sizes)), each)
    within = np.arange(len(polygon)) - np.repeat(np.cumsum(each) - each, each)
    first = starts[polygon]
    return np.stack([flat[first], flat[first + within + 1], flat[first + within + 2]], axis=1).reshape(-1, 3)


def _positions(vertices: Element, ids: dict[str, Element]) -> np.ndarray:
    place = next((i for i in vertices.all("input") if i.attributes.get("semantic") == "POSITION"), None)
    if place is None:
        raise vertices.error("", 'has no <input semantic="POSITION">')
    source = _found(place, "source", ids, "source")
    array = source.one("float_array")
    if array is None:
        raise source.error("", "has no <float_array>")
    values = _numbers(array)
    accessor = next((a for t in source.all("technique_common") for a in t.all("accessor")), None)
    stride = 3 if accessor is None else int(accessor.number("stride", 3.0))
    first = 0 if accessor is None else int(accessor.number("offset", 0.0))
    if stride < 3 or first < 0 or first > len(values) or (len(values) - first) % stride:
        raise source.error("", f"has {len(values)} numbers from {first}, no multiple of {stride}, the stride")
    return values[first:].reshape(-1, stride)[:, :3]
