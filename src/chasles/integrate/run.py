"""A run: the problem and the method turned into the arrays that the compiled loop works on."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from chasles.integrate import engine
from chasles.integrate.engine import REAL, SET, STATE, TALLY
from chasles.integrate.event import Event, Occurrence, bracketed_zero
from chasles.integrate.field import Field, PythonField
from chasles.integrate.method import COORDINATES, RKMK, Exponentials

if TYPE_CHECKING:
    from chasles.integrate.solve import LieODE

ROWS = 1024  # saved points a piece
MEMORY = ("state", "counts", "y", "f0", "x_sum", "levels")  # all that a run remembers from step to step


def check_span(span) -> tuple[float, float]:
    """Start and end as floats."""
    try:
        start, end = (float(x) for x in span)
    except (TypeError, ValueError):
        raise ValueError(f"solve: span {span!r}; expected (start, end)") from None
    if not (np.isfinite(start) and np.isfinite(end)):
        raise ValueError(f"solve: span ({start}, {end}) is not finite")
    return start, end


class Run:
    """State of a run in plain arrays: it can be stored and continued to the same bits."""

    def __init__(
        self,
        problem: LieODE,
        method: RKMK | Exponentials,
        span,
        y0,
        *,
        step: float | None,
        rtol: float,
        atol: float,
        save,
        events: Sequence[Event],
        controller: str,
        first_step: float | None,
    ):
        self.problem, self.method = problem, method
        self.start, self.end = check_span(span)
        self.direction = 1.0 if self.end > self.start else -1.0
        self.adaptive = step is None
        self.times = np.empty(0)
        save_every = self._saving(save)
        self._check_step(step, rtol, atol, controller)
        n, d = problem.space.size, problem.space.dimension
        self.y = problem.space.check(y0)
        self.p = np.array(problem.parameters, dtype=float).reshape(-1)
        self.field = problem.field if isinstance(problem.field, Field) else PythonField(problem.field, d)
        self.address = self.field.address
        self.settings, self.real = np.zeros(SET.size, dtype=np.int64), np.zeros(REAL.size)
        self.extra, self.program = np.zeros((0, 4)), np.zeros((0, 3), dtype=np.int64)
        self._load_method()
        self.settings[[SET.adaptive, SET.save_every, SET.point, SET.algebra]] = self.adaptive, save_every, n, d
        self.settings[SET.dense] = 1
        chosen = {"pi": engine.PREDICTIVE, "paper": engine.PAPER}[controller]
        self.settings[SET.controller] = chosen if self.adaptive else engine.FIXED
        order = min(method.order, method.embedded_order) if self.adaptive else method.order
        safety = 0.85 if controller == "paper" else 0.9
        shortest = 16 * np.spacing(max(abs(self.start), abs(self.end)))
        self.real[:] = self.start, self.end, 0.0, rtol, atol, safety, 1 / (1 + order), shortest
        self.state, self.counts = np.zeros(STATE.size), np.zeros(TALLY.size, dtype=np.int64)
        self.f0, self.x_sum = np.empty(d), np.zeros(d)
        stages = int(self.settings[SET.stages])
        self.memory = np.zeros(2 * stages * d + stages * max(n, d) + 5 * d + 2 * n)
        width = 1 + n + 2 * d
        rows = int(np.clip(4_000_000 // width, 8, ROWS)) if not self.times.size else self.times.size + 2
        self.records = np.empty((rows, width))
        self.pieces: list[np.ndarray] = []
        self._evaluate_start()
        self.first_record = np.concatenate([[self.start], self.y, self.f0, np.zeros(d)])[None]
        self._watch(events)
        self.state[STATE.t], self.state[STATE.old_error] = self.start, 1.0
        self._first_step(step, first_step, controller)

    # ------------------------------------------------------------ set-up

    def _saving(self, save) -> int:
        if isinstance(save, str):
            if save not in ("all", "final"):
                raise ValueError(
                    f'solve: save {save!r}; expected "all", "final", a number of steps or an array of times'
                )
            return 1 if save == "all" else 0
        if isinstance(save, int | np.integer):
            if save < 1:
                raise ValueError(f"solve: save every {save} steps; expected at least 1")
            return int(save)
        times = np.array(save, dtype=float).reshape(-1)
        inside = (self.direction * (times - self.start) >= 0) & (self.direction * (self.end - times) >= 0)
        if not times.size or not inside.all() or (np.diff(self.direction * times) < 0).any():
            raise ValueError("solve: times to save must lie in the span, in the order in which they are passed")
        self.times = times
        return 0

    def _check_step(self, step, rtol, atol, controller):
        if controller not in ("pi", "paper"):
            raise ValueError(f'solve: controller {controller!r}; expected "pi" or "paper"')
        if step is not None:
            if not (np.isfinite(step) and step > 0):
                raise ValueError(
                    f"solve: step {step}; expected a positive number (the direction follows from the span)"
                )
            if step > abs(self.end - self.start):
                raise ValueError(f"solve: step {step} is longer than the span {abs(self.end - self.start)}")
            return
        if not self.method.embedded_order:
            raise ValueError(
                f"solve: {self.method} has no embedded estimate of the error; give step=..., or take a pair such as "
                'RKMK("dopri5") or CommutatorFree("cf43")'
            )
        if not (np.isfinite(rtol) and np.isfinite(atol) and rtol >= 0 and atol > 0):
            raise ValueError(f"solve: rtol {rtol} and atol {atol}; expected rtol >= 0 and atol > 0")

    def _load_method(self):
        s = self.settings
        if isinstance(self.method, RKMK):
            table = self.method.table
            s[SET.family], s[SET.mapping] = engine.MUNTHE_KAAS, COORDINATES[self.method.coordinates]
            s[SET.terms], s[SET.stages], s[SET.same_last] = self.method.terms, table.stages, table.first_same_as_last
            self.a, self.b, self.c = table.matrix.reshape(-1), np.array(table.b), table.c
            estimates = [w for w in (table.embedded, table.second_embedded) if w is not None]
            self.e = np.array([np.array(table.b) - w for w in estimates]).reshape(-1)
            s[SET.estimates] = len(estimates)
            self.extra = self.method.commutators()
        else:
            s[SET.family], s[SET.terms], s[SET.stages] = engine.EXPONENTIALS, -1, len(self.method.stages)
            self.program, weights, self.c = self.method.program()
            self.a, self.b, self.e = weights.reshape(-1), np.empty(0), np.empty(0)

    def _evaluate_start(self):
        engine.evaluate(self.address, self.start, self.y, self.p, self.f0)
        self.raise_field_error()
        if not np.isfinite(self.f0).all():
            raise ValueError(f"solve: the field is not finite at the start, t = {self.start:.6g}: {self.f0}")
        self.counts[TALLY.evaluations] = 1

    def _first_step(self, step, first_step, controller):
        span = abs(self.end - self.start)
        if step is not None:
            h = step
            self.real[REAL.step] = self.direction * step
        elif first_step is not None:
            if not 0 < first_step <= span:
                raise ValueError(f"solve: first_step {first_step}; expected a positive number up to {span}")
            h = first_step
        else:
            h = span / 100 if controller == "paper" else self._guess(span)
        self.state[STATE.h] = self.direction * h

    def _guess(self, span: float) -> float:
        """First step from the size of the field and of its change (Hairer, Norsett, Wanner I, II.4)."""
        scale = self.real[REAL.atol] + self.real[REAL.rtol]
        size = float(np.sqrt(np.mean((self.f0 / scale) ** 2)))
        h = max(min(span / 100, 0.01 / (size * scale) if size * scale > 1e-10 else span), 1e-10 * span)
        moved = self.problem.space.move(self.y, self.direction * h * self.f0)
        f1 = np.empty_like(self.f0)
        engine.evaluate(self.address, self.start + self.direction * h, moved, self.p, f1)
        self.raise_field_error()
        self.counts[TALLY.evaluations] += 1
        largest = max(size, float(np.sqrt(np.mean(((f1 - self.f0) / scale) ** 2))) / h)
        better = (0.01 / largest) ** self.real[REAL.exponent] if largest > 1e-15 else span
        return float(min(100 * h, better, span)) if np.isfinite(better) else h

    # ------------------------------------------------------------ going

    def advance(self, limit: int) -> int:
        """Take up to `limit` steps in the compiled loop and return its status."""
        tables = (self.problem.space.table, self.settings, self.real, self.a, self.b, self.c, self.e)
        programs = (self.extra, self.program)
        memory = (self.state, self.counts, self.y, self.f0, self.x_sum)
        buffers = (self.times, self.records, self.memory)
        engine.advance(*tables, *programs, *memory, *buffers, self.address, self.p, self.watched, self.levels, limit)
        return int(self.counts[TALLY.status])

    def collect(self) -> None:
        """Take what was recorded out of the buffer."""
        if rows := int(self.counts[TALLY.records]):
            self.pieces.append(self.records[:rows].copy())
            self.counts[TALLY.records] = 0

    def raise_field_error(self) -> None:
        """Raise what a Python field or event raised inside the compiled loop."""
        for function in (self.field, *getattr(self, "watchers", ())):
            if isinstance(function, PythonField) and function.error is not None:
                raise function.error

    def checkpoint(self) -> dict[str, np.ndarray]:
        """Copies of all that the run remembers."""
        return {name: getattr(self, name).copy() for name in MEMORY}

    def restore(self, checkpoint: dict[str, np.ndarray]) -> None:
        """Continue from a checkpoint of the same problem, method and options."""
        for name in MEMORY:
            if name not in checkpoint or np.shape(checkpoint[name]) != getattr(self, name).shape:
                raise ValueError(f"solve: the checkpoint does not fit this problem and method ({name!r})")
            getattr(self, name)[...] = checkpoint[name]
        self.counts[TALLY.records] = 0

    def work_per_step(self) -> tuple[int, int]:
        """Exponentials and commutators that one step takes, counted on a whole point."""
        if isinstance(self.method, RKMK):
            stages = self.method.table.stages
            terms = self.method.terms
            return stages, len(self.extra) + (max(terms, 0) * (stages - 1) if terms > 0 else 0)
        return int(self.program[:, 2].max(initial=0)), 0

    # ------------------------------------------------------------ events

    def _watch(self, events: Sequence[Event]) -> None:
        self.events = tuple(events)
        self.watchers = tuple(
            e.function if isinstance(e.function, Field) else PythonField(e.function, 0) for e in events
        )
        rows = [(w.address, e.direction) for w, e in zip(self.watchers, self.events, strict=True)]
        self.watched = np.array(rows, dtype=np.int64).reshape(-1, 2)
        self.levels = np.zeros((len(rows), 2))
        for k in range(len(rows)):
            self.levels[k] = self._level(k, self.start, self.y)

    def _level(self, k: int, t: float, y: np.ndarray) -> float:
        value = np.empty(1)
        engine.evaluate(int(self.watched[k, 0]), t, y, self.p, value)
        self.raise_field_error()
        if not np.isfinite(value[0]):
            raise ValueError(
                f"solve: the event {self.events[k].name!r} is {value[0]} at t = {t:.8g}; expected a finite number"
            )
        return float(value[0])

    def _trial(self, h: float) -> np.ndarray:
        """The point after a step of size h from the last accepted one."""
        out = np.empty_like(self.y)
        tables = (self.problem.space.table, self.settings, self.a, self.b, self.c, self.extra, self.program)
        engine.trial(*tables, self.state[STATE.t], h, self.y, self.f0, self.memory, self.address, self.p, out)
        self.raise_field_error()
        return out

    def _level_after(self, k: int, h: float) -> float:
        return self._level(k, float(self.state[STATE.t]) + h, self._trial(h))

    def locate_events(self) -> list[Occurrence]:
        """Zeros within the step that was not taken, in order, up to the first terminal one; then let the step pass."""
        t, h = float(self.state[STATE.t]), float(self.state[STATE.event_step])
        found = []
        for k, event in enumerate(self.events):
            before = float(self.levels[k, 0])
            after = self._level_after(k, h)
            rising, falling = before < 0 <= after, before > 0 >= after
            if (rising and event.direction >= 0) or (falling and event.direction <= 0):
                size = bracketed_zero(partial(self._level_after, k), 0.0, h, before, after)
                found.append((abs(size), Occurrence(event, t + size, self._trial(size))))
        found.sort(key=lambda item: item[0])
        occurrences = [occurrence for _, occurrence in found]
        for i, occurrence in enumerate(occurrences):
            if occurrence.event.terminal:
                return occurrences[: i + 1]
        self.counts[TALLY.pass_event] = 1
        return occurrences

    def end_at(self, occurrence: Occurrence) -> None:
        """Make a terminal event the last saved point; the move to it is that of the last trial step."""
        n, d = self.problem.space.size, self.problem.space.dimension
        slope = np.empty(d)
        engine.evaluate(self.address, occurrence.t, occurrence.y, self.p, slope)
        move = np.zeros(d)
        stages = int(self.settings[SET.stages])
        first = 2 * stages * d + max(stages * d, stages * n)
        mapping = int(self.settings[SET.mapping])
        engine.blocks.as_exponential(self.problem.space.table, mapping, self.memory[first : first + d], move)
        engine.blocks.combine(self.problem.space.table, move, 0, self.x_sum, 0, move, 0, 0.0)
        self.state[STATE.t], self.y[:], self.f0[:] = occurrence.t, occurrence.y, slope
        self.pieces.append(np.concatenate([[occurrence.t], occurrence.y, slope, move])[None])
