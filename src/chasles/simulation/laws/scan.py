"""Where the laws of a system change with time: found before a run, so that no step jumps over it.

An adaptive step knows of a law what its stages see, and a push between two stages is not there for it. So each law that
reads the time is called alone, far more often than any step would, at random times (equal distances would miss what has
a period of their own); where it jumps and where it changes fast become stops of the run.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.law import Law
from chasles.simulation.laws.samples import CalledLaw, called_laws

SAMPLES, SAMPLES_IN_PYTHON = 1 << 20, 1 << 14  # shared among the compiled laws; and of each in Python
LEAST_SAMPLES = 1 << 17  # of each compiled law, however many there are
KNOWN = 64  # scans of compiled laws that are kept
SHARES = 48  # stops at equal shares of the change of a law
DENSE = 4.0  # times denser than equal distances, where steps might not see it; else they do
REST, STRETCHES = 2.0**-10, 64  # a stretch of rest, of the span, and how many are looked at
EVEN = 16  # stops at about equal distances if a law depends on time
JUMPS, JUMPS_IN_PYTHON = 1024, 64  # largest changes that are looked at closely
TURNS = 4096  # samples of a law to see where its numbers turn back
ROUNDING = 64 * np.finfo(float).eps  # changes below, of the largest value, are none
SEED = 17

Found = tuple[list[float], list[float]] | None  # stops and jumps of a law; None if it does not depend on time


@dataclass(frozen=True)
class Scan:
    """What was found: times to begin anew at, those of them at which a law jumps (the first number after the jump), the
    names of the forces and constraints whose laws depend on time, and the times at which laws jump or say they do."""

    breaks: np.ndarray
    jumps: np.ndarray
    timed: tuple[str, ...]
    abrupt: np.ndarray


def scan(dynamics: Any, span: tuple[float, float], t: ArrayLike, states: ArrayLike) -> Scan:
    """Scan all laws over a span, with the other arguments frozen along a path of `states` at times t (or at one state).

    The same arguments give the same result, to the bit.
    """
    (start, end), path = span, np.atleast_1d(np.asarray(t, dtype=float))
    if start == end:
        return Scan(np.empty(0), np.empty(0), (), np.empty(0))
    breaks, declared, jumps, timed = list[float](), list[float](), list[float](), list[str]()
    laws = list(called_laws(dynamics, path, np.atleast_2d(np.asarray(states, dtype=float)), in_time=True))
    if not laws:
        return Scan(np.empty(0), np.empty(0), (), np.empty(0))
    compiled = sum(not called.law.in_python for called in laws)
    for called in laws:
        declared += called.law.declared(called.parameters)
        count = SAMPLES_IN_PYTHON if called.law.in_python else max(SAMPLES // compiled, LEAST_SAMPLES)
        with_jumps = _known_scan(called, start, end, count)
        if with_jumps is not None:
            timed.append(called.name)
            breaks += with_jumps[0]
            jumps += with_jumps[1]
    if timed:
        where = (np.arange(1, EVEN) + np.random.default_rng(SEED).uniform(-0.3, 0.3, EVEN - 1)) / EVEN
        breaks += list(start + (end - start) * where)
    abrupt = np.unique([*declared, *jumps])
    return Scan(np.unique([*breaks, *abrupt]), np.unique(jumps), tuple(timed), abrupt)


def turns(dynamics: Any, span: tuple[float, float], t: ArrayLike, states: ArrayLike) -> np.ndarray:
    """Times at which numbers of laws turn from rising to falling, or back: what holds a coordinate under such a law
    comes nearest to its bounds there, and a step that ends there sees it."""
    found, path = list[float](), np.atleast_1d(np.asarray(t, dtype=float))
    times = np.linspace(*span, TURNS)
    middles = 0.5 * (times[1:] + times[:-1])
    for called in called_laws(dynamics, path, np.atleast_2d(np.asarray(states, dtype=float)), in_time=True):
        values = called.values(times, np.zeros(TURNS, dtype=int))
        if called.failed() or not np.isfinite(values).all():
            continue
        slopes = np.diff(values, axis=0)
        slopes[np.abs(slopes) <= ROUNDING * np.abs(values).max(axis=0)] = 0.0
        for i, k in zip(*np.nonzero(slopes[1:] * slopes[:-1] < 0.0), strict=True):
            before, after = slopes[i, k], slopes[i + 1, k]
            found.append(middles[i] + (middles[i + 1] - middles[i]) * before / (before - after))
    return np.unique(found)


_KNOWN: OrderedDict[tuple[Any, ...], tuple[Law, Found]] = (
    OrderedDict()
)  # with the law, so that its address stays its own
_LOCK = threading.Lock()


def _known_scan(called: CalledLaw, start: float, end: float, count: int) -> Found:
    """`_scan_law`, kept for compiled laws: with the same parameters and arguments they do the same again."""
    if called.law.in_python:
        called.remembers(start, end)  # before the scan fills its memory, if it has one; a certificate asks for it
        return _scan_law(called, start, end, count)
    arrays = (called.parameters, called.path, called.x, called.y)
    key = (called.law.address, start, end, count, called.size, *(array.tobytes() for array in arrays))
    with _LOCK:
        if key in _KNOWN:
            _KNOWN.move_to_end(key)
            return _KNOWN[key][1]
    found = _scan_law(called, start, end, count)
    with _LOCK:
        _KNOWN[key] = called.law, found
        while len(_KNOWN) > KNOWN:
            _KNOWN.popitem(last=False)
    return found


def _scan_law(called: CalledLaw, start: float, end: float, count: int) -> Found:
    """Stops and jumps of a law; None if it does not depend on time.

    First near the path and not on it: a force k(t) q shows nothing at q = 0. Only if that gives no numbers, on it.
    """
    times, random = _times(start, end, count), np.random.default_rng(SEED + 1)
    for far in (1e-2, 0.0):
        near = called.beside(far, random)
        changes = _changes(near, times)
        if changes is not None:
            if not changes.any():
                continue
            return _stops(times, changes, abs(end - start)), _jumps(near, times, changes)
    return None


@lru_cache(maxsize=1)
def _times(start: float, end: float, count: int) -> np.ndarray:
    """One random time in each of so many equal parts of a span."""
    times = start + (end - start) * ((np.arange(count) + np.random.default_rng(SEED).random(count)) / count)
    times.flags.writeable = False
    return times


def _changes(called: CalledLaw, times: np.ndarray) -> np.ndarray | None:
    """How much a law changes from each time to the next, each of its numbers relative to all its changes; zeros if
    nothing does, None if it gives no numbers there."""
    found = called.changes(times, False, ROUNDING * np.sqrt(len(times)))
    if called.failed() or not np.isfinite(found.total).all():
        return None
    changes, total, largest = found.change, found.total, found.largest
    moving = total > ROUNDING * largest * np.sqrt(len(times))
    if not moving.any():
        return np.zeros_like(changes)
    changes[changes < ROUNDING * (largest[moving] / total[moving]).max()] = 0.0
    return changes


def _stops(times: np.ndarray, changes: np.ndarray, span: float) -> list[float]:
    """Where the law changes much faster than evenly: at equal shares of its changes. And for each stretch of change
    between stretches of rest, its begin, its end and three times within."""
    moving = np.flatnonzero(changes)
    before, after, some = times[moving], times[moving + 1], changes[moving]
    roots = np.sqrt(np.sqrt(some))  # so that weak changes count beside strong ones
    found = list[float]()
    for measure in (roots, some, some * some):  # and short ones on top of slow ones
        total = np.cumsum(measure)
        shares = (np.arange(SHARES)[:, None] + (0.25, 0.5, 0.75)) / SHARES * total[-1]
        at = np.minimum(np.searchsorted(total, shares), len(total) - 1)
        dense = np.abs(after[at[:, 2]] - before[at[:, 0]]) < 0.5 * span / (DENSE * SHARES)
        alone = dense & (at[:, 2] - at[:, 0] <= 2)  # the change is that of single samples: from one to the next
        found += [*after[at[dense, 1]], *before[at[alone, 1]]]
    rests = np.flatnonzero(np.abs(before[1:] - after[:-1]) > REST * span)
    if len(rests) < STRETCHES:
        edges = [0, *(rests + 1), len(moving)]
        for first, last in itertools.pairwise(edges):
            total = np.cumsum(roots[first:last])
            within = np.minimum(np.searchsorted(total, np.array((0.25, 0.5, 0.75)) * total[-1]), len(total) - 1)
            found += [before[first], *after[first + within], after[last - 1]]
    return found


def _jumps(called: CalledLaw, times: np.ndarray, changes: np.ndarray) -> list[float]:
    """Times at which the law jumps, the first number after each: looked for where it changes much more than beside."""
    around = np.concatenate([[0.0, 0.0], changes, [0.0, 0.0]])
    left, right = np.maximum(around[:-4], around[1:-3]), np.maximum(around[3:-1], around[4:])
    top = np.flatnonzero(changes > 4 * np.minimum(left, right))
    most = JUMPS_IN_PYTHON if called.law.in_python else JUMPS
    if len(top) > most:
        top = np.sort(top[np.argsort(changes[top])[-most:]])
    return list(called.jumps(times[top], times[top + 1])[1]) if len(top) else []
