"""What a run leaves: the saved points, counters, events, and a curve through the points on the space."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import engine
from chasles.integrate.engine import TALLY
from chasles.integrate.event import Occurrence
from chasles.integrate.space import Space

if TYPE_CHECKING:
    from chasles.integrate.run import Run


@dataclass(frozen=True)
class Solution:
    """What `solve` returns. `t` and `y` are the saved points, time first; call it for points in between.

    `steps`, `rejections`, `evaluations` (of the field), `exponentials` and `commutators` count the work; `message` says
    how the run ended. `checkpoint` has all that `solve(..., resume=...)` needs to go on.
    """

    space: Space
    method: Any
    t: np.ndarray
    y: np.ndarray
    success: bool
    message: str
    steps: int = 0
    rejections: int = 0
    evaluations: int = 0
    exponentials: int = 0
    commutators: int = 0
    seconds: float = 0.0
    events: list[Occurrence] = field(default_factory=list)
    checkpoint: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    slopes: np.ndarray | None = field(default=None, repr=False)  # field values at the saved points
    moves: np.ndarray | None = field(default=None, repr=False)  # coordinates of the move from the point before

    @classmethod
    def empty(cls, space: Space, method: Any, t: float, y: np.ndarray) -> Solution:
        """The solution over an empty span."""
        return cls(space, method, np.array([t]), y[None], True, "the span is empty")

    @classmethod
    def of(
        cls, run: Run, success: bool, message: str, events: list[Occurrence], seconds: float, first: bool
    ) -> Solution:
        """Gather what a run has saved."""
        n, d = run.problem.space.size, run.problem.space.dimension
        pieces = ([run.first_record] if first and not run.times.size else []) + run.pieces
        rows = np.concatenate(pieces) if pieces else np.empty((0, 1 + n + 2 * d))
        dense = not run.times.size
        tried = int(run.counts[TALLY.accepted] + run.counts[TALLY.rejected])
        moves, brackets = run.work_per_step()
        return cls(
            run.problem.space,
            run.method,
            rows[:, 0].copy(),
            rows[:, 1 : 1 + n].copy(),
            success,
            message,
            int(run.counts[TALLY.accepted]),
            int(run.counts[TALLY.rejected]),
            int(run.counts[TALLY.evaluations]),
            tried * moves,
            tried * brackets,
            seconds,
            events,
            run.checkpoint(),
            rows[:, 1 + n : 1 + n + d].copy() if dense else None,
            rows[:, 1 + n + d :].copy() if dense else None,
        )

    def __call__(self, times: ArrayLike) -> np.ndarray:
        """Points on the space at any times, by cubic Hermite interpolation in the algebra between the saved points."""
        if self.slopes is None or self.moves is None:
            raise ValueError("Solution: points saved at given times cannot be interpolated; save every step instead")
        wanted = np.asarray(times, dtype=float)
        low, high = min(self.t[0], self.t[-1]), max(self.t[0], self.t[-1])
        if not ((wanted >= low) & (wanted <= high)).all():
            raise ValueError(f"Solution: times must lie in [{low:.6g}, {high:.6g}]")
        sign = 1.0 if self.t[-1] >= self.t[0] else -1.0
        flat = wanted.reshape(-1)
        index = np.clip(np.searchsorted(sign * self.t, sign * flat, "right") - 1, 0, len(self.t) - 2)
        if not np.isfinite(self.moves[index + 1]).all():
            raise ValueError(
                "Solution: the motion between two saved points turns by more than half a turn, so there is no unique "
                "curve between them; save more often"
            )
        d, n = self.space.dimension, self.space.size
        result, u, work = np.empty((flat.size, n)), np.empty(d), np.empty(2 * d)
        for row, (i, when) in enumerate(zip(index, flat, strict=True)):
            h = self.t[i + 1] - self.t[i]
            ends = (self.y[i], self.slopes[i], self.slopes[i + 1], self.moves[i + 1])
            engine.interpolate(self.space.table, 0, -1, (when - self.t[i]) / h, h, *ends, result[row], u, work)
        return result.reshape(*wanted.shape, n)
