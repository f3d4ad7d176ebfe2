"""Where forces change: times at which the companion begins anew, so that what the run stepped over is not stepped over
twice.

Laws are called at random times, far denser than any steps: with their arguments frozen, so that only time changes, and
along the path, which finds thin regions in space. Accelerations along the path tell of springs and stops.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from chasles.certificate.budget import Budget
from chasles.certificate.checkpoints import told_stops
from chasles.integrate.table import KIND, POINT_AT, R_N
from chasles.simulation.laws.calls import fields_at
from chasles.simulation.laws.samples import CalledLaw, Changes, called_laws, may_depend_on_time
from chasles.simulation.run_task import Task

CONSTANT = 1e-9  # change of a law in all, of its size, that is none
POINTS = 320  # break points, shared among all that changes
POINTS_SHARE, LEAST_POINTS = 0.15, 32  # of the evaluations that there are, and never fewer
STEEPEST = 16  # and the largest changes, with the points before them
ALONG = 1 << 17  # times along the path at least, of compiled laws
ACCELERATIONS = 1 << 12
NEAR, BESIDE = 1e-11, 8  # of the span, or rounding errors of times: what is nearer to a jump is at the jump


@dataclass(frozen=True)
class Features:
    """Break points; which laws depend on time, and jump; how many times each law was called."""

    stops: np.ndarray
    in_time: tuple[str, ...]
    jumps: dict[str, tuple[float, ...]]
    steepest: dict[str, tuple[float, float]]  # of laws that depend on time: when they change most, and within how long
    called: int  # times at which the laws were called, the least of all
    memory: tuple[str, ...] = ()  # laws that are no functions of their arguments
    pairs: tuple[float, ...] = ()  # the numbers on both sides of each jump
    changes: tuple[Changes, ...] = ()


def features(
    task: Task,
    t: np.ndarray,
    y: np.ndarray,
    u: np.ndarray | None,
    rng: np.random.Generator,
    budget: Budget,
    before: Features | None = None,
) -> Features:
    """What the forces do on a path: states y at times t. With those found `before` on another path, there are twice
    the break points, and none of the earlier ones is lost."""
    in_time, jumps, steepest, pairs, called = list[str](), {}, {}, list[float](), 0
    changes = [] if before is None else list(before.changes)
    laws = list(called_laws(task.dynamics, t, y))
    memory = tuple(law.name for law in laws if law.remembers(t[0], t[-1]))
    timed = Counter(law.law.in_python for law in laws if may_depend_on_time(law.law))
    of_all = Counter(law.law.in_python for law in laws)
    along = max(ALONG, budget.calls(of_all[False], python=False))
    for law in laws:
        python, in_both = law.law.in_python, may_depend_on_time(law.law)
        n = budget.calls((timed if in_both else of_all)[python], python) if in_both or python else along
        times = t[0] + (t[-1] - t[0]) * (np.arange(n) + rng.random(n)) / n
        if before is None and in_both:
            called = min(called or n, n)
            if not _constant(found := law.changes(times, False, CONSTANT)):
                in_time.append(law.name)
                changes.append(found)
                steepest[law.name] = float(times[found.top[0]]), _width(found)
                if between := _jumps(law, found):
                    pairs += [x for pair in between for x in pair]
                    jumps[law.name] = tuple(pair[0] for pair in between)
        if law.x.any() or law.y.any():
            some = times[:: max(1, len(times) // min(along, n // 4 if python and in_both else n))]
            found = law.changes(np.ascontiguousarray(some), True, CONSTANT)
            changes += [] if _constant(found) else [found]
    if task.dynamics.set_valued is None:  # else they are no functions of the state
        changes += accelerations(task, t, y, u, rng, min(ACCELERATIONS, budget.total // 16))
    for law in laws:
        law.failed()  # between the points of a run, where it has not been
    points = budget.most(POINTS, POINTS_SHARE, LEAST_POINTS)
    share = max(4, points * (1 if before is None else 2) // max(1, len(changes)))
    stops = np.unique(np.concatenate([np.empty(0), *(_shared(found, share) for found in changes)]))
    span = abs(t[-1] - t[0])
    stops = stops[np.concatenate([[True], np.diff(stops) > 1e-12 * span])[: len(stops)]]
    known, timely = told(task, laws, t, rng, points)
    exact = np.union1d(pairs if before is None else before.pairs, known)
    for name, at in timely.items():
        in_time += [name] if name not in in_time else []
        if len(at := np.setdiff1d(at, told_stops(task))):
            jumps[name] = tuple(np.union1d(at, jumps.get(name, ())).tolist())
    if before is not None:
        stops = np.concatenate([stops, before.stops])
        return replace(before, stops=clear_of(stops, exact, span), changes=tuple(changes))
    pairs_found = tuple(pairs)
    stops = clear_of(stops, exact, span)
    return Features(stops, tuple(in_time), jumps, steepest, called, memory, pairs_found, tuple(changes))


def _constant(found: Changes) -> bool:
    """Whether nothing changes, but for rounding."""
    return not len(found.top) or bool((found.total <= CONSTANT * found.largest).all())


def _jumps(law: CalledLaw, found: Changes) -> list[tuple[float, float]]:
    """The neighboring numbers between which a law jumps in time, among its largest changes."""
    top = found.top[found.change[found.top] > 1e-3 * found.change[found.top[0]]]
    a, b = law.jumps(found.times[top], found.times[top + 1])
    return list(zip(a.tolist(), b.tolist(), strict=True))


def told(
    task: Task, laws: Sequence[CalledLaw], t: np.ndarray, rng: np.random.Generator, most: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times at which forces change as the run or their laws say, and of each law those at which it jumps: what is
    shorter than the distance of all times that are looked at is known by that alone. All at which a law jumps, or those
    of the jumps themselves if what was told is off by rounding; and at most so many of the others."""
    declared = [inside(np.array(law.law.declared(law.parameters)), t) for law in laws]
    times = np.unique(np.concatenate([inside(told_stops(task), t), *declared]))
    timely = {law.name: np.empty(0) for law, own in zip(laws, declared, strict=True) if len(own)}
    exact, off, jumps = np.zeros(len(times), dtype=bool), np.zeros(len(times), dtype=bool), [np.empty(0)]
    near = max(NEAR * abs(t[-1] - t[0]), BESIDE * np.spacing(max(abs(t[0]), abs(t[-1]))))
    for law in laws:
        if len(times) and may_depend_on_time(law.law):
            at = law.differs(np.nextafter(times, -np.inf), np.nextafter(times, np.inf), CONSTANT)
            beside = law.differs(times - near, times + near, CONSTANT) & ~at
            jumps += law.jumps(times[beside] - near, times[beside] + near)
            exact, off = exact | at, off | beside
            if (at | beside).any():
                timely[law.name] = times[at | beside]
    others = times[~exact & ~off]
    if len(others) > most:
        others = rng.choice(others, most, replace=False)
    return np.unique(np.concatenate([times[exact], others, *jumps])), timely


def inside(times: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Times between the first and the last of t."""
    return times[(times > min(t[0], t[-1])) & (times < max(t[0], t[-1]))]


def clear_of(stops: np.ndarray, exact: np.ndarray, span: float) -> np.ndarray:
    """Break points, and exact ones with none of the others beside them."""
    if not len(exact):
        return stops
    after = np.searchsorted(exact, stops)
    apart = [np.abs(stops - exact[np.clip(k, 0, len(exact) - 1)]) for k in (after - 1, after)]
    return np.concatenate([stops[np.minimum(*apart) > NEAR * span], exact])


def _shared(found: Changes, share: int) -> np.ndarray:
    """Times at equal shares of the change, and those of the largest changes."""
    with np.errstate(invalid="ignore"):
        total = np.cumsum(found.change)
    if not (len(total) and np.isfinite(total[-1]) and total[-1] > 0):
        return np.empty(0)
    at = np.searchsorted(total, (np.arange(share) + 0.5) / share * total[-1]) + 1
    top = found.top[: min(STEEPEST, share)]  # of many laws few each, or no companion could be afforded
    return found.times[np.clip(np.concatenate([at, top + 1, top]), 0, len(found.times) - 1)]


def _width(found: Changes) -> float:
    """The time around the largest change within which half of all change lies."""
    total, i, k = np.cumsum(found.change), int(found.top[0]), 1
    last = len(total) - 1
    while k < last and total[min(i + k, last)] - total[max(i - k, 0)] < 0.5 * total[-1]:
        k *= 2
    return float(abs(found.times[min(i + k, last)] - found.times[max(i - k, 0)]))


def accelerations(
    task: Task, t: np.ndarray, y: np.ndarray, u: np.ndarray | None, rng: np.random.Generator, n: int
) -> list[Changes]:
    """Changes of the accelerations along the path at n times: springs, stops, thin regions."""
    dynamics = task.dynamics
    if len(t) < 2 or not n:
        return []
    times = t[0] + (t[-1] - t[0]) * (np.arange(n) + rng.random(n)) / n
    sign = 1.0 if t[-1] >= t[0] else -1.0
    i = np.clip(np.searchsorted(sign * t, sign * times, "right") - 1, 0, len(t) - 2)
    theta = ((times - t[i]) / (t[i + 1] - t[i]))[:, None]
    states = (1 - theta) * y[i] + theta * y[i + 1]
    for first in dynamics.space.table[dynamics.space.table[:, KIND] != R_N, POINT_AT]:  # quaternions have length one
        states[:, first : first + 4] /= np.linalg.norm(states[:, first : first + 4], axis=1, keepdims=True)
    problem, rates = dynamics.problem(u), np.empty((n, dynamics.space.dimension))
    parameters = np.array(problem.parameters, dtype=float).reshape(-1)
    try:
        with dynamics.calling():
            fields_at(problem.field.address, times, states, parameters, rates)
    except Exception:  # of a law in Python, which need not know states that are none of the run
        return []
    if not np.isfinite(rates).all():  # a mechanism with loops need not be able to be between two states
        return []
    change = np.abs(np.diff(rates, axis=0))
    whole = change.sum(axis=0)
    total = np.divide(change, whole, out=np.zeros_like(change), where=whole > 0).sum(axis=1)
    return [Changes(times, total, np.argsort(-total)[:STEEPEST], whole, np.abs(rates).max(axis=0))]
