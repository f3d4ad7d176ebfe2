"""Residuals of systems with other parameters, times their weights, at the states of a run.

States are poses of central frames, which follow masses and inertias. Principal axes may jump where moments are equal,
and methods do not depend on them: states of a system with other parameters are taken in the axes of the run's own.
"""

from __future__ import annotations

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.lie.rotation import matrix_to_quaternion, quaternion_to_matrix
from chasles.lie.s3 import compose
from chasles.simulation.adjoint.weights import Weighed, Weights


class Axes:
    """From the central axes of one mechanism to those of the same one with other parameters."""

    def __init__(self, base: AbsoluteMechanism, other: AbsoluteMechanism):
        self.same = np.array_equal(base.central[:, :4], other.central[:, :4])  # as most parameters leave them
        first, second = (quaternion_to_matrix(m.central[:, :4]) for m in (base, other))
        self.turn = np.swapaxes(first, -1, -2) @ second
        self.unit, self.mixed = matrix_to_quaternion(self.turn), base._mixed

    def poses(self, q: np.ndarray) -> np.ndarray:
        """Poses (states, 7 bodies) in the other axes."""
        if self.same:
            return q
        out = q.reshape(len(q), -1, 7).copy()
        out[..., :4] = compose(out[..., :4], self.unit)
        return out.reshape(q.shape)

    def vectors(self, x: np.ndarray, back: bool = False) -> np.ndarray:
        """Velocities (states, 6 bodies) in the other axes, or from there back."""
        if self.same:
            return x
        out, turn = x.reshape(len(x), -1, 6).copy(), self.turn if back else np.swapaxes(self.turn, -1, -2)
        linear = np.where(self.mixed[:, None, None], np.eye(3), turn)
        out[..., :3] = np.einsum("ijk,sik->sij", turn, out[..., :3])
        out[..., 3:] = np.einsum("ijk,sik->sij", linear, out[..., 3:])
        return out.reshape(x.shape)

    def wrenches(self, x: np.ndarray) -> np.ndarray:
        """(torque in the body, force in space) in the other axes."""
        if self.same:
            return x
        out = x.reshape(len(x), -1, 6).copy()
        out[..., :3] = np.einsum("ikj,sik->sij", self.turn, out[..., :3])
        return out.reshape(x.shape)


class Weighing:
    """States of a run whose residuals count, with their weights."""

    def __init__(self, residuals: BodyResiduals, account: Weighed, metric: str):
        used = np.any([part.any(axis=1) for part in account.weights], axis=0)
        used[0] = True
        self.states = MovingStates(*(np.ascontiguousarray(part[used]) for part in account.states))
        self.weights = Weights(*(np.ascontiguousarray(part[used]) for part in account.weights))
        self.n, self.metric = residuals.n, metric
        self.shift = self._in_space(residuals, self.states.q, self.weights.shift)

    def _in_space(self, residuals: BodyResiduals, q: np.ndarray, shift: np.ndarray) -> np.ndarray:
        """Weights of the shifts in the axes in which residuals have them."""
        out = shift.reshape(len(q), self.n, 6).copy()
        out[..., 3:] = (residuals.rotations(q) @ out[..., 3:, None])[..., 0]
        return out.reshape(shift.shape)

    def of(self, residuals: BodyResiduals, axes: Axes) -> np.ndarray:
        """What the residuals of a mechanism with such axes, times their weights, add up to: of motion, of shifts, of
        places, of speeds and of changes."""
        states, weights, shift = self.states, self.weights, self.shift
        if not axes.same:
            turned = (np.ascontiguousarray(axes.vectors(x)) for x in (states.v, states.rate))
            v, rate = turned
            states = states._replace(q=np.ascontiguousarray(axes.poses(states.q)), v=v, rate=rate)
            weights = weights._replace(motion=axes.wrenches(weights.motion))
            shift = self._in_space(residuals, states.q, axes.vectors(weights.shift))
        found = residuals.at(states)
        shifts = np.einsum("sk,sk->k", shift, found.shift) @ -residuals.metric(self.metric).ravel()
        given = (weights.motion, found.motion), *zip(weights[2:], found[2:5], strict=True)
        motion, *others = (float(np.einsum("sk,sk->", w, x)) for w, x in given)
        return np.array([motion, shifts, *others])

    def size(self, residuals: BodyResiduals) -> float:
        """How large what is added up is, of the mechanism of the run."""
        found, weights = residuals.at(self.states), self.weights
        shift = np.einsum("sk,sk->k", np.abs(self.shift), np.abs(found.shift)) @ residuals.metric(self.metric).ravel()
        given = (weights.motion, found.motion), *zip(weights[2:], found[2:5], strict=True)
        return float(shift + sum(np.abs(w * x).sum() for w, x in given))
