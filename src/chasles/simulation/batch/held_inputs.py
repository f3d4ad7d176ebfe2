"""Inputs of the members of a batch that are known in advance: constant ones, or sequences held for a period each."""

from __future__ import annotations

import numpy as np

from chasles.simulation.run_task import Task


class HeldInputs:
    """A sequence of inputs as a sampled controller: each is held for a period."""

    def __init__(self, inputs: np.ndarray, start: float, period: float):
        self.inputs, self.start, self.period = inputs, start, period

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.inputs[min(round((t - self.start) / self.period), len(self.inputs) - 1)]
        return found


def held_forces(task: Task) -> np.ndarray:
    """Generalized forces of the inputs of a run, (periods, nv)."""
    if isinstance(task.controller, HeldInputs):
        return np.ascontiguousarray(task.dynamics.actuation().along(task.controller.inputs))
    return (np.zeros(task.dynamics.nv) if task.u is None else task.u)[None]


def held_between(task: Task) -> np.ndarray:
    """The times between which they are held."""
    return np.array(task.span) if task.controller is None else task.edges()


def inputs_at(task: Task, t: np.ndarray) -> np.ndarray | None:
    """The inputs of a member at its saved times; where two are held, that of the period before."""
    if task.controller is None:
        return task.constant(len(t))
    edges = task.edges()
    before = np.maximum(np.searchsorted(edges, t) - 1, 0)
    return np.array([task.controller(float(edges[k]), t, t) for k in before], dtype=float)
