"""Runs of generalized alpha and BLieDF on a user's model, with fixed steps."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.constrained_method import BLieDF, GeneralizedAlpha, less_demanding
from chasles.integrate.explicit import ChartError
from chasles.integrate.fixed_step import FixedStepper, shortened
from chasles.integrate.method import RKMK
from chasles.integrate.newton import COUNTS
from chasles.integrate.options import Options
from chasles.integrate.solver import solve
from chasles.integrate.status import DONE
from chasles.transition.implicit.bliedf import BackwardStep
from chasles.transition.implicit.chart import Chart
from chasles.transition.implicit.equations import ModelEquations
from chasles.transition.implicit.generalized_alpha import AlphaStep, algorithmic_start
from chasles.transition.implicit.newton import Newton, Unknowns
from chasles.transition.local_model import END_OF_CHART
from chasles.transition.problem import LGTProblem

KEPT = ("stiffness", "damping", "turning", "stale")  # of Newton's method
CURVELESS = "points of implicit methods have none through them; ask for the times you want in save"


class ModelStepper(FixedStepper):
    """What both methods share: the model, the point reached (q, and V on the group), multipliers, Newton's method."""

    problems = (LGTProblem,)

    def __init__(self, problem: LGTProblem, method: Any, span, y0: ArrayLike, options: Options):
        if options.step is None:
            raise ValueError(f"solve: {method} takes fixed steps; give step=... [s]")
        y = problem.space.check(y0)
        super().__init__(problem, method, span, options, y, 0)
        self.chart = Chart(problem)
        self.equations = ModelEquations(problem, self.chart)
        q, twists = problem.split(y)
        self.equations.check(method, q, twists)
        self.q, self.v = q.copy(), self.chart.to_group(q, twists).copy()
        self.multipliers = self.equations.solve(q, twists, self.start)[1]
        rows = self.multipliers.size
        self.zeta = np.zeros(rows)
        self.newton = Newton(self.equations, self.chart, getattr(method, "index", 2), method.tolerance, rows)
        self.stiffness, self.damping, self.turning = self.newton.slopes
        self.stale = self.newton.stale
        self.begin(twists)
        self.start_with(y, np.empty(0))

    # ------------------------------------------------------------ what the methods do

    @abstractmethod
    def begin(self, twists: np.ndarray) -> None:
        """Start values."""

    @abstractmethod
    def step(self, h: float) -> int:
        """Take a step; DONE, or how it failed."""

    # ------------------------------------------------------------ steps

    def take(self, limit: int) -> None:
        for _ in range(limit):
            h = self.plan.last if self.steps + 1 == self.plan.steps else self.plan.step
            self._check_chart(h)
            status = self.step(h)
            if status != DONE:
                self.counts[COUNTS.status] = status
                return
            self.save_step()

    def _check_chart(self, h: float) -> None:
        """Refuse a step that turns a body beyond the chart of the local coordinates."""
        angles = abs(h) * np.linalg.norm(self.v[:, :3], axis=1)
        body, limit = int(np.argmax(angles)), END_OF_CHART[self.problem.motion.map]
        if angles[body] >= limit:
            message = (
                f"solve: body {body} turns by {angles[body]:.3g} rad in the step of {h:.3g} from t = {self.time:.6g}; "
                f"the chart of {self.problem.local!r} coordinates ends at {limit:.3g} rad: take a smaller step"
            )
            raise ChartError(message, self.time, h, body, float(angles[body]), self.solution(False, message))

    def shifts(self) -> np.ndarray:
        """G = W Aᵀ on the group, (6 n, m), by which positions are corrected; W is the metric of the method."""
        if not self.newton.stabilized:
            return np.zeros((self.v.size, self.zeta.size))
        parts = self.equations.parts
        columns = parts.rows_at(self.q).T
        if self.method.metric == "mass":
            columns = np.linalg.solve(parts.mass_at(self.q), columns)
        velocities = self.chart.to_group(self.q, columns.T.reshape(-1, *self.v.shape))
        return velocities.reshape(len(velocities), -1).T

    def point(self) -> np.ndarray:
        return np.concatenate([self.q, self.chart.from_group(self.q, self.v)], axis=None)

    def evaluations(self) -> int:
        return self.equations.evaluations

    def no_curve(self) -> str:
        return CURVELESS

    def tried(self) -> tuple[Sequence[float], Sequence[float], str]:
        newton = self.newton
        level = "velocity" if newton.stabilized else "position"
        at = f"; the largest {level} residual is that of constraint {newton.worst}" if newton.worst >= 0 else ""
        said = f"; corrections of velocities {shortened(newton.corrections)}" if newton.corrections else ""
        return newton.residuals, newton.corrections, said + at

    def advice(self, status: int) -> str:
        given = "; check the derivatives of the forces that the model gives" if self.equations.parts.derivatives else ""
        return less_demanding(self.method) + given


class AlphaStepper(ModelStepper):
    """A run of generalized alpha."""

    methods = (GeneralizedAlpha,)
    memory_names = (
        *("counts", "q", "v", "rate", "algorithmic", "growth", "multipliers", "zeta", "drift", "before"),
        *KEPT,
    )

    def begin(self, twists: np.ndarray) -> None:
        h = self.plan.step
        values = algorithmic_start(self.equations, self.chart, self.method, self.start, h, self.q, twists)
        self.v, self.rate, self.algorithmic, self.growth, self.multipliers = (x.copy() for x in values)
        self.drift = np.zeros_like(self.zeta)  # change of ζ in the step before
        self.before = np.array([h])  # the step to which a belongs

    def step(self, h: float) -> int:
        if h != self.before[0]:  # a belongs to a time off t_n by so much of the step
            ratio = h / self.before[0]
            self.algorithmic[...] = self.rate + ratio * (self.algorithmic - self.rate)
            self.growth *= ratio
            self.before[0] = h
        step = AlphaStep(self.chart, self.method, h, self.q, self.v, self.rate, self.algorithmic, self.growth)
        z = Unknowns(np.zeros_like(self.v), self.multipliers.copy(), self.zeta + self.drift, self.shifts())
        status = self.newton.solve(step, self.time + h, h, z)
        if status != DONE:
            return status
        q, v, rate = step.state(z.d, z.shift)
        algorithmic, second = step.next_algorithmic(z.d, rate)
        if self.method.project_velocity and self.equations.constrained:
            twists = self.equations.project_velocities(q, self.chart.from_group(q, v), self.time + h)
            v = self.chart.to_group(q, twists)
        self.growth[...] = second - self.rate
        self.q[...], self.v[...], self.rate[...], self.algorithmic[...] = q, v, rate, algorithmic
        self.drift[...], self.zeta[...], self.multipliers[...] = z.zeta - self.zeta, z.zeta, z.multipliers
        return DONE

    def _shorter(self, t: float, y: np.ndarray, end: float) -> FixedStepper:
        """With index 3 velocities are off the constraints as the method wants them; another start needs them on it."""
        q, twists = self.problem.split(y)
        q, twists = self.equations.project(q, twists, t)
        return super()._shorter(t, np.concatenate([q, twists], axis=None), end)


class BackwardStepper(ModelStepper):
    """A run of BLieDF. Its first steps, and a shorter last one, are those of an explicit method of order 8."""

    methods = (BLieDF,)
    memory_names = ("counts", "q", "v", "multipliers", "zeta", "past", "velocities", *KEPT)

    def begin(self, twists: np.ndarray) -> None:
        if self.method.logarithms == "first" and self.chart.cubic > 0:
            raise ValueError(
                f'solve: logarithms="first" are those of exponentials, and local coordinates {self.problem.local!r} '
                'are none; take logarithms="exact"'
            )
        self.past = np.zeros((self.method.k - 1, *self.v.shape))
        self.velocities = np.zeros((self.method.k, *self.v.shape))
        self.velocities[0] = self.v

    def step(self, h: float) -> int:
        if self.steps < self.method.k - 1 or h != self.plan.step:
            self._explicit(h)
            return DONE
        z = Unknowns(np.zeros_like(self.v), self.multipliers.copy(), self.zeta.copy(), self.shifts())
        step = BackwardStep(self.chart, self.method, h, self.q, self.past, self.velocities, z.shift)
        status = self.newton.solve(step, self.time + h, h, z)
        if status != DONE:
            return status
        q, v, _ = step.state(z.d, z.shift)
        self.zeta[...], self.multipliers[...] = z.zeta, z.multipliers
        self._remember(q, v, step.predicted + z.d + z.shift)
        return DONE

    def _explicit(self, h: float) -> None:
        tight: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13, "save": "final", "progress": False}
        end = self.end if self.steps + 1 == self.plan.steps else self.time + h
        sol = solve(self.problem.ode, RKMK("dop853"), (self.time, end), self.point(), **tight)
        if not sol.success:
            raise RuntimeError(f"solve: {self.method} cannot start: {sol.message}")
        self.equations.evaluations += sol.evaluations
        q, twists = self.problem.split(sol.y[-1])
        q, twists = self.equations.project(q, twists, end)
        self.multipliers[...] = self.equations.solve(q, twists, end)[1]
        self._remember(q, self.chart.to_group(q, twists), self.chart.between(self.q, q))

    def _remember(self, q: np.ndarray, v: np.ndarray, x: np.ndarray) -> None:
        self.past[1:], self.velocities[1:] = self.past[:-1].copy(), self.velocities[:-1].copy()
        self.past[0], self.velocities[0] = x, v
        self.q[...], self.v[...] = q, v


STEPPERS = (AlphaStepper, BackwardStepper)
