"""The local model of a step (mueller2022 section 6.3): what a solver for vector spaces can integrate, if it starts each
step afresh from X = 0. `solve_locally` does so with a Runge-Kutta tableau, a solver of SciPy, or a stepper of your own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.explicit import ChartError
from chasles.integrate.explicit_layout import LARGEST_ANGLE
from chasles.integrate.fixed_step import schedule
from chasles.integrate.options import check_span
from chasles.integrate.solution import Solution
from chasles.integrate.tableau import TABLEAUX, Tableau
from chasles.kernel.pickled import PickledWhole
from chasles.lie.transition.maps import local_rate, tau
from chasles.transition.problem import LGTProblem

Stepper = Callable[[Callable, float, np.ndarray, float], ArrayLike]  # (f, t, z, h) -> z at t + h
MULTISTEP = ("BDF", "LSODA")
END_OF_CHART = {"exp": 2 * np.pi, "cay": np.pi, "cay2": 2 * np.pi}  # rotation at which the coordinates end [rad]
NO_CURVE = "a solver for vector spaces leaves no curve on the group"


class LocalModel:
    """The model of a problem within a step from the point y: z = (X, V), X = 0 at the start. Source: mueller2022
    (52)-(54).

    Call it as f(t, z); the value is (dψ⁻¹_{-X} V, f(τ(q, X), V, t)), and NaN beyond the chart of the local coordinates,
    so that solvers with adaptive steps shorten them. `start` is z at the start, `point(z)` the point y at the end.
    """

    def __init__(self, problem: LGTProblem, y: ArrayLike):
        self.problem = problem
        self.q, self.twists = problem.split(y)
        self.evaluations = 0

    @property
    def start(self) -> np.ndarray:
        return np.concatenate([np.zeros(6 * self.problem.bodies), self.twists.reshape(-1)])

    def __call__(self, t: float, z: ArrayLike) -> np.ndarray:
        self.evaluations += 1
        x, twists = np.asarray(z, dtype=float).reshape(2, self.problem.bodies, 6)
        if not self.inside(x):
            return np.full(12 * self.problem.bodies, np.nan)
        p = self.problem
        q = tau(self.q, x, p.chart, p.motion, p.side)
        slope = local_rate(x, p.group_velocity(q, twists), p.motion, p.side)
        return np.concatenate([slope, p.accelerations(t, q, twists)], axis=None)

    @staticmethod
    def inside(x: np.ndarray) -> bool:
        """Whether local coordinates are in their chart, and not too near its end."""
        return bool(np.isfinite(x).all() and np.linalg.norm(x[:, :3], axis=1).max() <= LARGEST_ANGLE)

    def point(self, z: ArrayLike) -> np.ndarray:
        """The point y that z leads to: q' = τ(q, X) and V."""
        x, twists = np.asarray(z, dtype=float).reshape(2, self.problem.bodies, 6)
        p = self.problem
        return np.concatenate([tau(self.q, x, p.chart, p.motion, p.side), twists], axis=None)


def runge_kutta(tableau: str | Tableau) -> Stepper:
    """The stepper of an explicit Runge-Kutta method in a vector space."""
    if isinstance(tableau, str) and tableau not in TABLEAUX:
        raise ValueError(
            f"runge_kutta: unknown tableau {tableau!r}; expected a Tableau or one of {', '.join(TABLEAUX)}"
        )
    table = TABLEAUX[tableau] if isinstance(tableau, str) else tableau

    def step(f: Callable, t: float, z: np.ndarray, h: float) -> np.ndarray:
        slopes = np.zeros((table.stages, z.size))
        for i in range(table.stages):
            slopes[i] = f(t + table.c[i] * h, z + h * table.matrix[i] @ slopes)
        return z + h * np.asarray(table.b) @ slopes

    step.__name__ = table.name
    return step


def solve_locally(
    problem: LGTProblem,
    method: str | Tableau | Stepper | type,
    span: tuple[float, float],
    y0: ArrayLike,
    *,
    step: float | None = None,
    **options: Any,
) -> Solution:
    """Integrate with a method for vector spaces that starts each step from X = 0. Source: mueller2022 section 6.3.

    `method` is a tableau or its name, or a stepper (f, t, z, h) -> z of your own. It can also be a class of SciPy such
    as `scipy.integrate.RK45`, used one step at a time. All take fixed steps of size `step`; without it a SciPy solver
    chooses its own, and `options` (rtol, atol, ...) are for its constructor. Methods that look back over several steps
    cannot be used, because the coordinates X of the steps before are others.
    """
    start, end = check_span(span)
    y = problem.space.check(y0)
    if isinstance(method, type):
        walk = _scipy(problem, method, start, end, y, step, options)
    elif step is None:
        raise ValueError("solve_locally: give step=..., or a class of solvers of SciPy that chooses its own")
    elif options:
        raise TypeError(f"solve_locally: {', '.join(options)} are options of SciPy solvers, and no solver is given")
    else:
        stepper = runge_kutta(method) if isinstance(method, str | Tableau) else method
        walk = _fixed(problem, stepper, start, end, y, step)
    t, points, evaluations = [start], [y], 0
    try:
        for when, point, count in walk:
            t.append(when)
            points.append(point)
            evaluations += count
    except _LeftChartError as left:
        done = _solution(problem, method, t, points, False, str(left), evaluations)
        raise ChartError(f"solve_locally: {left}", t[-1], left.step, left.body, left.angle, done) from None
    return _solution(problem, method, t, points, True, "reached the end", evaluations)


def _solution(problem, method, t, points, success, message, evaluations) -> Solution:
    named = getattr(method, "__name__", method)
    arrays = (np.array(t), np.array(points))
    counts = {"steps": len(t) - 1, "evaluations": evaluations}
    return Solution(problem.space, named, *arrays, success, message, **counts, no_curve=NO_CURVE)


class _LeftChartError(PickledWhole, Exception):
    """A step left the chart."""

    def __init__(self, message: str, step: float, body: int, angle: float):
        super().__init__(message)
        self.step, self.body, self.angle = step, body, angle


def _check(model: LocalModel, t: float, z: np.ndarray, h: float, trusted: bool) -> None:
    """Refuse a step beyond the chart. That of Rodrigues vectors has no end in its numbers, so the velocities count,
    unless the error of the step was under control (`trusted`)."""
    problem = model.problem
    x, twists = z.reshape(2, problem.bodies, 6)
    limit = END_OF_CHART[problem.motion.map]
    angles = abs(h) * np.maximum(*(np.linalg.norm(v[:, :3], axis=1) for v in (model.twists, np.nan_to_num(twists))))
    body = int(np.argmax(angles))
    if not model.inside(x) or (angles[body] >= limit and not trusted and problem.motion.map != "exp"):
        raise _LeftChartError(
            f"body {body} turns by {angles[body]:.3g} rad in the step of {h:.3g} from t = {t:.6g}; the chart of "
            f"{problem.local!r} coordinates ends at {limit:.3g} rad: take a smaller step",
            *(h, body, float(angles[body])),
        )


def _fixed(problem, stepper, start, end, y, step):
    plan = schedule((start, end), step)
    for k in range(plan.steps):
        last = k == plan.steps - 1
        t, h = plan.start + k * plan.step, plan.last if last else plan.step
        model = LocalModel(problem, y)
        z = np.asarray(stepper(model, t, model.start, h), dtype=float)
        _check(model, t, z, h, trusted=False)
        y = model.point(z)
        yield (plan.end if last else plan.start + (k + 1) * plan.step), y, model.evaluations


def _scipy(problem, solver_class, start, end, y, step, options):
    if solver_class.__name__ in MULTISTEP:
        raise ValueError(
            f"solve_locally: {solver_class.__name__} builds on several steps before, whose local coordinates are "
            "others; take a one-step method: RK23, RK45, DOP853 or Radau"
        )
    if step is not None:
        yield from _fixed(problem, _one_step(solver_class, options), start, end, y, step)
        return
    t, first = start, options.pop("first_step", None)
    direction = 1.0 if end >= start else -1.0
    while direction * (end - t) > 0:
        model = LocalModel(problem, y)
        if first is not None:
            first = min(first, abs(end - t))
        solver = solver_class(model, t, model.start, end, first_step=first, **options)
        message = solver.step()
        if solver.status == "failed":
            raise RuntimeError(f"solve_locally: {solver_class.__name__} failed at t = {t:.6g}: {message}")
        _check(model, t, solver.y, solver.t - t, trusted=True)
        t, y, first = float(solver.t), model.point(solver.y), float(solver.h_abs)
        yield t, y, model.evaluations


def _one_step(solver_class: Any, options: dict[str, Any]) -> Stepper:
    """One step of fixed size of a solver with adaptive ones: any error is accepted."""

    def step(f: Callable, t: float, z: np.ndarray, h: float) -> np.ndarray:
        any_error = {"rtol": 1e-3, "atol": 1e300} | options
        solver = solver_class(f, t, z, t + h, first_step=abs((t + h) - t), **any_error)
        solver.step()
        return solver.y if solver.status == "finished" else np.full_like(z, np.nan)

    return step
