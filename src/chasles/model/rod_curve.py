"""Reference curves of rods: where they are without stress, with frames whose x is along the curve.

`poses(s)` gives frames at arc lengths s. Lines, arcs and helices move along a screw, so their strain is constant.
Frames of a spline do not turn about the curve (rotation-minimizing, by double reflection, wang2008).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.lie import pose as pose_group
from chasles.lie.rotation import matrix_to_quaternion
from chasles.model.expression import evaluate
from chasles.model.placement import as_numbers, unit_vector

ALONG = 1e-6  # sine of the angle at which `up` counts as along the rod
SUBSTEPS = 16  # of double reflection between two places that are asked for
SAMPLES = 257  # of a function
GAUSS = np.polynomial.legendre.leggauss(8)


def frame_along(where: str, tangent: np.ndarray, up: Any) -> np.ndarray:
    """A rotation matrix with x along a tangent and z as near as can be to `up`; by default z of space, or y of a rod
    along that."""
    given = None if up is None else unit_vector(where, "up", up)
    for z in [given] if given is not None else [np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 0.0])]:
        y = np.cross(z, tangent)
        if np.linalg.norm(y) > (ALONG if given is not None else 0.1):
            y /= np.linalg.norm(y)
            return np.column_stack([tangent, y, np.cross(tangent, y)])
    raise ValueError(f"{where}: up is {up!r}, along the rod at its start; expected another direction, for the z axis")


class ReferenceCurve:
    """A curve with a length [m], and frames on it."""

    @property
    def length(self) -> float:
        raise NotImplementedError

    def poses(self, s: np.ndarray, where: str, up: Any) -> np.ndarray:
        """Frames (..., 7) at arc lengths, in ascending order."""
        raise NotImplementedError


class ScrewCurve(ReferenceCurve):
    """A curve along a screw: what all places are carried by, and the begin."""

    def _screw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Twist in space for a unit of length, start and tangent there."""
        raise NotImplementedError

    def poses(self, s: np.ndarray, where: str, up: Any) -> np.ndarray:
        twist, start, tangent = self._screw()
        begin = np.concatenate([matrix_to_quaternion(frame_along(where, tangent, up)), start])
        return np.asarray(pose_group.compose(pose_group.exp(np.asarray(s)[..., None] * twist), begin))


@dataclass(frozen=True)
class Line(ScrewCurve):
    """A straight line between two points [m]."""

    start: Any
    end: Any

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            value = as_numbers("curve line", name, getattr(self, name), (3,))
            object.__setattr__(self, name, tuple(value.tolist()))

    @property
    def length(self) -> float:
        return float(np.linalg.norm(np.subtract(self.end, self.start)))

    def _screw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        along = np.subtract(self.end, self.start) / self.length
        return np.concatenate([np.zeros(3), along]), np.array(self.start), along


@dataclass(frozen=True)
class Arc(ScrewCurve):
    """An arc of a circle from a start [m], about an axis through a center [m], by an angle [rad]."""

    start: Any
    center: Any
    axis: Any
    angle: float

    def __post_init__(self) -> None:
        where = "curve arc"
        for name in ("start", "center"):
            object.__setattr__(self, name, tuple(as_numbers(where, name, getattr(self, name), (3,)).tolist()))
        object.__setattr__(self, "axis", tuple(unit_vector(where, "axis", self.axis).tolist()))
        angle = float(as_numbers(where, "angle", self.angle, ()))
        object.__setattr__(self, "angle", angle)
        radius = np.subtract(self.start, self.center)
        if not np.linalg.norm(np.cross(self.axis, radius)) > 1e-12 * np.linalg.norm(radius):
            raise ValueError(f"{where}: start {self.start} is on the axis; expected a point off it")
        if abs(np.dot(self.axis, radius)) > 1e-9 * np.linalg.norm(radius):
            raise ValueError(f"{where}: from center to start is {radius.tolist()}; expected a way across the axis")

    @property
    def length(self) -> float:
        return float(abs(self.angle) * np.linalg.norm(np.subtract(self.start, self.center)))

    def _screw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        center, start = np.array(self.center), np.array(self.start)
        turn = np.sign(self.angle) * np.array(self.axis) / np.linalg.norm(start - center)
        return np.concatenate([turn, np.cross(center, turn)]), start, np.cross(turn, start - center)


@dataclass(frozen=True)
class Helix(ScrewCurve):
    """A helix from a start [m] about an axis through a center [m]: so many turns, each further along the axis by the
    pitch [m]."""

    start: Any
    center: Any
    axis: Any
    pitch: float
    turns: float

    def __post_init__(self) -> None:
        where = "curve helix"
        object.__setattr__(self, "pitch", float(as_numbers(where, "pitch", self.pitch, ())))
        object.__setattr__(self, "turns", float(as_numbers(where, "turns", self.turns, ())))
        same = Arc(self.start, self.center, self.axis, 1.0)  # which checks the others
        for name in ("start", "center", "axis"):
            object.__setattr__(self, name, getattr(same, name))

    @property
    def length(self) -> float:
        around = 2.0 * np.pi * np.linalg.norm(np.subtract(self.start, self.center))
        return float(abs(self.turns) * np.hypot(around, self.pitch))

    def _screw(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        center, start, axis = np.array(self.center), np.array(self.start), np.array(self.axis)
        turn = np.sign(self.turns) * axis / np.hypot(np.linalg.norm(start - center), self.pitch / (2.0 * np.pi))
        linear = np.cross(center, turn) + turn * self.pitch / (2.0 * np.pi)
        return np.concatenate([turn, linear]), start, linear + np.cross(turn, start)


@dataclass(frozen=True)
class Spline(ReferenceCurve):
    """A smooth curve through points [m], with continuous curvature: a cubic spline over the distances between them."""

    points: Any

    def __post_init__(self) -> None:
        where = "curve spline"
        given = np.shape(self.points)
        points = as_numbers(where, "points", self.points, (given[0] if given else 0, 3))
        if len(points) < 2:
            raise ValueError(f"{where}: has {len(points)} points; expected two or more")
        if not (np.linalg.norm(np.diff(points, axis=0), axis=1) > 0.0).all():
            raise ValueError(f"{where}: two points that follow each other are the same; expected a way between them")
        object.__setattr__(self, "points", tuple(map(tuple, points.tolist())))

    @classmethod
    def through(cls, function: Callable[[float], Any], samples: int = SAMPLES) -> Spline:
        """The curve that a function of a number from 0 to 1 gives points of [m]."""
        return cls([function(u) for u in np.linspace(0.0, 1.0, samples).tolist()])

    @classmethod
    def of_formulas(cls, point: Sequence[float | str], samples: int = SAMPLES) -> Spline:
        """The curve whose x, y and z [m] are numbers or expressions of u, from 0 to 1."""
        if len(point) != 3:
            raise ValueError(f"curve function: point has {len(point)} parts; expected x, y and z as expressions of u")
        if samples < 4:
            raise ValueError(f"curve function: samples is {samples}; expected 4 or more")
        return cls.through(lambda u: [evaluate(x, {"u": u}) if isinstance(x, str) else x for x in point], samples)

    @cached_property
    def _spline(self) -> Any:
        from scipy.interpolate import CubicSpline  # slow to load

        points = np.array(self.points)
        u = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
        return CubicSpline(u, points, bc_type="not-a-knot" if len(points) > 3 else "natural")

    @cached_property
    def _lengths(self) -> np.ndarray:
        """Arc length at the knots."""
        knots = self._spline.x
        return np.concatenate([[0.0], np.cumsum(self._arc(knots[:-1], knots[1:]))])

    def _arc(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Arc lengths between two parameters, each pair in one piece."""
        x, w = GAUSS
        half = (b - a) / 2.0
        speed = np.linalg.norm(self._spline((a + half)[:, None] + half[:, None] * x, 1), axis=2)
        lengths: np.ndarray = half * (speed @ w)
        return lengths

    @property
    def length(self) -> float:
        return float(self._lengths[-1])

    def _parameters(self, s: np.ndarray) -> np.ndarray:
        """Parameters at arc lengths, by Newton's method in their pieces."""
        knots, known = self._spline.x, self._lengths
        piece = np.clip(np.searchsorted(known, s, "right") - 1, 0, len(knots) - 2)
        start, before = knots[piece], known[piece]
        u: np.ndarray = start + (knots[piece + 1] - start) * (s - before) / (known[piece + 1] - before)
        for _ in range(8):
            off = before + self._arc(start, u) - s
            u = u - off / np.linalg.norm(self._spline(u, 1), axis=1)
            if np.abs(off).max(initial=0.0) < 1e-15 * known[-1]:
                break
        return u

    def poses(self, s: np.ndarray, where: str, up: Any) -> np.ndarray:
        wanted = np.atleast_1d(np.asarray(s, dtype=float))
        edges = np.unique(np.concatenate([[0.0], wanted.ravel()]))
        parts = np.linspace(0.0, 1.0, SUBSTEPS, endpoint=False)
        fine = np.append((edges[:-1, None] + np.diff(edges)[:, None] * parts).ravel(), edges[-1])
        u = self._parameters(fine)
        places, tangents = self._spline(u), self._spline(u, 1)
        tangents /= np.linalg.norm(tangents, axis=1)[:, None]
        y = frame_along(where, tangents[0], up)[:, 1]
        across = [y]
        for k in range(len(fine) - 1):
            v = places[k + 1] - places[k]
            c = v @ v
            y, mirrored = y - 2.0 / c * (v @ y) * v, tangents[k] - 2.0 / c * (v @ tangents[k]) * v
            v = tangents[k + 1] - mirrored
            y = y - 2.0 / (v @ v) * (v @ y) * v if v @ v > 0.0 else y
            across.append(y)
        rows = np.searchsorted(edges, wanted) * SUBSTEPS
        frames = [np.column_stack([tangents[k], across[k], np.cross(tangents[k], across[k])]) for k in rows]
        return np.concatenate([matrix_to_quaternion(np.array(frames)), places[rows]], axis=1).reshape(*np.shape(s), 7)
