"""Runs under a sampled controller: in pieces, each with the input that the controller gave at its begin."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.display.progress import Progress
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import TALLY
from chasles.integrate.options import UNLIMITED
from chasles.integrate.solution import COUNTED_WORK, Cause, Solution
from chasles.integrate.status import DONE
from chasles.integrate.stepper import AS_IT_ENDED, Attention, Interrupted, NotFiniteError
from chasles.kernel.bound import Bound
from chasles.simulation.fixed_steps import run_period
from chasles.simulation.motion import motion_stepper, solve_motion
from chasles.simulation.pace import Pace
from chasles.simulation.pieces import Pieces
from chasles.simulation.tree.dynamics import TreeDynamics

if TYPE_CHECKING:
    from chasles.simulation.run_task import Recorder, Task

# why there is no curve through the points
JUMPS = "the input of a sampled controller jumps between the points; the saved times are run.t: save more of them"
AT_ONCE = 64  # steps of a period that are few
ROOM = 16 * AT_ONCE  # saved points of such periods, kept together
TRIES = 3  # periods that take more, after which nobody tries to do them quickly


class Periods:
    """The periods of a run by one explicit stepper, begun anew at each sample: to make one takes as long as a hundred
    steps. The bits are those of a stepper made for each."""

    def __init__(self, task: Task):
        self.task, self.calling = task, task.dynamics.calling()
        given = [task.more.get(key) for key in ("stops", "breaks")]
        self.stops = np.unique(np.concatenate([np.ravel(() if some is None else some) for some in given]))
        self.fresh = np.array(task.dynamics.problem().parameters)
        self.stepper: ExplicitStepper | None = None
        self.loop: Bound | None = None  # of a whole period
        self.restart: Bound | None = None  # of the begin of one whose steps follow the error
        self.step = task.more["step"] or 0.0
        self.tally, self.seconds = [0, 0, 0], 0.0  # steps, rejections, evaluations of what was done quickly
        self.last_evaluations = 0
        self.tries = TRIES
        self.waiting: list[tuple[int, np.ndarray, int]] = []  # rows up to which periods go, their inputs, evaluations

    @property
    def quick(self) -> bool:
        """Whether periods are so short that the time between them counts."""
        more, period = self.task.more, self.task.period
        assert period is not None
        few = not self.step or period <= 0.9 * AT_ONCE * self.step
        return few and more.get("max_evaluations") is None

    @staticmethod
    def serve(task: Task) -> bool:
        """Whether periods of a task can be done so."""
        explicit = isinstance(task.method, ExplicitStepper.methods)
        return explicit and task.dynamics.set_valued is None and not task.more["events"]

    def free_of_stops(self, first: float, last: float) -> bool:
        """Whether no step has to end at a given time in a period."""
        return not self.stops.size or bool(
            np.searchsorted(self.stops, first) == np.searchsorted(self.stops, last, "right")
        )

    def solve(
        self, first: float, last: float, state: np.ndarray, u: np.ndarray, step: float | None, most: int | None
    ) -> Solution:
        """The motion in a period under forces u."""
        task, stepper = self.task, self.stepper
        more = dict(task.more, step=step, max_evaluations=most)
        if not self.free_of_stops(first, last):
            return solve_motion(task.dynamics, task.method, (first, last), state, u, **more, progress=False)
        with self.calling:
            if stepper is None:
                stepper = self._made((first, last), state, u, more | {"stops": None, "breaks": None})
            else:
                stepper.p[:], stepper.y[:], self.control[:] = self.fresh, state, u
                floor = task.dynamics.energy_scale(state) if step is None else 0.0
                stepper.begin(first, last, step, floor, UNLIMITED if most is None else most)
            return stepper.finish(progress=False)

    def _made(
        self, span: tuple[float, float], state: np.ndarray, u: np.ndarray, more: dict[str, Any]
    ) -> ExplicitStepper:
        """The stepper."""
        task = self.task
        stepper: ExplicitStepper = motion_stepper(task.dynamics, task.method, span, state, u, **more)
        self.stepper, self.control = stepper, stepper.p[task.dynamics.control]
        self.records = stepper.records.reshape(stepper.rows, stepper.width)
        return stepper

    def bind(self, forces: np.ndarray, given: np.ndarray) -> None:
        """From now on periods have the input `given` and its forces as they are in these arrays then."""
        of = self.stepper
        assert of is not None
        self.rows, self.told = np.empty((ROOM, 1 + of.space.size + len(given))), np.zeros(3)
        self.kept = np.zeros(3, dtype=np.int64)
        state = (of.state, of.counts, of.y, of.f0, of.memory, of.address, of.p, self.fresh, forces, given)
        where = self.task.dynamics.control.start
        room = (where, self.rows, self.told, self.kept, AT_ONCE)
        self.loop = Bound(run_period, of.space.table, of.addresses, *of.arrays(), *state, *room)

    def fixed(self, first: float, last: float) -> bool:
        """As `quickly`, of fixed steps without corrections, with the input that is bound: whether the period came to
        its end. Its points stay where the loop writes them until they are `bound_rows`."""
        stepper, loop, told = self.stepper, self.loop, self.told
        if not self.tries or (self.stops.size and not self.free_of_stops(first, last)):
            return False
        assert stepper is not None
        assert loop is not None
        began = time.perf_counter()
        told[0], told[1], told[2] = first, last, min(self.step, last - first)
        with self.calling:
            loop.call()
        if stepper.counts.item(TALLY.status) != DONE:
            self.tries -= 1
            return False
        self.seconds += time.perf_counter() - began
        return True

    @property
    def crowded(self) -> bool:
        """Whether there is no room for another period."""
        return self.kept.item(0) > ROOM - AT_ONCE

    def bound_rows(self) -> np.ndarray:
        """The points of `fixed` periods, with their inputs."""
        records, accepted, evaluations = self.kept.tolist()
        self.tally[0], self.tally[2] = self.tally[0] + accepted, self.tally[2] + evaluations
        self.kept[:] = 0
        return self.rows[:records]

    def quickly(self, first: float, last: float, u: np.ndarray) -> np.ndarray | None:
        """The saved points of a period of fixed steps that goes on from the present point, if it comes to its end in
        few of them; no solution is made of them, which would take as long as the steps."""
        stepper = self.stepper
        if stepper is None or not self.tries or not self.free_of_stops(first, last):
            return None
        began, loops = time.perf_counter(), stepper.loops
        stepper.p[:], self.control[:] = self.fresh, u
        loops.told[0], loops.told[1], loops.told[2] = first, last, min(self.step, last - first)
        with self.calling:
            loops.restart.call()
            loops.take(AT_ONCE, stepper.needs_more)
        return self._counted(stepper, self.records, began)

    def adaptive(self, first: float, last: float, forces: np.ndarray, given: np.ndarray) -> bool:
        """As `quickly`, of steps that follow the error: whether the period came to its end. Its points stay where the
        loop writes them until they are `taken`. forces: the same array each time, given: the input."""
        stepper = self.stepper
        if stepper is None or not self.tries or (self.stops.size and not self.free_of_stops(first, last)):
            return False
        began, loops = time.perf_counter(), stepper.loops
        if self.restart is None:
            self.restart = loops.restart_held(self.fresh, forces, self.task.dynamics.control.start)
            stepper.counts[TALLY.records] = 0
        told = loops.told
        told[0], told[1], told[3] = first, last, self.task.dynamics.energy_scale(stepper.y)
        with self.calling:
            self.restart.call()
            loops.take(AT_ONCE, stepper.needs_more)
        rows = self._counted(stepper, self.records, began)
        if rows is None:
            return False
        self.waiting.append((len(rows), given.copy(), self.last_evaluations))
        return True

    def taken(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
        """The points of `adaptive` periods, (time, state, ...) each; of each period its input, where its points end,
        and its evaluations."""
        ends, inputs, evaluations = zip(*self.waiting, strict=True)
        assert self.stepper is not None
        self.waiting, self.stepper.counts[TALLY.records] = [], 0
        return self.records[: ends[-1]], np.array(inputs), np.array(ends), list(evaluations)

    def _counted(self, stepper: ExplicitStepper, rows: np.ndarray, began: float) -> np.ndarray | None:
        """The rows that there are after a period, if it is done."""
        accepted, rejected, evaluations, status, records, *_ = stepper.counts.tolist()
        if status != DONE:
            self.tries -= 1
            return None
        tally, self.last_evaluations = self.tally, evaluations
        tally[0], tally[1], tally[2] = tally[0] + accepted, tally[1] + rejected, tally[2] + evaluations
        self.seconds += time.perf_counter() - began
        return rows[:records]

    def count(self, work: dict[str, Any]) -> None:
        """Add the work of periods that were done quickly."""
        if self.stepper is not None:
            tried = self.tally[0] + self.tally[1]
            found = *self.tally, *(tried * each for each in self.stepper.work_per_step()), self.seconds
            for name, value in zip(COUNTED_WORK, found, strict=True):
                work[name] += value


class SampledRun:
    """A run of a task under its controller; a recorder gets the pieces, or they are kept."""

    def __init__(self, task: Task, recorder: Recorder | None):
        assert task.controller is not None
        if task.span[1] < task.span[0]:
            raise ValueError("simulate: a sampled controller runs forwards in time; the end is before the start")
        if not isinstance(task.more["save"], str) and not isinstance(task.more["save"], int | np.integer):
            raise ValueError('simulate: with a controller, save is "all", "final" or a number of steps')
        self.task, self.recorder, self.controller = task, recorder, task.controller
        self.actuation, self.pace = task.dynamics.actuation(), Pace(task.dynamics)
        self.left = task.more.get("max_evaluations")
        self.forces = np.zeros(self.actuation.nv)  # of the input that is held
        self.pieces: Pieces | None = None
        self.stop: Interrupted | None = None
        self.periods = Periods(task) if Periods.serve(task) else None

    def carry_out(
        self, progress: bool | None, done: int, state: np.ndarray
    ) -> tuple[Solution, np.ndarray | None, Interrupted | None]:
        """The whole, or the last piece if a recorder has them; the inputs; whether Ctrl-C came."""
        task, edges = self.task, self.task.edges()
        # if all periods were done before
        piece = Solution(task.dynamics.space, task.method, np.empty(0), np.empty(0), True, "reached the end")
        begin, end, hold = float(edges[0]), float(edges[-1]), self.actuation.holder(self.forces)
        seen = self._seen()
        quick = self.recorder is None and self.periods is not None and self.periods.quick
        with Attention() as attention, Progress(*task.span, progress, at=float(edges[done])) as line:
            for first, last in itertools.pairwise(edges[done:].tolist()):
                asked = self.controller(first, *seen(state))
                given = hold(asked)
                if given is None:
                    given = self.actuation.read(asked, "the controller returned")
                    self.forces[:] = self.actuation.along(given)
                if quick and self.pieces is not None and last != end and not attention.called:
                    state, there = self._quickly(first, last, state, given)
                    if there:
                        if line.enabled:
                            line.show(last)
                        continue
                self._take()
                piece = self._period(first, last, state, first == begin)
                if attention.called or self.stop is not None:
                    piece = self._stopped(piece, last == end)
                self._keep(piece, given)
                state = piece.y[-1]
                line.show(last)
                if self.stop is not None or not piece.success or piece.t[-1] != last:
                    attention.called = attention.called and self.stop is None  # an answer is on its way
                    break
        if self.pieces is None:
            return piece, None, self.stop
        if self.periods is not None:
            self.periods.count(self.pieces.work)
        return *self.pieces.joined(piece, JUMPS), self.stop

    def _seen(self) -> Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """What gives a controller its own q and v of a state: at once where they stand in it."""
        dynamics = self.task.dynamics
        if isinstance(dynamics, TreeDynamics) and dynamics.free is None:
            nq, end = dynamics.nq, dynamics.nq + dynamics.nv
            return lambda state: (state[:nq].copy(), state[nq:end].copy())

        def seen(state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            q, v = dynamics.coordinates(state)
            return q.copy(), v.copy()

        return seen

    def _quickly(self, first: float, last: float, state: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, bool]:
        """Try to do a period quickly: the state, and whether it is that at the end."""
        periods, pieces = self.periods, self.pieces
        assert periods is not None
        assert pieces is not None
        if periods.stepper is None:
            return state, False
        if state is not periods.stepper.y:
            periods.stepper.y[:] = state
        if periods.step and not periods.stepper.needs_more:
            if periods.loop is None:
                self.given = given.copy()
                periods.bind(self.forces, self.given)
            self.given[:] = given
            there = periods.fixed(first, last)
            if not there or periods.crowded:
                self._take()
            return (periods.stepper.y, True) if there else (pieces.last_point, False)
        if not periods.step:
            there = periods.adaptive(first, last, self.forces, given)
            if not there or periods.waiting[-1][0] + AT_ONCE + 2 > len(periods.records):
                self._take()
            return (periods.stepper.y, True) if there else (pieces.last_point, False)
        rows = periods.quickly(first, last, self.forces)
        if rows is None:
            return pieces.last_point, False
        pieces.add_rows(rows, given)
        return periods.stepper.y, True

    def _take(self) -> None:
        """Keep the points of periods that were done quickly, and are not kept yet."""
        if self.pieces is not None and self.periods is not None and self.periods.loop is not None:
            self.pieces.rows.add(self.periods.bound_rows())
        if self.pieces is not None and self.periods is not None and self.periods.waiting:
            rows, inputs, ends, evaluations = self.periods.taken()
            self.pieces.add_rows(rows, np.repeat(inputs, np.diff(ends, prepend=0), axis=0))
            self.pace.note(evaluations, rows[ends - 1, 1 : 1 + self.pieces.sizes[1]])

    def _period(self, first: float, last: float, state: np.ndarray, at_start: bool) -> Solution:
        """One period, under an input."""
        task, u, step = self.task, self.forces.copy(), self.task.more["step"]
        step = min(step, last - first) if step else None
        solve = self._solve if self.periods is None else self.periods.solve
        try:
            return self.pace.period(partial(solve, first, last, state, u, step), step is not None, self.left)
        except Interrupted as interrupted:
            self.stop = interrupted
            return interrupted.result
        except NotFiniteError:
            if at_start:
                raise
            message = f"the accelerations are not finite (t = {first:.8g})"
            return Solution(task.dynamics.space, task.method, np.array([first]), state[None], False, message)

    def _solve(
        self, first: float, last: float, state: np.ndarray, u: np.ndarray, step: float | None, most: int | None
    ) -> Solution:
        task, more = self.task, dict(self.task.more, step=step, max_evaluations=most)
        return solve_motion(task.dynamics, task.method, (first, last), state, u, **more, progress=False)

    def _stopped(self, piece: Solution, at_end: bool) -> Solution:
        """The solution of a period in which Ctrl-C came."""
        message = AS_IT_ENDED if at_end else f"interrupted at t = {piece.t[-1]:.8g}"
        solution = piece
        if self.stop is None:
            self.stop = Interrupted(message, solution)
        if solution.success and not at_end:
            solution = replace(solution, success=False, message=str(self.stop), cause=Cause.INTERRUPTED)
        return solution

    def _keep(self, piece: Solution, given: np.ndarray) -> None:
        if self.recorder is not None:
            self.recorder.piece(piece, given)
        else:
            self.pieces = self.pieces or Pieces(piece.y.shape[1], len(given))
            self.pieces.add(piece, given)
        self.left = None if self.left is None else self.left - piece.evaluations
