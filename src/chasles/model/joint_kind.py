"""Kinds of joints: all there is to know about each, in one table.

The rest of the library asks a joint what its kind can do (`joint.traits`), and compares no names. Only two more places
have an entry by name: the equations of a kind (`constraint/joints.py`), and its recursion (`relative/tree.py`) if it is
no product of exponentials.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np


class Freedom(NamedTuple):
    """One velocity of a joint: what it does, and about and along which axis of the joint.

    Axis z is that of the joint, or the normal of its plane; none, if the axis is one of the joint's parameters.
    """

    turns: bool
    slides: bool
    axis: str = ""

    @property
    def unit(self) -> str:
        """Of the coordinate: rad or m."""
        return "rad" if self.turns else "m"


class Parameter(NamedTuple):
    """What a kind is given beside its frames: for `chasles.revolute(axis=...)` and for `axis = ...` in a model file."""

    name: str
    type: str  # as in `chasles.io.spec`
    what: str
    required: bool
    read: Callable[[np.ndarray], Any]  # the parameter, from the screws (k, 6) that it made


@dataclass(frozen=True)
class JointKind:
    """What is known of all joints of a kind."""

    name: str
    what: str  # what it does, as in "turns about an axis"
    freedoms: tuple[Freedom, ...] | None  # one for each velocity; None: any, as the joint's screws say
    parameters: tuple[Parameter, ...] = ()
    quaternion: bool = False  # the first freedoms are a rotation, whose coordinates are a unit quaternion

    @property
    def nv(self) -> int | None:
        """Velocities; None if the screws decide."""
        return None if self.freedoms is None else len(self.freedoms)

    @property
    def nq(self) -> int | None:
        """Coordinates; None if the screws decide."""
        return None if self.freedoms is None else len(self.freedoms) + self.quaternion

    @property
    def any_screws(self) -> bool:
        """Whether the joint is given by any screws, which may depend on each other."""
        return self.freedoms is None

    @property
    def has_screws(self) -> bool:
        """Whether the joint is a product of exponentials of screws."""
        return self.any_screws or (bool(self.freedoms) and not self.quaternion)

    @property
    def holds_nothing(self) -> bool:
        return self.nv == 6

    @property
    def holds_point(self) -> bool:
        """Whether a point of one body stays on a point of the other."""
        return self.freedoms is not None and not any(freedom.slides for freedom in self.freedoms)

    @property
    def ball(self) -> bool:
        """Whether it turns about a point, freely."""
        return self.quaternion and self.holds_point

    @property
    def threaded(self) -> bool:
        """Whether a freedom turns and slides at once."""
        return any(freedom.turns and freedom.slides for freedom in self.freedoms or ())

    @property
    def line(self) -> bool:
        """Whether all its freedoms are about and along one line. Their coordinates can be driven and coupled."""
        return not self.quaternion and {freedom.axis for freedom in self.freedoms or ()} == {"z"}

    @property
    def plane(self) -> bool:
        """Whether it slides along two axes, and keeps the plane."""
        axes = [freedom.axis for freedom in self.freedoms or () if not freedom.turns]
        return not self.quaternion and axes == ["x", "y"]

    @property
    def crossed(self) -> bool:
        """Whether its freedoms are about axes that cross, each fixed in one of the bodies."""
        return self.has_screws and any(not freedom.axis for freedom in self.freedoms or ())

    @property
    def angle(self) -> int | None:
        """Which coordinate is the angle, of a joint that turns about one axis."""
        turning = [k for k, freedom in enumerate(self.freedoms or ()) if freedom.turns]
        return turning[0] if len(turning) == 1 else None


def _direction(screws: np.ndarray) -> np.ndarray:
    return screws[0, :3] if screws[0, :3].any() else screws[0, 3:]


def _pitch(screws: np.ndarray) -> float:
    """The pitch that gives the linear part of a screw to the last bit; a quotient may miss it by one."""
    screw = screws[0]
    k = int(np.argmax(abs(screw[:3])))
    guess = screw[3 + k] / screw[k]
    near = (guess, np.nextafter(guess, np.inf), np.nextafter(guess, -np.inf), float(screw[:3] @ screw[3:]))
    return min((float(h) for h in near), key=lambda h: abs(h * screw[:3] - screw[3:]).sum())


X, Y, Z = (Freedom(False, True, axis) for axis in "xyz")
ABOUT_X, ABOUT_Y, ABOUT_Z = (Freedom(True, False, axis) for axis in "xyz")
HELIX, ABOUT_OWN = Freedom(True, True, "z"), Freedom(True, False)
AXIS = Parameter("axis", "vector", "axis in the joint's frame", True, _direction)
PITCH = Parameter("pitch", "number", "pitch [m/rad]", True, _pitch)
AXES = Parameter("axes", "vectors", "its two axes", False, lambda screws: screws[:, :3])
NORMAL = Parameter("normal", "vector", "normal of the plane", True, lambda screws: screws[2, :3])
SCREWS = Parameter("screws", "screws", "unit screws (angular, linear)", True, lambda screws: screws)
_ALL = (
    JointKind("revolute", "turns about an axis", (ABOUT_Z,), (AXIS,)),
    JointKind("prismatic", "slides along an axis", (Z,), (AXIS,)),
    JointKind("helical", "a screw", (HELIX,), (AXIS, PITCH)),
    JointKind("cylindrical", "turns about and slides along an axis", (ABOUT_Z, Z), (AXIS,)),
    JointKind("universal", "turns about two axes through a point", (ABOUT_OWN, ABOUT_OWN), (AXES,)),
    JointKind("planar", "moves in a plane", (X, Y, ABOUT_Z), (NORMAL,)),
    JointKind("spherical", "turns about a point", (ABOUT_X, ABOUT_Y, ABOUT_Z), quaternion=True),
    JointKind("free", "six freedoms", (ABOUT_X, ABOUT_Y, ABOUT_Z, X, Y, Z), quaternion=True),
    JointKind("weld", "no freedom", ()),
    JointKind("general", "a product of screws", None, (SCREWS,)),
)
JOINT_KINDS: Mapping[str, JointKind] = {kind.name: kind for kind in _ALL}
