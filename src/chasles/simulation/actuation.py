"""From the input of a controller to generalized forces: through the system's actuators, or directly."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.kernel.direct import Form, available, builtin
from chasles.model.mimic import Following
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.fixed_steps import hold

Input = ArrayLike | Mapping[str, ArrayLike]  # of all actuators, or velocities, in their order, or of some by name


NUMBER = np.dtype(float)
HELD = Form(("fixed",) * 5 + ("in", "out"), 0.0, finite_result=False, clear=False)


def _no_direct_calls(given: Any) -> None:
    """As a direct call that refuses everything."""


class Actuation:
    """The actuators of a system as arrays."""

    def __init__(
        self,
        system: System,
        velocities: Mapping[str, slice],
        nv: int,
        order: np.ndarray | None = None,
        following: Mapping[str, Following] | None = None,
    ):
        """velocities: where those of each joint are among all nv. order: where those are along which an input acts if
        there are no actuators, by default all; one that is beyond nv belongs to no joint. following: joints that follow
        others, on which an actuator acts by the ratio."""
        self.nv, self.order = nv, np.arange(nv) if order is None else order
        self._own = self.order < nv
        self._plain = np.array_equal(self.order, np.arange(nv))
        self.actuators, self._velocities = system.actuators, velocities
        rules = {a.joint: (following or {}).get(a.joint, Following(a.joint, 1.0, 0.0)) for a in self.actuators}
        leaders = [(velocities[rules[a.joint].leader].start, a.coordinate) for a in self.actuators]
        self._index = np.array([first + coordinate for first, coordinate in leaders], dtype=int)
        self._gear = np.array([a.gear * rules[a.joint].ratio for a in self.actuators], dtype=float)
        self._limits = np.array([(a.lower, a.upper) for a in self.actuators], dtype=float).reshape(-1, 2)
        self._shape = (self.inputs,)
        self._apart = len(set(self._index.tolist())) == len(self._index)  # no two on one velocity

    @classmethod
    def of_tree(cls, mechanism: Mechanism | ClosedMechanism) -> Actuation:
        """Those of a mechanism in joint coordinates."""
        depends = mechanism.tree.dependence
        following = None if depends is None else depends.following
        return cls(mechanism.system, mechanism.tree.velocities, mechanism.nv, following=following)

    @property
    def inputs(self) -> int:
        """Numbers in an input."""
        return len(self.actuators) or len(self.order)

    def forces(self, u: Input) -> np.ndarray:
        """Generalized forces (nv) of an input: gear times the input, held within the actuator's limits."""
        return self.along(self.read(u))

    def read(self, given: Input, told: str = "the input is") -> np.ndarray:
        """An input as numbers; told: how messages speak of it."""
        try:
            if isinstance(given, np.ndarray) and given.dtype is NUMBER and given.ndim:
                numbers = given.copy()
            else:
                numbers = np.array(given, dtype=float, ndmin=1)
            if numbers.shape == self._shape and all(map(math.isfinite, numbers.tolist())):
                return numbers
        except (TypeError, ValueError):
            pass
        return self._read(given, told)

    def holder(self, forces: np.ndarray) -> Callable[[Any], np.ndarray | None]:
        """A function of an input that puts its generalized forces into an array, `forces` (nv), and returns a copy of
        it: quick, for loops in Python. It gives None for all that is no array of finite numbers: then ask `read`."""
        if not (available() and self._own.all() and self.inputs and forces.size):
            return _no_direct_calls
        if self.actuators:
            bounds = np.ascontiguousarray(self._limits.T)
            fixed = (forces, self._index, self._gear, bounds[0], bounds[1])
        else:
            far = np.full(self.inputs, np.inf)
            fixed = (forces, self.order, np.ones(self.inputs), -far, far)
        nothing = np.zeros(self.inputs)
        hold(*fixed, nothing, nothing.copy())  # compiled now, or loaded from the cache
        return builtin(hold, HELD, (*fixed, self.inputs, self.inputs), self._shape, np.empty(0, dtype=np.int64))

    def _read(self, given: Input, told: str) -> np.ndarray:
        """The same for what is not plainly an array of finite numbers."""
        if isinstance(given, Mapping):
            return self._read(self._by_name(given), told)
        what = "actuators" if self.actuators else "velocities and no actuators"
        try:
            values = np.atleast_1d(np.array(given, dtype=float))
        except (TypeError, ValueError):
            values = np.empty(0)
        if given is None or (not values.size and self.inputs):
            wanted = "1 number" if self.inputs == 1 else f"{self.inputs} numbers"
            raise TypeError(f"simulate: {told} {given!r}; expected {wanted}: the system has {self.inputs} {what}")
        if values.shape != (self.inputs,):
            raise ValueError(f"simulate: the input has shape {values.shape}; the system has {self.inputs} {what}")
        if not np.isfinite(values).all():
            raise ValueError(f"simulate: number {int(np.argmin(np.isfinite(values)))} of the input is not finite")
        return values

    def _by_name(self, given: Mapping[str, ArrayLike]) -> np.ndarray:
        """The input of some actuators, or joints if there are none, by name; the others get nothing."""
        if self.actuators:
            places = {actuator.name: np.array([k]) for k, actuator in enumerate(self.actuators)}
        else:
            own = {name: (self.order >= at.start) & (self.order < at.stop) for name, at in self._velocities.items()}
            places = {name: np.flatnonzero(among) for name, among in own.items() if among.any()}
        found = np.zeros(self.inputs)
        for name, values in given.items():
            if name not in places:
                what = "actuator" if self.actuators else "joint that moves, nor an actuator,"
                known = ", ".join(map(repr, places)) or "none"
                raise ValueError(f"simulate: the input has {name!r}, and there is no such {what}; there are {known}")
            if np.size(values) != len(places[name]):
                raise ValueError(
                    f"simulate: the input has {np.size(values)} numbers of {name!r}; expected {len(places[name])}"
                )
            found[places[name]] = np.ravel(values)
        return found

    def along(self, inputs: np.ndarray) -> np.ndarray:
        """Generalized forces (..., nv) of inputs (..., inputs)."""
        if self._plain and not self.actuators:
            return inputs
        total = np.zeros((*inputs.shape[:-1], self.nv))
        if self.actuators:
            held = self._gear * np.minimum(np.maximum(inputs, self._limits[:, 0]), self._limits[:, 1])
            if self._apart:
                total[..., self._index] += held
                return total
            for k, place in enumerate(self._index):
                total[..., place] += held[..., k]
            return total
        if np.any(inputs[..., ~self._own]):
            raise ValueError(
                "simulate: in absolute coordinates no input acts on a body whose loop floats: its free joint is one of "
                'joint coordinates only; take coordinates="relative", or a Wrench'
            )
        total[..., self.order[self._own]] = inputs[..., self._own]
        return total

    def matrix(self, u: np.ndarray) -> np.ndarray:
        """Derivative of the forces with respect to the input, (nv, inputs); zero for an input beyond its limits."""
        if not self.actuators:
            return np.eye(self.nv)[:, self.order]
        result = np.zeros((self.nv, self.inputs))
        inside = (self._limits[:, 0] <= u) & (u <= self._limits[:, 1])
        result[self._index, np.arange(self.inputs)] = np.where(inside, self._gear, 0.0)
        return result

    @property
    def numbers(self) -> np.ndarray:
        """What forces depend on besides inputs: of each actuator its gear and its limits."""
        return np.concatenate([self._gear, self._limits[:, 0], self._limits[:, 1]])

    def numbers_back(self, inputs: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """Derivatives by `numbers` of a number from those by the forces, (k, nv), of inputs (k, inputs)."""
        if not self.actuators:
            return np.zeros(0)
        own, (low, high) = forces[:, self._index], self._limits.T
        below, above = inputs < low, inputs > high
        held = np.minimum(np.maximum(inputs, low), high)
        by_limits = (np.where(beyond, own * self._gear, 0.0) for beyond in (below, above))
        return np.concatenate([np.where(own != 0.0, own * held, 0.0).sum(axis=0), *(x.sum(axis=0) for x in by_limits)])

    def back(self, inputs: np.ndarray, forces: np.ndarray) -> np.ndarray:
        """Derivatives by inputs (k, inputs) of a number from those by the forces of each, (k, nv): `matrix` from the
        other side."""
        if not self.actuators:
            return np.concatenate([forces, np.zeros((len(forces), 1))], axis=1)[:, np.where(self._own, self.order, -1)]
        inside = (self._limits[:, 0] <= inputs) & (inputs <= self._limits[:, 1])
        return np.where(inside, self._gear * forces[:, self._index], 0.0)
