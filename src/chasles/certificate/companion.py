"""The run once more by another method: Dormand and Prince of order 8 with steps of its own, begun anew at random times
and wherever forces change. It shares neither steps, nor stages, nor damping, nor a conserved energy with the run.

Where that is too dear (stiff systems), the method of the run itself, with steps that have no common measure with h.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from chasles.certificate.budget import RESTART, Budget, spent
from chasles.certificate.checkpoints import again
from chasles.integrate.constrained_method import BLieDF, GeneralizedAlpha
from chasles.integrate.event import Event, Occurrence
from chasles.integrate.fixed_step import StepError
from chasles.integrate.gauss import Gauss
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.solution import Cause, Solution
from chasles.integrate.stepper import helping
from chasles.kernel.pickled import PickledWhole
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.closed.energy_jumps import singular_at_end
from chasles.simulation.motion import ATOL, solve_motion
from chasles.simulation.run_task import Task
from chasles.simulation.runaway import LARGEST_USABLE

METHOD = RKMK("dop853")
FINEST = 1e-13  # the tightest relative tolerance
RTOL, NEAR, LITTLE = 1e-8, 1e-5, 1e-6  # the usual one; of the tolerance of the verdict; of the smallest motion
BEYOND = f"there are numbers that are not finite, or above {LARGEST_USABLE:g}"
PIECES = 160  # parts of the span, in each of which the companion begins anew at a random place
PIECES_SHARE, LEAST_PIECES = 0.08, 24  # of the evaluations that there are, and never fewer
PROBE = 0.04  # of the span, to see whether the whole can be afforded
DEARER = 1.1  # times the limit, after which it is not tried, as the probe tells only nearly
MORE_THAN = 1.5  # times what was expected, after which it is given up, unless there is plenty
LEAST_STEPS, EQUAL = 120, 2.37  # equal steps at least, and times the evaluations of the run for them
SMOOTH, EACH_SMOOTH = 4000, 8  # equal steps of an implicit method at most, and evaluations that each is worth
SAVED = 11  # evaluations for a state at a time between steps
ENOUGH = 2500  # evaluations for the probe, if they are not more than half of all
# of the steps of the run to those of its own method when it is asked again: the first that can be afforded
RATIOS = (*(math.sqrt(x) for x in (7.0, 3.0, 2.0)), *(1 / math.sqrt(x) for x in (2.0, 3.0, 7.0)))
MULTISTEP = (2.5, 1.5, 0.5)  # and for a multistep method, which then meets every second step
TIGHTER = (3.0, 50.0)  # and for tolerances, at least and at most
ROOM = 1.1  # times what steps are expected to cost


def tolerances(task: Task, tolerance: float, smallest: float) -> tuple[float, np.ndarray]:
    """Relative and absolute ones of a companion: of 1 rad and of lengths of the model, or of the `smallest` motion."""
    least = min(ATOL, LITTLE * smallest) if smallest > 0 else ATOL
    return min(RTOL, max(NEAR * tolerance, FINEST)), least * task.dynamics.units


class CompanionError(PickledWhole, ArithmeticError):
    """There is none: too dear, or (`broke`) it could not go on; `late`: it was dearer than it seemed at first. `done`
    are the times and states up to which it came then."""

    def __init__(self, message: str, used: int, broke: bool, late: bool = False, done: Any = None):
        super().__init__(message)
        self.used, self.broke, self.late, self.done = used, broke, late, done


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
    atol: np.ndarray,
    events: Sequence[Event] = (),
    patient: int | None = None,
) -> Companion:
    """The motion from a state over a span, by steps of its own that begin anew at `stops`, with at most `limit`
    evaluations. With `patient`, a small part of it first, to see whether the whole can be afforded; it is then given up
    after so many evaluations, or after many more than were expected."""
    if patient is None:
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
    limit = min(limit, max(int(MORE_THAN * expected), patient))
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
    save = np.append(times, span[1])
    options: dict[str, Any] = {"rtol": rtol, "atol": atol, "events": _watched(events), "progress": False, "save": save}
    with helping():
        solution = solve_motion(
            task.dynamics, METHOD, span, state, u, **options, stops=inside, max_evaluations=max(limit - used, 1)
        )
    if not solution.success:
        singular = singular_at_end(task.dynamics, solution)
        dear = not singular and solution.cause is Cause.EVALUATIONS
        why = singular or f"it ended: {solution.message}"
        done = solution.t, solution.y
        raise CompanionError(why, used + solution.evaluations, broke=not dear, late=dear and used > 0, done=done)
    if not (np.abs(solution.y) < LARGEST_USABLE).all():
        raise CompanionError(BEYOND, used + solution.evaluations, broke=True)
    return Companion(solution.y, solution.evaluations, solution.events)


class OwnMethod(NamedTuple):
    """The run once more by its own method: states, the factor from a difference to the error, and whether its steps
    were larger: a difference is then that of the larger steps, and the run may be better."""

    y: np.ndarray
    factor: float
    larger: bool


def own_method(task: Task, times: np.ndarray, atol: np.ndarray, budget: Budget) -> OwnMethod:
    """The run by its own method with smaller steps or, if these cannot be afforded, with larger ones."""
    affordable, order = budget.left / max(budget.run, 1), float(getattr(task.method, "order", 1))
    if task.more["step"] is None:
        tighter = _tighter(affordable, order)
        given = ATOL * task.dynamics.units if task.more["atol"] is None else task.more["atol"]
        if tighter < 1 and isinstance(task.method, RKMK | Exponentials):  # its steps are as long as they may be stable
            raise CompanionError(f"some {budget.run} evaluations were needed", 0, broke=False)
        more = {"rtol": task.more["rtol"] / tighter, "max_evaluations": int(affordable * budget.counted)}
        more["atol"] = np.minimum(given / tighter, atol if tighter > 1 else atol / LITTLE * 1e-3)
        factor = 1 / (1 - 1 / max(tighter, 1 / tighter))
    else:
        ratios = MULTISTEP if isinstance(task.method, BLieDF) else RATIOS
        tighter = next((ratio for ratio in ratios if ratio < affordable), 0.0)
        if not tighter:
            needed = int(ratios[-1] * budget.run)
            raise CompanionError(f"the same method with other steps would need {needed} evaluations", 0, broke=False)
        more = {"step": task.more["step"] / tighter}
        if more["step"] > abs(task.span[1] - task.span[0]):
            raise CompanionError("there are too few steps to take larger ones", 0, broke=False)
        factor = 1 / (1 - max(tighter, 1 / tighter) ** -order)
    try:
        steps, solution = again(task, task.method, times, more)
    except StepError as error:
        raise CompanionError(_why(task, error.solution, str(error)), 0, broke=tighter > 1) from error
    budget.used += spent(task, solution)
    if not solution.success or len(steps.times) < len(times):
        told = _why(task, solution)
        raise CompanionError(told, 0, broke=tighter > 1 and solution.cause is not Cause.EVALUATIONS)
    return OwnMethod(steps.states(task, task.method, exact=True)[1], factor, tighter < 1)


def _tighter(affordable: float, order: float) -> float:
    """How many times smaller the tolerances may be for so many times the cost; below 1 they are larger."""
    least, most = TIGHTER
    if affordable > ROOM * least ** (1 / order):
        return min((affordable / ROOM) ** order, most)
    return 1 / float(np.clip((ROOM / affordable) ** (order + 1), least, most))


def equal(
    task: Task,
    span: tuple[float, float],
    times: np.ndarray,
    budget: Budget,
    stops: np.ndarray,
    events: Sequence[Event] = (),
) -> Companion:
    """The motion at some times by equal steps of order 8, which often pass a singular configuration: steps that follow
    the error become ever shorter there, and see nothing but it."""
    (start, end), stages = span, METHOD.table.stages
    most = budget.left // stages - len(stops) - len(times)
    count = min(max(LEAST_STEPS, int(EQUAL * budget.run / stages)), most)
    if count < LEAST_STEPS:
        raise CompanionError(f"equal steps would need {LEAST_STEPS * stages} evaluations", 0, broke=False)
    options: dict[str, Any] = {"step": abs(end - start) / count, "stops": stops, "events": _watched(events)}
    with helping():
        solution = solve_motion(task.dynamics, METHOD, span, task.state, task.u, **options, save=times, progress=False)
    budget.used += solution.evaluations
    if not solution.success or not (np.abs(solution.y) < LARGEST_USABLE).all():
        raise CompanionError(_why(task, solution), 0, broke=True)
    return Companion(solution.y, solution.evaluations, solution.events)


def implicit(
    task: Task,
    span: tuple[float, float],
    times: np.ndarray,
    budget: Budget,
    atol: np.ndarray,
    events: Sequence[Event] = (),
) -> Companion:
    """The motion of a stiff system: its fast parts at the start by an explicit method, and when they have died out the
    rest by equal steps of a method that solves equations."""
    (start, end), dynamics = span, task.dynamics
    early = start + PROBE * (end - start)
    if isinstance(dynamics.mechanism, ClosedMechanism):
        raise CompanionError("there is no implicit method for loops in joint coordinates", 0, broke=False)
    method: Any = GeneralizedAlpha() if isinstance(dynamics, BodyDynamics) else Gauss(2)
    first = np.abs(times - start) <= abs(early - start)
    stops = start + (early - start) * 2.0 ** -np.arange(24.0, 0.0, -1.0)
    try:
        one = _part(task, (start, early), task.state, task.u, times[first], stops, budget.left, RTOL, atol, events, 0)
    except CompanionError as trouble:
        budget.used += trouble.used
        raise
    budget.used += one.evaluations
    count = min(SMOOTH, int(budget.left / EACH_SMOOTH))
    if count < LEAST_STEPS:
        raise CompanionError(f"equal steps would need {LEAST_STEPS * EACH_SMOOTH} evaluations", 0, broke=False)
    options: dict[str, Any] = {"step": abs(end - early) / count, "save": times[~first], "events": _watched(events)}
    try:
        with helping():
            solution = solve_motion(dynamics, method, (early, end), one.y[-1], task.u, **options, progress=False)
    except StepError as error:
        raise CompanionError(str(error), 0, broke=True) from error
    budget.used += EACH_SMOOTH * solution.steps
    if not solution.success or not (np.abs(solution.y) < LARGEST_USABLE).all():
        raise CompanionError(_why(task, solution), 0, broke=True)
    y = np.concatenate([one.y[:-1], solution.y])
    return Companion(y, one.evaluations, [*one.events, *solution.events])


def _watched(events: Sequence[Event]) -> list[Event]:
    """Events as they are counted, past those that ended the run."""
    return [replace(event, terminal=False) for event in events]


def _why(task: Task, solution: Solution, message: str = "") -> str:
    """Why a motion broke off, in a clause."""
    return singular_at_end(task.dynamics, solution) or f"it ended: {message or solution.message}"
