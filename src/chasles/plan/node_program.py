"""What nonlinear programs of a motion share: variables of its nodes, its duration and its design, and its limits.

The variables are, of each interval, those of its node and what the interval has besides; then those of the last node,
the duration, and the parameters of the design.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.plan.account import Account, Course, sides_of, violated
from chasles.plan.design import DesignedSystem
from chasles.plan.first_path import path_to_goals
from chasles.plan.nodes import LoopNodes, TreeNodes
from chasles.plan.nonlinear import STOPPED, ProgramEnd
from chasles.plan.outcome import InfeasibleError, warn_stopped
from chasles.plan.planner import numbers_of_guess
from chasles.plan.quantities import CALLER
from chasles.relative.loop.closed import ClosedMechanism

ENOUGH = 1e3  # times the tolerance of the program: what limits may be violated by
ENOUGH_LEAST = 1e-6


def require_timeless(mechanism: Any, q: np.ndarray, begin: float, end: float) -> None:
    """Refuse constraints that move, with a free duration: nodes would move with it."""
    if isinstance(mechanism, ClosedMechanism):
        now, then = (mechanism.constraint_rows(q, None, t).residual for t in (begin, end))
        if not np.array_equal(now, then):
            raise ValueError(
                f"{CALLER}: a constraint of the system moves in time, and the duration is free; hold the duration, or "
                "take optimize"
            )


def no_motion(iterations: int) -> InfeasibleError:
    """That a search ended where there is no motion."""
    return InfeasibleError(
        f"{CALLER}: no motion was found after {iterations} iterations: at the last nodes of the search a loop cannot "
        "be closed, or a step has no finite result. Give narrower bounds of the parameters, or another guess",
        {"equations of motion": np.inf},
    )


class NodeProgram:
    """Variables z and limits of a motion in so many intervals."""

    nodes: TreeNodes | LoopNodes
    at: dict[str, np.ndarray]  # where the variables of nodes and of intervals are
    units: np.ndarray  # of (δ, δv), and more
    rough: int | None = None  # iterations before the program has its Hessian; none: it never has
    _last: np.ndarray | None = None  # the variables that all is placed for
    follow: np.ndarray  # (δ, δv) at the nodes by the design, (nodes, 2 nv, parameters)
    _sloped = False  # whether derivatives are, too

    def __init__(
        self,
        account: Account,
        first: tuple[np.ndarray, np.ndarray],
        begin: float,
        bounds: np.ndarray,
        design: DesignedSystem,
        held: tuple[Any, Any] = (None, None),
    ):
        """first: q and v at the start; bounds: of the inputs; held: joints whose q and v were given at the start."""
        self.account, self.first, self.begin, self.bounds, self.design = account, first, begin, bounds, design
        self.mesh, self.shares = account.edges, np.diff(account.edges)  # of the duration: nodes and intervals
        self.mechanism, self.count, self.nv = account.mechanism, account.steps, account.mechanism.nv
        self.held_first = self._named(held[0]), self._named(held[1])

    def lay_out(self, path: np.ndarray, duration: float, inner: int) -> None:
        """Lay out the variables about a path; inner: how many an interval has besides its node."""
        if isinstance(self.mechanism, ClosedMechanism):
            self.nodes = LoopNodes(self.mechanism, path, self.times(duration), self.held_first)
        else:
            self.nodes = TreeNodes(self.mechanism, path)
        own = self.nodes.size
        self.width = own + inner
        self.time = self.count * self.width + own  # where the duration is
        self.size = self.time + 1 + self.design.size
        starts = self.width * np.arange(self.count + 1)
        self.at = {"node": starts[:, None] + np.arange(own), "inner": starts[:-1, None] + own + np.arange(inner)}

    def _named(self, given: Any) -> np.ndarray:
        """Which velocities are those of joints that were given by name, (nv); all, if none was."""
        names = given if isinstance(given, Mapping) else ()
        own = [part for name, part in self.mechanism.tree.velocities.items() if name in names]
        found = np.zeros(self.nv, dtype=bool)
        for part in own:
            found[part] = True
        return found if own else ~found

    def times(self, duration: float) -> np.ndarray:
        return self.begin + duration * self.mesh

    def guessed(self, guess: ArrayLike | None, duration: float) -> np.ndarray:
        """Coordinates at the nodes that δ is counted from."""
        if guess is None:
            return path_to_goals(self.account, self.first[0], self.times(duration), self.units[: self.nv])
        value = numbers_of_guess(guess)
        if value.shape != (self.count + 1, self.mechanism.nq) or not np.isfinite(value).all():
            raise ValueError(
                f"{CALLER}: the guess has shape {value.shape}; expected finite coordinates of all nodes, "
                f"({self.count + 1}, {self.mechanism.nq})"
            )
        value[0] = self.first[0]
        found: np.ndarray = self.mechanism.tables.check_q(CALLER, value)
        if isinstance(self.mechanism, ClosedMechanism):
            pairs = zip(found[1:], self.times(duration)[1:], strict=True)
            found[1:] = [self.mechanism.assemble(q, float(t)) for q, t in pairs]
        return found

    # ------------------------------------------------------------ from variables to motions

    def place(self, z: np.ndarray) -> None:
        """Find the motion of variables; once."""
        if self._last is None or not np.array_equal(z, self._last):
            self.t = self.times(float(z[self.time]))
            self.design.choose(z[self.time + 1 :])
            self.nodes.mechanism = self.design.mechanism or self.mechanism
            nodes = z[self.at["node"]]
            if np.isfinite(nodes).all():
                self.q, self.v = self.nodes.states(nodes, self.t)
            else:  # of a solver that gave up
                self.q, self.v = (np.full((self.count + 1, n), np.nan) for n in (self.mechanism.nq, self.nv))
            self._last, self._sloped = z.copy(), False
            self.placed(z)

    def placed(self, z: np.ndarray) -> None:
        """Find what else belongs to variables."""

    def slope(self, z: np.ndarray) -> None:
        """Find derivatives at the nodes; once."""
        self.place(z)
        if not self._sloped:
            self.by = self.nodes.slopes(z[self.at["node"]], self.q, self.v, self.t)
            self.follow = np.zeros((self.count + 1, 2 * self.nv, self.design.size))
            self._sloped = True
            self.sloped(z)

    def sloped(self, z: np.ndarray) -> None:
        """Find further derivatives."""

    def course(self, z: np.ndarray) -> Course:
        raise NotImplementedError

    # ------------------------------------------------------------ limits

    def limited(self, account: Account, course: Course) -> np.ndarray:
        """The numbers of all limits, one after the other."""
        return np.concatenate([np.zeros(0), *(x.ravel() for x in account.values(course))])

    def limit_slopes(self, course: Course, by_design: np.ndarray) -> list[np.ndarray]:
        """Derivatives of the limits by the variables of their nodes and by the design (numbers, parameters), of which
        `by_design` has those at the same motion."""
        found, parts = [], [by_design[:0]]
        for one in self.account.restraints:
            slopes = self.account.at_limit(one, course)[1]
            if one.driven:
                own, following = self.driven_slopes(slopes, one.nodes, one.limit.sides)
            else:
                own, following = slopes @ self.by[one.nodes], slopes @ self.follow[one.nodes]
            found.append(own)
            parts.append(following.reshape(one.low.size, self.design.size))
        return [*found, by_design + np.concatenate(parts) if self.design.size else by_design]

    def limit_places(self, row: int) -> list[Any]:
        """Rows, from one on, and columns of these derivatives."""
        pairs, first = [], row
        for one in self.account.restraints:
            own = row + np.arange(one.low.size).reshape(one.low.shape)
            columns = self.driven_places(one.nodes, one.limit.sides) if one.driven else self.at["node"][one.nodes]
            pairs.append(np.broadcast_arrays(own[..., None], columns[:, None]))
            row += one.low.size
        designed = self.time + 1 + np.arange(self.design.size)
        pairs.append(np.broadcast_arrays(np.arange(first, row)[:, None], designed))
        return pairs

    def driven_slopes(self, slopes: np.ndarray, steps: np.ndarray, sides: int) -> tuple[np.ndarray, np.ndarray]:
        """Derivatives by the variables and by the design of numbers with slopes by (δ, δv, u) in steps."""
        n, (nodes, _) = 2 * self.nv, sides_of(steps, sides)
        by_node, following = slopes[..., :n] @ self.by[nodes], slopes[..., :n] @ self.follow[nodes]
        return np.concatenate([by_node, slopes[..., n:]], axis=2), following

    def driven_places(self, steps: np.ndarray, sides: int) -> np.ndarray:
        """The variables that these numbers change with, (numbers at once, variables)."""
        nodes, own = sides_of(steps, sides)
        return np.concatenate([self.at["node"][nodes], self.at["inner"][own]], axis=1)

    def edges(self, equations: int) -> tuple[np.ndarray, np.ndarray]:
        """Least and most of all rows: equations first, then limits."""
        zero, restraints = np.zeros(equations), self.account.restraints
        least = np.concatenate([zero, *(one.low.ravel() for one in restraints)])
        return least, np.concatenate([zero, *(one.high.ravel() for one in restraints)])

    def box(self, duration: tuple[float, float, float]) -> tuple[np.ndarray, np.ndarray]:
        """Bounds of the variables, those of inputs still open; the first node is held."""
        low, high = np.full(self.size, -np.inf), np.full(self.size, np.inf)
        held = self.nodes.variables(np.tile(self.first[1], (self.count + 1, 1)))[0]
        low[self.at["node"][0]] = high[self.at["node"][0]] = held
        low[self.time], high[self.time] = duration[0], duration[2]
        low[self.time + 1 :], high[self.time + 1 :] = self.design.low, self.design.high
        return low, high

    def start(self, path: np.ndarray, duration: float) -> np.ndarray:
        """Variables to begin with: velocities are those of the path."""
        z, rates = np.zeros(self.size), np.empty((self.count + 1, self.nv))
        rates[1:] = self.mechanism.difference(path[1:], path[:-1]) / (duration * self.shares[:, None])
        rates[0] = self.first[1]
        z[self.at["node"]] = self.nodes.variables(rates)
        z[self.time], z[self.time + 1 :] = duration, self.design.first
        return z

    def require(self, course: Course, equations: float, tolerance: float, solution: ProgramEnd) -> dict[str, float]:
        """What limits are violated by, by name; InfeasibleError if that, or what is left of the equations, is too
        much."""
        enough = max(ENOUGH * tolerance, ENOUGH_LEAST)
        values = self.account.values(course)
        found = violated(self.account.restraints, values)
        sizes = [max(1.0, float(np.abs(x).max(initial=0.0))) for x in values]
        wrong = {name: off for (name, off), size in zip(found.items(), sizes, strict=True) if not off <= enough * size}
        if not equations <= enough:
            wrong["equations of motion"] = equations
        if solution.problem == STOPPED:
            warn_stopped(solution.iterations, wrong)
            return found | wrong
        if wrong:
            listed = "; ".join(f"{name} by {off:.4g}" for name, off in wrong.items())
            raise InfeasibleError(
                f"{CALLER}: no motion was found within the limits after {solution.iterations} iterations"
                f"{f' ({solution.problem})' if solution.problem else ''}; violated: {listed}. Give more time, wider "
                "bounds of the inputs, or another guess",
                found | wrong,
            )
        return found
