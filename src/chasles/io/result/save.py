"""Writing a run that is done to a result file, with quantities that follow from its states."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from chasles.integrate.solution import COUNTED_WORK
from chasles.io.result import quantities as derived
from chasles.io.result.layout import replacing
from chasles.io.result.writer import ENDINGS, ResultWriter


def save_run(run: Any, file: Path, quantities: str | Iterable[str] = "all") -> None:
    """Write a run to a result file, and with it, for other programs, `quantities` that follow from its states: some of
    "poses", "twists", "accelerations" (of the bodies' frames) and "reactions" (of the joints), "all", or none, ()."""
    task = run.task
    if task is None:
        raise ValueError("save: this run is not from `simulate`, so how to repeat it is not known")
    if file.suffix.lower() not in ENDINGS:
        raise ValueError(f"save: {file.name!r}; expected a name that ends in {', '.join((*ENDINGS, '.html'))}")
    wanted = derived.check(quantities)
    own = ResultWriter.start(file, task)  # may it be replaced?
    try:
        _save(run, own, wanted)
    finally:
        own.close()


def _save(run: Any, own: ResultWriter, wanted: tuple[str, ...]) -> None:
    task, solution = run.task, run.solution
    with replacing(own.file) as new:
        writer = ResultWriter(new, task, own.header, own.model)
        writer.name = own.name
        sampled = task.controller is not None
        inputs = run.inputs.shape[1] if sampled else 0
        arrays = {} if sampled else solution.checkpoint
        point = solution.y.shape[1]
        algebra = 0 if solution.slopes is None else solution.slopes.shape[1]
        writer.make(point, algebra, inputs, arrays, solution.no_curve)
        for part in run.parts():
            s = part.solution
            more = [x for x in (s.slopes, s.moves, part.inputs if sampled else None) if x is not None]
            writer.rows(np.concatenate([s.t[:, None], s.y, *more], axis=1))
        writer.happened(solution.events)
        if sampled:
            writer.pieces = int(np.searchsorted(task.edges(), solution.t[-1], side="right")) - 1
        writer.work |= {name: getattr(solution, name) for name in COUNTED_WORK}
        if arrays or sampled:
            writer.mark(writer.work, arrays)
        writer.work["seconds"] = 0 if not sampled else solution.seconds
        writer.finish(solution)
        derived.add(new, run, wanted)
