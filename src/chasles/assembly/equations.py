"""The constraint equations of a mechanism at a time, as all that looks for states on them takes them.

What differs between coordinates is in a few functions here; `search` and `mobility` are written once on them. All of it
is dense and careful: for starts, not for steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from chasles.assembly.rank import shortest
from chasles.cached import cached_property
from chasles.model.scale import length_of


class Linear(NamedTuple):
    """All rows at a configuration, in directions y in which kinetic energy is half a sum of squares."""

    rows: np.ndarray  # F = J R, of velocities v = R y
    reach: np.ndarray  # of each row the scale of F: against it a row counts as zero
    step: Callable[[np.ndarray], np.ndarray]  # R y, (velocities, ...); zero for what is held


class Equations(ABC):
    """A configuration x is what the mechanism takes: joint coordinates, or poses of the bodies."""

    what: str  # a configuration in words
    dense: bool = True  # whether the Jacobian is looked at as a whole; else only `project` is used
    goal: float | None = None  # residual from which on `project` takes over [rad, or sizes of bodies]; None: rounding
    cut_off: float  # of singular values on the way to the constraints, where dependent rows are not quite dependent
    units: np.ndarray  # what is large for each row: 1 rad, or the size of a body [m]
    constraint_of_row: np.ndarray
    sliding: np.ndarray  # whether each velocity is one of a length, not of an angle

    def __init__(self, mechanism: Any, t: float, held: np.ndarray):
        """held: the velocities that are zero in all steps."""
        self.mechanism, self.t, self.held = mechanism, t, held
        self.system, self.names = mechanism.system, mechanism.constraint_names

    # ------------------------------------------------------------ what a mechanism says

    @abstractmethod
    def linear(self, x: np.ndarray, on_group: bool = False) -> Linear:
        """The rows; on the group those that align axes are rotation vectors, which a half turn does not satisfy."""

    @abstractmethod
    def residual(self, x: np.ndarray) -> np.ndarray:
        """Of all rows, on the group."""

    @abstractmethod
    def speeds(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """J v less what is asked for, of all rows."""

    @abstractmethod
    def violation(self, x: np.ndarray, scaled: bool = True) -> np.ndarray:
        """How far each constraint is off, in radians and sizes of bodies or as it is [m or rad]."""

    @abstractmethod
    def moved(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        """A configuration moved by a step (velocities,)."""

    @abstractmethod
    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest configuration on the constraints, to rounding, of one that is near."""

    @abstractmethod
    def returned(self, x: np.ndarray, rank: int) -> np.ndarray:
        """`project` of one where so many rows are independent, without looking whether it is so."""

    @abstractmethod
    def extent(self, x: np.ndarray) -> float:
        """How far bodies are from the origin [m]."""

    @abstractmethod
    def fastest(self, v: np.ndarray) -> float:
        """The largest velocity [rad, or sizes of a body, per second]."""

    def sped(self, x: np.ndarray, v: np.ndarray, step: np.ndarray) -> np.ndarray:
        """Velocities and a step of them."""
        return v + step

    # ------------------------------------------------------------ what follows from it

    @cached_property
    def free(self) -> np.ndarray:
        """The velocities that are not held."""
        return np.delete(np.arange(len(self.sliding)), self.held)

    @cached_property
    def length(self) -> float:
        return length_of(self.system)

    def sizes(self, far: float = 1.0) -> np.ndarray:
        """What is large for each velocity of a mechanism that is so large: 1 rad, or its length [m]."""
        return np.where(self.sliding, far * self.length, 1.0)

    def size(self, x: np.ndarray) -> float:
        """The size of the mechanism and how far it is from the origin, in lengths of the model: what it is rounded
        to."""
        return 1.0 + self.extent(x) / self.length

    def nearest_velocities(self, x: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Velocities moved onto the constraints by the shortest way in the metric of the masses; held ones stay."""
        at = self.linear(x)
        for _ in range(2):  # the second takes away the rounding of the first
            v = self.sped(x, v, at.step(shortest(at.rows, at.reach, -self.speeds(x, v))))
        return v

    def by_constraint(self, rows: np.ndarray) -> np.ndarray:
        """The largest of the numbers (rows,) of each constraint."""
        return largest_of(rows, self.constraint_of_row, len(self.names))

    def listed(self, amounts: np.ndarray, limit: float, unit: str, shown: np.ndarray) -> str:
        """The constraints that are off by more than a limit, worst first, with what is shown of each."""
        order = np.argsort(-np.nan_to_num(amounts, nan=np.inf))
        found = [f"{self.names[k]!r} by {shown[k]:.3g}" for k in order if not amounts[k] <= limit]
        return f"{'; '.join([*found[:8], '...'][: len(found)])} {unit}"

    def off(self, x: np.ndarray, limit: float) -> str | None:
        """What a configuration violates by more than a limit [rad, or sizes of bodies]; None if nothing."""
        amounts = self.violation(x)
        if amounts.max(initial=0.0) <= limit:
            return None
        return self.listed(amounts, limit, "[m or rad]", self.violation(x, scaled=False))


def largest_of(numbers: np.ndarray, owner: np.ndarray, count: int) -> np.ndarray:
    """The largest size of the numbers (..., k) of each owner (-1: none), (..., count); zero for one that has none."""
    found, own = np.zeros((*numbers.shape[:-1], count)), owner >= 0
    with np.errstate(invalid="ignore"):  # NaN stays NaN
        np.maximum.at(np.moveaxis(found, -1, 0), owner[own], np.moveaxis(np.abs(numbers[..., own]), -1, 0))
    return found


def names_of(names: Iterable[str]) -> tuple[str, ...]:
    """One name, or several."""
    return (names,) if isinstance(names, str) else tuple(names)
