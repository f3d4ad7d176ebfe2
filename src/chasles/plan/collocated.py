"""A motion that was found by collocation, and how far it is from what is simulated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.caution import warn
from chasles.plan.mesh import always_limits, polynomials
from chasles.plan.outcome import InputSequence, said
from chasles.plan.quantities import CALLER
from chasles.relative.loop.closed import in_joint_coordinates
from chasles.simulation.run import Run
from chasles.simulation.simulate import simulate

SAMPLES = 20  # of inputs that are held in an interval
BETWEEN, TINY = 1e-2, 1e-300  # defects of a motion that is none, relative; what is divided by at least
SEEN = 1e-6  # of a violation between nodes: less is not told


@dataclass(frozen=True)
class CollocatedMotion:
    """A motion that was planned by collocation.

    t, q, v: its nodes. inputs: at the Gauss points of the intervals (intervals, stages, inputs), whose times are
    `input_times`; between them they are polynomials. settled: whether a minimum was found. parameters: those of the
    design that were found, by name. `run` is the motion simulated with inputs that are held, a
    twentieth of the shortest interval each. `defects` tells of each interval how far it is from what is simulated, and
    `between` by how much limits that hold always, at nodes, are violated between them, by name.
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
    account: Any = field(repr=False, default=None)  # the limits

    @property
    def duration(self) -> float:
        """How long the motion takes [s]."""
        return float(self.t[-1] - self.t[0])

    def held(self, samples: int = SAMPLES) -> InputSequence:
        """The inputs as a controller that holds them, so many times in the shortest interval: their values in the
        middle."""
        lengths = np.diff(self.t)
        times = samples * np.rint(lengths / lengths.min()).astype(int)  # intervals are cut in two
        values = np.concatenate([self._sampled(k, (np.arange(n) + 0.5) / n) for k, n in enumerate(times)])
        return InputSequence(values, float(self.t[0]), self.duration / len(values))

    def _sampled(self, k: int, shares: np.ndarray) -> np.ndarray:
        """Values of the inputs of an interval at shares of it."""
        points = (self.input_times[k] - self.t[k]) / (self.t[k + 1] - self.t[k])
        return polynomials(points, shares) @ self.inputs[k]

    @cached_property
    def defects(self) -> np.ndarray:
        """How far each interval ends from the next node (intervals,) if it is simulated from its own: turns and shifts
        relative to the largest of the whole motion or of the interval, velocities to the largest of the motion."""
        count, difference = len(self.inputs), self._mechanism.tables.configuration.difference
        found = np.empty((2, count, self.v.shape[1]))
        for k, run in enumerate(self._pieces):
            found[0, k] = difference(self.q[k + 1], run.q[-1])
            found[1, k] = run.v[-1] - self.v[k + 1]
        way = np.abs(difference(self.q[0], self.q)).max(initial=0.0)
        fastest = np.abs(self.v).max(initial=0.0)
        far = max(way, fastest * self.duration / count), max(fastest, way / self.duration)
        with np.errstate(invalid="ignore"):
            shares = np.abs(found).max(axis=2) / np.maximum(far, TINY)[:, None]
        return np.where(np.isfinite(shares), shares, np.inf).max(axis=0)

    @cached_property
    def _mechanism(self) -> Any:
        return in_joint_coordinates("defects", self.system)

    @cached_property
    def _pieces(self) -> list[Run]:
        """Each interval simulated from its own node."""
        found, middles = [], (np.arange(SAMPLES) + 0.5) / SAMPLES
        for k in range(len(self.inputs)):
            values, span = self._sampled(k, middles), (float(self.t[k]), float(self.t[k + 1]))
            held = InputSequence(values, span[0], (span[1] - span[0]) / SAMPLES)
            found.append(_simulated(self._mechanism, span, self.q[k], self.v[k], held, certificate=False))
        return found

    @cached_property
    def _beyond(self) -> dict[str, tuple[np.ndarray, float]]:
        """By how much limits that hold always are violated within each interval (intervals,) as it is simulated, and
        what this is relative to; by name."""
        t, q, v = (np.concatenate([getattr(run, name) for run in self._pieces]) for name in ("t", "q", "v"))
        first = np.cumsum([0, *(len(run.t) for run in self._pieces[:-1])])
        found, lengths = dict[str, tuple[np.ndarray, float]](), np.diff(self.t)
        shares = [(run.t - self.t[k]) / lengths[k] for k, run in enumerate(self._pieces)]
        u = np.concatenate([self._sampled(k, at) for k, at in enumerate(shares)])
        for name, limit in always_limits(self.account):
            values = limit.quantity.numbers(self.account.tree, t, q, v, u)[0]
            off = np.abs(values - np.clip(values, limit.low, limit.high)).max(axis=1)
            ends = np.concatenate([x.ravel() for x in (limit.low, limit.high)])
            size = max(float(np.abs(values).max()), float(np.abs(ends[np.isfinite(ends)]).max(initial=0.0)))
            if limit.quantity.driven:  # polynomials pass a jump of the input, however short intervals are
                size = np.inf
            found[name] = np.maximum.reduceat(off, first), size
        return found

    @property
    def between(self) -> dict[str, float]:
        """By how much limits that hold always are violated between nodes, by name."""
        return {name: float(off.max()) for name, (off, _) in self._beyond.items()}

    @property
    def beyond(self) -> np.ndarray:
        """The worst of `between` in each interval, relative to the size of the numbers that are limited."""
        shares = [off / max(size, TINY) for off, size in self._beyond.values()]
        return np.max([np.zeros(len(self.inputs)), *shares], axis=0)

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
        text = said(f"{len(lengths)} intervals of {size} s, {self.iterations} iterations", self)
        more = [f" {name}: violated by {off:.2e} between nodes" for name, off in self.between.items() if off > SEEN]
        return "\n".join([text, *more])


def _simulated(
    system: Any, span: tuple[float, float], q: np.ndarray, v: np.ndarray, held: InputSequence, **more: Any
) -> Run:
    """A motion with inputs that are held, a step each."""
    how: dict[str, Any] = {"controller": held, "period": held.period, "step": held.period, "method": "rk4"}
    return simulate(system, span, q, v, progress=False, **how, **more)


def warn_between(motion: CollocatedMotion, enough: float = BETWEEN) -> None:
    """Warn of a motion that is not one of the system between its nodes, or violates limits there."""
    worst = int(np.argmax(motion.defects))
    if motion.defects[worst] > enough:
        warn(
            f"{CALLER}: between nodes the motion is not one of the system: simulated from t = {motion.t[worst]:.4g} s "
            f"on, it misses the next node by {motion.defects[worst]:.2g} of its size. Its cost is not to be trusted; "
            "take more intervals or stages, refine=1e-3, or a small cost of effort"
        )
        return
    for name, (off, size) in motion._beyond.items():
        k = int(np.argmax(off))
        if off[k] > enough * size:
            warn(
                f"{CALLER}: limits hold at nodes, and between them {name} is violated by {off[k]:.3g}, after t = "
                f"{motion.t[k]:.4g} s. Take more intervals, refine=1e-3, or a limit that is narrower by as much"
            )
