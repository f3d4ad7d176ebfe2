"""Forces in joints that are no functions of the state: dry friction that sticks, and rigid limits.

A coordinate slips or is free, or it is held: locked, by an infinite rotor inertia in the recursion that makes its
acceleration an exact zero, so it stays where it is to the last bit. What holds it has bounds: |f| <= F_static of
friction, and a limit only pushes. At rest (v = 0) the accelerations decide, for all coordinates at once
(`box_forces`), which of them are held.

A run goes from change to change: a velocity under friction that comes to zero, a holding force that reaches its bound,
a coordinate that strikes a limit (`impact`). All are located as events, and steps begin anew there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from chasles.cached import cached_property
from chasles.integrate.event import INSTANT, Event, Occurrence
from chasles.integrate.solution import Solution
from chasles.integrate.stepper import Interrupted
from chasles.model.joint import Joint
from chasles.simulation.box_forces import forces_in_box, reserve
from chasles.simulation.impact import Impact, impact
from chasles.simulation.pieces import Pieces

AT_BOUND = 1e-9  # a holding force is at its bound if it is so near, of its scale
STALLED = 200  # changes without any time between them that end a run
BEYOND = 1e-9  # of the size of a coordinate: how far beyond a limit is rounding
SMALLEST_BOUNCE = 1e-13  # of the size of a coordinate: a rebound that is not higher is none
INSTANTS = 1000  # roundings of the time: a rebound that is not longer is none
STRIKES = 64  # impacts at one instant; the last ones give nothing back
NO_CURVE = "accelerations or velocities jump where friction or limits act; the saved times are run.t: save more of them"


class Held(NamedTuple):
    """Which coordinates are held, the directions in which the others move, and the forces of friction and limits."""

    stuck: np.ndarray
    slip: np.ndarray
    force: np.ndarray


@dataclass(frozen=True)
class Limit(Event):
    """The event that a coordinate strikes a rigid limit. `k` is its place in `SetValued`, `side` 1 at the lower one,
    -1 at the upper one."""

    k: int = -1
    side: int = 1


@dataclass(frozen=True)
class SetValued:
    """The coordinates with friction that sticks or rigid limits: their places, the two forces of friction [N or N m],
    limits and restitution, a length or angle and a force to compare with."""

    names: tuple[str, ...]
    nq: int
    places: np.ndarray
    columns: np.ndarray
    slipping: np.ndarray
    sticking: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    restitution: np.ndarray
    sizes: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, joints: Sequence[Joint], tree: Any, sizes: np.ndarray, energy: float) -> SetValued | None:
        """Those of a mechanism; None if it has none. `sizes` are those of all velocities, `energy` is a large one."""
        found = list[tuple[Any, ...]]()
        for joint in joints:
            for k in range(joint.nv if joint.may_lock else 0):
                rubs = (joint.friction[k], joint.holding_friction[k]) if joint.sticks else (0.0, 0.0)
                rigid = joint.restitution is not None
                ends = (joint.lower[k], joint.upper[k]) if rigid else (-np.inf, np.inf)
                if rubs[1] == 0.0 and not np.isfinite(ends).any():
                    continue
                name = joint.name if joint.nv == 1 else f"{joint.name}[{k}]"
                column = tree.velocities[joint.name].start + k
                force = rubs[1] or energy / sizes[column]
                bounce = joint.restitution[k] if rigid else 0.0
                place = tree.coordinates[joint.name].start + k
                found.append((name, place, column, *rubs, *ends, bounce, sizes[column], force))
        if not found:
            return None
        names, *arrays = zip(*found, strict=True)
        return cls(names, sum(joint.nq for joint in joints), *map(np.array, arrays))

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The events of `run.events` that limits make."""
        found = list[Limit]()
        for k, name in enumerate(self.names):
            for side, which, end in ((1, "lower", self.lower[k]), (-1, "upper", self.upper[k])):
                if np.isfinite(end):
                    function = partial(_gap, int(self.places[k]), int(self.nq + self.columns[k]), float(end), side)
                    found.append(Limit(function, -1, False, f"{name} strikes its {which} limit", k, side))
        return tuple(found)

    # ------------------------------------------------------------ one state

    def _bounds(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the forces that can hold each coordinate, in units of `scale`."""
        at = q[self.places]
        low, high = -self.sticking / self.scale, self.sticking / self.scale
        return np.where(at >= self.upper, -np.inf, low), np.where(at <= self.lower, np.inf, high)

    def _responses(
        self, mechanism: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float, at: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations of the coordinates `at` (among these) under u, and what a unit of each's force adds; both are
        multiplied by these units, which makes the second symmetric."""
        columns, scale = self.columns[at], self.scale[at]
        trials = np.tile(u, (len(at) + 1, 1))
        trials[np.arange(len(at)) + 1, columns] += scale
        a = mechanism.accelerations_under(np.tile(q, (len(trials), 1)), np.tile(v, (len(trials), 1)), trials, t)
        return scale * a[0, columns], scale[:, None] * (a[1:, columns] - a[0, columns]).T

    def held(
        self, mechanism: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float, breaking: bool = False
    ) -> Held:
        """What is held at a state, and the forces. `breaking`: those at rest whose force is at its bound get away."""
        low, high = self._bounds(q)
        slip = np.sign(v[self.columns])
        force = -slip * self.slipping
        rest = np.flatnonzero((slip == 0) & (low < high))
        while len(rest):
            under = u.copy()
            under[self.columns] += force
            a, W = self._responses(mechanism, q, v, under, t, rest)
            share = forces_in_box(a, W, low[rest], high[rest])
            then = a + W @ share
            size = AT_BOUND * (np.abs(a).max() + np.abs(W).sum(axis=1).max())
            up = (share <= low[rest] + AT_BOUND) & (breaking | (then > size))
            down = (share >= high[rest] - AT_BOUND) & (breaking | (then < -size))
            if not (up | down).any():
                force[rest] = share * self.scale[rest]
                break
            slip[rest] = np.where(up, 1.0, np.where(down, -1.0, 0.0))
            force[rest] = -slip[rest] * self.slipping[rest]
            rest = rest[~(up | down)]
        return Held(np.isin(np.arange(len(slip)), rest), slip, force)

    def forces(self, mechanism: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: np.ndarray) -> np.ndarray:
        """The forces along all velocities (..., nv), at states under generalized forces u."""
        found = np.zeros(v.shape)
        rows = [np.broadcast_to(x, (*v.shape[:-1], x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v, u)]
        times = np.broadcast_to(t, v.shape[:-1]).ravel()
        for k, (at, speed, under) in enumerate(zip(*rows, strict=True)):
            force = self.held(mechanism, at, speed, np.array(under), float(times[k])).force
            found.reshape(-1, v.shape[-1])[k, self.columns] = force
        return found

    # ------------------------------------------------------------ limits

    def refuse_beyond(self, q: np.ndarray) -> None:
        """ValueError for a start beyond a rigid limit."""
        at = q[self.places]
        for k in np.flatnonzero((at < self.lower - BEYOND * self.sizes) | (at > self.upper + BEYOND * self.sizes)):
            which, end = ("lower", self.lower[k]) if at[k] < self.lower[k] else ("upper", self.upper[k])
            raise ValueError(
                f"simulate: {self.names[k]!r} starts at {at[k]:.8g}, beyond its rigid {which} limit {end:.8g}; start "
                "inside, or leave out restitution"
            )

    def strike(
        self, dynamics: Any, time: float, state: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, list[Occurrence]]:
        """The state after impacts, if coordinates at their limits move on to them; and the events."""
        q, v, work = (np.array(part) for part in dynamics.split(state))
        shown = np.concatenate([q, v, [work]])
        q[self.places] = np.clip(q[self.places], self.lower, self.upper)
        touched = [limit for limit in self.limits if q[self.places[limit.k]] == self._end(limit)]
        struck = dict[str, Limit]()
        for attempt in range(STRIKES):
            closed = [limit for limit in touched if limit.side * v[self.columns[limit.k]] <= 0.0]
            if not any(v[self.columns[limit.k]] for limit in closed):
                break
            found, v, lost = self._one_impact(dynamics, time, (q, v, u), closed, attempt + 1 == STRIKES)
            struck |= {limit.name: limit for limit in found}
            work -= lost
        if not struck:
            unmoved = state.copy()
            unmoved[: self.nq] = q
            return unmoved, []
        return dynamics.state(q, v, float(work)), [Occurrence(limit, time, shown) for limit in struck.values()]

    def _end(self, limit: Limit) -> float:
        return float(self.lower[limit.k] if limit.side > 0 else self.upper[limit.k])

    def _one_impact(
        self, dynamics: Any, time: float, at: tuple[np.ndarray, ...], closed: list[Limit], last: bool
    ) -> tuple[list[Limit], np.ndarray, float]:
        """The limits that push, velocities after and energy lost, of one impact at closed limits. Rebounds that are too
        small to be followed, and come back, are none."""
        q, v, u = at
        k, sides = np.array([limit.k for limit in closed]), np.array([limit.side for limit in closed])
        response = dynamics.impulse_response(q, time, self.columns[k])
        bounce = np.zeros(len(k)) if last else self.restitution[k]
        while True:
            result = impact(response, self.columns[k], sides, v, bounce, dynamics.velocity_sizes)
            ends = self._ends(dynamics, time, q, u, result, closed) if bounce.any() else bounce > 0.0
            if not ends.any():
                pushing = [limit for limit, p in zip(closed, result.impulses, strict=True) if p > 0.0]
                return pushing, result.velocities, result.lost
            bounce = np.where(ends, 0.0, bounce)

    def _ends(
        self, dynamics: Any, time: float, q: np.ndarray, u: np.ndarray, result: Impact, closed: list[Limit]
    ) -> np.ndarray:
        """Whether rebounds are too low or too short to be followed."""
        v, under = result.velocities, u.copy()
        under[self.columns] += self.held(dynamics.mechanism, q, v, u, time).force
        a = dynamics.mechanism.accelerations_under(q, v, under, time)
        found = np.zeros(len(closed), dtype=bool)
        for i, limit in enumerate(closed):
            away, back = (sign * limit.side * x[self.columns[limit.k]] for sign, x in ((1.0, v), (-1.0, a)))
            if result.impulses[i] > 0.0 and away > 0.0 and back > 0.0:
                low = SMALLEST_BOUNCE * self.sizes[limit.k] + INSTANT * np.spacing(abs(self._end(limit)))
                found[i] = away**2 <= 2.0 * back * low or 2.0 * away <= back * INSTANTS * np.spacing(abs(time))
        return found

    # ------------------------------------------------------------ a run

    def solve(
        self, dynamics: Any, method: Any, span: tuple[float, float], y0: np.ndarray, u: np.ndarray | None, carry: Any,
        save: Any = "all", events: Sequence[Event] = (), max_evaluations: int | None = None, **more: Any,
    ) -> Solution:  # fmt: skip
        """The motion, from change to change; `carry(dynamics, method, span, y0, u, **more)` does one piece."""
        (time, end), state = span, np.array(y0)
        if end < time:
            raise ValueError(
                "simulate: friction that sticks and impacts forget where they came from; run it forwards in time"
            )
        self.refuse_beyond(dynamics.coordinates(state)[0])
        given = np.zeros(dynamics.nv) if u is None else np.asarray(u, dtype=float)
        asked = None if isinstance(save, str | int | np.integer) else np.asarray(save, dtype=float)
        pieces, breaking, stalled, piece = Pieces(len(state)), False, 0, None
        while True:
            with dynamics.calling():
                state, struck = self.strike(dynamics, time, state, given)
                q, v = dynamics.coordinates(state)
                held = self.held(dynamics.mechanism, q, v, given, time, breaking)
            if piece is not None:  # what came to rest has no velocity, not that of a rounding beyond
                piece.y[-1] = state
                pieces.add(piece)
            pieces.events += struck
            under = given.copy()
            under[self.columns] += np.where(held.stuck, 0.0, held.force)
            locked = dynamics.locked(tuple(self.columns[held.stuck].tolist()), q, time)
            with dynamics.calling():
                watched = self._watched(dynamics, np.concatenate([q, v]), held, under, time)
            wanted = save if asked is None else np.append(asked[(asked >= time) & (asked < end)], end)
            left = None if max_evaluations is None else max(max_evaluations - pieces.work["evaluations"], 1)
            more |= {"save": wanted, "events": [*events, *watched], "max_evaluations": left}
            try:
                piece = carry(locked, method, (time, end), state, under, **more)
            except Interrupted as stop:
                pieces.add(stop.result)
                stop.result = _kept(pieces, stop.result, save)
                raise
            ours = [found for found in piece.events if isinstance(found.event, _Transition)]
            others = [found for found in piece.events if not isinstance(found.event, _Transition)]
            piece = replace(piece, events=others)
            if not ours or not piece.success or any(found.event.terminal for found in others):
                if not pieces.work["steps"]:  # one piece, with its curve
                    return replace(piece, events=[*pieces.events, *others])
                pieces.add(piece)
                return _kept(pieces, piece, save)
            state = np.array(ours[-1].goes_on_from)
            state[[dynamics.nq + self.columns[found.event.k] for found in ours if found.event.rests]] = 0.0
            breaking = any(found.event.k < 0 for found in ours)
            stalled = stalled + 1 if ours[-1].t - time <= 64 * np.spacing(abs(ours[-1].t)) else 0
            if stalled > STALLED:
                names = ", ".join(map(repr, dict.fromkeys(self.names)))
                raise ArithmeticError(f"simulate: what holds {names} changes without end at t = {time:.8g} s")
            time = ours[-1].t

    def _watched(self, dynamics: Any, y: np.ndarray, held: Held, u: np.ndarray, start: float) -> list[Event]:
        """Velocities under friction that come to zero, limits ahead, and the holding force that first reaches its
        bound."""
        nq, found = dynamics.nq, list[Event]()
        for k in np.flatnonzero((held.slip != 0.0) & (self.sticking > 0.0)):
            function = partial(_slip, int(nq + self.columns[k]), float(held.slip[k]), start)
            found.append(_Transition(function, -1, True, f"{self.names[k]} comes to rest", int(k), True))
        for limit in self.limits:
            if not held.stuck[limit.k]:
                found.append(_Transition(limit.function, -1, True, limit.name, limit.k))
        if held.stuck.any():
            found.append(_Transition(self._spare(dynamics, held, u, start, y), -1, True, "what is held gets away", -1))
        return found

    def _spare(self, dynamics: Any, held: Held, u: np.ndarray, start: float, y: np.ndarray) -> Any:
        """What is left of the bounds of holding forces, as a function of the state; positive as it begins, so that a
        limit that holds nothing yet is watched."""
        stuck, nq = np.flatnonzero(held.stuck), dynamics.nq
        low, high = (bound[stuck] for bound in self._bounds(y[:nq]))

        def spare(t: float, y: np.ndarray, p: Any) -> float:
            v = y[nq : nq + dynamics.nv].copy()
            v[self.columns[stuck]] = 0.0
            return reserve(*self._responses(dynamics.mechanism, y[:nq], v, u, t, stuck), low, high) + more

        more = 0.0
        begin = spare(start, y, None)
        more = AT_BOUND - begin if begin <= 0.0 else 0.0
        return spare


def refuse_sticking(function: str, system: Any) -> None:
    """ValueError for what needs forces that are functions of the state."""
    for joint in system.joints:
        if joint.sticks:
            raise ValueError(
                f"{function}: joint {joint.name!r} has friction that sticks (friction_speed = 0), which is no function "
                "of the state: only simulate follows it; give friction_speed a positive number [rad/s or m/s] for a "
                "smooth law, or friction = 0"
            )
        if joint.has_rigid_limits:
            raise ValueError(
                f"{function}: joint {joint.name!r} has rigid limits (restitution), which only simulate follows; leave "
                "out restitution, or make the limits compliant with stop_stiffness"
            )


def problem_at(dynamics: Any, t: float, y: np.ndarray, u: np.ndarray | None) -> Any:
    """The problem that holds at a state: what is held there is locked."""
    set_valued = dynamics.set_valued
    if set_valued is None:
        return dynamics.problem(u)
    q, v = dynamics.coordinates(y)
    under = np.zeros(dynamics.nv) if u is None else np.array(u, dtype=float)
    held = set_valued.held(dynamics.mechanism, q, v, under, t)
    under[set_valued.columns] += np.where(held.stuck, 0.0, held.force)
    return dynamics.locked(tuple(set_valued.columns[held.stuck].tolist()), q, t).problem(under)


@dataclass(frozen=True)
class _Transition(Event):
    k: int = -1  # which coordinate comes to rest or strikes; -1: one gets away
    rests: bool = False


def _slip(column: int, sign: float, start: float, t: float, y: np.ndarray, p: np.ndarray) -> float:
    """The velocity along the slip; positive as it begins, so that one that turns back at once is seen."""
    return np.finfo(float).tiny if t == start and y[column] == 0.0 else sign * float(y[column])


def _gap(place: int, column: int, end: float, side: int, t: float, y: np.ndarray, p: np.ndarray) -> float:
    """The distance from a limit; at the limit it counts where the velocity goes."""
    gap = side * (float(y[place]) - end)
    return gap or (np.finfo(float).tiny if side * y[column] >= 0.0 else -np.finfo(float).tiny)


def _kept(pieces: Pieces, last: Solution, save: Any) -> Solution:
    """Pieces as one, with the points that are asked for."""
    whole = replace(pieces.joined(last, NO_CURVE)[0], checkpoint={})
    t = whole.t
    if isinstance(save, int | np.integer) or (isinstance(save, str) and save == "all"):
        return whole
    if isinstance(save, str):
        kept = np.isin(np.arange(len(t)), (0, len(t) - 1))
    else:
        kept = np.isin(t, save)
        kept[-1] |= not last.success or any(found.event.terminal for found in last.events)
    return replace(whole, t=t[kept], y=whole.y[kept])
