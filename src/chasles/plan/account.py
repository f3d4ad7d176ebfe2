"""The sum of all costs along a motion, with what limits add to it, and its quadratic model at each node.

A limit low <= r <= high has a multiplier y and a stiffness ρ: it adds ½ρ d², d the distance of r + y/ρ from the
interval, and y becomes the force ρ d that it took (the augmented Lagrangian).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.plan.curvature import bend_of
from chasles.plan.quantities import CALLER, MotionQuantity
from chasles.plan.terms import ALWAYS, DurationCost, EffortCost, MotionLimit, Wish, nodes_of

ROUNDING = 1e-9  # of numbers: what is less is no size
SMALL = 1e-3  # of the largest numbers that are limited: those of limits that are less are compared with the largest


@dataclass(frozen=True)
class Course:
    """A motion at its nodes: times, coordinates, velocities, the inputs of the steps between, and the duration.
    stages: t, q, v and u of all Gauss points, (intervals, stages, ...), if inputs change within steps."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray
    u: np.ndarray
    duration: float
    stages: tuple[np.ndarray, ...] | None = None

    def driven(self, steps: np.ndarray, sides: int = 1) -> list[np.ndarray]:
        """t, q, v and u of steps, where quantities of inputs are looked at: at their starts, at both sides, or at all
        stages, one after the other."""
        if self.stages is not None:
            return [x[steps].reshape(-1, *x.shape[2:]) for x in self.stages]
        nodes, own = sides_of(steps, sides)
        return [*(x[nodes] for x in (self.t, self.q, self.v)), self.u[own]]


def sides_of(steps: np.ndarray, sides: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes at the starts of steps, or at both sides, and the step of each."""
    return (steps[:, None] + np.arange(sides)).ravel(), np.repeat(steps, sides)


@dataclass
class Quadratic:
    """First and second derivatives of the cost by the state x of each node and the input u of each step; `cross`: by
    the input of a step and the state at its end."""

    x: np.ndarray
    u: np.ndarray
    xx: np.ndarray
    uu: np.ndarray
    ux: np.ndarray
    cross: np.ndarray

    def add(self, places: np.ndarray, sides: int, n: int, first: np.ndarray | None, second: np.ndarray) -> None:
        """Add first and second derivatives by (δ, δv), or with inputs behind, of numbers at nodes, or in steps."""
        nodes, steps = sides_of(places, sides)
        np.add.at(self.xx[:, :n, :n], nodes, second[:, :n, :n])
        if first is not None:
            np.add.at(self.x[:, :n], nodes, first[:, :n])
        if second.shape[1] > n:
            np.add.at(self.uu, steps, second[:, n:, n:])
            for side, mixed in enumerate((self.ux, self.cross)[:sides]):
                np.add.at(mixed[:, :, :n], places, second[side::sides, n:, :n])
            if first is not None:
                np.add.at(self.u, steps, first[:, n:])

    def fold(self, A: np.ndarray, B: np.ndarray) -> None:
        """Put the states at the ends of steps down to those at the starts: x⁺ = A x + B u."""
        both = self.cross @ B
        self.ux += self.cross @ A
        self.uu += both + both.transpose(0, 2, 1)
        self.cross = np.zeros_like(self.cross)

    def arrays(self) -> tuple[np.ndarray, ...]:
        return self.x, self.u, self.xx, self.uu, self.ux


class Restraint:
    """A limit at its nodes, or in its steps (`driven`), with its multipliers and its stiffness."""

    def __init__(self, limit: MotionLimit, edges: np.ndarray, rows: int, stages: int | None = None):
        """stages: how many times a step quantities of inputs are limited, if not at its sides."""
        self.limit, self.driven, self.stiffness = limit, limit.quantity.driven, 1.0
        self.nodes = nodes_of(limit.when, edges, self.driven)
        shape, times = (len(self.nodes), rows), (stages or limit.sides) if self.driven else 1
        try:
            self.low, self.high = (np.repeat(np.broadcast_to(x, shape), times, axis=0) for x in (limit.low, limit.high))
        except ValueError:
            raise ValueError(
                f"{CALLER}: the limits of {limit.quantity.name} have shapes {limit.low.shape} and {limit.high.shape}; "
                f"expected a number, or {rows}"
            ) from None
        self.multipliers = np.zeros(self.low.shape)

    def push(self, values: np.ndarray) -> np.ndarray:
        """ρ d of values (nodes, rows)."""
        moved = values + self.multipliers / self.stiffness
        return self.stiffness * (moved - np.clip(moved, self.low, self.high))

    def added(self, values: np.ndarray) -> float:
        """What it adds to the cost."""
        return float((self.push(values) ** 2 - self.multipliers**2).sum() / (2 * self.stiffness))

    def active(self, values: np.ndarray) -> np.ndarray:
        """Which rows act."""
        return (self.low == self.high) | (self.push(values) != 0.0)

    def off(self, values: np.ndarray) -> np.ndarray:
        """By how much rows are violated."""
        return np.abs(values - np.clip(values, self.low, self.high))


class Account:
    """Costs and limits of a mechanism over so many steps; extra: numbers of the state behind (δ, δv), first the
    duration if it is free."""

    def __init__(
        self,
        mechanism: Any,
        steps: int,
        inputs: int,
        costs: Sequence[Any],
        limits: Sequence[MotionLimit],
        design: Mapping[str, Any] | None = None,
        edges: np.ndarray | None = None,
        stages: int | None = None,
    ):
        """design: parameters of the system by name, for quantities that are functions of them too. edges: at which
        shares of the duration nodes are, if steps are not equal. stages: Gauss points of each step, if inputs change
        within it."""
        self.edges = np.arange(steps + 1) / steps if edges is None else edges
        costs, limits = _given(costs, design or {}), _given(limits, design or {})
        self.mechanism, self.tree, self.steps = mechanism, getattr(mechanism, "spanning", mechanism), steps
        self.idle = np.zeros((1, inputs))
        self.efforts, self.durations, self.wishes = list[EffortCost](), list[DurationCost](), list[Wish]()
        for cost in costs:
            self._sort(cost)
        for effort in self.efforts:
            if effort.weight.shape not in ((), (inputs,)):
                raise ValueError(
                    f"{CALLER}: effort has {effort.weight.size} weights; expected one, or {inputs}, one for each input"
                )
        quantified: list[Any] = [*self.wishes, *limits]
        for one in quantified:
            one.quantity.prepare(self.tree)
        neutral, still = self.tree.neutral()[None], np.zeros((1, self.tree.nv))
        rows = {id(one): self._numbers(one.quantity, np.zeros(1), neutral, still)[0].shape[1] for one in limits}
        self.restraints = [Restraint(self._sided(one), self.edges, rows[id(one)], stages) for one in limits]
        self.wishes = [self._sided(one) for one in self.wishes]
        for wish in self.wishes:
            count = self._numbers(wish.quantity, np.zeros(1), neutral, still)[0].shape[1]
            if wish.weight.shape not in ((), (count,)):
                raise ValueError(
                    f"{CALLER}: the weights of {wish.quantity.name} have shape {wish.weight.shape}; expected a number, "
                    f"or {count}"
                )

    def _sided(self, one: Any) -> Any:
        """A wish or a limit that says at how many sides of a step it is looked at: at both, if its numbers change while
        inputs are held, but if they are to be met, which may not be possible twice."""
        twice = always_of(one) if isinstance(one, Wish) else bool((one.low < one.high).all())
        if not (one.quantity.driven and twice):
            return one
        rng, inputs = np.random.default_rng(0), self.idle.shape[1]
        q, v = self.tree.random(rng)[None], rng.normal(size=(1, self.tree.nv))
        slopes = one.quantity.numbers(self.tree, np.zeros(1), q, v, rng.normal(size=(1, inputs)))[1]
        return replace(one, sides=2) if slopes[..., : 2 * self.tree.nv].any() else one

    def of(self, mechanism: Any, design: Mapping[str, Any]) -> Account:
        """The same costs and limits for other parameters."""
        found = copy(self)
        found.mechanism, found.tree = mechanism, getattr(mechanism, "spanning", mechanism)
        found.wishes = _given(self.wishes, design)
        found.restraints = [copy(one) for one in self.restraints]
        for one in found.restraints:
            (one.limit,) = _given([one.limit], design)
        return found

    def _sort(self, cost: Any) -> None:
        if isinstance(cost, EffortCost):
            self.efforts.append(cost)
        elif isinstance(cost, DurationCost):
            self.durations.append(cost)
        elif isinstance(cost, Wish):
            self.wishes.append(cost)
        else:
            raise TypeError(f"{CALLER}: {cost!r} is not a cost; expected effort, duration, tracking or final")

    def _numbers(
        self, what: MotionQuantity, t: np.ndarray, q: np.ndarray, v: np.ndarray, row: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of one state; row: of a target for each place."""
        if isinstance(target := getattr(what, "target", None), np.ndarray) and target.ndim == 2 and len(t) == 1:
            return type(what)(what.frame, target[row]).numbers(self.tree, t, q, v)  # type: ignore[attr-defined, call-arg]
        return what.numbers(self.tree, t, q, v, self.idle)

    def _weights(self, wish: Wish, duration: float) -> tuple[np.ndarray, np.ndarray]:
        """Nodes or steps of a wish, and what each counts."""
        nodes = nodes_of(wish.when, self.edges, wish.quantity.driven)
        if not isinstance(wish.when, str) or wish.when != ALWAYS:
            return nodes, np.ones(len(nodes) * wish.sides)
        shares = np.full(len(nodes) * wish.sides, duration / self.steps / wish.sides)
        if not wish.quantity.driven:
            shares[[0, -1]] *= 0.5
        return nodes, shares

    def _at(
        self, what: MotionQuantity, nodes: np.ndarray, course: Course, sides: int = 1
    ) -> tuple[np.ndarray, np.ndarray]:
        """The numbers at nodes, or of inputs in steps, and their derivatives."""
        if what.driven:
            return what.numbers(self.tree, *course.driven(nodes, sides))
        return what.numbers(self.tree, course.t[nodes], course.q[nodes], course.v[nodes])

    def require_timeless(self, begin: float, end: float) -> None:
        """ValueError if a quantity changes in time by itself: with a free duration its times would move."""
        every: list[Any] = [*self.wishes, *(one.limit for one in self.restraints)]
        q, v = self.tree.neutral()[None], np.zeros((1, self.tree.nv))
        for one in every:
            values = [self._numbers(one.quantity, np.array([t]), q, v)[0] for t in np.linspace(begin, end, 4)]
            if any(not np.array_equal(values[0], other, equal_nan=True) for other in values[1:]):
                raise ValueError(
                    f"{CALLER}: {one.quantity.name} depends on the time, and the duration is free; hold the duration, "
                    "or give one target for each node"
                )

    def require_finite(self, course: Course) -> None:
        """ValueError if a quantity has no numbers along a motion."""
        every: list[Any] = [*self.wishes, *(one.limit for one in self.restraints)]
        for one in every:
            values = self._at(one.quantity, nodes_of(one.when, self.edges, one.quantity.driven), course)[0]
            if not np.isfinite(values).all():
                k = int(np.argmin(np.isfinite(values).all(axis=1)))
                raise ValueError(f"{CALLER}: {one.quantity.name} is not finite at its node {k} under the guess")

    # ------------------------------------------------------------ values

    def cost(self, course: Course) -> float:
        """What is to be small, without limits."""
        return self.motion_cost(course) + sum(one.weight * course.duration for one in self.durations)

    def motion_cost(self, course: Course) -> float:
        """The cost of the motion and its inputs, without that of the duration."""
        h = course.duration / self.steps
        total = sum(h * float((effort.weight * course.u**2).sum()) for effort in self.efforts)
        for wish in self.wishes:
            nodes, shares = self._weights(wish, course.duration)
            values, _ = self._at(wish.quantity, nodes, course, wish.sides)
            total += float(shares @ (wish.weight * values**2).sum(axis=1))
        return total

    def values(self, course: Course) -> list[np.ndarray]:
        """The numbers that are limited, of each limit."""
        return [self.at_limit(one, course)[0] for one in self.restraints]

    def at_limit(self, one: Restraint, course: Course) -> tuple[np.ndarray, np.ndarray]:
        """The numbers that are limited, and their derivatives."""
        return self._at(one.limit.quantity, one.nodes, course, one.limit.sides)

    def scales(self, course: Course, units: np.ndarray) -> list[float]:
        """What is large for the numbers of each limit: their bounds and their values along a motion, or if these are
        far smaller than those of other limits, the largest of all. Numbers that are rounding of what changes of the
        state by its units make of them, as the speed of an arm that is held at rest, have no size of their own."""
        found, usual, units = [], [], np.concatenate([units, 1.0 + np.abs(course.u).max(axis=0)])
        for one in self.restraints:
            values, slopes = self.at_limit(one, course)
            usual.append(float(np.abs(slopes @ units[: slopes.shape[2]]).max(initial=0.0)))
            given = np.concatenate([one.low[np.isfinite(one.low)], one.high[np.isfinite(one.high)], values.ravel()])
            size = float(np.abs(given).max(initial=0.0))
            found.append(size if size > ROUNDING * usual[-1] else 0.0)
        largest = max(found, default=0.0) or max(usual, default=0.0) or 1.0
        return [scale if scale > SMALL * largest else largest for scale in found]

    def merit(self, course: Course) -> float:
        """The cost with what limits add."""
        pairs = zip(self.restraints, self.values(course), strict=True)
        return self.cost(course) + sum(one.added(values) for one, values in pairs)

    # ------------------------------------------------------------ derivatives

    def quadratic(self, course: Course, extra: int, timed: bool) -> Quadratic:
        """Derivatives, with Hessians of Gauss and Newton; extra: constants behind the state, with `timed` the duration
        first."""
        N, n, m = self.steps, 2 * self.tree.nv, course.u.shape[1]
        size, h = n + extra, course.duration / self.steps
        found = Quadratic(
            *(np.zeros((N + 1, size)), np.zeros((N, m)), np.zeros((N + 1, size, size)), np.zeros((N, m, m))),
            *(np.zeros((N, m, size)), np.zeros((N, m, size))),
        )
        running = np.zeros(N + 1)
        for effort in self.efforts:
            weight = np.broadcast_to(effort.weight, (m,))
            found.u += 2 * h * weight * course.u
            found.uu[:, np.arange(m), np.arange(m)] += 2 * h * weight
            running[:N] += h * (weight * course.u**2).sum(axis=1)
        later = []
        for wish in self.wishes:
            nodes, shares = self._weights(wish, course.duration)
            values, slopes = self._at(wish.quantity, nodes, course, wish.sides)
            pull = 2 * shares[:, None] * wish.weight * values
            bend = 2 * shares[:, None] * np.broadcast_to(wish.weight, values.shape)
            if isinstance(wish.when, str) and wish.when == ALWAYS:
                np.add.at(running, sides_of(nodes, wish.sides)[0], shares * (wish.weight * values**2).sum(axis=1))
                _add(found, nodes, wish.sides, n, slopes, pull, bend)
            else:
                later.append((nodes, wish.sides, slopes, pull, bend))
        if timed:  # what has run so far is proportional to the duration
            found.x[:, n] += running / course.duration
            rate = found.x[:, :n] / course.duration
            found.xx[:, n, :n] += rate
            found.xx[:, :n, n] += rate
            found.ux[:, :, n] += found.u / course.duration
            found.x[N, n] += sum(one.weight for one in self.durations)
        for one, values in zip(self.restraints, self.values(course), strict=True):
            slopes = self.at_limit(one, course)[1]
            later.append((one.nodes, one.limit.sides, slopes, one.push(values), one.stiffness * one.active(values)))
        for nodes, sides, slopes, pull, bend in later:
            _add(found, nodes, sides, n, slopes, pull, bend)
        return found

    def add_bends(
        self, cost: Quadratic, course: Course, moved: Callable[[np.ndarray], Course], units: np.ndarray
    ) -> None:
        """Add pᵀ ∂²r of all quantities; moved: the motion after a change (δ, δv, u) of all its nodes and steps."""
        parts: list[tuple[MotionQuantity, np.ndarray, int, np.ndarray]] = []
        for wish in self.wishes:
            nodes, shares = self._weights(wish, course.duration)
            values, _ = self._at(wish.quantity, nodes, course, wish.sides)
            parts.append((wish.quantity, nodes, wish.sides, 2 * shares[:, None] * wish.weight * values))
        for one, values in zip(self.restraints, self.values(course), strict=True):
            parts.append((one.limit.quantity, one.nodes, one.limit.sides, one.push(values)))
        n = 2 * self.tree.nv
        for quantity, nodes, sides, pull in parts:
            if not quantity.straight(self.tree):

                def slopes(change: np.ndarray, of: Any = quantity, at: Any = nodes, sides: int = sides) -> np.ndarray:
                    return self._at(of, at, moved(change), sides)[1]

                cost.add(nodes, sides, n, None, bend_of(slopes, pull, units, len(units) if quantity.driven else n))


def _given(terms: Sequence[Any], design: Mapping[str, Any]) -> list[Any]:
    """Terms whose quantities know the parameters of a design."""
    if not design:
        return list(terms)
    return [replace(one, quantity=one.quantity.given(design)) if hasattr(one, "quantity") else one for one in terms]


def violated(restraints: Sequence[Restraint], values: Sequence[np.ndarray]) -> dict[str, float]:
    """The largest violation of each limit, by name."""
    triples = zip(names_of(restraints), restraints, values, strict=True)
    return {name: float(one.off(r).max(initial=0.0)) for name, one, r in triples}


def names_of(restraints: Sequence[Restraint]) -> list[str]:
    """Of limits: their quantities, and when they hold."""
    found = list[str]()
    for k, one in enumerate(restraints):
        when, own = one.limit.when, one.limit.quantity.name
        name = f"{own} ({when})" if isinstance(when, str) else f"{own} at {np.asarray(when).round(4).tolist()}"
        found.append(name if name not in found else f"{name}, limit {k}")
    return found


def always_of(one: Any) -> bool:
    """Whether a wish or a limit is one along the whole motion."""
    return isinstance(one.when, str) and one.when == ALWAYS


def _add(
    found: Quadratic, nodes: np.ndarray, sides: int, n: int, slopes: np.ndarray, pull: np.ndarray, bend: np.ndarray
) -> None:
    """Add rows with slopes (nodes, m, n), or with inputs behind, first and second derivatives by their numbers (nodes,
    m)."""
    first, second = np.einsum("kmn,km->kn", slopes, pull), slopes.transpose(0, 2, 1) @ (bend[..., None] * slopes)
    found.add(nodes, sides, n, first, second)
