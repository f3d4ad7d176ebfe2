"""Residuals of all experiments in one vector, in units of their noise, and the least of its squares from a start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.fit.patience import Over
from chasles.fit.problem import FitProblem
from chasles.fit.unknown import BODY

SOLVED = 1e-10  # relative changes of the sum of squares and of the unknowns at the end

Sigma = list[list[float]]  # of each trial and channel


@dataclass(frozen=True)
class Least:
    """Where the squares are least: unknowns, derivatives of the residuals; `unsettled`: why it is not the end."""

    x: np.ndarray
    jacobian: list[list[np.ndarray]]
    iterations: int
    unsettled: str


def least_squares_from(
    problem: FitProblem,
    x: np.ndarray,
    scale: np.ndarray,
    sigma: Sigma,
    loss: str,
    most: int,
    tolerance: float = SOLVED,
) -> Least:
    """Least squares with given noise, in units of the sizes of the unknowns. If the patience of the problem ends, or
    Ctrl-C comes, the best so far."""
    from scipy.optimize import least_squares

    (low, high), kept = problem.bounds, dict[bytes, Any]()
    inside = np.clip(x, np.nextafter(low, np.inf), np.nextafter(high, -np.inf))
    best = Best(inside)

    def function(z: np.ndarray) -> np.ndarray:
        problem.patience.require()
        try:
            found = flat(problem, scale * z, problem.residuals(scale * z), sigma)
        except (ValueError, ArithmeticError, RuntimeError):  # values without a motion: a shorter step is tried
            return np.full(total, np.nan)
        best.see(scale * z, found, loss)
        return found

    def slope(z: np.ndarray) -> np.ndarray:
        kept[z.tobytes()] = problem.jacobian(scale * z)
        return stacked(problem, kept[z.tobytes()], sigma) * scale

    try:
        total = len(flat(problem, inside, problem.residuals(inside), sigma))
        found = least_squares(
            function,
            inside / scale,
            slope,
            (low / scale, high / scale),
            loss=loss,
            xtol=tolerance,
            ftol=tolerance,
            gtol=SOLVED,
            max_nfev=most,
        )
    except (Over, KeyboardInterrupt) as why:
        return Least(best.x, problem.jacobian(best.x), len(kept), problem.patience.end(why))
    values = scale * found.x
    return Least(
        values,
        kept.get(found.x.tobytes()) or problem.jacobian(values),
        int(found.njev),
        "" if found.status > 0 else _unsettled(problem, most),
    )


def _unsettled(problem: FitProblem, most: int) -> str:
    """Why iterations have not settled, and what to do."""
    said = (
        f"values still change after {most} evaluations; give more (max_iterations), better starting values or ranges, "
        "or fewer unknowns"
    )
    if not (bodies := [slot.path for slot in problem.slots if slot.kind == BODY]):
        return said
    return (
        f"{said}. Perhaps {', '.join(map(repr, bodies))} is a plate or a rod, or the data asks for an inertia that no "
        "body has: both lie at the end of the physical inertias, which is reached slowly"
    )


class Best:
    """The values with the least cost of those that were looked at."""

    def __init__(self, x: np.ndarray):
        self.x, self.cost = x, np.inf

    def see(self, x: np.ndarray, residuals: np.ndarray, loss: str) -> None:
        if (cost := cost_of(residuals, loss)) < self.cost:
            self.x, self.cost = x.copy(), cost


def cost_of(r: np.ndarray, loss: str) -> float:
    """Half the sum of a loss of SciPy."""
    z = r * r
    losses = {
        "linear": lambda: z,
        "soft_l1": lambda: 2 * (np.sqrt(1 + z) - 1),
        "huber": lambda: np.where(z <= 1, z, 2 * np.sqrt(z) - 1),
        "cauchy": lambda: np.log1p(z),
        "arctan": lambda: np.arctan(z),
    }
    return 0.5 * float(losses[loss]().sum())


def flat(problem: FitProblem, x: np.ndarray, residuals: list[list[np.ndarray]], sigma: Sigma) -> np.ndarray:
    """All residuals in units of their noise, and those of the priors."""
    parts = [(r / s).ravel() for own, ss in zip(residuals, sigma, strict=True) for r, s in zip(own, ss, strict=True)]
    edges = problem.edges
    for k, slot in enumerate(problem.slots):
        if slot.prior:
            parts.append((x[edges[k] : edges[k + 1]] - slot.prior[0]) / slot.prior[1])
    return np.concatenate(parts)


def stacked(problem: FitProblem, jacobian: list[list[np.ndarray]], sigma: Sigma) -> np.ndarray:
    """Derivatives of `flat`."""
    n, edges = len(problem.start), problem.edges
    parts = [
        (J / s).reshape(-1, n) for own, ss in zip(jacobian, sigma, strict=True) for J, s in zip(own, ss, strict=True)
    ]
    for k, slot in enumerate(problem.slots):
        if slot.prior:
            parts.append(np.eye(n)[edges[k] : edges[k + 1]] / slot.prior[1])
    return np.concatenate(parts)
