"""Static equilibrium: where a system at rest stays at rest.

Angles are compared with 1 rad, lengths with those of the model, and the force along each coordinate with what acts
along it: weight, springs and inputs, and what the stiffness makes of such a displacement. So neither units nor a stiff
spring elsewhere matter.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.scale import joint_lengths, velocity_sizes
from chasles.model.system import System
from chasles.relative.loop.closed import tree_of
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation

DIFFERENCE = 1e-6  # of a coordinate of size one, for the derivatives of the forces
ROUNDING = 1e-15  # of what acts along a coordinate: some operations
TRUNCATION = 1e-11  # of the differences
LONGEST = 0.5  # step of an angle [rad]
DAMPING = 1e-6
POLISHING = 3  # steps that bring what is left to rounding
SMALL_MOVE = 1e-5  # in 1 rad, or lengths of the model


@dataclass(frozen=True)
class Equilibrium:
    """A configuration at which no generalized force is left.

    residual: the largest generalized force left [N or N m]; stiffness: minus the derivative of the forces along
    q exp(δ), (nv, nv), whose symmetric part decides about the stability; error: by how much its numbers can be off.
    """

    q: np.ndarray
    residual: float
    iterations: int
    stiffness: np.ndarray
    error: np.ndarray
    joints: dict[str, slice] = field(default_factory=dict)  # where in q the coordinates of each joint are

    def __str__(self) -> str:
        lines = [f"{self.stability} equilibrium, found in {self.iterations} iterations"]
        lines += [f" {name}: {', '.join(f'{x:.9g}' for x in self.q[at])}" for name, at in self.joints.items()]
        return "\n".join([*lines, f"largest force left: {self.residual:.2g} N or N m"])

    __repr__ = __str__

    @property
    def stability(self) -> str:
        """What small displacements do to the energy: "stable" if all of them raise it, "unstable" if one lowers it, or
        "undecided" if some change it by less than can be told, as that of a body that nothing holds."""
        values, errors = self._curvatures
        if (values < -errors).any():
            return "unstable"
        return "stable" if (values > errors).all() else "undecided"

    @property
    def stable(self) -> bool:
        """Whether no small displacement is known to lower the energy."""
        return self.stability != "unstable"

    @property
    def _curvatures(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of the stiffness in coordinates in which all of its rows are alike, and the error of each.

        Signs of eigenvalues do not depend on the coordinates (Sylvester). What errors do to an eigenvalue is, to first
        order, xᵀ E x with its own eigenvector.
        """
        matrix, error = ((part + part.T) / 2 for part in (self.stiffness, self.error))
        for _ in range(8):
            rows = np.sqrt(np.abs(matrix).max(axis=1, initial=0.0))
            rows[rows == 0.0] = 1.0
            matrix, error = matrix / np.outer(rows, rows), error / np.outer(rows, rows)
        values, vectors = np.linalg.eigh(matrix)
        spread, rounding = np.abs(vectors), len(matrix) * ROUNDING * np.abs(values).max(initial=0.0)
        return values, np.einsum("ik,ij,jk->k", spread, error, spread) + rounding


class Statics:
    """Forces on a mechanism at rest under a constant input."""

    def __init__(self, mechanism: Mechanism, u: np.ndarray):
        self.mechanism, self.u, self.still = mechanism, u, np.zeros(mechanism.nv)
        self.sizes = velocity_sizes(mechanism.tree.joints, joint_lengths(mechanism.system, mechanism.tree.joints))

    def left(self, states: np.ndarray) -> np.ndarray:
        """Generalized forces that are left, for a batch of configurations."""
        acting = self.mechanism.applied_forces(states, self.still)
        return acting.tau + self.u - self.mechanism.terms.static_forces(states, acting.wrenches)

    def in_play(self, place: np.ndarray) -> np.ndarray:
        """The sum of the sizes of what acts along each coordinate."""
        acting = self.mechanism.applied_forces(place, self.still)
        weight = self.mechanism.terms.static_forces(place, None)
        others = self.mechanism.terms.static_forces(place, acting.wrenches) - weight
        return np.abs(acting.tau) + np.abs(self.u) + np.abs(weight) + np.abs(others)

    def stiffness(self, place: np.ndarray) -> np.ndarray:
        steps = np.diag(DIFFERENCE * self.sizes)
        change = self.left(self.mechanism.retract(place, np.concatenate([steps, -steps])))
        return -(change[: len(steps)] - change[len(steps) :]).T / (2 * DIFFERENCE * self.sizes)


def equilibrium(
    system: System | Mechanism,
    q: ArrayLike | None = None,
    control: ArrayLike | None = None,
    *,
    tolerance: float = 1e-10,
    iterations: int = 100,
) -> Equilibrium:
    """The equilibrium that a damped Newton iteration finds from q (default: neutral).

    tolerance: of the force left along each coordinate, relative to what acts along it (weight, springs, inputs, and the
    stiffness times 1 rad or a length of the model). Further steps then take what is left down to rounding, where the
    stiffness determines them. RuntimeError with what is left if it is not reached. For trees: a system with loops or
    constraints is refused.
    """
    mechanism = tree_of("equilibrium", system)
    u = np.zeros(mechanism.nv) if control is None else Actuation.of_tree(mechanism).forces(control)
    place = mechanism.neutral() if q is None else mechanism.tables.check_q("equilibrium", q)
    statics = Statics(mechanism, u)
    sizes, damping, left = statics.sizes, 0.0, statics.left(place)
    turns = velocity_sizes(mechanism.tree.joints, {joint.name: 0.0 for joint in mechanism.tree.joints}) > 0.0
    for iteration in range(iterations + 1):
        stiffness, play = statics.stiffness(place), statics.in_play(place)
        scale = play + np.abs(stiffness) @ sizes
        if (np.abs(left) <= tolerance * scale).all():
            place, left = _polished(statics, place, left, stiffness, scale)
            stiffness = statics.stiffness(place)
            error = ROUNDING * play[:, None] / (DIFFERENCE * sizes) + TRUNCATION * scale[:, None] / sizes
            residual = float(np.abs(left).max(initial=0.0))
            return Equilibrium(place, residual, iteration, stiffness, error, dict(mechanism.tree.coordinates))
        scale[scale == 0.0] = 1.0
        matrix = stiffness * sizes / scale[:, None]
        for _ in range(30):  # damp until the forces get smaller
            rows = np.concatenate([matrix, np.sqrt(damping) * np.eye(mechanism.nv)])
            move = np.linalg.lstsq(rows, np.concatenate([left / scale, np.zeros(mechanism.nv)]), rcond=None)[0]
            longest = np.abs(move[turns]).max(initial=0.0)
            trial = mechanism.retract(place, sizes * move * (LONGEST / longest if longest > LONGEST else 1.0))
            found = statics.left(trial)
            if np.linalg.norm(found / scale) < np.linalg.norm(left / scale):
                place, left, damping = trial, found, damping / 10
                break
            damping = max(10 * damping, DAMPING * float(np.abs(matrix).max(initial=0.0)) ** 2)
        else:
            break
    joint = mechanism.tables.joint_of_velocity(int(np.argmax(np.abs(left) / scale)))
    raise RuntimeError(
        f"equilibrium: not found after {iteration} iterations; {np.abs(left).max():.3g} is left at joint {joint!r}. "
        "Is there an equilibrium at all (does something hold every freedom)? If so, start nearer to it"
    )


def _polished(
    statics: Statics, place: np.ndarray, left: np.ndarray, stiffness: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A place that is near enough, and what is left there, brought to rounding: a run that starts there stays. Where
    the stiffness hardly determines a step, the place is kept."""
    scale = np.where(scale == 0.0, 1.0, scale)
    for _ in range(POLISHING):
        move = np.linalg.lstsq(stiffness * statics.sizes / scale[:, None], left / scale, rcond=None)[0]
        trial = statics.mechanism.retract(place, statics.sizes * move)
        found = statics.left(trial)
        better = np.abs(found / scale).max(initial=0.0) < 0.5 * np.abs(left / scale).max(initial=0.0)
        if not (better and np.abs(move).max() < SMALL_MOVE):
            break
        place, left = trial, found
    return place, left
