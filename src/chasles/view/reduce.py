"""Curves of long runs with few points. Over time: first, last, lowest and highest of each piece of time, so that no
peak is lost. In a plane or in space: points that are far enough from the one before.

A picture of so many pieces is wide; drawn with all points it would look the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from chasles.simulation.states import ROWS_AT_ONCE

PIECES = 2000  # of the time of a run
FEW = 4 * PIECES  # points that are drawn as they are
NEAR = 1e-3  # of the extent of a curve in a plane or in space


def kept(pieces: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Indices of the rows to keep, of rows that lie in growing `pieces`: extremes of each column, first and last."""
    n = len(pieces)
    if not n:
        return np.empty(0, dtype=np.int64)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(pieces)) + 1])
    ends = np.concatenate([starts[1:], [n]]) - 1
    chosen = [starts, ends]
    for values in columns.T:
        order = np.lexsort((values, pieces))
        chosen += [order[starts], order[ends]]
    return np.unique(np.concatenate(chosen))


def apart(values: np.ndarray) -> np.ndarray:
    """Indices of the rows of a curve to keep: each a thousandth of its extent from the last one kept, and the ends.
    One that goes round and round keeps what its length asks for."""
    extent = np.ptp(values, axis=0)
    scaled = values / np.where(extent > 0, extent, 1.0)
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(scaled, axis=0), axis=1))])
    rows = np.flatnonzero(np.diff(np.floor(along / NEAR))) + 1
    return np.unique(np.concatenate([[0], rows, [len(values) - 1]]))


def pieces_of(t: np.ndarray, first: float, last: float) -> np.ndarray:
    """The number of the piece of time of each row; each row its own if the run has no extent in time."""
    if first == last:
        return np.arange(len(t))
    return np.minimum((np.asarray(t) - first) * (PIECES / (last - first)), PIECES - 1).astype(np.int64)


def blocks(run: Any) -> Iterator[tuple[Any, bool]]:
    """The run in parts that begin with the last row of the part before, and whether there is one."""
    for first in range(0, len(run), ROWS_AT_ONCE):
        overlap = first > 0
        yield run.part(slice(first - overlap, min(first + ROWS_AT_ONCE, len(run)))), overlap


class Collector:
    """Gathers the rows of one panel from part to part: (times, columns), or all columns together as a curve."""

    def __init__(self, values: Callable[[Any], np.ndarray], together: bool, span: tuple[float, float]):
        self.values, self.together, self.span = values, together, span
        self.curves: list[list[tuple[np.ndarray, np.ndarray]]] = []

    def add(self, part: Any, overlap: bool, reduce: bool) -> None:
        t, values = np.asarray(part.t), np.asarray(self.values(part), dtype=float)
        t, values = t[overlap:], values[overlap:]
        groups = [values] if self.together else [values[:, k : k + 1] for k in range(values.shape[1])]
        pieces = pieces_of(t, *self.span) if reduce else None
        for k, columns in enumerate(groups):
            rows: Any = slice(None)
            if pieces is not None and len(columns):
                rows = apart(columns) if self.together else kept(pieces, columns)
            if k == len(self.curves):
                self.curves.append([])
            self.curves[k].append((t[rows], columns[rows]))

    def result(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Times and values (times, columns) of each curve."""
        return [
            (np.concatenate([t for t, _ in pieces]), np.concatenate([v for _, v in pieces])) for pieces in self.curves
        ]


def gather(
    run: Any, wanted: Sequence[tuple[Callable[[Any], np.ndarray], bool]]
) -> list[list[tuple[np.ndarray, np.ndarray]]]:
    """Curves of several quantities in one pass through a run; each is a function of a part, and whether its
    columns belong together."""
    if not len(run):
        return [[] for _ in wanted]
    span = float(run.t[0]), float(run.t[-1])
    collectors = [Collector(*item, span) for item in wanted]
    for part, overlap in blocks(run):
        for collector in collectors:
            collector.add(part, overlap, len(run) > FEW)
    return [collector.result() for collector in collectors]
