"""`shoot`: the best motion by multiple shooting. The states of all nodes are unknown beside the inputs, and a program
brings the end of each step to the next node, while it makes the cost small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.constraint.errors import AssemblyError
from chasles.plan.account import Account, Course
from chasles.plan.design import DesignedSystem
from chasles.plan.held_steps import HeldSteps
from chasles.plan.hessian import ShootingHessian
from chasles.plan.node_program import NodeProgram, no_motion, require_timeless
from chasles.plan.nonlinear import ROUGH, STOPPED, Program, ProgramEnd, require_solver, rough_iterations, solved
from chasles.plan.outcome import PlannedMotion, warn_coarse, warn_unsettled
from chasles.plan.planner import (
    bounds_of,
    durations_of,
    explicit_method,
    guessed_inputs,
    held_steps,
    require_ends,
    require_start,
    span_of,
    terms_of,
)
from chasles.plan.terms import MotionLimit
from chasles.simulation.start.values import Values


def shoot(
    system: Any,
    span: tuple[float, float],
    steps: int,
    costs: Sequence[Any] | Any,
    q: Values | None = None,
    v: Values | None = None,
    *,
    limits: Sequence[MotionLimit] | MotionLimit = (),
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    guess: ArrayLike | None = None,
    inputs: ArrayLike | None = None,
    duration: tuple[float, float] | None = None,
    parameters: Mapping[str, Any] | None = None,
    bounds: Mapping[str, Any] | None = None,
    method: Any = "rk4",
    tolerance: float = 1e-9,
    iterations: int = 3000,
    solver: str = "auto",
    hessian: str = "auto",
) -> PlannedMotion:
    """Find the inputs, constant in each of `steps` equal steps, that minimize costs within limits, by multiple
    shooting.

    Costs, limits and bounds of inputs as in `optimize`, and the same steps. guess: coordinates at the nodes
    (steps + 1, nq); by default as in `collocate`, or the motion under `inputs`, if these are given. inputs: those
    to begin with, (steps, inputs). solver: "ipopt" (needs the package ipyopt or cyipopt), "scipy", or "auto": the first
    that there is. hessian: for Ipopt, "approximate" from gradients, "exact", which takes longer iterations, or "auto":
    exact ones if approximate ones do not end soon.

    parameters: names and values to begin with of a design; then `system` is a function of them that returns a System,
    and the best values are found together with the motion, within `bounds`, {name: (low, high)}. The plan has them as
    `parameters`.
    """
    begin, end = span_of(span, steps)
    require_ends(tolerance, iterations)
    require_solver(solver)
    chosen = explicit_method(method)
    design = DesignedSystem(system, parameters, bounds)
    held = held_steps(design.mechanism or system, begin, q, v, chosen, steps)
    account = Account(held.mechanism, held.count, held.inputs, *terms_of(costs, limits), design=design.values)
    require_start(account, begin, *held.split(held.first))
    length = durations_of(duration, begin, end - begin, account)
    if length[0] < length[2]:
        require_timeless(held.mechanism, held.split(held.first)[0], begin, end)
    task = Shooting(held, account, bounds_of(held, low, high), design, (q, v))
    task.rough = rough_iterations(hessian, bool(design.size), ROUGH)
    program, z = task.program(guess, inputs, length)
    return task.result(solved(program, z, tolerance, iterations, solver), tolerance)


class Shooting(NodeProgram):
    """The nonlinear program of a motion in steps: beside nodes it has the inputs of each step."""

    def __init__(
        self, held: HeldSteps, account: Account, bounds: np.ndarray, design: DesignedSystem, given: tuple[Any, Any]
    ):
        """given: q and v of the start, as they were given."""
        first = held.split(held.first)
        super().__init__(account, first, held.start, bounds, design, given)
        self.held, self.inputs, self.units = held, held.inputs, held.dynamics.units
        self.price = Account(
            held.mechanism, held.count, held.inputs, [*account.efforts, *account.durations, *account.wishes], []
        )

    # ------------------------------------------------------------ from variables to motions

    def placed(self, z: np.ndarray) -> None:
        """Take all steps."""
        self.u, self.h, self.off = z[self.at["inner"]], float(z[self.time]) / self.count, None
        if not np.isfinite(self.q).all():  # a loop that cannot be closed
            return
        if self.design.size and self.held.mechanism is not self.design.mechanism:
            held, first = self.held, (self.q[0], self.v[0])
            try:
                self.held = held_steps(self.design.mechanism, held.start, *first, held.method, held.count)
            except AssemblyError:  # a start that is singular in this design
                return
            self.account, self.price = (
                one.of(self.held.mechanism, self.design.values) for one in (self.account, self.price)
            )
        self.points = self.held.points(self.q, self.v)
        self.results = self.held.results(self.points[:-1], self.u, self.h)
        if np.isfinite(self.results).all():
            self.off = self.held.change(self.points[1:], self.results)

    def sloped(self, z: np.ndarray) -> None:
        """Derivatives of all steps: by the state, the input, the duration and the design."""
        held, nv = self.held, self.nv
        tables, effect = self._sloped_design(z)
        A, B = held.derivatives(self.points[:-1], self.u, self.h, tables)
        rate = held.by_size(self.points[:-1], self.u, self.h) / self.count
        parts = [A @ self.by[:-1], B[:, :, : self.inputs], rate[..., None]]
        if self.design.size:
            by_tables, by_force = np.split(B[:, :, self.inputs :], [self.design.size], axis=2)
            parts.append(A @ self.follow[:-1] + by_tables + by_force @ np.einsum("nmp,km->knp", effect, self.u))
        ahead = np.concatenate(parts, axis=2)
        nodes, off = self.nodes, self.off
        assert off is not None
        turn_back, turn = nodes.blocks.dexpinv(off[:, :nv]), nodes.blocks.dexpinv(-off[:, :nv])
        ahead[:, :nv] = turn_back @ ahead[:, :nv]
        after = np.concatenate([self.by[1:], self.follow[1:]], axis=2)
        after[:, :nv] = turn @ after[:, :nv]
        after, with_design = np.split(after, [nodes.size], axis=2)
        ahead[:, :, ahead.shape[2] - self.design.size :] -= with_design
        rows = nodes.rows[1:, :, None]
        self.ahead, self.after = (-np.take_along_axis(ahead, rows, axis=1), np.take_along_axis(after, rows, axis=1))

    def _sloped_design(self, z: np.ndarray) -> tuple[np.ndarray | None, np.ndarray]:
        """Derivatives by the design: of the cost and the limits at the same motion, of the nodes, and, returned, of the
        tables with the forces behind them, and of the forces of inputs (nv, inputs, parameters)."""
        nv, count, own = self.nv, self.design.size, self.nv * self.inputs
        self.by_design = np.zeros((0, 0))
        if not count:
            return None, np.zeros((nv, self.inputs, 0))
        course = self.course(z)
        changed, more = self.design.derivatives(lambda m, values: self._of_design(course, m, values))
        closing = self.nodes.closing(self.held.mechanism, self.q, self.v, self.t).size
        self.by_design, effect, left = np.split(more, [len(more) - own - closing, len(more) - closing])
        self.follow = self.nodes.follow(self.q, self.v, self.t, left.reshape(self.count + 1, -1, count))
        tables = np.zeros((len(changed) + nv, count + nv))
        tables[: len(changed), :count] = changed
        tables[len(changed) :, count:] = np.eye(nv)
        return tables, effect.reshape(nv, self.inputs, count)

    def _of_design(self, course: Course, mechanism: Any, values: Mapping[str, Any]) -> np.ndarray:
        """The cost, the limits, the forces of inputs and what is left of constraints, for other parameters and the same
        motion."""
        account, effect = self.account.of(mechanism, values), self.held.effect_of(mechanism)
        left = self.nodes.closing(mechanism, self.q, self.v, self.t)
        return np.concatenate([[account.cost(course)], self.limited(account, course), effect.ravel(), left.ravel()])

    @property
    def lost(self) -> bool:
        """Whether a loop cannot be closed at a node, or a step has no finite result."""
        return self.off is None

    def places_of(self, wish: Any) -> tuple[np.ndarray, np.ndarray, bool]:
        """The nodes of a wish, or its steps, what each counts, and whether it is steps."""
        return *self.account._weights(wish, float(self.h * self.count)), wish.quantity.driven

    def course(self, z: np.ndarray) -> Course:
        return Course(self.t, self.q, self.v, self.u, float(z[self.time]))

    # ------------------------------------------------------------ the program

    def cost(self, z: np.ndarray) -> tuple[float, np.ndarray]:
        """The cost and its gradient."""
        self.place(z)
        if self.off is None:
            return np.nan, np.full(self.size, np.nan)
        self.slope(z)
        course, slope = self.course(z), np.zeros(self.size)
        found = self.price.quadratic(course, 1, True)
        n = 2 * self.nv
        slope[self.at["node"]] = np.einsum("kn,knm->km", found.x[:, :n], self.by)
        slope[self.at["inner"]] = found.u
        slope[self.time] = found.x[:, n].sum()
        if self.design.size:
            slope[self.time + 1 :] = self.by_design[0] + np.einsum("kn,knp->p", found.x[:, :n], self.follow)
        return self.price.cost(course), slope

    def rows(self, z: np.ndarray) -> np.ndarray:
        """What the next nodes are off the ends of steps, and limits."""
        self.place(z)
        if self.off is None:
            return np.full(len(self.least), np.nan)
        off = np.take_along_axis(self.off, self.nodes.rows[1:], axis=1)
        return np.concatenate([off.ravel(), self.limited(self.account, self.course(z))])

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """The entries of the Jacobian, in the order of `places`."""
        self.place(z)
        if self.off is None:
            return np.full(len(self._places[0]), np.nan)
        self.slope(z)
        limits = self.limit_slopes(self.course(z), self.by_design[1:])
        return np.concatenate([x.ravel() for x in (self.ahead, self.after, *limits)])

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows and columns of the entries."""
        K, own = self.count, self.nodes.size
        shared = np.tile(self.time + np.arange(1 + self.design.size), (K, 1))
        local = np.concatenate([self.at["node"][:-1], self.at["inner"], shared], axis=1)
        rows = np.arange(K * own).reshape(K, own)
        pairs = [
            np.broadcast_arrays(rows[..., None], local[:, None]),
            np.broadcast_arrays(rows[..., None], self.at["node"][1:, None]),
            *self.limit_places(K * own),
        ]
        return tuple(np.concatenate([pair[k].ravel() for pair in pairs]) for k in (0, 1))  # type: ignore[return-value]

    def program(self, guess: Any, inputs: Any, duration: tuple[float, float, float]) -> tuple[Program, np.ndarray]:
        """The program, and the variables to begin with."""
        u = np.clip(guessed_inputs(inputs, self.held), *self.bounds)
        path, rates = self.guessed(guess, duration[1]), None
        if guess is None and inputs is not None:
            points = self.held.roll(np.ascontiguousarray(u), duration[1] / self.count)
            if np.isfinite(points).all():
                path, rates = self.held.split(points)
        self.lay_out(path, duration[1], self.inputs)
        z = self.start(path, duration[1])
        if rates is not None:
            z[self.at["node"]] = self.nodes.variables(rates)
        z[self.at["inner"]] = u
        low, high = self.box(duration)
        low[self.at["inner"]], high[self.at["inner"]] = self.bounds
        self.equations, self.timed = self.count * self.nodes.size, duration[0] < duration[2]
        self.least, most = self.edges(self.equations)
        self._places = self.places()
        program = Program(self.cost, self.rows, self.slopes, self._places, low, high, self.least, most)
        if self.rough is not None:
            program.rough, program.bends = self.rough, ShootingHessian(self, self.units)
        return program, z

    def result(self, solution: ProgramEnd, tolerance: float) -> PlannedMotion:
        """The motion under the inputs that were found, from the start on, if it satisfies everything."""
        self.place(solution.z)
        if self.off is None:
            raise no_motion(solution.iterations)
        inputs = np.ascontiguousarray(np.clip(self.u, *self.bounds))
        points = self.held.roll(inputs, self.h)
        q, v = self.held.split(points)
        course = Course(self.t, q, v, inputs, self.count * self.h)
        violations = self.require(course, 0.0, tolerance, solution)
        warn_coarse(self.held, points, inputs, self.h)
        if solution.problem and solution.problem != STOPPED:
            warn_unsettled(solution.iterations, solution.problem)
        return PlannedMotion(
            *(self.t, q, v, inputs, self.account.cost(course), violations, solution.iterations, ()),
            *(self.held.method, self.design.found(), None, not solution.problem, self.design.values),
        )
