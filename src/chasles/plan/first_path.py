"""The path that a search begins with, if none is given: from the start through what is to be reached, one after the
other, evenly and along q exp(δ)."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.constraint.errors import AssemblyError
from chasles.plan.account import Account
from chasles.plan.mesh import always
from chasles.relative.loop.closed import ClosedMechanism

SWEEPS, NEAR = 50, 1e-10  # of Gauss and Newton to a goal, and what is left of a step there, relative
LONGEST = 0.5  # step to a goal, relative to what is large for a coordinate
LEAST = 1e-6  # of slopes, relative to the largest: what is less moves nothing


def path_to_goals(account: Account, q: np.ndarray, times: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Coordinates at the nodes (nodes, nq) from q on; units: of δ. Where loops cannot be closed along the way, the
    start everywhere."""
    stay = np.tile(q, (len(times), 1))
    goals = [one for one in account.restraints if not (one.driven or always(one.limit))]
    mechanism, stops = account.mechanism, sorted({int(k) for one in goals for k in one.nodes if k})
    path, last = stay.copy(), 0
    for stop in stops:
        goal = _place(account, goals, stop, path[last], times, units)
        way = mechanism.difference(goal, path[last])
        for k in range(last + 1, stop + 1):
            share = (times[k] - times[last]) / (times[stop] - times[last])
            path[k] = mechanism.retract(path[last], share * way)
        path[stop:] = path[stop]
        last = stop
    if not np.isfinite(path).all():
        return stay
    return _closed(mechanism, path, times, stay) if isinstance(mechanism, ClosedMechanism) else path


def _place(
    account: Account, goals: list[Any], stop: int, q: np.ndarray, times: np.ndarray, units: np.ndarray
) -> np.ndarray:
    """Coordinates next to q that come nearest to all goals of a node, at rest."""
    nv, t = account.tree.nv, times[stop : stop + 1]
    for _ in range(SWEEPS):
        rows, slopes = [np.zeros(0)], [np.zeros((0, nv))]
        for one in goals:
            for at in np.flatnonzero(one.nodes == stop):
                r, by = account._numbers(one.limit.quantity, t, q[None], np.zeros((1, nv)), int(at))
                rows.append(r[0] - np.clip(r[0], one.low[at], one.high[at]))
                slopes.append(by[0, :, :nv] * units)
        matrix = np.concatenate(slopes)
        step = -np.linalg.pinv(matrix, rcond=LEAST) @ np.concatenate(rows)
        largest = np.abs(step).max(initial=0.0)
        if not largest > NEAR:
            break
        q = account.mechanism.retract(q, units * step * min(1.0, LONGEST / largest))
    return q


def _closed(mechanism: ClosedMechanism, path: np.ndarray, times: np.ndarray, stay: np.ndarray) -> np.ndarray:
    """The path with loops closed, each node from the one before."""
    found = path.copy()
    try:
        for k in range(1, len(path)):
            moved = mechanism.retract(found[k - 1], mechanism.difference(path[k], path[k - 1]))
            found[k] = mechanism.assemble(moved, float(times[k]))
    except AssemblyError:
        return stay
    return found
