"""States of a run at times that do not depend on what was saved: spread at random, crowded at the start, and the end.

Random, because people put events at round times and equal distances alias. Early ones, because numerical damping takes
fast parts away within the first steps. Between the steps, because what dies out within one step is not seen at its
ends; a point there is that of one shorter step, as `save=times` has it.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.integrate.between import points_between
from chasles.integrate.constrained_method import BLieDF
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.solution import Solution
from chasles.integrate.stepper import Stepper, helping
from chasles.simulation.motion import solve_motion
from chasles.simulation.run_task import Task

SPREAD = 160  # times in equal parts of the span, one at a random place in each
SHARE, LEAST = 0.1, 64  # of the evaluations that there are, for states at these times, and never fewer
EARLY = 29  # times that crowd toward the start
NOT_AGAIN = ("save", "events", "max_evaluations")  # options that do not change the steps
BETWEEN, EARLIEST = 10, 3  # of methods that solve equations, whose single steps are dear: every so many between steps


def checkpoint_times(start: float, end: float, rng: np.random.Generator, count: int = SPREAD) -> np.ndarray:
    """Times to compare at, in the order in which they are passed: `count` over the span, and early ones."""
    span = end - start
    spread = start + span * (np.arange(count) + rng.random(count)) / count
    early = start + span * 2.0 ** -(np.arange(1, EARLY + 1) + rng.random(EARLY))
    return in_order(np.concatenate([spread, early, [end]]), start, end)


def in_order(times: np.ndarray, start: float, end: float) -> np.ndarray:
    """Those within (start, end], each once, in the order in which they are passed."""
    sign = 1.0 if end >= start else -1.0
    found = np.unique(sign * times)
    return sign * found[(found > sign * start) & (found <= sign * end)]


def every_second_step(times: np.ndarray, start: float, end: float, step: float) -> np.ndarray:
    """Times of steps near the times, each once: those that a run with 2/5 of the step meets too."""
    sign = 1.0 if end >= start else -1.0
    count = np.unique(np.maximum(np.rint(np.abs(times - start) / (2 * step)), 1.0))
    count = count[2 * step * count <= abs(end - start) * (1 + 1e-12)]
    return start + sign * 2 * step * count


@dataclass
class Steps:
    """The points of a run just before and just after (or at) each of some times."""

    times: np.ndarray
    before: np.ndarray  # rows (time, point, field value ...)
    after: np.ndarray

    def states(self, task: Task, method: Any, exact: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """Times and states. Of methods that solve equations, most of them at the ends of the steps if they need not be
        `exact`; of a multistep method, for which a point between its steps were a start anew, all of them: if they must
        be `exact`, and its steps change, then by such a start."""
        size = task.state.size
        explicit = isinstance(method, RKMK | Exponentials)
        inside = self.times != self.after[:, 0]
        after = self.after
        if isinstance(method, BLieDF) and not (exact and task.more["step"] is None):
            nearer = np.abs(self.before[:, 0] - self.times) < np.abs(after[:, 0] - self.times)
            nearer &= self.before[:, 0] != task.span[0]  # the start is no step
            after, inside = np.where(nearer[:, None], self.before, after), np.zeros(len(inside), dtype=bool)
        elif not (explicit or exact):
            late = np.abs(self.times - task.span[0]) > abs(task.span[1] - task.span[0]) / SPREAD
            inside[np.arange(len(inside)) % np.where(late, BETWEEN, EARLIEST) > 0] = False
        times, y = np.where(inside, self.times, after[:, 0]), after[:, 1 : 1 + size].copy()
        t0, y0 = self.before[inside, 0], self.before[inside, 1 : 1 + size]
        if explicit:
            slopes = self.before[inside, 1 + size : 1 + size + task.dynamics.space.dimension]
            y[inside] = points_between(task.dynamics.problem(task.u), method, t0, y0, slopes, times[inside])
        else:
            for k, a, b, state in zip(np.flatnonzero(inside), t0, times[inside], y0, strict=True):
                y[k] = one_step(task, method, a, b, state)
        if exact:
            return self.times, y
        keep = np.unique(times, return_index=True)[1]
        keep = keep if task.span[1] >= task.span[0] else keep[::-1]
        return times[keep], y[keep]

    def repeated(self, task: Task, method: Any, end: float) -> bool:
        """Whether explicit steps taken again give the same bits; they do not, if a law has a memory. Steps from and to
        stops are left out: they begin just after, and end just before; and the last, which an event may have ended."""
        size = task.state.size
        stops = np.append(told_stops(task), end)
        near = 4 * np.spacing(np.abs(task.span).max())
        apart = [np.abs(part[:, :1] - stops).min(axis=1, initial=np.inf) > near for part in (self.before, self.after)]
        before, after = (part[apart[0] & apart[1]] for part in (self.before, self.after))
        slopes = before[:, 1 + size : 1 + size + task.dynamics.space.dimension]
        problem, y = task.dynamics.problem(task.u), before[:, 1 : 1 + size]
        found = points_between(problem, method, before[:, 0], y, slopes, after[:, 0])
        return bool((found == after[:, 1 : 1 + size]).all())


def told_stops(task: Task) -> np.ndarray:
    """Times at which steps of the run end, as forces jump there: `stops` and what laws declare."""
    given = [task.more.get(name) for name in ("stops", "breaks")]
    return np.concatenate([np.empty(0), *(np.ravel(part) for part in given if part is not None)])


def one_step(task: Task, method: Any, start: float, end: float, state: np.ndarray) -> np.ndarray:
    """The state after one step of a method."""
    options: dict[str, Any] = {"step": abs(end - start), "save": "final", "progress": False}
    return solve_motion(task.dynamics, method, (start, end), state, task.u, **options).y[-1]


class Keeper:
    """A sink that keeps the points around some times, and forgets the others."""

    def __init__(self, times: np.ndarray, sign: float):
        self.times, self.sign = times, sign
        self.last: np.ndarray | None = None
        self.before: list[np.ndarray] = []
        self.after: list[np.ndarray] = []

    def begin(self, stepper: Stepper) -> None:
        stepper.hand_over()

    def rows(self, rows: np.ndarray) -> None:
        known = rows if self.last is None else np.concatenate([self.last[None], rows])
        done = len(self.before)
        at = np.searchsorted(self.sign * known[:, 0], self.sign * self.times[done:], "left")
        inside = at[at < len(known)]
        self.before += [known[max(k - 1, 0)].copy() for k in inside]
        self.after += [known[k].copy() for k in inside]
        self.last = known[-1].copy()

    def passed(self, stepper: Stepper, last: bool) -> None:
        pass

    def steps(self) -> Steps:
        return Steps(self.times[: len(self.before)], np.array(self.before), np.array(self.after))


def steps_of(run: Any, times: np.ndarray) -> tuple[Steps, Solution | None]:
    """The points of a run around some times: those that were saved, if all were, else the run is done again."""
    task, solution = run.task, run.solution
    whole = isinstance(task.more["save"], str) and task.more["save"] == "all" and len(solution.t) > 1
    if not whole or (isinstance(task.method, RKMK | Exponentials) and solution.slopes is None):
        events = [event for event in task.more["events"] if not hasattr(event.function, "not_in_file")]
        return again(task, task.method, times, {"events": events})
    sign = 1.0 if task.span[1] >= task.span[0] else -1.0
    at = [bisect.bisect_left(solution.t, sign * x, key=lambda t: sign * t) for x in times]
    rows = np.clip(at, 1, len(solution.t) - 1)
    parts = [part for part in (solution.y, solution.slopes) if part is not None]

    def picked(index: np.ndarray) -> np.ndarray:
        return np.array([np.concatenate([[solution.t[k]], *(part[k] for part in parts)]) for k in index])

    return Steps(times, picked(rows - 1), picked(rows)), None


def again(task: Task, method: Any, times: np.ndarray, more: dict[str, Any]) -> tuple[Steps, Solution]:
    """The motion once more, from the start, and its points around some times."""
    options = {name: value for name, value in task.more.items() if name not in NOT_AGAIN} | more
    keeper = Keeper(times, 1.0 if task.span[1] >= task.span[0] else -1.0)
    with helping():
        solution = solve_motion(
            *(task.dynamics, method, task.span, task.state, task.u), **options, progress=False, sink=keeper
        )
    return keeper.steps(), solution
