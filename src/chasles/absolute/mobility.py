"""Freedoms of a system and constraint equations that depend on each other, whatever the masses and coordinates."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.assembly import DENSE, BodyEquations
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.assembly.mobility import with_neighborhood
from chasles.constraint.results import Mobility
from chasles.model.system import System


def mobility_at(system: System, poses: ArrayLike, t: float = 0.0, seed: int = 0) -> Mobility:
    """Freedoms and dependent equations at poses (bodies, 7) that satisfy the constraints, and nearby."""
    mechanism = AbsoluteMechanism(system, "SO3xR3")
    if (count := sum(tile.rows for tile in mechanism.tiles)) > DENSE:
        raise ValueError(f"mobility: {system.name!r} has {count} constraint equations; up to {DENSE} are looked at")
    return with_neighborhood(BodyEquations(mechanism, t), mechanism.state(np.asarray(poses, dtype=float))[0], seed)
