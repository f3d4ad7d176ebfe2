"""A screw: a line with a pitch and a magnitude; the theorems of Chasles and Poinsot.

A twist is ω (e, p × e + h e), a wrench f (p × e + h e, e). Here e is the unit vector along the axis, p a point on it, h
the pitch [m], ω or f the magnitude (mueller2018 appendix B.2). Infinite pitch stands for a pure translation or a pure
couple.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.face import TOLERANCE
from chasles.lie import pose as pose_group
from chasles.lie import se3
from chasles.lie.arrays import real_array
from chasles.screw.frames import dot, halves, is_matrix, join, rotation_and_position, unit

NO_AXIS = np.array([0.0, 0.0, 1.0])  # what is returned as the axis of something that has none


@dataclass(frozen=True, eq=False, init=False)
class Screw:
    """A screw, or an array of them.

    axis: unit vectors (..., 3). point: a point on the axis [m], (..., 3); of no meaning for infinite pitch.
    pitch: [m], may be `inf`. magnitude: rad/s of a twist and N of a wrench; m/s and N m if the pitch is infinite.
    """

    axis: np.ndarray
    point: np.ndarray
    pitch: np.ndarray
    magnitude: np.ndarray

    def __init__(
        self,
        axis: ArrayLike,
        point: ArrayLike = (0.0, 0.0, 0.0),
        pitch: ArrayLike = 0.0,
        magnitude: ArrayLike = 1.0,
    ):
        e = real_array("Screw", "axis", axis, (3,))
        p = real_array("Screw", "point", point, (3,))
        size = real_array("Screw", "magnitude", magnitude, ())
        h = np.asarray(pitch, dtype=float)
        off = np.abs(dot(e, e) - 1.0)
        if np.any(off > TOLERANCE):
            raise ValueError(f"Screw: axis is not a unit vector: its length is off by up to {np.max(off) / 2:.3g}")
        if np.any(np.isnan(h) | (h == -np.inf)):
            raise ValueError("Screw: pitch must be a number or +inf; for a translation the axis gives the direction")
        try:
            batch = np.broadcast_shapes(e.shape[:-1], p.shape[:-1], h.shape, size.shape)
        except ValueError:
            shapes = f"axis {e.shape}, point {p.shape}, pitch {h.shape}, magnitude {size.shape}"
            raise ValueError(f"Screw: shapes do not broadcast: {shapes}") from None
        for name, value, tail in (("axis", e, (3,)), ("point", p, (3,)), ("pitch", h, ()), ("magnitude", size, ())):
            object.__setattr__(self, name, np.broadcast_to(value, batch + tail).copy())

    @classmethod
    def from_twist(cls, twist: ArrayLike) -> Screw:
        """The screw of twists (..., 6).

        The point is the one nearest to the origin and the magnitude is not negative. Without angular velocity the pitch
        is infinite. Zero is a screw of magnitude and pitch 0 whose axis, (0, 0, 1), means nothing.
        """
        angular, linear = halves("Screw.from_twist", "twist", twist)
        return cls(*_line(angular, linear))

    @classmethod
    def from_wrench(cls, wrench: ArrayLike) -> Screw:
        """The screw of wrenches (..., 6), with the rules of `from_twist`; a pure couple has infinite pitch."""
        torque, force = halves("Screw.from_wrench", "wrench", wrench)
        return cls(*_line(force, torque))

    def twist(self) -> np.ndarray:
        """The twist (angular, linear), (..., 6)."""
        return join(*self._ray())

    def wrench(self) -> np.ndarray:
        """The wrench (torque, force), (..., 6)."""
        return join(*reversed(self._ray()))

    def _ray(self) -> tuple[np.ndarray, np.ndarray]:
        """Magnitude times (e, p × e + h e), or (0, e) for infinite pitch."""
        size, infinite = self.magnitude[..., None], np.isinf(self.pitch)[..., None]
        h = np.where(infinite, 0.0, self.pitch[..., None])
        moment = np.cross(self.point, self.axis) + h * self.axis
        return size * np.where(infinite, 0.0, self.axis), size * np.where(infinite, self.axis, moment)


def _line(direction, moment):
    """Axis, point, pitch and magnitude of (e, p × e + h e) times a magnitude."""
    a, e = unit(direction)
    b, m = unit(moment)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        has_axis = np.isfinite(b / a)  # not if it is farther away than doubles reach
    size = np.where(has_axis, a, 1.0)
    axis = np.where(has_axis[..., None], e, np.where((b > 0)[..., None], m, NO_AXIS))
    point = np.where(has_axis[..., None], np.cross(e, moment) / size[..., None], 0.0)
    pitch = np.where(has_axis, dot(e, moment) / size, np.where(b > 0, np.inf, 0.0))
    return axis, point, pitch, np.where(has_axis, a, b)


# ---------------------------------------------------------------- finite displacements


class ScrewMotion(NamedTuple):
    """A finite displacement: a rotation about an axis and a translation along it.

    axis (..., 3), point (..., 3) [m]: the point of the axis nearest to the origin; angle (...) [rad] in [0, π];
    translation (...) [m], of either sign if there is a rotation.
    """

    axis: np.ndarray
    point: np.ndarray
    angle: np.ndarray
    translation: np.ndarray

    @property
    def pitch(self) -> np.ndarray:
        """Translation per angle [m/rad]; `inf` for a translation without rotation, 0 for no motion."""
        still = self.angle == 0
        moved = np.where(self.translation == 0, 0.0, np.inf)
        return np.where(still, moved, self.translation / np.where(still, 1.0, self.angle))

    def twist(self) -> np.ndarray:
        """The twist X (..., 6) with exp(X) the displacement."""
        angle, along = self.angle[..., None], self.translation[..., None]
        return join(angle * self.axis, angle * np.cross(self.point, self.axis) + along * self.axis)

    def pose(self) -> np.ndarray:
        """The displacement as a pose, (..., 7)."""
        return pose_group.exp(self.twist())


def screw_motion(pose: ArrayLike, tolerance: float = 0.0) -> ScrewMotion:
    """Chasles' theorem: every displacement is a rotation about an axis and a translation d along it.

        point = (p⊥ + cot(θ/2) e × p)/2,   d = e·p

    pose: (..., 7) or (..., 4, 4). tolerance: rotations by at most so many radians count as none; the axis of a small
    rotation is as uncertain as rounding errors over its angle. A translation has the axis along itself.
    """
    _, p = rotation_and_position("screw_motion", pose)
    group = se3 if is_matrix("screw_motion", pose) else pose_group
    angle, e = unit(group.log(pose)[..., :3])
    distance, along = unit(p)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        turns = (angle > tolerance) & np.isfinite(4.0 * distance / angle)
    cot = 1.0 / np.tan(0.5 * np.where(turns, angle, 1.0))
    across = np.cross(e, p)
    point = 0.5 * (np.cross(across, e) + cot[..., None] * across)
    axis = np.where(turns[..., None], e, np.where((distance > 0)[..., None], along, NO_AXIS))
    return ScrewMotion(
        axis,
        np.where(turns[..., None], point, 0.0),
        np.where(turns, angle, 0.0),
        np.where(turns, dot(e, p), distance),
    )


# ---------------------------------------------------------------- systems of forces


class CentralAxis(NamedTuple):
    """A system of forces: one force along an axis and a couple about it.

    axis (..., 3), point (..., 3) [m]: the point of the axis nearest to the origin; force (...) [N], not negative;
    couple (...) [N m], of either sign if there is a force.
    """

    axis: np.ndarray
    point: np.ndarray
    force: np.ndarray
    couple: np.ndarray

    def wrench(self) -> np.ndarray:
        """The wrench (torque, force), (..., 6)."""
        force = self.force[..., None] * self.axis
        return join(np.cross(self.point, force) + self.couple[..., None] * self.axis, force)


def central_axis(wrench: ArrayLike) -> CentralAxis:
    """Poinsot's theorem: every wrench (..., 6) is a force and a couple parallel to it. Source: mueller2018 appendix
    B.2.

    A pure couple has force 0 and the axis along itself.
    """
    torque, _ = halves("central_axis", "wrench", wrench)
    screw = Screw.from_wrench(wrench)
    pure_couple = np.isinf(screw.pitch)
    force = np.where(pure_couple, 0.0, screw.magnitude)
    return CentralAxis(screw.axis, screw.point, force, dot(screw.axis, torque))
