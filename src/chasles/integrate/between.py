"""Points between the steps of an explicit run, each by one shorter step of the method, as `save=times` has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.integrate import engine
from chasles.integrate.explicit import ExplicitRun
from chasles.integrate.problem import LieODE
from chasles.integrate.run import Options, raise_errors_of


def points_between(
    problem: LieODE, method: Any, t: np.ndarray, y: np.ndarray, slopes: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """The points at `times`, by a step from the points (t, y) before them, whose field values are `slopes`."""
    found = np.empty_like(y)
    if not len(times):
        return found
    first = float(times[0] - t[0])
    run = ExplicitRun(problem, method, (t[0], times[0]), y[0], Options(step=abs(first), save="final"))
    arrays = (run.settings, run.a, run.b, run.c, run.extra, run.program)
    move, corrected = np.empty_like(run.f0), np.empty_like(run.y)
    for k, end in enumerate(times):
        place = (float(t[k]), float(end - t[k]), np.array(y[k]), np.array(slopes[k]), run.memory, run.address, run.p)
        engine.trial(run.space.table, run.addresses, *arrays, *place, move, found[k])
        if problem.correction is not None:
            engine.evaluate(problem.correction.address, float(end), found[k], run.p, corrected)
            found[k] = corrected
    raise_errors_of(run.field)
    return found
