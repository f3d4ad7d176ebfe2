"""Runs of the methods for constrained systems whose steps follow the estimated error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.constrained.body_sizes import lengths_of
from chasles.constrained.goals import GOAL
from chasles.constrained.group import on_se3
from chasles.constrained.problem import BodyProblem
from chasles.constrained.reversible import LONGEST, Rate, next_density, too_sparse
from chasles.constrained.run import ConstrainedStepper
from chasles.constrained.scheme import Density, StepRule
from chasles.constrained.schemes import SCHEMES
from chasles.constrained.structure import islands
from chasles.constrained.workspace import COUNTS, TIMES, WORKSPACE
from chasles.integrate.engine import short_of
from chasles.integrate.event import ended_by
from chasles.integrate.fixed_step import FixedStepper
from chasles.integrate.options import Options, check_max_evaluations, check_max_step, check_span, check_stops
from chasles.integrate.solution import Cause, Solution
from chasles.integrate.status import NO_CONVERGENCE, RUNNING
from chasles.integrate.stepper import Ending
from chasles.kernel.workspace import layout
from chasles.lie.rotation import quaternion_to_matrix

AFTER_FAILURE = 0.3  # factor of the step if Newton's method failed
SHORTEST = 1e-13  # step, of the span
NEVER = 1 << 40  # a number of steps
CLOCK = layout("CLOCK", time=1, step=1, taken=1, rejected=1)


class AdaptiveStepper(ConstrainedStepper):
    """A run whose steps follow the estimated error of each, or, with RATTLE, the motion so that it is reversible.

    Each step is a piece of one step of the fixed loop; what it changed is kept, or put back if the step is rejected.
    """

    takes = frozenset({"step", "save", "events", "rtol", "atol", "max_step", "stops", "max_evaluations"})
    memory_names = ("memory", "counts", "clock")

    def __init__(self, problem: BodyProblem, method: Any, span: Any, y0: np.ndarray, options: Options):
        self.rule = _rule_of(method)
        start, end = check_span(span)
        least = np.broadcast_to(0.0 if options.atol is None else options.atol, (problem.space.dimension,))
        given = np.array([float(options.rtol or 0.0), float(least[0])])
        if not (given.min() >= 0 and given.sum() > 0):
            raise ValueError(f"simulate: rtol={options.rtol!r}, atol={options.atol!r}; expected numbers, not both zero")
        share = self.rule.of_a_step(given.sum()) / given.sum()
        self.tolerances = (float(share * given[0]), float(share * given[1]))
        self.longest, self.stops = check_max_step(options.max_step, None), check_stops(options.stops, start, end)
        self.most = check_max_evaluations(options.max_evaluations)
        self.rate: Rate | None = None
        if isinstance(self.rule, Density):
            self.fineness = self.rule.of_a_step(given.sum())
            slowest = self.fineness / (LONGEST * (abs(end - start) or 1.0))
            self.rate = Rate(problem, np.asarray(y0, dtype=float), slowest)
        self.problem, self.end = problem, end
        first = self._first_step(start, np.asarray(y0, dtype=float))
        self.clock = np.array([start, np.copysign(first, end - start), 0.0, 0.0])
        # one step of the loop in all, to begin with: steps are counted and saved here, and rows are added
        super().__init__(problem, method, span, y0, replace(options, step=abs(end - start) or 1.0), first or 1.0)
        goals = WORKSPACE.split(self.work, self.packed).goals.reshape(-1, GOAL.size)
        goals[:, GOAL.atol] = share * least[3 : 6 * problem.n : 6]
        self.times[:] = start, end, self.first, self.first, 1.0

    @property
    def steps(self) -> int:
        return int(self.clock[CLOCK.taken])

    @property
    def time(self) -> float:
        return float(self.clock[CLOCK.time])

    def restore(self, checkpoint: dict[str, np.ndarray]) -> None:
        super().restore(checkpoint)
        step = self.clock[CLOCK.step]
        if not np.isfinite(self.clock).all() or step * (self.end - self.start) < 0:
            raise ValueError(f"simulate: the checkpoint is damaged (the next step is {step})")
        if self.time in self.stops:  # it may have been interrupted there before it began anew; twice is as good as once
            self._begin_anew()

    def advance(self, limit: int) -> Ending | None:
        for _ in range(limit):
            before, y = self.time, self.point()
            self._take(1)
            if occurrences := self._events_between(before, y):
                self.occurrences += occurrences
                if occurrences[-1].event.terminal:
                    self._save_until(occurrences[-1].t, before, y)
                    self._end_at(occurrences[-1], before, y)
                    return Ending(True, ended_by(occurrences))
            self._save_until(self.time, before, y)
            if self.time == self.end:
                return Ending(True, "reached the end")
            if self.time in self.stops:
                self._begin_anew()
            if (spent := self.evaluations()) >= self.most:
                message = f"stopped at t = {self.time:.8g}, after {spent} evaluations (max_evaluations)"
                return Ending(False, message, Cause.EVALUATIONS)
        return None

    def _begin_anew(self) -> None:
        """Remember nothing of what was before a stop: forces may have jumped."""
        t, y = self._begin_of(self.time), self.point()
        h = self._first_step(t, y)
        self.first = self.clock[CLOCK.step] = np.copysign(h, self.end - self.start)
        self.memory[:] = self._state_at(t, y, jump=True)

    def _first_step(self, t: float, y: np.ndarray) -> float:
        """A step to begin with, not negative."""
        if self.rate is not None:
            return self.fineness / self.rate(t, y)
        return first_step(self.problem, t, self.end, y, sum(self.tolerances), self.rule.order)

    def _begin_of(self, t: float) -> float:
        """Where a step from t begins: just after t if it is a stop."""
        return float(np.nextafter(t, np.copysign(np.inf, self.end - self.start))) if t in self.stops else t

    def _goal(self, t: float) -> float:
        """The next stop after t, or the end."""
        k = int(np.searchsorted(np.abs(self.stops - self.start), abs(t - self.start), "right"))
        return float(self.stops[k]) if k < len(self.stops) else self.end

    def take(self, limit: int) -> None:
        """One step, tried until its error is small enough."""
        before = self.memory.copy()
        while True:
            t, h = self.time, min(abs(float(self.clock[CLOCK.step])), self.longest)
            goal = self._goal(t)
            left = goal - t
            last = h >= abs(left) * (1 - 1e-10)
            used = left if last else min(h, max(0.5 * abs(left), abs(left) - h)) * np.sign(left)
            if last and goal in self.stops:
                used = short_of.py_func(t, goal)
            self._step(self._begin_of(t), used)
            status, factor = int(self.counts[COUNTS.status]), AFTER_FAILURE
            if status == RUNNING:
                accepted, factor = self._judge(goal if last else t + used, used)
                if accepted:
                    break
            self.memory[:] = before
            self.clock[CLOCK.rejected] += 1
            self.clock[CLOCK.step] = used * factor
            if not abs(self.clock[CLOCK.step]) > SHORTEST * abs(self.end - self.start):
                self.counts[COUNTS.status] = NO_CONVERGENCE if status == RUNNING else status
                return
        self.clock[CLOCK.time], self.clock[CLOCK.taken] = goal if last else t + used, self.steps + 1
        if not last:
            self.clock[CLOCK.step] = used * factor
        self._save()

    def _step(self, t: float, h: float) -> None:
        """Try one step; the outcome is in `counts`."""
        scheme = self.scheme
        if scheme.first_step is not None and scheme.first_step(self, t, h):
            self.counts[COUNTS.status] = RUNNING
            return
        if scheme.change_step is not None:
            scheme.change_step(self, t, h)
        self.times[[TIMES.start, TIMES.step]], self.counts[COUNTS.step] = (t, h), 0
        self._go_on(1, NEVER, 0)

    def _judge(self, t: float, used: float) -> tuple[bool, float]:
        """Whether a step that ended at t is good enough, and by which factor the next one is longer."""
        if self.rate is not None:
            rate, density = self.rate(t, self.point()), self.fineness / abs(used)
            if too_sparse(rate, density):
                return False, 0.5
            return True, self.fineness / next_density(rate, density) / abs(used)
        error = self._error()
        if error <= 1.0:
            return True, self._factor(error)
        return False, min(self._factor(error), 1.0) if np.isfinite(error) else AFTER_FAILURE

    def _error(self) -> float:
        """The estimate relative to the tolerance."""
        one, two = self.state.errors
        if not two > 0:
            return float(one)
        # of HEM5, Brasey's: one is of h⁴ and two of h³, so that this grows with h⁵ where it is small, as the error does
        return float(one / (one + 0.01 * two) * one)

    def _factor(self, error: float) -> float:
        rule = self.rule
        assert isinstance(rule, StepRule)
        factor = float(np.clip(rule.safety * max(error, 1e-12) ** (-1 / rule.order), rule.least, rule.most))
        steady = rule.keep[0] < factor < rule.keep[1] and error <= 1
        return 1.0 if steady else factor

    def _save(self) -> None:
        if self.time != self.end and not (self.every and self.steps % self.every == 0):
            return
        row = int(self.counts[COUNTS.rows])
        self.make_room(row)
        self.saved_t[row], self.saved_y[row] = self.time, self.point()
        self.counts[COUNTS.rows] += 1

    def _shorter(self, t: float, y: np.ndarray, end: float) -> FixedStepper:
        run = ConstrainedStepper(self.problem, self.method, (t, end), y, Options(step=abs(end - t)))
        run._take(1)
        self.between += run.evaluations()
        return run

    def step_at_hand(self) -> tuple[str, float]:
        return f"step {self.steps + 1}", float(self.clock[CLOCK.step])

    def advice(self, status: int) -> str:
        return "however short the step; look at the forces and constraints there, or loosen rtol and atol"

    def solution(self, success: bool, message: str) -> Solution:
        return replace(super().solution(success, message), rejections=int(self.clock[CLOCK.rejected]))


def first_step(problem: BodyProblem, start: float, end: float, y: np.ndarray, tolerance: float, order: int) -> float:
    """A step to begin with, rather short; its error grows with the step to the power `order`."""
    q, v, _ = problem.split(y)
    rates = problem.mechanism.accelerations_under(q, v, problem.held, start, problem.angles(y))
    pace = _pace(problem.mechanism, q, v, rates)
    return float(min(0.1 * abs(end - start), 0.5 * tolerance ** (1 / order) / max(pace, 1e-300)))


def _pace(mechanism: AbsoluteMechanism, q: np.ndarray, v: np.ndarray, rates: np.ndarray) -> float:
    """How fast bodies turn, and move by their own length against the others [1/s]."""
    q, v, rates = q.reshape(-1, 7), v.reshape(-1, 6), rates.reshape(-1, 6)
    if not len(q):
        return 0.0
    turning, lengths = on_se3(mechanism)[:, None], lengths_of(mechanism)[:, None]
    speeds = np.where(turning, (quaternion_to_matrix(q[:, :4]) @ v[:, 3:, None])[..., 0], v[:, 3:])
    gains = rates[:, 3:] + np.where(turning, np.cross(v[:, :3], v[:, 3:]), 0.0)
    masses, island = np.array([body.mass for body in mechanism.system.bodies]), islands(mechanism)
    shares = masses / np.bincount(island, masses)[island]
    centers = np.stack([np.bincount(island, shares * speeds[:, k])[island] for k in range(3)], axis=-1)
    paces, bends = (v[:, :3], (speeds - centers) / lengths), (rates[:, :3], gains / lengths)
    first, second = (float(np.linalg.norm(parts, axis=-1).max()) for parts in (paces, bends))
    return first + np.sqrt(second)


def _rule_of(method: Any) -> StepRule | Density:
    """How the step is chosen; an error if steps of the method are fixed."""
    if rule := SCHEMES[type(method)].step_rule(method):
        return rule
    raise ValueError(f"simulate: {method} takes fixed steps; give step=... [s]")
