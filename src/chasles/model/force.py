"""Forces: what acts on bodies and joints besides gravity and the joints' own springs and dampers.

A law written by the user is compiled by the decorator `chasles.law`, or is a plain Python function (slower by a
microsecond a call); its arguments are arrays, and its result is written to `out`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.model.expression_law import Expression, settle_expression, written
from chasles.model.law import Law, as_law
from chasles.model.placement import ORIGIN, as_numbers, as_pose, check_name
from chasles.screw.representation import check_representation

NOTHING = (0.0,) * 6
SYMMETRIC = 1e-9  # by how much a symmetric matrix may be off, beside its diagonal; measured ones are rounded


class BetweenBodies:
    """What acts between two bodies at places on them, and on nothing else."""

    name: str
    bodies: tuple[str, str]
    points: Any  # in the bodies' frames [m]

    def _settle_bodies(self, where: str) -> None:
        if isinstance(self.bodies, str) or len(tuple(self.bodies)) != 2 or self.bodies[0] == self.bodies[1]:
            raise ValueError(f"{where}: bodies is {self.bodies!r}; expected the names of two different bodies")
        object.__setattr__(self, "bodies", tuple(self.bodies))


@dataclass(frozen=True)
class Spring(BetweenBodies):
    """A spring with damper between a point on one body and a point on another (points in the bodies' frames [m]).

    It pulls with stiffness (distance - length) + damping d(distance)/dt [N]; `length` is its free length [m].
    """

    name: str
    bodies: tuple[str, str]
    points: Any = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    stiffness: float = 0.0
    damping: float = 0.0
    length: float = 0.0

    def __post_init__(self) -> None:
        check_name("Spring", self.name)
        where = f"spring {self.name!r}"
        self._settle_bodies(where)
        points = as_numbers(where, "points", self.points, (2, 3))
        object.__setattr__(self, "points", tuple(map(tuple, points.tolist())))
        for name in ("stiffness", "damping", "length"):
            value = float(as_numbers(where, name, getattr(self, name), ()))
            if value < 0:
                raise ValueError(f"{where}: {name} is {value:g}; expected zero or more")
            object.__setattr__(self, name, value)


@dataclass(frozen=True)
class TwoPointForce(BetweenBodies):
    """A force along the line between a point on one body and a point on another, by a law of their distance and its
    rate: nonlinear dampers, springs that only push or only pull, bump stops.

    value: what the points are pulled toward each other with [N]; a negative one pushes them apart. An expression of
    `distance` [m], `speed` (its rate [m/s]), t, and of other joints, q("crank") and v("crank"), such as
    "-2e5 * max(0.1 - distance, 0)"; or a law f(t, x, y, parameters, out) with the distance in x[0] and the speed in
    y[0], which writes out[0]. Its work is counted as work, not as energy that is stored. points: in the bodies' frames
    [m].
    """

    name: str
    bodies: tuple[str, str]
    value: Any
    points: Any = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))
    parameters: Sequence[float] = ()

    def __post_init__(self) -> None:
        check_name("TwoPointForce", self.name)
        where = f"two-point force {self.name!r}"
        self._settle_bodies(where)
        points = as_numbers(where, "points", self.points, (2, 3))
        object.__setattr__(self, "points", tuple(map(tuple, points.tolist())))
        if isinstance(self.value, int | float) and not isinstance(self.value, bool):
            object.__setattr__(self, "value", repr(float(as_numbers(where, "value", self.value, ()))))
        if not isinstance(self.value, str | Law) and written(self.value):
            raise ValueError(f"{where}: value is {self.value!r}; expected one expression, a number or a law")
        if not (isinstance(self.value, str) or callable(self.value) or isinstance(self.value, Law)):
            raise ValueError(
                f"{where}: value is {self.value!r}; expected an expression of distance and speed, or a law"
            )
        _settle(self, where, (), ("t", "distance", "speed"))
        if isinstance(self.value, Expression):
            try:
                self.value.slopes()
            except ValueError as error:  # what has no value with all constants put together
                raise ValueError(f"{where}: value {error}") from None


@dataclass(frozen=True)
class Bushing(BetweenBodies):
    """An elastic mount between a frame on one body and a frame on another, relaxed where the two frames coincide.

    frames: poses in the bodies' frames. C is the pose of the second frame in the first. X = log C has six numbers:
    rotation vector [rad] and translation [m], along the frames' axes. The bushing stores 1/2 XᵀKX and dissipates
    X'ᵀDX'. For small X it pulls back with K X + D X' (torque [N m], force [N]); for large ones with what
    derives from this energy. It does not matter which body is the first.

    stiffness K, damping D: six numbers, or symmetric 6x6 matrices without negative eigenvalues. Rotations come first
    [N m/rad], [N m s/rad]; then translations [N/m], [N s/m]; what couples them in [N/rad] = [N m/m] and [N s]. A
    rotation is counted to half a turn, the shorter way.
    """

    name: str
    bodies: tuple[str, str]
    frames: Any = (ORIGIN, ORIGIN)
    stiffness: Any = NOTHING
    damping: Any = NOTHING

    def __post_init__(self) -> None:
        check_name("Bushing", self.name)
        where = f"bushing {self.name!r}"
        self._settle_bodies(where)
        if not isinstance(self.frames, Sequence | np.ndarray) or len(self.frames) != 2:
            raise ValueError(f"{where}: frames is {self.frames!r}; expected a pose on each of the two bodies")
        frames = tuple(as_pose(where, f"frames[{k}]", frame) for k, frame in enumerate(self.frames))
        object.__setattr__(self, "frames", frames)
        for name in ("stiffness", "damping"):
            object.__setattr__(self, name, _six_by_six(where, name, getattr(self, name)))

    @property
    def points(self) -> tuple[tuple[float, ...], ...]:
        """Origins of the two frames, in the bodies' frames [m]."""
        return tuple(frame[4:] for frame in self.frames)


def _six_by_six(where: str, name: str, given: Any) -> tuple[Any, ...]:
    """A symmetric matrix without negative eigenvalues as its diagonal, or if there is more to it, by rows."""
    value = as_numbers(where, name, given, (6,), (6, 6))
    matrix = np.diag(value) if value.ndim == 1 else value
    diagonal = np.diag(matrix)
    if (diagonal < 0).any():
        raise ValueError(f"{where}: {name} has {diagonal.min():g} on its diagonal; expected zero or more")
    unit = np.where(diagonal > 0, diagonal, 1.0) ** -0.5  # rows have different units: judged beside the diagonal
    scaled = matrix * np.outer(unit, unit)
    if np.abs(scaled - scaled.T).max() > SYMMETRIC:
        i, j = np.unravel_index(np.argmax(np.abs(scaled - scaled.T)), (6, 6))
        raise ValueError(
            f"{where}: {name} is not symmetric: {matrix[i, j]:g} in row {i}, column {j}, but {matrix[j, i]:g} in row "
            f"{j}, column {i}; expected a symmetric matrix, which has an energy"
        )
    least = np.linalg.eigvalsh(scaled).min()
    if least < -SYMMETRIC:
        raise ValueError(
            f"{where}: {name} has a negative eigenvalue ({least:.2g} with its diagonal scaled to 1); expected none: it "
            "would push away from rest"
        )
    matrix = 0.5 * (matrix + matrix.T)
    rows = tuple(map(tuple, matrix.tolist()))
    return rows if (matrix != np.diag(diagonal)).any() else tuple(diagonal.tolist())


@dataclass(frozen=True)
class Wrench:
    """A wrench (torque [N m], force [N]) on a body, constant or a law of time and the body's motion.

    representation: "body" is in the body's frame and turns with it; "hybrid" is in axes of space, at the body's origin;
    "spatial" is at the origin of space; "mixed" has the torque in the body's axes and the force in those of space.
    value: six numbers; expressions of time among them, such as "20 * half_sine(t, 1, 1.1)", and of joints and frames,
    q("crank"), v("crank"), distance("hook", "ground"), speed("hook", "ground"); or a law f(t, pose, twist, parameters,
    out) of the body's pose (7) and body twist (6).
    """

    name: str
    body: str
    value: Any  # numbers or a function
    representation: str = "body"
    parameters: Sequence[float] = ()

    def __post_init__(self) -> None:
        check_name("Wrench", self.name)
        where = f"wrench {self.name!r}"
        check_representation(where, self.representation)
        _settle(self, where, (6,), ("t",))


@dataclass(frozen=True)
class JointForce:
    """Generalized forces on a joint, constant or a law of time and the joint's motion.

    value: one number for each velocity of the joint; expressions of t, q and v, such as "-5 * v * abs(v)", and of other
    joints and frames, q("crank"), v("crank"), distance("hook", "ground"), speed("hook", "ground"); or a law f(t, q, v,
    parameters, out) with the joint's coordinates and velocities. parameters: numbers for the law, or numbers by name
    for expressions.
    """

    name: str
    joint: str
    value: Any  # numbers or a function
    parameters: Sequence[float] = ()

    def __post_init__(self) -> None:
        check_name("JointForce", self.name)
        where = f"joint force {self.name!r}"
        shape = (len(self.value),) if isinstance(self.value, Sequence | np.ndarray) else ()
        _settle(self, where, shape, ("t", "q", "v"))


def _settle(
    force: Wrench | JointForce | TwoPointForce, where: str, shape: tuple[int, ...], variables: tuple[str, ...]
) -> None:
    if written(force.value):
        count = len(force.value.texts if isinstance(force.value, Expression) else force.value)
        if shape and not isinstance(force.value, str) and count != shape[0]:
            raise ValueError(f"{where}: value has {count} expressions; expected {shape[0]}")
        if isinstance(force, Wrench) and isinstance(force.value, str):
            raise ValueError(f"{where}: value is {force.value!r}; expected six numbers or expressions")
        settle_expression(force, where, variables, sees=True)
        return
    if callable(force.value) or isinstance(force.value, Law):
        object.__setattr__(force, "value", as_law(force.value))
    else:
        numbers = as_numbers(where, "value", force.value, shape)
        object.__setattr__(force, "value", tuple(np.atleast_1d(numbers).tolist()))
    parameters = as_numbers(where, "parameters", force.parameters, (len(force.parameters),))
    object.__setattr__(force, "parameters", tuple(parameters.tolist()))


Force = Spring | TwoPointForce | Bushing | Wrench | JointForce
