"""Continuing a run from its file, to the same bits as if it had never stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chasles.integrate.event import Event, as_events
from chasles.io.result.layout import ResultFileError
from chasles.io.result.lock import Lock
from chasles.io.result.reader import Stored, damage, read, run_of, task_for
from chasles.io.result.writer import ResultWriter
from chasles.simulation.motion import spoken_by
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task


def resume(
    file: str | Path,
    *,
    laws: Mapping[str, Any] | None = None,
    events: Event | Sequence[Event] | None = None,
    controller: Callable[..., Any] | None = None,
    progress: bool | None = None,
) -> Run:
    """Continue a run that was killed or interrupted, in its file; the result is bit-identical to an uninterrupted run.

    The user's functions that the run had (laws of forces by name, events, a controller) are given again; their sources
    must be those of the run. A controller that remembers something must be in the state that it had. A run that has
    reached its end is opened as it is.
    """
    path = Path(file).resolve()
    with spoken_by("resume"):
        events = None if events is None else as_events(events)
    stored = read(path)
    if stored.outcome is not None and stored.outcome["success"]:
        return run_of(stored, task_for(stored, laws, events, controller))
    lock = Lock(path)
    stored = read(path)  # now that nobody changes it
    if not stored.contiguous:
        raise ResultFileError(path, "another program changed how its tables are stored, so it cannot be continued")
    task = task_for(stored, laws, events, controller, needed=True)
    if len(stored.points):
        _check_same(stored, task)
    writer = ResultWriter.again(stored, task, lock)
    with damage(path):
        how = _where(stored, task)
    del stored  # its tables may be mapped, and Windows replaces no file that is
    sampled = task.controller is not None  # then the user's function is called first, whose errors are its own
    try:
        return task.carry_out(progress, writer, **how)
    except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
        if writer.begun or sampled or isinstance(error, ResultFileError):
            raise
        raise ResultFileError(path, f"cannot be continued: {error}") from error


def _where(stored: Stored, task: Task) -> dict[str, Any]:
    """Where a run goes on: from its checkpoint, or after the sampling periods that are done; else it begins again."""
    checkpoint = stored.checkpoint
    if checkpoint is None:
        return {}
    if checkpoint.note["rows"] > len(stored.points) or checkpoint.note["events"] > len(stored.events):
        raise ResultFileError(stored.file, "is damaged: its checkpoint is of a later time than its last point")
    if task.controller is None:
        return {"resume": checkpoint.arrays}
    done, rows = checkpoint.note["pieces"], checkpoint.note["rows"]
    edges = task.edges()
    if not (0 < done < len(edges) and rows and stored.points["t"][rows - 1] == edges[done]):
        raise ResultFileError(stored.file, "is damaged: its checkpoint is not at the end of a sampling period")
    return {"after": (done, task.dynamics.space.check(stored.points["state"][rows - 1]))}


def _check_same(stored: Stored, task: Task) -> None:
    """The model of the file must move off as the one that was simulated did, to the last bit."""
    if stored.header["no_curve"]:
        return
    problem = task.dynamics.problem(task.u)
    rate = np.empty(stored.sizes.algebra)
    first = np.array(stored.points["state"][0])
    if not np.array_equal(first, task.state):
        raise ResultFileError(stored.file, "its first point is not its start")
    problem.field(task.span[0], first, problem.parameters, rate)
    if not np.array_equal(rate, stored.points["rate"][0]):
        raise ResultFileError(
            stored.file,
            "the start moves off differently than it did in the run, by up to "
            f"{np.abs(rate - stored.points['rate'][0]).max():.3g}: another version of chasles "
            f"({stored.header['versions']['chasles']} wrote it), another machine, or laws that depend on more",
        )
