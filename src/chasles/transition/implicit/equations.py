"""The equations of a user's model at a state, M V' + Aᵀ λ = Q, g = 0, A V = 0, and their derivatives.

Velocities and their derivatives are in the representation of the model, flat (6 n,); a model f(q, V, t) has M = 1 and
Q = f. Derivatives with respect to q are along twists of the model.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.transition.descriptor_form import Descriptor
from chasles.transition.implicit.chart import Chart
from chasles.transition.problem import LGTProblem

DIFFERENCE = 1e-7  # relative; what Newton's matrix needs
SLOPE = 1e-4  # how far the rows of A may be off the differences of g
CONSISTENT = 1e-8  # how far a start may be off the constraints, of what is large for a row
AT_REST = 1.0  # [rad, or lengths, per second]: slower motions are not known better


class Residual(NamedTuple):
    """Parts of the equations at a trial state."""

    mass: np.ndarray
    rows: np.ndarray  # A
    motion: np.ndarray  # M V' + Aᵀ λ - Q
    position: np.ndarray  # g
    velocity: np.ndarray  # A V


class Slopes(NamedTuple):
    """Derivatives of the equations."""

    stiffness: np.ndarray  # of the equations of motion, with respect to q
    damping: np.ndarray  # ... and to V
    turning: np.ndarray  # of A V with respect to q


class ModelEquations:
    """The equations of a problem."""

    def __init__(self, problem: LGTProblem, chart: Chart):
        self.problem, self.chart, self.size = problem, chart, 6 * problem.bodies
        self.evaluations = 0  # of the forces, or of f
        given = problem.acceleration
        self.parts = given if isinstance(given, Descriptor) else Descriptor(np.eye(self.size), self._accelerations)
        self.constrained = self.parts.jacobian is not None

    def _accelerations(self, q: np.ndarray, twists: np.ndarray, t: float) -> np.ndarray:
        return self.problem.accelerations(t, q, twists)

    def forces(self, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        self.evaluations += 1
        return self.parts.forces_at(q, v.reshape(-1, 6), t)

    def units(self, mass: np.ndarray) -> np.ndarray:
        """What is large for each number of twists of all bodies: 1 rad, or the length."""
        return np.tile(np.repeat([1.0, length_of(mass)], 3), self.size // 6)

    def solve(self, q: np.ndarray, v: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """V' (n, 6) and λ of the index-1 form."""
        self.evaluations += 1
        rate, multipliers = self.parts.accelerations(q, v, t)
        return rate.reshape(-1, 6), multipliers

    def residual(self, q: np.ndarray, v: np.ndarray, rate: np.ndarray, multipliers: np.ndarray, t: float) -> Residual:
        m, a = self.parts.mass_at(q), self.parts.rows_at(q)
        motion = m @ rate.reshape(-1) + a.T @ multipliers - self.forces(q, v, t)
        return Residual(m, a, motion, self.parts.constraint_at(q, len(a)), a @ v.reshape(-1))

    # ------------------------------------------------------------ derivatives

    def moved(self, q: np.ndarray, twist: np.ndarray) -> np.ndarray:
        """q moved along small twists (..., n, 6) of the model."""
        return self.chart.move(q, self.chart.to_group(q, twist))

    def slopes(self, q: np.ndarray, v: np.ndarray, rate: np.ndarray, multipliers: np.ndarray, t: float) -> Slopes:
        """By differences, but for the derivatives of the forces if the user gives them."""
        parts, n, mass = self.parts, self.size, self.parts.mass_at(q)
        units = self.units(mass)
        stiffness, damping, turning = np.zeros((n, n)), np.zeros((n, n)), np.zeros((len(multipliers), n))
        if parts.derivatives is not None:
            by_q, by_v = _checked(parts.derivatives(q, v, t), n, t)
            stiffness, damping = -by_q, -by_v
        with_forces = parts.derivatives is None
        if with_forces:
            force, pace = self.forces(q, v, t), max(AT_REST, float(np.abs(v.reshape(-1) / units).max()))
            for k in range(n):
                faster, small = v.reshape(-1).copy(), DIFFERENCE * pace * units[k]
                faster[k] += small
                damping[:, k] = (force - self.forces(q, faster, t)) / small
        if with_forces or self.constrained or callable(parts.mass):
            steps = DIFFERENCE * np.array([1.0] * 3 + [farthest(q, mass)] * 3)
            aside = self.moved(q, np.diag(steps)[:, None])
            here = self._pushes(q, v, rate.reshape(-1), multipliers, t, with_forces)
            for k in range(n):
                there = q.copy()
                there[k // 6], small = aside[k % 6, k // 6], steps[k % 6]
                motion, speed = self._pushes(there, v, rate.reshape(-1), multipliers, t, with_forces)
                stiffness[:, k] += (motion - here[0]) / small
                turning[:, k] = (speed - here[1]) / small
        return Slopes(stiffness, damping, turning)

    def _pushes(self, q, v, rate, multipliers, t, with_forces):
        """M V' + Aᵀ λ [- Q] and A V, whose differences are wanted."""
        a = self.parts.rows_at(q)
        motion = self.parts.mass_at(q) @ rate + a.T @ multipliers
        return motion - self.forces(q, v, t) if with_forces else motion, a @ v.reshape(-1)

    # ------------------------------------------------------------ onto the constraints

    def project(self, q: np.ndarray, v: np.ndarray, t: float) -> tuple[np.ndarray, np.ndarray]:
        """Positions, then velocities, onto the constraints, mass-orthogonally; for states that are nearly on them."""
        if not self.constrained:
            return q, v
        for _ in range(3):
            q = self.moved(q, -self.normal(q, self.parts.constraint_at(q, len(self.parts.rows_at(q))), t))
        return q, self.project_velocities(q, v, t)

    def project_velocities(self, q: np.ndarray, v: np.ndarray, t: float) -> np.ndarray:
        return v - self.normal(q, self.parts.rows_at(q) @ v.reshape(-1), t)

    def normal(self, q: np.ndarray, residual: np.ndarray, t: float) -> np.ndarray:
        return self.parts.normal_part(q, residual, t).reshape(-1, 6)

    def check(self, method: object, q: np.ndarray, v: np.ndarray) -> None:
        """Refuse a model without what the method needs, with rows that are not those of g, or a start off g = 0."""
        mass = self.parts.mass_at(q)
        if mass.shape != (self.size, self.size):
            raise ValueError(
                f"solve: the mass matrix has shape {mass.shape}; expected {(self.size, self.size)} for "
                f"{self.problem.bodies} bodies"
            )
        if not self.constrained:
            return
        name = type(method).__name__
        if self.parts.constraint is None:
            raise ValueError(
                f"solve: {name} holds the constraints of positions, and the model has only their rates: give g(q), as "
                "descriptor(..., constraint=g); RKMK does without"
            )
        a = self.parts.rows_at(q)
        g = self.parts.constraint_at(q, len(a))
        units = self.units(mass)
        large = np.abs(a) @ units  # for each row, whatever its unit
        large = np.where(large > 0, large, large.max() or 1.0)
        self._check_rows(q, a, units, large)
        speed = a @ v.reshape(-1)
        off = np.maximum(np.abs(g), np.abs(speed) / (AT_REST + np.abs(v.reshape(-1) / units).max())) / large
        if not off.max() <= CONSISTENT:
            row = int(np.argmax(off))
            raise ValueError(
                f"solve: the start violates the constraints: row {row} by {g[row]:.3g} in position and "
                f"{speed[row]:.3g} in velocity; {name} needs g(q) = 0 and A(q) V = 0"
            )

    def _check_rows(self, q: np.ndarray, a: np.ndarray, units: np.ndarray, large: np.ndarray) -> None:
        """A is the derivative of g along twists of the model: else the two mean different things."""
        small, twist = 1e-5, (np.random.default_rng(0).normal(size=self.size) * units).reshape(-1, 6)
        ends = [self.parts.constraint_at(self.moved(q, e * twist), len(a)) for e in (small, -small)]
        expected, seen = a @ twist.reshape(-1), (ends[0] - ends[1]) / (2 * small)
        off = np.abs(seen - expected) / large
        row = int(np.argmax(off))
        if not off[row] <= SLOPE:
            raise ValueError(
                f"solve: jacobian and constraint do not belong together: along a twist V row {row} of A V is "
                f"{expected[row]:.6g}, and g changes at {seen[row]:.6g}; A must be the derivative of g along twists "
                f"in the representation of the model, {self.problem.representation!r}"
            )


def length_of(mass: np.ndarray) -> float:
    """How large bodies are, by their masses: their radius of gyration. Of a model without masses it is 1."""
    diagonal = np.diag(mass).reshape(-1, 2, 3).sum(axis=(0, 2))
    return float(np.sqrt(diagonal[0] / diagonal[1])) if min(diagonal) > 0 else 1.0


def farthest(q: np.ndarray, mass: np.ndarray) -> float:
    """The largest coordinate of a position, or the length."""
    return max(float(np.abs(q[..., -3:]).max()), length_of(mass))


def _checked(given, size: int, t: float) -> tuple[np.ndarray, np.ndarray]:
    try:
        by_q, by_v = (np.asarray(part, dtype=float) for part in given)
    except (TypeError, ValueError):
        by_q = by_v = np.empty(0)
    if by_q.shape != (size, size) or by_v.shape != (size, size):
        raise ValueError(
            f"descriptor: derivatives gave something else than ∂Q/∂q and ∂Q/∂V, each ({size}, {size}), at t = {t:.6g}"
        )
    return by_q, by_v
