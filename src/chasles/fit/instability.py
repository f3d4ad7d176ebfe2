"""How fast errors of the start of a motion grow: a motion that is unstable cannot be followed for long by any fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.fit.problem import FitProblem
from chasles.fit.trial import Trial, TrialPoint
from chasles.fit.unknown import start_of
from chasles.simulation.sensitivities import sensitivities

FAR_OFF = 100.0  # times the error of the start: a piece of data in which it grows more is hard to fit
LOST = 1e4  # times: no start is known so well


@dataclass(frozen=True)
class Growth:
    """By how much errors of the start of a trial grow at most, until which time they grow `FAR_OFF` times, and the
    time of its data."""

    factor: float
    far_off: float
    begin: float
    end: float

    @property
    def said(self) -> str:
        """What it means for the data, and what to do."""
        return (
            f"the motion is unstable: errors of its start grow {self.factor:.0e} times in {self.end - self.begin:.3g} s"
            f", and {FAR_OFF:g} times in {self.far_off - self.begin:.2g} s. Cut the data into experiments that are "
            "shorter than that, each with its own unknown start: ch.fit.pieces, or --pieces, does it"
        )


def growth(problem: FitProblem, x: np.ndarray) -> Growth | None:
    """Of the trial whose start matters most, with these values; None if there is no motion."""
    try:
        found = [_of_trial(trial, problem.point(i, x)) for i, trial in enumerate(problem.trials)]
    except (ValueError, ArithmeticError, RuntimeError):
        return None
    return max(found, key=lambda one: one.factor)


def _of_trial(trial: Trial, point: TrialPoint) -> Growth:
    mechanism, q, v = start_of(trial.study(point.slots))
    found = sensitivities(mechanism, trial.span, q, v, wrt=("q", "v"), **trial.how(point))
    run, nv = found.run, found.run.dynamics.nv
    sizes = run.dynamics.velocity_sizes  # of a turn or shift for each coordinate
    turns = found.state[:, :nv, :] / sizes[:, None]
    free = turns[0] != 0.0  # each column of q is one coordinate at the start, with loops and those that follow it
    scale = np.abs(turns[0]).max(axis=0, where=free, initial=0.0)
    columns = scale > 0.0  # those of coordinates; velocities turn nothing at the start
    factors = np.abs(turns[:, :, columns] / scale[columns]).max(axis=(1, 2), initial=1.0)
    far = np.flatnonzero(~(factors < FAR_OFF))
    begin, end = trial.span
    late = float(run.t[far[0]]) if len(far) else end
    return Growth(float(np.nan_to_num(factors, nan=np.inf).max()), late, begin, end)
