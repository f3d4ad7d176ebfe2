"""The path that a search begins with, if none is given: from the start through what is to be reached, one after the
other, evenly and along q exp(δ). Where it violates limits, it is pulled around them as an elastic band."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.constraint.errors import AssemblyError
from chasles.plan.account import Account, always_of
from chasles.relative.loop.closed import ClosedMechanism

SWEEPS, NEAR = 50, 1e-10  # of Gauss and Newton to a goal, and what is left of a step there, relative
LONGEST = 0.5  # step to a goal [rad], or of a band, relative to what is large for a coordinate
POINT = 1e-3  # lengths of joints below are those of points
LEAST = 1e-9  # of slopes, relative to the largest: what is less moves nothing
STIFFER, STEPS = (
    2.0 ** np.array([*range(-8, 4), *range(4, 27, 3)]),
    4,
)  # how violations count beside parts of a band, and steps with each
BEND = 1e-2  # of a band at first, relative to what is large for a coordinate


def path_to_goals(account: Account, q: np.ndarray, times: np.ndarray, units: np.ndarray) -> np.ndarray:
    """Coordinates at the nodes (nodes, nq) from q on; units: of δ, 1 rad or a length. Where loops
    cannot be closed along the way, the start everywhere."""
    lengths, start = units != 1.0, np.abs(account.mechanism.difference(q, account.tree.neutral()))
    largest = max(units[lengths].max(initial=0.0), start[lengths].max(initial=0.0))
    units = np.where(lengths, largest if largest > POINT else 1.0, 1.0)
    stay = np.tile(q, (len(times), 1))
    goals = [one for one in account.restraints if not (one.driven or always_of(one.limit))]
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
    if isinstance(mechanism, ClosedMechanism):
        return _closed(mechanism, path, times, stay)
    held = np.zeros(len(times), dtype=bool)
    held[[0, *stops]] = True
    around = _pulled(account, path, times, units, held)
    return around if np.isfinite(around).all() else path


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
        if not np.abs(step).max(initial=0.0) > NEAR:
            break
        turn = np.abs(step[units == 1.0]).max(initial=LONGEST)
        q = account.mechanism.retract(q, units * step * LONGEST / turn)
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


def _pulled(account: Account, path: np.ndarray, times: np.ndarray, units: np.ndarray, held: np.ndarray) -> np.ndarray:
    """The path as a band that limits push away, by Gauss and Newton for the squares of its parts and of violations.
    held: nodes that stay. A small bend at first shows to which side, where the way is as long on both."""
    from scipy.sparse import bsr_matrix, diags, eye, kron
    from scipy.sparse.linalg import spsolve

    limits = [one for one in account.restraints if always_of(one.limit) and not one.driven]
    if len(path) < 3 or held.all() or not any(_beyond(account, one, path, times)[0].any() for one in limits):
        return path
    mechanism, nv, nodes = account.mechanism, len(units), len(path)
    bend = np.sin(np.pi * np.linspace(0, 1, nodes)) * ~held
    path = mechanism.retract(path, BEND * np.outer(bend, np.random.default_rng(0).normal(size=nv) * units))
    free = np.flatnonzero(np.repeat(~held, nv))
    bends = kron(diags([1.0, -2.0, 1.0], [0, 1, 2], shape=(nodes - 2, nodes)), nodes * eye(nv)).tocsr()
    for stiffness in STIFFER:
        for _ in range(STEPS):
            parts = nodes * np.diff(mechanism.difference(path[1:], path[:-1]), axis=0) / units
            H, pull = bends.T @ bends, bends.T @ parts.ravel()
            for one in limits:
                off, slopes = _beyond(account, one, path, times)
                slopes = slopes * units
                weight = stiffness / max(float((slopes**2).sum(axis=2).max()), LEAST)
                slopes = slopes * (off != 0.0)[..., None]
                blocks = np.zeros((nodes, nv, nv))
                np.add.at(blocks, one.nodes, weight * slopes.transpose(0, 2, 1) @ slopes)
                H = H + bsr_matrix((blocks, np.arange(nodes), np.arange(nodes + 1)))
                np.add.at(pull.reshape(nodes, nv), one.nodes, weight * np.einsum("km,kmn->kn", off, slopes))
            step = np.zeros(nodes * nv)
            step[free] = -spsolve(H.tocsc()[free][:, free], pull[free])
            largest = np.abs(step).max(initial=0.0)
            step *= min(1.0, LONGEST / max(largest, LEAST))
            path = mechanism.retract(path, step.reshape(nodes, nv) * units)
    return path


def _beyond(account: Account, one: Any, path: np.ndarray, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """By how much a path violates a limit at rest, and the derivatives of its numbers by δ."""
    nodes, nv = one.nodes, account.tree.nv
    r, slopes = one.limit.quantity.numbers(account.tree, times[nodes], path[nodes], np.zeros((len(nodes), nv)))
    return r - np.clip(r, one.low, one.high), slopes[..., :nv]
