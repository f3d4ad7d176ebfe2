"""Solutions that follow each other, joined to one: of sampling periods, and between changes of contact and friction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chasles.integrate.event import Occurrence
from chasles.integrate.growing import GrowingRows
from chasles.integrate.solution import COUNTED_WORK, Solution


class Pieces:
    """Solutions as they come, each with the input held in it; where two meet, the point of the earlier is kept."""

    def __init__(self, point: int, inputs: int = 0):
        self.sizes = 1, point, inputs
        self.rows = GrowingRows(sum(self.sizes))
        self.events: list[Occurrence] = []
        self.work: dict[str, Any] = dict.fromkeys(COUNTED_WORK, 0)
        self.last_time: float | None = None  # of the point before the first one here, of a run that is continued

    def add(self, piece: Any, inputs: Sequence[float] | np.ndarray = ()) -> tuple[np.ndarray, np.ndarray]:
        """Take a piece, a solution or what has its points and work; returns the times and points that are new."""
        t, y = piece.t, piece.y
        before = self.rows.rows
        last = before[-1, 0] if len(before) else self.last_time
        if len(t) and last == t[0]:
            t, y = t[1:], y[1:]
        new, first = self.rows.more(len(t)), 1 + self.sizes[1]
        new[:, 0], new[:, 1:first], new[:, first:] = t, y, inputs
        self.events += piece.events
        for name in COUNTED_WORK:
            self.work[name] += getattr(piece, name)
        return t, y

    def add_rows(self, rows: np.ndarray, inputs: np.ndarray) -> None:
        """Take points alone, (time, state, ...) each, that follow those before."""
        new, width = self.rows.more(len(rows)), 1 + self.sizes[1]
        new[:, :width], new[:, width:] = rows[:, :width], inputs

    @property
    def last_point(self) -> np.ndarray:
        """The last state."""
        return self.rows.rows[-1, 1 : 1 + self.sizes[1]].copy()

    def joined(self, last: Solution, why: str) -> tuple[Solution, np.ndarray]:
        """The whole, which ended as its last piece did, and the input at each saved time; `why` there is no curve."""
        t, y, held = self.rows.columns(*self.sizes)
        curve: dict[str, Any] = {"slopes": None, "moves": None, "no_curve": why}
        return replace(last, t=t[:, 0], y=y, events=self.events, **curve, **self.work), held
