"""The members of a batch: what each is given, and how they are run, on lanes or one by one."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.suggestion import meant
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.batch.adaptive_lanes import AdaptiveWork, OwnRuns
from chasles.simulation.batch.arguments import Rows, members_of
from chasles.simulation.batch.held_inputs import HeldInputs, held_between
from chasles.simulation.batch.lane_runs import LaneRuns, LaneWork, refusal, stops_of
from chasles.simulation.batch.member_scales import Scales
from chasles.simulation.batch.schedule import carried_out
from chasles.simulation.batch.variants import WHERE, Variants, as_values, tree_tables
from chasles.simulation.run import Run
from chasles.simulation.run_task import MOST_SAMPLES, Task
from chasles.simulation.simulate import plan, simulate

PLANNED = 256  # members that are prepared before they run: each has its own tables
NOT_OF_A_BATCH = ("system", "span", "q", "v", "control", "period", "file", "progress")


@dataclass
class Outcomes:
    """What came of the members: runs and errors by index, those that were on lanes all in one; why not, if not."""

    runs: dict[int, Run]
    errors: dict[int, Exception]
    on_lanes: LaneRuns | OwnRuns | None = None
    reason: str = ""


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Members:
    """The arguments of `simulate_batch`, checked, and how members are made of them.

    rows: what is given of q, v and control.
    """

    def __init__(
        self,
        system: Any,
        span: tuple[float, float],
        rows: Mapping[str, Any],
        parameters: Mapping[str, ArrayLike] | None,
        period: float | None,
        options: dict[str, Any],
    ):
        _check_names(options)
        self.span, self.options = span, options
        if options.get("controller") is not None:  # it is sampled as by `simulate`
            self.options, period = options | {"period": period}, None
        self.period = period
        raw = as_values(parameters)
        counts = [(f"parameter {name!r}", len(value)) for name, value in raw.items() if value.ndim]
        self.count = members_of(counts) if counts else 1
        self._planned: dict[int, Task] = {}  # the first, which says how all are run
        self.variants = Variants(system, {})
        self._vary(system, raw)
        base = self._first_model()
        depth = 1 if period is None else 2
        inputs = len(base.system.actuators) or int(base.nv)
        self.q = Rows("q", rows["q"], int(base.nq), base.tree.coordinates)
        self.v = Rows("v", rows["v"], int(base.nv), base.tree.velocities)
        self.control = Rows("control", rows["control"], inputs, depth=depth)
        self.count = members_of(
            [*counts, *(item for one in (self.q, self.v, self.control) for item in one.counts.items())]
        )
        self._vary(system, raw)
        if period is not None:
            self._check_period(period)

    def _vary(self, system: Any, raw: Mapping[str, np.ndarray]) -> None:
        values = {name: value if value.ndim else np.full(self.count, value) for name, value in raw.items()}
        self.variants = Variants(system, values)

    def _first_model(self) -> Any:
        """The model of the first member that has one, in joint coordinates."""
        error: Exception | None = None
        for i in range(self.count):
            try:
                made = self.model(i)
                if isinstance(made, Mechanism | ClosedMechanism):
                    return made
                return (made if isinstance(made, System) else made.system).compile("relative")
            except (ValueError, ArithmeticError) as found:
                error = error or found
        assert error is not None
        raise error

    def _check_period(self, period: float) -> None:
        if not (isinstance(period, int | float | np.number) and 0 < period < np.inf):
            raise ValueError(f"{WHERE}: period is {period!r}; expected a time [s], positive")
        parts = list(self.control.parts.values())
        if isinstance(self.control.given, Mapping) or not parts or parts[0].ndim != 3:
            raise ValueError(f"{WHERE}: with period, control is an array (members, periods, inputs)")
        start, end = map(float, self.span)
        periods = (end - start) / period * (1 - 1e-12)
        if not 0 < periods <= MOST_SAMPLES:
            raise ValueError(f"{WHERE}: the span has {periods:.3g} periods; expected at most {MOST_SAMPLES}, forwards")
        if parts[0].shape[1] != int(np.ceil(periods)):
            raise ValueError(
                f"{WHERE}: control has {parts[0].shape[1]} periods of {period:g} s; the span has {np.ceil(periods):g}"
            )

    @property
    def values(self) -> Mapping[str, np.ndarray]:
        """Values of the parameters, (members, ...) each."""
        return self.variants.values

    # ------------------------------------------------------------ one member

    def model(self, i: int) -> Any:
        """The model of a member; what is wrong with its values names it."""
        try:
            return self.variants.model(i)
        except (ValueError, ArithmeticError) as error:
            raise ValueError(f"{WHERE}: member {i}: {str(error).removeprefix(f'{WHERE}: ')}") from error

    def plan(self, i: int) -> Task:
        """What `simulate` would do for a member."""
        more: dict[str, Any] = {}
        if self.period is not None:
            held = HeldInputs(self.control.at(i), float(self.span[0]), self.period)
            more = {"controller": held, "period": self.period}
        elif self.control.given is not None:
            more = {"control": self.control.at(i)}
        return plan(self.model(i), self.span, q=self.q.at(i), v=self.v.at(i), **more, **self.options)

    # ------------------------------------------------------------ all of them

    def run(self, threads: int, told: Callable[[int], None]) -> Outcomes:
        """Run all members; `told` how many are done."""
        found = Outcomes({}, {})
        lead = self._lead(found)
        if not found.reason and isinstance(lead.dynamics.mechanism, Mechanism):
            self._on_lanes(lead, found, threads, told)
        lanes = found.on_lanes
        left = [i for i in range(self.count) if lanes is None or not lanes.done[i]]
        run_planned(
            lambda i: self._planned.pop(i) if i in self._planned else self.plan(i),
            *(left, found, threads, lambda done: told(self.count - len(left) + done)),
        )
        return found

    def _lead(self, found: Outcomes) -> Task:
        """The task of the first member that has one; whether members like it can be on lanes."""
        error: Exception | None = None
        for i in range(self.count):
            try:
                lead = self._planned[i] = self.plan(i)
            except (ValueError, ArithmeticError) as wrong:
                error = error or wrong
                continue
            found.reason = refusal(lead)
            return lead
        assert error is not None
        raise error  # what is wrong in all of them

    def _on_lanes(self, lead: Task, found: Outcomes, threads: int, told: Callable[[int], None]) -> None:
        dynamics = lead.dynamics
        tree = dynamics.mechanism.tree
        q = self.q.table(self.count, dynamics.mechanism.neutral(), tree.coordinates)
        v = self.v.table(self.count, np.zeros(dynamics.nv), tree.velocities)
        q = dynamics.mechanism.tables.check_q(WHERE, q)
        tables = tree_tables(self.variants, dynamics.mechanism, q)
        if tables is None:
            found.reason = "members differ in structure"
            return
        w = dynamics.free.from_body(q, v) if dynamics.free else v
        states = np.concatenate([q, w, np.zeros((len(q), 1))], axis=1)
        work: LaneWork | AdaptiveWork
        try:
            if lead.more["step"] is not None:
                work = LaneWork(lead, tables, states, *self._held(lead))
            else:
                scales = Scales.of_variants(self.variants, lead, self.count)
                if scales is None or dynamics.mechanism.tables.acting.laws:
                    return  # each is planned by itself first
                stops = [stops_of(lead)] * self.count
                work = AdaptiveWork(lead, tables, states, *self._held(lead), scales, stops)
        except ArithmeticError:
            found.reason = "the first member cannot start"
            return
        found.on_lanes = work.run([i for i in range(self.count) if i not in tables.wrong], threads, told)

    def _held(self, lead: Task) -> tuple[np.ndarray, np.ndarray]:
        """Generalized forces (members, periods, nv) and the times between which they are held."""
        actuation, edges = lead.dynamics.actuation(), held_between(lead)
        if self.control.given is None:
            return np.zeros((self.count, 1, lead.dynamics.nv)), edges
        if self.period is not None:
            return np.ascontiguousarray(actuation.along(self.control.parts[""])), edges
        inputs = np.array([actuation.read(self.control.at(i)) for i in range(self.count)])
        return np.ascontiguousarray(actuation.along(inputs))[:, None], edges


class PlannedMembers:
    """Members whose tasks a function makes, each by itself."""

    def __init__(self, plan: Callable[[int], Task], values: Mapping[str, np.ndarray], count: int):
        self.plan, self.values, self.count = plan, values, count

    def run(self, threads: int, told: Callable[[int], None]) -> Outcomes:
        """Run all members; `told` how many are done."""
        found = Outcomes({}, {})
        run_planned(self.plan, range(self.count), found, threads, told)
        if len(found.errors) == self.count:
            raise found.errors[0]  # what is wrong in all of them
        return found


def run_planned(
    plan: Callable[[int], Task], members: Sequence[int], found: Outcomes, threads: int, told: Callable[[int], None]
) -> None:
    """Run members as `simulate` does, in parts; those of one structure on lanes, where lanes can be."""
    for first in range(0, len(members), PLANNED):
        tasks: dict[int, Task] = {}
        for i in members[first : first + PLANNED]:
            try:
                tasks[i] = plan(i)
            except Exception as error:
                found.errors[i] = error
        for i, run in zip(tasks, carried_out(list(tasks.values()), threads), strict=True):
            if isinstance(run, Run):
                found.runs[i] = run
            else:
                found.errors[i] = run
        found.reason = found.reason or next(filter(None, map(refusal, tasks.values())), "")
        told(min(first + PLANNED, len(members)))


def _check_names(options: Mapping[str, Any]) -> None:
    """TypeError for an option that `simulate` does not have, or that is not one of a batch."""
    known = [name for name in inspect.signature(simulate).parameters if name not in NOT_OF_A_BATCH]
    for name in options:
        if name not in known:
            raise TypeError(f"{WHERE}: there is no option {name!r}; {meant(name, known)}expected one of simulate")
