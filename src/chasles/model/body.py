"""Rigid bodies and frames on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.placement import ORIGIN, Pose, as_numbers, as_pose, check_name
from chasles.screw import inertia as spatial
from chasles.screw.shape import Shape

UPPER = ((0, 0, 0, 1, 1, 2), (0, 1, 2, 1, 2, 2))  # xx, xy, xz, yy, yz, zz of a 3x3 matrix
FAR = 8.0  # times its size, from where on a body's own frame is not used to find its inertia
NUMBERS: dict[str, Any] = {"mass": 0.0, "com": (0.0, 0.0, 0.0), "inertia": (0.0, 0.0, 0.0)}  # beside a density
GROUND = "ground"  # the name of the inertial frame, on which everything stands


@dataclass(frozen=True)
class Body:
    """A rigid body.

    mass [kg]; com: center of mass in the body's frame [m]; inertia [kg m²]: about the center of mass, in the axes of
    the body's frame. It is a 3x3 matrix, its six entries (xx, xy, xz, yy, yz, zz; xy is -∫xy dm) or three principal
    moments.
    With `density` [kg/m³] instead, all three follow from the shapes; shapes without density are for drawing only.
    physical=False accepts numbers that no distribution of mass has, as robot files often contain.
    """

    name: str
    mass: float = 0.0
    com: ArrayLike = (0.0, 0.0, 0.0)
    inertia: ArrayLike = (0.0, 0.0, 0.0)
    shapes: Sequence[Shape] = ()
    density: float | None = None
    physical: bool = True
    spatial: np.ndarray = field(init=False, repr=False, compare=False)  # 6x6, in the body's frame

    def __post_init__(self) -> None:
        check_name("Body", self.name)
        where = f"body {self.name!r}"
        if self.name == GROUND:
            raise ValueError(f"body {GROUND!r}: the name is taken by the inertial frame")
        object.__setattr__(self, "shapes", tuple(self.shapes))
        for shape in self.shapes:
            if not isinstance(shape, Shape):
                raise ValueError(f"{where}: shapes holds {shape!r}; expected shapes such as chasles.shapes.Box(...)")
        matrix = self._from_shapes(where) if self.density is not None else self._from_numbers(where)
        try:
            if self.physical:
                spatial.check(matrix, strict=False, name="inertia")
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        matrix.flags.writeable = False
        object.__setattr__(self, "spatial", matrix)

    def _from_numbers(self, where: str) -> np.ndarray:
        mass = as_numbers(where, "mass", self.mass, ())
        com = as_numbers(where, "com", self.com, (3,))
        if mass < 0:
            raise ValueError(f"{where}: inertia has negative mass: {mass:.6g}")
        rotational = as_numbers(where, "inertia", self.inertia, (3,), (6,), (3, 3))
        if rotational.shape == (6,):
            rotational = rotational[[[0, 1, 2], [1, 3, 4], [2, 4, 5]]]
        elif rotational.shape == (3,):
            rotational = np.diag(rotational)
        if np.abs(rotational - rotational.T).max() > spatial.STRUCTURE_TOLERANCE * np.abs(rotational).max():
            raise ValueError(f"{where}: inertia is not symmetric: {rotational.tolist()}")
        self._set(mass, com, rotational)
        about_origin = (rotational + mass * _steiner(com))[UPPER]
        return spatial.from_parameters(np.concatenate([[mass], mass * com, about_origin]))

    def _from_shapes(self, where: str) -> np.ndarray:
        if self.mass or np.any(self.com) or np.any(self.inertia):
            raise ValueError(f"{where}: has a density and mass, com or inertia; give one or the other")
        if not self.shapes:
            raise ValueError(f"{where}: has a density but no shapes to take the mass from")
        density = float(as_numbers(where, "density", self.density, ()))
        if not density > 0:
            raise ValueError(f"{where}: density is {density:g}; expected a positive number [kg/m³]")
        try:
            matrix = spatial.combine([shape.inertia(density=density) for shape in self.shapes])
        except ValueError as error:
            raise ValueError(f"{where}: {error}") from None
        except OverflowError:
            raise ValueError(f"{where}: its shapes are too large: their mass is no number") from None
        mass = matrix[5, 5]
        if not mass > 0:
            raise ValueError(f"{where}: its shapes are too small: their mass is {mass:g} kg; expected a positive one")
        com = np.array([matrix[2, 4], matrix[0, 5], matrix[1, 3]]) / mass
        rotational = matrix[:3, :3] - mass * _steiner(com)
        if mass * (com**2).sum() > FAR**2 * np.trace(rotational):  # all m d² about such a frame
            near = [replace(shape, pose=(*shape.pose[:4], *(np.array(shape.pose[4:]) - com))) for shape in self.shapes]
            rotational = spatial.combine([shape.inertia(density=density) for shape in near])[:3, :3]
        self._set(mass, com, rotational)
        return matrix

    def _set(self, mass: float | np.ndarray, com: np.ndarray, rotational: np.ndarray) -> None:
        object.__setattr__(self, "mass", float(mass))
        object.__setattr__(self, "com", tuple(com.tolist()))
        object.__setattr__(self, "inertia", tuple(map(tuple, rotational.tolist())))

    def changed(self, **values: Any) -> Body:
        """This body with other values. A body with density computes mass, com and inertia from its shapes again, unless
        one of these is given."""
        if values.keys() & NUMBERS.keys():
            return replace(self, **{"density": None} | values)
        return replace(self, **(NUMBERS if values.get("density", self.density) is not None else {}) | values)

    @property
    def massless(self) -> bool:
        """Whether it has no mass."""
        return self.mass == 0.0


def _steiner(com: np.ndarray) -> np.ndarray:
    """Inertia of a unit mass at `com` about the origin."""
    # a sum, not com @ com: BLAS fuses operations on some processors, and variants would differ by a bit
    return np.asarray((com**2).sum() * np.eye(3) - np.outer(com, com))


@dataclass(frozen=True)
class Frame:
    """A named place on a body: `pose` of the frame in the body's frame (a pose, a 4x4 matrix or a position [m])."""

    name: str
    body: str
    pose: Pose = ORIGIN

    def __post_init__(self) -> None:
        check_name("Frame", self.name)
        object.__setattr__(self, "pose", as_pose(f"frame {self.name!r}", "pose", self.pose))
