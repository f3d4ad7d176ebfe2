"""The compiled loops of an explicit run, bound to its arrays when they are called again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.cached import cached_property
from chasles.integrate import blocks, engine
from chasles.integrate.explicit_layout import REAL, SET, STATE, TALLY
from chasles.integrate.status import NOT_FINITE, RUNNING
from chasles.integrate.step_control import finite
from chasles.integrate.vector_field import call
from chasles.kernel.bound import Bound
from chasles.kernel.policy import kernel
from chasles.kernel.workspace import layout

if TYPE_CHECKING:
    from chasles.integrate.explicit import ExplicitStepper


START = layout("START", start=1, end=1, step=1, floor=1)  # what a run that begins anew is told


@kernel(entry=True)
def restart(settings, real, state, counts, y, f0, x_sum, first, address, p, told):
    """What a run that begins at y finds in its arrays; `first` is the record of the first point."""
    n, d, start, end = settings[SET.point], settings[SET.algebra], told[START.start], told[START.end]
    real[REAL.start], real[REAL.end], real[REAL.step], real[REAL.floor] = (
        start,
        end,
        told[START.step],
        told[START.floor],
    )
    largest = max(abs(start), abs(end))
    real[REAL.shortest] = 16.0 * (np.nextafter(largest, np.inf) - largest)
    for m in range(state.shape[0]):
        state[m] = 0.0
    for m in range(counts.shape[0]):
        counts[m] = 0
    state[STATE.t], state[STATE.h], state[STATE.old_error] = start, told[START.step], 1.0
    call(address, start, y, p, f0, 0, n, d, 0.0)
    counts[TALLY.evaluations], counts[TALLY.status] = 1, RUNNING if finite(f0, d, 0.0) else NOT_FINITE
    first[0] = start
    for m in range(n):
        first[1 + m] = y[m]
    for m in range(d):
        first[1 + n + m], x_sum[m] = f0[m], 0.0


@kernel(entry=True)
def refresh(settings, state, y, f0, address, p):
    """The field at the present point and time, after a change of parameters."""
    call(address, state[STATE.t], y, p, f0, 0, settings[SET.point], settings[SET.algebra], 0.0)


class Loops:
    """The loops on the arrays of a stepper, which stay where they are."""

    def __init__(self, stepper: ExplicitStepper):
        self._of = stepper
        self.told = np.zeros(START.size)
        self._limits = {True: 0, False: 0}

    @cached_property
    def _moved(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, Bound, Bound]:
        """A vector, the point moved along it and the field there, and the loops that find both."""
        of = self._of
        vector, point, found = np.empty_like(of.f0), np.empty_like(of.y), np.empty_like(of.f0)
        move = Bound(blocks.move_point, of.space.table, of.space.operations(blocks.MOVE), of.y, vector, point)
        return vector, point, found, move, Bound(engine.evaluate, of.address, 0.0, point, of.p, found)

    @cached_property
    def restart(self) -> Bound:
        """The run begins anew at the present point, as `told`."""
        of = self._of
        state = (of.settings, of.real, of.state, of.counts, of.y, of.f0, of.x_sum, of.first_record[0])
        return Bound(restart, *state, of.address, of.p, self.told)

    @cached_property
    def refresh(self) -> Bound:
        """f0 becomes the field at the present point and time."""
        of = self._of
        return Bound(refresh, of.settings, of.state, of.y, of.f0, of.address, of.p)

    @cached_property
    def _advance(self) -> Bound:
        of = self._of
        state = (of.state, of.counts, of.y, of.f0, of.x_sum, of.times, of.stops, of.records, of.memory)
        rest = (of.address, of.p, of.watch.watched, of.levels)
        space = (of.space.table, of.space.measured, of.addresses)
        return Bound(engine.advance, *space, *of.arrays(estimate=True), *state, *rest, 0)

    @cached_property
    def _march(self) -> Bound:
        of = self._of
        state: tuple[Any, ...] = (of.state, of.counts, of.y, of.f0, of.x_sum, of.records, of.memory)
        return Bound(engine.march_scalar, of.space.table, of.addresses, *of.arrays(), *state, of.address, of.p, 0)

    def evaluate_moved(self, t: float, h: float) -> np.ndarray:
        """The field at a time, at the present point moved along h f0."""
        vector, _, found, move, evaluate = self._moved
        np.multiply(h, self._of.f0, out=vector)
        move.call()
        evaluate[1] = t
        evaluate.call()
        return found

    def take(self, limit: int, needs_more: bool) -> None:
        """Take up to so many steps, by the loop of fixed steps alone or by the one that can do all."""
        loop = self._advance if needs_more else self._march
        if limit != self._limits[needs_more]:
            self._limits[needs_more] = loop[-1] = limit
        loop.call()
