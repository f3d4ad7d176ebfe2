"""A solid that is drawn on a body, or on the ground."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.placement import frame_with_z

ON_GROUND = -1  # the number of the ground among the bodies
Vector = tuple[float, ...]
Color = tuple[float, float, float, float]  # red, green, blue, opacity, each in [0, 1]


@dataclass(frozen=True)
class Part:
    """A solid on a body. kind and size: "box" (three edges), "sphere" (radius), "cylinder" and "capsule" (radius,
    length along z without caps), "ellipsoid" (three radii), "mesh" (vertices (n, 3) and triangles (m, 3))."""

    kind: str
    size: Vector
    pose: Vector
    color: Color
    vertices: np.ndarray | None = None
    triangles: np.ndarray | None = None
    rod: str = ""  # the rod that it is a piece of

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


def tube(first: np.ndarray, second: np.ndarray, radius: float, color: Color) -> Part:
    """A round bar from point to point."""
    way = second - first
    length = float(np.linalg.norm(way))
    pose = (*frame_with_z(way / length).tolist(), *((first + second) / 2).tolist())
    return Part("capsule", (radius, length), pose, color)
