"""Solid shapes of uniform density: volume, mass and inertia, in closed form.

A shape is centered at the origin of its own frame, with the axis of a cylinder or capsule along z, and placed on a body
by a pose. A `Mesh` is for drawing only: it has no volume, mass or inertia here.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from chasles.screw import inertia as spatial
from chasles.screw.frames import rotation_and_position

IDENTITY = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Shape(ABC):
    """A solid of uniform density. pose: of the shape on the body, seven numbers `wxyz_xyz` or a position.

    color: red, green, blue and optionally opacity, each in [0, 1], for drawing.
    """

    pose: Sequence[float] = field(default=IDENTITY, kw_only=True)
    color: Sequence[float] | None = field(default=None, kw_only=True)

    def __post_init__(self):
        pose = _numbers(self, "pose", self.pose, (3, 7))  # a position alone, or quaternion and position
        _set(self, "pose", pose if len(pose) == 7 else (*IDENTITY[:4], *pose))
        rotation_and_position(type(self).__name__, self.pose)
        if self.color is not None:
            color = _numbers(self, "color", self.color, (3, 4))
            if not all(0 <= c <= 1 for c in color):
                raise ValueError(f"{type(self).__name__}: color is {color}; expected numbers from 0 to 1")
            _set(self, "color", color)

    @property
    @abstractmethod
    def volume(self) -> float:
        """Volume [m³]."""

    @abstractmethod
    def _squared_radii(self) -> tuple[float, float, float]:
        """Squared radii of gyration [m²] about the axes x, y, z through the center: moments per mass."""

    def mass(self, density: float) -> float:
        """Mass [kg] for a density [kg/m³]."""
        return self.volume * _positive(self, "density", density)

    def inertia(self, *, density: float | None = None, mass: float | None = None) -> np.ndarray:
        """6x6 inertia in the frame of the body, for a density [kg/m³] or for a mass [kg]."""
        if (density is None) == (mass is None):
            raise ValueError(f"{type(self).__name__}.inertia: give either density= or mass=")
        m = self.mass(density) if density is not None else _positive(self, "mass", mass)
        centered = spatial.spatial_inertia(m, np.zeros(3), m * np.diag(self._squared_radii()), strict=False)
        return spatial.transform(centered, self.pose)


@dataclass(frozen=True)
class Box(Shape):
    """A box; size: its three full edge lengths [m]."""

    size: Sequence[float]

    def __post_init__(self):
        super().__post_init__()
        _set(self, "size", _lengths(self, "size", self.size))

    @property
    def volume(self) -> float:
        """a b c."""
        return math.prod(self.size)

    def _squared_radii(self):
        a, b, c = (edge * edge / 12.0 for edge in self.size)
        return b + c, a + c, a + b


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball; radius [m]."""

    radius: float

    def __post_init__(self):
        super().__post_init__()
        _set(self, "radius", _positive(self, "radius", self.radius))

    @property
    def volume(self) -> float:
        """4π r³/3."""
        return 4.0 / 3.0 * math.pi * self.radius**3

    def _squared_radii(self):
        return (0.4 * self.radius**2,) * 3


@dataclass(frozen=True)
class Cylinder(Shape):
    """A circular cylinder along z; radius and full length [m]."""

    radius: float
    length: float

    def __post_init__(self):
        super().__post_init__()
        _set(self, "radius", _positive(self, "radius", self.radius))
        _set(self, "length", _positive(self, "length", self.length))

    @property
    def volume(self) -> float:
        """π r² l."""
        return math.pi * self.radius**2 * self.length

    def _squared_radii(self):
        across = self.radius**2 / 4.0 + self.length**2 / 12.0
        return across, across, self.radius**2 / 2.0


@dataclass(frozen=True)
class Capsule(Shape):
    """A cylinder along z with half balls on its ends; radius, and length of the cylinder without the caps [m]."""

    radius: float
    length: float

    def __post_init__(self):
        super().__post_init__()
        _set(self, "radius", _positive(self, "radius", self.radius))
        _set(self, "length", _positive(self, "length", self.length))

    @property
    def volume(self) -> float:
        """π r² l + 4π r³/3."""
        return math.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    def _squared_radii(self):
        r, length = self.radius, self.length
        caps = 4.0 * r / (4.0 * r + 3.0 * length)  # their part of the mass
        cylinder = 1.0 - caps
        # the center of mass of a half ball is 3r/8 from its flat side
        across = cylinder * (r * r / 4.0 + length**2 / 12.0)
        across += caps * (0.4 * r * r + length**2 / 4.0 + 0.375 * r * length)
        return across, across, cylinder * r * r / 2.0 + caps * 0.4 * r * r


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid; radii: its three semi-axes [m]."""

    radii: Sequence[float]

    def __post_init__(self):
        super().__post_init__()
        _set(self, "radii", _lengths(self, "radii", self.radii))

    @property
    def volume(self) -> float:
        """4π a b c/3."""
        return 4.0 / 3.0 * math.pi * math.prod(self.radii)

    def _squared_radii(self):
        a, b, c = (radius * radius / 5.0 for radius in self.radii)
        return b + c, a + c, a + b


@dataclass(frozen=True)
class Mesh(Shape):
    """A surface in a file, for drawing only. path: of the file, which nothing opens here; scale: along x, y and z."""

    path: str
    scale: Sequence[float] = (1.0, 1.0, 1.0)

    def __post_init__(self):
        super().__post_init__()
        if not isinstance(self.path, str) or not self.path or "\0" in self.path:
            raise ValueError(f"Mesh: path is {self.path!r}; expected the path of a file")
        _set(self, "scale", _numbers(self, "scale", self.scale, (3,)))
        if not all(self.scale):
            raise ValueError(f"Mesh: scale is {self.scale}; expected numbers that are not zero")

    @property
    def volume(self) -> float:
        """None: a ValueError says what to do instead."""
        raise ValueError(f"Mesh {self.path!r} is for drawing only; give the body mass, com and inertia")

    def _squared_radii(self):
        return (self.volume,) * 3


def _set(shape, name, value):
    object.__setattr__(shape, name, value)


def _numbers(shape, name, value, counts) -> tuple[float, ...]:
    try:
        numbers = tuple(float(v) for v in value)
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) not in counts or not all(map(math.isfinite, numbers)):
        count = " or ".join(map(str, counts))
        raise ValueError(f"{type(shape).__name__}: {name} is {value!r}; expected {count} finite numbers")
    return numbers


def _lengths(shape, name, value) -> tuple[float, ...]:
    lengths = _numbers(shape, name, value, (3,))
    if min(lengths) <= 0:
        raise ValueError(f"{type(shape).__name__}: {name} is {lengths}; expected positive lengths [m]")
    return lengths


def _positive(shape, name, value) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not (0 < number < math.inf):
        raise ValueError(f"{type(shape).__name__}: {name} is {value!r}; expected a positive number")
    return number
