"""How large the bodies of a mechanism are, and in which metric their positions are corrected."""

from __future__ import annotations

import math

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import MASS
from chasles.constrained.goals import GOAL
from chasles.constraint.rows import NUMBERS, TURN
from chasles.model.rod_parts import RodElement
from chasles.once import once


@once
def lengths_of(mechanism: AbsoluteMechanism) -> np.ndarray:
    """How large the bodies are [m]: their radii of gyration, or the distance of a joint from the center of mass; of the
    nodes of a rod the length of its elements."""
    masses = np.array([body.mass for body in mechanism.system.bodies])
    lengths = np.sqrt(mechanism.moments.max(axis=1, initial=0.0) / masses)
    for tile in mechanism.tiles:
        if tile.kind < TURN:
            for body, at in ((tile.first, NUMBERS.a), (tile.second, NUMBERS.b)):
                if body >= 0:
                    lengths[body] = max(lengths[body], math.hypot(*tile.numbers[at : at + 3].tolist()))
    for force in mechanism.system.forces:
        if isinstance(force, RodElement):
            length = float(np.linalg.norm(force.rest[3:]))
            for name in force.bodies:
                if (k := mechanism._index.get(name, -1)) >= 0:
                    lengths[k] = max(lengths[k], length)
    lengths.flags.writeable = False
    return lengths


def set_lengths(mechanism: AbsoluteMechanism, goals: np.ndarray) -> None:
    """The lengths of the bodies to their goals."""
    table = goals.reshape(-1, GOAL.size)
    table[:, GOAL.length] = lengths_of(mechanism) ** 2
    table[:, GOAL.inverse] = 1 / table[:, GOAL.length]


def set_weights(mechanism: AbsoluteMechanism, weights: np.ndarray, unit: bool) -> None:
    """The metric in which positions are corrected: masses, or the unit matrix of (ω in the body, velocity)."""
    table = weights.reshape(-1, MASS.size)
    masses = np.array([body.mass for body in mechanism.system.bodies])
    if unit:
        table[:] = 1.0
    else:
        table[:, MASS.mass] = masses
        table[:, MASS.moments : MASS.moments + 3] = mechanism.moments
        table[:, MASS.inverse : MASS.inverse + 3] = 1 / mechanism.moments
