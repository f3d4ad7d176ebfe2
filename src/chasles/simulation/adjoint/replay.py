"""The steps of a run of generalized alpha taken again, for its adjoint: what it had at its points and in its steps."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from chasles.constrained.run import ConstrainedStepper
from chasles.constrained.start import Start
from chasles.constrained.step_control import CLOCK, AdaptiveStepper
from chasles.constrained.workspace import COUNTS
from chasles.integrate.engine import short_of
from chasles.integrate.fixed_step import ROUNDINGS
from chasles.integrate.status import DONE, RUNNING


class Replayed(NamedTuple):
    """What generalized alpha had at its points (points, ...) and in its steps (steps, ...)."""

    h: np.ndarray
    before: np.ndarray  # the step before each step
    follows: np.ndarray  # whether velocities were changed with the step (`generalized_alpha.change_velocity`)
    q: np.ndarray
    v: np.ndarray
    rate: np.ndarray  # V'
    a: np.ndarray
    lam: np.ndarray  # in the order of the tiles, as ζ is
    angles: np.ndarray
    zeta: np.ndarray
    x: np.ndarray
    star: np.ndarray
    first: np.ndarray  # x'
    second: np.ndarray  # x''


class Stretch(NamedTuple):
    """Steps between two starts of the method: its start, and times of its points, as the equations had them."""

    begin: Start
    t: np.ndarray
    steps: Replayed


class _Kept:
    """Points and steps of a stretch, as they are taken."""

    def __init__(self, stepper: ConstrainedStepper):
        self.stepper, mechanism = stepper, stepper.mechanism
        self.n, self.row_nodes = mechanism.n, mechanism.elimination.order[mechanism._node]
        self.vectors = stepper.scheme.vectors.split(stepper.vectors, stepper.packed)  # views
        self.state = stepper.state  # too
        self.points: list[tuple[np.ndarray, ...]] = []
        self.steps: list[tuple[np.ndarray, ...]] = []
        self.sizes: list[float] = []
        self.point()

    def point(self) -> None:
        state, n, nodes = self.state, self.n, self.stepper.structure.nodes
        parts = state.point[: 7 * n], state.point[7 * n : 13 * n], state.rate_n, state.a_n
        lam = state.lam.reshape(-1, 3)[nodes].ravel()
        self.points.append((*(part.copy() for part in parts), lam, state.point[13 * n : -1].copy()))

    def step(self, size: float) -> None:
        vectors, zeta = self.vectors, self.state.zeta.reshape(-1, 3)[self.row_nodes].ravel()
        self.steps.append((zeta, *(part.copy() for part in (vectors.x, vectors.star, vectors.rate, vectors.second))))
        self.sizes.append(size)
        self.point()

    def whole(self) -> Replayed:
        h = np.array(self.sizes)
        before = np.concatenate([[self.stepper.first], h[:-1]])[: len(h)]
        of_points = [np.array(part) for part in zip(*self.points, strict=True)]
        if not self.steps:  # a run over no time
            self.steps.append(tuple(np.zeros(0) for _ in range(5)))
        rule = isinstance(self.stepper, AdaptiveStepper) and self.stepper.method.index == 3
        follows = (h != before) & (rule and bool(self.stepper.mechanism.tiles))
        return Replayed(h, before, follows, *of_points, *(np.array(part) for part in zip(*self.steps, strict=True)))


def replay(stepper: ConstrainedStepper, t: np.ndarray) -> list[Stretch]:
    """The steps between the points t of a run. Steps that followed the error are taken as long as they were; at each
    stop the method began anew."""
    found: list[Stretch] = []
    begin, kept, times = _start_of(stepper, float(t[0]), False), _Kept(stepper), [float(t[0])]
    for k in range(len(t) - 1):
        end, size = _taken(stepper, float(t[k]), float(t[k + 1]), k, float(kept.state.last_step[0]))
        kept.step(size)
        times.append(end)
        if k + 2 < len(t) and isinstance(stepper, AdaptiveStepper) and t[k + 1] in stepper.stops:
            found.append(Stretch(begin, np.array(times), kept.whole()))
            y, there = stepper.point(), stepper._begin_of(float(t[k + 1]))
            stepper._begin_anew()
            begin, kept, times = _start_of(stepper, there, True, y), _Kept(stepper), [there]
    return [*found, Stretch(begin, np.array(times), kept.whole())]


def _start_of(stepper: ConstrainedStepper, t: float, jump: bool, y: np.ndarray | None = None) -> Start:
    return Start(stepper.problem, stepper.structure, t, stepper.first, stepper.begin if y is None else y, jump)


def _taken(stepper: ConstrainedStepper, t: float, end: float, k: int, before: float) -> tuple[float, float]:
    """Take step k, from t to its end: the time that its equations had there, and how long it is. before: how long the
    one before it was; most are equal, but for the rounding of times."""
    if not isinstance(stepper, AdaptiveStepper):
        stepper.take(1)
        size = stepper.plan.last if k + 1 == stepper.plan.steps else stepper.plan.step
    else:
        size = float(short_of.py_func(t, end)) if end in stepper.stops else end - t
        size = before if abs(size - before) <= ROUNDINGS * math.ulp(max(abs(t), abs(end))) else size
        begin = stepper._begin_of(t)
        stepper._step(begin, size)
        stepper.clock[CLOCK.time], end = end, begin + size
    if int(stepper.counts[COUNTS.status]) not in (RUNNING, DONE):
        raise RuntimeError(f"gradient: the step from t = {t:.8g} s was taken in the run, and cannot be taken again")
    return end, size
