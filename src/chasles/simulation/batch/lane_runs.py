"""Runs of many mechanisms with the same fixed steps, four at a time on lanes, on several threads.

Each lane computes its own member, and nothing of the others: a member has the same bits wherever it is in the batch and
however many threads there are. Where one of four cannot get to the end, each of them is run alone, in all four lanes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.integrate.explicit import NO_CURVE, ExplicitStepper
from chasles.integrate.explicit_layout import TALLY
from chasles.integrate.lane_march import LaneMarch, Marched
from chasles.integrate.options import check_stops, saving
from chasles.integrate.solution import Solution
from chasles.kernel.lanes import WIDTH
from chasles.relative.mechanism import Mechanism
from chasles.simulation.batch.body_lanes import body_refusal, in_absolute
from chasles.simulation.batch.held_inputs import HeldInputs
from chasles.simulation.batch.variants import MemberTables
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.closed.lanes import ClosedLaneTables
from chasles.simulation.motion import motion_stepper
from chasles.simulation.run_task import Task
from chasles.simulation.sampled_run import JUMPS
from chasles.simulation.tree.dynamics import TreeDynamics
from chasles.simulation.tree.lanes import LaneTables

NEAR = 1e-6  # of a step: times so near to its end are its end


def refusal(task: Task) -> str:
    """Why runs like this one cannot be on lanes, if so."""
    more, dynamics = task.more, task.dynamics
    if in_absolute(task):
        return body_refusal(task)
    if type(dynamics) not in (TreeDynamics, ClosedDynamics):
        return "lanes are for mechanisms"
    laws = (*dynamics.mechanism.tables.acting.laws, *getattr(dynamics.mechanism, "laws", ()))
    stops = stops_of(task)
    reasons = {
        "lanes are for explicit methods": not isinstance(task.method, ExplicitStepper.methods),
        "joints follow others": dynamics.mechanism.tree.dependence is not None,
        "joints stick or strike": dynamics.set_valued is not None,
        "events are looked for": bool(more["events"]),
        "fixed steps end at stops": more["step"] is not None and len(stops) > 0,
        "a step begins anew at the start": task.span[0] in stops,
        "evaluations are limited": more["max_evaluations"] is not None,
        "a controller is asked": task.controller is not None and not isinstance(task.controller, HeldInputs),
        "inputs change, and steps end where laws change or at stops": task.controller is not None and len(stops) > 0,
        "a law is a function of Python": any(law.in_python for law in laws),
        "nothing moves": dynamics.nv == 0,
        "the end is the start": task.span[0] == task.span[1],
    }
    found = next((reason for reason, holds in reasons.items() if holds), "")
    steps = more["step"] is not None
    between = stride(task) is None if steps else task.controller is not None and saving(more["save"]) is None
    return found or ("points are saved between steps" if between else "")


def stops_of(task: Task) -> np.ndarray:
    """Times at which steps end and begin anew: those that were asked for, and where laws change."""
    given = [task.more.get(name) for name in ("stops", "breaks")]
    return check_stops(np.concatenate([np.ravel(() if some is None else some) for some in given]), *task.span)


def lane_tables(dynamics: TreeDynamics) -> LaneTables | ClosedLaneTables:
    """What the parameters of a motion are on lanes."""
    free = dynamics.free is not None
    if isinstance(dynamics, ClosedDynamics):
        return ClosedLaneTables(dynamics.mechanism, dynamics.parameters, free, dynamics.projected)
    assert isinstance(dynamics.mechanism, Mechanism)
    return LaneTables(dynamics.mechanism, free)


def stride(task: Task) -> int | None:
    """Steps between saved points, 0 for the last alone; None if there is no such number."""
    save, step = task.more["save"], task.more["step"]
    every = saving(save)
    if every is not None:
        return every
    ratio = np.abs(np.asarray(save) - task.span[0]) / step
    index = np.rint(ratio)
    if np.abs(ratio - index).max() > NEAR or index[0] != 0.0:
        return None
    apart = np.unique(np.diff(index))
    return int(apart[0]) if len(apart) == 1 and apart[0] >= 1 else None


@dataclass
class LaneRuns:
    """What the runs leave: the saved times, points (members, times, numbers), and if every step is saved field values
    and moves there; which members got to the end; a solution without points, for what all have in common."""

    t: np.ndarray
    y: np.ndarray
    slopes: np.ndarray | None
    moves: np.ndarray | None
    done: np.ndarray
    common: Solution

    def solution(self, i: int) -> Solution:
        """That of a member."""
        curve = {} if self.slopes is None or self.moves is None else {"slopes": self.slopes[i], "moves": self.moves[i]}
        return replace(self.common, t=self.t, y=self.y[i], **curve)

    @property
    def steps(self) -> np.ndarray:
        """Steps of each member; 0 if it did not get to its end."""
        return np.where(self.done, self.common.steps, 0)

    def last(self, i: int) -> tuple[float, np.ndarray]:
        """Time and point at the end of a member."""
        return float(self.t[-1]), self.y[i, -1]


class LaneWork:
    """The runs of all members: `states` (members, numbers) at the start and forces `controls` (members, periods, nv),
    each held from one of the times `edges` to the next."""

    def __init__(self, task: Task, tables: MemberTables, states: np.ndarray, controls: np.ndarray, edges: np.ndarray):
        self.task, self.tables, self.states, self.controls, self.edges = task, tables, states, controls, edges
        dynamics, more = task.dynamics, task.more
        every = stride(task)
        assert every is not None
        self.by_time = saving(more["save"]) is None
        self.every = every
        with dynamics.calling():
            self.lead: ExplicitStepper = motion_stepper(
                *(dynamics, task.method, task.span, task.state),
                step=more["step"],
                save=every or "final",
            )
        self.lane_tables = lane_tables(dynamics)
        self.own = threading.local()
        self.result: LaneRuns | None = None
        self.done, self.lock = np.zeros(len(states), dtype=bool), threading.Lock()
        self.stop = threading.Event()

    def run(self, members: Iterable[int], threads: int, told: Callable[[int], None]) -> LaneRuns | None:
        """Run these members; `told` how many are done. None if none of them got to the end."""
        chosen = np.fromiter(members, dtype=np.int64)
        blocks = [chosen[k : k + WIDTH] for k in range(0, len(chosen), WIDTH)]
        finished = 0
        if threads == 1 or len(blocks) == 1:
            for block in blocks:
                self._block(block)
                told(finished := finished + len(block))
        else:
            with ThreadPoolExecutor(threads) as pool:
                futures = {pool.submit(self._block, block): len(block) for block in blocks}
                try:
                    for future in as_completed(futures):
                        future.result()
                        told(finished := finished + futures[future])
                except BaseException:
                    self.stop.set()
                    pool.shutdown(wait=False, cancel_futures=True)
                    raise
        if self.result is not None:
            self.result.done = self.done
        return self.result

    def _block(self, members: np.ndarray) -> None:
        with self.task.dynamics.calling():
            if self._march(members) or len(members) == 1:
                return
            for i in members:  # one of them fails, and each gets its own verdict
                if not self.stop.is_set():
                    self._march(np.array([i]))

    def _march(self, members: np.ndarray) -> bool:
        """Run up to four members to the end, if they all get there; lanes without a member repeat the last one."""
        index = members[np.minimum(np.arange(WIDTH), len(members) - 1)]
        march = getattr(self.own, "march", None)
        if march is None:
            march = self.own.march = LaneMarch(
                self.lead, self.lane_tables.address, self.stop, self.lane_tables.correction
            )
        controls, step = self.controls[index], float(self.task.more["step"])
        p = self.lane_tables.packed(self.tables.numbers[index], self.tables.values[index], controls[:, 0])
        y, pieces = self.states[index], list[Marched]()
        first_value: np.ndarray | None = None
        begin = y
        for k, (first, last) in enumerate(zip(self.edges[:-1].tolist(), self.edges[1:].tolist(), strict=True)):
            if k:
                p[self.lane_tables.remembered] = 0.0  # a single run begins anew
                self.lane_tables.put_control(p, controls[:, k])
            march.between(first, last, min(step, abs(last - first)))
            found = march.run(y, p)
            if found is None:
                return False
            first_value = march.first_value if first_value is None else first_value
            y = found.y
            pieces.append(found)
        assert first_value is not None
        if self.by_time and self.lane_tables.correction:  # as a step of no length gives it
            begin = march.corrected(float(self.edges[0]), begin, p)
        self._keep(members, pieces, begin, first_value)
        return True

    def _keep(self, members: np.ndarray, pieces: list[Marched], begin: np.ndarray, first_value: np.ndarray) -> None:
        """Put the saved points of up to four members into the arrays of all."""
        n, d = self.lead.space.size, self.lead.space.dimension
        rows = np.concatenate([piece.rows for piece in pieces], axis=1)
        if self.every == 0:
            rows = rows[:, -1:]
        count = len(members)
        start = np.concatenate([begin[:count], first_value[:count], np.zeros((count, d))], axis=1)
        points = np.concatenate([start[:, None], rows[: len(members), :, 1:]], axis=1)
        t = np.concatenate([[self.task.span[0]], rows[0, :, 0]])
        if self.by_time:  # the last step is saved whether it is one of them or not
            t = self.task.more["save"]
            points = points[:, : len(t)]
        with self.lock:
            if self.result is None:
                self.result = self._room(t, pieces, n, d)
            result = self.result
        result.y[members] = points[:, :, :n]
        if result.slopes is not None and result.moves is not None:
            result.slopes[members], result.moves[members] = points[:, :, n : n + d], points[:, :, n + d :]
        self.done[members] = True

    def _room(self, t: np.ndarray, pieces: list[Marched], n: int, d: int) -> LaneRuns:
        why = NO_CURVE["times"] if self.by_time else self.lead.no_curve()
        why = JUMPS if len(pieces) > 1 else why
        steps, evaluations = (
            sum(int(piece.counts[which]) for piece in pieces) for which in (TALLY.accepted, TALLY.evaluations)
        )
        exponentials, brackets = self.lead.work_per_step()
        common = Solution(
            *(self.lead.space, self.task.method, t, np.empty(0), True, "reached the end"),
            steps=steps,
            evaluations=evaluations,
            exponentials=steps * exponentials,
            commutators=steps * brackets,
            no_curve=why,
        )
        shape = (len(self.states), len(t))

        def room(size: int) -> Any:
            return np.full((*shape, size), np.nan)

        return LaneRuns(t, room(n), None if why else room(d), None if why else room(d), self.done, common)
