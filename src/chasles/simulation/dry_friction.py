"""Dry friction that sticks: joints with `friction` and friction_speed = 0, in joint coordinates.

Each such coordinate slips or sticks. Slipping, it feels ∓F against its velocity. Sticking, it is locked: an infinite
rotor inertia in the recursion makes its acceleration an exact zero, so it stays where it is to the last bit. What
friction gives then is what holds it, f with |f| <= F_static. At rest (v = 0) this is decided by the accelerations
a = a0 + W f, where a0 are those without friction and W = E^T M^-1 E those of unit forces: the f that minimizes
f^T W f / 2 + a0^T f within the bounds is Coulomb's law for all coordinates at once (Gauss's principle), also where
loops make W singular; then f is not unique and a is.

A run goes from transition to transition: a velocity that comes to zero, or a holding force that reaches its bound. Both
are located as events, and steps begin anew there.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import linprog

from chasles.integrate.event import Event
from chasles.integrate.solution import Solution
from chasles.model.joint import Joint

AT_BOUND = 1e-9  # a holding force is at its bound if it is so near, relative
SINGULAR = 1e-11  # of the largest: accelerations that forces of friction cannot make
SWEEPS = 10_000
STALLED = 200  # transitions without any time between them that end a run
COUNTED = ("steps", "rejections", "evaluations", "exponentials", "commutators", "seconds")
NO_CURVE = "accelerations jump where friction sticks and slips; the saved times are run.t: save more of them"


@dataclass(frozen=True)
class DryFriction:
    """The coordinates with friction that sticks: their velocities' places, and the two forces of each [N or N m]."""

    names: tuple[str, ...]
    columns: np.ndarray
    slipping: np.ndarray
    sticking: np.ndarray

    @classmethod
    def of(cls, joints: Sequence[Joint], velocities: dict[str, slice]) -> DryFriction | None:
        """That of a mechanism; None if no joint sticks."""
        found = [
            (joint.name, velocities[joint.name].start + k, joint.friction[k], joint.holding_friction[k])
            for joint in joints
            if joint.sticks and joint.name in velocities
            for k in range(joint.nv)
            if joint.holding_friction[k]
        ]
        if not found:
            return None
        names, columns, slipping, sticking = zip(*found, strict=True)
        return cls(names, np.array(columns), np.array(slipping), np.array(sticking))

    # ------------------------------------------------------------ one state

    def _responses(
        self, mechanism: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float, at: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations of the coordinates `at` (among these) under u, and what a unit of each's own bound adds."""
        columns = self.columns[at]
        trials = np.tile(u, (len(at) + 1, 1))
        trials[np.arange(len(at)) + 1, columns] += self.sticking[at]
        a = mechanism.accelerations_under(np.tile(q, (len(trials), 1)), np.tile(v, (len(trials), 1)), trials, t)
        return a[0, columns], (a[1:, columns] - a[0, columns]).T

    def modes(
        self, mechanism: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float, breaking: bool = False
    ) -> tuple[np.ndarray, np.ndarray]:
        """Whether each slips, by its sign, or sticks (0), and the force of friction on it. `breaking`: those at rest
        whose force is at its bound break away."""
        modes = np.sign(v[self.columns])
        force = -modes * self.slipping
        rest = np.flatnonzero(modes == 0)
        while len(rest):
            under = u.copy()
            under[self.columns] += force
            a, W = self._responses(mechanism, q, v, under, t, rest)
            share = _coulomb(a, W, self.sticking[rest])
            a_then = a + W @ share
            at_bound = np.abs(share) >= 1.0 - AT_BOUND
            size = np.abs(a).max() + np.abs(W).sum(axis=1).max()
            leaving = at_bound & (np.full(len(rest), breaking) | (-np.sign(share) * a_then > AT_BOUND * size))
            if not leaving.any():
                force[rest] = share * self.sticking[rest]
                break
            gone = rest[leaving]
            modes[gone] = -np.sign(share[leaving])
            force[gone] = -modes[gone] * self.slipping[gone]
            rest = rest[~leaving]
        return modes, force

    def forces(self, mechanism: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: np.ndarray) -> np.ndarray:
        """The forces of friction along all velocities (..., nv), at states under generalized forces u."""
        found = np.zeros(v.shape)
        rows = [np.broadcast_to(x, (*v.shape[:-1], x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v, u)]
        times = np.broadcast_to(t, v.shape[:-1]).ravel()
        for k, (at, speed, under) in enumerate(zip(*rows, strict=True)):
            force = self.modes(mechanism, at, speed, np.array(under), float(times[k]))[1]
            found.reshape(-1, v.shape[-1])[k, self.columns] = force
        return found

    # ------------------------------------------------------------ a run

    def solve(
        self, dynamics: Any, method: Any, span: tuple[float, float], y0: np.ndarray, u: np.ndarray | None, carry: Any,
        save: Any = "all", events: Sequence[Event] = (), max_evaluations: int | None = None, **more: Any,
    ) -> Solution:  # fmt: skip
        """The motion, from transition to transition; `carry(dynamics, method, span, y0, u, **more)` does one piece."""
        (time, end), state = span, np.array(y0)
        if end < time:
            raise ValueError("simulate: friction that sticks forgets where it came from; run it forwards in time")
        given = np.zeros(dynamics.nv) if u is None else np.asarray(u, dtype=float)
        asked = None if isinstance(save, str | int | np.integer) else np.asarray(save, dtype=float)
        pieces, breaking, stalled = list[Solution](), False, 0
        while True:
            q, v = dynamics.coordinates(state)
            with dynamics.calling():
                modes, force = self.modes(dynamics.mechanism, q, v, given, time, breaking)
            stuck, under = np.flatnonzero(modes == 0), given.copy()
            under[self.columns] += np.where(modes == 0, 0.0, force)
            locked = dynamics.locked(tuple(self.columns[stuck].tolist()), q, time)
            watched = self._watched(dynamics, modes, stuck, under, time)
            wanted = save if asked is None else np.append(asked[(asked >= time) & (asked < end)], end)
            left = None if max_evaluations is None else max(max_evaluations - sum(p.evaluations for p in pieces), 1)
            more |= {"save": wanted, "events": [*events, *watched], "max_evaluations": left}
            piece = carry(locked, method, (time, end), state, under, **more)
            ours = [found for found in piece.events if isinstance(found.event, _Transition)]
            others = [found for found in piece.events if not isinstance(found.event, _Transition)]
            pieces.append(replace(piece, events=others))
            if not ours or not piece.success or any(found.event.terminal for found in others):
                return _joined(pieces, save)
            state = np.array(ours[-1].goes_on_from)
            state[[dynamics.nq + self.columns[found.event.k] for found in ours if found.event.k >= 0]] = 0.0
            breaking = any(found.event.k < 0 for found in ours)
            piece.y[-1] = state  # what came to rest has no velocity, not that of a rounding beyond
            stalled = stalled + 1 if ours[-1].t - time <= 64 * np.spacing(abs(ours[-1].t)) else 0
            if stalled > STALLED:
                names = ", ".join(map(repr, dict.fromkeys(self.names)))
                raise ArithmeticError(f"simulate: friction of {names} changes without end at t = {time:.8g} s")
            time = ours[-1].t

    def _watched(self, dynamics: Any, modes: np.ndarray, stuck: np.ndarray, u: np.ndarray, start: float) -> list[Event]:
        """Slipping velocities that come to zero, and the holding force that first reaches its bound."""
        nq, found = dynamics.nq, list[Event]()
        for k in np.flatnonzero(modes):
            function = partial(_slip, int(nq + self.columns[k]), float(modes[k]), start)
            found.append(_Transition(function, -1, True, f"{self.names[k]} comes to rest", int(k)))
        if len(stuck):

            def reserve(t: float, y: np.ndarray, p: np.ndarray) -> float:
                q, v = y[:nq], y[nq : nq + dynamics.nv].copy()
                v[self.columns[stuck]] = 0.0
                return 1.0 - _least_share(*self._responses(dynamics.mechanism, q, v, u, t, stuck))

            found.append(_Transition(reserve, -1, True, "friction breaks away", -1))
        return found


def refuse_sticking(function: str, system: Any) -> None:
    """ValueError for what needs forces that are functions of the state."""
    for joint in system.joints:
        if joint.sticks:
            raise ValueError(
                f"{function}: joint {joint.name!r} has friction that sticks (friction_speed = 0), which is no function "
                "of the state: only simulate follows it; give friction_speed a positive number [rad/s or m/s] for a "
                "smooth law, or friction = 0"
            )


def problem_at(dynamics: Any, t: float, y: np.ndarray, u: np.ndarray | None) -> Any:
    """The problem that holds at a state: with friction that sticks, what rests is locked there."""
    rubbing = dynamics.rubbing
    if rubbing is None:
        return dynamics.problem(u)
    q, v = dynamics.coordinates(y)
    under = np.zeros(dynamics.nv) if u is None else np.array(u, dtype=float)
    modes, force = rubbing.modes(dynamics.mechanism, q, v, under, t)
    under[rubbing.columns] += np.where(modes == 0, 0.0, force)
    return dynamics.locked(tuple(rubbing.columns[modes == 0].tolist()), q, t).problem(under)


@dataclass(frozen=True)
class _Transition(Event):
    k: int = -1  # which coordinate comes to rest; -1: one breaks away


def _slip(column: int, sign: float, start: float, t: float, y: np.ndarray, p: np.ndarray) -> float:
    """The velocity along the slip; positive as it begins, so that one that turns back at once is seen."""
    return np.finfo(float).tiny if t == start and y[column] == 0.0 else sign * float(y[column])


def _least_share(a: np.ndarray, W: np.ndarray) -> float:
    """The least share of their bounds with which forces can keep all at rest: max |s| of a + W s = 0."""
    found, _, rank, _ = np.linalg.lstsq(W, -a, rcond=SINGULAR)
    if rank == len(a):
        return float(np.abs(found).max())
    n, one = len(a), np.ones((len(a), 1))  # forces are not unique: those with the smallest largest share
    size = max(float(np.abs(a).max()), float(np.abs(W).max()))
    best = linprog(
        np.append(np.zeros(n), 1.0),
        A_ub=np.block([[np.eye(n), -one], [-np.eye(n), -one]]),
        b_ub=np.zeros(2 * n),
        A_eq=np.hstack([W, np.zeros((n, 1))]) / size,
        b_eq=-a / size,
        bounds=[(None, None)] * n + [(0, None)],
    )
    return float(best.x[-1]) if best.success else np.inf


def _coulomb(a: np.ndarray, W: np.ndarray, bounds: np.ndarray) -> np.ndarray:
    """Shares s of the bounds, from -1 to 1, that minimize f^T W f / 2 + a^T f; W is given for s. By sweeps over the
    coordinates, and those that are not at a bound exactly."""
    S, b = bounds[:, None] * W, bounds * a
    s = np.zeros(len(a))
    for _ in range(SWEEPS):
        before = s.copy()
        for i in range(len(a)):
            rest = b[i] + S[i] @ s - S[i, i] * s[i]
            moves = S[i, i] > SINGULAR * max(S.diagonal().max(), abs(b[i]))
            s[i] = np.clip(-rest / S[i, i], -1.0, 1.0) if moves else -np.sign(rest)
        if np.abs(s - before).max() <= 1e-13:
            break
    free = np.abs(s) < 1.0
    if free.any():
        right = b[free] + S[np.ix_(free, ~free)] @ s[~free]
        exact = np.linalg.lstsq(S[np.ix_(free, free)], -right, rcond=SINGULAR)[0]
        if np.abs(exact).max() <= 1.0:
            s[free] = exact
    return s


def _joined(pieces: list[Solution], save: Any) -> Solution:
    """Pieces as one; where two meet, the point of the earlier is kept."""
    last = pieces[-1]
    if len(pieces) == 1:
        return last
    rows = [slice(None), *(slice(int(one.t[0] == before.t[-1]), None) for before, one in itertools.pairwise(pieces))]
    t, y = (np.concatenate([getattr(one, name)[r] for one, r in zip(pieces, rows, strict=True)]) for name in ("t", "y"))
    if isinstance(save, str):
        kept = np.ones(len(t), dtype=bool) if save == "all" else np.isin(np.arange(len(t)), (0, len(t) - 1))
    elif isinstance(save, int | np.integer):
        kept = np.ones(len(t), dtype=bool)
    else:
        kept = np.isin(t, save)
        kept[-1] |= not last.success or any(found.event.terminal for found in last.events)
    work = {name: sum(getattr(piece, name) for piece in pieces) for name in COUNTED}
    events = list(itertools.chain.from_iterable(piece.events for piece in pieces))
    curve: dict[str, Any] = {"slopes": None, "moves": None, "no_curve": NO_CURVE, "checkpoint": {}}
    return replace(last, t=t[kept], y=y[kept], events=events, **curve, **work)
