"""Static equilibrium: where a system at rest stays at rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.system import System
from chasles.relative.loop.closed import tree_of
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation

DIFFERENCE = 1e-6  # of a coordinate, for the derivatives of the forces


@dataclass(frozen=True)
class Equilibrium:
    """A configuration at which no generalised force is left. `stable`: no small displacement lowers the energy.

    residual: the largest generalised force left [N or N m]; stiffness: minus the derivative of the forces along
    q exp(δ), (nv, nv), whose symmetric part decides `stable`.
    """

    q: np.ndarray
    residual: float
    iterations: int
    stiffness: np.ndarray

    @property
    def stable(self) -> bool:
        moments = np.linalg.eigvalsh((self.stiffness + self.stiffness.T) / 2)
        return bool(
            moments.min(initial=np.inf) > -1e-6 * np.abs(moments).max(initial=0.0)
        )  # to the differences' rounding


def equilibrium(
    system: System | Mechanism,
    q: ArrayLike | None = None,
    control: ArrayLike | None = None,
    *,
    tolerance: float = 1e-10,
    iterations: int = 100,
) -> Equilibrium:
    """The equilibrium that a damped Newton iteration finds from q (default: neutral).

    tolerance: of the largest generalised force, relative to the weight and springs in play. RuntimeError with what is
    left if it is not reached.
    """
    mechanism = tree_of("equilibrium", system)
    u = np.zeros(mechanism.nv) if control is None else Actuation.of_tree(mechanism).forces(control)
    place = mechanism.neutral() if q is None else mechanism.check_q("equilibrium", q)
    still = np.zeros(mechanism.nv)

    def forces(states: np.ndarray) -> np.ndarray:
        """Generalised forces that are left at rest, for a batch of configurations."""
        acting = mechanism.applied_forces(states, still)
        return acting.tau + u - mechanism.static_forces(states, acting.wrenches)

    scale = max(1.0, float(np.abs(mechanism.static_forces(place, None)).max(initial=0.0)))
    steps = DIFFERENCE * np.eye(mechanism.nv)
    damping, left = 0.0, forces(place)
    for iteration in range(iterations + 1):
        around = mechanism.retract(place, np.concatenate([steps, -steps]))
        change = forces(around)
        stiffness = -(change[: mechanism.nv] - change[mechanism.nv :]).T / (2 * DIFFERENCE)
        worst = float(np.abs(left).max(initial=0.0))
        if worst <= tolerance * scale:
            return Equilibrium(place, worst, iteration, stiffness)
        for _ in range(30):  # damp until the forces get smaller
            lhs = stiffness.T @ stiffness + damping * np.eye(mechanism.nv)
            move = np.linalg.lstsq(lhs, stiffness.T @ left, rcond=None)[0]
            move *= min(1.0, 0.5 / max(np.abs(move).max(initial=0.0), 1e-300))
            trial = mechanism.retract(place, move)
            found = forces(trial)
            if np.linalg.norm(found) < np.linalg.norm(left):
                place, left, damping = trial, found, damping / 10
                break
            damping = max(10 * damping, 1e-6 * float(np.abs(stiffness).max(initial=1.0)) ** 2)
        else:
            break
    joint = mechanism.joint_of_velocity(int(np.argmax(np.abs(left))))
    raise RuntimeError(
        f"equilibrium: not found after {iteration} iterations; {np.abs(left).max():.3g} is left at joint {joint!r}. "
        "Is there an equilibrium at all (does something hold every freedom)? If so, start nearer to it"
    )
