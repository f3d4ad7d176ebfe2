"""Runs that an event ended. Its time depends on what varies, and so do the last step and all that is seen at the end.

The end is y = Φ(y₀, h) where g(t, y) = 0, so dh = -(∂g/∂y dΦ) / (∂g/∂y ∂Φ/∂h + ∂g/∂t), with dΦ at constant h. What
follows h takes a multiple of ∂g/∂y off the cotangent of the end. ∂Φ/∂h is that of the discrete step.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_events import Watch
from chasles.integrate.options import Options
from chasles.simulation.run import Run
from chasles.simulation.slopes import difference

SHARE = 0.02  # of a step or of how far numbers go, over which differences are taken
GRAZED = 1e-9  # of what g changes by in the last step, if it passed through zero no faster than it moves along


def ended_by_event(run: Run) -> bool:
    """Whether a terminal event is the end of a run."""
    return bool(run.events) and run.events[-1].event.terminal and run.events[-1].t == run.t[-1]


def hold_event(run: Run, controls: np.ndarray, kicks: np.ndarray, by_time: float) -> None:
    """Change the cotangent of the last point: the event stays at zero. by_time: the derivative of the objective by the
    time of the end, at constant points; controls: the generalized forces in the last step."""
    y, (start, end) = run.solution.y, run.t[-2:]
    h, event = float(end - start), run.events[-1].event
    problem, options = run.dynamics.problem(controls), Options(step=abs(h), save="final")
    stepper = ExplicitStepper(problem, run.solution.method, (float(start), float(end)), y[-2], options)
    watch, last = Watch(stepper, (event,)), y[-1].copy()
    along = difference(lambda offset: watch.trial(h + offset)[1], SHARE * h)
    farthest = np.abs(y).max(axis=0)
    reach = SHARE * np.where(farthest > 0.0, farthest, farthest.max())

    def level(k: int, offset: float) -> float:
        return watch.level(0, end, last + offset * (np.arange(len(last)) == k))

    slopes = np.array([difference(partial(level, k), size) for k, size in enumerate(reach.tolist())])
    rate = slopes @ along + difference(lambda offset: watch.level(0, end + offset, last), SHARE * h)
    if slopes[-1] != 0.0 and len(last) > run.dynamics.nq + run.dynamics.nv:
        raise ValueError(f"gradient: the event {event.name!r} depends on the work of the inputs, which has no gradient")
    if abs(rate * h) <= GRAZED * np.abs(slopes * along * h).sum():
        raise ValueError(
            f"gradient: the event {event.name!r} is only grazed at t = {end:.6g} s, so that its time has no derivative"
        )
    kicks[-1] -= (kicks[-1] @ along + by_time) / rate * slopes
