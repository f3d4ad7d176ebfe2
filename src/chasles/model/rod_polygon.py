"""Sections of rods that are polygons, such as angles, channels and extrusions, with their constants.

Area and second moments are sums over the sides. The constant of torsion J needs Prandtl's stress function φ: ∇²φ = -2
inside, φ = 0 on the boundary, J = 2 ∫ φ dA. Here φ = Re f - r²/2 with f analytic, found by least squares on the
boundary: f is a polynomial and poles that crowd outside of each corner, where f is singular (gopal2019). With ψ = Re f
and χ = Im f, Green's theorem and ∂ψ/∂n = ∂χ/∂s leave a sum over the boundary without derivatives of f:

    J = ∫ r² dA - ∫ |∇ψ|² dA = ∫ r² dA + ∮ χ r·dr
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.model.placement import as_numbers
from chasles.model.rod_section import Constants, Material, Section

DEGREE, CROWDED = 24, 3.0  # of the polynomial; how fast poles crowd at corners
POLES, MOST_POLES = 48, 480  # at each corner; of all, if there are many corners
SAMPLES, MOST_SAMPLES, REACH = 161, 3000, 3.1  # on each side, by tanh-sinh rules; of all; how far these go
CUT = 1e-14  # of the largest singular value
ACCURATE = 1e-4  # of J: by how much it may be off
DIGITS = 13  # of corners, so that polygons of the same form are known to be
FLAT = 1e-9  # of its size: area below which a polygon is a line


@dataclass(frozen=True)
class Polygon(Section):
    """A full section by the corners of its outline, in their order: points (y, z) [m], about any origin; the rod is
    along the centroid. J: the constant of torsion [m⁴], by default computed. shear: the factors along y and z.

    If its product of inertia ∫ y z dA is not zero, its bending about y and z is coupled. Its center of shear is taken
    at the centroid, and warping is free.
    """

    points: Any
    J: float | None = None
    shear: Any = (5.0 / 6.0, 5.0 / 6.0)

    def __post_init__(self) -> None:
        given = np.shape(self.points)
        points = as_numbers(self.what, "points", self.points, (given[0] if given else 0, 2))
        if len(points) < 3:
            raise ValueError(f"{self.what}: has {len(points)} points; expected three or more")
        object.__setattr__(self, "points", tuple(map(tuple, points.tolist())))
        both = np.broadcast_to(self.shear, 2) if np.ndim(self.shear) == 0 else self.shear
        shear = as_numbers(self.what, "shear", both, (2,))
        if not (shear > 0.0).all():
            raise ValueError(f"{self.what}: shear is {self.shear!r}; expected positive numbers")
        object.__setattr__(self, "shear", tuple(shear.tolist()))
        if self.J is not None:
            object.__setattr__(self, "J", float(as_numbers(self.what, "J", self.J, ())))
            if not self.J > 0.0:
                raise ValueError(f"{self.what}: J is {self.J:g}; expected a positive number [m⁴]")
        _check_simple(self.what, points)

    @cached_property
    def _corners(self) -> np.ndarray:
        """As complex numbers y + i z about the centroid, counterclockwise."""
        w = np.array([complex(*point) for point in self.points])
        w = w - w.mean()
        w = w if _area(w) > 0.0 else w[::-1]
        then = np.roll(w, -1)
        cross = (w.conj() * then).imag
        return w - (cross @ (w + then)) / (6.0 * _area(w))  # type: ignore[no-any-return]

    @cached_property
    def moments(self) -> tuple[float, float, float]:
        """∫ z² dA, ∫ y² dA and ∫ y z dA about the centroid [m⁴]."""
        w = self._corners
        then = np.roll(w, -1)
        cross, (y, z), (b, c) = (w.conj() * then).imag, (w.real, w.imag), (then.real, then.imag)
        about_y, about_z = cross @ (z * z + z * c + c * c) / 12.0, cross @ (y * y + y * b + b * b) / 12.0
        mixed = cross @ (y * c + 2.0 * y * z + 2.0 * b * c + b * z) / 24.0
        return float(about_y), float(about_z), float(mixed)

    @cached_property
    def torsion(self) -> float:
        """The constant of torsion [m⁴]."""
        if self.J is not None:
            return self.J
        size = float(np.abs(self._corners).max())
        about_y, about_z, _ = self.moments
        corners = tuple(np.round(self._corners / size, DIGITS).tolist())
        found, off = _torsion(corners, round((about_y + about_z) / size**4, DIGITS))
        if not off < ACCURATE:
            raise ValueError(
                f"{self.what}: its constant of torsion is known to {off:.1g} of it only, as parts of it are thin; "
                "give J [m⁴], which is about a third of the sum of length times thickness³ of its parts"
            )
        return found * size**4

    @property
    def outline(self) -> tuple[float, float]:
        return float(np.abs(self._corners.real).max()), float(np.abs(self._corners.imag).max())

    def constants(self, nu: float) -> Constants:
        about_y, about_z, _ = self.moments
        return Constants(_area(self._corners), about_y, about_z, self.torsion, self.shear)

    def stiffness(self, material: Material | None) -> np.ndarray:
        assert material is not None
        found = super().stiffness(material)
        found[1, 2] = found[2, 1] = -material.E * self.moments[2]
        return found

    def mass(self, material: Material | None) -> tuple[float, np.ndarray]:
        assert material is not None
        density, (about_y, about_z, mixed) = material.density, self.moments
        moments = np.diag([about_y + about_z, about_y, about_z])
        moments[1, 2] = moments[2, 1] = -mixed
        return density * _area(self._corners), density * moments


def _area(w: np.ndarray) -> float:
    return float(0.5 * (w.conj() * np.roll(w, -1)).imag.sum())


def _check_simple(where: str, points: np.ndarray) -> None:
    """ValueError if sides have no length, cross or touch each other, or leave no area."""
    w = points[:, 0] + 1j * points[:, 1]
    w = w - w.mean()
    then, n, size = np.roll(w, -1), len(w), float(np.abs(w).max())
    if not (np.abs(then - w) > FLAT * size).all() or not abs(_area(w)) > FLAT * size**2:
        raise ValueError(f"{where}: points {points.tolist()} have two neighbors that are the same, or no area")
    for j in range(n):
        for k in range(j + 1, n):
            near = k == j + 1 or (j == 0 and k == n - 1)
            if not near and _meet(w[j], then[j], w[k], then[k]):
                raise ValueError(f"{where}: its sides from points {j} and {k} cross; expected the outline in its order")


def _meet(a: complex, b: complex, c: complex, d: complex) -> bool:
    """Whether a side from a to b and one from c to d have a point in common."""

    def side(p: complex, q: complex, r: complex) -> float:
        return ((q - p).conjugate() * (r - p)).imag

    def on(p: complex, q: complex, r: complex) -> bool:
        along = ((q - p).conjugate() * (r - p)).real
        return abs(side(p, q, r)) <= FLAT * abs(q - p) and 0.0 <= along <= abs(q - p) ** 2

    if on(a, b, c) or on(a, b, d) or on(c, d, a) or on(c, d, b):
        return True
    return side(a, b, c) * side(a, b, d) < 0.0 and side(c, d, a) * side(c, d, b) < 0.0


@lru_cache(64)
def _torsion(corners: tuple[complex, ...], polar: float) -> tuple[float, float]:
    """J of a polygon of size 1 with its polar moment, and by what part of it that may be off."""
    w = np.array(corners)
    then = np.roll(w, -1)
    x = np.linspace(-REACH, REACH, min(SAMPLES, MOST_SAMPLES // len(w)))
    part = 0.5 * (1.0 + np.tanh(0.5 * np.pi * np.sinh(x)))
    weight = 0.25 * np.pi * np.cosh(x) / np.cosh(0.5 * np.pi * np.sinh(x)) ** 2 * (x[1] - x[0])
    # from the nearer end, so that what is close to a corner is exact
    places = np.where(
        part < 0.5, w[:, None] + part * (then - w)[:, None], then[:, None] - part[::-1] * (then - w)[:, None]
    )
    z, along = places.ravel(), ((then - w)[:, None] * weight).ravel()
    basis = _basis(z, w)
    columns = np.concatenate([basis.real, -basis.imag[:, 1:]], axis=1)
    scale = np.linalg.norm(columns, axis=0)
    target = 0.5 * np.abs(z) ** 2
    found = np.linalg.lstsq(columns / scale, target, rcond=CUT)[0] / scale
    off = float(np.abs(columns @ found - target) @ np.abs(along))
    chi = np.concatenate([basis.imag, basis.real[:, 1:]], axis=1) @ found
    J = polar + float(chi @ (z.conj() * along).real)
    return J, 2.0 * off / J if J > 0.0 else math.inf


def _basis(z: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Values at places of a polynomial's orthogonal basis, and of all poles."""
    columns = [np.ones_like(z)]
    for _ in range(DEGREE):  # Arnoldi: powers would be almost dependent
        new = z * columns[-1]
        for old in columns:
            new = new - (old.conj() @ new) / len(z) * old
        columns.append(new / np.sqrt((new.conj() @ new).real / len(z)))
    count = min(POLES, MOST_POLES // len(w))
    for corner, outward, reach in _outward(w):
        sizes = reach * np.exp(-CROWDED * (math.sqrt(count) - np.sqrt(np.arange(1, count + 1))))
        columns += [size / (z - corner - outward * size) for size in sizes]
    return np.stack(columns, axis=1)


def _outward(w: np.ndarray) -> list[tuple[complex, complex, float]]:
    """Each corner with the direction half way between its sides outside, and how far the next side is there."""
    found = []
    before, then = np.roll(w, 1), np.roll(w, -1)
    for k, corner in enumerate(w):
        first, second = (corner - before[k]), (then[k] - corner)
        first, second = first / abs(first), second / abs(second)
        outward = -1j * (first + second) if abs(first + second) > FLAT else first
        outward /= abs(outward)
        reach = 1.0
        for a, b in zip(w, then, strict=True):
            if corner in (a, b):
                continue
            across = ((b - a).conjugate() * outward).imag
            distance = ((b - a).conjugate() * (a - corner)).imag / across if across else -1.0
            hit = corner + distance * outward
            part = ((b - a).conjugate() * (hit - a)).real / abs(b - a) ** 2
            if distance > 0.0 and -FLAT <= part <= 1.0 + FLAT:
                reach = min(reach, 0.5 * distance)
        found.append((corner, outward, reach))
    return found
