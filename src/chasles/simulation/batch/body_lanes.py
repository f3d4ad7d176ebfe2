"""Runs of implicit methods in absolute coordinates that are carried out together, four at a time on lanes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event
from typing import Any

import numpy as np

from chasles.integrate.options import saving
from chasles.integrate.stepper import helping
from chasles.kernel.lanes import WIDTH
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.motion import motion_stepper
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task


def in_absolute(task: Task) -> bool:
    """Whether a run is in absolute coordinates."""
    return isinstance(task.dynamics, BodyDynamics)


def body_refusal(task: Task) -> str:
    """Why runs like this one in absolute coordinates cannot be on lanes, if so."""
    from chasles.constrained.lane_run import refusal  # these methods take long to load
    from chasles.integrate.constrained_method import CONSTRAINED_METHODS

    more = task.more
    reasons = {
        "lanes in absolute coordinates are for GeneralizedAlpha": not isinstance(task.method, CONSTRAINED_METHODS),
        "steps of implicit methods follow the error": more["step"] is None,
        "joints stick or strike": task.dynamics.set_valued is not None,
        "events are looked for": bool(more["events"]),
        "a controller is asked": task.controller is not None,
        "points are saved between steps": saving(more["save"]) is None,
        "the end is the start": task.span[0] == task.span[1],
    }
    found = next((reason for reason, holds in reasons.items() if holds), "")
    return found or refusal(task.dynamics.mechanism, task.method)


def body_structure(task: Task) -> Hashable:
    """What runs have in common that can be on lanes together."""
    from chasles.constrained.lane_run import structure

    return (structure(task.dynamics.mechanism), repr(task.method), task.span, task.more["step"], task.more["save"])


def body_runs(tasks: Sequence[Task], threads: int) -> list[Run | None]:
    """The runs of tasks of one structure; None for those that did not get to the end, and for one that is left over."""
    found: list[Run | None] = [None] * len(tasks)
    blocks = [range(k, min(k + WIDTH, len(tasks))) for k in range(0, len(tasks), WIDTH)]
    stop = Event()
    if len(blocks[0]) > 1:
        from chasles.constrained.alpha_lanes import addresses

        addresses()  # compiled once, here, where Ctrl-C is heard

    def one(block: range) -> None:
        if len(block) > 1:
            for k, run in zip(block, _block([tasks[k] for k in block], stop), strict=True):
                found[k] = run

    if threads == 1 or len(blocks) == 1:
        for block in blocks:
            one(block)
    else:
        with ThreadPoolExecutor(threads) as pool:
            try:
                list(pool.map(one, blocks))
            except BaseException:
                stop.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
    return found


def _block(tasks: Sequence[Task], stop: Event) -> list[Run | None]:
    from chasles.constrained.lane_run import carried_far

    with ExitStack() as stack, helping():
        made: list[Any] = []
        for task in tasks:
            stack.enter_context(task.dynamics.calling())
            try:
                options = {"stops": None, "breaks": None, **task.more}
                made.append(motion_stepper(task.dynamics, task.method, task.span, task.state, task.u, **options))
            except (ValueError, ArithmeticError):
                made.append(None)
        ready = [one for one in made if one is not None]
        if not ready or any(not np.array_equal(one.packed, ready[0].packed) for one in ready):
            return [None] * len(tasks)
        done = {id(one) for one in carried_far(ready, stop)}
        pairs = zip(tasks, made, strict=True)
        return [task.carry_out(progress=False, made=one) if id(one) in done else None for task, one in pairs]
