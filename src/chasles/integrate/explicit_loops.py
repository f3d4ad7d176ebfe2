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


@kernel
def begin(settings, real, state, counts, y, f0, x_sum, first, address, p, told):
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


@kernel
def guess(table, addresses, settings, real, state, counts, y, f0, units, counted, room, point, address, p):
    """The first step, from the size of the field and of its change along a short one (hairer1993, II.4).

    `units` say what is large for each number of the algebra, `counted` whose sizes count; `room` is for two vectors."""
    n, d = settings[SET.point], settings[SET.algebra]
    start, end, rtol = real[REAL.start], real[REAL.end], real[REAL.rtol]
    span, direction = abs(end - start), 1.0 if end >= start else -1.0
    size, pace, count = 0.0, 0.0, 0
    for m in range(d):
        if counted[m]:
            scaled, plain = f0[m] / (real[REAL.size + m] + rtol * units[m]), f0[m] / units[m]
            size, pace, count = size + scaled * scaled, pace + plain * plain, count + 1
    largest, pace = np.sqrt(size / max(count, 1)), np.sqrt(pace / max(count, 1))
    h = max(min(span / 100.0, 0.01 / pace if pace > 0.0 else span), 1e-10 * span)
    vector, f1 = room[:d], room[d:]
    for m in range(d):
        vector[m] = direction * h * f0[m]
    blocks.move(table, addresses, y, vector, point, 0.0)
    call(address, start + direction * h, point, p, f1, 0, n, d, 0.0)
    counts[TALLY.evaluations] += 1
    change = 0.0
    for m in range(d):
        scaled = (f1[m] - f0[m]) / (real[REAL.size + m] + rtol * units[m])
        change += scaled * scaled
    change = np.sqrt(change / d) / h
    if change > largest:  # not if it is NaN
        largest = change
    better = (0.01 / largest) ** real[REAL.exponent] if largest > 0.0 else span
    state[STATE.h] = direction * (min(100.0 * h, min(better, span)) if np.isfinite(better) else h)


@kernel(entry=True)
def restart(settings, real, state, counts, y, f0, x_sum, first, address, p, told):
    """`begin` for callers in Python."""
    begin(settings, real, state, counts, y, f0, x_sum, first, address, p, told)


@kernel(entry=True)
def first_step(table, addresses, settings, real, state, counts, y, f0, units, counted, room, point, address, p):
    """`guess` for callers in Python."""
    guess(table, addresses, settings, real, state, counts, y, f0, units, counted, room, point, address, p)


@kernel(entry=True)
def restart_held(
    table, addresses, settings, real, state, counts, y, f0, units, counted, room, point, address, p,
    x_sum, first, told, fresh, forces, where,
):  # fmt: skip
    """`begin` and `guess` with the parameters `fresh`, but forces at `where`; records of before are kept."""
    records = counts[TALLY.records]
    for m in range(p.shape[0]):
        p[m] = fresh[m]
    for m in range(forces.shape[0]):
        p[where + m] = forces[m]
    begin(settings, real, state, counts, y, f0, x_sum, first, address, p, told)
    counts[TALLY.records] = records
    if counts[TALLY.status] == RUNNING:
        guess(table, addresses, settings, real, state, counts, y, f0, units, counted, room, point, address, p)


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
        given = stepper.problem.units
        self.units = np.ones_like(stepper.f0) if given is None else np.array(given, dtype=float)  # of the first step

    @cached_property
    def restart(self) -> Bound:
        """The run begins anew at the present point, as `told`."""
        of = self._of
        state = (of.settings, of.real, of.state, of.counts, of.y, of.f0, of.x_sum, of.first_record[0])
        return Bound(restart, *state, of.address, of.p, self.told)

    @cached_property
    def _guessing(self) -> tuple[Any, ...]:
        """What a guess of the first step works on."""
        of = self._of
        counted = np.ones(len(of.f0), dtype=np.int64)
        counted[of.space.positions] = 0
        space = of.space.table, of.space.operations(blocks.MOVE)
        state = (of.settings, of.real, of.state, of.counts, of.y, of.f0)
        room = np.empty(2 * len(of.f0)), np.empty_like(of.y)
        return (*space, *state, self.units, counted, *room, of.address, of.p)

    @cached_property
    def first_step(self) -> Bound:
        """The size of the first step, into the state."""
        return Bound(first_step, *self._guessing)

    def restart_held(self, fresh: np.ndarray, forces: np.ndarray, where: int) -> Bound:
        """The run begins anew as `told`, under the forces that stand in an array then, with a guess of the step."""
        of = self._of
        return Bound(restart_held, *self._guessing, of.x_sum, of.first_record[0], self.told, fresh, forces, where)

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

    def take(self, limit: int, needs_more: bool) -> None:
        """Take up to so many steps, by the loop of fixed steps alone or by the one that can do all."""
        loop = self._advance if needs_more else self._march
        if limit != self._limits[needs_more]:
            self._limits[needs_more] = loop[-1] = limit
        loop.call()
