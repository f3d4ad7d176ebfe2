"""Runs that are planned one by one and carried out together: those of one structure on lanes, the others on threads."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from chasles.integrate.stepper import helping
from chasles.simulation.batch.adaptive_lanes import AdaptiveWork, OwnRuns
from chasles.simulation.batch.body_lanes import body_runs, body_structure, in_absolute
from chasles.simulation.batch.held_inputs import held_between, held_forces, inputs_at
from chasles.simulation.batch.lane_runs import LaneRuns, LaneWork, lane_tables, refusal, stops_of
from chasles.simulation.batch.member_scales import Scales
from chasles.simulation.batch.variants import MemberTables
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task
from chasles.simulation.runaway import explained


def carried_out(tasks: Sequence[Task], threads: int = 1) -> list[Run | Exception]:
    """The runs of tasks, or what was raised. A run has the same bits whatever the others are."""
    found: dict[int, Run | Exception] = {}
    groups: dict[Hashable, list[int]] = {}
    for k, task in enumerate(tasks):
        if not refusal(task):
            groups.setdefault(structure(task), []).append(k)
    for members in groups.values():
        chosen = [tasks[k] for k in members]
        runs = body_runs(chosen, threads) if in_absolute(chosen[0]) else _on_lanes(chosen, threads)
        found |= {k: run for k, run in zip(members, runs, strict=True) if run is not None}

    def one(k: int) -> None:
        try:
            with helping():  # how each ended is in its message
                found[k] = tasks[k].carry_out(progress=False)
        except Exception as error:
            found[k] = error

    left = [k for k in range(len(tasks)) if k not in found]
    if threads == 1 or len(left) < 2:
        for k in left:
            one(k)
    else:
        with ThreadPoolExecutor(threads) as pool:
            try:
                list(pool.map(one, left))
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return [found[k] for k in range(len(tasks))]


def structure(task: Task) -> Hashable:
    """What runs have in common that can be on lanes together."""
    dynamics, more = task.dynamics, task.more
    if in_absolute(task):
        return body_structure(task)
    save = more["save"] if isinstance(more["save"], str | int) else np.asarray(more["save"]).tobytes()
    numbers, _ = lane_tables(dynamics).places(dynamics.parameters)
    tables = dynamics.parameters[: numbers.start].tobytes(), dynamics.mechanism.tables.acting.table.tobytes()
    held = (dynamics.projected, dynamics.baumgarte) if isinstance(dynamics, ClosedDynamics) else ()
    steps = [np.asarray(more.get(name), dtype=float).tobytes() for name in ("step", "rtol", "atol", "max_step")]
    return (*tables, *held, dynamics.space_of_free, repr(task.method), held_between(task).tobytes(), *steps, save)


def _on_lanes(tasks: Sequence[Task], threads: int) -> list[Run | None]:
    """The runs of tasks of one structure; None for those that did not get to the end."""
    lead = tasks[0]
    places = lane_tables(lead.dynamics).places(lead.dynamics.parameters)
    numbers, values = (np.array([task.dynamics.parameters[place] for task in tasks]) for place in places)
    tables = MemberTables(numbers, values, {})
    controls, edges = np.array([held_forces(task) for task in tasks]), held_between(lead)
    states = np.array([task.state for task in tasks])
    work: LaneWork | AdaptiveWork
    try:
        if lead.more["step"] is not None:
            work = LaneWork(lead, tables, states, controls, edges)
        else:
            stops = [stops_of(task) for task in tasks]
            work = AdaptiveWork(lead, tables, states, controls, edges, Scales.of_tasks(tasks), stops)
    except ArithmeticError:  # the first cannot start
        return [None, *(_on_lanes(tasks[1:], threads) if len(tasks) > 1 else ())]
    runs = work.run(range(len(tasks)), threads, lambda done: None)
    return [run_of(task, runs, k) if runs is not None and runs.done[k] else None for k, task in enumerate(tasks)]


def run_of(task: Task, runs: LaneRuns | OwnRuns, k: int) -> Run:
    """The run of a member on lanes."""
    solution = explained(task, runs.solution(k))
    return Run(task.dynamics, solution, inputs_at(task, solution.t), task=task)
