"""Consistent start values of the implicit methods: derivatives at the start from the index-1 equations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from chasles.absolute.implicit.group import bracket, moved
from chasles.constraint.special import CUSTOM, ROLL
from chasles.integrate.constrained_method import BLieDF, GeneralizedAlpha
from chasles.integrate.fixed_step import Schedule
from chasles.integrate.method import RKMK
from chasles.integrate.problem import LieODE
from chasles.integrate.solver import solve
from chasles.integrate.stepper import whole_or_nothing
from chasles.simulation.bodies import BodyDynamics
from chasles.simulation.body_motion import body_motion, onto_constraints, with_workspace


class Start(NamedTuple):
    """What generalized alpha begins with: the point, V', h V'' (of the coordinates), a, multipliers of the tiles."""

    y: np.ndarray
    rates: np.ndarray
    change: np.ndarray
    algorithmic: np.ndarray
    multipliers: np.ndarray


def algorithmic_start(
    problem: BodyDynamics, method: GeneralizedAlpha, t: float, h: float, y: np.ndarray, one_sided: bool = False
) -> Start:
    """Order 2 in positions, velocities and multipliers from the first step on. `one_sided`: forces may jump at t.

    a = V' + (αm - αf) h V''; with index 3 the velocity is also moved off the constraints, mass-orthogonally, by as much
    as the method would: without this the multipliers oscillate, with an error of order 1 (arnold2015).
    """
    mechanism = problem.mechanism
    q, v, _ = problem.split(y)
    angles = problem.angles(y)
    if method.index == 3 and mechanism.tiles:  # a step of this method before may have left them off
        v = mechanism.project(q, v, t, angles)[1]
    rates, multipliers = mechanism.constrained_motion(q, v, problem.held, t, angles)

    def beside(step: float) -> np.ndarray:
        there = moved(mechanism, q, step * v + 0.5 * step * step * rates)
        turned = mechanism.angles(there)
        turned = turned + 2 * np.pi * np.round((angles - turned) / (2 * np.pi))
        return mechanism.accelerations_under(there, v + step * rates, problem.held, t + step, turned)

    change = beside(h) - rates if one_sided else 0.5 * (beside(h) - beside(-h))  # h V''
    twist = h * bracket(mechanism, v, rates)
    if method.local:  # derivatives of the coordinates, not of the velocity
        change, twist = change + 0.5 * twist, 0.0 * twist
    algorithmic = rates + method.shift * change
    start = y.copy()
    if method.index == 3 and mechanism.tiles:
        off = h * ((1 - 6 * method.coefficients[3] - 3 * method.shift) / 6 * change + twist / 12)
        tangent = mechanism.project(q, v + off, t, angles)[1] - v
        n = mechanism.n
        start[7 * n : 13 * n] = (v + off - tangent).ravel()
    return Start(start, rates, change, algorithmic, multipliers)


def exact_points(problem: BodyDynamics, t: float, times: Sequence[float], y: np.ndarray) -> np.ndarray:
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


def multistep_start(problem: BodyDynamics, method: BLieDF, t: float, plan: Schedule, y: np.ndarray) -> np.ndarray:
    """The points of the first k - 1 steps."""
    count = min(method.k - 1, plan.steps)
    times = [plan.end if k == plan.steps else t + k * plan.step for k in range(1, count + 1)]
    return exact_points(problem, t, times, y)


def power_at_start(problem: BodyDynamics, t: float, y: np.ndarray) -> float:
    """Power of all forces but gravity and springs, and of constraints that depend on time."""
    mechanism, (q, v, _), angles = problem.mechanism, problem.split(y), problem.angles(y)
    power = mechanism.applied_forces(q, v, problem.held, t, angles)[1]
    if mechanism.tiles:
        multipliers = mechanism.constrained_motion(q, v, problem.held, t, angles).multipliers
        power = power + np.sum(multipliers * mechanism.rows(q, np.zeros_like(v), t, angles)[1])  # minus J V asked for
    return float(power)


def rates_of_angles(problem: BodyDynamics, y: np.ndarray) -> np.ndarray:
    """Rates of what is counted over full turns."""
    mechanism, (q, v, _) = problem.mechanism, problem.split(y)
    if not mechanism.counted:
        return np.zeros(0)
    speeds, where = mechanism.joint_states(q, v, problem.angles(y))[1], mechanism.joint_tables.velocities
    return np.array([speeds[where[joint].start + coordinate] for joint, coordinate in mechanism.counted])


def nonholonomic_rows(problem: BodyDynamics, y: np.ndarray, t: float) -> np.ndarray:
    """Which rows (tiles, 3) are equations between velocities alone: their residual does not follow the poses."""
    mechanism = problem.mechanism
    found = np.zeros((len(mechanism.tiles), 3), dtype=np.int64)
    some = [k for k, tile in enumerate(mechanism.tiles) if tile.kind in (CUSTOM, ROLL)]
    if some:
        q, v, _ = problem.split(y)
        aside = 1e-5 * np.random.default_rng(1).normal(size=(mechanism.n, 6))
        there = moved(mechanism, q, aside)
        residual = mechanism.rows(there, v, t)[0] - mechanism.rows(q, v, t)[0]
        expected = mechanism.rows(q, aside, t)[1] - mechanism.rows(q, 0 * aside, t)[1]
        found[some] = (np.abs(residual) <= 1e-2 * np.abs(expected))[some] & (np.abs(expected) > 0)[some]
    return found
