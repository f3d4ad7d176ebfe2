"""What residuals are multiplied with: the derivative by a parameter is that of minus their sum."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.body_residuals import MovingStates


class Weights(NamedTuple):
    """What residuals of states are multiplied with: of motion, of the shift x (along the chart), of places, of speeds
    and of changes."""

    motion: np.ndarray
    shift: np.ndarray
    place: np.ndarray
    speed: np.ndarray
    change: np.ndarray


class Weighed(NamedTuple):
    """States and what their residuals are multiplied with."""

    states: MovingStates
    weights: Weights


def gathered(account: list[Weighed]) -> Weighed:
    """All states with their weights, as one."""
    return Weighed(
        MovingStates(*(np.concatenate(parts) for parts in zip(*(one.states for one in account), strict=True))),
        Weights(*(np.concatenate(parts) for parts in zip(*(one.weights for one in account), strict=True))),
    )
