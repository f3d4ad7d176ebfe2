"""Many problems at once: on threads, and four at a time on SIMD lanes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.lane_march import LaneMarch, four
from chasles.integrate.options import Options, saving
from chasles.integrate.solution import Solution
from chasles.integrate.solver import solve
from chasles.integrate.vector_field import Field, PythonField
from chasles.kernel.lanes import WIDTH, buffer


def solve_batch(
    problem: Any,
    method: Any,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    parameters: ArrayLike | None = None,
    threads: int | None = None,
    **options: Any,
) -> list[Solution]:
    """Solve for many starting points and parameters at once; the results are those of one by one, to rounding.

    `y0` has shape (size,) or (batch, size), `parameters` (count,) or (batch, count). Options are those of `solve`.
    Compiled fields run on `threads` threads (default: one for each processor). Explicit methods with fixed steps and a
    field compiled for lanes, `@field(lanes=True)`, advance four problems at a time in lock-step on each thread.
    Adaptive runs have each their own steps, so they, and runs with events, points at given times or a correction, are
    not on lanes.
    """
    points = np.atleast_2d(np.asarray(y0, dtype=float))
    given = getattr(problem, "parameters", ()) if parameters is None else parameters
    p = np.atleast_2d(np.asarray(given, dtype=float))
    try:
        (batch,) = np.broadcast_shapes(points.shape[:1], p.shape[:1])
    except ValueError:
        raise ValueError(f"solve_batch: {len(points)} starting points and {len(p)} sets of parameters") from None
    points, p = np.broadcast_to(points, (batch, points.shape[1])), np.broadcast_to(p, (batch, p.shape[1]))
    options.setdefault("progress", False)

    def case(i: int) -> Any:
        return replace(problem, parameters=p[i]) if parameters is not None else problem

    def one(i: int) -> Solution:
        return solve(case(i), method, span, points[i], **options)

    def together(first: int) -> list[Solution]:
        chosen = Options(**{name: value for name, value in options.items() if name != "progress"})
        size = min(WIDTH, batch - first)
        steppers = [ExplicitStepper(case(i), method, span, points[i], chosen) for i in range(first, first + size)]
        if marched_together(steppers):
            return [stepper.solution(True, "reached the end") for stepper in steppers]
        return [one(i) for i in range(first, first + size)]  # one of them fails: each gets its own verdict

    function = getattr(problem, "field", getattr(problem, "torque", None))
    if not isinstance(function, Field):  # Python fields hold the interpreter lock
        return [one(i) for i in range(batch)]
    _ = function.address  # compiled once, before the threads ask for it
    if on_lanes(problem, method, options):
        _ = function.lanes_address
        with ThreadPoolExecutor(threads) as pool:
            return [solution for group in pool.map(together, range(0, batch, WIDTH)) for solution in group]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, range(batch)))


def on_lanes(problem: Any, method: Any, options: dict[str, Any]) -> bool:
    """Whether a batch can run on lanes: see `solve_batch`."""
    if not ExplicitStepper.fits(problem, method) or not (isinstance(problem.field, Field) and problem.field.lanes):
        return False
    if problem.correction is not None:  # the loop on lanes corrects nothing
        return False
    plain = set(options) <= {"step", "save", "progress"} and options.get("step") is not None
    return plain and saving(options.get("save", "all")) is not None


def marched_together(steppers: list[ExplicitStepper]) -> bool:
    """Bring up to four runs to their end, in lock-step; afterwards they are as if each had run by itself. False, with
    the runs untouched, if one of them cannot get there."""
    field = steppers[0].field
    assert not isinstance(field, PythonField)

    def rows(name: str) -> np.ndarray:
        return four(np.array([getattr(stepper, name) for stepper in steppers]), 0)

    p = buffer(steppers[0].p.size)
    p.reshape(-1, WIDTH)[:] = rows("p").T
    march = LaneMarch(steppers[0], field.lanes_address).run(rows("y"), p, rows("f0"))
    if march is None:
        return False
    for lane, stepper in enumerate(steppers):
        stepper.state[:], stepper.counts[:] = march.state, march.counts
        stepper.y[:], stepper.f0[:], stepper.x_sum[:] = march.y[lane], march.f0[lane], march.x_sum[lane]
        if len(march.rows[lane]):
            stepper.keep(march.rows[lane])
    return True
