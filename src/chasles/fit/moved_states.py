"""States of a mechanism at the times of a sensor, and how what is shown of them changes along directions."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.integrate.solution import Solution
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.states import States

ALONG = 1e-3  # rad, or part of a body's size: how far states are moved for differences
WEIGHTS = {1: 2 / 3, -1: -2 / 3, 2: -1 / 12, -2: 1 / 12}


def sprung_like(system: System, like: Any) -> Any:
    """The system compiled as another one, with a place for springs and dampers at each joint, even if none has any."""
    if isinstance(like, ClosedMechanism):
        return ClosedMechanism(system, like.cut, sprung=True)
    return Mechanism(system, sprung=True)


def states_at(dynamics: Any, run: Any, t: np.ndarray, q: np.ndarray, v: np.ndarray, rows: np.ndarray) -> States:
    """States of a mechanism at times; inputs are those of the run."""
    w = dynamics.free.from_body(q, v) if dynamics.free else v
    y = np.concatenate([q, w, np.zeros((len(q), 1))], axis=1)
    given = None if run.given is None else run.given[rows]
    return States(dynamics, Solution(dynamics.space, run.solution.method, t, y, True, ""), given)


def derivative_along(run: Any, shown: Any, dq: np.ndarray, dv: np.ndarray, dt: float) -> np.ndarray:
    """The derivative of what is shown along a direction of the states, and of time if dt is 1."""
    sizes = run.dynamics.velocity_sizes
    largest = max(np.abs(dq / sizes).max(initial=0.0), np.abs(dv / sizes).max(initial=0.0))
    if largest == 0.0 and dt == 0.0:
        return np.zeros_like(shown(run.dynamics, dq, dv, 0.0))
    e = ALONG / largest if largest else ALONG
    total = sum(w * shown(run.dynamics, s * e * dq, s * e * dv, s * e * dt) for s, w in WEIGHTS.items())
    found: np.ndarray = total / e
    return found
