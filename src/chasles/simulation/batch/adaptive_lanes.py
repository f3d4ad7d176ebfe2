"""Runs of many mechanisms whose steps follow the error, four at a time on lanes, on several threads.

Each lane has the steps of its own member, so a member has the same bits as alone, wherever it is in the batch. Members
that do not get to their end are left to be run one by one, which says why.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import REAL, TALLY
from chasles.integrate.lane_advance import Advanced, LaneAdvance
from chasles.integrate.solution import Solution
from chasles.integrate.status import RUNNING
from chasles.kernel.lanes import WIDTH
from chasles.simulation.batch.lane_runs import lane_tables
from chasles.simulation.batch.member_scales import Scales
from chasles.simulation.batch.variants import MemberTables
from chasles.simulation.motion import ATOL, motion_stepper
from chasles.simulation.run_task import Task
from chasles.simulation.sampled_run import JUMPS

COUNTED = [TALLY.accepted, TALLY.rejected, TALLY.evaluations]


class OwnRuns:
    """What the runs leave, each with its own times: solutions by member, and which got to their end."""

    def __init__(self, count: int):
        self.done = np.zeros(count, dtype=bool)
        self.solutions: dict[int, Solution] = {}

    def solution(self, i: int) -> Solution:
        """That of a member."""
        return self.solutions[i]

    @property
    def steps(self) -> np.ndarray:
        """Steps of each member; 0 if it did not get to its end."""
        found = np.zeros(len(self.done), dtype=np.int64)
        for i, solution in self.solutions.items():
            found[i] = solution.steps
        return found

    @cached_property
    def t(self) -> np.ndarray | None:
        """The saved times, if all have the same."""
        times = [solution.t for solution in self.solutions.values()]
        alike = all(np.array_equal(some, times[0]) for some in times)
        return times[0] if alike else None

    @property
    def y(self) -> np.ndarray:
        """Points of members with the same times, (members, times, numbers)."""
        one = next(iter(self.solutions.values()))
        found = np.full((len(self.done), *one.y.shape), np.nan)
        for i, solution in self.solutions.items():
            found[i] = solution.y
        return found

    def last(self, i: int) -> tuple[float, np.ndarray]:
        """Time and point at the end of a member."""
        solution = self.solutions[i]
        return float(solution.t[-1]), solution.y[-1]


class AdaptiveWork:
    """The runs of all members: `states` (members, numbers) at the start and forces `controls` (members, periods, nv),
    each held from one of the times `edges` to the next."""

    def __init__(
        self,
        task: Task,
        tables: MemberTables,
        states: np.ndarray,
        controls: np.ndarray,
        edges: np.ndarray,
        scales: Scales,
        stops: Sequence[np.ndarray] | None = None,
    ):
        """stops: of each member, times at which its steps end and begin anew; not with inputs of several periods."""
        self.stops = stops
        self.most = max(map(len, stops), default=0) if stops is not None else 0
        self.task, self.tables, self.states, self.scales = task, tables, states, scales
        self.controls, self.edges = controls, edges.tolist()
        self.lane_tables = lane_tables(task.dynamics)
        self.stop = threading.Event()
        self.result = OwnRuns(len(states))
        self._lead()  # compiled before the threads ask for it

    def _lead(self) -> ExplicitStepper:
        task = self.task
        more: dict[str, Any] = {name: task.more.get(name) for name in ("rtol", "atol", "save", "max_step")}
        span = self.edges[0], self.edges[1]
        stepper: ExplicitStepper = motion_stepper(task.dynamics, task.method, span, task.state, **more)
        return stepper

    def run(self, chosen: Sequence[int], threads: int, told: Callable[[int], None]) -> OwnRuns:
        """Run members by their index; `told` how many are done."""
        with self.task.dynamics.calling():
            queue = iter(list(chosen))  # taken from by all threads
            if threads == 1 or len(chosen) <= WIDTH:
                _Lanes(self).run(queue, told)
            else:
                with ThreadPoolExecutor(threads) as pool:
                    try:
                        for future in [pool.submit(_Lanes(self).run, queue, told) for _ in range(threads)]:
                            future.result()
                    except BaseException:
                        self.stop.set()
                        raise
        return self.result


class _Lanes:
    """Four lanes of a thread."""

    def __init__(self, work: AdaptiveWork):
        self.work, self.lead = work, work._lead()
        numbers, values = (np.repeat(part[:1], WIDTH, axis=0) for part in (work.tables.numbers, work.tables.values))
        self.p = work.lane_tables.packed(numbers, values, np.zeros((WIDTH, work.task.dynamics.nv)))
        self.lanes = LaneAdvance(self.lead, work.lane_tables.address, self.p, work.lane_tables.correction, work.most)
        self.members: dict[int, int] = {}  # by lane
        self.pieces: dict[int, list[Advanced]] = {}
        self.firsts: dict[int, np.ndarray] = {}
        self.places = work.lane_tables.places(self.lead.p)

    def run(self, queue: Iterator[int], told: Callable[[int], None]) -> None:
        """Run members as they come, until there are none left."""
        while not self.work.stop.is_set():
            for lane in self.lanes.free:
                self._renew(lane, queue)
            if not self.members:
                return
            self.lanes.go_on()
            told(int(self.work.result.done.sum()))

    def _renew(self, lane: int, queue: Iterator[int]) -> None:
        """Take what a lane found, and give it its next period or the next member."""
        if lane in self.members:
            i, found = self.members[lane], self.lanes.ended(lane)
            if found is not None:
                self.pieces[lane].append(found)
                if len(self.pieces[lane]) == len(self.work.edges) - 1:
                    self.work.result.solutions[i] = self._solution(i, lane)
                    self.work.result.done[i] = True
                elif self._begin(lane, i, len(self.pieces[lane]), found.y):
                    return
            del self.members[lane]
        for i in queue:
            self.pieces[lane] = []
            if self._begin(lane, i, 0, self.work.states[i]):
                self.members[lane] = i
                self.firsts[lane] = self.lead.first_record.copy()
                return

    def _begin(self, lane: int, i: int, period: int, y: np.ndarray) -> bool:
        """Begin a period of a member as a single run does; whether its field is finite there."""
        work, lead, tables = self.work, self.lead, self.work.lane_tables
        numbers, values, control = work.tables.numbers[i], work.tables.values[i], work.controls[i, period]
        for place, part in zip(self.places, (numbers, values), strict=True):
            lead.p[place] = part
        tables.forget(lead.p)
        lead.p[work.task.dynamics.control], lead.y[:] = control, y
        lead.loops.units[:] = units = work.scales.units[i]
        atol = work.task.more.get("atol")
        lead.real[REAL.size :] = ATOL * units if atol is None else atol
        lead.real[REAL.atol] = lead.real[REAL.size :].max()
        floor = work.task.dynamics.energy_scale(y, work.scales.mass[i])
        lead.loops.told[:] = *work.edges[period : period + 2], 0.0, floor
        lead.loops.restart.call()
        if lead.counts[TALLY.status] != RUNNING:
            return False
        lead.guess_step()
        tables.put(self.p, lane, numbers, values)
        tables.put_control_of(self.p, lane, control)
        self.lanes.begin(lane, None if work.stops is None else work.stops[i])
        return True

    def _solution(self, i: int, lane: int) -> Solution:
        """The solution of a member whose periods are all done."""
        lead, pieces, task = self.lead, self.pieces[lane], self.work.task
        rows = np.concatenate([*([] if lead.times.size else [self.firsts[lane]]), *(one.rows for one in pieces)])
        n, d = lead.space.size, lead.space.dimension
        accepted, rejected, evaluations = np.sum([one.counts[COUNTED] for one in pieces], axis=0).tolist()
        exponentials, brackets = lead.work_per_step()
        why = JUMPS if len(pieces) > 1 else lead.no_curve()
        curve: dict[str, Any] = {"slopes": None, "moves": None, "no_curve": why}
        if not why:
            curve |= {"slopes": rows[:, 1 + n : 1 + n + d].copy(), "moves": rows[:, 1 + n + d :].copy()}
        found = Solution(lead.space, task.method, rows[:, 0].copy(), rows[:, 1 : 1 + n].copy(), True, "reached the end")
        return replace(
            found,
            steps=accepted,
            rejections=rejected,
            evaluations=evaluations,
            exponentials=(accepted + rejected) * exponentials,
            commutators=(accepted + rejected) * brackets,
            **curve,
        )
