"""Cotangents through velocities that generalized alpha projects onto the constraints, of many states at once.

Velocities V become V + M⁻¹ Jᵀ μ with J V = target. With S = J M⁻¹ Jᵀ, a cotangent v̄ of the result gives h from
S h = J M⁻¹ v̄ and m = M⁻¹ (v̄ - Jᵀ h): what is left, M m, is the cotangent of V, and m and h are the weights of
M (change of V) + Jᵀ μ = 0 and J V = target, by which poses and parameters count. Where rows depend on others, S is
singular and h is not unique, but m and what h makes of consistent rows are.
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates
from chasles.simulation.adjoint.factors import SURPLUS, BalancedFactors
from chasles.simulation.adjoint.weights import Weighed, Weights


class VelocitiesBack:
    """Projections at states, orthogonal in the metric of the masses, ready to be taken backward."""

    def __init__(
        self, residuals: BodyResiduals, states: MovingStates, given: np.ndarray, on: np.ndarray, places: bool = False
    ):
        """states: of poses, at rest and without forces. given: velocities before, on: after (states, 6 bodies).
        places: they are changes of the poses instead, J on = -g, which is by g that they follow these."""
        self.residuals, self.n, self.count = residuals, residuals.n, len(states.t)
        rows, edges = residuals.rows, residuals.edges
        self.held = np.flatnonzero(residuals.measured | residuals.rotors)
        self.rotors = residuals.rotors[self.held]
        change, speed = edges[3] + rows[self.held], edges[2] + rows[self.held]
        self.R, self.inverse = residuals.rotations(states.q), residuals.metric("mass")
        self.moving = states._replace(v=np.ascontiguousarray(on))
        by_pose, by_velocity = residuals.columns(self.moving)[1]
        shape, self.places = (self.count, self.n, 6, -1), places
        self.by_pose, self.own = by_pose[..., speed].reshape(shape), by_velocity[..., speed].reshape(shape)
        if places:
            self.by_pose = self.by_pose + by_pose[..., edges[1] + rows[self.held]].reshape(shape)
        self.jacobian = self.own.copy()
        self.jacobian[:, :, 3:] = self.R @ self.jacobian[:, :, 3:]
        self.factors = self._factors()
        moved = self._in_space(on - given)
        right = -np.einsum("sijr,sij->sr", self.jacobian, moved)
        right[:, self.rotors] = 0.0  # these hold nothing: they are part of the metric
        impulse = np.zeros((self.count, len(rows)))
        for k in range(self.count):
            impulse[k, self.held] = self.factors.solve(k, right[k])
        lam = impulse.reshape(self.count, -1, 3)[:, residuals.rows_of_tile].reshape(self.count, -1)
        self.pushed = states._replace(rate=np.ascontiguousarray(on - given), lam=lam)
        by_turn = residuals.columns(self.pushed)[1][0]
        self.by_turn = by_turn[..., : 6 * self.n].reshape(shape), by_turn[..., change].reshape(shape)
        size, each = 6 * self.n, len(rows)
        self.weights_of_push = Weights(*(np.zeros((self.count, m)) for m in (size, size, each, each, each)))
        self.weights_of_speed = Weights(*(np.zeros((self.count, m)) for m in (size, size, each, each, each)))

    def _factors(self) -> BalancedFactors:
        light = self.inverse[..., None] * self.jacobian
        count = len(self.held)
        matrix = light.reshape(self.count, -1, count).transpose(0, 2, 1) @ self.jacobian.reshape(self.count, -1, count)
        every = np.arange(count)
        surplus = None
        if self.residuals.mechanism.redundant:
            surplus = np.where(self.rotors, 0.0, SURPLUS * matrix[:, every, every])
        matrix[:, every[self.rotors], every[self.rotors]] += 1.0
        return BalancedFactors.of(matrix, surplus)

    def _in_space(self, x: np.ndarray) -> np.ndarray:
        """Of velocities (states, 6 bodies) in the bodies' spaces, (states, bodies, 6): linear parts in space."""
        out = x.reshape(self.count, self.n, 6).copy()
        out[..., 3:] = (self.R @ out[..., 3:, None])[..., 0]
        return out

    def back(self, k: int, bar: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents of the velocities before the projection and of the poses, (bodies, 6) each, at state k."""
        R, jacobian = self.R[k], self.jacobian[k]
        left = bar.reshape(self.n, 6).copy()
        left[:, 3:] = (R @ left[:, 3:, None])[..., 0]
        h = self.factors.solve(k, np.einsum("ijr,ij->r", jacobian, self.inverse * left))
        left -= jacobian @ h
        motion = (self.inverse * left).ravel()
        change, speed = np.where(self.rotors, h, 0.0), np.where(self.rotors, 0.0, h)
        left[:, 3:] = (R.transpose(0, 2, 1) @ left[:, 3:, None])[..., 0]
        turn = -self.by_turn[0][k] @ motion - self.by_turn[1][k] @ change
        self.weights_of_push.motion[k], self.weights_of_push.change[k, self.held] = motion, change
        self.weights_of_speed.speed[k, self.held] = speed
        return left + self.own[k] @ change, turn - self.by_pose[k] @ speed

    @property
    def account(self) -> list[Weighed]:
        """All states with the weights of their residuals."""
        found, own = [Weighed(self.pushed, self.weights_of_push)], self.weights_of_speed
        if not self.places:
            return [*found, Weighed(self.moving, own)]
        rest = self.moving._replace(v=np.zeros_like(self.moving.v))  # J on without what velocities must be
        both = own._replace(place=own.speed), own._replace(speed=-own.speed)
        return [*found, Weighed(self.moving, both[0]), Weighed(rest, both[1])]
