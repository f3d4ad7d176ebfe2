"""A motion that was found by collocation, and how far it is from what is simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.caution import warn
from chasles.plan.mesh import polynomials
from chasles.plan.outcome import InputSequence, said
from chasles.plan.quantities import CALLER
from chasles.relative.loop.closed import in_joint_coordinates
from chasles.simulation.run import Run
from chasles.simulation.simulate import simulate

SAMPLES = 20  # of inputs that are held in an interval
BETWEEN, TINY = 1e-2, 1e-300  # defects of a motion that is none, relative; what is divided by at least


@dataclass(frozen=True)
class CollocatedMotion:
    """A motion that was planned by collocation.

    t, q, v: its nodes. inputs: at the Gauss points of the intervals (intervals, stages, inputs), whose times are
    `input_times`; between them they are polynomials. settled: whether a minimum was found. parameters: those of the
    design that were found, by name. `run` is the motion simulated with inputs that are held, a
    twentieth of the shortest interval each. `defects` tells of each interval how far it is from what is simulated.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    inputs: np.ndarray
    input_times: np.ndarray
    cost: float
    violations: dict[str, float]
    iterations: int
    settled: bool
    system: Any = field(repr=False)
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        """How long the motion takes [s]."""
        return float(self.t[-1] - self.t[0])

    def held(self, samples: int = SAMPLES) -> InputSequence:
        """The inputs as a controller that holds them, so many times in the shortest interval: their values in the
        middle."""
        lengths = np.diff(self.t)
        times = samples * np.rint(lengths / lengths.min()).astype(int)  # intervals are cut in two
        values = np.concatenate([self._sampled(k, n) for k, n in enumerate(times)])
        return InputSequence(values, float(self.t[0]), self.duration / len(values))

    def _sampled(self, k: int, samples: int) -> np.ndarray:
        """Values of the inputs of an interval in the middles of so many parts of it."""
        points = (self.input_times[k] - self.t[k]) / (self.t[k + 1] - self.t[k])
        return polynomials(points, (np.arange(samples) + 0.5) / samples) @ self.inputs[k]

    @cached_property
    def defects(self) -> np.ndarray:
        """How far each interval ends from the next node (intervals,) if it is simulated from its own: turns and shifts
        relative to the largest of the whole motion or of the interval, velocities to the largest of the motion."""
        count, mechanism = len(self.inputs), in_joint_coordinates("defects", self.system)
        difference = mechanism.tables.configuration.difference
        found = np.empty((2, count, self.v.shape[1]))
        for k in range(count):
            values, span = self._sampled(k, SAMPLES), (float(self.t[k]), float(self.t[k + 1]))
            held = InputSequence(values, span[0], (span[1] - span[0]) / SAMPLES)
            run = _simulated(mechanism, span, self.q[k], self.v[k], held, certificate=False)
            found[0, k] = difference(self.q[k + 1], run.q[-1])
            found[1, k] = run.v[-1] - self.v[k + 1]
        way = np.abs(difference(self.q[0], self.q)).max(initial=0.0)
        fastest = np.abs(self.v).max(initial=0.0)
        far = max(way, fastest * self.duration / count), max(fastest, way / self.duration)
        with np.errstate(invalid="ignore"):
            shares = np.abs(found).max(axis=2) / np.maximum(far, TINY)[:, None]
        return np.where(np.isfinite(shares), shares, np.inf).max(axis=0)

    @cached_property
    def run(self) -> Run:
        """The motion simulated again, with inputs that are held."""
        held = self.held()
        return _simulated(self.system, (float(self.t[0]), float(self.t[-1])), self.q[0], self.v[0], held)

    def __str__(self) -> str:
        lengths = np.diff(self.t)
        size = (
            f"{lengths.mean():.4g}"
            if lengths.max() < 1.5 * lengths.min()
            else f"{lengths.min():.4g} to {lengths.max():.4g}"
        )
        return said(f"{len(lengths)} intervals of {size} s, {self.iterations} iterations", self)


def _simulated(
    system: Any, span: tuple[float, float], q: np.ndarray, v: np.ndarray, held: InputSequence, **more: Any
) -> Run:
    """A motion with inputs that are held, a step each."""
    how: dict[str, Any] = {"controller": held, "period": held.period, "step": held.period, "method": "rk4"}
    return simulate(system, span, q, v, progress=False, **how, **more)


def warn_between(motion: CollocatedMotion, enough: float = BETWEEN) -> None:
    """Warn of a motion that is not one of the system between its nodes."""
    worst = int(np.argmax(motion.defects))
    if motion.defects[worst] > enough:
        warn(
            f"{CALLER}: between nodes the motion is not one of the system: simulated from t = {motion.t[worst]:.4g} s "
            f"on, it misses the next node by {motion.defects[worst]:.2g} of its size. Its cost is not to be trusted; "
            "take more intervals or stages, refine=1e-3, or a small cost of effort"
        )
