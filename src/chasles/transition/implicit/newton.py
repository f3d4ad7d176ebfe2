"""Newton's method for the equations of an implicit step.

The matrix is made once a step, with derivatives of the model that are kept from step to step as long as it converges
fast: they are what costs evaluations of the model. `integrate.stopping` has the rule by which the iteration ends.

A method says what the state (q, V, V') at the end of a step is, V and V' on the group, of two displacements: d from the
predicted state, which V and V' follow, and a shift of the positions alone. The unknowns are d, the multipliers λ, and ζ
of the stabilized form, in which the positions are shifted by -G ζ, to hold g = 0 beside A V = 0:

    s (M V' + Aᵀ λ - Q) = 0,   g = 0,   κ A V = 0     (the last, and ζ, with index 2 only)

dV = d/κ, and s/κ² is a constant of the method, so that nothing in the matrix grows as the step becomes short.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from chasles.integrate import stopping
from chasles.integrate.newton import EPS
from chasles.integrate.status import DONE, NO_CONVERGENCE, NOT_FINITE, SINGULAR
from chasles.transition.implicit.chart import Chart
from chasles.transition.implicit.equations import ModelEquations, Residual, Slopes, farthest

ITERATIONS = 20
PATIENCE = 5  # iterations that may still come before new derivatives are worth their price
SAFE = 0.1  # of the tolerance, which the estimate of the error must be below
FINEST = 16.0  # units of rounding of positions that a tolerance can ask for
LEFT = 0.5  # of the goals: what is left then is below them
LEAST = 0.1  # what an iteration is trusted to leave of an error, at best: some parts converge more slowly than others
STUCK = 1e-11  # corrections below this, relative to positions, that stop shrinking are rounding
DIFFERENCE = 1e-6  # central, of the state at the end of a step

converged, at_rounding = (getattr(rule, "py_func", rule) for rule in (stopping.converged, stopping.at_rounding))


class Predicted(Protocol):
    """A step of a method, predicted."""

    s: float
    kappa: float
    predicted: np.ndarray  # displacement x of all bodies, (n, 6)

    def state(self, d: np.ndarray, shift: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q, V and V' (on the group) at displacements `predicted` + d + shift; arrays may have leading axes."""
        ...


@dataclass
class Unknowns:
    """Of a step: they are corrected in place."""

    d: np.ndarray  # (n, 6)
    multipliers: np.ndarray
    zeta: np.ndarray
    shifts: np.ndarray  # G, (6 n, m); not an unknown

    @property
    def shift(self) -> np.ndarray:
        return -(self.shifts @ self.zeta).reshape(-1, 6)


class Newton:
    """The solver of the steps of a run. It remembers the derivatives of the model, and whether they are `stale`."""

    def __init__(self, equations: ModelEquations, chart: Chart, index: int, tolerance: float, rows: int):
        self.equations, self.chart, self.tolerance = equations, chart, tolerance
        self.stabilized = index == 2 and rows > 0
        self.size, self.rows = equations.size, rows
        total = self.size + rows * (2 if self.stabilized else 1)
        self.inverse, self.stale = np.zeros((total, total)), np.ones(1, dtype=np.int64)
        self.slopes = Slopes(
            np.zeros((self.size, self.size)), np.zeros((self.size, self.size)), np.zeros((rows, self.size))
        )
        self.corrections: list[float] = []
        self.residuals: list[float] = []
        self.worst = -1  # constraint with the largest residual

    def solve(self, step: Predicted, t: float, h: float, z: Unknowns) -> int:
        """Solve for the unknowns from their predicted values; DONE, or how it failed. t is the end of the step."""
        self.corrections, self.residuals = [], []
        previous, goals, far, fresh = np.inf, np.ones((1, 2)), 1.0, False
        for iteration in range(ITERATIONS):
            q, v, rate = self._model(step, z)
            residual = self.equations.residual(q, v, rate, z.multipliers, t)
            if not np.isfinite(residual.motion).all():
                return NOT_FINITE
            if iteration == 0:
                far = farthest(q, residual.mass)
                goals = self._goals(v, rate, abs(h), far)
            if self.stale[0]:
                fresh = True
                new = self.equations.slopes(q, v, rate, z.multipliers, t)
                for slope, values in zip(self.slopes, new, strict=True):
                    slope[...] = values
            if iteration == 0 or self.stale[0]:
                self.stale[0] = 0
                if not self._new_matrix(step, z, q, residual):
                    return SINGULAR
            size, largest = self._correct(step, z, residual, abs(h), goals)
            if not np.isfinite(size):
                return NOT_FINITE
            contraction = size / previous if iteration else 1.0
            if converged(size, contraction, LEAST, 1.0, LEFT):
                return DONE
            if iteration > 1 and at_rounding(largest, contraction, STUCK * far):
                return DONE
            if iteration and not fresh and (contraction > 0.9 or size * contraction**PATIENCE > 1.0):
                self.stale[0] = 1
            previous = size
        self.stale[0] = 1
        return NO_CONVERGENCE

    def _model(self, step: Predicted, z: Unknowns):
        """The trial state in the twists of the model."""
        q, w, rate = step.state(z.d, z.shift)
        return q, *self.chart.both_from_group(q, w, rate)

    def _goals(self, v: np.ndarray, rate: np.ndarray, h: float, far: float) -> np.ndarray:
        """What corrections of angles and displacements of each body must be below, (n, 2): relative to its own motion
        in the step, so that neither a velocity nor another body has a part in how well it turns."""
        bodies = self.size // 6
        fastest = np.maximum(_angular_and_linear(v, bodies), h * _angular_and_linear(rate, bodies))
        return SAFE * np.maximum(self.tolerance * h * fastest, FINEST * EPS * np.array([1.0, far]))

    def _correct(
        self, step: Predicted, z: Unknowns, residual: Residual, h: float, goals: np.ndarray
    ) -> tuple[float, float]:
        """Correct the unknowns; the largest displacement relative to its goal, and the largest at all, with those that
        corrections of λ would make of free bodies: d alone would not tell whether λ has converged, as it is held by the
        constraints."""
        parts = [step.s * residual.motion, residual.position, step.kappa * residual.velocity]
        change = -self.inverse @ np.concatenate(parts if self.stabilized else parts[:2])
        n, m = self.size, self.rows
        z.d += change[:n].reshape(-1, 6)
        z.multipliers += change[n : n + m] / step.s
        sizes = [change[:n]]
        if m:
            sizes.append(np.linalg.solve(residual.mass, residual.rows.T @ change[n : n + m]))
        if self.stabilized:
            z.zeta += change[n + m :]
            sizes.append(z.shifts @ change[n + m :])
        size, largest = float((_angular_and_linear(sizes, n // 6) / goals).max()), float(np.abs(sizes).max())
        constraints = np.abs(residual.velocity if self.stabilized else residual.position)
        self.worst = int(np.argmax(constraints)) if m else -1
        self.corrections.append(largest / h)
        self.residuals.append(float(constraints.max(initial=0.0)))
        return size, largest

    # ------------------------------------------------------------ the matrix

    def _new_matrix(self, step: Predicted, z: Unknowns, q: np.ndarray, residual: Residual) -> bool:
        """Find the inverse of Newton's matrix with the derivatives at hand; False if there is none."""
        K, C, turning = self.slopes
        moved, by_d, by_shift = self._state_slopes(step, z, q)
        M, A, n, m = residual.mass, residual.rows, self.size, self.rows
        motion = [step.s * (K @ moved + C @ v_slope + M @ rate_slope) for v_slope, rate_slope in (by_d, by_shift)]
        speed = [step.kappa * (A @ v_slope + turning @ moved) for v_slope, _ in (by_d, by_shift)]
        matrix = np.zeros_like(self.inverse)
        matrix[:n, :n], matrix[:n, n : n + m], matrix[n : n + m, :n] = motion[0], A.T, A @ moved
        if self.stabilized:
            matrix[n + m :, :n] = speed[0]
            matrix[:, n + m :] = -np.concatenate([motion[1], A @ moved, speed[1]]) @ z.shifts
        try:
            self.inverse[...] = np.linalg.inv(matrix)
        except np.linalg.LinAlgError:
            return False
        return bool(np.isfinite(self.inverse).all())

    def _state_slopes(self, step: Predicted, z: Unknowns, q: np.ndarray):
        """Twists by a displacement; V and V' by d, and by the shift: all block-diagonal (6 n, 6 n), in the twists of
        the model. Each body moves by itself, so that one difference serves all of them at once."""
        aside = DIFFERENCE * np.concatenate([np.eye(6), -np.eye(6)])[:, None]
        slopes = []
        for d, moved in ((z.d + aside, z.shift + 0 * aside), (z.d + 0 * aside, z.shift + aside)):
            there, w, rate = step.state(d, moved)
            both = self.chart.both_from_group(there, w, rate)
            slopes.append([_blocks((x[:6] - x[6:]) / (2 * DIFFERENCE)) for x in both])
        onward = self.chart.onward(step.predicted + z.d + z.shift)
        return _blocks(self.chart.from_group(q, np.moveaxis(onward, -1, 0))), *slopes


def _angular_and_linear(x, bodies: int) -> np.ndarray:
    """Largest angular and largest linear number of each body, (n, 2), of one or several vectors of six a body."""
    parts = np.abs(x)
    return parts.reshape(-1, bodies, 2, 3).max(axis=(0, -1))


def _blocks(columns: np.ndarray) -> np.ndarray:
    """The block-diagonal matrix of columns (6, bodies, 6): column, body, row."""
    n = columns.shape[1]
    result = np.zeros((n, 6, n, 6))
    result[range(n), :, range(n), :] = columns.transpose(1, 2, 0)
    return result.reshape(6 * n, 6 * n)
