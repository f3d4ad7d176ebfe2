"""Runs that several figures share: references, sweeps over step sizes, observed orders, comparison codes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import chasles as ch


def fixed(problem: Any, method: Any, end: float, start: np.ndarray, steps: int, **options: Any) -> ch.results.Solution:
    """A number of equal steps from t = 0."""
    return ch.integrate.solve(problem, method, (0.0, end), start, step=end / steps, progress=False, **options)


def symplectic(problem: ch.integrate.LieODE, theta: float, end: float, start: np.ndarray, steps: int, **options: Any):
    """Equal steps of the method (15)-(17) of celledoni2022 for a Hamiltonian field on T*SO(3)."""
    system = ch.integrate.HamiltonianOnSO3(problem.field, problem.parameters)
    method = ch.integrate.SymplecticTheta(theta)
    return ch.integrate.solve(system, method, (0.0, end), start, step=end / steps, progress=False, **options)


def reference(problem: ch.integrate.LieODE, end: float, start: np.ndarray, **options: Any) -> ch.results.Solution:
    """The order 8 method at 1e-13: what the figures measure errors against."""
    tight: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13, "progress": False}
    return ch.integrate.solve(problem, ch.integrate.RKMK("dop853"), (0.0, end), start, **tight, **options)


def ode45(problem: ch.integrate.LieODE, end: float, start: np.ndarray, rtol: float, atol: float) -> ch.results.Solution:
    """The pair of MATLAB's ODE45; the rule for the steps is ours, so their number is not MATLAB's."""
    return ch.integrate.solve(
        problem, ch.integrate.RKMK("dopri5"), (0.0, end), start, rtol=rtol, atol=atol, progress=False
    )


def errors_at_end(
    problem: Any, method: Any, end: float, start: np.ndarray, truth: np.ndarray, counts: Sequence[int]
) -> np.ndarray:
    """Euclidean distances from the truth at the end, for several numbers of steps."""
    ends = (fixed(problem, method, end, start, n, save="final").y[-1] for n in counts)
    return np.array([np.linalg.norm(y - truth) for y in ends])


def observed_order(steps: np.ndarray, errors: np.ndarray) -> float:
    """Slope of the last two errors."""
    return float(np.log(errors[-2] / errors[-1]) / np.log(steps[-2] / steps[-1]))
