"""Events of explicit runs: the compiled loop sees that a level changed its sign, here the zero is located."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from chasles.integrate import blocks, engine
from chasles.integrate.dense_output import follow_move
from chasles.integrate.event import Event, Occurrence, bracketed_zero, occurrence, up_to_terminal
from chasles.integrate.explicit_layout import SET, STATE, TALLY
from chasles.integrate.stepper import as_field, raise_errors_of

if TYPE_CHECKING:
    from chasles.integrate.explicit import ExplicitStepper


class Watch:
    """The events of a run: addresses and directions for the loop (`watched`), and their values before and after a step
    (`levels`)."""

    def __init__(self, stepper: ExplicitStepper, events: tuple[Event, ...]):
        self.stepper, self.events = stepper, events
        shown = stepper.problem.shown
        self.functions = tuple(as_field(shown.of(event) if shown else event.watched, 0) for event in events)
        rows = [(f.address, e.direction) for f, e in zip(self.functions, events, strict=True)]
        self.watched = np.array(rows, dtype=np.int64).reshape(-1, 2)
        self.levels = np.zeros((len(rows), 2))
        for k in range(len(rows)):
            self.levels[k] = self.level(k, stepper.start, stepper.y)

    def level(self, k: int, t: float, y: np.ndarray) -> float:
        """What event k is at a point."""
        value = np.empty(1)
        engine.evaluate(int(self.watched[k, 0]), t, y, self.stepper.p, value)
        raise_errors_of(self.functions[k])
        self.events[k].check(float(value[0]), t)
        return float(value[0])

    def trial(self, h: float) -> tuple[np.ndarray, np.ndarray]:
        """The move of a step of size h from the last accepted point, and the point after it."""
        stepper = self.stepper
        move, point = np.empty_like(stepper.f0), np.empty_like(stepper.y)
        method = (stepper.settings, stepper.a, stepper.b, stepper.c, stepper.extra, stepper.program)
        place = (stepper.time, h, stepper.y, stepper.f0, stepper.memory, stepper.address, stepper.p)
        engine.trial(stepper.space.table, stepper.addresses, *method, *place, move, point)
        raise_errors_of(stepper.field)
        return move, point

    def _level_after(self, k: int, h: float) -> float:
        return self.level(k, self.stepper.time + h, self.trial(h)[1])

    def locate(self) -> list[Occurrence]:
        """Zeros within the step that was not taken, in order, up to the first terminal one; else let the step pass."""
        stepper = self.stepper
        h = float(stepper.state[STATE.event_step])
        found = []
        for k, event in enumerate(self.events):
            before, after = float(self.levels[k, 0]), self._level_after(k, h)
            if event.crossed(before, after):
                size = bracketed_zero(partial(self._level_after, k), 0.0, h, before, after)
                found.append(
                    (abs(size), occurrence(event, stepper.time + size, self.trial(size)[1], stepper.problem.shown))
                )
        occurrences = up_to_terminal(found)
        stepper.counts[TALLY.pass_event] = not (occurrences and occurrences[-1].event.terminal)
        return occurrences

    def end_at(self, last: Occurrence) -> np.ndarray:
        """Make a terminal event the point of the run. Returns records (time, point, field value, move since the one
        before): of the times to save within the unfinished step, and of the event."""
        stepper, point = self.stepper, last.goes_on_from
        records = self._requested_until(last.t)
        move, _ = self.trial(last.t - stepper.time)
        slope, total = np.empty_like(stepper.f0), stepper.x_sum.copy()
        engine.evaluate(stepper.address, last.t, point, stepper.p, slope)
        if stepper.settings[SET.dense] and not stepper.times.size:
            addresses = stepper.operations(*range(len(blocks.OPERATION_NAMES)))
            first, mapping = bool(stepper.state[STATE.since_save] == 0), int(stepper.settings[SET.mapping])
            follow_move(stepper.space.table, addresses, mapping, move, np.empty_like(total), total, first)
        stepper.state[STATE.t], stepper.y[:], stepper.f0[:] = last.t, point, slope
        return np.array([*records, np.concatenate([[last.t], point, slope, total])])

    def _requested_until(self, end: float) -> list[np.ndarray]:
        """Records of the times to save from the last accepted point to `end`, each by a step of its own."""
        stepper, nothing = self.stepper, np.zeros(2 * self.stepper.f0.size)
        times = stepper.times[int(stepper.counts[TALLY.next_time]) :]
        times = times[stepper.direction * (times - end) <= 0]
        return [np.concatenate([[t], self.trial(t - stepper.time)[1], nothing]) for t in times]
