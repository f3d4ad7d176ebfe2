"""`optimize`: the best motion of a system, by costs and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.method_name import named_method
from chasles.model.system import System
from chasles.plan.account import Account, violated
from chasles.plan.ddp import STIFF_FACTOR, STIFF_MOST, Ddp
from chasles.plan.held_steps import HeldSteps, InputRange
from chasles.plan.outcome import InfeasibleError, PlannedMotion, warn_coarse, warn_stopped, warn_unsettled
from chasles.plan.quantities import CALLER
from chasles.plan.terms import MotionLimit
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.prepare import prepare
from chasles.simulation.start.values import Values

ROUNDS, ROUND = 100, 50  # in which multipliers are renewed, and iterations of one while limits are far
RELEASED = 1e-3  # violations, relative, at which a free duration begins to change
ROUGH, FINER, NEAR = 1e-3, 0.2, 1e3  # how well the cost settles in rounds, until violations are so near the tolerance


def optimize(
    system: Any,
    span: tuple[float, float],
    steps: int,
    costs: Sequence[Any] | Any,
    q: Values | None = None,
    v: Values | None = None,
    *,
    limits: Sequence[MotionLimit] | MotionLimit = (),
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    guess: ArrayLike | None = None,
    duration: tuple[float, float] | None = None,
    method: Any = "rk4",
    tolerance: float = 1e-8,
    iterations: int = 2000,
    parameters: Mapping[str, Any] | None = None,
) -> PlannedMotion:
    """Find the inputs, constant in each of `steps` equal steps, that minimize costs within limits.

    costs: of `effort`, `duration`, `tracking`, `final`, which are added. limits: of `keep` and `reach`. low, high:
    bounds of the inputs, one for all or one for each; those of actuators count too. The system starts from q and v, as
    in `simulate`. duration: the shortest and the longest one, if the end is free; `span` is the guess then.
    guess: inputs (steps, inputs) to begin with, by default those that hold the start against gravity. method: an
    explicit one. tolerance: of limits, relative to the numbers they limit; the cost is settled to 1e-4 of it.
    parameters: of a design, are refused here: `shoot` and `collocate` find them together with the motion.

    Raises InfeasibleError, with what is violated by how much, if limits cannot be satisfied.
    """
    refuse_designs(system, parameters)
    begin, end = span_of(span, steps)
    require_ends(tolerance, iterations)
    method = explicit_method(method)
    held = held_steps(system, begin, q, v, method, steps)
    bounds = bounds_of(held, low, high)
    account = Account(held.mechanism, held.count, held.inputs, *terms_of(costs, limits))
    require_start(account, begin, *held.split(held.first))
    length = durations_of(duration, begin, end - begin, account)
    inputs = np.ascontiguousarray(np.clip(guessed_inputs(guess, held), *bounds))
    solver = Ddp(held, account, bounds, length, duration is not None)
    points = held.roll(inputs, length[1] / held.count)
    if not np.isfinite(points).all():
        k = int(np.argmin(np.isfinite(points).all(axis=1)))
        raise ValueError(f"{CALLER}: the motion under the guess is not finite from step {k} on; give another guess")
    account.require_finite(solver.course(points, inputs, length[1]))
    with solver.attention:
        points, inputs, off, settled = _solve(solver, points, inputs, tolerance, iterations)
        stopped, solver.attention.called = solver.attention.called, False
    if stopped and not settled:
        warn_stopped(len(solver.history), {name: x for name, x in off.items() if x > tolerance})
    elif not settled:
        warn_unsettled(len(solver.history), "the iterations were not enough")
    warn_coarse(held, points, inputs, solver.duration / held.count)
    course = solver.course(points, inputs, solver.duration)
    return PlannedMotion(
        *(course.t, course.q, course.v, inputs, account.cost(course), off, len(solver.history)),
        *(tuple(solver.history), method, system, solver.policy, settled),
    )


def _solve(
    solver: Ddp, points: np.ndarray, inputs: np.ndarray, tolerance: float, iterations: int
) -> tuple[np.ndarray, np.ndarray, dict[str, float], bool]:
    """Settle, renew multipliers, make stiffer what does not yield, until all limits are satisfied; whether the motion
    has settled."""
    restraints, before = solver.account.restraints, np.inf
    course = solver.course(points, inputs, solver.duration)
    scales = solver.account.scales(course, solver.units)
    first: list[float] = []
    free = solver.hold() if restraints else False
    for number in range(ROUNDS if restraints else 1):
        left = iterations - len(solver.history)
        near = (before <= NEAR * tolerance and not free) or not restraints
        rough = max(ROUGH * FINER**number, 1e-4 * tolerance)
        most = left if near else min(left, ROUND)
        points, inputs, settled = solver.settle(points, inputs, 1e-4 * tolerance if near else rough, most)
        first = first or [one.stiffness for one in restraints]
        course = solver.course(points, inputs, solver.duration)
        values = solver.account.values(course)
        off = np.array(
            [one.off(r).max(initial=0.0) / scale for one, r, scale in zip(restraints, values, scales, strict=True)]
        )
        if free and (off <= RELEASED).all():  # a duration that is free before limits hold is soon too short for them
            free = solver.release()
        elif not restraints or (near and (off <= tolerance).all()):
            return points, inputs, violated(restraints, values), settled
        if (
            left <= 0
            or solver.attention.called
            or any(one.stiffness >= STIFF_MOST * k for one, k in zip(restraints, first, strict=True))
        ):
            break
        for one, r, amount in zip(restraints, values, off, strict=True):
            one.multipliers = one.push(r)
            if amount > 0.25 * before:
                one.stiffness *= STIFF_FACTOR
        before = float(off.max())
    found = violated(restraints, values)
    names = [name for name, amount in zip(found, off, strict=True) if amount > tolerance]
    if not names or solver.attention.called:
        return points, inputs, found, False
    listed = "; ".join(f"{name} by {found[name]:.4g}" for name in names)
    raise InfeasibleError(
        f"{CALLER}: no motion was found within the limits after {len(solver.history)} iterations; violated: {listed}. "
        "Give more time, wider bounds of the inputs, or another guess",
        found,
    )


def refuse_designs(system: Any, parameters: Any) -> None:
    """ValueError for a system that is a function of parameters: its steps would change with them."""
    if parameters or not (isinstance(system, System | Mechanism | ClosedMechanism) or not callable(system)):
        raise ValueError(
            f"{CALLER}: optimize finds inputs alone; parameters of a design are found together with the motion by "
            "`shoot` or `collocate`, with the same costs and limits, parameters={...} and bounds={...}"
        )


def require_ends(tolerance: Any, iterations: Any) -> None:
    """Refuse a tolerance and a number of iterations that mean nothing."""
    if isinstance(tolerance, bool) or not isinstance(tolerance, int | float | np.number) or not 0 < tolerance < 1:
        raise ValueError(f"{CALLER}: tolerance is {tolerance!r}; expected a number between 0 and 1, such as 1e-8")
    if isinstance(iterations, bool) or not isinstance(iterations, int | np.integer) or iterations < 1:
        raise ValueError(f"{CALLER}: iterations is {iterations!r}; expected a positive whole number")


def explicit_method(method: Any) -> Any:
    """A method by name or as it is, of those that steps are taken by."""
    found = named_method(CALLER, method)
    if not isinstance(found, ExplicitStepper.methods):
        raise ValueError(f"{CALLER}: {found} is not an explicit method; take RKMK, CommutatorFree or the like")
    return found


def held_steps(system: Any, begin: float, q: Any, v: Any, method: Any, steps: int) -> HeldSteps:
    """The steps of a system from its start."""
    dynamics, state = prepare(CALLER, system, begin, q, v, "relative", inputs=True)
    refuse_sticking(CALLER, dynamics.mechanism.system)
    return HeldSteps(dynamics, method, state, begin, int(steps))


def terms_of(costs: Any, limits: Any) -> tuple[list[Any], list[MotionLimit]]:
    """Lists of both, of which one may be given alone."""
    every = list(limits) if isinstance(limits, Sequence) else [limits]
    for one in every:
        if not isinstance(one, MotionLimit):
            raise TypeError(f"{CALLER}: {one!r} is not a limit; expected keep or reach")
    return list(costs) if isinstance(costs, Sequence) else [costs], every


def span_of(span: Any, steps: Any) -> tuple[float, float]:
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 1:
        raise ValueError(f"{CALLER}: steps is {steps!r}; expected a positive whole number")
    try:
        begin, end = (float(x) for x in span)
    except (TypeError, ValueError):
        raise ValueError(f"{CALLER}: span is {span!r}; expected (begin, end) [s]") from None
    if not (np.isfinite([begin, end]).all() and end > begin):
        raise ValueError(f"{CALLER}: span is {span!r}; expected an end after the begin [s]")
    return begin, end


def bounds_of(held: InputRange, low: Any, high: Any) -> np.ndarray:
    """Lowest and highest inputs, (2, inputs)."""
    found = held.limits.copy()
    for k, (name, given) in enumerate((("low", low), ("high", high))):
        if given is None:
            continue
        value = np.asarray(given, dtype=float)
        if value.shape not in ((), (held.inputs,)) or np.isnan(value).any():
            raise ValueError(
                f"{CALLER}: {name} is {given!r}; expected a number, or one for each of {held.inputs} inputs"
            )
        found[k] = np.maximum(found[k], value) if k == 0 else np.minimum(found[k], value)
    if (found[0] > found[1]).any():
        k = int(np.argmax(found[0] > found[1]))
        raise ValueError(
            f"{CALLER}: input {k} has nothing between its bounds, low {found[0, k]:g} and high {found[1, k]:g}"
        )
    return found


def durations_of(duration: Any, begin: float, length: float, account: Account) -> tuple[float, float, float]:
    """The shortest duration, that of the guess and the longest."""
    if duration is None:
        if account.durations:
            raise ValueError(
                f"{CALLER}: a cost of the duration needs a free end; give duration=(shortest, longest) in seconds, or "
                "leave this cost out"
            )
        return length, length, length
    try:
        least, most = (float(x) for x in duration)
    except (TypeError, ValueError):
        raise ValueError(f"{CALLER}: duration is {duration!r}; expected the shortest and the longest one [s]") from None
    if not 0 < least <= length <= most:
        raise ValueError(
            f"{CALLER}: duration is {duration!r}; expected the shortest and longest one [s], with that of the span, "
            f"{length:g}, between them"
        )
    if least < most:
        account.require_timeless(begin, begin + length)
    return least, length, most


def numbers_of_guess(guess: Any) -> np.ndarray:
    try:
        return np.array(guess, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{CALLER}: the guess is {guess!r}; expected an array of numbers") from None


def guessed_inputs(guess: Any, held: HeldSteps) -> np.ndarray:
    if guess is None:
        return np.tile(_holding(held), (held.count, 1))
    value = numbers_of_guess(guess)
    if value.shape not in ((held.count, held.inputs), (held.inputs,)):
        raise ValueError(
            f"{CALLER}: the guess has shape {value.shape}; expected ({held.count}, {held.inputs}), an input for each "
            f"step, or ({held.inputs},)"
        )
    if not np.isfinite(value).all():
        k = int(np.argwhere(~np.isfinite(np.atleast_2d(value)))[0, 0])
        raise ValueError(f"{CALLER}: the guess is not finite in step {k}")
    return np.broadcast_to(value, (held.count, held.inputs)).copy()


def _holding(held: HeldSteps) -> np.ndarray:
    """The inputs that come nearest to those that hold the start against gravity: under none of them an arm falls far
    from every goal. Zero in loops."""
    if held.closed:
        return np.zeros(held.inputs)
    q, still = held.split(held.first)[0], np.zeros(held.nv)
    found: np.ndarray = np.linalg.lstsq(held.effect, held.mechanism.inverse_dynamics(q, still, still), rcond=None)[0]
    return found


def require_start(account: Account, begin: float, q: np.ndarray, v: np.ndarray) -> None:
    """Refuse limits that the start violates, which no input can change."""
    for one in account.restraints:
        if one.driven or 0 not in one.nodes:
            continue
        r = account._numbers(one.limit.quantity, np.array([begin]), q[None], v[None])[0]
        at = int(np.argmax(one.nodes == 0))
        off = np.abs(r[0] - np.clip(r[0], one.low[at], one.high[at]))
        if off.max(initial=0.0) > 1e-9 * np.abs(r).max(initial=0.0):
            k = int(np.argmax(off))
            raise InfeasibleError(
                f"{CALLER}: the start violates the limits of {one.limit.quantity.name}: number {k} is {r[0, k]:.6g}, "
                f"limited to {one.low[at, k]:g} ... {one.high[at, k]:g}; start within them, or limit it at later times",
                {one.limit.quantity.name: float(off[k])},
            )
