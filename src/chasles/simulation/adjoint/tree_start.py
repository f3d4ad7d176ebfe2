"""What a gradient in absolute coordinates asks of other starts.

Kinematics are differentiated by differences of eighth order: they are sines and products of lengths.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates
from chasles.cached import cached_property
from chasles.constrained.group import increment
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.simulation.adjoint.weights import Weighed, Weights
from chasles.simulation.closed.sensitivities import ClosedStart
from chasles.simulation.slopes import CENTRAL

if TYPE_CHECKING:
    from chasles.simulation.adjoint.bodies import BodyGradient

TURN = 1e-2  # [rad or m] of differences


class StartOfTree:
    """What a run's adjoint says of its start."""

    def __init__(self, adjoint: BodyGradient):
        self.adjoint, self.run, self.mechanism = adjoint, adjoint.run, adjoint.mechanism
        self.t, self.q, self.v = float(self.run.t[0]), self.run.q[0], self.run.v[0]
        self.base = adjoint.saved.q[0].reshape(-1, 7)
        closed = compiled(self.mechanism.system)
        self.closed = closed if isinstance(closed, ClosedMechanism) else None

    # ------------------------------------------------------------ the start

    def by(self, name: str) -> np.ndarray:
        """The gradient by the initial q or v, of loops by the independent ones."""
        nv = self.adjoint.tree.nv
        if self.independent is not None:
            return self.of_tree @ self.independent.columns(name)
        return self.of_tree[:nv] if name == "q" else self.of_tree[nv:]

    @cached_property
    def independent(self) -> ClosedStart | None:
        """Of loops, the changes of the start that its independent numbers make."""
        return None if self.closed is None else ClosedStart(self.closed, self.t, self.q, self.v)

    @cached_property
    def of_tree(self) -> np.ndarray:
        """Cotangents (2 nv) of the coordinates and velocities of the tree at the start."""
        return self._along(self.started)

    @cached_property
    def follow(self) -> np.ndarray:
        """Cotangents of the residuals of `closing`: other coordinates of a loop's start follow them, while independent
        ones stay."""
        assert self.independent is not None
        nv, left = self.adjoint.tree.nv, self.of_tree
        moved = left - (left @ self.independent.basis) @ np.eye(2 * nv)[self.independent.states]
        both = self._along(self.closing).T
        half = len(both) // 2
        place, turned, speed = both[:half, :nv], both[half:, :nv], both[half:, nv:]
        of_speed = -np.linalg.pinv(speed).T @ moved[nv:]
        return np.concatenate([-np.linalg.pinv(place).T @ (moved[:nv] + turned.T @ of_speed), of_speed])

    def _along(self, function: Any) -> np.ndarray:
        """Derivatives (2 nv, ...) of a function of many (q, v) along each number of the tree's at the start."""
        nv, retract = self.adjoint.tree.nv, self.adjoint.tree.tables.configuration.retract
        amounts = TURN * np.array([*range(-len(CENTRAL), 0), *range(1, len(CENTRAL) + 1)])
        weights = np.array([*(-w for w in CENTRAL[::-1]), *CENTRAL]) / TURN
        along = amounts[:, None, None] * np.eye(2 * nv)
        found = function(retract(self.q, along[..., :nv]), self.v + along[..., nv:])
        return np.tensordot(weights, found, axes=1)

    def bodies(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses and velocities of the bodies of the tree at (q, v)."""
        tree, mechanism = self.adjoint.tree, self.mechanism
        return mechanism.state(tree.poses(q, mechanism.bodies), tree.twists(q, v, mechanism.bodies))

    def started(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The cotangents of the start times where the bodies are, and how they move, at (..., nq) and (..., nv)."""
        (poses, velocity), shape = self.bodies(q, v), (*q.shape[:-1], -1)
        way = increment(self.mechanism, self.base, poses)
        return way.reshape(shape) @ self.adjoint.turn + velocity.reshape(shape) @ self.adjoint.v

    def closing(self, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Residuals of places and speeds of all constraints at (q, v) of the tree, (..., rows)."""
        mechanism, (poses, velocity) = self.mechanism, self.bodies(q, v)
        angles = mechanism.angles(poses)
        own = self.adjoint.saved.angles[0]
        angles = angles + 2 * np.pi * np.round((own - angles) / (2 * np.pi))
        residuals = self.adjoint.residuals
        rows, shape = residuals.rows[residuals.measured], q.shape[:-1]
        both = mechanism.rows(poses, velocity, self.t, angles)
        return np.concatenate([part.reshape(*shape, -1)[..., rows] for part in both], axis=-1)

    # ------------------------------------------------------------ parameters

    @cached_property
    def cotangents(self) -> np.ndarray:
        """Cotangents (13 bodies) of the numbers of the bodies' poses, and of their velocities, at the start: where
        parameters move the tree."""
        adjoint, residuals = self.adjoint, self.adjoint.residuals
        turn, v = adjoint.turn.copy(), adjoint.v.copy()
        if self.independent is not None:
            states, weights = self.closed_account
            _, by_pose, by_velocity = residuals.slopes(states)
            turn -= weights.place[0] @ by_pose.place[0] + weights.speed[0] @ by_pose.speed[0]
            v -= weights.speed[0] @ by_velocity.speed[0]
        return np.concatenate([numbers_of(residuals, self.base, turn), v])

    @cached_property
    def closed_account(self) -> Weighed:
        """The start of a loop, with the weights of residuals that stay zero as parameters change."""
        adjoint, residuals = self.adjoint, self.adjoint.residuals
        states = MovingStates(*(part[:1] for part in adjoint.saved))
        size, rows = 6 * adjoint.n, len(residuals.rows)
        place, speed = np.zeros((2, 1, rows))
        place[:, residuals.measured], speed[:, residuals.measured] = -self.follow.reshape(2, 1, -1)
        zero, none = np.zeros((1, size)), np.zeros((1, rows))
        return Weighed(states, Weights(zero, zero, place, speed, none))


def numbers_of(residuals: BodyResiduals, poses: np.ndarray, turns: np.ndarray) -> np.ndarray:
    """Cotangents of the numbers of poses (..., bodies, 7) from those by q exp(δ), as many by 6."""
    q, spin = poses.reshape(-1, residuals.n, 7), turns.reshape(-1, residuals.n, 6)
    found = np.zeros_like(q)
    found[..., :4] = 2.0 * product(q[..., :4], np.insert(spin[..., :3], 0, 0.0, axis=-1))
    rotations = residuals.rotations(q.reshape(len(q), -1))
    found[..., 4:] = np.einsum("sijk,sik->sij", rotations, spin[..., 3:])
    return found.reshape(*poses.shape[: poses.ndim - 2], -1)


def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of quaternions of any length, (..., 4)."""
    (s, x, y, z), (t, u, v, w) = np.moveaxis(a, -1, 0), np.moveaxis(b, -1, 0)
    return np.stack(
        (
            s * t - x * u - y * v - z * w,
            s * u + t * x + y * w - z * v,
            s * v + t * y + z * u - x * w,
            s * w + t * z + x * v - y * u,
        ),
        axis=-1,
    )
