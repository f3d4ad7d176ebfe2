"""Freedoms of a mechanism, and constraint equations that depend on each other: at a configuration, and nearby.

An equation can depend on others everywhere (a redundant constraint, as in a planar linkage with revolute joints), or at
single configurations only (a singular one, where the mechanism has more instantaneous freedoms than it can use). So
the rank is taken at the configuration and at ones nearby, reached along motions that the constraints allow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from chasles.assembly.equations import Equations
from chasles.assembly.rank import DEPENDENT, decomposed, rank_of
from chasles.assembly.search import SMALL, approach
from chasles.constraint.errors import RedundantConstraintsError
from chasles.constraint.results import Mobility

NEARBY = (0.03, 0.1)  # [rad, or lengths of the model], by which the mechanism is moved to look at its neighborhood


def mobility(equations: Equations, x: np.ndarray, tolerance: float = DEPENDENT) -> tuple[Mobility, np.ndarray]:
    """Rank, freedoms and what depends on each other; and the motions that are free, (velocities, freedoms)."""
    rows, reach, step_of = equations.linear(x)
    left, right, rank = decomposed(rows, reach, tolerance)
    involved = equations.constraint_of_row[np.linalg.norm(left[:, rank:], axis=1) > 1e-6]
    dependent = dict.fromkeys(equations.names[k] for k in involved)
    free = step_of(right[rank:].T)
    return Mobility(len(rows), rank, free.shape[1], tuple(dependent)), free


def _nearby(equations: Equations, x: np.ndarray, rank: int, free: np.ndarray, seed: int) -> Iterator[np.ndarray]:
    """Configurations nearby, reached along random motions that are free; rank: that of the rows at x."""
    rng = np.random.default_rng(seed)
    for size in NEARBY if free.shape[1] else ():
        step = free @ rng.normal(size=free.shape[1])
        longest = np.abs(step / equations.sizes()).max()
        start = equations.moved(x, step * (size / longest))
        near = equations.returned(start, rank)  # compiled, and right unless the rank is another there
        if _satisfied(equations, near) or _satisfied(equations, near := approach(equations, start)):
            yield near  # else the motion ends before it is there


def _satisfied(equations: Equations, x: np.ndarray) -> bool:
    return bool(equations.violation(x).max(initial=0.0) <= 10 * SMALL * equations.size(x))


def with_neighborhood(equations: Equations, x: np.ndarray, seed: int = 0) -> Mobility:
    """Mobility at a configuration, and at the most regular one of those nearby."""
    here, free = mobility(equations, x)
    every = (here, *(mobility(equations, near)[0] for near in _nearby(equations, x, here.rank, free, seed)))
    return replace(here, nearby=max(every, key=lambda found: (found.rank, -len(found.dependent))))


def regular(equations: Equations, x: np.ndarray, known: tuple[Mobility, np.ndarray] | None = None) -> Mobility:
    """Mobility at a configuration on the constraints; RedundantConstraintsError if it is singular.

    There the mechanism could move on in several ways, or in none that its velocities promise. known: what `mobility`
    gives at x.
    """
    here, free = mobility(equations, x) if known is None else known
    if here.rank == here.equations:
        return here
    near = _nearby(equations, x, here.rank, free, 0)
    best = max((rank_of(*equations.linear(found)[:2]) for found in near), default=here.rank)
    if best > here.rank:
        raise RedundantConstraintsError(
            f"{equations.system.name!r} is in a singular configuration: {here.rank} of {here.equations} constraint "
            f"equations are independent here and {best} nearby, so there are {here.freedoms} instantaneous degrees "
            f"of freedom instead of {here.freedoms + here.rank - best}; involved: "
            f"{', '.join(map(repr, here.dependent[:12]))}. Where it goes from here is not determined; start from "
            "another configuration"
        )
    return here
