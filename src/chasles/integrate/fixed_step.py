"""Runs with fixed steps: the schedule, saved points, events, and the report of a failure."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from chasles.integrate.event import Occurrence, bracketed_zero, ended_by, occurrence, up_to_terminal
from chasles.integrate.newton import COUNTS, EPS, ITERATIONS
from chasles.integrate.options import Options, check_span, check_times, saving
from chasles.integrate.solution import Solution
from chasles.integrate.status import DONE, NEAR_POLE, NO_CONVERGENCE, NOT_FINITE, RUNNING, SINGULAR
from chasles.integrate.stepper import Ending, NotFiniteError, Stepper, raise_errors_of
from chasles.kernel.pickled import PickledWhole
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

TIMES = layout("TIMES", start=1, end=1, step=1, last=1, sign=1)


class StepError(PickledWhole, ArithmeticError):
    """A step could not be taken. `time` and `step` say which, `residuals` and `corrections` how the iteration went
    (relative to the size of the unknowns), and `solution` holds the points saved before it."""

    def __init__(self, message: str, time: float, step: float, residuals, corrections, solution: Solution):
        super().__init__(message)
        self.time, self.step, self.solution = time, step, solution
        self.residuals, self.corrections = tuple(map(float, residuals)), tuple(map(float, corrections))


ROUNDINGS = 4  # of a time, within which two times are one
ROOM = 1 << 28  # bytes for saved points, at first
FOUND = {
    NOT_FINITE: "the field or an iterate is not finite",
    NO_CONVERGENCE: "Newton's iteration did not converge",
    NEAR_POLE: "the step turned by more than 6 rad, near the pole of dexpinv at 2 pi",
    SINGULAR: "Newton's matrix is singular",
}
ADVICE = {
    NOT_FINITE: "check the field near this point, or try a shorter step",
    NO_CONVERGENCE: "try a shorter step; if that does not help, check that the field is smooth here",
    NEAR_POLE: "try a shorter step, or LieMidpoint, which has no pole",
    SINGULAR: "try a shorter step",
}


class Schedule(NamedTuple):
    """Fixed steps, all `step` long but the last."""

    start: float
    end: float
    step: float
    last: float
    steps: int


def schedule(span: tuple[float, float], step: Any) -> Schedule:
    """Divide the span into steps; backwards if the end is before the start."""
    start, end = check_span(span)
    number = isinstance(step, float | int | np.floating | np.integer)
    if not (number and np.isfinite(step) and step > 0):
        raise ValueError(f"solve: step {step!r}; expected a positive number (the direction follows from the span)")
    length = abs(end - start)
    if length and step > length:
        raise ValueError(f"solve: step {step} is longer than the span {length}")
    ratio = length / step
    steps = int(np.ceil(ratio - 1e-6))  # a last step longer by a millionth is better than one that is so short
    whole = abs(ratio - steps) <= 8 * EPS * max(ratio, 1.0)
    last = step if whole else length - (steps - 1) * step
    direction = 1.0 if end >= start else -1.0
    return Schedule(start, end, direction * step, direction * last, steps)


@kernel
def clock(counts, times, count):
    """(t, end of the step, step, whether it is the last): times are counted from the start, full steps are equal."""
    k = counts[COUNTS.step]
    last = k + 1 == count
    t = times[TIMES.start] + k * times[TIMES.step]
    target = times[TIMES.end] if last else times[TIMES.start] + (k + 1) * times[TIMES.step]
    return t, target, times[TIMES.last] if last else times[TIMES.step], last


@kernel
def record(row, t, y, f, x, saved_t, saved_y, saved_f, saved_x):
    """A saved point: time, point, field value, and the move of the step that led to it."""
    saved_t[row] = t
    for m in range(y.shape[0]):
        saved_y[row, m] = y[m]
    for m in range(f.shape[0]):
        saved_f[row, m] = f[m]
        saved_x[row, m] = x[m]


class FixedStepper(Stepper):
    """A run with fixed steps. Derived classes have `take`, which takes some steps and saves points, and `point`.

    Points between the steps, for events and at given times, are those of one shorter step from the point before them.
    """

    caller = "solve"  # the function that messages name

    def __init__(self, problem: Any, method: Any, span, options: Options, y: np.ndarray, dimension: int):
        super().__init__(problem, method, span, options)
        self.space = getattr(problem, "space", None)
        self.plan = plan = schedule(span, options.step)
        every = saving(options.save)
        self.wanted = np.empty(0) if every is not None else check_times(options.save, plan.start, plan.end)
        self.every, self.events = every or 0, tuple(options.events)
        rows = 1 + (-(-plan.steps // self.every) if self.every else min(plan.steps, 1))
        self.last_row = rows - 1
        self.room = rows = min(rows, max(2, ROOM // (8 * (1 + y.size + 2 * dimension))))  # `make_room` makes more
        self.saved_t, self.saved_y = np.empty(rows), np.empty((rows, *y.shape), dtype=y.dtype)
        self.saved_f, self.saved_x = np.empty((rows, dimension)), np.zeros((rows, dimension))
        self.by_time, self.at_times = every is None, list[tuple[float, np.ndarray]]()
        self.ended_early, self.resumed = False, False  # ended by an event; begun by a checkpoint
        self.counts = np.zeros(COUNTS.size, dtype=np.int64)
        self.history = np.zeros((2, ITERATIONS))
        self.times = np.array([plan.start, plan.end, plan.step, plan.last, 1.0])
        self.p = np.array(getattr(problem, "parameters", ()), dtype=float).reshape(-1)
        self.row_sizes = y.size, dimension
        self.handed = 0  # saved points that a sink has
        self.between = 0  # evaluations for points between the steps

    # ------------------------------------------------------------ what derived classes do

    @abstractmethod
    def take(self, limit: int) -> None:
        """Take up to `limit` steps, saving points; the outcome is in `counts`."""

    @abstractmethod
    def point(self) -> np.ndarray:
        """The point reached, in the coordinates of the user."""

    @abstractmethod
    def evaluations(self) -> int:
        """Evaluations of the field in the steps."""

    def no_curve(self) -> str:
        """Why the saved points cannot be interpolated, if so."""
        return "" if self.every == 1 else "only the points of all steps can be; save every step"

    # ------------------------------------------------------------ going

    def start_with(self, y: np.ndarray, f: np.ndarray) -> None:
        """Save the first point; its field value must be a number."""
        raise_errors_of(getattr(self, "field", None))
        if not np.isfinite(f).all():
            raise NotFiniteError(f"solve: the field is not finite at the start, t = {self.start:.6g}: {f}")
        self.saved_t[0], self.saved_y[0], self.saved_f[0] = self.start, y, f
        self.counts[COUNTS.rows], self.counts[COUNTS.evaluations] = 1, 1
        self._save_until(self.start)

    def make_room(self, row: int) -> None:
        """Room for a row that is saved."""
        there = len(self.saved_t)
        if row < there:
            return
        for name in ("saved_t", "saved_y", "saved_f", "saved_x"):
            array = getattr(self, name)
            larger = np.zeros((max(2 * there, row + 1), *array.shape[1:]), dtype=array.dtype)
            larger[:there] = array
            setattr(self, name, larger)

    def save_step(self) -> None:
        """Count a step that a loop in Python has taken, and save its point if it is its turn."""
        self.counts[COUNTS.step] += 1
        if self.steps == self.plan.steps or (self.every and self.steps % self.every == 0):
            row = int(self.counts[COUNTS.rows])
            self.saved_t[row], self.saved_y[row] = self.time, self.point()
            self.counts[COUNTS.rows] += 1

    @property
    def steps(self) -> int:
        return int(self.counts[COUNTS.step])

    @property
    def time(self) -> float:
        return self.end if self.steps == self.plan.steps else self.start + self.steps * self.plan.step

    def advance(self, limit: int) -> Ending | None:
        """Take up to `limit` steps. Raises what a Python field raised, and `StepError`."""
        limit = min(limit, self.plan.steps - self.steps)
        if not self.events and not self.by_time:
            self._take(limit)
        else:
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
        return Ending(True, "reached the end") if self.steps == self.plan.steps else None

    def _take(self, limit: int) -> None:
        """Up to `limit` steps, in parts whose points have room."""
        while limit > 0:
            part, before = min(limit, self.room * self.every) if self.every else limit, self.steps
            more = part // self.every + 1 if self.every else 0
            self.make_room(min(int(self.counts[COUNTS.rows]) + more, self.last_row))
            self._take_part(part)
            if self.steps < before + part:
                return
            limit -= part

    def _take_part(self, limit: int) -> None:
        self.take(limit)
        raise_errors_of(getattr(self, "field", None))
        status = int(self.counts[COUNTS.status])
        if status not in (RUNNING, DONE):
            self._fail(status)

    # ------------------------------------------------------------ between the steps

    def _shorter(self, t: float, y: np.ndarray, end: float) -> FixedStepper:
        """A run of one step from (t, y), done."""
        make: Any = type(self)  # derived classes take these arguments
        stepper: FixedStepper = make(self.problem, self.method, (t, end), y, Options(step=abs(end - t)))
        stepper._take(1)
        self.between += stepper.evaluations()
        return stepper

    def _point_at(self, t: float, y: np.ndarray, end: float) -> np.ndarray:
        near = ROUNDINGS * math.ulp(max(abs(t), abs(self.time)))  # 3 times 0.1 is not 30 times 0.01
        if abs(end - t) <= near:
            return y
        return self.point() if abs(end - self.time) <= near else self._shorter(t, y, end).point()

    def _save_until(self, end: float, t: float | None = None, y: np.ndarray | None = None) -> None:
        """Save the requested times up to `end`, from the point (t, y) before."""
        sign = 1.0 if self.end >= self.start else -1.0
        while len(self.at_times) < self.wanted.size and sign * (self.wanted[len(self.at_times)] - end) <= 0:
            when = float(self.wanted[len(self.at_times)])
            here = self.point() if t is None or y is None else self._point_at(t, y, when)
            self.at_times.append((when, here))

    def _events_between(self, t: float, y: np.ndarray) -> list[Occurrence]:
        """Zeros within the step from (t, y) that was just taken."""
        found, shown = [], getattr(self.problem, "shown", None)
        for event in self.events:

            def level(end: float, point: np.ndarray, event=event) -> float:
                return event.value(end, point if shown is None else shown.function(point), self.p)

            before, after = level(t, y), level(self.time, self.point())
            if event.crossed(before, after):

                def after_step(h: float, level=level) -> float:
                    return level(t + h, self._point_at(t, y, t + h))

                instant = math.ulp(max(abs(t), abs(self.time)))  # times between t + h and the next are none
                size = bracketed_zero(after_step, 0.0, self.time - t, before, after, instant)
                found.append((abs(size), occurrence(event, t + size, self._point_at(t, y, t + size), shown)))
        return up_to_terminal(found)

    def _end_at(self, last: Occurrence, t: float, y: np.ndarray) -> None:
        """Make a terminal event the last saved point, in place of the end of the step if that was saved."""
        rows = int(self.counts[COUNTS.rows])
        replaces = rows > (0 if self.resumed else 1) and self.saved_t[rows - 1] == self.time
        row = rows - 1 if replaces else rows
        self.make_room(row)
        if last.t != t:
            shorter = self._shorter(t, y, last.t)
            for name in ("saved_t", "saved_y", "saved_f", "saved_x"):
                getattr(self, name)[row] = getattr(shorter, name)[1]
            row += 1
        self.counts[COUNTS.rows] = row
        if self.by_time:
            self.at_times.append((last.t, last.goes_on_from))
        self.ended_early = True

    # ------------------------------------------------------------ what comes out

    def restore(self, checkpoint: dict[str, np.ndarray]) -> None:
        super().restore(checkpoint)
        self.counts[COUNTS.rows], self.resumed = 0, True
        sign = 1.0 if self.end >= self.start else -1.0
        self.wanted, self.at_times = self.wanted[sign * (self.wanted - self.time) > 0], []

    def hand_over(self) -> None:
        assert self.sink is not None
        if self.by_time:
            nothing = np.zeros(2 * self.saved_f.shape[1])
            points = self.at_times[self.handed :]
            rows = np.array([np.concatenate([[t], y.ravel(), nothing]) for t, y in points])
            self.handed = len(self.at_times)
        else:
            new = slice(self.handed, int(self.counts[COUNTS.rows]))
            t, y = self.saved_t[:, None], self.saved_y.reshape(len(self.saved_t), -1)
            rows = np.concatenate([x[new] for x in (t, y, self.saved_f, self.saved_x)], axis=1)
            self.handed = new.stop
        if len(rows):
            self.sink.rows(rows)

    def solution(self, success: bool, message: str) -> Solution:
        rows = slice(int(self.counts[COUNTS.rows]))
        t, y, why = self.saved_t[rows], self.saved_y[rows], self.no_curve()
        if self.by_time:
            t, why = np.array([time for time, _ in self.at_times]), "save=times keeps no curve; save every step instead"
            y = np.array([point for _, point in self.at_times]).reshape(-1, *self.saved_y.shape[1:])
        return Solution(
            self.space,
            self.method,
            t,
            y,
            success,
            message,
            steps=self.steps,
            evaluations=self.evaluations() + self.between,
            exponentials=self.exponentials(),
            seconds=time.perf_counter() - self.began,
            events=self.occurrences,
            hints=self.hints(),
            checkpoint={} if self.ended_early else self.checkpoint(),
            slopes=None if why else self.saved_f[rows],
            moves=None if why else self.saved_x[rows],
            no_curve=why,
        )

    def exponentials(self) -> int:
        """Exponentials computed in the steps; 0 where they are not counted."""
        return 0

    def tried(self) -> tuple[Sequence[float], Sequence[float], str]:
        """Residuals and corrections of the iteration that failed, and what to say of it."""
        residuals, corrections = self.history[:, : self.counts[COUNTS.tried]]
        return residuals, corrections, f"; relative residuals {shortened(residuals)}" if residuals.size else ""

    def advice(self, status: int) -> str:
        """What to try after a failure."""
        return ADVICE[status]

    def step_at_hand(self) -> tuple[str, float]:
        """Which step is taken, and how long it is."""
        k, plan = self.steps, self.plan
        return f"step {k + 1} of {plan.steps}", plan.last if k + 1 == plan.steps else plan.step

    def _fail(self, status: int) -> NoReturn:
        which, h = self.step_at_hand()
        residuals, corrections, said = self.tried()
        message = (
            f"{self.caller}: {FOUND[status]} in {which}, t = {self.time:.8g}, h = {h:.3g}, "
            f"{self.method}{said}; {self.advice(status)}"
        )
        raise StepError(message, self.time, h, residuals, corrections, self.solution(False, message))


def shortened(values: Sequence[float]) -> str:
    """Numbers for a message; of many the first and last ones."""
    shown = [f"{x:.2g}" for x in values]
    if len(shown) > 6:
        shown[3:-3] = ["..."]
    return ", ".join(shown)
