"""What a run needs to know of a method: its compiled loop, its memory, how it starts and how its step is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chasles.kernel.memory import Regions


class StepRule(NamedTuple):
    """How the estimated error changes the step: by safety (1/error)^(1/order), within limits; the step is kept if the
    factor is within `keep`.

    The error of a step may be share tol^power, of orders such that what it adds up to follows the tolerance tol.
    """

    order: int
    safety: float
    least: float
    most: float
    keep: tuple[float, float] = (1.0, 1.0)
    share: float = 1.0
    power: float = 1.0

    def of_a_step(self, tol: float) -> float:
        """The tolerance of a step."""
        return self.share * float(tol) ** self.power


class Density(NamedTuple):
    """Steps that follow the motion so that a run backward takes the same ones (`reversible`): accuracy tol^(1/2) times
    the time in which the motion changes."""

    accuracy: float
    order: int = 2

    def of_a_step(self, tol: float) -> float:
        """The step, in units of that time."""
        return self.accuracy * float(tol) ** (1 / self.order)


def no_rule(method: Any) -> StepRule | Density | None:
    """Steps are fixed."""
    return None


@dataclass(frozen=True)
class Scheme:
    """A method for constrained systems. Functions take `method`, the data that the user gave."""

    data: type  # the class of these data, in `integrate.constrained_method`
    loop: Any  # its compiled loop over steps, loop(call)
    state: Regions  # what it carries from step to step, beginning with the point and ending with `workspace.CARRIED`
    vectors: Regions  # its workspace
    parameters: Callable[[Any, float, float], np.ndarray]  # of the loop, from (method, rtol, atol)
    start: Callable[[Any, Any], dict[str, Any]]  # regions of the state, from (`start.Start`, method)
    positions_alone: Callable[[Any], bool]  # whether it solves no equations of velocities
    step_rule: Callable[[Any], StepRule | Density | None] = no_rule
    take_beside: Callable[[Any, int], int] | None = None  # steps by other means, (run, limit): how many are left to do
    first_step: Callable[[Any, float, float], bool] | None = None  # one by other means, (run, t, h): whether it is
    change_step: Callable[[Any, float, float], None] | None = None  # carries the state to another step, (run, t, h)
