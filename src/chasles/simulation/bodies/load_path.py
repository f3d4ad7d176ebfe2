"""Equilibria of systems with rods along their load: arc length (Riks), through limit points and bifurcations, which are
located, and along the branches that begin there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from chasles.model.system import System
from chasles.simulation.bodies.equilibrium import LONGEST, NotFoundError, Solver, lowering
from chasles.simulation.bodies.linear_equations import StaticEquations
from chasles.simulation.bodies.statics import StaticIterate
from chasles.simulation.start.values import Values

CORRECTIONS = 12
CONVERGED = 1e-10  # of corrections, in 1 rad and lengths of the model
FIRST, SHORTEST = 0.02, 1e-6  # steps of the arc length, in 1 rad, lengths of the model and the span of the load
LOCATED = 1e-9  # of a step, to which limits and bifurcations are found
SAME = 1e-5  # of a step: a change of stability that is nearer to a limit is that of the limit
SINGULAR = 1e-3  # of the stiffness at the begin of a step: the least stiffness at a bifurcation is less
INVERSE = 4  # iterations for the displacement that has the least stiffness


class PathPoint(NamedTuple):
    """A point of a path: the factor of the loads, the iterate there, the direction in which the path goes on (unknowns
    and load), and how many displacements lower the energy. leaving: the path ahead is not the one it was found on."""

    load: float
    at: StaticIterate
    ahead: np.ndarray
    unstable: int
    leaving: bool = False


@dataclass(frozen=True)
class LoadPath:
    """Equilibria in the order in which the path goes through them.

    load: factors of gravity and constant wrenches, (points,); poses: of the bodies, (points, bodies, 7); unstable: how
    many displacements lower the energy; limits: numbers of the points at which the load turns round; bifurcations:
    numbers of those at which another path crosses this one, such as that of a column that has buckled (`branch`).
    """

    load: np.ndarray
    poses: np.ndarray
    unstable: np.ndarray
    limits: tuple[int, ...]
    message: str
    system: System = field(repr=False)
    bifurcations: tuple[int, ...] = ()
    _follow: Follow | None = field(default=None, repr=False, compare=False)
    _points: tuple[PathPoint, ...] = field(default=(), repr=False, compare=False)

    def place(self, body: str) -> np.ndarray:
        """Positions of a body or node along the path, (points, 3)."""
        names = [one.name for one in self.system.bodies]
        return self.poses[:, names.index(self.system.body(body).name), 4:]

    def branch(self, point: int, side: int = 1) -> LoadPath:
        """The path that crosses this one at a bifurcation, by the number of its point; side: 1 or -1, to which it
        leaves."""
        if self._follow is None or point not in self.bifurcations:
            known = ", ".join(map(str, self.bifurcations)) or "none"
            raise ValueError(f"branch: point is {point!r}; expected the number of a bifurcation of this path ({known})")
        if side not in (1, -1):
            raise ValueError(f"branch: side is {side!r}; expected 1 or -1")
        if abs(int(self.unstable[point + 1]) - int(self.unstable[point - 1])) > 1:
            raise ValueError(
                f"branch: several paths leave point {point} at once, as of a column that bends alike in all "
                "directions; make it somewhat stiffer in one of them"
            )
        return self._follow(self._follow.path.leaving(self._points[point], side))

    def __str__(self) -> str:
        limits, crossed = (
            ", ".join(f"{self.load[k]:.9g}" for k in numbers) or "none" for numbers in (self.limits, self.bifurcations)
        )
        return f"{len(self.load)} equilibria; limits of the load: {limits}; bifurcations: {crossed}; {self.message}"

    __repr__ = __str__


class Path:
    """The path of a solver, in units: 1 rad, a length, and the span of the load."""

    def __init__(self, solver: Solver, span: float):
        self.solver, self.span = solver, span
        self.n = 6 * solver.statics.mechanism.n
        self.units = np.tile([1.0] * 3 + [solver.length] * 3, self.n // 6)

    def _solutions(self, at: StaticIterate, load: float) -> tuple[StaticEquations, np.ndarray, np.ndarray]:
        """The equations at an iterate, their solution, and how it follows the load."""
        statics = self.solver.statics
        statics.put_load(load + 1.0)
        more = statics.forces(at)
        statics.put_load(load)
        equations = statics.equations(at)
        push = np.zeros(len(equations.left))
        push[: self.n] = (more - statics.forces(at)).ravel()
        try:
            return equations, equations.solve(equations.left), equations.solve(push)
        except RuntimeError:
            raise NotFoundError("the stiffness is singular") from None

    def _scaled(self, change: np.ndarray, load: float) -> np.ndarray:
        return np.append(change[: self.n] / self.units, load / self.span) / np.sqrt(self.n // 6)

    def point(self, at: StaticIterate, load: float, before: np.ndarray | None) -> PathPoint:
        """A point that is on the path, with its direction, which goes on as `before`."""
        equations, _, follows = self._solutions(at, load)
        ahead = self._scaled(follows, 1.0)
        ahead /= np.linalg.norm(ahead)
        if before is not None and ahead @ before < 0.0:
            ahead = -ahead
        return PathPoint(load, at, ahead, lowering(equations))

    def step(self, begin: PathPoint, s: float) -> PathPoint:
        """The point at s along the path from another, in the plane across its direction."""
        at, load, normal = begin.at, begin.load, begin.ahead
        first = s
        if begin.leaving:  # the stiffness is singular there
            equations, _, _ = self._solutions(at, load)
            at, first = self.solver.statics.moved(at, equations, self._unscaled(s * normal, equations)), 0.0
        for k in range(CORRECTIONS):
            equations, change, follows = self._solutions(at, load)
            along, own = self._scaled(follows, 1.0) @ normal, self._scaled(change, 0.0) @ normal
            more = ((first if k == 0 else 0.0) - own) / along
            total = change + more * follows
            size = float(np.abs(total[: self.n] / self.units).max(initial=0.0))
            if not size < LONGEST:
                raise NotFoundError(f"a correction of {size:.3g} leads astray")
            at, load = self.solver.statics.moved(at, equations, total), load + more
            if k > 0 and size < CONVERGED:
                return self.point(at, load, normal)
        raise NotFoundError(f"not found after {CORRECTIONS} corrections")

    def _unscaled(self, direction: np.ndarray, equations: StaticEquations) -> np.ndarray:
        """A direction as a change of the unknowns."""
        change = np.zeros(len(equations.left))
        change[: self.n] = direction[:-1] * np.sqrt(self.n // 6) * self.units
        return change

    def _softest(self, point: PathPoint) -> tuple[np.ndarray, float]:
        """The displacement with the least stiffness, as a direction without load, and this stiffness."""
        equations, _, _ = self._solutions(point.at, point.load)
        found, size = np.zeros(self.n + 1), 1.0
        found[:-1] = np.random.default_rng(0).standard_normal(self.n)
        for _ in range(INVERSE):
            found /= np.linalg.norm(found)
            found = self._scaled(equations.solve(self._unscaled(found, equations)), 0.0)
            size = float(np.linalg.norm(found))
        return found / size, 1.0 / size

    def leaving(self, begin: PathPoint, side: int) -> PathPoint:
        """A bifurcation as the begin of the path that crosses there."""
        direction, _ = self._softest(begin)
        largest = direction[np.argmax(np.abs(direction))]
        return begin._replace(ahead=side * np.sign(largest) * direction, leaving=True)

    def _first(self, begin: PathPoint, low: float, high: float, changed: Callable[[PathPoint], bool]) -> float:
        """Where within a step a property of its points changes first."""
        least = LOCATED * high
        while high - low > least:
            middle = 0.5 * (low + high)
            try:
                there = self.step(begin, middle)
            except NotFoundError:  # so near to a bifurcation that the stiffness is singular
                break
            low, high = (low, middle) if changed(there) else (middle, high)
        return high

    def events(self, begin: PathPoint, then: PathPoint, s: float) -> tuple[list[PathPoint], list[bool]]:
        """Points within a step at which the load turns round, and those at which another path crosses; whether each is
        one of the first."""
        found: list[tuple[float, bool]] = []
        if then.ahead[-1] * begin.ahead[-1] < 0.0:
            found.append((self._first(begin, 0.0, s, lambda one: one.ahead[-1] * begin.ahead[-1] < 0.0), True))
        low, count = 0.0, begin.unstable
        while count != then.unstable:
            before = count
            low = self._first(begin, low, s, lambda one, before=before: one.unstable != before)  # type: ignore[misc]
            count = self.step(begin, low).unstable
            if not any(abs(low - place) < SAME * s for place, _ in found) and self._crossed(begin, low):
                found.append((low, False))
            if count == before:
                break
        found.sort()
        return [self.step(begin, place) for place, _ in found], [turns for _, turns in found]

    def _crossed(self, begin: PathPoint, s: float) -> bool:
        """Whether the stiffness is singular there. It is not where only its symmetric part, by which stability is
        judged, has become indefinite, as under loads that follow."""
        return self._softest(self.step(begin, s))[1] < SINGULAR * self._softest(begin)[1]


def load_path(
    system: System,
    span: tuple[float, float] = (0.0, 1.0),
    q: Values | None = None,
    *,
    t: float = 0.0,
    points: int = 100,
    max_step: float = 0.1,
    iterations: int = 40,
) -> LoadPath:
    """Equilibria of a system with rods along a load that grows, through limit points, until it leaves the span.

    The load is gravity and all constant wrenches, times a factor from span[0] to span[1].
    The path begins at the equilibrium under span[0], from joint coordinates q. max_step: the longest step, in 1 rad,
    lengths of the model and the span, a mean over the bodies.
    """
    low, high = min(span), max(span)
    if not high > low:
        raise ValueError(f"load_path: span is {span!r}; expected two factors that differ")
    solver = Solver(system, t, iterations)
    if not solver.statics.has_loads:
        raise ValueError("load_path: there is neither gravity nor a constant wrench to follow")
    path = Path(solver, high - low)
    at, _, _ = solver.solve(solver.start(q), span[0])
    toward = np.zeros(path.n + 1)
    toward[-1] = span[1] - span[0]
    return Follow(path, system, (low, high), points, max_step)(path.point(at, float(span[0]), toward))


class Follow(NamedTuple):
    """How a path is followed from a point on: within which loads, for how many points, by which steps."""

    path: Path
    system: System
    span: tuple[float, float]
    points: int
    max_step: float

    def __call__(self, begin: PathPoint) -> LoadPath:
        found, path, (low, high) = [begin], self.path, self.span
        limits: list[int] = []
        crossed: list[int] = []
        s, message = min(FIRST, self.max_step), f"ended after {self.points} points"
        while len(found) < self.points:
            try:
                then = path.step(found[-1], s)
                events, turns = path.events(found[-1], then, s) if not found[-1].leaving else ([], [])
            except NotFoundError as error:
                s *= 0.5
                if s < SHORTEST:
                    message = f"ended where no step succeeds: {error}"
                    break
                continue
            if not low <= then.load <= high:
                message = f"ended where the load leaves the span, at {then.load:.6g}"
                break
            for event, turned in zip(events, turns, strict=True):
                (limits if turned else crossed).append(len(found))
                found.append(event)
            found.append(then)
            s = min(1.4 * s, self.max_step)
        poses = np.array([path.solver.statics.mechanism.poses(one.at.q) for one in found])
        loads, unstable = np.array([one.load for one in found]), np.array([one.unstable for one in found])
        several = tuple(limits), message, self.system, tuple(crossed), self, tuple(found)
        return LoadPath(loads, poses, unstable, *several)
