"""A run with friction that sticks, or rigid limits, from change to change.

A velocity under friction comes to zero, a holding force reaches its bound, a coordinate strikes a limit: all are
located as events, impacts are computed (`impact`), what is held then is found (`set_valued`), and steps begin anew.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from chasles.integrate.constrained_method import CONSTRAINED_METHODS, BLieDF, EnergyMomentum
from chasles.integrate.event import INSTANT, Event, Occurrence
from chasles.integrate.options import check_stops
from chasles.integrate.solution import COUNTED_WORK, Solution
from chasles.integrate.stepper import Interrupted
from chasles.simulation.nonsmooth.box_forces import reserve
from chasles.simulation.nonsmooth.impact import NONE, Impact, Rubbing, Strike, impact
from chasles.simulation.nonsmooth.set_valued import AT_BOUND, NEARLY, Held, Limit, SetValued
from chasles.simulation.pieces import Pieces

STALLED = 200  # changes without any time between them that end a run
BEYOND = 1e-9  # of the size of a coordinate: how far beyond a limit is rounding
SMALLEST_BOUNCE = 1e-13  # of the size of a coordinate: a rebound that is not higher is none
INSTANTS = 1000  # roundings of the time: a rebound that is not longer is none
STRIKES = 64  # impacts at one instant; the last ones give nothing back
UNSTOPPABLE = 1e-22  # of the largest change of a velocity by an impulse, a square: what cannot be changed
COUNTED = tuple(name for name in COUNTED_WORK if name != "seconds")
NO_CURVE = "accelerations or velocities jump where friction or limits act; the saved times are run.t: save more of them"


class Transitions(SetValued):
    """The coordinates with friction that sticks or rigid limits, and how a run follows them."""

    # ------------------------------------------------------------ limits

    def refuse_method(self, method: Any) -> None:
        """ValueError for a method that cannot follow it."""
        if not isinstance(method, CONSTRAINED_METHODS):
            return
        if loaded := [self.names[k] for k in np.flatnonzero(self.coefficient + self.static_coefficient)]:
            raise ValueError(
                f"simulate: the friction of {loaded[0]!r} is in proportion to its load, which explicit methods follow; "
                f'take method="dopri5" in place of {type(method).__name__}, or friction [N or N m]'
            )
        if isinstance(method, EnergyMomentum):
            raise ValueError(
                f"simulate: {self.names[0]!r} sticks or strikes, and EnergyMomentum cannot hold a coordinate; take "
                'method="rattle" or an explicit one, or smooth friction (friction_speed > 0) and compliant stops'
            )
        if isinstance(method, BLieDF):
            raise ValueError(
                f"simulate: {self.names[0]!r} sticks or strikes, and a multistep method would begin anew each time; "
                'take method="radau5" or "generalized_alpha", or an explicit one'
            )

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
        (q, v), work = (np.array(part) for part in dynamics.exact_coordinates(state)), float(state[-1])
        shown = dynamics.as_events_see(state)
        q[self.places] = np.clip(q[self.places], self.lower, self.upper)
        touched = [limit for limit in self.limits if q[self.places[limit.k]] == self._end(limit)]
        struck = dict[str, Limit]()
        for attempt in range(STRIKES):
            closed = [limit for limit in touched if limit.side * v[self.columns[limit.k]] <= 0.0]
            if not any(v[self.columns[limit.k]] for limit in closed):
                break
            found, v, lost = self._one_impact(dynamics.in_joints, time, (q, v, u), closed, attempt + 1 == STRIKES)
            struck |= {limit.name: limit for limit in found}
            work -= lost
        if not struck:
            return dynamics.moved_to(state, q), []
        return dynamics.with_joints(state, q, v, work), [Occurrence(limit, time, shown) for limit in struck.values()]

    def _end(self, limit: Limit) -> float:
        return float(self.lower[limit.k] if limit.side > 0 else self.upper[limit.k])

    def _one_impact(
        self, dynamics: Any, time: float, at: tuple[np.ndarray, ...], closed: list[Limit], last: bool
    ) -> tuple[list[Limit], np.ndarray, float]:
        """The limits that push, velocities after and energy lost, of one impact at closed limits. Rebounds that are too
        small to be followed, and come back, are none."""
        q, v, u = at
        k, sides = np.array([limit.k for limit in closed]), np.array([limit.side for limit in closed])
        rubs = self._rubbing(dynamics, time, at, closed)
        response = dynamics.impulse_response(q, time, np.append(self.columns[k], rubs.columns))
        self._refuse_unstoppable(dynamics, time, q, [limit for limit in closed if v[self.columns[limit.k]]])
        bounce = np.zeros(len(k)) if last else self.restitution[k]
        while True:
            result = impact(response, self.columns[k], sides, v, bounce, dynamics.velocity_sizes, rubs)
            ends = self._ends(dynamics, time, q, u, result, closed) if bounce.any() else bounce > 0.0
            if not ends.any():
                pushing = [limit for limit, p in zip(closed, result.impulses, strict=True) if p > 0.0]
                return pushing, result.velocities, result.lost
            bounce = np.where(ends, 0.0, bounce)

    def _refuse_unstoppable(self, dynamics: Any, time: float, q: np.ndarray, struck: list[Limit]) -> None:
        """ArithmeticError for a coordinate at its limit that drives move on, whatever pushes it back."""
        sizes = dynamics.velocity_sizes
        moved = dynamics.impulse_response(q, time, np.arange(dynamics.nv)).diagonal() / sizes**2
        for limit in struck:
            if moved[self.columns[limit.k]] <= UNSTOPPABLE * moved.max():
                raise ArithmeticError(
                    f"simulate: {limit.name} at t = {time:.8g} s, and no impulse can stop it: drives and couplings "
                    "prescribe its motion; leave out restitution, or move it by forces"
                )

    def _rubbing(self, dynamics: Any, time: float, at: tuple[np.ndarray, ...], closed: list[Limit]) -> Rubbing:
        """The coordinates whose friction takes a part of the impact: those with a coefficient that do not strike."""
        q, v, u = at
        struck = {limit.k for limit in closed if v[self.columns[limit.k]]}
        loaded = self.coefficient + self.static_coefficient > 0.0
        which = np.array([k for k in np.flatnonzero(loaded) if k not in struck], dtype=int)
        if not len(which):
            return NONE
        response = self._response(dynamics, q, v, u, time)
        mine = np.isin(response.whose, which)
        every = np.append([limit.k for limit in closed], which).astype(int)
        vectors = response.D[mine][:, :, every] / self.scale[every]
        rests = v[self.columns[which]] == 0.0
        sliding = self.coefficient[which]
        resting = np.where(rests, np.maximum(self.static_coefficient[which], sliding), sliding)
        names, whose = tuple(self.names[k] for k in which), np.searchsorted(which, response.whose[mine])
        return Rubbing(names, self.columns[which], sliding, resting, vectors, whose)

    def _ends(
        self, dynamics: Any, time: float, q: np.ndarray, u: np.ndarray, result: Impact, closed: list[Limit]
    ) -> np.ndarray:
        """Whether rebounds are too low or too short to be followed."""
        v, under = result.velocities, u.copy()
        under[self.columns] += self.held(dynamics, q, v, u, time).force
        a = dynamics.mechanism.accelerations_under(q, v, under, time)
        found = np.zeros(len(closed), dtype=bool)
        for i, limit in enumerate(closed):
            away, back = (sign * limit.side * x[self.columns[limit.k]] for sign, x in ((1.0, v), (-1.0, a)))
            if result.impulses[i] > 0.0 and away > 0.0 and back > 0.0:
                low = SMALLEST_BOUNCE * self.sizes[limit.k] + INSTANT * np.spacing(abs(self._end(limit)))
                found[i] = away**2 <= 2.0 * back * low or 2.0 * away <= back * INSTANTS * np.spacing(abs(time))
        return found

    def strikes(self, dynamics: Any, events: Sequence[Occurrence], u: Callable[[float], np.ndarray]) -> list[Strike]:
        """What happened at the limits, by the events of a run under forces u(t): computed again from their states."""
        found = dict[float, Strike]()
        for one in events:
            if isinstance(one.event, Limit) and one.t not in found:
                (q, before), joints = dynamics.seen_in_event(np.array(one.y)), dynamics.in_joints
                state = joints.state(q, before)
                with dynamics.calling():
                    after, struck = self.strike(joints, one.t, state, u(one.t))
                names = tuple(limit.event.name for limit in struck)
                velocities = joints.coordinates(after)[1]
                found[one.t] = Strike(one.t, names, before, velocities, float(state[-1] - after[-1]))
        return list(found.values())

    # ------------------------------------------------------------ a run

    def solve(
        self, dynamics: Any, method: Any, span: tuple[float, float], y0: np.ndarray, u: np.ndarray | None, carry: Any,
        save: Any = "all", events: Sequence[Event] = (), max_evaluations: int | None = None,
        resume: dict[str, np.ndarray] | None = None, sink: Any = None, **more: Any,
    ) -> Solution:  # fmt: skip
        """The motion, from change to change; `carry(dynamics, method, span, y0, u, **more)` does one piece. A `sink`
        takes each with what `resume` needs to go on after it. What is held is found anew at stops and breaks."""
        (time, end), state, wanted = span, np.array(y0), save
        if end < time:
            raise ValueError("simulate: stick-slip friction and impacts cannot run backward in time; simulate forward")
        self.refuse_beyond(dynamics.coordinates(state)[0])
        given, joints = dynamics.to_joints(u), dynamics.in_joints
        near = np.zeros(len(self.names)) if joints is dynamics else NEARLY * self.speeds
        asked = None if isinstance(save, str | int | np.integer) else np.asarray(save, dtype=float)
        pieces, breaking, stalled, piece = _Taken(len(state), len(self.names), save, sink), False, 0, None
        before = None if resume is None else resume.get("stuck")
        anew = [np.ravel(more[name]) for name in ("stops", "breaks") if more.get(name) is not None]
        cuts = check_stops(np.concatenate([np.empty(0), *anew]), *span)
        if resume is not None:
            time, state, breaking = pieces.go_on(resume)
        while True:
            here = time, state, breaking, before
            with dynamics.calling():
                state, struck = self.strike(dynamics, time, state, given)
                q, v = dynamics.exact_coordinates(state)
                now = time + INSTANT * np.spacing(abs(time)) if time in cuts else time  # just after a jump
                held = self.held(joints, q, v, given, now, breaking)
            struck += self._happened(time, dynamics.as_events_see(state), before, held, q, v)
            before = held.stuck
            if piece is not None:
                piece.y[-1] = state  # what came to rest has no velocity, not that of a rounding beyond
                if time >= end:
                    return pieces.ended(replace(piece, events=[*piece.events, *struck], message="reached the end"))
                pieces.take(piece, here)
            locked, under = self.during(dynamics, held, q, time, given)
            with dynamics.calling():
                watched = [
                    replace(event, function=dynamics.of_joints(event.function))
                    for event in self._watched(joints, np.concatenate([q, v]), held, given, now, near)
                ]
            until = float(cuts[cuts > time].min(initial=end)) if held.stuck.any() else end
            more["events"] = [*events, *watched]
            if max_evaluations is not None:
                more["max_evaluations"] = max(max_evaluations - pieces.work["evaluations"], 1)

            def run(until: float, locked: Any = locked, begin: Any = (time, state), under: Any = under) -> Solution:
                time, state = begin
                save = wanted if asked is None else np.append(asked[(asked >= time) & (asked < until)], until)
                step = more.get("step")
                own = {"step": min(step, until - time)} if step is not None and step <= end - span[0] else {}
                found: Solution = carry(locked, method, (time, until), state, under, **more | own, save=save)
                return found

            try:
                piece, until = self._seen(run, until, pieces, dynamics)
            except Interrupted as stop:
                stop.result = pieces.ended(replace(stop.result, events=[*struck, *stop.result.events]))
                raise
            ours = [found for found in piece.events if isinstance(found.event, _Transition) and found.event.terminal]
            others = [found for found in piece.events if not isinstance(found.event, _Transition)]
            piece = replace(piece, events=[*struck, *others])
            if not piece.success or any(found.event.terminal for found in others) or (not ours and until == end):
                return pieces.ended(piece)
            if not ours:
                time, state, breaking = until, piece.y[-1].copy(), False
                continue
            state = np.array(ours[-1].goes_on_from)
            state = dynamics.at_rest(state, [int(self.columns[one.event.k]) for one in ours if one.event.rests])
            breaking = any(found.event.k < 0 for found in ours)
            stalled = stalled + 1 if ours[-1].t - time <= INSTANT * np.spacing(abs(ours[-1].t)) else 0
            if stalled > STALLED:
                names = ", ".join(map(repr, dict.fromkeys(self.names)))
                raise ArithmeticError(f"simulate: what holds {names} changes without end at t = {time:.8g} s")
            ahead = cuts[(cuts >= ours[-1].t) & (cuts - ours[-1].t <= INSTANT * np.spacing(abs(ours[-1].t)))]
            time = float(ahead[0]) if len(ahead) else ours[-1].t

    def _happened(
        self, time: float, shown: np.ndarray, before: np.ndarray | None, held: Held, q: np.ndarray, v: np.ndarray
    ) -> list[Occurrence]:
        """The events that something sticks, slips, rests or leaves. Where nothing is known of what was held before,
        all that is at rest was."""
        was = v[self.columns] == 0.0 if before is None else np.asarray(before) != 0.0
        return [Occurrence(change, time, shown) for change in self.changed(was, held, q)]

    def _seen(self, run: Callable[[float], Any], until: float, pieces: Pieces, dynamics: Any) -> tuple[Any, float]:
        """A piece, and its end. If a coordinate went beyond a limit and turned back within one step, the piece is run
        once more as far as the turn, where the limit is seen."""
        piece = run(until)
        for one in piece.events:
            k, side = (one.event.k, one.event.side) if isinstance(one.event, _Transition) else (-1, 0)
            end = self.lower[k] if side > 0 else self.upper[k]
            if side and dynamics.seen_in_event(one.y)[0][self.places[k]] * side < side * end:
                for name in COUNTED:
                    pieces.work[name] += getattr(piece, name)
                return run(one.t), one.t
        return piece, until

    def _watched(
        self, dynamics: Any, y: np.ndarray, held: Held, u: np.ndarray, start: float, near: np.ndarray
    ) -> list[Event]:
        """Velocities under friction that come to zero, limits ahead and turns before them, and the holding force that
        first reaches its bound. near: speeds that are zero at the start."""
        nq, found = dynamics.nq, list[Event]()
        for k in np.flatnonzero((held.slip != 0.0) & self.may_stick):
            function = partial(_slip, int(nq + self.columns[k]), float(held.slip[k]), start, near[k])
            found.append(_Transition(function, -1, True, f"{self.names[k]} comes to rest", int(k), True))
        for limit in self.limits:
            if not held.stuck[limit.k]:
                found.append(_Transition(limit.function, -1, True, limit.name, limit.k))
                toward = partial(_slip, int(nq + self.columns[limit.k]), -float(limit.side), start, near[limit.k])
                found.append(_Transition(toward, -1, False, f"{limit.name}?", limit.k, side=limit.side))
        if held.stuck.any():
            found.append(_Transition(self._spare(dynamics, held, u, start, y), -1, True, "what is held gets away", -1))
        return found

    def _spare(self, dynamics: Any, held: Held, u: np.ndarray, start: float, y: np.ndarray) -> Any:
        """What is left of the bounds of holding forces, as a function of the state; positive as it begins, so that a
        limit that holds nothing yet is watched."""
        stuck, moving, nq = held.stuck, ~held.stuck, dynamics.nq

        def spare(t: float, y: np.ndarray, p: Any) -> float:
            q = y[:nq]
            response, x = self.under_way(dynamics, q, y[nq : nq + dynamics.nv], u, t, held)
            low, high = (bound[stuck] for bound in self.bounds(begin_q, response.loads(x)))
            a = response.a[stuck] + response.W[np.ix_(stuck, moving)] @ x[moving]
            return reserve(a, response.W[np.ix_(stuck, stuck)], low, high) + more

        begin_q = y[:nq].copy()
        more = 0.0
        begin = spare(start, y, None)
        more = AT_BOUND - begin if begin <= 0.0 else 0.0
        return spare


@dataclass(frozen=True)
class _Transition(Event):
    k: int = -1  # which coordinate comes to rest or strikes; -1: one gets away
    rests: bool = False
    side: int = 0  # of the limit from which it turns back, which ends nothing


def _slip(column: int, sign: float, start: float, near: float, t: float, y: np.ndarray, p: np.ndarray) -> float:
    """The velocity along the slip; positive as it begins, so that one that turns back at once is seen."""
    return np.finfo(float).tiny if t <= start and abs(y[column]) <= near else sign * float(y[column])


class _Taken(Pieces):
    """The pieces of a run, with the points that are asked for, here and in a file."""

    def __init__(self, point: int, held: int, save: Any, sink: Any):
        super().__init__(point)
        self.held, self.save, self.sink, self.first = held, save, sink, True

    def go_on(self, resume: dict[str, np.ndarray]) -> tuple[float, np.ndarray, bool]:
        """Go on after the pieces that are done: time, state, and whether something gets away."""
        self.first, self.last_time = False, float(resume["time"][0])
        self.work |= dict(zip(COUNTED, map(int, resume["work"]), strict=True))
        return self.last_time, np.array(resume["begins"]), bool(resume["breaking"][0])

    def take(self, piece: Solution, here: tuple[Any, ...], last: bool = False) -> None:
        """Take a piece, with the time, the state, whether something gets away and what was held where the next
        begins."""
        kept = np.ones(len(piece.t), dtype=bool)
        if isinstance(self.save, str) and self.save != "all":
            kept = np.isin(np.arange(len(kept)), [0] * self.first + [len(kept) - 1] * last)
        elif not isinstance(self.save, str | int | np.integer):
            kept = self._asked(piece, last)
        self.first = False
        t, y = self.add(replace(piece, t=piece.t[kept], y=piece.y[kept]))
        if self.sink is not None:
            time, state, breaking, before = here
            work = np.array([float(self.work[name]) for name in COUNTED])
            memory = {"time": time, "breaking": breaking, "begins": state, "work": work, "stuck": before}
            arrays = {name: np.atleast_1d(np.asarray(value, dtype=float)) for name, value in memory.items()}
            self.sink.stretch(np.column_stack([t, y]), piece.events, arrays, NO_CURVE, last)

    def _asked(self, piece: Solution, last: bool) -> np.ndarray:
        """Which points of a piece are at times that were asked for, or end a run before its end."""
        kept = np.isin(piece.t, self.save)
        kept[-1:] |= last and (not piece.success or any(found.event.terminal for found in piece.events))
        return kept

    def ended(self, piece: Solution) -> Solution:
        """The whole, with its last piece."""
        if self.first and self.sink is None:  # the only one, with its curve
            if isinstance(self.save, str | int | np.integer) or self._asked(piece, True).all():
                return piece
            parts = {name: getattr(piece, name) for name in ("t", "y", "slopes", "moves")}
            return replace(piece, **{name: part[:-1] for name, part in parts.items() if part is not None})
        self.take(piece, (0.0, np.zeros(self.sizes[1]), False, np.zeros(self.held)), last=True)
        return replace(self.joined(piece, NO_CURVE)[0], checkpoint={})
