"""Forces in joints that are no functions of the state: dry friction that sticks, and rigid limits.

A coordinate slips or is free, or it is held: locked, by an infinite rotor inertia in the recursion that makes its
acceleration an exact zero, so it stays where it is to the last bit. What holds it has bounds: |f| <= F_static of
friction, and a limit only pushes. At rest (v = 0) the accelerations decide, for all coordinates at once
(`box_forces`), which of them are held.

How a run goes on from change to change is in `transitions`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from chasles.cached import cached_property
from chasles.integrate.event import Event
from chasles.model.joint import Joint
from chasles.simulation.nonsmooth.box_forces import forces_in_box
from chasles.simulation.nonsmooth.loaded_friction import FrictionLoadError, Response, slipping_forces

NEARLY = 1e-11  # of the size of a coordinate, and of its speed: where absolute coordinates take it for a limit or rest
AT_BOUND = 1e-9  # a holding force is at its bound if it is so near, of its scale
SIDES = ("lower", "upper")
LOADINGS, LOADED = 200, 1e-14  # iterations for what joints carry, and how exact it becomes


class Held(NamedTuple):
    """Which coordinates are held, the directions in which the others move, and the forces of friction and limits."""

    stuck: np.ndarray
    slip: np.ndarray
    force: np.ndarray


class End(NamedTuple):
    """Whose limit it is, and which of its own: followers bring theirs to the coordinate that they follow."""

    name: str
    which: str


@dataclass(frozen=True)
class Limit(Event):
    """The event that a coordinate strikes a rigid limit. `k` is its place in `SetValued`, `side` 1 at the lower one,
    -1 at the upper one."""

    k: int = -1
    side: int = 1


@dataclass(frozen=True)
class Change(Event):
    """The event that a coordinate begins to be held (`held`), or no longer is: by a limit (side 1 or -1 as those of
    `Limit`), or by friction (0)."""

    k: int = -1
    side: int = 0
    held: bool = False


@dataclass(frozen=True)
class SetValued:
    """The coordinates with friction that sticks or depends on the load, or with rigid limits: their places, the two
    forces of friction [N or N m] and the two coefficients, the speed of smooth friction (0: it sticks), limits and
    restitution, a length or angle, a speed and a force to compare with; what the lower and upper limits are called."""

    names: tuple[str, ...]
    nq: int
    ends: tuple[tuple[End, End], ...]
    places: np.ndarray
    columns: np.ndarray
    slipping: np.ndarray
    sticking: np.ndarray
    coefficient: np.ndarray
    static_coefficient: np.ndarray
    speed: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    restitution: np.ndarray
    sizes: np.ndarray
    speeds: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, joints: Sequence[Joint], tree: Any, sizes: np.ndarray, energy: float, pace: float) -> Self | None:
        """Those of a mechanism; None if it has none. `sizes` are those of all velocities, `energy` is a large one,
        `pace` how many sizes are gone in a second then."""
        found, called = list[tuple[Any, ...]](), list[tuple[End, End]]()
        for joint in joints:
            for k in range(joint.nv if joint.may_lock or joint.is_loaded else 0):
                rubs = _friction(joint, k)
                rigid = joint.restitution is not None
                ends = (joint.lower[k], joint.upper[k]) if rigid else (-np.inf, np.inf)
                if not any(rubs[:4]) and not np.isfinite(ends).any():
                    continue
                name = joint.name if joint.nv == 1 else f"{joint.name}[{k}]"
                column = tree.velocities[joint.name].start + k
                force = rubs[1] or energy / sizes[column]
                bounce = joint.restitution[k] if rigid else 0.0
                place = tree.coordinates[joint.name].start + k
                found.append((name, place, column, *rubs, *ends, bounce, sizes[column], pace * sizes[column], force))
                called.append(_called(name, ends, tree))
        if not found:
            return None
        names, *arrays = zip(*found, strict=True)
        return cls(names, sum(joint.nq for joint in joints), tuple(called), *map(np.array, arrays))

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The events of `run.events` that limits make."""
        found = list[Limit]()
        for k, ends in enumerate(self.ends):
            for side, (name, which), end in zip((1, -1), ends, (self.lower[k], self.upper[k]), strict=True):
                if np.isfinite(end):
                    function = partial(_gap, int(self.places[k]), int(self.nq + self.columns[k]), float(end), side)
                    found.append(Limit(function, -1, False, f"{name} strikes its {which} limit", k, side))
        return tuple(found)

    @cached_property
    def changes(self) -> dict[tuple[int, int, bool], Change]:
        """Further events of `run.events`: sticking, slipping, coming to rest at limits and leaving them."""
        found = list[Change]()
        for k, name in enumerate(self.names):
            function = partial(_speed, int(self.nq + self.columns[k]))
            words = [(0, f"{name} sticks", f"{name} slips")] if self.may_stick[k] else []
            words += [
                (side, f"{owner} rests at its {which} limit", f"{owner} leaves its {which} limit")
                for side, (owner, which), end in zip((1, -1), self.ends[k], (self.lower[k], self.upper[k]), strict=True)
                if np.isfinite(end)
            ]
            for side, begins, ends in words:
                found.append(Change(function, 0, False, begins, k, side, True))
                found.append(Change(function, 0, False, ends, k, side, False))
        return {(change.k, change.side, change.held): change for change in found}

    def changed(self, before: np.ndarray, held: Held, q: np.ndarray) -> list[Change]:
        """What happened, if some coordinates were held before, at a configuration."""
        at = q[self.places]
        sides = np.where(at <= self.lower, 1, np.where(at >= self.upper, -1, 0))
        every = ((int(k), int(sides[k]), bool(held.stuck[k])) for k in np.flatnonzero(before != held.stuck))
        return [self.changes[one] for one in every if one in self.changes]

    # ------------------------------------------------------------ one state

    def bounds(self, q: np.ndarray, loads: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of the forces that can hold each coordinate, in units of `scale`."""
        at, most = q[self.places], (self.sticking + self.static_coefficient * loads) / self.scale
        return np.where(at >= self.upper, -np.inf, -most), np.where(at <= self.lower, np.inf, most)

    def exactly(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """States that were found from poses of bodies: what is nearly at a limit is there, what is nearly at rest
        rests."""
        q, v, at = q.copy(), v.copy(), q[..., self.places]
        for end in (self.lower, self.upper):
            at = np.where(np.abs(at - end) <= NEARLY * self.sizes, end, at)
        speeds = v[..., self.columns]
        q[..., self.places] = at
        v[..., self.columns] = np.where(np.abs(speeds) <= NEARLY * self.speeds, 0.0, speeds)
        return q, v

    @property
    def may_stick(self) -> np.ndarray:
        """Which coordinates friction can hold."""
        found: np.ndarray = (self.sticking > 0.0) | (self.static_coefficient > 0.0)
        return found

    def _response(self, dynamics: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float) -> Response:
        """Accelerations of these coordinates and loads under u, and what a unit of each's force adds."""
        if dynamics.loads is not None:
            found: Response = dynamics.loads.response(q, v, u, t, self.columns, self.scale)
            return found
        n = len(self.columns)
        trials = np.tile(u, (n + 1, 1))
        trials[np.arange(n) + 1, self.columns] += self.scale
        states = [np.tile(x, (n + 1, 1)) for x in (q, v)]
        a = dynamics.mechanism.accelerations_under(*states, trials, t)[:, self.columns]
        none = np.zeros((0, 3)), np.zeros((0, 3, n)), np.zeros(0, dtype=int)
        return Response(self.scale * a[0], self.scale[:, None] * (a[1:] - a[0]).T, *none)

    def held(
        self, dynamics: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float, breaking: bool = False
    ) -> Held:
        """What is held at a state, and the forces. `breaking`: those at rest whose force is at its bound get away."""
        response = self._response(dynamics, q, v, u, t)
        loads = response.loads(np.zeros(len(self.columns)))
        for _ in range(LOADINGS):
            found = self._held(response, q, v[self.columns], loads, breaking)
            now = response.loads(found.force / self.scale)
            if np.abs(now - loads).max() <= LOADED * np.abs(now).max():
                return found
            loads = now
        loaded = ", ".join(repr(self.names[k]) for k in np.flatnonzero(self.static_coefficient + self.coefficient))
        raise FrictionLoadError(
            f"simulate: what friction of {loaded} holds at t = {t:.8g} s cannot be found: it changes its own load by "
            "more than itself (Painlevé's paradox); look at friction_coefficient, bearing_radius and guide_length"
        )

    def _held(self, response: Response, q: np.ndarray, speeds: np.ndarray, loads: np.ndarray, breaking: bool) -> Held:
        """The same for given loads of the joints."""
        low, high = self.bounds(q, loads)
        dry, slip = (self.slipping + self.coefficient * loads) / self.scale, np.sign(speeds)
        x = -self.directions(speeds, slip) * dry
        rest = np.flatnonzero((slip == 0.0) & (low < high))
        while len(rest):
            moving = np.setdiff1d(np.arange(len(x)), rest)
            W = response.W[np.ix_(rest, rest)]
            a = response.a[rest] + response.W[np.ix_(rest, moving)] @ x[moving]
            share = forces_in_box(a, W, low[rest], high[rest])
            then = a + W @ share
            size = AT_BOUND * (np.abs(a).max() + np.abs(W).sum(axis=1).max())
            near = AT_BOUND * np.minimum(-low[rest], high[rest])  # that of friction, and none of a limit alone
            near = np.where(near > 0.0, near, AT_BOUND)
            up = (share <= low[rest] + near) & (breaking | (then > size))
            down = (share >= high[rest] - near) & (breaking | (then < -size))
            x[rest] = share
            if not (up | down).any():
                break
            slip[rest] = np.where(up, 1.0, np.where(down, -1.0, 0.0))
            x[rest] = -np.where(self.speed[rest] > 0.0, 0.0, slip[rest]) * dry[rest]
            rest = rest[~(up | down)]
        return Held(np.isin(np.arange(len(slip)), rest), slip, x * self.scale)

    def directions(self, speeds: np.ndarray, slip: np.ndarray) -> np.ndarray:
        """How much of their friction coordinates have, by speeds and, where it sticks, by the direction of slip."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.speed > 0.0, np.tanh(speeds / self.speed), slip)

    def under_way(
        self, dynamics: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: float, held: Held
    ) -> tuple[Response, np.ndarray]:
        """The response at a state while `held` lasts, and the forces, in units of `scale`."""
        v = v.copy()
        v[self.columns[held.stuck]] = 0.0
        response = self._response(dynamics, q, v, u, t)
        part = self.directions(v[self.columns], held.slip)
        dry = self.slipping / self.scale, self.coefficient / self.scale
        return response, slipping_forces(response, held.stuck, part, *dry, self.names)

    def forces(self, dynamics: Any, q: np.ndarray, v: np.ndarray, u: np.ndarray, t: np.ndarray) -> np.ndarray:
        """The forces along all velocities (..., nv), at states under generalized forces u."""
        found = np.zeros(v.shape)
        rows = [np.broadcast_to(x, (*v.shape[:-1], x.shape[-1])).reshape(-1, x.shape[-1]) for x in (q, v, u)]
        times = np.broadcast_to(t, v.shape[:-1]).ravel()
        for k, (at, speed, under) in enumerate(zip(*rows, strict=True)):
            force = self.held(dynamics, at, speed, np.array(under), float(times[k])).force
            found.reshape(-1, v.shape[-1])[k, self.columns] = force
        return found

    def during(self, dynamics: Any, held: Held, q: np.ndarray, t: float, u: np.ndarray) -> tuple[Any, np.ndarray]:
        """Dynamics while `held` lasts, from a configuration and a time on, and forces along its own velocities."""
        locked, under = dynamics.locked(tuple(self.columns[held.stuck].tolist()), q, t), u.copy()
        if dynamics.in_joints.loads is None:
            under[self.columns] += np.where(held.stuck, 0.0, held.force)
        else:
            locked.loading = Loading(self, dynamics, held)
        return locked, dynamics.from_joints(under)


def refuse_sticking(function: str, system: Any) -> None:
    """ValueError for what needs forces that are functions of the state."""
    for joint in system.joints:
        if joint.sticks:
            raise ValueError(
                f"{function}: joint {joint.name!r} has stick-slip friction (friction_speed = 0), which only simulate "
                "supports; set friction_speed to a positive number [rad/s or m/s] and static_friction = 0 for a smooth "
                "law, or friction = 0"
            )
        if joint.is_loaded:
            raise ValueError(
                f"{function}: the friction of joint {joint.name!r} depends on its load (friction_coefficient), which "
                "only simulate supports; set friction [N or N m] and friction_speed instead"
            )
        if joint.has_rigid_limits:
            raise ValueError(
                f"{function}: joint {joint.name!r} has rigid limits (restitution), which only simulate supports; "
                "remove restitution, or make the limits elastic with stop_stiffness"
            )


def problem_at(dynamics: Any, t: float, y: np.ndarray, u: np.ndarray | None) -> Any:
    """The problem that holds at a state: what is held there is locked."""
    set_valued = dynamics.set_valued
    if set_valued is None:
        return dynamics.problem(u)
    q, v = dynamics.exact_coordinates(y)
    under = dynamics.to_joints(u)
    held = set_valued.held(dynamics.in_joints, q, v, under, t)
    locked, under = set_valued.during(dynamics, held, q, t, under)
    return locked.problem(under)


class Loading(NamedTuple):
    """Friction that depends on loads, while `held` lasts: what `dynamics` adds to a problem."""

    set_valued: SetValued
    dynamics: Any
    held: Held

    def added_to(self, problem: Any, control: slice, u: np.ndarray) -> Any:
        """The problem with this friction, whose field is then plain Python around the compiled one."""
        inner, dynamics = problem.field, self.dynamics
        columns, given = self.set_valued.columns, dynamics.to_joints(u)
        moving = ~self.held.stuck

        def loaded_motion(t: float, y: np.ndarray, p: np.ndarray) -> np.ndarray:
            q, v = dynamics.coordinates(y)
            x = self.set_valued.under_way(dynamics.in_joints, q, v, given, t, self.held)[1] * self.set_valued.scale
            under, out = given.copy(), np.empty(problem.space.dimension)
            under[columns[moving]] += x[moving]
            p[control] = dynamics.from_joints(under)
            inner(
                t, y, p, out
            )  # on its own parameters: a projection after a step takes the factor that this leaves there
            return out

        return replace(problem, field=loaded_motion)


def _friction(joint: Joint, k: int) -> tuple[float, ...]:
    """Forces and coefficients of slipping and sticking, and the speed of smooth friction, as far as they are not in
    the tables of forces."""
    slides = joint.friction_coefficient
    if not joint.sticks:
        return 0.0, 0.0, slides, 0.0, joint.friction_speed if joint.is_loaded else 0.0
    return joint.friction[k], joint.holding_friction[k], slides, max(slides, joint.static_friction_coefficient), 0.0


def _called(name: str, ends: tuple[float, float], tree: Any) -> tuple[End, End]:
    """Whose the limits of a coordinate are: those of its own joint, or those that a follower brings."""
    own, joints = [End(name, "lower"), End(name, "upper")], {joint.name: joint for joint in tree.all_joints}
    led = {} if tree.dependence is None else tree.dependence.following
    for follower, (leader, ratio, offset) in led.items():
        if leader != name or ratio == 0.0:
            continue
        reach = [(End(follower, which), (getattr(joints[follower], which)[0] - offset) / ratio) for which in SIDES]
        for k, (end, place) in enumerate(sorted(reach, key=lambda one: one[1])):
            if place == ends[k] and getattr(joints[name], SIDES[k])[0] != place:
                own[k] = end
    return own[0], own[1]


def _speed(column: int, t: float, y: np.ndarray, p: np.ndarray) -> float:
    return float(y[column])


def _gap(place: int, column: int, end: float, side: int, t: float, y: np.ndarray, p: np.ndarray) -> float:
    """The distance from a limit; at the limit it counts where the velocity goes."""
    gap = side * (float(y[place]) - end)
    return gap or (np.finfo(float).tiny if side * y[column] >= 0.0 else -np.finfo(float).tiny)
