"""Freedoms of a mechanism, and constraint equations that depend on each other: at a configuration, and nearby.

An equation can depend on others everywhere (a redundant constraint, as in a planar linkage with revolute joints), or at
single configurations only (a singular one, where the mechanism has more instantaneous freedoms than it can use). So
the rank is taken at the configuration and at ones nearby, reached along motions that the constraints allow.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.assembly import DENSE, dependence, nearby
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.constraint.results import Mobility
from chasles.model.system import System


def mobility_at(system: System, poses: ArrayLike, t: float = 0.0, seed: int = 0) -> Mobility:
    """Freedoms and dependent equations at poses (bodies, 7) that satisfy the constraints, and nearby."""
    mechanism = AbsoluteMechanism(system, "SO3xR3")
    central = mechanism.state(np.asarray(poses, dtype=float))[0]
    if (equations := sum(tile.rows for tile in mechanism.tiles)) > DENSE:
        raise ValueError(f"mobility: {system.name!r} has {equations} constraint equations; up to {DENSE} are looked at")
    rows, dependent, free = dependence(mechanism, central, t)
    found = [(rows, dependent), *nearby(mechanism, central, t, free, seed)]
    best = max(found, key=lambda place: (place[0][1], -len(place[1])))
    here, there = (Mobility(n, rank, 6 * mechanism.n - rank, names) for (n, rank), names in (found[0], best))
    return replace(here, nearby=there)
