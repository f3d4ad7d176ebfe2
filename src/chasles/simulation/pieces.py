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
        self.last_time: float | None = None

    def add(self, piece: Solution, inputs: Sequence[float] | np.ndarray = ()) -> tuple[np.ndarray, np.ndarray]:
        """Take a piece; returns the times and points that are new."""
        new = slice(int(len(piece.t) > 0 and self.last_time == piece.t[0]), None)
        t, y = piece.t[new, None], piece.y[new]
        self.last_time = float(t[-1, 0]) if len(t) else self.last_time
        self.rows.add(np.concatenate([t, y, np.broadcast_to(inputs, (len(t), len(inputs)))], axis=1))
        self.events += piece.events
        for name in COUNTED_WORK:
            self.work[name] += getattr(piece, name)
        return t[:, 0], y

    def joined(self, last: Solution, why: str) -> tuple[Solution, np.ndarray]:
        """The whole, which ended as its last piece did, and the input at each saved time; `why` there is no curve."""
        t, y, held = self.rows.columns(*self.sizes)
        curve: dict[str, Any] = {"slopes": None, "moves": None, "no_curve": why}
        return replace(last, t=t[:, 0], y=y, events=self.events, **curve, **self.work), held
