"""`solve(problem, method, span, y0, ...)`: the driver around the compiled loops."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import engine
from chasles.integrate.engine import STATE, TALLY
from chasles.integrate.event import Event, Occurrence
from chasles.integrate.field import Field
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.progress import Progress
from chasles.integrate.run import Run, check_span
from chasles.integrate.solution import Solution
from chasles.integrate.space import Space

REASONS = {
    engine.DONE: "reached the end",
    engine.NOT_FINITE: "the field or the solution is not finite",
    engine.UNDERFLOW: "the step became too small to advance the time; is the field smooth?",
    engine.POLE: "a step turned by more than 6 rad, near the pole of dexpinv at 2 pi; take a smaller step",
}


@dataclass(frozen=True)
class LieODE:
    """y' = f(t, y) acting on the space: f gives an element of the algebra, in flat form.

    `field` is compiled (see `field`), called as f(t, y, p, out), or a plain Python function f(t, y, p) that returns the
    algebra element. `parameters` is the vector p.
    """

    space: Space
    field: Field | Callable
    parameters: Sequence[float] | np.ndarray = ()


def solve(
    problem: LieODE,
    method: RKMK | Exponentials,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    step: float | None = None,
    rtol: float = 1e-6,
    atol: float = 1e-9,
    save: str | int | ArrayLike = "all",
    events: Sequence[Event] = (),
    controller: str = "pi",
    first_step: float | None = None,
    max_steps: int | None = None,
    resume: dict[str, np.ndarray] | None = None,
    progress: bool | None = None,
) -> Solution:
    """Integrate a problem from y0 over the span; backwards if the end is before the start.

    With `step` the steps are fixed (the last one is shortened to end exactly); without, they follow rtol and atol.
    `save` is "all" accepted steps, "final", every so many steps, or an array of times. `events` are functions of the
    state whose zeros are located and reported, and may end the run. `controller` is "pi", or "paper" for the rule of
    004 section 4 (absolute tolerance atol, error measured in the algebra, first step T/100). `max_steps` stops early;
    the `checkpoint` of the solution given as `resume`, with everything else unchanged, continues to the same bits.
    `progress` shows a line for long runs; by default on a terminal, after a second. Ctrl-C returns what there is.
    """
    begin = time.perf_counter()
    start, end = check_span(span)
    if start == end:
        return Solution.empty(problem.space, method, start, problem.space.check(y0))
    run = Run(
        problem,
        method,
        span,
        y0,
        step=step,
        rtol=rtol,
        atol=atol,
        save=save,
        events=events,
        controller=controller,
        first_step=first_step,
    )
    if resume is not None:
        run.restore(resume)
    status, occurrences, message = _drive(run, max_steps, Progress(start, end, progress))
    success = status == engine.DONE
    if message is None:
        message = REASONS[status]
    if status in (engine.NOT_FINITE, engine.UNDERFLOW, engine.POLE):
        message = f"{message} (t = {run.state[STATE.t]:.8g}, step {run.state[STATE.h]:.3g})"
        warnings.warn(f"solve: {message}", RuntimeWarning, stacklevel=2)
    return Solution.of(run, success, message, occurrences, time.perf_counter() - begin, first=resume is None)


def _drive(run: Run, max_steps: int | None, progress: Progress) -> tuple[int, list[Occurrence], str | None]:
    """Advance in pieces of about a tenth of a second, so that Ctrl-C, progress and full buffers are attended to."""
    limit = 64
    occurrences: list[Occurrence] = []
    with progress:
        while True:
            if max_steps is not None:
                limit = min(limit, max_steps - int(run.counts[TALLY.accepted]))
                if limit <= 0:
                    return engine.RUNNING, occurrences, f"stopped after {max_steps} steps"
            began = time.perf_counter()
            try:
                status = run.advance(limit)
                run.collect()
                if status == engine.EVENT:
                    found = run.locate_events()
                    occurrences += found
                    if found and found[-1].event.terminal:
                        run.end_at(found[-1])
                        return engine.DONE, occurrences, f"ended by the event {found[-1].event.name!r}"
                    continue
                run.raise_field_error()
                progress.show(run.state[STATE.t])
            except KeyboardInterrupt:
                run.collect()
                return engine.RUNNING, occurrences, f"interrupted at t = {run.state[STATE.t]:.8g}"
            if status not in (engine.RUNNING, engine.FULL):
                return status, occurrences, None
            spent = time.perf_counter() - began
            limit = int(np.clip(limit * 0.1 / max(spent, 1e-6), 16, 16 * limit))


def solve_batch(
    problem: LieODE,
    method: RKMK | Exponentials,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    parameters: ArrayLike | None = None,
    threads: int | None = None,
    **options,
) -> list[Solution]:
    """Solve for many starting points and parameters at once, on threads; the results are those of one by one.

    `y0` has shape (size,) or (batch, size), `parameters` (count,) or (batch, count). Options are those of `solve`.
    """
    points = np.atleast_2d(np.asarray(y0, dtype=float))
    p = np.atleast_2d(np.asarray(problem.parameters if parameters is None else parameters, dtype=float))
    try:
        (batch,) = np.broadcast_shapes(points.shape[:1], p.shape[:1])
    except ValueError:
        raise ValueError(f"solve_batch: {len(points)} starting points and {len(p)} sets of parameters") from None
    points, p = np.broadcast_to(points, (batch, points.shape[1])), np.broadcast_to(p, (batch, p.shape[1]))
    options.setdefault("progress", False)

    def one(i: int) -> Solution:
        return solve(LieODE(problem.space, problem.field, p[i]), method, span, points[i], **options)

    if not isinstance(problem.field, Field):  # Python fields hold the interpreter lock
        return [one(i) for i in range(batch)]
    _ = problem.field.address  # compiled once, before the threads ask for it
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(batch)))
