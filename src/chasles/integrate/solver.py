"""`solve(problem, method, span, y0, ...)`: one entry for all problems and methods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.constrained_method import CONSTRAINED_METHODS
from chasles.integrate.event import Event
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.method import RKMK
from chasles.integrate.options import Options
from chasles.integrate.problem import LieODE as LieODE
from chasles.integrate.solution import Solution
from chasles.integrate.stepper import Sink, Stepper
from chasles.kernel.undisturbed import Undisturbed


def _steppers() -> Iterator[type[Stepper]]:
    """All steppers. Explicit methods come first, and serve most; the others are loaded if these do not fit."""
    yield ExplicitStepper
    from chasles.integrate.generic import GenericStepper
    from chasles.integrate.implicit import ImplicitStepper
    from chasles.integrate.magnus import LinearStepper
    from chasles.integrate.symplectic import SymplecticStepper

    yield from (GenericStepper, ImplicitStepper, SymplecticStepper, LinearStepper)


def solve(
    problem: Any,
    method: Any,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    step: float | None = None,
    rtol: float | None = None,
    atol: Any = None,
    save: str | int | ArrayLike = "all",
    events: Sequence[Event] = (),
    step_control: str | None = None,
    first_step: float | None = None,
    max_step: float | None = None,
    stops: ArrayLike | None = None,
    max_evaluations: int | None = None,
    max_steps: int | None = None,
    resume: dict[str, np.ndarray] | None = None,
    progress: bool | None = None,
    sink: Sink | None = None,
) -> Solution:
    """Integrate a problem from y0 over the span; backwards if the end is before the start.

    With `step` the steps are fixed (the last one is shortened to end exactly). Without, those of a pair of explicit
    methods follow `rtol` (1e-6 if not given) and `atol` (1e-9); all other methods take fixed steps only.
    `save` is "all" accepted steps, "final", every so many steps, or an array of times. `events` are functions of the
    state whose zeros are located and reported, and may end the run. `step_control` is "pi", or "paper" for the rule of
    celledoni2022 section 4 (absolute tolerance atol, error measured in the algebra, first step T/100). `max_step` is
    the longest step that adaptive steps may take. A step of an explicit method ends at each of the `stops` (times), and
    the next begins anew just after it: jumps of the field belong there, so that no step sees both sides of one.
    `max_evaluations` of the field end a run of an explicit method that takes too long. `max_steps` stops early; the
    `checkpoint` of the solution given as `resume`, with everything else unchanged, continues to the same bits.
    `progress` shows a line for long runs; by default on a terminal, after a second. Ctrl-C raises `Interrupted`, a
    KeyboardInterrupt whose `result` is the solution so far.
    `sink` takes the saved points while the run goes on, which then keeps none of them.

    A run of an explicit method that cannot go on warns, and returns what there is. One of a method that solves
    equations in each step raises `StepError`, whose `solution` has the points before.
    """
    options = Options(step, rtol, atol, save, events, step_control, first_step, max_step, stops, max_evaluations)
    with Undisturbed():  # Ctrl-C as a Python field or event begins would be lost
        stepper = start(problem, method, span, y0, options)
    if resume is not None:
        stepper.restore(resume)
    return stepper.finish(max_steps, progress, sink)


def start(problem: Any, method: Any, span: tuple[float, float], y0: ArrayLike, options: Options) -> Any:
    """A stepper that fits the problem and the method: one of the problem's own (`steppers`), or of all."""
    _check_coordinates(problem, method)
    for stepper in chain(getattr(problem, "steppers", ()), _steppers()):
        if stepper.fits(problem, method):
            make: Any = stepper  # each class takes the same arguments
            return make(problem, method, span, y0, options)
    if hasattr(problem, "ode"):  # the same problem as a LieODE, for methods that know nothing of its structure
        return start(problem.ode, method, span, y0, options)
    raise TypeError(f"solve: {_mismatch(problem, method)}")


def _check_coordinates(problem: Any, method: Any) -> None:
    """A problem that asks for a coordinate map is for methods that can use it."""
    wanted = getattr(problem, "coordinates", None)
    if wanted is None or wanted == getattr(method, "coordinates", "exp"):
        return
    if not isinstance(method, RKMK):
        raise ValueError(
            f"solve: the problem asks for the coordinate map {wanted!r}, and {method!r} moves along exponentials; take "
            "RKMK, or local coordinates that are exponential"
        )
    if method.coordinates != "exp" or method.dexpinv != "exact":
        raise ValueError(
            f"solve: the problem asks for the coordinate map {wanted!r}, the method is {method!r}; leave the choice to "
            f"the problem: RKMK({method.table.name!r})"
        )


def _mismatch(problem: Any, method: Any) -> str:
    """What would fit the problem, and the method."""
    steppers = list(_steppers())
    methods = [m.__name__ for stepper in steppers if isinstance(problem, stepper.problems) for m in stepper.methods]
    problems = [p.__name__ for stepper in steppers if isinstance(method, stepper.methods) for p in stepper.problems]
    name = type(problem).__name__
    if not methods:
        known = sorted({p.__name__ for stepper in steppers for p in stepper.problems})
        return f"{name} is not a problem; expected one of {', '.join(known)}"
    fitting = f"a {name} is solved by {_listed(methods)}"
    if isinstance(method, CONSTRAINED_METHODS):
        return (
            f"{type(method).__name__} needs masses and constraints: it is for a System in absolute coordinates "
            f"(simulate), GeneralizedAlpha and BLieDF also for an LGTProblem; {fitting}"
        )
    if not problems:
        return f"{method!r} is not a method; {fitting}"
    return f"{type(method).__name__} solves {_listed(problems)}, not this {name}; {fitting}"


def _listed(names: list[str]) -> str:
    """Names once each; the class behind three families is shown by their names."""
    shown = {"Exponentials": "CommutatorFree, CrouchGrossman, LowStorage"}
    return ", ".join(dict.fromkeys(shown.get(name, name) for name in names))
