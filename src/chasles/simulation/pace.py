"""Whether a sampled loop runs away: its periods take ever more steps, because everything moves ever faster."""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from chasles import caution
from chasles.integrate.solution import Cause, Solution

MOST = 1000  # times the evaluations that periods took before
FEW = 100  # evaluations of a period that are never many
FASTER, SUDDENLY = 1e3, 1e6  # times the speed before; the second where only one or two periods were done before


class Pace:
    """Evaluations of the periods that are done, and where they ended."""

    def __init__(self, dynamics: Any):
        self.dynamics = dynamics
        self.evaluations: list[int] = []  # in the order of their size
        self.states: list[np.ndarray] = []  # (periods, numbers) each

    def period(self, motion: Callable[[int | None], Any], fixed: bool, left: int | None) -> Any:
        """A period of the run, given up if the loop runs away; with at most `left` evaluations, if the user says so.

        motion: the period with at most so many evaluations. fixed: whether its steps are."""
        own = None if left is None else max(left, 1)
        if fixed:
            return motion(own)
        most = self.limit if own is None else min(own, self.limit)
        solution = motion(most)
        if solution.cause is Cause.EVALUATIONS and most != own:
            if message := self.runs_away(solution):
                caution.warn(f"simulate: {message}")
                return replace(solution, message=message, cause=Cause.RUNAWAY)
            solution = motion(own)  # slow for another reason: let it
        if solution.success:
            self.note([solution.evaluations], solution.y[-1:])
        return solution

    @property
    def limit(self) -> int:
        """Evaluations after which a period is looked at."""
        half, before = len(self.evaluations) // 2, self.evaluations
        if not before:
            return MOST * FEW
        return int(MOST * max(FEW, before[half] if len(before) % 2 else (before[half - 1] + before[half]) / 2))

    def note(self, evaluations: Sequence[int], states: np.ndarray) -> None:
        """Periods are done, and ended in these states."""
        for count in evaluations:
            insort(self.evaluations, count)
        self.states.append(np.array(states))

    def runs_away(self, solution: Solution) -> str:
        """What to say of a period that reached the limit; nothing if it is slow for another reason."""
        if not self.states:
            return ""
        states = np.concatenate(self.states)
        now, before = self._speeds(solution.y[-1]), self._speeds(states[: max(1, len(states) // 2)]).max(axis=0)
        worst = int(np.argmax(now))
        factor = FASTER if len(states) > 2 else SUDDENLY
        if not now[worst] > factor * before.max():
            return ""
        return (
            f"the sampled loop runs away: at t = {solution.t[-1]:.6g} s joint {self._joint(worst)!r} moves at "
            f"{now[worst]:.2g} rad/s or m/s, {now[worst] / max(before.max(), 1e-300):.1g} times faster than before, "
            "and steps become ever shorter; lower the gains of the controller, or ask it more often (period)"
        )

    def _speeds(self, state: np.ndarray) -> np.ndarray:
        return np.abs(self.dynamics.coordinates(state)[1])

    def _joint(self, k: int) -> str:
        mechanism = self.dynamics.mechanism
        places = getattr(mechanism, "joint_tables", None) or mechanism.tree
        return next((name for name, at in places.velocities.items() if at.start <= k < at.stop), str(k))
