"""What a plan is: inputs that are held step by step, the motion under them, and feedback about it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.caution import warn
from chasles.simulation.run import Run
from chasles.simulation.simulate import simulate

COARSE = 5e-3  # sum of errors of steps, relative to the motion: more is another motion


class InfeasibleError(ValueError):
    """No motion was found that satisfies the limits. `violations`: by how much each is violated, by name."""

    def __init__(self, message: str, violations: dict[str, float]):
        super().__init__(message, violations)
        self.violations = violations

    def __str__(self) -> str:
        return str(self.args[0])


def warn_unsettled(iterations: int, why: str) -> None:
    """Warn that a plan satisfies its limits but is no minimum."""
    warn(
        f"plan: the motion satisfies its limits, but no minimum was found in {iterations} iterations: {why}; its cost "
        "may be far from the least. Give more iterations or another guess"
    )


def warn_stopped(iterations: int, wrong: dict[str, float]) -> None:
    """Warn of what there was when Ctrl-C came."""
    listed = "; ".join(f"{name} by {off:.3g}" for name, off in wrong.items())
    warn(
        f"plan: stopped by Ctrl-C after {iterations} iterations; the best motion so far is no minimum"
        + (f", and violates its limits: {listed}" if listed else "")
    )


def warn_coarse(held: Any, points: np.ndarray, inputs: np.ndarray, h: float) -> None:
    """Warn of steps that are so long that the motion is not one of the system."""
    off = held.off_halves(points, inputs, h)
    if not np.isfinite(off).all() or off.sum() > COARSE:
        worst = int(np.argmax(np.where(np.isfinite(off), off, np.inf)))
        warn(
            f"plan: steps of {h:.3g} s are too long: taken as two halves they end elsewhere, in sum by {off.sum():.2g} "
            f"of the motion, most at t = {held.times(h)[worst]:.4g} s. Under these inputs the system moves otherwise "
            "(plan.run.certificate); take more steps, or a method of higher order"
        )


@dataclass(frozen=True)
class InputSequence:
    """Inputs one after the other, each held for a period from the start on: a controller for `simulate`."""

    inputs: np.ndarray
    start: float
    period: float

    def number(self, t: float) -> int:
        """Which input is held at a time."""
        return int(np.clip(np.floor((t - self.start) / self.period + 1e-6), 0, len(self.inputs) - 1))

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return self.inputs[self.number(t)]


@dataclass(frozen=True)
class Feedback:
    """The inputs of a plan, corrected by what the state is off: a controller for `simulate`."""

    held: InputSequence
    q: np.ndarray
    v: np.ndarray
    gains: np.ndarray
    states: np.ndarray
    bounds: np.ndarray
    mechanism: Any

    def __call__(self, t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        k = self.held.number(t)
        off = np.concatenate([self.mechanism.difference(q, self.q[k]), v - self.v[k]])[self.states[k]]
        return np.clip(self.held.inputs[k] + self.gains[k][:, : len(off)] @ off, *self.bounds)


@dataclass(frozen=True)
class PlannedMotion:
    """A motion that was planned.

    t, q, v: its nodes, (steps + 1, ...). inputs: held from each node to the next, (steps, inputs). cost: what was to be
    small. violations: of the limits, by name. settled: whether a minimum was found. parameters: those
    of the design that were found, by name. `run` is the motion simulated with these inputs; `controller` gives them
    to `simulate`, with period=`step`, and `feedback` corrects them by what the state is off.
    """

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    inputs: np.ndarray
    cost: float
    violations: dict[str, float]
    iterations: int
    history: tuple[Any, ...]
    method: Any
    system: Any = field(repr=False)
    policy: Any = field(repr=False, default=None)
    settled: bool = True
    parameters: dict[str, Any] = field(default_factory=dict)

    @property
    def duration(self) -> float:
        """How long the motion takes [s]."""
        return float(self.t[-1] - self.t[0])

    @property
    def step(self) -> float:
        """How long each input is held [s]."""
        return self.duration / len(self.inputs)

    @property
    def controller(self) -> InputSequence:
        """The inputs, as a controller."""
        return InputSequence(self.inputs, float(self.t[0]), self.step)

    @property
    def feedback(self) -> Feedback:
        """The inputs with feedback, as a controller."""
        if self.policy is None:
            raise ValueError("plan: there is feedback with `optimize` only, not with `shoot`")
        gains, states, bounds = self.policy.gains, self.policy.states, self.policy.bounds
        return Feedback(self.controller, self.q, self.v, gains, states, bounds, self.run.dynamics.mechanism)

    @cached_property
    def run(self) -> Run:
        """The motion simulated again."""
        span, options = (float(self.t[0]), float(self.t[-1])), {"method": self.method, "step": self.step}
        options |= {"controller": self.controller, "period": self.step, "progress": False}
        return simulate(self.system, span, self.q[0], self.v[0], **options)

    def __str__(self) -> str:
        return said(f"{len(self.inputs)} steps of {self.step:.4g} s, {self.iterations} iterations", self)


def said(how: str, plan: Any) -> str:
    """A plan in lines: how it was found, what it costs, its design, and what its limits are violated by."""
    lines = [f"{how}; cost {plan.cost:.8g}"]
    lines += [] if plan.settled else [" not settled: the cost may be far from the least"]
    lines += [f" {name} = {np.round(value, 10)}" for name, value in plan.parameters.items()]
    return "\n".join([*lines, *(f" {name}: violated by {off:.2e}" for name, off in plan.violations.items())])
