"""The run once more by another method: Dormand and Prince of order 8 with steps of its own, begun anew at random times
and wherever forces change. It shares neither steps, nor stages, nor damping, nor a conserved energy with the run.

Where that is too dear (stiff systems), the method of the run itself, with steps that have no common measure with h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.certificate.budget import RESTART, Budget, spent
from chasles.certificate.checkpoints import again
from chasles.integrate.constrained_method import BLieDF
from chasles.integrate.event import Event, Occurrence
from chasles.integrate.fixed_step import StepError
from chasles.integrate.method import RKMK
from chasles.integrate.solution import Cause, Solution
from chasles.integrate.stepper import helping
from chasles.kernel.pickled import PickledWhole
from chasles.simulation.energy_jumps import singular_at_end
from chasles.simulation.motion import ATOL, solve_motion
from chasles.simulation.run_task import Task
from chasles.simulation.runaway import LARGEST

METHOD = RKMK("dop853")
FINEST = 1e-13  # the tightest relative tolerance
BEYOND = f"there are numbers that are not finite, or above {LARGEST:g}"
PIECES = 160  # parts of the span, in each of which the companion begins anew at a random place
PIECES_SHARE, LEAST_PIECES = 0.08, 24  # of the evaluations that there are, and never fewer
PROBE = 0.04  # of the span, to see whether the whole can be afforded
DEARER = 1.1  # times the limit, after which it is not tried, as the probe tells only nearly
LEAST_STEPS, EQUAL = 200, 2.37  # equal steps at least, and times the evaluations of the run for them
SAVED = 11  # evaluations for a state at a time between steps
ENOUGH = 2500  # evaluations for the probe, if they are not more than half of all
# of the steps of the run to those of its own method when it is asked again: the first that can be afforded
RATIOS = (math.sqrt(7.0), math.sqrt(3.0), math.sqrt(2.0))
MULTISTEP = (2.5, 1.5)  # and for a multistep method, which then meets every second step
TIGHTER = (3.0, 50.0)  # and for tolerances, at least and at most


class CompanionError(PickledWhole, ArithmeticError):
    """There is none: it was too dear, or (`broke`) it could not go on."""

    def __init__(self, message: str, used: int, broke: bool):
        super().__init__(message)
        self.used, self.broke = used, broke


@dataclass(frozen=True)
class Companion:
    """States at the wanted times, what they cost, and the events on the way."""

    y: np.ndarray
    evaluations: int
    events: list[Occurrence]


def restarts(start: float, end: float, rng: np.random.Generator, pieces: int = PIECES) -> np.ndarray:
    """Random times to begin anew at, one in each part of the span, and some that crowd toward the start."""
    span = end - start
    spread = start + span * (np.arange(1, pieces) + rng.uniform(-0.45, 0.45, pieces - 1)) / pieces
    early = start + span * 2.0 ** -(np.arange(8, 24, 2) + rng.random(8))
    return np.concatenate([spread, early])


def companion(
    task: Task,
    span: tuple[float, float],
    state: np.ndarray,
    u: np.ndarray | None,
    times: np.ndarray,
    stops: np.ndarray,
    limit: int,
    rtol: float,
    atol: float,
    events: Sequence[Event] = (),
    probe: bool = True,
) -> Companion:
    """The motion from a state over a span, by steps of its own that begin anew at `stops`. `probe`: a small part of it
    first, to see whether the whole can be afforded."""
    if not probe:
        return _part(task, span, state, u, times[:-1], stops, limit, rtol, atol, events, 0)
    start, end = span
    early = start + PROBE * (end - start)
    first = np.abs(times - start) <= abs(early - start)
    least = int(limit * max(2 * PROBE, min(0.5, ENOUGH / limit)))
    one = _part(task, (start, early), state, u, times[first], stops, least, rtol, atol, events, 0)
    anew = RESTART * (np.abs(stops - start) <= abs(early - start)).sum() + SAVED * first.sum()
    expected = max(one.evaluations - anew, 0) / PROBE + RESTART * len(stops) + SAVED * len(times)
    if expected > DEARER * limit:
        raise CompanionError(f"some {expected:.0f} evaluations were needed", one.evaluations, broke=False)
    rest = _part(task, (early, end), one.y[-1], u, times[~first], stops, limit, rtol, atol, events, one.evaluations)
    y = np.concatenate([one.y[:-1], rest.y[:-1]])
    return Companion(y, one.evaluations + rest.evaluations, one.events + rest.events)


def _part(
    task: Task,
    span: tuple[float, float],
    state: np.ndarray,
    u: np.ndarray | None,
    times: np.ndarray,
    stops: np.ndarray,
    limit: int,
    rtol: float,
    atol: Any,
    events: Any,
    used: int,
) -> Companion:
    """One call of `solve`; its last state is that at the end of the span."""
    low, high = min(span), max(span)
    inside = stops[(stops > low) & (stops < high)]
    watched = [replace(event, terminal=False) for event in events]
    options = {"rtol": rtol, "atol": atol, "events": watched, "progress": False, "save": np.append(times, span[1])}
    with helping():
        solution = solve_motion(
            task.dynamics, METHOD, span, state, u, **options, stops=inside, max_evaluations=max(limit - used, 1)
        )
    if not solution.success:
        dear = solution.cause is Cause.EVALUATIONS
        why = solution.message if dear else _why(task, solution)
        raise CompanionError(why, used + solution.evaluations, broke=not dear)
    if not (np.abs(solution.y) < LARGEST).all():
        raise CompanionError(BEYOND, used + solution.evaluations, broke=True)
    return Companion(solution.y, solution.evaluations, solution.events)


def finer(task: Task, times: np.ndarray, atol: float, budget: Budget) -> tuple[np.ndarray, float]:
    """The run by its own method with smaller steps: states, and the factor from a difference to the error."""
    step, dearer = task.more["step"], budget.left / max(budget.run, 1)
    if step is None:
        tighter = float(np.clip(dearer**3, *TIGHTER))
        given = ATOL * task.dynamics.units() if task.more["atol"] is None else task.more["atol"]
        more = {"rtol": task.more["rtol"] / tighter, "atol": np.minimum(given / tighter, atol)}
        factor = 1 / (1 - 1 / tighter)
    else:
        ratios = MULTISTEP if isinstance(task.method, BLieDF) else RATIOS
        ratio = next((ratio for ratio in ratios if ratio < dearer), ratios[-1])
        more = {"step": step / ratio}
        factor = 1 / (1 - ratio ** -float(getattr(task.method, "order", 1)))
    try:
        steps, solution = again(task, task.method, times, more)
    except StepError as error:
        raise CompanionError(_why(task, error.solution, str(error)), 0, broke=True) from error
    budget.used += spent(task, solution)
    if not solution.success or len(steps.times) < len(times):
        raise CompanionError(_why(task, solution), 0, broke=True)
    return steps.states(task, task.method, exact=True)[1], factor


def equal(task: Task, span: tuple[float, float], times: np.ndarray, stops: np.ndarray, budget: Budget) -> np.ndarray:
    """The motion at some times by equal steps of order 8, which often pass a singular configuration: steps that follow
    the error become ever shorter there, and see nothing but it."""
    (start, end), stages = span, METHOD.table.stages
    most = budget.left // stages - 2 * (len(stops) + len(times))
    count = min(max(LEAST_STEPS, int(EQUAL * budget.run / stages)), most)
    if count < LEAST_STEPS:
        raise CompanionError(f"equal steps would need {LEAST_STEPS * stages} evaluations", 0, broke=False)
    with helping():
        solution = solve_motion(
            *(task.dynamics, METHOD, span, task.state, task.u),
            step=abs(end - start) / count,
            save=times,
            stops=stops,
            progress=False,
        )
    budget.used += solution.evaluations
    if not solution.success or not (np.abs(solution.y) < LARGEST).all():
        raise CompanionError(_why(task, solution), 0, broke=True)
    return solution.y


def _why(task: Task, solution: Solution, message: str = "") -> str:
    """Why a motion broke off, in a clause."""
    return singular_at_end(task.dynamics, solution) or f"it ended: {message or solution.message}"
