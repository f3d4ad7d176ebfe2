"""What an environment is made of: a system, and what is observed, done, rewarded and ended, for all members at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import numpy as np
from gymnasium import spaces

from chasles.model.system import System


class Starts(NamedTuple):
    """Starts, a row for each: coordinates, velocities, and what the episode has to reach (maybe nothing)."""

    q: np.ndarray
    v: np.ndarray
    goal: np.ndarray


class Scenario(ABC):
    """A task on a mechanism. Arrays have a row for each member.

    `step` [s] is the step of the integration (RK4), of which an action holds `steps`. Episodes are truncated after
    `limit` actions. `observation` and `action` are spaces of one member. A start takes so many random numbers,
    `chances`.
    """

    step: float
    steps: int = 1
    limit: int = 500
    chances: int
    observation: spaces.Box
    action: Any

    @abstractmethod
    def system(self) -> System:
        """The mechanism, in joint coordinates, as `BatchSimulation` takes it."""

    @abstractmethod
    def start(self, chances: np.ndarray) -> Starts:
        """Starts of random numbers (members, `chances`), uniform in [0, 1)."""

    @abstractmethod
    def inputs(self, actions: np.ndarray) -> np.ndarray:
        """Inputs of the mechanism, (members, inputs), of actions."""

    @abstractmethod
    def observe(self, q: np.ndarray, v: np.ndarray, goals: np.ndarray) -> np.ndarray:
        """What is seen of states, (members, numbers)."""

    @abstractmethod
    def judge(
        self, q: np.ndarray, v: np.ndarray, inputs: np.ndarray, goals: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rewards of the states that actions led to, (members,), and whether episodes end there."""


def unbounded(size: int) -> spaces.Box:
    """Observations of so many numbers."""
    return spaces.Box(-np.inf, np.inf, (size,), np.float32)
