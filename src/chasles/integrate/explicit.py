"""Runs of the explicit methods: problem and method turned into the arrays that the compiled loop works on."""

from __future__ import annotations

import time
from dataclasses import fields
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from chasles import caution
from chasles.integrate import blocks, engine
from chasles.integrate import explicit_layout as layout
from chasles.integrate.event import ended_by
from chasles.integrate.explicit_events import Watch
from chasles.integrate.explicit_layout import REAL, SET, STATE, TALLY
from chasles.integrate.explicit_loops import Loops
from chasles.integrate.fixed_step import StepError
from chasles.integrate.growing import GrowingRows
from chasles.integrate.method import COORDINATES, RKMK, Exponentials
from chasles.integrate.options import (
    UNLIMITED,
    Options,
    check_max_evaluations,
    check_max_step,
    check_stops,
    check_times,
    saving,
    shortest_step,
)
from chasles.integrate.problem import LieODE
from chasles.integrate.scalar import ON_SCALARS
from chasles.integrate.solution import Cause, Solution
from chasles.integrate.space import Space
from chasles.integrate.status import DONE, EVENT, FULL, NEAR_POLE, NOT_FINITE, RUNNING, SPENT, UNDERFLOW
from chasles.integrate.step_address import step_address
from chasles.integrate.stepper import TOLD, Ending, NotFiniteError, Stepper, as_field, raise_errors_of
from chasles.integrate.table import ALGEBRA_AT, CAYLEY, CAYLEY2, EXP, KIND, R_N, SECOND_KIND, SERIES

ROWS = 1024  # saved points a piece
REASONS = {
    NOT_FINITE: "the field or the solution is not finite",
    UNDERFLOW: "the step became too small to advance the time; the solution diverges, jumps or is singular there",
    NEAR_POLE: "a step turned by more than 6 rad, near the pole of dexpinv at 2 pi; take a smaller step",
}
BEYOND = {  # the same for coordinates other than exponential ones
    CAYLEY: "a step turned by half a turn or nearly, where Rodrigues vectors are infinite; take a smaller step",
    CAYLEY2: "a step turned by a full turn or nearly, where the coordinates of cay2 are infinite; take a smaller step",
    SECOND_KIND: "a step turned by a quarter of a turn or nearly, where coordinates of the second kind are singular; "
    "take a smaller step",
}
NO_CURVE = {
    "final": 'save="final" keeps no curve; save every step, or every so many',
    "times": "save=times keeps no curve; save every step instead",
}


class ChartError(StepError):
    """A step of fixed size left the chart of the local coordinates that the problem asks for.

    `time` and `step` say which step. `body` is the one that turns fastest, counted among those that turn freely, and
    `angle` [rad] is how far its velocity turns it in the step. `solution` holds the points before.
    """

    def __init__(self, message: str, time: float, step: float, body: int, angle: float, solution: Solution):
        super().__init__(message, time, step, (), (), solution)
        self.body, self.angle = body, angle


class ExplicitStepper(Stepper):
    """A run of a Munthe-Kaas method or of a product of exponentials, with fixed or adaptive steps."""

    problems = (LieODE,)
    methods = (RKMK, Exponentials)
    takes = frozenset({field.name for field in fields(Options)})
    memory_names = ("state", "counts", "y", "f0", "x_sum", "levels")

    @classmethod
    def fits(cls, problem: Any, method: Any) -> bool:
        return super().fits(problem, method) and isinstance(problem.space, Space)

    def __init__(self, problem: LieODE, method: RKMK | Exponentials, span: Any, y0: ArrayLike, options: Options):
        super().__init__(problem, method, span, options)
        self.space: Space = problem.space
        self.direction = 1.0 if self.end >= self.start else -1.0
        self.adaptive = options.step is None
        rtol = 1e-6 if options.rtol is None else options.rtol
        atol = 1e-9 if options.atol is None else options.atol
        step_control = options.step_control or "pi"
        self.times, every = np.empty(0), saving(options.save)
        if every is None:
            self.times, every = check_times(options.save, self.start, self.end), 0
        self._check_step(options, rtol, atol, step_control)
        self.stops, longest = (
            check_stops(options.stops, self.start, self.end),
            check_max_step(options.max_step, options.step),
        )
        n, d = self.space.size, self.space.dimension
        self.y = self.space.check(y0)
        self.p = np.array(problem.parameters, dtype=float).reshape(-1)
        self.field = as_field(problem.field, d)
        self.address = self.field.address
        self.settings, self.real = np.zeros(SET.size, dtype=np.int64), np.zeros(REAL.size + d)
        self.extra, self.program = np.zeros((0, 4)), np.zeros((0, 3), dtype=np.int64)
        self._load_method()
        self.settings[SET.step] = step_address(int(self.settings[SET.family]))
        self.settings[SET.correction] = problem.correction.address if problem.correction else 0
        self.settings[[SET.adaptive, SET.save_every, SET.point, SET.algebra]] = self.adaptive, every, n, d
        self.settings[SET.dense] = every > 0
        self.settings[SET.most] = check_max_evaluations(options.max_evaluations)
        chosen = {"pi": layout.PREDICTIVE, "paper": layout.PAPER}[step_control]
        self.settings[SET.step_control] = chosen if self.adaptive else layout.FIXED
        order = min(method.order, method.embedded_order) if self.adaptive else method.order
        safety = 0.85 if step_control == "paper" else 0.9
        rule = rtol, np.max(atol), safety, 1 / (1 + order), shortest_step(self.start, self.end), longest
        self.real[: REAL.size] = (self.start, self.end, 0.0, *rule, problem.floor)
        self.real[REAL.size :] = atol
        self.state, self.counts = np.zeros(STATE.size), np.zeros(TALLY.size, dtype=np.int64)
        self.f0, self.x_sum = np.empty(d), np.zeros(d)
        self.memory = np.zeros(layout.scratch_size(int(self.settings[SET.stages]), n, d))
        self.width, self.row_sizes = 1 + n + 2 * d, (n, d)
        self.rows = int(np.clip(4_000_000 // self.width, 8, ROWS)) if not self.times.size else self.times.size + 3
        self.records = np.empty(self.rows * self.width)
        self.kept = GrowingRows(self.width)
        self.begun = False  # the first point is kept
        self.addresses = self.operations(*self.needed())
        self.loops = Loops(self)
        self._evaluate_start()
        self.first_record = np.concatenate([[self.start], self.y, self.f0, np.zeros(d)])[None]
        self.watch = Watch(self, tuple(options.events))
        self.levels = self.watch.levels
        self.state[STATE.t], self.state[STATE.old_error] = self.start, 1.0
        self._first_step(options, step_control)
        self.needs_more = self._needs_more()

    def begin(self, start: float, end: float, step: float | None, floor: float = 0.0, most: int = UNLIMITED) -> None:
        """Begin anew at the present point, with the parameters `p` as they are now: as a new stepper would, of the same
        problem, method and options but for these. For runs without events, stops and times to save at."""
        self.start, self.end, self.began = start, end, time.perf_counter()
        self.settings[SET.most] = most
        self.loops.told[:] = start, end, self.direction * (step or 0.0), floor
        self.loops.restart.call()
        self.kept.clear()
        self.begun = self.resumed = False
        if self.counts[TALLY.status] == NOT_FINITE:
            self._refuse_start()
        if step is None:
            self.guess_step()

    # ------------------------------------------------------------ set-up

    def _check_step(self, options: Options, rtol: float, atol: Any, step_control: str) -> None:
        if step_control not in ("pi", "paper"):
            raise ValueError(f'solve: step_control {step_control!r}; expected "pi" or "paper"')
        step, span = options.step, abs(self.end - self.start)
        if step is not None:
            if options.rtol is not None or options.atol is not None:
                raise ValueError(
                    "solve: step fixes the steps, rtol and atol let them follow the error; give one of them"
                )
            if not (np.isfinite(step) and step > 0):
                raise ValueError(
                    f"solve: step {step}; expected a positive number (the direction follows from the span)"
                )
            if span and step > span:
                raise ValueError(f"solve: step {step} is longer than the span {span}")
            return
        if not self.method.embedded_order:
            raise ValueError(
                f"solve: {self.method} has no embedded estimate of the error; give step=..., or take a pair such as "
                'RKMK("dopri5") or CommutatorFree("cf43")'
            )
        if not (np.isfinite(rtol) and np.isfinite(atol).all() and rtol >= 0 and np.min(atol) > 0):
            raise ValueError(f"solve: rtol {rtol} and atol {atol}; expected rtol >= 0 and atol > 0")

    def _load_method(self) -> None:
        s = self.settings
        if isinstance(self.method, RKMK):
            table = self.method.table
            s[SET.family] = layout.MUNTHE_KAAS
            s[SET.mapping] = COORDINATES[self.problem.coordinates or self.method.coordinates]
            if self.method.terms >= 0:
                s[SET.mapping] = SERIES
            s[SET.terms], s[SET.stages], s[SET.same_last] = self.method.terms, table.stages, table.first_same_as_last
            self.a, self.b, self.c = table.matrix.reshape(-1), np.array(table.b), table.c
            estimates = [w for w in (table.embedded, table.second_embedded) if w is not None]
            self.e = np.array([np.array(table.b) - w for w in estimates]).reshape(-1)
            s[SET.estimates] = len(estimates)
            self.extra = self.method.commutators()
        else:
            s[SET.family], s[SET.terms], s[SET.stages] = layout.EXPONENTIALS, -1, len(self.method.stages)
            self.program, weights, self.c = self.method.program()
            self.a, self.b, self.e = weights.reshape(-1), np.empty(0), np.empty(0)

    def needed(self) -> set[int]:
        """Operations on the space that the loop will call; others need not be compiled."""
        s = self.settings
        needed = {blocks.MOVE}
        if s[SET.family] == layout.MUNTHE_KAAS:
            needed.add(blocks.PULLBACK)
        if s[SET.dense] and (s[SET.family] == layout.EXPONENTIALS or s[SET.save_every] > 1):
            needed.add(blocks.COMBINE)
        if s[SET.dense] and s[SET.mapping] not in (EXP, SERIES):
            needed.add(blocks.AS_EXPONENTIAL)
        return needed

    def operations(self, *needed: int, on: str = ON_SCALARS) -> np.ndarray:
        """Their addresses, for the coordinate map of the method."""
        return self.space.operations(*needed, mapping=int(self.settings[SET.mapping]), on=on)

    def _evaluate_start(self) -> None:
        begin = self.start
        if begin in self.stops:  # then laws are those just after it
            begin = float(np.nextafter(begin, self.direction * np.inf))
        engine.evaluate(self.address, begin, self.y, self.p, self.f0)
        if not np.isfinite(self.f0).all():
            self._refuse_start()
        self.counts[TALLY.evaluations] = 1

    def _refuse_start(self) -> NoReturn:
        raise_errors_of(self.field)
        raise NotFiniteError(f"solve: the field is not finite at the start, t = {self.start:.6g}: {self.f0}")

    def _first_step(self, options: Options, step_control: str) -> None:
        span = abs(self.end - self.start)
        first = options.first_step
        if options.step is not None:
            h = options.step
            self.real[REAL.step] = self.direction * h
        elif first is not None:
            if not 0 < first <= span:
                raise ValueError(f"solve: first_step {first}; expected a positive number up to {span}")
            h = first
        elif step_control == "paper" or not span:
            h = span / 100
        else:
            self.guess_step()
            return
        self.state[STATE.h] = self.direction * h

    def guess_step(self) -> None:
        """Choose the first of steps that follow the error."""
        self.loops.first_step.call()
        raise_errors_of(self.field)

    # ------------------------------------------------------------ going

    @property
    def time(self) -> float:
        return float(self.state[STATE.t])

    @property
    def steps(self) -> int:
        return int(self.counts[TALLY.accepted])

    def arrays(self, estimate: bool = False) -> tuple[np.ndarray, ...]:
        """Settings and method, in the order of the loops."""
        weights = (self.a, self.b, self.c, self.e) if estimate else (self.a, self.b, self.c)
        return (self.settings, self.real, *weights, self.extra, self.program)

    def _needs_more(self) -> bool:
        """Whether the run needs more than the loop of fixed steps alone can do."""
        limited = self.settings[SET.most] != UNLIMITED
        more = self.adaptive or self.watch.events or self.times.size or self.stops.size
        return bool(more or limited or self.problem.correction)

    def advance(self, limit: int) -> Ending | None:
        self.loops.take(limit, self.needs_more)
        return self.attend()

    def attend(self) -> Ending | None:
        """Keep the points of the loop, and do what its status asks for."""
        self.keep()
        status = int(self.counts[TALLY.status])
        if status == EVENT:
            found = self.watch.locate()
            self.occurrences += found
            if found and found[-1].event.terminal:
                self.keep(self.watch.end_at(found[-1]))
                return Ending(True, ended_by(found))
            return None
        raise_errors_of(self.field, *self.watch.functions)
        if status in (RUNNING, FULL):
            return None
        if status == DONE:
            return Ending(True, "reached the end")
        if status == SPENT:
            spent = int(self.counts[TALLY.evaluations])
            message = f"stopped at t = {self.time:.8g}, after {spent} evaluations (max_evaluations)"
            return Ending(False, message, Cause.EVALUATIONS)
        if status == NEAR_POLE and self.problem.coordinates:
            self._leave_chart()
        message = f"{self._reason(status)} (t = {self.time:.8g}, step {self.state[STATE.h]:.3g})"
        if TOLD.warn:
            caution.warn(f"{self.problem.caller}: {message}")
        return Ending(False, message)

    def _reason(self, status: int) -> str:
        """What the status of the loop means."""
        if status == NEAR_POLE and int(self.settings[SET.mapping]) in BEYOND:
            return BEYOND[int(self.settings[SET.mapping])]
        return REASONS[status]

    def _leave_chart(self) -> NoReturn:
        """Raise the error of a step that is too long for the local coordinates."""
        h = float(self.state[STATE.h])
        places = self.space.table[self.space.table[:, KIND] != R_N, ALGEBRA_AT]
        speeds = np.linalg.norm(self.f0[places[:, None] + np.arange(3)], axis=1)
        body = int(np.argmax(speeds))
        angle = float(speeds[body]) * abs(h)
        message = (
            f"solve: {self._reason(NEAR_POLE)} (t = {self.time:.8g}, step {h:.3g}): body {body} turns at "
            f"{speeds[body]:.4g} rad/s, {angle:.3g} rad in a step"
        )
        raise ChartError(message, self.time, h, body, angle, self.solution(False, message))

    def keep(self, records: np.ndarray | None = None) -> None:
        """Keep records, after the first point; by default those in the buffer, which is emptied."""
        if records is None and self.begun and not self.counts[TALLY.records]:
            return
        if not self.begun:
            self.begun = True
            if self._has_first():
                self.kept.add(self.first_record)
        if records is None:
            records = self.records.reshape(self.rows, self.width)[: self.counts[TALLY.records]]
            self.counts[TALLY.records] = 0
        self.kept.add(records)

    def hand_over(self) -> None:
        assert self.sink is not None
        self.keep()
        if len(self.kept.rows):
            self.sink.rows(self.kept.rows)
        self.kept.clear()

    def _has_first(self) -> bool:
        """Whether the start is one of the saved points."""
        return not self.resumed and (not self.times.size or self.start == self.end)

    def no_curve(self) -> str:
        return NO_CURVE["times"] if self.times.size else "" if self.settings[SET.dense] else NO_CURVE["final"]

    def solution(self, success: bool, message: str) -> Solution:
        n, d = self.space.size, self.space.dimension
        self.keep()
        t, y, slopes, moves = self.kept.columns(1, n, d, d)
        tried = int(self.counts[TALLY.accepted] + self.counts[TALLY.rejected])
        exponentials, brackets = self.work_per_step()
        missing = self.no_curve()
        return Solution(
            self.space,
            self.method,
            t[:, 0],
            y,
            success,
            message,
            steps=self.steps,
            rejections=int(self.counts[TALLY.rejected]),
            evaluations=int(self.counts[TALLY.evaluations]),
            exponentials=tried * exponentials,
            commutators=tried * brackets,
            seconds=time.perf_counter() - self.began,
            events=self.occurrences,
            hints=self.hints(),
            checkpoint=self.checkpoint(),
            slopes=None if missing else slopes,
            moves=None if missing else moves,
            no_curve=missing,
        )

    def restore(self, checkpoint: dict[str, np.ndarray]) -> None:
        super().restore(checkpoint)
        self.counts[TALLY.records] = 0
        if not np.isfinite(self.state).all() or self.direction * self.state[STATE.h] < 0:
            raise ValueError(f"solve: the checkpoint is damaged (the next step is {self.state[STATE.h]})")

    def indices(self) -> dict[str, tuple[np.ndarray, int]]:
        return {"next_time": (self.counts[TALLY.next_time], len(self.times) + 1)}

    def work_per_step(self) -> tuple[int, int]:
        """Exponentials and commutators that one step takes, counted on a whole point."""
        if isinstance(self.method, RKMK):
            stages, terms = self.method.table.stages, self.method.terms
            return stages, len(self.extra) + (max(terms, 0) * (stages - 1) if terms > 0 else 0)
        return int(self.program[:, 2].max(initial=0)), 0
