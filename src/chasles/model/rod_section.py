"""Sections of rods and the material they are of: stiffness and mass of a unit of length.

Axes: x along the rod, y and z in the section. A stiffness K (6x6) makes stresses (torque and bending moments [N m],
axial and shear forces [N]) of strains (twist and curvatures [1/m], extension and shears). Sections of one kind with
other dimensions at the two ends of a rod make it tapered.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from chasles.model.force import _six_by_six
from chasles.model.placement import as_numbers

DEFINITE = 1e-14  # the least eigenvalue of a stiffness beside its diagonal
TERMS = 30  # of the series of torsion
ODD = 1.0045237627951384  # sum of 1/m^5 over odd m, 31/32 zeta(5)


@dataclass(frozen=True)
class Material:
    """An elastic material: Young's modulus E [Pa], Poisson's ratio nu, or the shear modulus G [Pa] in its place, and
    density [kg/m³]. strain_limit: the strain of a fiber up to which its law holds; certificates of runs judge it."""

    E: float
    nu: float = 0.3
    density: float = 0.0
    G: float | None = None
    strain_limit: float | None = None

    def __post_init__(self) -> None:
        for name in (item.name for item in fields(self) if getattr(self, item.name) is not None):
            object.__setattr__(self, name, float(as_numbers("material", name, getattr(self, name), ())))
        if not self.E > 0.0 or (self.G is not None and not self.G > 0.0):
            raise ValueError(f"material: E is {self.E:g} and G {self.G}; expected positive numbers [Pa]")
        if self.strain_limit is not None and not self.strain_limit > 0.0:
            raise ValueError(
                f"material: strain_limit is {self.strain_limit:g}; expected a positive number, such as 0.01"
            )
        if not -1.0 < self.nu <= 0.5:
            raise ValueError(f"material: nu is {self.nu:g}; expected a number above -1, up to 0.5")
        if self.density < 0.0:
            raise ValueError(f"material: density is {self.density:g}; expected zero or more [kg/m³]")

    @property
    def shear_modulus(self) -> float:
        """G [Pa]."""
        return self.E / (2.0 * (1.0 + self.nu)) if self.G is None else self.G


class Section:
    """What all sections have: the constants of `Constants`, from dimensions, and a size to draw."""

    def __post_init__(self) -> None:
        for item in fields(self):  # type: ignore[arg-type]
            value = getattr(self, item.name)
            if value is not None:
                number = as_numbers(self.what, item.name, value, (), (2,))
                if not (number > 0.0).all():
                    raise ValueError(f"{self.what}: {item.name} is {value!r}; expected positive numbers")
                object.__setattr__(self, item.name, float(number) if number.ndim == 0 else tuple(number.tolist()))

    @property
    def what(self) -> str:
        return f"section {type(self).__name__.lower()}"

    @property
    def outline(self) -> tuple[float, float]:
        """Half of its extent along y and z [m], to draw it and to compare strains with."""
        raise NotImplementedError

    def constants(self, nu: float) -> Constants:
        """Area, moments and factors of shear of a material with this Poisson's ratio."""
        raise NotImplementedError

    def stiffness(self, material: Material | None) -> np.ndarray:
        """6x6, of a unit of length."""
        assert material is not None
        own, E, G = self.constants(material.nu), material.E, material.shear_modulus
        y, z = own.shear
        return np.diag([G * own.J, E * own.Iy, E * own.Iz, E * own.area, y * G * own.area, z * G * own.area])

    def compliance(self, material: Material | None) -> np.ndarray:
        """Inverse of the stiffness."""
        return np.linalg.inv(self.stiffness(material))

    def mass(self, material: Material | None) -> tuple[float, np.ndarray]:
        """Of a unit of length: mass [kg/m], and the inertia about the centroid, 3x3 [kg m]."""
        assert material is not None
        own = self.constants(material.nu)
        return material.density * own.area, material.density * np.diag([own.Iy + own.Iz, own.Iy, own.Iz])


@dataclass(frozen=True)
class Circle(Section):
    """A full circle of a radius [m]."""

    radius: float

    @property
    def outline(self) -> tuple[float, float]:
        return self.radius, self.radius

    def constants(self, nu: float) -> Constants:
        area, second = math.pi * self.radius**2, math.pi * self.radius**4 / 4.0
        shear = 6.0 * (1.0 + nu) / (7.0 + 6.0 * nu)
        return Constants(area, second, second, 2.0 * second, (shear, shear))


@dataclass(frozen=True)
class Tube(Section):
    """A ring between two radii [m]: that outside and that inside."""

    radius: float
    inner: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.inner < self.radius:
            raise ValueError(f"{self.what}: inner is {self.inner:g}; expected less than the radius, {self.radius:g}")

    @property
    def outline(self) -> tuple[float, float]:
        return self.radius, self.radius

    def constants(self, nu: float) -> Constants:
        q = self.inner / self.radius
        area, second = math.pi * (self.radius**2 - self.inner**2), math.pi * (self.radius**4 - self.inner**4) / 4.0
        ring = (1.0 + q * q) ** 2
        shear = 6.0 * (1.0 + nu) * ring / ((7.0 + 6.0 * nu) * ring + (20.0 + 12.0 * nu) * q * q)
        return Constants(area, second, second, 2.0 * second, (shear, shear))


@dataclass(frozen=True)
class Rectangle(Section):
    """A full rectangle: width along y, height along z [m]. shear: the factors along y and z; by default Cowper's."""

    width: float
    height: float
    shear: Any = None

    @property
    def outline(self) -> tuple[float, float]:
        return self.width / 2.0, self.height / 2.0

    def constants(self, nu: float) -> Constants:
        a, b = max(self.width, self.height), min(self.width, self.height)
        series = ODD - sum((1.0 - math.tanh(m * math.pi * a / (2.0 * b))) / m**5 for m in range(1, TERMS, 2))
        torsion = (1.0 / 3.0 - 64.0 / math.pi**5 * b / a * series) * a * b**3
        usual = 10.0 * (1.0 + nu) / (12.0 + 11.0 * nu)
        shear = (usual, usual) if self.shear is None else np.broadcast_to(self.shear, 2)
        y, z = self.width, self.height
        return Constants(y * z, y * z**3 / 12.0, z * y**3 / 12.0, torsion, (float(shear[0]), float(shear[1])))


@dataclass(frozen=True)
class Constants(Section):
    """Any section by its constants: area [m²], second moments about y and z and the constant of torsion J [m⁴], and the
    factors of shear along y and z. Axes are principal, through the centroid, which is also the center of shear."""

    area: float
    Iy: float
    Iz: float
    J: float
    shear: Any = (5.0 / 6.0, 5.0 / 6.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shear", tuple(float(x) for x in np.broadcast_to(self.shear, 2)))

    @property
    def outline(self) -> tuple[float, float]:
        return math.sqrt(3.0 * self.Iz / self.area), math.sqrt(3.0 * self.Iy / self.area)

    def constants(self, nu: float) -> Constants:
        return self


@dataclass(frozen=True)
class Stiffness(Section):
    """A section by its stiffness K itself; it needs no material.

    K: six numbers (G J, E Iy, E Iz, E A, k G Ay, k G Az), or a symmetric 6x6 matrix for composites. Mass [kg/m] and
    moments about x, y and z [kg m] are those of a unit of length.
    Shear stiffness may be infinite among six numbers: a rod that does not shear.
    """

    matrix: Any
    density: float = 0.0
    moments: Any = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        where, given = self.what, np.array(self.matrix, dtype=object)
        plain = given.shape == (6,) and all(isinstance(x, int | float) for x in given)
        stiff = np.isinf(given.astype(float)) if plain else np.zeros(6, dtype=bool)
        numbers = np.array(self.matrix, dtype=float) if np.any(stiff) else self.matrix
        if np.any(stiff):
            if np.any(stiff[:4]) or (np.asarray(numbers) < 0.0).any():
                raise ValueError(f"{where}: matrix is {self.matrix!r}; only the last two, of shear, may be infinite")
            _six_by_six(where, "matrix", np.where(stiff, 1.0, numbers))
            object.__setattr__(self, "matrix", tuple(map(float, numbers)))
        else:
            object.__setattr__(self, "matrix", _six_by_six(where, "matrix", numbers))
        full = np.array(self.matrix) if np.ndim(self.matrix) == 2 else np.diag(np.where(stiff, 1.0, self.matrix))
        diagonal = np.diag(full)
        unit = np.where(diagonal > 0.0, diagonal, 1.0) ** -0.5
        if not np.linalg.eigvalsh(full * np.outer(unit, unit)).min() > DEFINITE or not (diagonal > 0.0).all():
            raise ValueError(f"{where}: matrix is {self.matrix!r}; expected a positive definite one, for every strain")
        density, moments = (
            as_numbers(where, "density", self.density, ()),
            as_numbers(where, "moments", self.moments, (3,)),
        )
        if density < 0.0 or (moments < 0.0).any():
            raise ValueError(f"{where}: density {density:g}, moments {moments.tolist()}; expected zero or more")
        object.__setattr__(self, "density", float(density))
        object.__setattr__(self, "moments", tuple(moments.tolist()))

    @property
    def outline(self) -> tuple[float, float]:
        diagonal = np.array(self.matrix) if np.ndim(self.matrix) == 1 else np.diag(np.array(self.matrix))
        return math.sqrt(3.0 * diagonal[2] / diagonal[3]), math.sqrt(3.0 * diagonal[1] / diagonal[3])

    def stiffness(self, material: Material | None) -> np.ndarray:
        matrix = np.array(self.matrix)
        return np.diag(matrix) if matrix.ndim == 1 else matrix

    def compliance(self, material: Material | None) -> np.ndarray:
        matrix = np.array(self.matrix)
        return np.diag(1.0 / matrix) if matrix.ndim == 1 else np.linalg.inv(matrix)

    def mass(self, material: Material | None) -> tuple[float, np.ndarray]:
        return self.density, np.diag(self.moments)


def between(first: Section, second: Section, part: float) -> Section:
    """The section at a part of the way from one to another of its kind, dimensions in proportion."""
    if first is second or part in (0.0, 1.0):
        return second if part == 1.0 else first
    values = [_mixed(getattr(first, item.name), getattr(second, item.name), part) for item in fields(first)]  # type: ignore[arg-type]
    return type(first)(*values)


def _mixed(one: Any, other: Any, part: float) -> Any:
    if one is None or other is None:
        return None
    a, b = np.array(one), np.array(other)
    infinite = np.isinf(a)
    found = (1.0 - part) * np.where(infinite, 0.0, a) + part * np.where(infinite, 0.0, b)
    return np.where(infinite, np.inf, found)


def check_taper(where: str, first: Section, second: Section) -> None:
    """ValueError if there is nothing between two sections of one kind."""
    for item in fields(first):  # type: ignore[arg-type]
        one, other = getattr(first, item.name), getattr(second, item.name)
        if (one is None) != (other is None):
            raise ValueError(f"{where}: {item.name} is {one} and {other} at its ends; give both sections, or none, one")
        if one is None or isinstance(one, str):
            continue
        if np.shape(one) != np.shape(other):
            shapes = f"{np.shape(one)} and {np.shape(other)}"
            raise ValueError(f"{where}: {item.name} has shapes {shapes} at its ends; expected the same")
        if (np.isinf(one) != np.isinf(other)).any():
            raise ValueError(f"{where}: shear stiffness is infinite at one end only; expected both ends, or none")
