"""What a gradient in absolute coordinates asks of other starts and of systems with other parameters.

Kinematics are differentiated by differences of eighth order: they are sines and products of lengths.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.cached import cached_property
from chasles.constrained.group import increment
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism
from chasles.simulation.adjoint.weighing import Axes, Weighing
from chasles.simulation.adjoint.weights import Weighed
from chasles.simulation.bodies.dynamics import spanning_tree
from chasles.simulation.closed.sensitivities import ClosedStart
from chasles.simulation.slopes import CENTRAL

if TYPE_CHECKING:
    from chasles.simulation.adjoint.bodies import BodyGradient

TURN = 1e-2  # [rad or m] of differences


class BodyFamily:
    """Numbers of a run's adjoint as functions of its start and of parameters."""

    def __init__(self, adjoint: BodyGradient):
        self.adjoint, self.run, self.mechanism = adjoint, adjoint.run, adjoint.mechanism
        self.t, self.q, self.v = float(self.run.t[0]), self.run.q[0], self.run.v[0]
        self.base = adjoint.saved.q[0].reshape(-1, 7)
        closed = compiled(self.mechanism.system)
        self.closed = closed if isinstance(closed, ClosedMechanism) else None

    # ------------------------------------------------------------ the start

    def by_start(self, name: str) -> np.ndarray:
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
        return self._along(lambda q, v: self.started(self.mechanism, q, v))

    @cached_property
    def follow(self) -> np.ndarray:
        """Cotangents of the residuals of `closing`: other coordinates of a loop's start follow them, while independent
        ones stay."""
        assert self.independent is not None
        nv, left = self.adjoint.tree.nv, self.of_tree
        moved = left - (left @ self.independent.basis) @ np.eye(2 * nv)[self.independent.states]
        both = self._along(lambda q, v: self.closing(self.mechanism, q, v)).T
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

    def bodies(self, mechanism: AbsoluteMechanism, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses and velocities of the bodies of the tree at (q, v)."""
        tree: Mechanism = spanning_tree(mechanism)[0]
        return mechanism.state(tree.poses(q, mechanism.bodies), tree.twists(q, v, mechanism.bodies))

    def started(self, mechanism: AbsoluteMechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """The cotangents of the start times where the bodies are, and how they move, at (..., nq) and (..., nv)."""
        poses, velocity = self.bodies(mechanism, q, v)
        back, count, shape = Axes(mechanism, self.mechanism), math.prod(q.shape[:-1]), q.shape[:-1]
        there, moving = back.poses(poses.reshape(count, -1)), back.vectors(velocity.reshape(count, -1))
        way = increment(self.mechanism, self.base, there.reshape(count, -1, 7))
        return (way.reshape(count, -1) @ self.adjoint.turn + moving @ self.adjoint.v).reshape(shape)

    def closing(self, mechanism: AbsoluteMechanism, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Residuals of places and speeds of all constraints at (q, v) of the tree, (..., rows)."""
        poses, velocity = self.bodies(mechanism, q, v)
        angles = mechanism.angles(poses)
        own = self.adjoint.saved.angles[0]
        angles = angles + 2 * np.pi * np.round((own - angles) / (2 * np.pi))
        residuals = self.adjoint.residuals
        rows, shape = residuals.rows[residuals.measured], q.shape[:-1]
        both = mechanism.rows(poses, velocity, self.t, angles)
        return np.concatenate([part.reshape(*shape, -1)[..., rows] for part in both], axis=-1)

    # ------------------------------------------------------------ parameters

    def number(self, relative: Mechanism | ClosedMechanism) -> np.ndarray:
        """What a parameter changes, all but the trajectory itself: its derivative is the gradient. Behind it is a
        constant as large as what was added up."""
        if self.adjoint.family is not None and relative is self.adjoint.family.base:
            return self.unchanged
        return self._number(relative)

    @cached_property
    def unchanged(self) -> np.ndarray:
        """Of the system of the run."""
        assert self.adjoint.family is not None
        return self._number(self.adjoint.family.base)

    def _number(self, relative: Mechanism | ClosedMechanism) -> np.ndarray:
        adjoint, base = self.adjoint, self.mechanism
        other = AbsoluteMechanism(
            relative.system, base.spaces, baumgarte=base.baumgarte, inputs=base.inputs, every_angle=base.every_angle
        )
        residuals, axes = BodyResiduals(other), Axes(base, other)
        total = float(self.started(other, self.q, self.v)) + self.shown(other, axes)
        total -= float(self._weighing.of(residuals, axes).sum())
        total += float(np.sum(adjoint.forces * adjoint.actuation_of(other).along(adjoint.inputs)))
        if self.closed is not None:
            total += self.follow @ self.closing(other, self.q, self.v)
        return np.array([total, self.size])

    @cached_property
    def _weighing(self) -> Weighing:
        adjoint = self.adjoint
        return Weighing(adjoint.residuals, Weighed(adjoint.states, adjoint.weights), adjoint.metric)

    @cached_property
    def size(self) -> float:
        closed = 0.0 if self.closed is None else float(np.abs(self.follow).sum())  # coordinates are found to rounding
        return self._weighing.size(self.adjoint.residuals) + closed

    def shown(self, other: AbsoluteMechanism, axes: Axes) -> float:
        """The objective's derivatives times the coordinates and velocities of the joints, at the same states."""
        adjoint, order, states = self.adjoint, self.adjoint.order, self.adjoint.saved
        q, v = axes.poses(states.q).reshape(len(states.t), -1, 7), axes.vectors(states.v).reshape(len(states.t), -1, 6)
        coordinates, velocities = (part for part in other.joint_states(q, v, states.angles))
        turned = adjoint.tree.tables.configuration.difference(coordinates[:, order.coordinates], self.run.q)
        return float(np.sum(turned * adjoint.by_turns) + np.sum(velocities[:, order.velocities] * adjoint.by_speeds))
