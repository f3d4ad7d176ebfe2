"""Runs of the methods for constrained systems: from a mechanism and a method to the arrays of their loops."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from chasles.absolute.implicit import structure as structures
from chasles.absolute.implicit.address import loop_address, run_loop
from chasles.absolute.implicit.layout import COUNTS, set_weights, total_work
from chasles.absolute.implicit.loop import TAIL
from chasles.integrate.constrained_method import CONSTRAINED_METHODS, GeneralizedAlpha
from chasles.integrate.fixed_step import FOUND, FixedRun, StepError
from chasles.integrate.run import Options
from chasles.integrate.solution import Solution
from chasles.integrate.solve import solve
from chasles.simulation.bodies import BodyDynamics
from chasles.simulation.starting import algorithmic_start


class ConstrainedRun(FixedRun):
    """A run of a method for constrained systems, with fixed steps."""

    problems = (BodyDynamics,)
    methods = CONSTRAINED_METHODS
    memory_names = ("memory", "counts")

    def __init__(self, problem: BodyDynamics, method: Any, span, y0: np.ndarray, options: Options):
        y = np.array(y0, dtype=float)
        super().__init__(problem, method, span, options, y, 0)
        mechanism = self.mechanism = problem.mechanism
        self.structure = structures.build(mechanism)
        self.counts = np.zeros(COUNTS.size, dtype=np.int64)
        self.packed = self.structure.packed
        self.p = mechanism.parameters
        self.work = np.zeros(total_work(mechanism, self.structure))
        self.parameters, self.memory = self._prepare(y)
        self.start_with(y, np.empty(0))

    def _prepare(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Parameters of the loop and its memory at the start."""
        assert isinstance(self.method, GeneralizedAlpha)
        method, mechanism, problem = self.method, self.mechanism, self.problem
        set_weights(mechanism, self.structure, self.work, method.metric == "unit")
        self.address = loop_address("generalized_alpha")
        start = algorithmic_start(problem, method, self.start, self.plan.step, y)
        parameters = np.array([method.rho, method.index, method.local, method.tolerance, 0.0])
        multipliers = np.zeros((self.structure.n_nodes, 3))
        multipliers[self.structure.nodes] = start.multipliers
        tail = np.zeros(TAIL + mechanism.angles_counted)
        tail[:TAIL] = start.power, self.plan.step
        corrections = np.zeros(3 * mechanism.elimination.nodes)
        parts = (start.y, start.rates, start.algorithmic, multipliers, corrections, tail)
        return parameters, np.concatenate([part.ravel() for part in parts])

    def take(self, limit: int) -> None:
        run_loop(
            self.address, limit, self.p, self.packed, self.parameters, self.memory, self.work, self.counts,
            self.history.reshape(-1), self.times, self.plan.steps, self.every, self.saved_t, self.saved_y.reshape(-1),
        )  # fmt: skip

    def point(self) -> np.ndarray:
        return self.memory[: self.saved_y.shape[1]].copy()

    def evaluations(self) -> int:
        return int(self.counts[COUNTS.iterations])

    def no_curve(self) -> str:
        return "points of methods for constrained systems have none through them; ask for the times you want in save"

    def _fail(self, status: int) -> NoReturn:
        k, plan = self.steps, self.plan
        h = plan.last if k + 1 == plan.steps else plan.step
        corrections, residuals = self.history[:, : self.counts[COUNTS.tried]]
        tile = self.mechanism.tiles[self.counts[COUNTS.worst]].joint if self.mechanism.tiles else ""
        level = "velocity" if self.counts[COUNTS.level] else "position"
        at = f"; the largest {level} residual is at {tile!r}" if tile else ""
        shown = [f"{x:.2g}" for x in corrections]
        if len(shown) > 6:
            shown[3:-3] = ["..."]
        message = (
            f"simulate: {FOUND[status]} in step {k + 1} of {plan.steps}, t = {self.time:.8g}, h = {h:.3g}, "
            f"{self.method}; corrections of velocities {', '.join(shown)}{at}; {self._advice()}"
        )
        raise StepError(message, self.time, h, residuals, corrections, self.solution(False, message))

    def _advice(self) -> str:
        advice = "try a shorter step"
        if isinstance(self.method, GeneralizedAlpha):
            if self.method.rho > 0.6:
                advice += ", or more damping (rho = 0.5)"
            if self.method.index == 3:
                advice += ", or index=2, which is the more robust form"
        return advice


def solve_bodies(
    problem: BodyDynamics, method: Any, span, y0: np.ndarray, *, step, rtol, atol, save="all", events=(), progress=None
) -> Solution:
    """The motion of bodies, by a method for constrained systems or by one for the index-1 form."""
    with problem.laws_may_raise():
        if not isinstance(method, CONSTRAINED_METHODS):
            more: dict[str, Any] = {"step": step, "rtol": rtol, "atol": atol, "save": save, "events": events}
            return solve(problem.problem(), method, span, y0, **more, progress=progress)
        if step is None:
            raise ValueError(f"simulate: {method} takes fixed steps; give step=... [s]")
        options = Options(step=step, rtol=rtol, atol=atol, save=save, events=events)
        return ConstrainedRun(problem, method, span, y0, options).finish(progress=progress)
