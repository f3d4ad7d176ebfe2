"""What a run needs to know of a method: its compiled loop, its memory, how it starts and how its step is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from chasles.kernel.memory import Regions


class StepRule(NamedTuple):
    """How the estimated error changes the step: by safety (1/error)^(1/order), within limits; the step is kept if the
    factor is within `keep`."""

    order: int
    safety: float
    least: float
    most: float
    keep: tuple[float, float] = (1.0, 1.0)


def no_rule(method: Any) -> StepRule | None:
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
    step_rule: Callable[[Any], StepRule | None] = no_rule
    take_beside: Callable[[Any, int], int] | None = None  # steps by other means, (run, limit): how many are left to do
