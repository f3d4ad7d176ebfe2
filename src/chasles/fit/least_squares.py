"""Residuals of all experiments in one vector, in units of their noise, and the least of its squares from a start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.fit.patience import Over
from chasles.fit.physical import physical_least_squares
from chasles.fit.problem import FitProblem

SOLVED = 1e-10  # relative changes of the sum of squares and of the unknowns at the end
UNSETTLED = (
    "values still change after {} evaluations; give more (max_iterations), better starting values or ranges, or fewer "
    "unknowns"
)

Sigma = list[list[float]]  # of each trial and channel


class StuckError(ArithmeticError):
    """A model has no derivatives at values to which an iteration came."""


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

    bounds, kept = problem.bounds, dict[bytes, Any]()
    inside = np.clip(x, np.nextafter(bounds[0], np.inf), np.nextafter(bounds[1], -np.inf))
    best, count = Best(inside), 0

    def function(x: np.ndarray) -> np.ndarray:
        problem.patience.require()
        try:
            found = flat(problem, x, problem.residuals(x), sigma)
        except (ValueError, ArithmeticError, RuntimeError):  # values without a motion: a shorter step is tried
            return np.full(total, np.nan)
        best.see(x, found, loss)
        return found

    def slope(x: np.ndarray) -> np.ndarray:
        nonlocal count
        try:
            found = problem.jacobian(x)
        except (ValueError, ArithmeticError, RuntimeError) as error:
            if not kept:  # at the start
                raise
            raise StuckError(str(error)) from error
        count += 1
        kept.clear()
        kept[x.tobytes()] = found
        return stacked(problem, kept[x.tobytes()], sigma)

    try:
        total = len(flat(problem, inside, problem.residuals(inside), sigma))
        if problem.bodies:
            values, settled = physical_least_squares(
                *(function, slope, inside, scale, bounds, problem.bodies),
                *(lambda r: cost_of(r, loss), lambda r: loss_slopes(r * r, loss)[0]),
                *(most, tolerance),
            )
        else:
            found = least_squares(
                lambda z: function(scale * z),
                inside / scale,
                lambda z: slope(scale * z) * scale,
                (bounds[0] / scale, bounds[1] / scale),
                loss=loss,
                xtol=tolerance,
                ftol=tolerance,
                gtol=SOLVED,
                max_nfev=most,
            )
            values, settled = scale * found.x, found.status > 0
    except (Over, KeyboardInterrupt) as why:
        return Least(best.x, problem.jacobian(best.x), count, problem.patience.end(why))
    except StuckError as why:
        ((before, jacobian),) = kept.items()
        said = f"there is no model beside the values that it came to: {why}; give ranges in which there is one"
        return Least(np.frombuffer(before), jacobian, count, said)
    jacobian = kept.get(values.tobytes()) or problem.jacobian(values)
    return Least(values, jacobian, count, "" if settled else UNSETTLED.format(most))


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


def loss_slopes(z: np.ndarray, loss: str) -> tuple[np.ndarray, np.ndarray]:
    """First and second derivatives of a loss of SciPy by z = r²."""
    if loss == "soft_l1":
        return (1 + z) ** -0.5, -0.5 * (1 + z) ** -1.5
    if loss == "huber":
        return np.maximum(z, 1.0) ** -0.5, np.where(z <= 1, 0.0, -0.5 * np.maximum(z, 1.0) ** -1.5)
    if loss == "cauchy":
        return 1 / (1 + z), -((1 + z) ** -2)
    if loss == "arctan":
        return 1 / (1 + z * z), -2 * z / (1 + z * z) ** 2
    return np.ones_like(z), np.zeros_like(z)


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
