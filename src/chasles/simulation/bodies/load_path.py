"""Equilibria of systems with rods along their load, through limit points: arc length (Riks), with located limits."""

from __future__ import annotations

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
LOCATED = 1e-9  # of a step, to which limits are found


class PathPoint(NamedTuple):
    """A point of a path: the factor of the loads, the iterate there, the direction in which the path goes on (unknowns
    and load), and how many displacements lower the energy."""

    load: float
    at: StaticIterate
    ahead: np.ndarray
    unstable: int


@dataclass(frozen=True)
class LoadPath:
    """Equilibria in the order in which the path goes through them.

    load: factors of gravity and constant wrenches, (points,); poses: of the bodies, (points, bodies, 7); unstable: how
    many displacements lower the energy; limits: numbers of the points at which the load turns round.
    """

    load: np.ndarray
    poses: np.ndarray
    unstable: np.ndarray
    limits: tuple[int, ...]
    message: str
    system: System = field(repr=False)

    def place(self, body: str) -> np.ndarray:
        """Positions of a body or node along the path, (points, 3)."""
        names = [one.name for one in self.system.bodies]
        return self.poses[:, names.index(self.system.body(body).name), 4:]

    def __str__(self) -> str:
        limits = ", ".join(f"{self.load[k]:.9g}" for k in self.limits) or "none"
        return f"{len(self.load)} equilibria; limits of the load: {limits}; {self.message}"

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
        for k in range(CORRECTIONS):
            equations, change, follows = self._solutions(at, load)
            along, own = self._scaled(follows, 1.0) @ normal, self._scaled(change, 0.0) @ normal
            more = ((s if k == 0 else 0.0) - own) / along
            total = change + more * follows
            size = float(np.abs(total[: self.n] / self.units).max(initial=0.0))
            if not size < LONGEST:
                raise NotFoundError(f"a correction of {size:.3g} leads astray")
            at, load = self.solver.statics.moved(at, equations, total), load + more
            if k > 0 and size < CONVERGED:
                return self.point(at, load, normal)
        raise NotFoundError(f"not found after {CORRECTIONS} corrections")

    def limit(self, begin: PathPoint, s: float) -> PathPoint:
        """The point within a step at which the load turns round."""
        low, high, found = 0.0, s, begin
        while high - low > LOCATED * s:
            middle = 0.5 * (low + high)
            found = self.step(begin, middle)
            if found.ahead[-1] * begin.ahead[-1] > 0.0:
                low = middle
            else:
                high = middle
        return found


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
    found = [path.point(at, float(span[0]), toward)]
    limits: list[int] = []
    s, message = min(FIRST, max_step), f"ended after {points} points"
    while len(found) < points:
        try:
            then = path.step(found[-1], s)
        except NotFoundError as error:
            s *= 0.5
            if s < SHORTEST:
                message = f"ended where no step succeeds: {error}"
                break
            continue
        if not low <= then.load <= high:
            message = f"ended where the load leaves the span, at {then.load:.6g}"
            break
        if then.ahead[-1] * found[-1].ahead[-1] < 0.0:
            found.append(path.limit(found[-1], s))
            limits.append(len(found) - 1)
        found.append(then)
        s = min(1.4 * s, max_step)
    poses = np.array([solver.statics.mechanism.poses(one.at.q) for one in found])
    loads, unstable = np.array([one.load for one in found]), np.array([one.unstable for one in found])
    return LoadPath(loads, poses, unstable, tuple(limits), message, system)
