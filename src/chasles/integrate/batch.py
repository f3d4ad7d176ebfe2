"""Many problems at once: on threads, and four at a time on SIMD lanes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate import engine
from chasles.integrate import explicit_layout as layout
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import SET, STATE, TALLY
from chasles.integrate.options import Options, saving
from chasles.integrate.scalar import ON_LANES
from chasles.integrate.solution import Solution
from chasles.integrate.solver import solve
from chasles.integrate.status import DONE, FULL, RUNNING
from chasles.integrate.step_address import step_address
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

    def four(first: int) -> list[Solution]:
        chosen = Options(**{name: value for name, value in options.items() if name != "progress"})
        size = min(WIDTH, batch - first)
        steppers = [ExplicitStepper(case(i), method, span, points[i], chosen) for i in range(first, first + size)]
        if LaneStepper(steppers).finish():
            return [stepper.solution(True, "reached the end") for stepper in steppers]
        return [one(i) for i in range(first, first + size)]  # one of them fails: each gets its own verdict

    function = getattr(problem, "field", getattr(problem, "torque", None))
    if not isinstance(function, Field):  # Python fields hold the interpreter lock
        return [one(i) for i in range(batch)]
    _ = function.address  # compiled once, before the threads ask for it
    if on_lanes(problem, method, options):
        _ = function.lanes_address
        with ThreadPoolExecutor(threads) as pool:
            return [solution for group in pool.map(four, range(0, batch, WIDTH)) for solution in group]
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


class LaneStepper:
    """Up to four runs with the same fixed steps, in lock-step; afterwards they are as if each had run by itself."""

    def __init__(self, steppers: list[ExplicitStepper]):
        self.steppers = steppers
        self.lead = lead = steppers[0]
        field = lead.field
        assert not isinstance(field, PythonField)
        self.address = field.lanes_address
        self.settings = lead.settings.copy()
        self.settings[SET.step] = step_address(int(lead.settings[SET.family]), ON_LANES)
        self.addresses = lead.operations(*lead.needed(), on=ON_LANES)
        n, d = lead.space.size, lead.space.dimension
        self.y, self.f0 = self._packed("y", n), self._packed("f0", d)
        self.p, self.x_sum = self._packed("p", lead.p.size), buffer(d)
        self.records = buffer(lead.rows * lead.width)
        self.memory = buffer(layout.scratch_size(int(lead.settings[SET.stages]), n, d))
        self.pieces: list[np.ndarray] = []

    def _packed(self, name: str, size: int) -> np.ndarray:
        """The same array of all runs as a buffer of lanes; lanes without a run repeat the last one."""
        result = buffer(size)
        for lane in range(WIDTH):
            result.reshape(size, WIDTH)[:, lane] = getattr(self.steppers[min(lane, len(self.steppers) - 1)], name)
        return result

    def finish(self) -> bool:
        """Run to the end; False, with the runs untouched, if one of them cannot get there."""
        lead = self.lead
        state, counts = lead.state.copy(), lead.counts.copy()
        if lead.start == lead.end:
            return True
        method = (self.settings, *lead.arrays()[1:])
        memory = (state, counts, self.y, self.f0, self.x_sum, self.records, self.memory)
        counts[TALLY.status] = RUNNING
        while counts[TALLY.status] in (RUNNING, FULL):
            engine.march_lanes(lead.space.table, self.addresses, *method, *memory, self.address, self.p, 1_000_000_000)
            rows = int(counts[TALLY.records])
            self.pieces.append(self.records.reshape(lead.rows, lead.width, WIDTH)[:rows].copy())
            counts[TALLY.records] = 0
        if counts[TALLY.status] != DONE:
            return False
        for lane, stepper in enumerate(self.steppers):
            stepper.state[:], stepper.counts[:] = state, counts
            for name in ("y", "f0", "x_sum"):
                target = getattr(stepper, name)
                target[:] = getattr(self, name).reshape(target.size, WIDTH)[:, lane]
            for piece in self.pieces:
                stepper.keep(piece[:, :, lane])
            stepper.state[STATE.since_save] = 0.0
        return True
