"""Where the laws of a system change with time: found before a run, so that no step jumps over it.

An adaptive step knows of a law what its stages see, and a push between two stages is not there for it. So each law that
reads the time is called alone, far more often than any step would, at random times (equal distances would miss what has
a period of their own); where it jumps and where it changes fast become stops of the run.
"""

from __future__ import annotations

import dis
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.constraint.room import OUT
from chasles.integrate.solution import Solution
from chasles.model.constraint import CustomConstraint, Drive
from chasles.model.force import JointForce, Wrench
from chasles.model.law import Law, PythonLaw
from chasles.simulation.law_calls import vary

SAMPLES, SAMPLES_IN_PYTHON = 1 << 20, 1 << 14
SHARES = 48  # stops at equal shares of the change of a law
DENSE = 4.0  # times denser than equal distances, where steps might not see it; else they do
REST, STRETCHES = 2.0**-10, 64  # a stretch of rest, of the span, and how many are looked at
EVEN = 16  # stops at about equal distances if a law depends on time
JUMPS, JUMPS_IN_PYTHON = 1024, 64  # largest changes that are looked at closely
ROUNDING = 64 * np.finfo(float).eps  # changes below, of the largest value, are none
SEED = 17


@dataclass(frozen=True)
class Scan:
    """What was found: times to begin anew at, those of them at which a law jumps (the first number after the jump), and
    the names of the forces and constraints whose laws depend on time."""

    breaks: np.ndarray
    jumps: np.ndarray
    timed: tuple[str, ...]


@dataclass(frozen=True)
class Called:
    """A law as a force or constraint calls it: with the arguments x and y at the times of a path."""

    name: str
    law: Law
    parameters: np.ndarray
    x: np.ndarray
    y: np.ndarray
    size: int


def scan(dynamics: Any, make: type, span: tuple[float, float], t: ArrayLike, states: ArrayLike) -> Scan:
    """Scan all laws over a span, with the other arguments frozen along a path of `states` at times t (or at one state).

    `make` is the kind of run of the dynamics. The same arguments give the same result, to the bit.
    """
    (start, end), path = span, np.atleast_1d(np.asarray(t, dtype=float))
    if start == end:
        return Scan(np.empty(0), np.empty(0), ())
    breaks, jumps, timed = list[float](), list[float](), list[str]()
    for called in _laws(dynamics, make, path, np.atleast_2d(np.asarray(states, dtype=float))):
        breaks += called.law.declared(called.parameters)
        with_jumps = _scan_law(called, start, end, path)
        if with_jumps is not None:
            timed.append(called.name)
            breaks += with_jumps[0]
            jumps += with_jumps[1]
    if timed:
        where = (np.arange(1, EVEN) + np.random.default_rng(SEED).uniform(-0.3, 0.3, EVEN - 1)) / EVEN
        breaks += list(start + (end - start) * where)
    return Scan(np.unique([*breaks, *jumps]), np.unique(jumps), tuple(timed))


def reads_time(law: Law) -> bool:
    """Whether the function of a law reads its first argument; True if that cannot be told."""
    code = getattr(law.function, "__code__", None)
    if code is None or not code.co_argcount or code.co_varnames[0] == "self":
        return True
    name = code.co_varnames[0]
    return name in code.co_cellvars or any(
        step.opname.startswith(("LOAD", "STORE_FAST_LOAD")) and name in _names(step.argval)
        for step in dis.get_instructions(code)
    )


def _names(value: Any) -> tuple:
    return value if isinstance(value, tuple) else (value,)


def _laws(dynamics: Any, make: type, t: np.ndarray, states: np.ndarray) -> Iterator[Called]:
    """The laws that may depend on time."""
    system, run = dynamics.mechanism.system, None
    for item in (*system.forces, *system.constraints):
        law = item.law if isinstance(item, CustomConstraint) else getattr(item, "value", None)
        if not isinstance(law, Law) or not (reads_time(law) or law.breaks):
            continue
        if run is None:
            run = make(dynamics, Solution(dynamics.space, None, t, states, True, ""), {})
        x, y, size = _arguments(item, run, len(t))
        yield Called(item.name, law, np.array(item.parameters, dtype=float), x, y, size)


def _arguments(item: Any, run: Any, n: int) -> tuple[np.ndarray, np.ndarray, int]:
    """What a law is given at the points of a path, and how many numbers it writes."""
    if isinstance(item, Wrench):
        frame = run[item.body]
        return np.ascontiguousarray(frame.pose), np.ascontiguousarray(frame.twist()), 6
    if isinstance(item, JointForce):
        joint = run.mechanism.system.joint(item.joint, "scan")
        try:
            q, v = run.joint_states(item.joint)
        except ValueError:  # a joint that is cut to open a loop
            q, v = np.zeros((n, joint.nq)), np.zeros((n, joint.nv))
        return np.ascontiguousarray(q), np.ascontiguousarray(v), joint.nv
    poses, twists = np.tile([1.0, 0, 0, 0, 0, 0, 0], (n, 2)), np.zeros((n, 12))
    if not isinstance(item, Drive):
        for k, body in enumerate(item.bodies):
            if body != "ground":
                poses[:, 7 * k : 7 * k + 7], twists[:, 6 * k : 6 * k + 6] = run[body].pose, run[body].twist()
    return poses, twists, OUT.size


def _scan_law(called: Called, start: float, end: float, t: np.ndarray) -> tuple[list[float], list[float]] | None:
    """Stops and jumps of a law; None if it does not depend on time.

    First near the path and not on it: a force k(t) q shows nothing at q = 0. Only if that gives no numbers, on it.
    """
    random = np.random.default_rng(SEED)
    count = SAMPLES_IN_PYTHON if isinstance(called.law, PythonLaw) else SAMPLES
    times = start + (end - start) * ((np.arange(count) + random.random(count)) / count)
    sign, row = 1.0 if end >= start else -1.0, np.zeros(count, dtype=np.int64)
    if len(t) > 1:
        row = np.clip(np.searchsorted(sign * t, sign * times, "right") - 1, 0, len(t) - 1)
    for beside in (1e-2, 0.0):
        x, y = (a + beside * (1 + np.abs(a)) * random.uniform(-1, 1, a.shape) for a in (called.x, called.y))
        if x.shape[1] in (7, 14):  # poses
            for k in range(0, x.shape[1], 7):
                x[:, k : k + 4] /= np.linalg.norm(x[:, k : k + 4], axis=1, keepdims=True)
        changes = _changes(called, times, x, y, row)
        if changes is not None:
            if not changes.any():
                continue
            return _stops(times, changes, abs(end - start)), _jumps(called, times, x, y, row, changes)
    return None


def _changes(called: Called, times: np.ndarray, x: np.ndarray, y: np.ndarray, row: np.ndarray) -> np.ndarray | None:
    """How much a law changes from each time to the next, each of its numbers relative to all its changes; zeros if
    nothing does, None if it gives no numbers there."""
    changes, weights, nothing = np.zeros(len(times) - 1), np.ones(called.size), np.zeros((0, called.size))
    total, largest = np.zeros(called.size), np.zeros(called.size)
    vary(called.law.address, times, x, y, row, called.parameters, weights, 0, nothing, changes, total, largest)
    if _failed(called.law) or not np.isfinite(total).all():
        return None
    moving = total > ROUNDING * largest * np.sqrt(len(times))
    if not moving.any():
        return np.zeros_like(changes)
    if called.size == 1:
        changes /= total
    else:
        weights = np.where(moving, 1 / np.where(moving, total, 1.0), 0.0)
        again = (np.zeros(called.size), np.zeros(called.size))
        vary(called.law.address, times, x, y, row, called.parameters, weights, 0, nothing, changes, *again)
    changes[changes < ROUNDING * (largest[moving] / total[moving]).max()] = 0.0
    return changes


def _failed(law: Law) -> bool:
    """Whether a Python law raised an error, which is forgotten here: a run that comes to such a place raises it."""
    if not isinstance(law, PythonLaw) or law.error is None:
        return False
    error, law.error = law.error, None
    if not isinstance(error, Exception):  # Ctrl-C
        raise error
    return True


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


def _jumps(called: Called, times: np.ndarray, x: np.ndarray, y: np.ndarray, row: np.ndarray, changes: np.ndarray):
    """Times at which the law jumps: by bisection, the first number after each jump."""
    around = np.concatenate([[0.0, 0.0], changes, [0.0, 0.0]])
    left, right = np.maximum(around[:-4], around[1:-3]), np.maximum(around[3:-1], around[4:])
    top = np.flatnonzero(changes > 4 * np.minimum(left, right))
    most = JUMPS_IN_PYTHON if isinstance(called.law, PythonLaw) else JUMPS
    if len(top) > most:
        top = np.sort(top[np.argsort(changes[top])[-most:]])

    def values(when: np.ndarray) -> np.ndarray:
        result, size = np.empty((len(when), called.size)), called.size
        scratch = np.zeros(max(len(when) - 1, 1)), np.zeros(size), np.zeros(size)
        vary(
            *(called.law.address, when, x, y, np.ascontiguousarray(row[top]), called.parameters, np.ones(size)),
            *(0, result, *scratch),
        )
        return result

    if not len(top):
        return []
    a, b = times[top], times[top + 1]
    low, high = values(a), values(b)
    whole = np.abs(high - low)
    scale = np.where(whole.max(axis=0) > 0, whole.max(axis=0), 1.0)
    while True:
        middle = a + 0.5 * (b - a)
        open_ = (middle != a) & (middle != b)
        if not open_.any() or (called.law is not None and _failed(called.law)):
            break
        found = values(np.where(open_, middle, a))
        left = (np.abs(found - low) / scale).sum(axis=1) < (np.abs(found - high) / scale).sum(axis=1)
        a, low = np.where(open_ & left, middle, a), np.where((open_ & left)[:, None], found, low)
        b, high = np.where(open_ & ~left, middle, b), np.where((open_ & ~left)[:, None], found, high)
    stays = (np.abs(high - low) / scale).sum(axis=1) > 0.3 * (whole / scale).sum(axis=1)
    return list(b[stays & (whole.max(axis=1) > 0)])
