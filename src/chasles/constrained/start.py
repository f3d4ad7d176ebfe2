"""Consistent start values of the implicit methods: derivatives at the start from the index-1 equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chasles.constrained.body_sizes import lengths_of
from chasles.constrained.group import bracket, moved
from chasles.constrained.index1 import body_motion, onto_constraints, with_workspace
from chasles.constrained.problem import BodyProblem
from chasles.constrained.structure import Structure
from chasles.constraint.special import CUSTOM, ROLL
from chasles.integrate.method import RKMK
from chasles.integrate.problem import LieODE
from chasles.integrate.solver import solve
from chasles.integrate.stepper import whole_or_nothing


class Start:
    """A start (t, y) of a run with step h, for the methods: what the index-1 equations say there. `jump`: forces may
    jump at t, so that nothing before it counts."""

    def __init__(self, problem: BodyProblem, structure: Structure, t: float, h: float, y: np.ndarray, jump: bool):
        self.problem, self.mechanism, self.structure = problem, problem.mechanism, structure
        self.t, self.h, self.y, self.jump = t, h, y, jump
        self.q, self.v, _ = problem.split(y)
        self.angles = problem.angles(y)

    def carried(self) -> dict[str, Any]:
        """What the states of all methods have: the point, and `workspace.CARRIED`."""
        power, rates = power_at_start(self.problem, self.t, self.y), rates_of_angles(self.problem, self.y)
        return {"point": self.y, "power": power, "last_step": self.h, "contraction": 1.0, "angles": rates}

    def motion(self, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V' and the multipliers, at the nodes of the elimination, at velocities v."""
        rates, multipliers = self.mechanism.constrained_motion(self.q, v, self.problem.held, self.t, self.angles)
        at_nodes = np.zeros((self.structure.n_nodes, 3))
        at_nodes[self.structure.nodes] = multipliers
        return rates, at_nodes

    def rates_after(self, step: float, v: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """V' a little later (or earlier), along v and V'."""
        there = moved(self.mechanism, self.q, step * v + 0.5 * step * step * rates)
        turned = self.mechanism.angles(there)
        turned = turned + 2 * np.pi * np.round((self.angles - turned) / (2 * np.pi))
        held = self.problem.held
        return self.mechanism.accelerations_under(there, v + step * rates, held, self.t + step, turned)

    def resolves(self, change: np.ndarray, v: np.ndarray, rates: np.ndarray) -> bool:
        """Whether a change of V' in a step may be that of a motion which the step can follow: with frequencies ω it is
        h ω of V' and (h ω)² of V/h, so not larger than both."""
        lengths = lengths_of(self.mechanism)[:, None]

        def size(x: np.ndarray) -> float:
            angular, linear = np.split(np.abs(x.reshape(-1, 6)), 2, axis=1)
            return float(np.maximum(angular * lengths, linear).max(initial=0.0))

        return size(change) <= size(rates) + size(v) / abs(self.h)

    def change_in_time(self, v: np.ndarray, rates: np.ndarray) -> np.ndarray:
        """How V' changes in a step because forces and constraints depend on time, the state as it is."""
        ahead = self.mechanism.accelerations_under(self.q, v, self.problem.held, self.t + self.h, self.angles)
        return ahead - rates

    def onto_constraints(self, v: np.ndarray) -> np.ndarray:
        """Velocities projected onto the constraints."""
        return self.mechanism.project(self.q, v, self.t, self.angles)[1]

    def bracket(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """[x, y] in the algebra of each body's space."""
        return bracket(self.mechanism, x, y)


def exact_points(problem: BodyProblem, t: float, times: Sequence[float], y: np.ndarray) -> np.ndarray:
    """Points at some times after t, by an explicit method of order 8 on the index-1 form with projection."""
    p = with_workspace(problem.mechanism)
    if problem.held is not None:
        p[problem.control] = problem.held
    units, points = problem.units, []
    projected = LieODE(problem.space, body_motion, p, onto_constraints, units=units)
    for end in times:  # each the end of a run: in between, the curve would be of order 4 only
        tight: dict[str, Any] = {"rtol": 1e-13, "atol": 1e-13 * units, "save": "final", "progress": False}
        with whole_or_nothing():
            y = solve(projected, RKMK("dop853"), (t, end), y, **tight).y[-1]
        points.append(y)
        t = end
    return np.array(points)


def power_at_start(problem: BodyProblem, t: float, y: np.ndarray) -> float:
    """Power of all forces but gravity and springs, and of constraints that depend on time."""
    mechanism, (q, v, _), angles = problem.mechanism, problem.split(y), problem.angles(y)
    power = mechanism.applied_forces(q, v, problem.held, t, angles)[1]
    if mechanism.tiles:
        multipliers = mechanism.constrained_motion(q, v, problem.held, t, angles).multipliers
        power = power + np.sum(multipliers * mechanism.rows(q, np.zeros_like(v), t, angles)[1])  # minus J V asked for
    return float(power)


def rates_of_angles(problem: BodyProblem, y: np.ndarray) -> np.ndarray:
    """Rates of what is counted over full turns."""
    mechanism, (q, v, _) = problem.mechanism, problem.split(y)
    if not mechanism.counted:
        return np.zeros(0)
    speeds, where = mechanism.joint_states(q, v, problem.angles(y))[1], mechanism.joint_tables.velocities
    return np.array([speeds[where[joint].start + coordinate] for joint, coordinate in mechanism.counted])


def nonholonomic_rows(problem: BodyProblem, y: np.ndarray, t: float) -> np.ndarray:
    """Which rows (tiles, 3) are equations between velocities alone: their residual does not follow the poses."""
    mechanism = problem.mechanism
    rows = np.zeros((len(mechanism.tiles), 3), dtype=np.int64)
    some = [k for k, tile in enumerate(mechanism.tiles) if tile.kind in (CUSTOM, ROLL)]
    if some:
        q, v, _ = problem.split(y)
        aside = 1e-5 * np.random.default_rng(1).normal(size=(mechanism.n, 6))
        there = moved(mechanism, q, aside)
        residual = mechanism.rows(there, v, t)[0] - mechanism.rows(q, v, t)[0]
        expected = mechanism.rows(q, aside, t)[1] - mechanism.rows(q, 0 * aside, t)[1]
        rows[some] = (np.abs(residual) <= 1e-2 * np.abs(expected))[some] & (np.abs(expected) > 0)[some]
    return rows
