"""Continuing a run from its file, to the same bits as if it had never stopped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chasles.integrate.event import Event
from chasles.io.result.layout import ResultFileError
from chasles.io.result.reader import Stored, read, run_of, task_for
from chasles.io.result.writer import ResultWriter
from chasles.simulation.body_run import BodyRun
from chasles.simulation.run import Run
from chasles.simulation.task import Task


def resume(
    file: str | Path,
    *,
    laws: Mapping[str, Any] | None = None,
    events: Sequence[Event] | None = None,
    controller: Callable | None = None,
    progress: bool | None = None,
) -> Run | BodyRun:
    """Continue a run that was killed or interrupted, in its file, to the same bits as if nothing had happened.

    The user's functions that the run had (laws of forces by name, events, a controller) are given again; their sources
    must be those of the run. A controller that remembers something must be in the state that it had. A run that has
    reached its end is opened as it is.
    """
    stored = read(Path(file))
    if stored.outcome is not None and stored.outcome["success"]:
        return run_of(stored, task_for(stored, laws, events, controller))
    task = task_for(stored, laws, events, controller, needed=True)
    if len(stored.points):
        _check_same(stored, task)
    checkpoint = stored.checkpoint
    writer = ResultWriter.again(stored, task)
    if checkpoint is None:
        return task.carry_out(progress, writer)
    if task.controller is None:
        return task.carry_out(progress, writer, resume=checkpoint.arrays)
    done, rows = checkpoint.note["pieces"], checkpoint.note["rows"]
    return task.carry_out(progress, writer, after=(done, np.array(stored.points["state"][rows - 1])))


def _check_same(stored: Stored, task: Task) -> None:
    """The model of the file must move off as the one that was simulated did, to the last bit."""
    if stored.header["no_curve"]:
        return
    problem = task.dynamics.problem(task.u)
    rate = np.empty(stored.sizes.algebra)
    problem.field(task.span[0], np.array(stored.points["state"][0]), problem.parameters, rate)
    if not np.array_equal(rate, stored.points["rate"][0]):
        raise ResultFileError(
            stored.file,
            "the start moves off differently than it did in the run, by up to "
            f"{np.abs(rate - stored.points['rate'][0]).max():.3g}: another version of chasles "
            f"({stored.header['versions']['chasles']} wrote it), another machine, or laws that depend on more",
        )
