"""Consistent start values of the implicit methods: derivatives at the start from the index-1 equations."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.space import SE3_NAME
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.lie import pose as pose_group
from chasles.lie import se3, so3
from chasles.simulation.bodies import BodyDynamics


class Start(NamedTuple):
    """What generalized alpha begins with: the point, V', a, multipliers of the tiles, power of the forces."""

    y: np.ndarray
    rates: np.ndarray
    algorithmic: np.ndarray
    multipliers: np.ndarray
    power: float


def on_se3(mechanism: AbsoluteMechanism) -> np.ndarray:
    """Which bodies are on SE(3)."""
    return np.array([mechanism.spaces[name] == SE3_NAME for name in mechanism.bodies], dtype=bool)


def bracket(mechanism: AbsoluteMechanism, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[x, y] in the algebra of each body's space, (bodies, 6)."""
    turning = on_se3(mechanism)
    out = np.zeros_like(x)
    out[:, :3] = so3.bracket(x[:, :3], y[:, :3])
    if turning.any():
        out[turning] = se3.bracket(x[turning], y[turning])
    return out


def moved(mechanism: AbsoluteMechanism, q: np.ndarray, x: np.ndarray) -> np.ndarray:
    """q exp(x) of each body in its space, (bodies, 7)."""
    turn = np.concatenate([x[:, :3], np.zeros_like(x[:, :3])], axis=1)
    at = np.concatenate([q[:, :4], np.zeros_like(q[:, 4:])], axis=1)
    out = np.concatenate([pose_group.compose(at, pose_group.exp(turn))[:, :4], q[:, 4:] + x[:, 3:]], axis=1)
    turning = on_se3(mechanism)
    if turning.any():
        out[turning] = pose_group.compose(q[turning], pose_group.exp(x[turning]))
    return out


def algorithmic_start(problem: BodyDynamics, method: GeneralizedAlpha, t: float, h: float, y: np.ndarray) -> Start:
    """Order 2 in positions, velocities and multipliers from the first step on.

    a = V' + (αm - αf) h V''; with index 3 the velocity is also moved off the constraints, mass-orthogonally, by as much
    as the method would: without this the multipliers oscillate, with an error of order 1 (Arnold, Brüls, Cardona 2015).
    """
    mechanism = problem.mechanism
    q, v, _ = problem.split(y)
    angles = problem.angles(y)
    rates, multipliers = mechanism.accelerations(q, v, t, angles)
    power = float(mechanism.applied_forces(q, v, t)[1])

    def beside(step: float) -> np.ndarray:
        there = moved(mechanism, q, step * v + 0.5 * step * step * rates)
        turned = mechanism.angles(there)
        turned = turned + 2 * np.pi * np.round((angles - turned) / (2 * np.pi))
        return mechanism.accelerations(there, v + step * rates, t + step, turned).accelerations

    change = 0.5 * (beside(h) - beside(-h))  # h V''
    twist = h * bracket(mechanism, v, rates)
    if method.local:  # derivatives of the coordinates, not of the velocity
        change, twist = change + 0.5 * twist, 0.0 * twist
    algorithmic = rates + method.shift * change
    start = y.copy()
    if method.index == 3 and mechanism.tiles:
        off = h * ((1 - 6 * method.beta - 3 * method.shift) / 6 * change + twist / 12)
        tangent = mechanism.project(q, v + off, t, angles)[1] - v
        n = mechanism.n
        start[7 * n : 13 * n] = (v + off - tangent).ravel()
    return Start(start, rates, algorithmic, multipliers, power)
