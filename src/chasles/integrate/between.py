"""Points between the steps of an explicit run, each by one shorter step of the method, as `save=times` has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.integrate import engine
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.options import Options
from chasles.integrate.problem import LieODE
from chasles.integrate.stepper import raise_errors_of
from chasles.kernel.undisturbed import Undisturbed


def points_between(
    problem: LieODE, method: Any, t: np.ndarray, y: np.ndarray, slopes: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """The points at `times`, by a step from the points (t, y) before them, whose field values are `slopes`."""
    found = np.empty_like(y)
    if not len(times):
        return found
    first = float(times[0] - t[0])
    with Undisturbed():  # Ctrl-C as a Python field begins would be lost
        stepper = ExplicitStepper(problem, method, (t[0], times[0]), y[0], Options(step=abs(first), save="final"))
        arrays = (stepper.settings, stepper.a, stepper.b, stepper.c, stepper.extra, stepper.program)
        move, corrected = np.empty_like(stepper.f0), np.empty_like(stepper.y)
        for k, end in enumerate(times):
            begin = (float(t[k]), float(end - t[k]), np.array(y[k]), np.array(slopes[k]))
            place = (*begin, stepper.memory, stepper.address, stepper.p)
            engine.trial(stepper.space.table, stepper.addresses, *arrays, *place, move, found[k])
            if problem.correction is not None:
                engine.evaluate(problem.correction.address, float(end), found[k], stepper.p, corrected)
                found[k] = corrected
    raise_errors_of(stepper.field)
    return found
