"""Long runs that kept few of their points: these are checkpoints, and the steps between them are taken again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from chasles.simulation.adjoint.objective import Measure
from chasles.simulation.adjoint.sweep import BackwardSweep
from chasles.simulation.run import Run

IN_TIME = ("stops", "breaks")  # options of a run that are times


@dataclass
class Checkpoints:
    """The pieces of a run between the points that it kept; each is a run with all its points."""

    run: Run

    def __len__(self) -> int:
        return max(len(self.run.t) - 1, 1)

    def __getitem__(self, k: int) -> Run:
        run, last = self.run, min(k + 1, len(self.run.t) - 1)
        first, end = sorted((float(run.t[k]), float(run.t[last])))
        more = run.task.more | {"save": "all", "events": ()}
        for name in IN_TIME:
            if (given := more.get(name)) is not None:
                times = np.ravel(given)
                more[name] = times[(first <= times) & (times <= end)]
        if end > first:  # the last piece may be one short step
            more["step"] = min(more["step"], end - first)
        span = float(run.t[k]), float(run.t[last])
        found: Run = replace(run.task, span=span, state=run.solution.y[k].copy(), more=more).carry_out(progress=False)
        return found


def weighed(pieces: Checkpoints, terms: Sequence[Measure]) -> tuple[float, list[np.ndarray], np.ndarray]:
    """The objective, the weights that all points have in each of its terms, and where the points of each piece
    begin."""
    times, values, edges = list[np.ndarray](), [list[np.ndarray]() for _ in terms], [0]
    for k in range(len(pieces)):
        piece, own = pieces[k], slice(1 if k else 0, None)
        times.append(piece.t[own])
        for term, found in zip(terms, values, strict=True):
            found.append(term.values(piece.t, piece.q, piece.v)[own])
        edges.append(edges[-1] + len(piece.t) - 1)
    t = np.concatenate(times)
    given = [np.ravel(() if (x := pieces.run.task.more.get(name)) is None else x) for name in IN_TIME]
    kinks = np.flatnonzero(np.isin(t, np.concatenate(given)))
    both = [term.number(t, np.concatenate(found), kinks) for term, found in zip(terms, values, strict=True)]
    return sum(number for number, _ in both), [weights for _, weights in both], np.array(edges)


def back_by_pieces(
    adjoint: BackwardSweep, run: Run, terms: Sequence[Measure]
) -> tuple[float, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """The objective; cotangents of the first point, of the forces of each input, and of numbers, as
    `BackwardSweep.back` finds them."""
    pieces = Checkpoints(run)
    value, weights, edges = weighed(pieces, terms)
    held, inputs = list[np.ndarray](), list[np.ndarray]()
    bar, numbers = np.zeros(run.solution.y.shape[1]), np.zeros(1)
    for k in range(len(pieces) - 1, -1, -1):
        piece, own = pieces[k], slice(edges[k], edges[k + 1] + 1)
        by = []
        for term, every in zip(terms, weights, strict=True):
            mine = every[own].copy()
            mine[0] *= k == 0  # of others it is the last point of the piece before
            by.append(term.along(piece.t, piece.q, piece.v, mine))
        adjoint.take(piece)
        kicks = adjoint.kicks(*(np.sum(parts, axis=0) for parts in zip(*by, strict=True)))
        kicks[-1] += bar
        bar, forces, found = adjoint.back(kicks, None)
        bar, numbers = bar.copy(), numbers + found
        held.insert(0, forces)
        inputs.insert(0, adjoint.inputs)
    if adjoint.each:
        adjoint.inputs, adjoint.period = np.concatenate(inputs), np.zeros(edges[-1] + 1, dtype=np.int64)
    return value, (bar, np.concatenate(held) if adjoint.each else np.sum(held, axis=0), numbers)
