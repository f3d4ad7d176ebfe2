"""Whether a run with an explicit method was held up by stability: a stiff system, for which implicit methods are made.

At a few states of the run the eigenvalue λ of the motion that is largest is estimated (Arnoldi's method on differences
of the vector field). The system is stiff where h |λ| is near the limit of stability of the method and far beyond what
accuracy would allow if that part took part in the motion. Then it has died out or was never moved, and the step is as
short as it is for stability alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from chasles import caution
from chasles.integrate.method import RKMK, Exponentials
from chasles.integrate.solution import Solution
from chasles.integrate.stepper import TOLD
from chasles.model.law import PythonLaw
from chasles.simulation.runaway import name_of_velocity

MANY = 3000  # steps from which on it is worth while to look
STATES, STEPS = 3, 20  # of the run that are looked at, and steps before each
VECTORS = 40  # of Arnoldi's method at most
DIFFERENCE = 1e-6  # of 1 rad and the like
# of the limit of stability: steps that are held up by it go back and forth below it
ALL_ABOVE, ONE_ABOVE = 0.4, 0.6
BEYOND = 3.0  # times the |h λ| at which a part that moves is as accurate as rtol asks
GROWS = 1e-3  # a factor of a step beyond 1 by this is unstable
COMMON = 2.5  # limit of stability of methods that have no tableau
POWERS, AT_LEAST = 6, 0.4  # of the first look: how many, and h |λ| from which on a second one is worth while
LONGER = 30  # times the step: what is advised to begin with
ROUNDING = 1e-9  # of a difference: what is left of a vector is nothing


class StiffnessWarning(RuntimeWarning):
    """Stability limits the steps of an explicit method; an implicit one would take longer steps."""


def warn_if_stiff(task: Any, solution: Solution) -> None:
    """Warn after a run with adaptive steps of an explicit method, with the line to write instead."""
    explicit = isinstance(task.method, RKMK | Exponentials) and task.more["step"] is None
    long = explicit and TOLD.warn and solution.steps >= MANY and len(solution.t) > 1
    if long and _worth_a_look(task.dynamics) and (found := stiff_part(task, solution)):
        caution.warn(f"simulate: {found}", StiffnessWarning)


def stiff_part(task: Any, solution: Solution) -> str:
    """What is stiff and what to write; nothing if the run was not held up."""
    at = np.unique(np.linspace(len(solution.t) // 2, len(solution.t) - 1, STATES).astype(int))
    worst, name, shortest, nearest = 0.0j, "", np.inf, 0.0
    for k in at[::-1]:
        step, near = step_at(solution, int(k)), Vicinity(task, float(solution.t[k]), np.array(solution.y[k]))
        if not step * near.roughly() > AT_LEAST:
            return ""
        value, where = near.largest()
        share = step * abs(value) / stable_radius(task.method, value)
        if not (share > ALL_ABOVE and is_idle(task, step, value)):
            return ""
        shortest, nearest = min(step, shortest), max(share, nearest)
        if abs(value) > abs(worst):
            worst, name = value, where
    if nearest < ONE_ABOVE:
        return ""
    what = "dies out" if abs(worst.real) > abs(worst.imag) else "oscillates"
    said = (
        f"the system is stiff: {name} {what} with {abs(worst):.2g} 1/s, and though it hardly takes part in the motion, "
        f"that keeps the steps at {shortest:.2g} s ({solution.steps} steps). "
    )
    if any(rod.modes is not None for rod in task.dynamics.mechanism.system.rods):
        return said + "Take fewer modes of the rods, or less damping; or none of modes, and an implicit method"
    return said + (
        "An implicit method takes longer ones: "
        'simulate(..., coordinates="absolute", method="radau5", rtol=1e-4), or method="generalized_alpha", whose steps '
        f"are cheaper and of lower order; with step={LONGER * shortest:.1g}, say, all steps are of that length"
    )


def step_at(solution: Solution, k: int) -> float:
    """The step near a saved point, if all points were saved, else the mean of all steps."""
    if len(solution.t) == solution.steps + 1:
        return float(np.median(np.abs(np.diff(solution.t[max(k - STEPS, 0) : k + 1]))))
    return abs(float(solution.t[-1] - solution.t[0])) / solution.steps


def is_idle(task: Any, step: float, value: complex) -> bool:
    """Whether steps of this length are longer than a part with this λ would let them be if it moved: its error in a
    step of order p is about |h λ|^(p + 1) / (p + 1)!."""
    next_order = task.method.order + 1
    moving = (math.factorial(next_order) * task.more["rtol"]) ** (1 / next_order)
    return step * abs(value) > BEYOND * moving


def stable_radius(method: Any, value: complex) -> float:
    """|h λ| up to which a method is stable in the direction of λ."""
    if not isinstance(method, RKMK):
        return COMMON
    A, b = np.zeros((method.table.stages, method.table.stages)), np.array(method.table.b)
    for i, row in enumerate(method.table.a):
        A[i, : len(row)] = row
    z = np.arange(0.1, 12.0, 0.1) * complex(-abs(value.real), value.imag) / abs(value)
    inner = np.linalg.solve(np.eye(len(b)) - z[:, None, None] * A, np.ones((len(z), len(b), 1)))
    grows = np.abs(1 + z * (b @ inner)[:, 0]) > 1 + GROWS
    return float(abs(z[np.argmax(grows)])) if grows.any() else float(abs(z[-1]))


class Vicinity:
    """How the rates of a motion change near a state, in units of the model; work and counted angles have no part."""

    def __init__(self, task: Any, t: float, y: np.ndarray):
        self.dynamics, self.problem, self.t, self.y = task.dynamics, task.dynamics.problem(task.u), t, y
        self.nv = self.dynamics.split(y)[1].size
        self.units = np.ones(self.dynamics.space.dimension)
        self.units[: 2 * self.nv] = self.dynamics.units[: 2 * self.nv]
        self.part = np.arange(len(self.units)) < 2 * self.nv
        self.rates = self._rates(y)
        self.start = self._unit(np.random.default_rng(0).normal(size=len(self.units)))

    def _rates(self, y: np.ndarray) -> np.ndarray:
        out = np.zeros(len(self.units))
        with self.dynamics.calling():
            self.problem.field(self.t, y, self.problem.parameters, out)
        return out

    def _unit(self, z: np.ndarray) -> np.ndarray:
        z = np.where(self.part, z, 0.0)
        return z / (np.linalg.norm(z) or 1.0)

    def change(self, z: np.ndarray) -> np.ndarray:
        """J z."""
        there = self._rates(self.dynamics.space.move(self.y, DIFFERENCE * self.units * z))
        return np.where(self.part, (there - self.rates) / (DIFFERENCE * self.units), 0.0)

    def roughly(self) -> float:
        """About the largest |λ|, by a few powers; growth of two steps, as velocities and positions change places."""
        z, growth = self.start, [1.0]
        for _ in range(POWERS):
            z = self.change(z)
            growth.append(float(np.linalg.norm(z)))
            z = z / (growth[-1] or 1.0)
        return float(np.sqrt(growth[-1] * growth[-2]))

    def largest(self) -> tuple[complex, str]:
        """The largest eigenvalue [1/s], by Arnoldi's method, and the joint or body that has most of it."""
        count = min(VECTORS, 2 * self.nv)
        Q, H = np.zeros((count + 1, len(self.start))), np.zeros((count + 1, count))
        Q[0] = self.start
        for k in range(count):
            new = self.change(Q[k])
            size = np.linalg.norm(new)
            for _ in range(2):  # once more, for rounding
                parts = Q[: k + 1] @ new
                H[: k + 1, k] += parts
                new = new - parts @ Q[: k + 1]
            H[k + 1, k] = np.linalg.norm(new)
            if not H[k + 1, k] > ROUNDING * size:
                count = k + 1
                break
            Q[k + 1] = new / H[k + 1, k]
        if not np.isfinite(H).all():
            return 0.0j, ""
        values, vectors = np.linalg.eig(H[:count, :count])
        worst = int(np.argmax(np.abs(values)))
        shape = np.abs(Q[:count].T @ vectors[:, worst])[self.nv : 2 * self.nv]
        return complex(values[worst]), name_of_velocity(self.dynamics, int(np.argmax(shape)))


def _worth_a_look(dynamics: Any) -> bool:
    """Whether anything acts but gravity: without springs, dampers and laws nothing is stiff. Laws that are plain Python
    are not asked about states that are none of the run."""
    if dynamics.set_valued is not None:  # friction that sticks is no function of the state
        return False
    mechanism = dynamics.mechanism
    acting = mechanism.forces if hasattr(mechanism, "forces") else mechanism.tables.acting
    laws = (*acting.laws, *getattr(mechanism, "laws", ()))
    return not acting.empty and not any(isinstance(law, PythonLaw) for law in laws)
