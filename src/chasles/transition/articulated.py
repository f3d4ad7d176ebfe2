"""Joint coordinates of other libraries, with quaternions among them, as points of a space.

y = (coordinates, velocities, further states). Coordinates of free and ball joints are stored as blocks of their groups,
in the order of this library; velocities and further states stay as they are.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.problem import LieODE
from chasles.integrate.space import Space
from chasles.lie import s3
from chasles.lie.transition.coordinates import SE3, local_of

INVERSE = np.array([1.0, -1.0, -1.0, -1.0])


@dataclass(frozen=True)
class JointBlock:
    """A joint: where its coordinates are, in our order (quaternion wxyz, position), and its velocities (angular,
    linear), in the arrays of the other library."""

    form: str  # "free", "ball" or "vector"
    q: tuple[int, ...]
    v: tuple[int, ...]


class ArticulatedProblem(ABC):
    """A model of another library as a problem for `solve`; derived classes evaluate the accelerations.

    `linear` says how velocities of free joints are given: "mixed" (ω_b, r') or "body".
    """

    linear = "mixed"

    def __init__(self, joints: list[JointBlock], nq: int, nv: int, others: int, local: str):
        self.local = local_of(type(self).__name__, local)
        self.nq, self.nv, self.others = nq, nv, others
        blocks: list[str] = []
        for joint in joints:
            if joint.form == "free":
                blocks += ["pose"] if self.local.group == SE3 else ["s3", "r3"]
            else:
                blocks.append("s3" if joint.form == "ball" else f"r{len(joint.q)}")
        self._q = np.array([k for joint in joints for k in joint.q], dtype=np.int64)
        self._v = np.array([k for joint in joints for k in joint.v], dtype=np.int64)
        ends = np.cumsum([0, *(len(joint.v) for joint in joints)])
        starts = np.cumsum([0, *(len(joint.q) for joint in joints)])
        # free joints whose velocities the group wants otherwise: (quaternion in y, linear velocity in the algebra)
        turned = self.linear != ("body" if self.local.group == SE3 else "mixed")
        self._free = [
            (int(iq), int(iv) + 3)
            for joint, iq, iv in zip(joints, starts[:-1], ends[:-1], strict=True)
            if joint.form == "free" and turned
        ]
        self.space = Space(*blocks, f"r{nv + others}", side="right")

    # ------------------------------------------------------------ states

    def state(self, q: ArrayLike, v: ArrayLike, others: ArrayLike = ()) -> np.ndarray:
        """The point y of coordinates and velocities as the other library has them."""
        parts = []
        for name, value, size in (("q", q, self.nq), ("v", v, self.nv), ("others", others, self.others)):
            array = np.asarray(value, dtype=float).reshape(-1)
            if array.size != size:
                raise ValueError(f"{type(self).__name__}.state: {name} has {array.size} numbers; expected {size}")
            parts.append(array)
        return self.space.check(np.concatenate([parts[0][self._q], *parts[1:]]))

    def split(self, y: ArrayLike) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Coordinates, velocities and further states of points (..., size), as the other library has them."""
        points = np.asarray(y, dtype=float)
        q = np.empty((*points.shape[:-1], self.nq))
        q[..., self._q] = points[..., : self.nq]
        return q, points[..., self.nq : self.nq + self.nv], points[..., self.nq + self.nv :]

    # ------------------------------------------------------------ for the integrators

    @abstractmethod
    def accelerate(self, t: float, q: np.ndarray, v: np.ndarray, others: np.ndarray) -> tuple[ArrayLike, ArrayLike]:
        """Accelerations, and the rates of further states."""

    @property
    def ode(self) -> LieODE:
        """The same as a `LieODE`: what `solve` integrates."""
        return LieODE(self.space, self._evaluate, (), None, self.local.map)

    def _evaluate(self, t: float, y: np.ndarray, p: Any) -> np.ndarray:
        q, v, others = self.split(y)
        velocity = v[self._v]
        for iq, iv in self._free:
            turn = y[iq : iq + 4] if self.linear == "body" else INVERSE * y[iq : iq + 4]
            velocity[iv : iv + 3] = s3.act(turn, velocity[iv : iv + 3])
        return np.concatenate([velocity, *self.accelerate(t, q, v, others)], axis=None)
