"""The shapes of a link of a URDF file: visuals, or collision shapes where it has none. All are for drawing only."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from chasles.io.markup import Element
from chasles.io.mesh_path import OutsideError, mesh_path
from chasles.io.report import ImportReport
from chasles.io.values import from_rpy
from chasles.model.placement import ORIGIN
from chasles.screw.shape import Box, Capsule, Cylinder, Mesh, Shape, Sphere

ZERO, ONE = (0.0, 0.0, 0.0), (1.0, 1.0, 1.0)
GEOMETRIES = ("box", "sphere", "cylinder", "capsule", "mesh")
Color = tuple[float, ...] | None


def origin(element: Element) -> tuple[float, ...]:
    """The pose in <origin xyz= rpy=>, or xyz= quat_xyzw=; the identity without one."""
    given = element.one("origin")
    if given is None:
        return ORIGIN
    if "quat_xyzw" in given.attributes:
        if "rpy" in given.attributes:
            raise given.error("quat_xyzw", "stands beside rpy; expected one of them")
        x, y, z, w = given.numbers("quat_xyzw", 4)
        size = math.hypot(w, x, y, z)
        if size == 0.0:
            raise given.error("quat_xyzw", "is zero; expected a unit quaternion (x, y, z, w)")
        return (w / size, x / size, y / size, z / size, *given.numbers("xyz", 3, ZERO))
    return (*from_rpy(given.numbers("rpy", 3, ZERO)), *given.numbers("xyz", 3, ZERO))


class Shapes:
    """Reads the shapes of links; materials with names and colors are those of the whole file."""

    def __init__(self, robot: Element, file: Path, root: Path, packages: Mapping[str, Path], report: ImportReport):
        self.file, self.root, self.packages, self.report = file, root, packages, report
        self.colors: dict[str, Color] = {}
        visuals = [visual for link in robot.all("link") for visual in link.all("visual")]
        for material in (m for owner in (robot, *visuals) for m in owner.all("material")):
            if "name" in material.attributes and (color := self._color(material)) is not None:
                self.colors.setdefault(material.attributes["name"], color)

    def of_link(self, link: Element) -> list[Shape]:
        name = link.attributes["name"]
        visuals, collisions = list(link.all("visual")), list(link.all("collision"))
        for _ in collisions:
            self.report.ignored("contact", name, "NONE IS SIMULATED: bodies pass through each other", moves=True)
        if visuals and collisions:
            self.report.ignored("collision shapes", name, "the visual ones are drawn")
        taken = [(element, self._shape(element, name)) for element in visuals or collisions]
        return [shape for _, shape in taken if shape is not None]

    def _shape(self, element: Element, link: str) -> Shape | None:
        pose, color = origin(element), self._color_of(element)
        geometry = element.one("geometry")
        found = [] if geometry is None else [child for child in geometry.children if child.tag in GEOMETRIES]
        if len(found) != 1:
            self.report.ignored("shapes", link, f"expected one of {', '.join(GEOMETRIES)} in <geometry>")
            return None
        given = found[0]
        if given.tag == "mesh":
            return self._mesh(given, link, pose, color)
        if given.tag == "box":
            numbers = given.numbers("size", 3)
        elif given.tag == "sphere":
            numbers = (given.number("radius"),)
        else:
            numbers = (given.number("radius"), given.number("length"))
        if min(numbers) <= 0:
            self.report.ignored("shapes", link, "their size is not positive")
            return None
        self.report.took("shapes", link, "for drawing")
        if given.tag == "box":
            return Box(numbers, pose=pose, color=color)
        if given.tag == "sphere":
            return Sphere(numbers[0], pose=pose, color=color)
        make = Cylinder if given.tag == "cylinder" else Capsule
        return make(*numbers, pose=pose, color=color)

    def _mesh(self, mesh: Element, link: str, pose: tuple[float, ...], color: Color) -> Shape | None:
        scale = mesh.numbers("scale", 3, ONE)
        if not all(scale):
            self.report.ignored("meshes", link, "their scale is zero")
            return None
        try:
            path = mesh_path(mesh.text("filename"), self.file, self.root, self.packages)
        except OutsideError as error:
            self.report.ignored("meshes", link, f"REFUSED: {error}")
            return None
        except (ValueError, OSError) as error:
            self.report.ignored("meshes", link, f"missing: {error}")
            return None
        self.report.took("meshes", link, "for drawing; their files are not opened")
        return Mesh(str(path), scale, pose=pose, color=color)

    def _color_of(self, element: Element) -> Color:
        material = element.one("material")
        if material is None:
            return None
        own = self._color(material)
        return own if own is not None else self.colors.get(material.attributes.get("name", ""))

    def _color(self, material: Element) -> Color:
        if material.one("texture") is not None:
            self.report.ignored("textures", material.attributes.get("name", ""))
        given = material.one("color")
        if given is None:
            return None
        numbers = given.numbers("rgba", 4)
        if not all(0 <= number <= 1 for number in numbers):
            name = material.attributes.get("name", "")
            self.report.approximated("colors", name, "cut off to numbers from 0 to 1", moves=False)
        return tuple(min(max(number, 0.0), 1.0) for number in numbers)
