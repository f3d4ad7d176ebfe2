"""What a run leaves: the saved points, counters, events, and a curve through the points on the space."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import blocks, dense_output
from chasles.integrate.event import Occurrence

# the work that a solution counts
COUNTED_WORK = ("steps", "rejections", "evaluations", "exponentials", "commutators", "seconds")


class Cause(Enum):
    """Why a run ended before its end, for programs; `Solution.message` says it in words."""

    OTHER = "other"
    EVALUATIONS = "evaluations"  # max_evaluations were spent
    INTERRUPTED = "interrupted"  # by Ctrl-C
    RUNAWAY = "runaway"  # the motion ran away


@dataclass(frozen=True)
class Solution:
    """What `solve` returns. `t` and `y` are the saved points, time first; call it for points in between.

    `steps`, `rejections`, `evaluations` (of the field), `exponentials` and `commutators` count the work; `message` says
    how the run ended, `hints` how it could be faster. `checkpoint` has all that `solve(..., resume=...)` needs to go
    on. `space` is that of the problem, if it has one.
    """

    space: Any
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
    hints: tuple[str, ...] = ()
    checkpoint: dict[str, np.ndarray] = field(default_factory=dict, repr=False)
    slopes: np.ndarray | None = field(default=None, repr=False)  # field values at the saved points
    moves: np.ndarray | None = field(default=None, repr=False)  # coordinates of the move from the point before
    no_curve: str = field(default="", repr=False)  # why there is no curve through the points, if there is none
    consecutive: bool = field(default=True, repr=False)  # whether no saved point between these was left out
    cause: Cause = field(default=Cause.OTHER, repr=False)  # of an early end

    def __call__(self, times: ArrayLike) -> np.ndarray:
        """Points on the space at any times, by cubic Hermite interpolation in the algebra between the saved points."""
        slopes, moves = self.slopes, self.moves
        if slopes is None or moves is None:
            raise ValueError(f"Solution: the points cannot be interpolated: {self.no_curve}")
        return self.on_curve(times, lambda i: (slopes[i], slopes[i + 1], moves[i + 1]))

    def on_curve(self, times: ArrayLike, ends: Callable[[np.ndarray], tuple[np.ndarray, ...]]) -> np.ndarray:
        """Points at any times between the saved points. ends(i): the slopes at the points i and i + 1, and the moves
        between them, (intervals, algebra) each."""
        if len(self.t) < 2:
            raise ValueError(f"Solution: {len(self.t)} saved points cannot be interpolated")
        wanted = np.asarray(times, dtype=float)
        low, high = min(self.t[0], self.t[-1]), max(self.t[0], self.t[-1])
        if not ((wanted >= low) & (wanted <= high)).all():
            raise ValueError(f"Solution: times must lie in [{low:.6g}, {high:.6g}]")
        flat = wanted.reshape(-1)
        intervals, of = np.unique(np.clip(self.passed(flat) - 1, 0, len(self.t) - 2), return_inverse=True)
        # mapped files have their own kind of float
        before, after, move = (np.asarray(one).view(np.float64) for one in ends(intervals))
        if not np.isfinite(move).all():
            raise ValueError(
                "Solution: the motion between two saved points turns by more than half a turn, so there is no unique "
                "curve between them; save more often"
            )
        d, n = self.space.dimension, self.space.size
        addresses = self.space.operations(blocks.MOVE, blocks.PULLBACK)
        result, u, work = np.empty(flat.size * n), np.empty(d), np.empty(2 * d)
        first, last, y = (
            np.asarray(one).view(np.float64) for one in (self.t[intervals], self.t[intervals + 1], self.y[intervals])
        )
        h = last - first
        curve = [np.ascontiguousarray(one).reshape(-1) for one in (h, y, before, after, move)]
        theta = (flat - first[of]) / h[of]
        dense_output.interpolate(self.space.table, addresses, of, theta, *curve, result, u, work)
        return result.reshape(*wanted.shape, n)

    def passed(self, times: np.ndarray, side: Literal["left", "right"] = "right") -> np.ndarray:
        """For each time how many saved points are not after it, or with side="left" before it; a few are looked up
        without touching all points, which may be more than memory holds."""
        sign = 1.0 if self.t[-1] >= self.t[0] else -1.0
        if 64 * len(times) < len(self.t):
            place = bisect.bisect_right if side == "right" else bisect.bisect_left
            return np.array([place(self.t, sign * x, key=lambda t: sign * t) for x in times], dtype=np.int64)
        return np.searchsorted(sign * self.t, sign * times, side)
