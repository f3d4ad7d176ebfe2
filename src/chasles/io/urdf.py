"""Robots in URDF (the Unified Robot Description Format of ROS)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from chasles.io.markup import Element
from chasles.io.mesh_path import package_root
from chasles.io.report import ImportReport
from chasles.io.source import ModelFileError
from chasles.io.urdf_shapes import Shapes, origin
from chasles.io.urdf_tree import kinematics
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model import joint as joints
from chasles.model.body import GROUND, Body
from chasles.model.joint import Joint
from chasles.model.system import System, held_as_weld
from chasles.screw import inertia as spatial

X_AXIS = (1.0, 0.0, 0.0)
TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
BASES = ("fixed", "floating")
_DRAWN = {"origin", "geometry", "material"}
# what is read: of each element its attributes and the elements in it; everything else goes to the report
KNOWN: Mapping[str, tuple[set[str], set[str]]] = {
    "robot": ({"name", "version"}, {"link", "joint", "material"}),
    "link": ({"name"}, {"inertial", "visual", "collision"}),
    "inertial": (set(), {"origin", "mass", "inertia"}),
    "origin": ({"xyz", "rpy", "quat_xyzw"}, set()),
    "mass": ({"value"}, set()),
    "inertia": ({"ixx", "ixy", "ixz", "iyy", "iyz", "izz"}, set()),
    "visual": ({"name"}, _DRAWN),
    "collision": ({"name"}, _DRAWN),
    "geometry": (set(), {"box", "sphere", "cylinder", "capsule", "mesh"}),
    "box": ({"size"}, set()),
    "sphere": ({"radius"}, set()),
    "cylinder": ({"radius", "length"}, set()),
    "capsule": ({"radius", "length"}, set()),
    "mesh": ({"filename", "scale"}, set()),
    "material": ({"name"}, {"color", "texture"}),
    "color": ({"rgba"}, set()),
    "texture": ({"filename"}, set()),
    "joint": ({"name", "type"}, {"origin", "parent", "child", "axis", "limit", "dynamics", "mimic"}),
    "axis": ({"xyz"}, set()),
    "limit": ({"lower", "upper", "effort", "velocity"}, set()),
    "dynamics": ({"damping", "friction"}, set()),
    "mimic": ({"joint", "multiplier", "offset"}, set()),
    "parent": ({"link"}, set()),
    "child": ({"link"}, set()),
}
# the rest of the format, which the motion does not feel; what is not even here may well be felt
WHY_IGNORED = {
    "<link> type": "links have none",
    "<calibration>": "for encoders",
    "<sensor>": "nothing is sensed",
    "<collision> verbose": "there is no contact",
    "<collision_checking>": "there is no contact",
    "<contact>": "there is no contact",
    "<self_collision_checking>": "there is no contact",
    "<verbose>": "there is no contact",
    "<hardwareInterface>": "no actuators are made",
    "<ros2_control>": "no actuators are made; add chasles.Actuator",
    "<limit> acceleration": "there are no limits of acceleration",
    "<limit> deceleration": "there are no limits of acceleration",
    "<limit> jerk": "there are no limits of acceleration",
    "<transmission>": "no actuators are made; add chasles.Actuator",
    "<gazebo>": "settings and plugins of a simulator",
    "<safety_controller>": "soft limits of a controller",
}


def read_urdf(
    robot: Element, file: Path, report: ImportReport, base: str, root: Path | None, packages: Mapping[str, Path]
) -> System:
    """The system of a parsed file; `report` is filled."""
    if base not in BASES:
        raise ValueError(f"load: base is {base!r}; expected {' or '.join(BASES)}")
    for element in robot.below():
        if element.tag.startswith("xacro:"):
            raise element.error("", f"is xacro, a language of macros; expand it first: xacro {file.name} > robot.urdf")
    return _Urdf(robot, file, report, base, root, packages).system()


class _Urdf:
    def __init__(
        self,
        robot: Element,
        file: Path,
        report: ImportReport,
        base: str,
        root: Path | None,
        packages: Mapping[str, Path],
    ):
        self.robot, self.report, self.base = robot, report, base
        self.tree = kinematics(robot)
        self.links, self.joints = self.tree.links, self.tree.joints
        self.shapes = Shapes(robot, file, package_root(file) if root is None else root, packages, report)
        self.bodies = {name: name for name in self.links}
        if GROUND in self.links:  # the name of the inertial frame
            other = f"{GROUND} link"
            while other in self.links:
                other += "'"
            self.bodies[GROUND] = other
            report.approximated("names", GROUND, f"called {other!r} here", moves=False)

    def system(self) -> System:
        self._report_unknown()
        bodies = [self._body(name, link) for name, link in self.links.items()]
        made = [self._first_joint(self.tree.root)]
        self._report_massless(bodies)
        for name, element in self.joints.items():
            joint = self._joint(name, element)
            if (mimic := element.one("mimic")) is not None:
                joint = self._mimic(joint, element, mimic)
            made.append(joint)
        name = self.robot.attributes.get("name", "").strip() or "robot"
        self.report.took("gravity", "", "9.81 m/s² along -z, the default: URDF files do not contain gravity")
        try:
            return System(bodies, made, name=name)
        except ValueError as error:
            raise self.robot.error("", str(error)) from None

    def _report_massless(self, bodies: list[Body]) -> None:
        """Joints that move nothing with mass: a `Mechanism` refuses them."""
        carried = {link: body.mass for link, body in zip(self.links, bodies, strict=True)}
        for link, joint in reversed(self.tree.way):
            if joint is None:
                continue
            carried[self.tree.end(joint, "parent")] += carried[link]
            if carried[link] == 0.0 and self.joints[joint].attributes.get("type") != "fixed":
                self.report.took("joints that move no mass", joint, "compile() refuses them: give mass, or lock them")

    def _first_joint(self, root: str) -> Joint:
        name = f"{root} on the ground" if self.base == "fixed" else f"free {root}"
        while name in self.joints:
            name += "'"
        if self.base == "fixed":
            self.report.took("base", root, 'fixed to the ground; base="floating" frees it')
            return joints.weld(name, GROUND, self.bodies[root])
        self.report.took("base", root, "free; it is where the ground is at q = neutral()")
        return joints.free(name, GROUND, self.bodies[root])

    # ------------------------------------------------------------ links and joints

    def _body(self, name: str, link: Element) -> Body:
        shapes = self.shapes.of_link(link)
        inertial = link.one("inertial")
        if inertial is None:
            self.report.took("links without mass", name)
            return Body(self.bodies[name], shapes=shapes)
        mass, moments = inertial.one("mass"), inertial.one("inertia")
        if mass is None or moments is None:
            raise inertial.error("", f"of link {name!r} has no <{'mass' if mass is None else 'inertia'}>")
        pose = np.array(origin(inertial))
        xx, xy, xz, yy, yz, zz = (moments.number(key) for key in ("ixx", "ixy", "ixz", "iyy", "iyz", "izz"))
        turn = quaternion_to_matrix(pose[:4])
        inertia = turn @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ turn.T
        value = mass.number("value")
        self.report.took("links with mass" if value else "links without mass", name)
        numbers = (self.bodies[name], value, pose[4:], (inertia + inertia.T) / 2, shapes)
        try:
            return Body(*numbers)
        except ValueError:
            if value < 0:
                raise mass.error("value", f"of link {name!r} is {value:g}; expected zero or more") from None
        low, _, high = np.linalg.eigvalsh(inertia)
        why = "negative moments, or moments without mass"
        if value and low >= -spatial.STRUCTURE_TOLERANCE * high:
            why = "a moment larger than the sum of the others"
        self.report.took("inertias", name, f"taken as they are, but NOT PHYSICAL ({why})")
        return Body(*numbers, physical=False)

    def _joint(self, name: str, element: Element) -> Joint:
        kind = element.text("type")
        if kind not in TYPES:
            raise element.error("type", f"is {kind!r}; expected one of {', '.join(TYPES)}")
        parent, child = (self.bodies[self.tree.end(name, tag)] for tag in ("parent", "child"))
        at, given = origin(element), element.one("axis")
        axis = X_AXIS if given is None else given.numbers("xyz", 3, X_AXIS)
        self.report.took(f"{kind} joints", name)
        try:
            if kind == "fixed":
                return joints.weld(name, parent, child, at=at)
            if kind == "floating":
                return joints.free(name, parent, child, at=at, **self._dynamics(name, element))
            if kind == "planar":
                return joints.planar(name, parent, child, normal=axis, at=at, **self._dynamics(name, element))
            make = joints.prismatic if kind == "prismatic" else joints.revolute
            own = self._limits(name, kind, element) | self._dynamics(name, element)
            return make(name, parent, child, axis=axis, at=at, **own)
        except ModelFileError:
            raise
        except ValueError as error:
            raise element.error("", str(error)) from None

    def _limits(self, name: str, kind: str, element: Element) -> dict[str, float]:
        limit = element.one("limit")
        own = {} if limit is None else self._largest(name, limit)
        if kind == "continuous":
            return own
        if limit is None:
            advice = "; a joint without limits is of type continuous" if kind == "revolute" else ""
            raise element.error("", f"has no <limit>, which a {kind} joint must have{advice}")
        self.report.approximated("limits", name, "stored, exert no force: set stop_stiffness or restitution")
        return own | {key: limit.number(key, 0.0, infinite=True) for key in ("lower", "upper")}

    def _largest(self, name: str, limit: Element) -> dict[str, float]:
        """Limits of effort and velocity."""
        own = {}
        for key, why in (
            ("effort", "stored; system.with_motors() makes actuators"),
            ("velocity", "stored; nothing enforces it"),
        ):
            value = limit.number(key, math.inf, infinite=True)
            if value < 0:
                raise limit.error(key, f"of joint {name!r} is {value:g}; expected zero or more")
            if math.isfinite(value):
                own[f"{key}_limit"] = value
                self.report.took(f"limits of {key}", name, why)
        return own

    def _dynamics(self, name: str, element: Element) -> dict[str, Any]:
        given = element.one("dynamics")
        if given is None:
            return {}
        damping, friction = given.number("damping", 0.0), given.number("friction", 0.0)
        if damping:
            self.report.took("damping", name)
        if friction:
            self.report.approximated("dry friction", name, "smooth near rest: tanh(speed / friction_speed)")
        return {"damping": damping, "friction": friction}

    def _mimic(self, joint: Joint, element: Element, mimic: Element) -> Joint:
        """q = multiplier q_other + offset: a joint that follows another; one that follows a fixed joint is held."""
        name, other, moving = joint.name, mimic.name("joint"), ("revolute", "continuous", "prismatic")
        if other not in self.joints:
            raise mimic.error("joint", f"of joint {name!r} is {other!r}; there is no such joint")
        own, others = element.text("type"), self.joints[other].text("type")
        if own == "fixed":
            self.report.ignored("mimic", name, "a fixed joint does not move")
            return joint
        for who, kind in ((name, own), (other, others)):
            if kind not in moving and kind != "fixed":
                raise mimic.error("joint", f"of joint {name!r}: joint {who!r} is {kind}; expected {', '.join(moving)}")
        if other == name:
            raise mimic.error("joint", f"of joint {name!r} is itself")
        if (circle := self._circle(name)) is not None:
            raise mimic.error("joint", f"of joint {name!r} goes round in a circle: {' mimics '.join(circle)}")
        ratio, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        if (place := self._standing(name)) is not None:
            self.report.took("mimic", name, "held in its place: what it follows does not move")
            return held_as_weld(joint, place)
        self.report.took("mimic", name, "it has no coordinate of its own")
        return replace(joint, mimic=other, mimic_ratio=ratio, mimic_offset=offset)

    def _standing(self, name: str) -> float | None:
        """Where a joint stands that follows, in the end, one that is fixed."""
        ratio, offset = 1.0, 0.0
        for _ in self.joints:
            if self.joints[name].text("type") == "fixed":
                return offset
            if (mimic := self.joints[name].one("mimic")) is None:
                return None
            offset += ratio * mimic.number("offset", 0.0)
            ratio *= mimic.number("multiplier", 1.0)
            name = mimic.name("joint")
            if name not in self.joints:
                return None  # which is said where it is read
        return None  # a circle, as well

    def _circle(self, name: str) -> list[str] | None:
        """The joints that a joint follows, one after the other, if they lead back to it."""
        way = [name]
        while len(way) <= len(self.joints):
            mimic = self.joints[way[-1]].one("mimic") if way[-1] in self.joints else None
            if mimic is None:
                return None
            way.append(mimic.name("joint"))
            if way[-1] == name:
                return way
        return None  # the circle is another one's

    # ------------------------------------------------------------ what is not read

    def _report_unknown(self) -> None:
        """Elements and attributes that nothing reads."""
        found: Counter[tuple[str, str]] = Counter()
        stack = [(self.robot, "")]
        while stack:
            element, owner = stack.pop()
            owner = element.attributes.get("name", owner) if element.tag in ("link", "joint") else owner
            attributes, children = KNOWN[element.tag]
            for key in element.attributes:
                if key not in attributes and not key.startswith("xmlns"):
                    found[f"<{element.tag}> {key}", owner] += 1
            for child in element.children:
                if child.tag not in children:
                    found[f"<{child.tag}>", owner or child.attributes.get("name", "")] += 1
                elif child.tag in KNOWN:
                    stack.append((child, owner))
        for (what, owner), count in sorted(found.items()):
            for _ in range(count):
                why = WHY_IGNORED.get(what)
                self.report.ignored(what, owner, "not known here" if why is None else why, moves=why is None)
