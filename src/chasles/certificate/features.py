"""Where forces change: times at which the companion begins anew, so that what the run stepped over is not stepped over
twice.

Laws are called at random times, far denser than any steps: with their arguments frozen, so that only time changes, and
along the path, which finds thin regions in space. Accelerations along the path tell of springs and stops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.certificate.sampling import Changes, Sampler
from chasles.model.body import GROUND
from chasles.model.constraint import CustomConstraint, Drive
from chasles.model.force import JointForce, Wrench
from chasles.model.law import Law
from chasles.simulation.dynamics import TreeDynamics
from chasles.simulation.task import Task

POINTS = 320  # break points, shared among all that changes
STEEPEST = 16  # and the largest changes, with the points before them
ALONG = 1 << 17  # times along the path
ACCELERATIONS = 1 << 12


@dataclass(frozen=True)
class Features:
    """Break points; which laws depend on time, and jump; how many times each law was called."""

    stops: np.ndarray
    in_time: tuple[str, ...]
    jumps: dict[str, tuple[float, ...]]
    steepest: dict[str, tuple[float, float]]  # of laws that depend on time: when they change most, and within how long
    called: int  # times at which the laws were called, the least of all
    pairs: tuple[float, ...] = ()  # the numbers on both sides of each jump
    changes: tuple[Changes, ...] = ()


def features(
    task: Task,
    t: np.ndarray,
    y: np.ndarray,
    u: np.ndarray | None,
    rng: np.random.Generator,
    before: Features | None = None,
) -> Features:
    """What the forces do on a path: states y at times t. With those found `before` on another path, there are twice
    the break points, and none of the earlier ones is lost."""
    in_time, jumps, steepest, pairs, called = list[str](), {}, {}, list[float](), 0
    changes = [] if before is None else list(before.changes)
    for name, sampler in samplers(task, t, y):
        n = sampler.count
        times = t[0] + (t[-1] - t[0]) * (np.arange(n) + rng.random(n)) / n
        called = min(called or n, n)
        if before is None and not (found := sampler.changes(times, along=False)).constant:
            in_time.append(name)
            changes.append(found)
            steepest[name] = float(times[found.top[0]]), _width(found)
            if between := sampler.jumps(found):
                pairs += [x for pair in between for x in pair]
                jumps[name] = tuple(pair[0] for pair in between)
        if sampler.x.any() or sampler.y.any():
            found = sampler.changes(np.ascontiguousarray(times[:: max(1, n // ALONG)]), along=True)
            changes += [] if found.constant else [found]
    changes += accelerations(task, t, y, u, rng)
    share = max(8, POINTS * (1 if before is None else 2) // max(1, len(changes)))
    stops = np.unique(np.concatenate([np.empty(0), *(_shared(found, share) for found in changes)]))
    span = abs(t[-1] - t[0])
    stops = stops[np.concatenate([[True], np.diff(stops) > 1e-12 * span])[: len(stops)]]
    if before is not None:
        stops = np.concatenate([stops, before.stops])
        return replace(before, stops=clear_of(stops, before.pairs, span), changes=tuple(changes))
    pairs_found = tuple(pairs)
    stops = clear_of(stops, pairs_found, span)
    return Features(stops, tuple(in_time), jumps, steepest, called, pairs_found, tuple(changes))


def clear_of(stops: np.ndarray, pairs: tuple[float, ...], span: float) -> np.ndarray:
    """Break points, and jumps with nothing else beside them."""
    for x in pairs:
        stops = stops[np.abs(stops - x) > 1e-11 * span]
    return np.concatenate([stops, pairs])


def _shared(found: Changes, share: int) -> np.ndarray:
    """Times at equal shares of the change, and those of the largest changes."""
    with np.errstate(invalid="ignore"):
        total = np.cumsum(found.change)
    if not (np.isfinite(total[-1]) and total[-1] > 0):
        return np.empty(0)
    at = np.searchsorted(total, (np.arange(share) + 0.5) / share * total[-1]) + 1
    top = found.top[:STEEPEST]
    return found.times[np.clip(np.concatenate([at, top + 1, top]), 0, len(found.times) - 1)]


def _width(found: Changes) -> float:
    """The time around the largest change within which half of all change lies."""
    total, i, k = np.cumsum(found.change), int(found.top[0]), 1
    last = len(total) - 1
    while k < last and total[min(i + k, last)] - total[max(i - k, 0)] < 0.5 * total[-1]:
        k *= 2
    return float(abs(found.times[min(i + k, last)] - found.times[max(i - k, 0)]))


def samplers(task: Task, t: np.ndarray, y: np.ndarray) -> list[tuple[str, Sampler]]:
    """The laws of a system with what they are given on a path."""
    dynamics = task.dynamics
    system, found = dynamics.mechanism.system, []
    for item in (*system.forces, *system.constraints):
        law = item.law if isinstance(item, CustomConstraint) else getattr(item, "value", None)
        if isinstance(law, Law):
            x, z, size = _arguments(item, dynamics, y)
            found.append((item.name, Sampler(law, item.parameters, t, x, z, size)))
    return found


def _arguments(item: Any, dynamics: Any, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, int]:
    n = len(y)
    if isinstance(item, Drive):
        return np.zeros((n, 1)), np.zeros((n, 1)), 3
    if isinstance(item, JointForce):
        q, v = dynamics.coordinates(y)
        tables = dynamics.mechanism.tree if isinstance(dynamics, TreeDynamics) else dynamics.mechanism.joint_tables
        q, v = q[:, tables.coordinates[item.joint]], v[:, tables.velocities[item.joint]]
        return q, v, v.shape[1]
    bodies = (item.body,) if isinstance(item, Wrench) else item.bodies
    place = {name: k for k, name in enumerate(dynamics.mechanism.bodies)}
    q, v, _ = dynamics.split(y)
    poses, twists = dynamics.mechanism.poses(q), dynamics.mechanism.twists(q, v)
    still = np.array([1.0, *[0.0] * 6])
    x = [np.broadcast_to(still, (n, 7)) if name == GROUND else poses[:, place[name]] for name in bodies]
    z = [np.zeros((n, 6)) if name == GROUND else twists[:, place[name]] for name in bodies]
    return np.concatenate(x, axis=1), np.concatenate(z, axis=1), 6 if isinstance(item, Wrench) else 45


def accelerations(
    task: Task, t: np.ndarray, y: np.ndarray, u: np.ndarray | None, rng: np.random.Generator
) -> list[Changes]:
    """Changes of the accelerations along the path, in joint coordinates: springs, stops, thin regions."""
    dynamics = task.dynamics
    if not isinstance(dynamics, TreeDynamics) or not dynamics.nv or len(t) < 2:
        return []
    mechanism, n = dynamics.mechanism, ACCELERATIONS
    times = t[0] + (t[-1] - t[0]) * (np.arange(n) + rng.random(n)) / n
    sign = 1.0 if t[-1] >= t[0] else -1.0
    i = np.clip(np.searchsorted(sign * t, sign * times, "right") - 1, 0, len(t) - 2)
    theta = ((times - t[i]) / (t[i + 1] - t[i]))[:, None]
    q, v, _ = dynamics.split(y)
    here = mechanism.retract(q[i], theta * mechanism.difference(q[1:], q[:-1])[i])
    try:
        a = mechanism.accelerations_under(here, (1 - theta) * v[i] + theta * v[i + 1], 0.0 if u is None else u, times)
    except (ValueError, ArithmeticError):  # a mechanism with loops need not be able to be between two states
        return []
    if not np.isfinite(a).all():
        return []
    change = np.abs(np.diff(a, axis=0))
    whole = change.sum(axis=0)
    share = np.divide(change, whole, out=np.zeros_like(change), where=whole > 0)
    total = share.sum(axis=1)
    return [Changes(times, total, np.argsort(-total)[:STEEPEST], 1.0)]
