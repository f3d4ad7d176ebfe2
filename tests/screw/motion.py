"""A rigid body and two frames that move, with 60 digits: velocities by central differences of poses alone.

Nothing here uses a formula of the code under test: representations of twists come from their definitions, forces from
the accelerations of particles that make up the body.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from mpmath import mp, mpf

from tests.oracle.definitions import ORACLE, precise

STEP = mpf(10) ** -14  # of the differences; their error is of the order of its square
REPRESENTATIONS = ("body", "spatial", "hybrid", "mixed")


def column(values) -> mp.matrix:
    return mp.matrix([mp.convert(v) for v in values])


def rate(function, t):
    """Derivative of a matrix function of time."""
    return (function(t + STEP) - function(t - STEP)) / (2 * STEP)


def tilde(a) -> mp.matrix:
    x, y, z = a
    return mp.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def vee(m) -> mp.matrix:
    return mp.matrix([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / 2


def stack(a, b) -> mp.matrix:
    return mp.matrix([*a, *b])


def blocks(a, b, c, d) -> mp.matrix:
    m = mp.zeros(6)
    m[:3, :3], m[:3, 3:], m[3:, :3], m[3:, 3:] = a, b, c, d
    return m


def Ad(r, p) -> mp.matrix:
    return blocks(r, mp.zeros(3), tilde(p) * r, r)


def ad(x) -> mp.matrix:
    return blocks(tilde(x[:3]), mp.zeros(3), tilde(x[3:]), tilde(x[:3]))


def cross(a, b) -> mp.matrix:
    return tilde(a) * b


def doubles(m) -> np.ndarray:
    """A matrix or column as a double array."""
    array = np.array(m.tolist(), dtype=float)
    return array[:, 0] if m.cols == 1 else array


@dataclass(frozen=True)
class Path:
    """A moving frame: R(t) = exp(x0 + x1 t + x2 t²), r(t) = r0 + r1 t + r2 t² + sin(t) r3."""

    coefficients: tuple[tuple[float, ...], ...]

    @functools.cache  # noqa: B019 (a handful of paths)
    def rotation(self, t) -> mp.matrix:
        a, b, c = (column(x) for x in self.coefficients[:3])
        return ORACLE["so3"].exp(list(a + t * b + t * t * c))

    def position(self, t) -> mp.matrix:
        a, b, c, d = (column(x) for x in self.coefficients[3:])
        return a + t * b + t * t * c + mp.sin(t) * d

    def homogeneous(self, t) -> mp.matrix:
        m = mp.eye(4)
        m[:3, :3], m[:3, 3] = self.rotation(t), self.position(t)
        return m

    def adjoint(self, t) -> mp.matrix:
        return Ad(self.rotation(t), self.position(t))

    def twist(self, representation, t) -> mp.matrix:
        """The definitions: C⁻¹C', C'C⁻¹, and R'Rᵀ or RᵀR' beside r'."""
        if representation in ("body", "spatial"):
            c, dc = self.homogeneous(t), rate(self.homogeneous, t)
            m = mp.inverse(c) * dc if representation == "body" else dc * mp.inverse(c)
            return stack(vee(m[:3, :3]), m[:3, 3])
        r, dr = self.rotation(t), rate(self.rotation, t)
        w = r.T * dr if representation == "mixed" else dr * r.T
        return stack(vee(w), rate(self.position, t))

    def acceleration(self, representation, t) -> mp.matrix:
        return rate(lambda s: self.twist(representation, s), t)


@dataclass(frozen=True)
class Particles:
    """A body of point masses: mass and place in the body frame."""

    masses: tuple[float, ...]
    places: tuple[tuple[float, float, float], ...]

    def inertia(self) -> mp.matrix:
        """6x6 inertia in the body frame: the kinetic energy is half of Vᵀ M V."""
        total = mp.zeros(6)
        for m, place in zip(self.masses, self.places, strict=True):
            point = blocks(mp.zeros(3), mp.zeros(3), -tilde(column(place)), mp.eye(3))[3:, :]  # velocity of the place
            total += mpf(m) * point.T * point
        return total

    def wrench(self, representation, path: Path, t) -> mp.matrix:
        """Sum of the forces m x'' on the particles, with the torque where the representation wants it."""
        torque, force = mp.zeros(3, 1), mp.zeros(3, 1)
        origin = mp.zeros(3, 1) if representation == "spatial" else path.position(t)
        for m, place in zip(self.masses, self.places, strict=True):

            def x(s, place=place):
                return path.rotation(s) * column(place) + path.position(s)

            f = mpf(m) * (x(t + STEP) - 2 * x(t) + x(t - STEP)) / STEP**2
            force += f
            torque += cross(x(t) - origin, f)
        r = path.rotation(t)
        if representation in ("body", "mixed"):
            torque = r.T * torque
        return stack(torque, r.T * force if representation == "body" else force)


def make_path(seed: int, size: float = 1.0) -> Path:
    rng = np.random.default_rng(seed)
    return Path(tuple(tuple(row) for row in size * rng.normal(size=(7, 3))))


PATHS = [make_path(seed) for seed in (1, 2, 3)]
BODY = Particles(
    (1.3, 0.4, 2.1, 0.8, 0.6),
    ((0.3, -0.2, 0.5), (-0.7, 0.4, 0.1), (0.2, 0.6, -0.3), (1.1, 0.0, 0.4), (-0.2, -0.9, 0.7)),
)
TIME = mpf("0.3")


@precise
def pose_of(path: Path) -> np.ndarray:
    return doubles(path.homogeneous(TIME))


@precise
def twist_of(path: Path, representation: str) -> np.ndarray:
    return doubles(path.twist(representation, TIME))


@precise
def acceleration_of(path: Path, representation: str) -> np.ndarray:
    return doubles(path.acceleration(representation, TIME))


@precise
def wrench_on(path: Path, representation: str) -> np.ndarray:
    return doubles(BODY.wrench(representation, path, TIME))


@precise
def body_inertia() -> np.ndarray:
    return doubles(BODY.inertia())
