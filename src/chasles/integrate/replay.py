"""The steps that a run has taken, taken again on dual numbers: derivatives of the discrete method itself.

The sizes of the steps are those of the run, whatever chose them, and count as constants. So the derivatives are those
of the numbers that the run computed, not approximations to derivatives of the exact solution.
"""

from __future__ import annotations

import numpy as np

from chasles.integrate import blocks
from chasles.integrate import explicit_layout as layout
from chasles.integrate.engine import correct, last_value, short_of
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import SET, TALLY, scratch
from chasles.integrate.explicit_step import copy
from chasles.integrate.scalar import ON_DUALS, dual_zero
from chasles.integrate.step_address import step_address, take_step
from chasles.integrate.vector_field import call
from chasles.kernel.lanes import WIDTH, buffer
from chasles.kernel.policy import kernel


@kernel(entry=True)
def replay_steps(
    table,
    addresses,
    settings,
    a,
    b,
    c,
    extra,
    program,
    counts,
    times,
    sizes,
    begins,
    rows,
    y,
    f0,
    memory,
    address,
    p,
    points,
):
    """Steps from each time to the next, of given sizes; the point at time k is saved in row rows[k], unless that is
    negative. A step from time k begins at begins[k], which at a stop is just after it."""
    z = dual_zero()
    parts = scratch(memory, settings, WIDTH)
    n, d = settings[SET.point], settings[SET.algebra]
    call(address, begins[0], y, p, f0, 0, n, d, z)
    for k in range(times.shape[0]):
        if k > 0:
            t, target = times[k - 1], times[k]
            take_step(
                *(table, addresses, settings, a, b, c, extra, program),
                *(t, sizes[k], y, f0, memory, parts, address, p, z),
            )
            stopped = begins[k] != target
            correct(settings, t + sizes[k] if stopped else target, parts, p, z)
            last_value(settings, target, counts, parts, address, p, z)
            copy(parts[7], 0, f0, 0, d, z)
            if stopped:
                correct(settings, begins[k], parts, p, z)
                call(address, begins[k], parts[4], p, f0, 0, n, d, z)
            copy(parts[4], 0, y, 0, n, z)
        if rows[k] >= 0:
            copy(y, 0, points, rows[k] * n, n, z)


class Replay:
    """Steps of an explicit method, ready to be taken on duals.

    `address` is that of the field on duals, f(t, y, p, out) with points and results of duals; p is whatever the field
    reads, in an aligned buffer. `correction`: of what corrects a point after each step, or 0.
    """

    def __init__(self, stepper: ExplicitStepper, address: int, correction: int = 0):
        self.stepper, self.address = stepper, address
        self.settings = stepper.settings.copy()
        self.settings[SET.dense], self.settings[SET.correction] = 0, correction
        self.settings[SET.step] = step_address(int(self.settings[SET.family]), ON_DUALS)
        needed = {blocks.MOVE} | ({blocks.PULLBACK} if self.settings[SET.family] == layout.MUNTHE_KAAS else set())
        self.addresses = stepper.operations(*needed, on=ON_DUALS)

    def points(
        self, times: np.ndarray, rows: np.ndarray, start: np.ndarray, p: np.ndarray, stops: np.ndarray
    ) -> np.ndarray:
        """Points (saved, size, 4), values and tangents, from the start (size, 4), with steps from time to time; as the
        run did, steps end short of stops and begin after them.

        rows: for each time the row it is saved in, or -1. Not to be called twice at once with the same p.
        """
        stopped = np.isin(times, stops)
        begins = np.where(stopped, np.nextafter(times, np.copysign(np.inf, times[-1] - times[0])), times)
        sizes = np.diff(times, prepend=times[0])
        for k in np.flatnonzero(stopped[1:]) + 1:
            sizes[k] = short_of.py_func(times[k - 1], times[k])
        stepper, n, d = self.stepper, self.stepper.space.size, self.stepper.space.dimension
        y, f0, saved = buffer(n), buffer(d), buffer((int(rows.max()) + 1) * n)
        y.reshape(n, WIDTH)[:] = start
        memory = buffer(layout.scratch_size(int(self.settings[SET.stages]), n, d))
        table = (stepper.a, stepper.b, stepper.c, stepper.extra, stepper.program)
        method = (self.settings, *table, np.zeros(TALLY.size, dtype=np.int64))
        place = (times, sizes, begins, rows, y, f0, memory, self.address, p, saved)
        replay_steps(stepper.space.table, self.addresses, *method, *place)
        return saved.reshape(-1, n, WIDTH)
