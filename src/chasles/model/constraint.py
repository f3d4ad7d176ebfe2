"""Constraints beyond joints: rigid links, points on lines and planes, couplings, drives, rolling, and the user's own.

They are part of a `System`. In absolute coordinates they stand beside the joints; in joint coordinates they are rows
that close the tree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.cam import Cam
from chasles.model.expression_law import settle_expression, written
from chasles.model.law import Law, as_law
from chasles.model.placement import as_numbers, check_name, two_bodies, unit_vector

Vector = Any  # three numbers; a tuple of these once the constraint is made


class BetweenPoints:
    """What constraints between a point on each of two bodies check."""

    what = ""
    name: str
    bodies: Any
    points: Any

    def __post_init__(self) -> None:
        check_name(type(self).__name__, self.name)
        where = f"{self.what} {self.name!r}"
        self._set("bodies", two_bodies(where, self.bodies))
        points = as_numbers(where, "points", self.points, (2, 3))
        self._set("points", tuple(map(tuple, points.tolist())))
        self._check(where)

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check(self, where: str) -> None:
        """What else this kind checks."""


ORIGINS = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))


@dataclass(frozen=True)
class Distance(BetweenPoints):
    """A massless rigid link: points of two bodies (in the bodies' frames [m]) stay at a distance `length` [m]."""

    name: str
    bodies: tuple[str, str]
    points: Any = ORIGINS
    length: float = 1.0
    what = "distance"

    def _check(self, where: str) -> None:
        length = float(as_numbers(where, "length", self.length, ()))
        if not length > 0:
            raise ValueError(
                f"{where}: length is {length:g}; expected a positive number [m], or take a spherical joint"
            )
        self._set("length", length)


@dataclass(frozen=True)
class PointOnLine(BetweenPoints):
    """A point of the second body stays on a line of the first, through its point along `direction`."""

    name: str
    bodies: tuple[str, str]
    points: Any = ORIGINS
    direction: Vector = (0.0, 0.0, 1.0)
    what = "point on line"

    def _check(self, where: str) -> None:
        self._set("direction", tuple(unit_vector(where, "direction", self.direction).tolist()))


@dataclass(frozen=True)
class PointOnPlane(BetweenPoints):
    """A point of the second body stays in a plane of the first, through its point across `normal`."""

    name: str
    bodies: tuple[str, str]
    points: Any = ORIGINS
    normal: Vector = (0.0, 0.0, 1.0)
    what = "point on plane"

    def _check(self, where: str) -> None:
        self._set("normal", tuple(unit_vector(where, "normal", self.normal).tolist()))


@dataclass(frozen=True)
class Coupling:
    """A linear relation of two or more joint coordinates, Σ c_i q_i = offset: gears, a rack, planetary sets.

    joints: revolute, prismatic, helical (the angle) or cylindrical ones; `ratios` has c_i of each; `coordinates` says
    which coordinate of each (cylindrical: 0 the angle, 1 the distance), by default the first. Angles [rad] are counted
    over full turns; a start from poses alone takes them within half a turn of zero, and the last of them where the
    relation holds best. `chasles.model.gear_pair`, `planetary_gear`, `rack_and_pinion` and `lead_screw` create it
    from tooth numbers, radii and leads.
    """

    name: str
    joints: tuple[str, ...]
    ratios: tuple[float, ...]
    offset: float = 0.0
    coordinates: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        check_name("Coupling", self.name)
        where = f"coupling {self.name!r}"
        joints = (self.joints,) if isinstance(self.joints, str) else tuple(self.joints)
        if len(joints) < 2:
            raise ValueError(f"{where}: joints is {self.joints!r}; expected the names of two joints or more")
        coordinates = tuple(self.coordinates) or (0,) * len(joints)
        if len(coordinates) != len(joints):
            raise ValueError(
                f"{where}: coordinates is {self.coordinates!r}; expected a number for each of the {len(joints)} joints"
            )
        for name, k in (pairs := tuple(zip(joints, coordinates, strict=True))):
            if pairs.count((name, k)) > 1:
                raise ValueError(f"{where}: coordinate {k} of joint {name!r} is there twice; add up its two ratios")
        ratios = as_numbers(where, "ratios", self.ratios, (len(joints),))
        if not ratios.all():
            raise ValueError(
                f"{where}: ratios is {ratios.tolist()}; expected numbers that are not zero; leave out a joint that "
                "takes no part"
            )
        object.__setattr__(self, "joints", joints)
        object.__setattr__(self, "coordinates", coordinates)
        object.__setattr__(self, "ratios", tuple(ratios.tolist()))
        object.__setattr__(self, "offset", float(as_numbers(where, "offset", self.offset, ())))

    @property
    def terms(self) -> tuple[tuple[str, int, float], ...]:
        """Joint, coordinate and ratio of each term."""
        return tuple(zip(self.joints, self.coordinates, self.ratios, strict=True))


@dataclass(frozen=True)
class Drive:
    """A joint coordinate follows a function of time (a rheonomic constraint).

    value: a number (the coordinate is held there [rad or m]); an expression of time, such as "0.3 * smooth(t, 1, 2)",
    whose rates are taken from it; or a law f(t, _, _, parameters, out) that writes the coordinate, its rate and its
    acceleration at time t to out[0], out[1] and out[2]. Joints and coordinates as in `Coupling`; an angle may be off by
    full turns. parameters: numbers for the law, or numbers by name for an expression.
    """

    name: str
    joint: str
    value: Any
    coordinate: int = 0
    parameters: Sequence[float] = ()
    # whether it begins wherever its joint is, `start` in a model file: then it has no part in finding the start
    begins_anywhere: bool = field(init=False, default=False, repr=False)

    def __post_init__(self) -> None:
        check_name("Drive", self.name)
        _settle_law(self, f"drive {self.name!r}", "value", constant=True)


@dataclass(frozen=True)
class CustomConstraint:
    """A constraint written by the user: up to three equations g(t, C_1, C_2) = 0 of the poses of two bodies.

    law: f(t, poses, twists, parameters, out) of the poses (14 numbers: one pose after the other) and body twists (12)
    of the two bodies' frames; the ground's are the identity and zero. With J = (J_1, J_2), g' = J V - target, where V
    are the body twists, and J V' = rate, the law writes, for k equations,

        out[0:3]    g [any unit]            (zero for equations between velocities alone, nonholonomic ones)
        out[3:21]   J_1, row after row: (angular, linear) of each equation, three rows
        out[21:39]  J_2
        out[39:42]  rate, what J V' must be
        out[42:45]  target, what J V must be: minus the partial derivative of g by time

    What it does not write is zero.
    """

    name: str
    bodies: tuple[str, str]
    law: Any
    rows: int = 1
    parameters: Sequence[float] = ()

    def __post_init__(self) -> None:
        check_name("CustomConstraint", self.name)
        where = f"constraint {self.name!r}"
        object.__setattr__(self, "bodies", two_bodies(where, self.bodies))
        if self.rows not in (1, 2, 3):
            raise ValueError(f"{where}: rows is {self.rows!r}; expected 1, 2 or 3; take several constraints for more")
        _settle_law(self, where, "law", constant=False)


@dataclass(frozen=True)
class Rolling(BetweenPoints):
    """A sphere or a thin disc, fixed in the second body, rolls without slip on a plane of the first (nonholonomic).

    points: a point of the plane and the center; `normal` of the plane, toward the center; radius [m]; `axis` of the
    disc in the second body, or None for a sphere. The contact stays closed: it can pull, which reactions show.
    """

    name: str
    bodies: tuple[str, str]
    radius: float
    points: Any = ORIGINS
    normal: Vector = (0.0, 0.0, 1.0)
    axis: ArrayLike | None = None
    what = "rolling"

    def _check(self, where: str) -> None:
        radius = float(as_numbers(where, "radius", self.radius, ()))
        if not radius > 0:
            raise ValueError(f"{where}: radius is {radius:g}; expected a positive number [m]")
        self._set("radius", radius)
        self._set("normal", tuple(unit_vector(where, "normal", self.normal).tolist()))
        if self.axis is not None:
            self._set("axis", tuple(unit_vector(where, "axis", self.axis).tolist()))


def _settle_law(constraint: Drive | CustomConstraint, where: str, what: str, constant: bool) -> None:
    given = getattr(constraint, what)
    if constant and written(given):
        settle_expression(constraint, where, ("t",), rates=True)
        return
    if callable(given) or isinstance(given, Law):
        object.__setattr__(constraint, what, as_law(given))
    elif constant:
        object.__setattr__(constraint, what, float(as_numbers(where, what, given, ())))
    else:
        raise ValueError(f"{where}: {what} is {given!r}; expected a function f(t, poses, twists, parameters, out)")
    parameters = as_numbers(
        where, "parameters", np.array(constraint.parameters, dtype=float), (len(constraint.parameters),)
    )
    object.__setattr__(constraint, "parameters", tuple(parameters.tolist()))


Constraint = Distance | PointOnLine | PointOnPlane | Coupling | Drive | CustomConstraint | Rolling | Cam
