"""Four runs with the same fixed steps in lock-step, on lanes: what batches of problems and of mechanisms share."""

from __future__ import annotations

import threading
from typing import NamedTuple

import numpy as np

from chasles.integrate import engine
from chasles.integrate import explicit_layout as layout
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import REAL, SET, STATE, TALLY
from chasles.integrate.scalar import ON_LANES
from chasles.integrate.status import DONE, FULL, RUNNING
from chasles.integrate.step_address import step_address
from chasles.integrate.vector_field import call
from chasles.kernel.lanes import WIDTH, buffer, lanes_of
from chasles.kernel.policy import kernel

ROWS = 128  # saved points a piece
AT_ONCE = 20_000  # steps of a call of the compiled loop, after which others may have a say


@kernel(entry=True)
def evaluate_lanes(address, t, y, p, out):
    """The field at four points, for callers in Python."""
    call(address, t, y, p, out, 0, y.shape[0] // WIDTH, out.shape[0] // WIDTH, lanes_of(0.0))


class Marched(NamedTuple):
    """Where four runs are after a march: stepping state and counters, which they share; the last point, field value and
    move since the last saved point, (4, ...); saved points (4, rows, numbers)."""

    state: np.ndarray
    counts: np.ndarray
    y: np.ndarray
    f0: np.ndarray
    x_sum: np.ndarray
    rows: np.ndarray


class LaneMarch:
    """Marches of four points from `start` to `end`, with the method and options of a run that leads.

    `address`: that of the field on lanes; `correction`: of what corrects points after each step, or 0. One of it serves
    many marches, one after the other.
    """

    def __init__(self, lead: ExplicitStepper, address: int, stop: threading.Event | None = None, correction: int = 0):
        """stop: set by another thread, it breaks marches off."""
        self.lead, self.address, self.stop = lead, address, stop
        self.settings, self.real = lead.settings.copy(), lead.real.copy()
        self.settings[SET.step] = step_address(int(lead.settings[SET.family]), ON_LANES)
        self.settings[SET.correction] = correction
        self.addresses = lead.operations(*lead.needed(), on=ON_LANES)
        n, d = lead.space.size, lead.space.dimension
        self.width, rows = 1 + n + 2 * d, min(lead.rows, ROWS)
        self.y, self.f0, self.x_sum, self.records = buffer(n), buffer(d), buffer(d), buffer(rows * self.width)
        self.first_value = np.zeros((WIDTH, d))  # of the field, at the start of the last march
        self.memory = buffer(layout.scratch_size(int(lead.settings[SET.stages]), n, d))

    def between(self, start: float, end: float, step: float) -> None:
        """March from now on between other times."""
        self.real[[REAL.start, REAL.end, REAL.step]] = start, end, np.copysign(step, end - start)

    def corrected(self, t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Points (4, size) as they are after a correction."""
        found = buffer(y.shape[1])
        _set(self.y, y)
        evaluate_lanes(int(self.settings[SET.correction]), t, self.y, p, found)
        return _get(found)

    def run(self, y: np.ndarray, p: np.ndarray, f0: np.ndarray | None = None) -> Marched | None:
        """The march of points (4, size) with the parameters p, a buffer; None if one of them cannot get to the end.
        f0: the field there, if it is known."""
        start = float(self.real[REAL.start])
        _set(self.y, y)
        self.x_sum[:] = 0.0
        if f0 is None:
            evaluate_lanes(self.address, start, self.y, p, self.f0)
            if not np.isfinite(self.f0).all():
                return None
        else:
            _set(self.f0, f0)
        self.first_value = _get(self.f0)
        state, counts = np.zeros(STATE.size), np.zeros(TALLY.size, dtype=np.int64)
        state[[STATE.t, STATE.h, STATE.old_error]] = start, self.real[REAL.step], 1.0
        counts[[TALLY.evaluations, TALLY.status]] = 1, RUNNING
        pieces: list[np.ndarray] = []
        if start == self.real[REAL.end]:
            counts[TALLY.status] = DONE
        method = (self.settings, self.real, *self.lead.arrays()[2:])
        memory = (state, counts, self.y, self.f0, self.x_sum, self.records, self.memory)
        while counts[TALLY.status] in (RUNNING, FULL):
            engine.march_lanes(self.lead.space.table, self.addresses, *method, *memory, self.address, p, AT_ONCE)
            rows = self.records.reshape(-1, self.width, WIDTH)[: counts[TALLY.records]]
            pieces.append(rows.transpose(2, 0, 1).copy())
            counts[TALLY.records] = 0
            if self.stop is not None and self.stop.is_set():
                return None
        if counts[TALLY.status] != DONE:
            return None
        state[STATE.since_save] = 0.0
        saved = np.concatenate(pieces, axis=1) if pieces else np.empty((WIDTH, 0, self.width))
        return Marched(state, counts, _get(self.y), _get(self.f0), _get(self.x_sum), saved)


def _set(target: np.ndarray, rows: np.ndarray) -> None:
    """Rows (4, size) into a buffer of lanes."""
    target.reshape(-1, WIDTH)[:] = rows.T


def _get(source: np.ndarray) -> np.ndarray:
    return source.reshape(-1, WIDTH).T.copy()


def four(rows: np.ndarray, first: int) -> np.ndarray:
    """Four rows from the first on; where there are none left, the last one again."""
    return rows[np.minimum(np.arange(first, first + WIDTH), len(rows) - 1)]
