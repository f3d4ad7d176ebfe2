"""Equilibria over a parameter, through folds: `continuation(system, (0.0, 10.0))`, by pseudo-arclength.

Equilibria f(x, p) = 0 in independent coordinates x form curves in (x, p). Steps go along the tangent of the curve and
back onto it across that, so that p may turn round. Angles are compared with 1 rad, lengths with those of the model, the
parameter with its span, forces with what acts: units do not matter. At a fold p turns round; where the determinant of
the equations bordered by the tangent changes its sign, another branch crosses.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chasles.assembly.search import ASSEMBLED, attempt
from chasles.registry import service
from chasles.relative.loop.assembly import LoopEquations
from chasles.relative.loop.closed import ClosedMechanism, in_joint_coordinates
from chasles.simulation.bodies.equilibrium import system_of
from chasles.simulation.closed.statics import ClosedStatics
from chasles.simulation.equilibrium import Equilibrium, equilibrium
from chasles.simulation.linearize import Linearization, linearize
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.start.values import Values
from chasles.simulation.tree.statics import Point, Statics

FIRST, LONGEST, SHORTEST = 0.01, 0.05, 1e-7  # steps, in 1 rad, lengths of the model and the parameter's span
CORRECTIONS = 10
CORRECTED = 1e-9  # of a correction, after which one more follows
LEFT = 1e-10  # of the forces, relative to what acts
BENT = 0.95  # cosine of the angle by which the curve may turn in a step
VARIED = 1e-4  # of the span: for the derivative with respect to the parameter, of fourth order
LOCATED = 1e-12  # of special points along the curve


class SpecialPoint(NamedTuple):
    """A fold, at which the parameter turns round, or a bifurcation, at which another branch crosses."""

    kind: str
    parameter: float
    q: np.ndarray
    place: int  # among the points of the branch


@dataclass(frozen=True)
class Branch:
    """Equilibria along a curve, in the order in which it goes through them: parameter (n,), q (n, nq).

    stability: of each what small displacements do to the energy, as of `equilibrium`; `unstable`: in how many
    directions they lower it. `special`: folds and bifurcations, which are points of the branch too.
    """

    parameter: np.ndarray
    q: np.ndarray
    stability: tuple[str, ...]
    unstable: np.ndarray
    special: tuple[SpecialPoint, ...]
    joints: dict[str, slice]
    name: str
    message: str  # how it ended
    build: Callable[[float], Any]
    t: float = 0.0

    @property
    def folds(self) -> tuple[SpecialPoint, ...]:
        """Where the parameter turns round."""
        return tuple(point for point in self.special if point.kind == "fold")

    @property
    def bifurcations(self) -> tuple[SpecialPoint, ...]:
        """Where other branches cross."""
        return tuple(point for point in self.special if point.kind == "bifurcation")

    def linearize(self, index: int) -> Linearization:
        """The linear system about one of the equilibria, with its frequencies."""
        return linearize(self.build(float(self.parameter[index])), self.q[index], t=self.t)

    def plot(self, *joints: str, file: str | Path | None = None, size: tuple[float, float] | None = None) -> Any:
        """Coordinates of joints (default: all) over the parameter: stable parts solid, others dashed, special points
        marked."""
        return service("plot branch")(self, *joints, file=file, size=size)

    def __str__(self) -> str:
        lines = [f"{len(self.parameter)} equilibria over {self.name}; {self.message}"]
        return "\n".join([*lines, *(f" {x.kind} at {self.name} = {x.parameter:.12g}" for x in self.special)])

    __repr__ = __str__


class Place(NamedTuple):
    """A point of a branch: where it is, its forces and stiffness, and its direction (x in its sizes, p in its span)."""

    p: float
    point: Point
    by_p: np.ndarray  # derivative of the forces with respect to the parameter
    tangent: np.ndarray
    border: float  # determinant of the bordered equations


class EquilibriumCurve:
    """The equations of the equilibria of systems that depend on a parameter."""

    def __init__(self, build: Callable[[float], Any], span: float, t: float):
        self.build, self.span, self.t = build, span, t
        self._known: dict[float, Statics] = {}

    def statics(self, p: float) -> Statics:
        """Forces on the system with the parameter p; the last few are kept."""
        if p not in self._known:
            if len(self._known) > 8:
                self._known.pop(next(iter(self._known)))
            mechanism = in_joint_coordinates("continuation", self.build(p))
            refuse_sticking("continuation", mechanism.system)
            u = np.zeros(mechanism.nv)
            if isinstance(mechanism, ClosedMechanism):
                self._known[p] = ClosedStatics(mechanism, u, self.t)
            else:
                self._known[p] = Statics(mechanism, u, self.t)
        return self._known[p]

    def moved(self, base: Point, x: np.ndarray, p: float) -> Point | None:
        """The configuration with the independent coordinates of `base` moved by x, of the system with p."""
        statics = self.statics(p)
        q = statics.tree.retract(base.q, base.basis @ x)
        if isinstance(statics, ClosedStatics):
            equations = LoopEquations(statics.mechanism, self.t, base.chosen)
            q = attempt(equations, q)
            if not np.isfinite(q).all() or equations.off(q, ASSEMBLED) is not None or statics.mechanism.turned(q):
                return None
        point = statics.at(q)
        if len(point.chosen) != len(base.chosen):
            return None
        return _along(point, base.chosen)

    def slope(self, base: Point, p: float) -> np.ndarray:
        """Derivative of the forces with respect to the parameter, by a difference of fourth order."""
        h, total = VARIED * self.span, np.zeros(len(base.chosen))
        for k, weight in ((1, 8.0), (2, -1.0)):
            for sign in (1.0, -1.0):
                point = self.moved(base, np.zeros(len(base.chosen)), p + sign * k * h)
                if point is None:
                    raise RuntimeError(f"continuation: no configuration at the parameter {p + sign * k * h:g}")
                total += sign * weight * point.left
        return total / (12.0 * h)

    def equations(self, point: Point, by_p: np.ndarray) -> np.ndarray:
        """Derivatives of the forces with respect to (x, p) in their units, relative to what acts."""
        scale = point.scale + np.abs(by_p) * self.span
        rows = np.concatenate([-point.stiffness * point.sizes, (by_p * self.span)[:, None]], axis=1)
        return rows / np.where(scale > 0.0, scale, 1.0)[:, None]

    def placed(self, p: float, point: Point, ahead: np.ndarray | None) -> Place:
        """A point of the branch with its direction; `ahead`: (δq, δp) with which it goes the same way."""
        by_p = self.slope(point, p)
        rows = self.equations(point, by_p)
        tangent = np.linalg.svd(rows)[2][-1]
        if ahead is not None:
            along = np.append(ahead[:-1][point.chosen] / point.sizes, ahead[-1] / self.span)
            tangent = tangent if tangent @ along >= 0.0 else -tangent
        bordered = np.concatenate([rows, tangent[None]])
        return Place(
            p, point, by_p, tangent, float(np.linalg.det(bordered / np.linalg.norm(bordered, axis=1)[:, None]))
        )

    def ahead(self, place: Place) -> np.ndarray:
        """The direction of a place in all coordinates and the parameter."""
        x = place.point.sizes * place.tangent[:-1]
        return np.append(place.point.basis @ x, self.span * place.tangent[-1])

    def step(self, place: Place, s: float) -> tuple[Place, int] | None:
        """The point of the branch at s along the tangent, and the corrections it took; None if there is none near."""
        base, units = place.point, np.append(place.point.sizes, self.span)
        y, by_p, near = s * place.tangent, place.by_p, False
        for k in range(CORRECTIONS):
            p = place.p + self.span * y[-1]
            point = self.moved(base, units[:-1] * y[:-1], p)
            if point is None:
                return None
            rows = np.concatenate([self.equations(point, by_p), place.tangent[None]])
            scale = point.scale + np.abs(by_p) * self.span
            left = point.left / np.where(scale > 0.0, scale, 1.0)
            if near:
                done = np.abs(left).max(initial=0.0) <= LEFT
                return (self.placed(p, self._own(p, point), self.ahead(place)), k) if done else None
            try:
                change = np.linalg.solve(rows, np.append(-left, s - place.tangent @ y))
            except np.linalg.LinAlgError:
                return None
            y, near = y + change, bool(np.abs(change).max() < CORRECTED)
            if not np.abs(change).max() < 10.0 * max(abs(s), LONGEST):
                return None
        return None

    def _own(self, p: float, point: Point) -> Point:
        """The point with independent coordinates of its own choice."""
        return self.statics(p).at(point.q)

    def located(self, place: Place, s: float, function: Callable[[Place], float]) -> Place | None:
        """The point within a step s from a place at which a function changes its sign."""
        from scipy.optimize import brentq  # slow to load

        found: dict[float, Place] = {0.0: place}

        def value(length: float) -> float:
            if length not in found:
                other = self.step(place, length)
                if other is None:
                    raise ArithmeticError
                found[length] = other[0]
            return function(found[length])

        try:
            root = brentq(value, 0.0, s, xtol=LOCATED, rtol=1e-14)
            value(root)
        except (ArithmeticError, ValueError):
            return None
        return found[root]


def _along(point: Point, chosen: np.ndarray) -> Point:
    """The same point with other independent coordinates."""
    if np.array_equal(point.chosen, chosen):
        return point
    turn = np.linalg.inv(point.basis[chosen])
    sizes = np.abs(turn.T) @ point.sizes if len(chosen) else point.sizes
    return point._replace(
        left=turn.T @ point.left,
        play=np.abs(turn.T) @ point.play,
        sizes=sizes,
        stiffness=turn.T @ point.stiffness @ turn,
        error=np.abs(turn.T) @ point.error @ np.abs(turn),
        chosen=chosen,
        basis=point.basis @ turn,
    )


def continuation(
    system: Callable[[float], Any],
    span: tuple[float, float],
    q: Values | None = None,
    *,
    start: float | None = None,
    t: float = 0.0,
    points: int = 400,
    max_step: float = LONGEST,
    name: str = "parameter",
) -> Branch:
    """The branch of equilibria that begins at span[0] near q, followed through folds until the parameter leaves span.

    start: where in the span it begins, if not at span[0]; it goes toward span[1] first.

    system: a function of the parameter that gives a System, such as `lambda x: load("toggle.toml",
    set={"parameters.load": x}).system`; forces, lengths, masses, anything may depend on it. q as for `equilibrium`,
    which finds the first point. At most `points` are found, none farther from the one before than max_step: in 1 rad,
    lengths of the model and the span. Folds and bifurcations are located. At a bifurcation the branch goes straight on.
    """
    where = "continuation"
    if not callable(system):
        raise TypeError(f"{where}: system is {system!r}; expected a function of the parameter that gives a System")
    first, last = (float(x) for x in span)
    if not (np.isfinite([first, last]).all() and first != last):
        raise ValueError(f"{where}: span is {span!r}; expected two numbers that differ, where it begins and ends")
    if points < 2 or not max_step > 0.0:
        raise ValueError(f"{where}: points is {points}, max_step {max_step}; expected 2 or more, and more than zero")
    at = first if start is None else float(start)
    if not min(first, last) <= at <= max(first, last):
        raise ValueError(f"{where}: start is {start}; expected a number within the span from {first:g} to {last:g}")
    curve = EquilibriumCurve(system, abs(last - first), float(t))
    begin_with = system(at)
    if system_of(begin_with) is not None:
        raise ValueError(f"{where}: not for systems with rods; chasles.rods.load_path follows these over their loads")
    rest = equilibrium(begin_with, q, t=t)
    assert isinstance(rest, Equilibrium)
    begin = curve.statics(at).at(rest.q)
    if not len(begin.chosen):
        raise ValueError(f"{where}: the system has no degree of freedom, so there is no equilibrium to follow")
    place = curve.placed(at, begin, np.append(np.zeros(len(begin.basis)), last - first))
    places, special, message = _followed(curve, place, min(first, last), max(first, last), points, max_step)
    found = [_equilibrium(curve, x) for x in places]
    parameters = np.array([x.p for x in places])
    marks = tuple(
        SpecialPoint(kind, x.p, x.point.q, next(k for k, other in enumerate(places) if other is x))
        for kind, x in special
    )
    unstable = np.array([int(np.count_nonzero(values < -errors)) for values, errors in (e._curvatures for e in found)])
    stability = tuple(x.stability for x in found)
    joints = {key: where_in_q for key, where_in_q in rest.joints.items() if where_in_q.stop > where_in_q.start}
    every = np.array([x.point.q for x in places])
    return Branch(parameters, every, stability, unstable, marks, joints, name, message, system, float(t))


def _equilibrium(curve: EquilibriumCurve, place: Place) -> Equilibrium:
    point = place.point
    residual = float(np.abs(point.left).max(initial=0.0))
    every = curve.statics(place.p).found(point)
    return Equilibrium(point.q, residual, 0, point.stiffness, point.error, **every)


def _followed(
    curve: EquilibriumCurve, place: Place, low: float, high: float, points: int, longest: float
) -> tuple[list[Place], list[tuple[str, Place]], str]:
    """Points of a branch from the first on, those of them that are special, and how it ended."""
    places, special = [place], list[tuple[str, Place]]()
    s, message = min(FIRST, longest), f"ended after {points} points"
    while len(places) < points:
        found = curve.step(place, s)
        if found is None or _cosine(curve, place, found[0]) < BENT:
            s *= 0.5
            if s < SHORTEST:
                message = "ended where no step along it succeeds: the curve may end, or be singular"
                break
            continue
        then, corrections = found
        test: tuple[str, Callable[[Place], float]] | None = None
        if then.border * place.border < 0.0:
            test = "bifurcation", lambda x: x.border
        elif then.tangent[-1] * place.tangent[-1] < 0.0:
            test = "fold", lambda x: x.tangent[-1]
        if not low <= then.p <= high:
            edge = low if then.p < low else high
            end = curve.located(place, s, functools.partial(_beyond, edge))
            if end is not None and test is None:
                places.append(end)
            message = f"ended where it leaves the span, at {edge:g}"
            break
        if test is not None and (at := curve.located(place, s, test[1])) is not None:
            places.append(at)
            special.append((test[0], at))
        places.append(then)
        place, s = then, min(longest, s * (1.5 if corrections <= 4 else 0.7 if corrections > 6 else 1.0))
    return places, special, message


def _beyond(edge: float, place: Place) -> float:
    return place.p - edge


def _cosine(curve: EquilibriumCurve, one: Place, other: Place) -> float:
    """Of the angle between the directions of two places, in the coordinates of the first."""
    ahead = curve.ahead(other)
    there = np.append(ahead[:-1][one.point.chosen] / one.point.sizes, ahead[-1] / curve.span)
    return float(one.tangent @ there / np.linalg.norm(there))
