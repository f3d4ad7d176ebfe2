"""What is said of a run that broke off because it ran away: forces that feed energy in, or steps that are too long for
springs and dampers, let a speed grow beyond all numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from chasles import caution
from chasles.integrate.solution import Cause, Solution
from chasles.integrate.stepper import TOLD
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.closed.energy_jumps import dead_point, reached
from chasles.simulation.laws.refusal import law_without_number
from chasles.simulation.nonsmooth.set_valued import problem_at
from chasles.simulation.pace import FASTER

LOOKS = 1000  # saved points that are looked at
LARGEST_USABLE = 1e150  # a number that is larger cannot be squared, so nothing can be computed with it


def explained(task: Any, solution: Solution) -> Solution:
    """A solution, with more to say on how it ended; of one that runs away, which body or joint does. Next to a dead
    point of a drive and at a singular configuration speeds grow too, so those are asked first."""
    if solution.success or not len(solution.t) or solution.cause is Cause.RUNAWAY:
        return task.dynamics.explained(solution)
    if solution.cause is Cause.OTHER and (told := law_without_number(task, *reached(solution))):
        return replace(solution, message=f"{solution.message}; {told}")
    if told := dead_point(task.dynamics, solution):
        if TOLD.warn:
            caution.warn(f"simulate: {told}")
        return replace(solution, message=told)
    if (singular := task.dynamics.explained(solution)) is not solution:
        return singular
    if told := runs_away(task, solution):
        solution = replace(solution, message=f"{solution.message}; {told}", cause=Cause.RUNAWAY)
        if TOLD.warn:
            caution.warn(f"simulate: {told}")
    return solution


def runs_away(task: Any, solution: Solution) -> str:
    """What to say if the last speeds are far larger than those in the first half of the time, and than what the first
    accelerations would make of a start at rest; else nothing."""
    dynamics, t, (end, last) = task.dynamics, solution.t, reached(solution)
    early = int(np.searchsorted(np.abs(t - t[0]), 0.5 * abs(t[-1] - t[0]), "right"))
    rows = np.unique(np.linspace(0, early - 1, LOOKS).astype(int))
    now, before = _speeds(dynamics, last), _speeds(dynamics, np.array([solution.y[k] for k in rows])).max(initial=0.0)
    rate = problem_at(dynamics, task.span[0], task.state, task.u).rate(task.span[0], task.state)
    before = max(before, float(np.abs(rate[len(now) : 2 * len(now)]).max(initial=0.0)) * abs(end - task.span[0]))
    worst = int(np.argmax(now))
    if not now[worst] > FASTER * before:
        return ""
    steps = ", or take a shorter step: springs or dampers may be too stiff for this one" if task.more["step"] else ""
    name = name_of_velocity(dynamics, worst)
    return (
        f"the motion runs away: at t = {end:.6g} s {name} moves at {now[worst]:.2g} rad/s or m/s, "
        f"{now[worst] / before if before else np.inf:.1g} times faster than before; look for forces that feed "
        f"energy in{steps}"
    )


def usable(solution: Solution) -> int:
    """How many saved points there are before the first one that is too large to compute with."""
    if solution.success:
        return len(solution.t)
    rows = np.arange(max(len(solution.t) - LOOKS, 0), len(solution.t))  # what runs away is that large at its end only
    last = np.asarray(solution.y[rows[0] :] if len(rows) else solution.y)
    large = ~(np.abs(last).max(axis=1, initial=0) < LARGEST_USABLE)
    return int(rows[0] + np.argmax(large)) if large.any() else len(solution.t)


def _speeds(dynamics: Any, y: np.ndarray) -> np.ndarray:
    """Of the joints or, in absolute coordinates, of the bodies, at states (..., numbers)."""
    return np.abs(dynamics.split(y)[1].reshape(*y.shape[:-1], -1))


def name_of_velocity(dynamics: Any, k: int) -> str:
    """Whose velocity it is."""
    if isinstance(dynamics, BodyDynamics):
        return f"body {dynamics.mechanism.bodies[k // 6]!r}"
    places = dynamics.mechanism.tree.velocities.items()
    return next(f"joint {name!r}" for name, at in places if at.start <= k < at.stop)
