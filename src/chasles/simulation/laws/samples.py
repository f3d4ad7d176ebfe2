"""Laws of forces, drives and constraints called alone: at many times with their other arguments on a path, to see where
they change, and between two times, to see where they jump."""

from __future__ import annotations

import dis
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from chasles.constraint.tile_work import OUT
from chasles.integrate.solution import Solution
from chasles.kernel.undisturbed import Calling
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.cam import Cam, framed
from chasles.model.constraint import CustomConstraint, Drive
from chasles.model.expression_law import Expression
from chasles.model.force import JointForce, TwoPointForce, Wrench
from chasles.model.law import Law
from chasles.model.law_calls import law_values
from chasles.model.program import OWN_ARGUMENTS
from chasles.model.rod_parts import RodElement
from chasles.simulation.laws.calls import law_changes, weighed
from chasles.simulation.states import States

DRIVEN = 3  # numbers of a drive: the coordinate and its first two derivatives
MOST = 64  # largest changes whose places are kept
ORDERED = 32  # times at which a law is called forth and back, to see whether it has a memory
STAYS = 0.3  # of a change: what is left of it between neighboring numbers if it is a jump


class Changes(NamedTuple):
    """Times, the change from each to the next, the places of the largest ones in order; of each number the sum of its
    changes and its largest size."""

    times: np.ndarray
    change: np.ndarray
    top: np.ndarray
    total: np.ndarray
    largest: np.ndarray


@dataclass(frozen=True)
class CalledLaw:
    """A law as a force or constraint calls it: with the arguments x and y at the times of a path. `size` numbers are
    looked at of the `room` that it may write to."""

    name: str
    law: Law
    parameters: np.ndarray
    path: np.ndarray
    x: np.ndarray
    y: np.ndarray
    size: int
    room: int

    @property
    def sign(self) -> float:
        return 1.0 if self.path[-1] >= self.path[0] else -1.0

    def beside(self, far: float, random: np.random.Generator) -> CalledLaw:
        """With arguments near the path and not on it."""
        x, y = (a + far * (1 + np.abs(a)) * random.uniform(-1, 1, a.shape) for a in (self.x, self.y))
        if x.shape[1] in (7, 14):  # poses
            for k in range(0, x.shape[1], 7):
                x[:, k : k + 4] /= np.linalg.norm(x[:, k : k + 4], axis=1, keepdims=True)
        return replace(self, x=x, y=y)

    def changes(self, times: np.ndarray, along: bool, least: float) -> Changes:
        """Changes from each time to the next: along the path, or of time alone. Each number counts relative to all its
        changes, so that no unit counts more than another; those that change less than `least` of their size in all
        do not count. If one gives no numbers somewhere, all count as they are."""
        every, (before, total, largest) = np.zeros((max(len(times) - 1, 0), self.size)), np.zeros((3, self.size))
        a, b = np.zeros(self.x.shape[1]), np.zeros(self.y.shape[1])
        with Calling((), self.law.in_python):
            law_changes(
                *(self.law.address, times, self.path, self.x, self.y, self.parameters, self.sign, along),
                *(np.zeros(self.room), before, a, b, every, total, largest),
            )
        moving = total > least * largest
        weights = np.where(moving, 1 / np.where(moving, total, 1.0), 0.0)
        if not np.isfinite(total).all():
            weights = np.ones(self.size)
        change, top, best = np.zeros(len(every)), np.zeros(MOST, dtype=np.int64), np.zeros(MOST)
        weighed(every, weights, change, top, best)
        return Changes(times, change, top[np.argsort(-best)][: int((best > 0).sum())], total, largest)

    def values(self, times: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """The law at times, with the arguments of rows of the path."""
        found = np.empty((len(times), self.room))
        with Calling((), self.law.in_python):
            law_values(self.law.address, times, rows, self.x, self.y, self.parameters, found)
        return found[:, : self.size]

    def differs(self, a: np.ndarray, b: np.ndarray, least: float) -> np.ndarray:
        """Whether the law at times b is another than at times a, by more than `least` of its largest numbers: near the
        path and not on it, as a force k(t) q shows nothing at q = 0; on it where that gives no numbers."""
        rows = np.maximum(np.searchsorted(self.sign * self.path, self.sign * a, "right") - 1, 0)
        beside = self.beside(1e-2, np.random.default_rng(0))
        (before, after), (low, high) = ([law.values(times, rows) for times in (a, b)] for law in (beside, self))
        before, after = (np.where(np.isfinite(x), x, y) for x, y in ((before, low), (after, high)))
        largest = np.nan_to_num(np.maximum(np.abs(before), np.abs(after))).max(axis=0, initial=0.0)
        return ~(np.abs(after - before) <= least * largest).all(axis=1)

    def failed(self) -> bool:
        """Whether a Python law raised an error, which is forgotten here: a run that comes to such a place raises it."""
        error = self.law.take_error()
        if error is not None and not isinstance(error, Exception):  # Ctrl-C
            raise error
        return error is not None

    def remembers(self, start: float, end: float) -> bool:
        """Whether a law gave other numbers for the same arguments when it was called in another order, now or before:
        then it has a memory, or chance. A memory may be full after a first look, so what was seen is kept. Expressions
        have none."""
        if isinstance(self.law, Expression):
            return False
        times = np.linspace(start, end, ORDERED)
        rows = np.maximum(np.searchsorted(self.sign * self.path, self.sign * times, "right") - 1, 0)
        forth, back = self.values(times, rows), self.values(times[::-1].copy(), rows[::-1].copy())[::-1]
        if not self.failed() and not np.array_equal(forth, back, equal_nan=True):
            _REMEMBERING.add(self.law)
        return self.law in _REMEMBERING

    def jumps(self, a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The neighboring numbers between which the law jumps in time, by bisection of the stretches from a to b."""
        sign = self.sign
        rows = np.maximum(np.searchsorted(sign * self.path, sign * a, "right") - 1, 0)
        low, high = self.values(a, rows), self.values(b, rows)
        whole = np.abs(high - low)
        scale = np.where(whole.max(axis=0, initial=0.0) > 0, whole.max(axis=0, initial=0.0), 1.0)
        while True:
            middle = a + 0.5 * (b - a)
            open_ = (middle != a) & (middle != b)
            if not open_.any() or self.failed():
                break
            found = self.values(np.where(open_, middle, a), rows)
            left = (np.abs(found - low) / scale).sum(axis=1) < (np.abs(found - high) / scale).sum(axis=1)
            a, low = np.where(open_ & left, middle, a), np.where((open_ & left)[:, None], found, low)
            b, high = np.where(open_ & ~left, middle, b), np.where((open_ & ~left)[:, None], found, high)
        stays = (np.abs(high - low) / scale).sum(axis=1) > STAYS * (whole / scale).sum(axis=1)
        stays &= whole.max(axis=1, initial=0.0) > 0
        return a[stays], b[stays]


_REMEMBERING: weakref.WeakSet[Law] = weakref.WeakSet()


def reads_time(law: Law) -> bool:
    """Whether the function of a law reads its first argument; True if that cannot be told."""
    if isinstance(law, Expression):
        return law.in_time
    code = getattr(law.function, "__code__", None)
    if code is None or not code.co_argcount or code.co_varnames[0] == "self":
        return True
    name = code.co_varnames[0]
    return name in code.co_cellvars or any(
        step.opname.startswith(("LOAD", "STORE_FAST_LOAD")) and name in _names(step.argval)
        for step in dis.get_instructions(code)
    )


def may_depend_on_time(law: Law) -> bool:
    return reads_time(law) or bool(law.breaks)


def _names(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def items_with_laws(system: Any) -> Iterator[tuple[Any, Law]]:
    """Forces and constraints with their laws; elements of a rod that share one are there once."""
    last = None
    for item in (*system.forces, *system.constraints):
        law = item.law if isinstance(item, CustomConstraint | Cam) else getattr(item, "value", None)
        if isinstance(law, Law) and not (isinstance(item, RodElement) and law is last):
            yield item, law
        last = law


def called_laws(dynamics: Any, t: np.ndarray, states: np.ndarray, in_time: bool = False) -> Iterator[CalledLaw]:
    """The laws of a system with what they are given on a path of states at times t; `in_time`: those alone that may
    depend on time."""
    run = None
    for item, law in items_with_laws(dynamics.mechanism.system):
        if in_time and not may_depend_on_time(law):
            continue
        if run is None:
            run = States(dynamics, Solution(dynamics.space, None, t, states, True, ""))
        x, y, room = _arguments(item, run, len(t))
        if isinstance(law, Expression) and law.seen:
            x, y = _with_others(law, run, x, y)
        size = DRIVEN if isinstance(item, Drive) else room
        yield CalledLaw(item.name, law, np.array(item.parameters, dtype=float), t, x, y, size, room)


def between(run: Any, *ends: tuple[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Distance and its rate, (times, 1) each, of points on two bodies on a path."""
    places, speeds = np.zeros((2, len(run.t), 3)), np.zeros((2, len(run.t), 3))
    for k, (body, point) in enumerate(ends):
        places[k] = point
        if body != "ground":
            pose, twist = run[body].pose, run[body].twist
            R = quaternion_to_matrix(pose[:, :4])
            places[k] = np.einsum("tij,j->ti", R, point) + pose[:, 4:]
            speeds[k] = np.einsum("tij,tj->ti", R, twist[:, 3:] + np.cross(twist[:, :3], point))
    apart = places[1] - places[0]
    distance = np.linalg.norm(apart, axis=1)
    along = np.einsum("ti,ti->t", apart, speeds[1] - speeds[0])
    rate = np.divide(along, distance, out=np.zeros_like(along), where=distance > 0)
    return distance[:, None].copy(), rate[:, None].copy()


def _with_others(law: Expression, run: Any, x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The arguments of a law that sees more than its own: these, and the others behind."""
    wide = np.zeros((2, len(x), OWN_ARGUMENTS + len(law.seen)))
    wide[0, :, : x.shape[1]], wide[1, :, : y.shape[1]] = x, y
    for k, (name, which) in enumerate(law.seen):
        if isinstance(which, str):
            system = run.mechanism.system
            seen = between(run, system.place(name), system.place(which))
            wide[:, :, OWN_ARGUMENTS + k] = seen[0][:, 0], seen[1][:, 0]
        else:
            joint = run.joint(name)
            wide[:, :, OWN_ARGUMENTS + k] = joint.q[:, which], joint.v[:, which]
    return wide[0], wide[1]


def _arguments(item: Any, run: Any, n: int) -> tuple[np.ndarray, np.ndarray, int]:
    """What a law is given at the points of a path, and how many numbers it may write."""
    if isinstance(item, Wrench):
        frame = run[item.body]
        return np.ascontiguousarray(frame.pose), np.ascontiguousarray(frame.twist), 6
    if isinstance(item, JointForce):
        joint = run.mechanism.system.joint(item.joint, "scan")
        try:
            q, v = run.joint(item.joint).q, run.joint(item.joint).v
        except ValueError:  # a joint that is cut to open a loop
            q, v = np.zeros((n, joint.nq)), np.zeros((n, joint.nv))
        return np.ascontiguousarray(q), np.ascontiguousarray(v), joint.nv
    if isinstance(item, TwoPointForce):
        return *between(run, *zip(item.bodies, item.points, strict=True)), 1
    poses, twists = np.tile([1.0, 0, 0, 0, 0, 0, 0], (n, 2)), np.zeros((n, 12))
    if not isinstance(item, Drive):
        for k, body in enumerate(item.bodies):
            if body != "ground":
                poses[:, 7 * k : 7 * k + 7], twists[:, 6 * k : 6 * k + 6] = run[body].pose, run[body].twist
    return *(framed(item, poses, twists) if isinstance(item, Cam) else (poses, twists)), OUT.size
