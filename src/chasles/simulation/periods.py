"""Derivatives of a run under inputs that are held for a period each: a sequence of them, or a sampled controller.

Each period is differentiated by itself, by its first state, its input and parameters, and the derivatives are
multiplied along the run: so a run of many periods costs as much as one under a constant input.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.simulation.actuation import Actuation
from chasles.simulation.run import Run

Slopes = Callable[[int], tuple[np.ndarray, np.ndarray]]  # of an input by q and v, at a point


def held_inputs(run: Run, actuation: Actuation) -> tuple[np.ndarray, np.ndarray]:
    """All inputs that were held, and for each point which one was held in the step to it."""
    if run.given is None:
        return np.zeros((1, actuation.inputs)), np.zeros(len(run.t), dtype=np.int64)
    if run.task.controller is None:
        return run.given[:1], np.zeros(len(run.t), dtype=np.int64)
    edges = run.task.edges()
    which = np.clip(np.searchsorted(edges, run.t, side="left") - 1, 0, len(edges) - 2)
    return np.array([run.given[np.argmax(which == k)] for k in range(len(edges) - 1)]), which


def sequence_of(where: str, control: ArrayLike, period: Any, span: tuple[float, float]) -> Callable[..., np.ndarray]:
    """A sequence of inputs (periods, inputs) as a sampled controller."""
    if not (isinstance(period, int | float) and period > 0):
        raise ValueError(f"{where}: period is {period!r}; expected the time that each input is held [s], positive")
    table = np.array(control, dtype=float)
    needed = max(1, int(np.ceil((span[1] - span[0]) / period * (1 - 1e-12))))
    if table.ndim != 2 or len(table) != needed:
        raise ValueError(
            f"{where}: control has shape {table.shape}; expected ({needed}, inputs): an input for each period of "
            f"{period:g} s in the span"
        )
    if not np.isfinite(table).all():
        raise ValueError(f"{where}: the input of period {int(np.argwhere(~np.isfinite(table))[0, 0])} is not finite")

    def held(t: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        return table[min(round((t - span[0]) / period), len(table) - 1)]

    return held


class Varied(NamedTuple):
    """What varies, by columns: the first state (2 nv, columns), numbers of tables (count, columns), forces of each
    period at its given input (periods, nv, columns), and which columns are the inputs of the periods, if any."""

    states: np.ndarray
    tables: np.ndarray
    forces: np.ndarray
    own: slice


def chained(
    run: Run,
    actuation: Actuation,
    varied: Varied,
    rows: np.ndarray,
    differentiate: Any,
    slopes: Slopes | None,
    threads: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of states (saved, 2 nv, columns) and of work (saved, columns).

    differentiate(part, rows, forces, states, tables, change of forces): derivatives of the states and of the work
    (saved, 2 nv + 1, columns) along some points of the run. rows: for each point the row it is saved in, or -1.
    """  # fmt: skip
    inputs, which = held_inputs(run, actuation)
    count, size, m = len(inputs), *varied.states.shape[:1], inputs.shape[1]
    nv, total = size // 2, varied.states.shape[1]
    some = np.flatnonzero(varied.tables.any(axis=0) | varied.forces.any(axis=(0, 1)))  # columns of parameters
    ends = [int(np.flatnonzero(which[1:] == k)[-1]) + 1 for k in range(count)]
    firsts = [0, *ends[:-1]]

    def period(k: int) -> np.ndarray:
        part = slice(firsts[k], ends[k] + 1)
        chosen = rows[part].copy()
        chosen[0], chosen[-1] = -1, 1  # the end is always needed
        saved = np.where(chosen >= 0, np.cumsum(chosen >= 0) - 1, -1)
        states = np.zeros((size, size + m + len(some)))
        states[:, :size] = np.eye(size)
        tables, forces = np.zeros((len(varied.tables), states.shape[1])), np.zeros((nv, states.shape[1]))
        forces[:, size : size + m] = actuation.matrix(inputs[k])
        tables[:, size + m :], forces[:, size + m :] = varied.tables[:, some], varied.forces[k][:, some]
        return differentiate(part, saved, actuation.along(inputs[k]), states, tables, forces)

    result = np.empty((int(rows.max()) + 1, size + 1, total))
    now = np.concatenate([varied.states, np.zeros((1, total))])
    if rows[0] >= 0:
        result[rows[0]] = now
    with ThreadPoolExecutor(threads) as pool:
        for k, found in enumerate(pool.map(period, range(count))):
            told = np.zeros((m, total))
            if varied.own.stop > varied.own.start:
                told[:, varied.own][:, k * m : (k + 1) * m] = np.eye(m)
            if slopes is not None:
                by_q, by_v = slopes(firsts[k])
                told = told + by_q @ now[:nv] + by_v @ now[nv:size]
            after = found[..., :size] @ now[:size] + found[..., size : size + m] @ told
            after[..., some] += found[..., size + m :]
            after[:, size] += now[size]
            chosen = rows[firsts[k] + 1 : ends[k] + 1]
            kept = chosen[chosen >= 0]
            result[kept] = after[: len(kept)]
            now = after[-1]
    return result[:, :size], result[:, size]
