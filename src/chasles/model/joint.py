"""Joints: how one body can move relative to another, given by a frame on each and screws between them.

The frame of the joint on the parent and the one on the child coincide at q = 0. A joint with axes is a product of
exponentials, G(q) = exp(Y_1 q_1) ... exp(Y_k q_k), of the screws Y = (axis; point x axis + pitch axis) in the joint's
frame; spherical and free joints have a unit quaternion and a pose as coordinates, their angular velocity and twist in
the child's joint frame as velocities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from math import inf
from sys import float_info
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.lie import pose as pose_group
from chasles.model.joint_kind import JOINT_KINDS, JointKind
from chasles.model.placement import LAST_BITS, ORIGIN, Pose, as_numbers, as_pose, check_name, frame_with_z, unit_vector
from chasles.model.suggestion import meant

Numbers = Any  # one number, or one for each velocity; a tuple of these once the joint is made
MAY_BE_INFINITE = ("lower", "upper", "velocity_limit", "effort_limit")
PER_VELOCITY = ("damping", "stiffness", "armature", "friction", "static_friction", "rest", *MAY_BE_INFINITE)
LARGEST = float_info.max
LOADED = ("friction_coefficient", "static_friction_coefficient", "bearing_radius", "guide_length", "thread_radius")


@dataclass(frozen=True)
class Joint:
    """A joint between two bodies; made by `revolute`, `prismatic`, ... of this module.

    parent_frame, child_frame: poses of the joint's frame on the two bodies. screws: (k, 6) of a joint with axes, in its
    frame. The rest holds one number for each velocity, or one for all:
    damping [N s/m or N m s/rad]; stiffness [N/m or N m/rad] about `rest`; armature [kg or kg m²], the inertia of a
    rotor, felt by this coordinate only. friction [N or N m] is dry: a tanh of v / `friction_speed`. With
    friction_speed = 0 it sticks, and holds up to `static_friction`, by default as much.
    lower, upper: limits of the coordinates. They are data unless `stop_stiffness` or `stop_damping` make them a force,
    or `restitution` (0 to 1) makes them rigid: a coordinate that strikes one at speed u rebounds at `restitution` u.
    velocity_limit [m/s or rad/s] and effort_limit [N or N m] are data, for `Mechanism.limits` and `System.with_motors`.

    Of a revolute or prismatic joint `friction_coefficient` adds friction in proportion to what it carries: the radial
    force times `bearing_radius` [m], or the force across the axis; with `guide_length` [m] the forces at both ends of a
    guide, which moments load too. In a helical joint it acts along a thread of the mean radius `thread_radius` [m],
    which carries the axial force. It sticks if friction_speed = 0, up to `static_friction_coefficient`, by
    default as much.

    A joint with one axis may follow another, `mimic`: q = mimic_ratio q_other + mimic_offset. Then it has no coordinate
    of its own in the tree, and all that acts on it acts on the other through the ratio.
    """

    name: str
    parent: str
    child: str
    kind: str
    screws: Any = ()
    parent_frame: Pose = ORIGIN
    child_frame: Pose = ORIGIN
    damping: Numbers = 0.0
    stiffness: Numbers = 0.0
    rest: Numbers = 0.0
    armature: Numbers = 0.0
    friction: Numbers = 0.0
    friction_speed: float = 1e-2
    static_friction: Numbers = 0.0
    lower: Numbers = -np.inf
    upper: Numbers = np.inf
    stop_stiffness: float = 0.0
    stop_damping: float = 0.0
    restitution: Numbers = None
    friction_coefficient: float = 0.0
    static_friction_coefficient: float = 0.0
    bearing_radius: float = 0.0
    guide_length: float = 0.0
    thread_radius: float = 0.0
    velocity_limit: Numbers = np.inf
    effort_limit: Numbers = np.inf
    mimic: str | None = None
    mimic_ratio: float = 1.0
    mimic_offset: float = 0.0
    nq: int = field(init=False, repr=False, compare=False)
    nv: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_name("Joint", self.name)
        where = f"joint {self.name!r}"
        if self.kind not in JOINT_KINDS:
            near, known = meant(self.kind, JOINT_KINDS), ", ".join(JOINT_KINDS)
            raise ValueError(f"{where}: kind {self.kind!r} is unknown; {near}expected one of {known}")
        if self.parent == self.child:
            raise ValueError(f"{where}: joins body {self.parent!r} to itself")
        traits = self.traits
        screws = _screws(where, self.screws) if traits.has_screws else np.zeros((0, 6))
        if traits.has_screws and traits.nv not in (None, len(screws)):
            raise ValueError(f"{where}: has {len(screws)} screws; expected {traits.nv} of a {self.kind} joint")
        self._set("nq", len(screws) if traits.nq is None else traits.nq)
        self._set("nv", len(screws) if traits.nv is None else traits.nv)
        self._set("screws", tuple(map(tuple, screws.tolist())))
        self._set("parent_frame", as_pose(where, "parent_frame", self.parent_frame))
        self._set("child_frame", as_pose(where, "child_frame", self.child_frame))
        for name in PER_VELOCITY:
            self._set(name, _each(where, name, getattr(self, name), self.nv))
        for name in PER_VELOCITY[:5] + PER_VELOCITY[-2:]:
            if min(getattr(self, name), default=0.0) < 0:
                raise ValueError(f"{where}: {name} is {getattr(self, name)}; expected zero or more")
        for name in ("friction_speed", "stop_stiffness", "stop_damping"):
            value = float(as_numbers(where, name, getattr(self, name), ()))
            if not value >= 0:
                raise ValueError(f"{where}: {name} is {value:g}; expected zero or more")
            self._set(name, value)
        if any(self.static_friction) and self.friction_speed > 0:
            raise ValueError(f"{where}: static_friction is for stick-slip friction; set friction_speed = 0 too")
        if any(0 < held < slip for held, slip in zip(self.static_friction, self.friction, strict=True)):
            raise ValueError(f"{where}: static_friction is {self.static_friction}; expected no less than friction")
        for k, (low, high) in enumerate(zip(self.lower, self.upper, strict=True)):
            if not low <= high:
                raise ValueError(f"{where}: lower limit {low:g} of coordinate {k} is above its upper limit {high:g}")
        self._check_coefficients(where)
        self._check_mimic(where)
        if self.restitution is not None:
            self._check_restitution(where)
        if traits.quaternion:
            if self.sticks:
                raise ValueError(
                    f"{where}: stick-slip friction is for coordinates with one axis, not for a {self.kind} joint"
                )
            if any(self.armature):
                raise ValueError(f"{where}: armature is for coordinates with one axis, not for a {self.kind} joint")
            if any(np.isfinite([*self.lower, *self.upper])):
                raise ValueError(f"{where}: limits are for coordinates with one axis, not for a {self.kind} joint")
            if any(self.rest):
                raise ValueError(f"{where}: the rest position of a {self.kind} joint is where its frames coincide")

    def _check_coefficients(self, where: str) -> None:
        """Friction that depends on what the joint carries."""
        for name in LOADED:
            value = float(as_numbers(where, name, getattr(self, name), ()))
            if not 0.0 <= value < np.inf:
                raise ValueError(f"{where}: {name} is {value:g}; expected zero or more")
            self._set(name, value)
        sizes = {"bearing_radius": "revolute", "guide_length": "prismatic", "thread_radius": "helical"}
        for name, kind in sizes.items():
            if getattr(self, name) and not (self.kind == kind and self.is_loaded):
                raise ValueError(f"{where}: {name} is for a {kind} joint with a friction_coefficient")
        if not self.is_loaded:
            return
        known = self.kind in sizes.values()
        if not known or (any(self.screws[0][:3]) and any(self.screws[0][3:]) and not self.traits.threaded):
            raise ValueError(
                f"{where}: friction_coefficient is for revolute joints about their frame, prismatic and helical ones"
            )
        for name, kind in sizes.items():
            if self.kind == kind and kind != "prismatic" and not getattr(self, name):
                raise ValueError(f"{where}: friction_coefficient of a {kind} joint needs its {name} [m]")
        if self.traits.threaded and self.has_rigid_limits:
            raise ValueError(
                f"{where}: friction_coefficient of a thread and rigid limits (restitution) exclude each other: what a "
                "limit takes does not go through the thread; make the limits compliant with stop_stiffness"
            )
        if self.static_friction_coefficient and self.friction_speed > 0:
            raise ValueError(
                f"{where}: static_friction_coefficient is for stick-slip friction; set friction_speed = 0 too"
            )
        if 0 < self.static_friction_coefficient < self.friction_coefficient:
            raise ValueError(
                f"{where}: static_friction_coefficient is {self.static_friction_coefficient:g}; expected no less than "
                f"friction_coefficient, {self.friction_coefficient:g}"
            )

    def _check_mimic(self, where: str) -> None:
        for name in ("mimic_ratio", "mimic_offset"):
            self._set(name, float(as_numbers(where, name, getattr(self, name), ())))
        if self.mimic is None:
            if self.mimic_ratio != 1.0 or self.mimic_offset:
                raise ValueError(f"{where}: mimic_ratio and mimic_offset are for a joint that follows one; give mimic")
        elif not isinstance(self.mimic, str) or self.mimic == self.name:
            raise ValueError(f"{where}: mimic is {self.mimic!r}; expected the name of another joint")
        elif not self.has_one_axis:
            raise ValueError(f"{where}: mimic is for joints with one axis, not for a {self.kind} joint")

    def _check_restitution(self, where: str) -> None:
        """Limits that are rigid."""
        self._set("restitution", _each(where, "restitution", self.restitution, self.nv))
        if not all(0.0 <= e <= 1.0 for e in self.restitution):
            raise ValueError(f"{where}: restitution is {self.restitution}; expected numbers from 0 to 1")
        if not self.has_rigid_limits:
            raise ValueError(f"{where}: restitution needs a limit; set lower or upper too")
        if self.stop_stiffness or self.stop_damping:
            raise ValueError(
                f"{where}: its limits are rigid (restitution) or compliant (stop_stiffness, stop_damping), not both"
            )
        if any(low == high for low, high in zip(self.lower, self.upper, strict=True)):
            raise ValueError(f"{where}: a coordinate between equal rigid limits cannot move; leave its axis out")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @property
    def traits(self) -> JointKind:
        """What all joints of this kind have in common."""
        return JOINT_KINDS[self.kind]

    @property
    def has_one_axis(self) -> bool:
        """Whether it has one coordinate, an angle or a distance: then it can follow and be followed."""
        return self.nv == 1 and self.traits.line

    @property
    def sticks(self) -> bool:
        """Whether it has friction that sticks."""
        return self.friction_speed == 0.0 and (any(self.holding_friction) or self.is_loaded)

    @property
    def is_loaded(self) -> bool:
        """Whether its friction depends on what it carries."""
        return self.friction_coefficient > 0.0 or self.static_friction_coefficient > 0.0

    @property
    def has_rigid_limits(self) -> bool:
        """Whether it has limits that stop it at once."""
        return self.restitution is not None and bool(np.isfinite([*self.lower, *self.upper]).any())

    @property
    def may_lock(self) -> bool:
        """Whether it can be held at rest, by friction or by a limit."""
        return self.sticks or self.has_rigid_limits

    @property
    def holding_friction(self) -> tuple[float, ...]:
        """What friction that sticks can hold."""
        return tuple(max(pair) for pair in zip(self.static_friction, self.friction, strict=True))

    @property
    def coordinate_units(self) -> tuple[str, ...]:
        """Unit of each coordinate: "rad", "m", or none for the numbers of a quaternion."""
        if not self.traits.quaternion:
            return self.velocity_units
        return ("",) * 4 + self.velocity_units[3:]

    @property
    def velocity_units(self) -> tuple[str, ...]:
        """Unit of each velocity, without the "/s"."""
        if self.traits.freedoms is None:
            return tuple("rad" if any(screw[:3]) else "m" for screw in self.screws)
        return tuple(freedom.unit for freedom in self.traits.freedoms)

    def __repr__(self) -> str:
        return f"<{self.kind} joint {self.name!r}: {self.parent!r} to {self.child!r}>"

    def in_assembly(self, parent_pose: Pose, child_pose: Pose) -> Joint:
        """The joint whose frame is given in space, for bodies that stand at these poses when q = 0.

        `parent_frame` is read as the pose J of the joint's frame in space; the result has A_parent⁻¹ J and A_child⁻¹ J.
        """
        where = f"joint {self.name!r}"
        in_space = np.array(self.parent_frame)
        frames = [
            pose_group.compose(pose_group.inverse(as_pose(where, what, given)), in_space)
            for what, given in (("the parent's pose", parent_pose), ("the child's pose", child_pose))
        ]
        return replace(self, parent_frame=frames[0], child_frame=frames[1])


def _screws(where: str, screws: Any) -> np.ndarray:
    """Unit screws: of an axis, or of a translation."""
    array = np.array(screws, dtype=float)
    if array.ndim != 2 or array.shape[1] != 6 or not len(array):
        raise ValueError(f"{where}: screws has shape {array.shape}; expected (k, 6), rows (angular, linear)")
    for k, screw in enumerate(array):
        size = np.linalg.norm(screw[:3]) or np.linalg.norm(screw[3:])
        if not abs(size - 1) < 1e-9:
            raise ValueError(
                f"{where}: screw {k} {screw.tolist()} is not normalized; expected an angular part of length 1, "
                "or none and a linear part of length 1"
            )
        if abs(size - 1) > LAST_BITS:
            array[k] = screw / size
    return array


def _each(where: str, name: str, value: ArrayLike, count: int) -> tuple[float, ...]:
    given: Any = (value + 0.0,) * count if type(value) is float else value  # no -0.0
    bound = inf if name in MAY_BE_INFINITE else LARGEST
    if type(given) is tuple and len(given) == count and all(type(x) is float and -bound <= x <= bound for x in given):
        return tuple(given)  # most are such numbers, and a rod has thousands of joints: NumPy takes ten times as long
    array = np.array(value, dtype=float)
    if array.shape not in ((), (count,)):
        raise ValueError(f"{where}: {name} has shape {array.shape}; expected a number or {count} numbers")
    if np.isnan(array).any() or (np.isinf(array).any() and name not in MAY_BE_INFINITE):
        raise ValueError(f"{where}: {name} is {array.tolist()}; expected finite numbers")
    return tuple(np.broadcast_to(array, count).tolist())


# what a joint of any kind takes besides its axes and frames
OPTIONS = tuple(item.name for item in fields(Joint) if item.init)[7:]
PLACES = ("point", "points", "position", "origin", "location", "anchor", "frame", "pose")  # names elsewhere for `at`


def _made(
    kind: str, name: str, parent: str, child: str, screws: Any, at: Pose, child_at: Pose, more: dict[str, Any]
) -> Joint:
    where = f"joint {name!r}"
    unknown = next((key for key in more if key not in OPTIONS), None)
    if unknown is not None:
        near = "the place of a joint is at=... and child_at=...; " if unknown in PLACES else meant(unknown, OPTIONS)
        raise TypeError(f"{where}: {kind}(...) takes no {unknown!r}; {near}options: {', '.join(OPTIONS)}")
    at, child_at = as_pose(where, "at", at), as_pose(where, "child_at", child_at)
    return Joint(name, parent, child, kind, screws, at, child_at, **more)


def _axis(name: str, axis: ArrayLike) -> tuple[float, ...]:
    return tuple(unit_vector(f"joint {name!r}", "axis", axis).tolist())


ZERO = (0.0, 0.0, 0.0)


def revolute(
    name: str, parent: str, child: str, *, axis: ArrayLike, at: Pose = ORIGIN, child_at: Pose = ORIGIN, **more: Any
) -> Joint:
    """Turns about an axis; q is the angle [rad].

    axis: in the joint's frame. at, child_at: the joint's frame on the parent and on the child, each a pose, a 4x4
    matrix or a position [m]. More: damping, stiffness, ... as in `Joint`. So for all joints of this module.
    """
    return _made("revolute", name, parent, child, [(*_axis(name, axis), *ZERO)], at, child_at, more)


def prismatic(
    name: str, parent: str, child: str, *, axis: ArrayLike, at: Pose = ORIGIN, child_at: Pose = ORIGIN, **more: Any
) -> Joint:
    """Slides along an axis; q is the distance [m]."""
    return _made("prismatic", name, parent, child, [(*ZERO, *_axis(name, axis))], at, child_at, more)


def helical(
    name: str,
    parent: str,
    child: str,
    *,
    axis: ArrayLike,
    pitch: float,
    at: Pose = ORIGIN,
    child_at: Pose = ORIGIN,
    **more: Any,
) -> Joint:
    """A screw of the given pitch [m/rad]; q is the angle [rad]."""
    h = float(as_numbers(f"joint {name!r}", "pitch", pitch, ()))
    e = _axis(name, axis)
    return _made("helical", name, parent, child, [(*e, *(h * x for x in e))], at, child_at, more)


def cylindrical(
    name: str, parent: str, child: str, *, axis: ArrayLike, at: Pose = ORIGIN, child_at: Pose = ORIGIN, **more: Any
) -> Joint:
    """Turns about and slides along an axis; q is (angle [rad], distance [m])."""
    e = _axis(name, axis)
    return _made("cylindrical", name, parent, child, [(*e, *ZERO), (*ZERO, *e)], at, child_at, more)


def universal(
    name: str,
    parent: str,
    child: str,
    *,
    axes: Sequence[ArrayLike] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)),
    at: Pose = ORIGIN,
    child_at: Pose = ORIGIN,
    **more: Any,
) -> Joint:
    """Turns about two axes through one point, the first fixed in the parent, the second in the child."""
    where = f"joint {name!r}"
    first, second = (unit_vector(where, "axis", axis) for axis in axes)
    if np.linalg.norm(np.cross(first, second)) < 1e-9:
        raise ValueError(f"{where}: its two axes {first.tolist()} and {second.tolist()} are parallel")
    screws = [(*first.tolist(), *ZERO), (*second.tolist(), *ZERO)]
    return _made("universal", name, parent, child, screws, at, child_at, more)


def planar(
    name: str, parent: str, child: str, *, normal: ArrayLike, at: Pose = ORIGIN, child_at: Pose = ORIGIN, **more: Any
) -> Joint:
    """Moves in a plane; q is (x [m], y [m], angle [rad]), x and y in the parent's axes that `normal` completes."""
    z = unit_vector(f"joint {name!r}", "normal", normal)
    q = frame_with_z(z)
    x, y = (pose_group.act(np.array([*q, 0.0, 0.0, 0.0]), e).tolist() for e in ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)))
    screws = [(*ZERO, *x), (*ZERO, *y), (*z.tolist(), *ZERO)]
    return _made("planar", name, parent, child, screws, at, child_at, more)


def spherical(name: str, parent: str, child: str, *, at: Pose = ORIGIN, child_at: Pose = ORIGIN, **more: Any) -> Joint:
    """Turns about a point; q is a unit quaternion (w, x, y, z), v the angular velocity in the child's joint frame."""
    return _made("spherical", name, parent, child, (), at, child_at, more)


def free(name: str, parent: str, child: str, *, at: Pose = ORIGIN, child_at: Pose = ORIGIN, **more: Any) -> Joint:
    """Six degrees of freedom; q is a pose (w, x, y, z, position), v the twist in the joint's frame on the child."""
    return _made("free", name, parent, child, (), at, child_at, more)


def weld(name: str, parent: str, child: str, *, at: Pose = ORIGIN, child_at: Pose = ORIGIN) -> Joint:
    """No degree of freedom: both bodies move as one."""
    return _made("weld", name, parent, child, (), at, child_at, {})


def general(
    name: str, parent: str, child: str, *, screws: ArrayLike, at: Pose = ORIGIN, child_at: Pose = ORIGIN, **more: Any
) -> Joint:
    """A product of exponentials of unit screws (k, 6) in the joint's frame."""
    return _made("general", name, parent, child, screws, at, child_at, more)


def denavit_hartenberg(
    name: str,
    parent: str,
    child: str,
    *,
    a: float = 0.0,
    alpha: float = 0.0,
    d: float = 0.0,
    theta: float = 0.0,
    sliding: bool = False,
    **more: Any,
) -> Joint:
    """A joint with modified Denavit-Hartenberg parameters: Rot_x(alpha) Trans_x(a) Rot_z(theta) Trans_z(d).

    q is added to theta [rad], or to d [m] with sliding=True. The child's frame is that of the convention.
    """
    turn = pose_group.exp([alpha, 0.0, 0.0, a, 0.0, 0.0])  # about and along x
    along = pose_group.exp([0.0, 0.0, theta, 0.0, 0.0, d])
    make = prismatic if sliding else revolute
    return make(name, parent, child, axis=(0.0, 0.0, 1.0), at=pose_group.compose(turn, along), **more)
