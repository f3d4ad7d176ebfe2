"""Forces on a tree at rest, and their stiffness: what `equilibrium` looks at.

Angles are compared with 1 rad, lengths with those of the model, and the force along each coordinate with what acts
along it: weight, springs and inputs, and what the stiffness makes of such a displacement. So neither units nor a stiff
spring elsewhere matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.model.scale import joint_lengths, length_of, velocity_sizes
from chasles.relative.mechanism import Mechanism

DIFFERENCE = 1e-6  # of a coordinate of size one, for the derivatives of the forces
ROUNDING = 1e-15  # of what acts along a coordinate: some operations
TRUNCATION = 1e-11  # of the differences


class Point(NamedTuple):
    """A configuration, and along each of its independent coordinates what is left of the forces, the sum of the sizes
    of what acts, and what is large; the stiffness of all and its errors; and how all velocities follow."""

    q: np.ndarray
    left: np.ndarray
    play: np.ndarray
    sizes: np.ndarray
    stiffness: np.ndarray
    error: np.ndarray
    chosen: np.ndarray
    basis: np.ndarray

    @property
    def scale(self) -> np.ndarray:
        """What forces are compared with."""
        return self.play + np.abs(self.stiffness) @ self.sizes


class Statics:
    """Forces on a mechanism at rest under a constant input, at a time."""

    negligible: float | None = None  # singular values of the stiffness, relative to the largest; None: rounding

    def __init__(self, tree: Mechanism, u: np.ndarray, t: float = 0.0):
        self.tree, self.u, self.t, self.still = tree, u, t, np.zeros(tree.nv)
        joints, masses = tree.tree.joints, (body.mass for body in tree.system.bodies)
        # all weights, lifted by a length of the model
        self.weight = sum(masses) * float(np.linalg.norm(tree.system.gravity)) * length_of(tree.system)
        self.sizes = velocity_sizes(joints, joint_lengths(tree.system, joints))
        self.turns = velocity_sizes(joints, {joint.name: 0.0 for joint in joints}) > 0.0

    def forces(self, states: np.ndarray) -> np.ndarray:
        """Generalized forces that are left on the tree, for a batch of configurations."""
        acting = self.tree.applied_forces(states, self.still, self.t)
        return acting.tau + self.u - self.tree.terms.static_forces(states, acting.wrenches)

    def in_play(self, q: np.ndarray) -> np.ndarray:
        """The sum of the sizes of what acts along each coordinate of the tree."""
        acting = self.tree.applied_forces(q, self.still, self.t)
        weight = self.tree.terms.static_forces(q, None)
        others = self.tree.terms.static_forces(q, acting.wrenches) - weight
        return np.abs(acting.tau) + np.abs(self.u) + np.abs(weight) + np.abs(others)

    # ------------------------------------------------------------ what an iteration takes

    def at(self, q: np.ndarray) -> Point:
        steps, play = np.diag(DIFFERENCE * self.sizes), self.in_play(q)
        change = self.forces(self.tree.retract(q, np.concatenate([steps, -steps])))
        stiffness = -(change[: len(steps)] - change[len(steps) :]).T / (2 * DIFFERENCE * self.sizes)
        scale = play + np.abs(stiffness) @ self.sizes
        error = ROUNDING * play[:, None] / (DIFFERENCE * self.sizes) + TRUNCATION * scale[:, None] / self.sizes
        every = np.arange(self.tree.nv)
        return Point(q, self.forces(q), play, self.sizes, stiffness, error, every, np.eye(self.tree.nv))

    def moved(self, point: Point, move: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
        """The configuration after a move of the independent coordinates, and the forces left along the same ones; None
        if there is no such configuration."""
        q = self.tree.retract(point.q, move)
        return q, self.forces(q)

    def found(self, point: Point) -> dict[str, Any]:
        """What an equilibrium says of the coordinates."""
        tree = self.tree.tree
        units = tuple(unit for joint in tree.joints for unit in joint.coordinate_units)
        return {"basis": point.basis, "independent": point.chosen, "joints": dict(tree.coordinates), "units": units}
