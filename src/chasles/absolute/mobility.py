"""Freedoms of a mechanism, and constraint equations that depend on each other: at a configuration, and nearby.

An equation can depend on others everywhere (a redundant constraint, as in a planar linkage with revolute joints), or at
single configurations only (a singular one, where the mechanism has more instantaneous freedoms than it can use). So
the rank is taken at the configuration and at ones nearby, reached along motions that the constraints allow.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.assembly import DENSE, dependence, nearby
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.model.system import System


@dataclass(frozen=True)
class Mobility:
    """What the constraints leave. `dependent` names the joints and constraints whose equations depend on each other."""

    bodies: int
    equations: int
    rank: int
    generic_rank: int  # the largest found nearby
    dependent: tuple[str, ...]
    always_dependent: tuple[str, ...]  # nearby, too

    @property
    def freedoms(self) -> int:
        """Instantaneous freedoms at the configuration."""
        return 6 * self.bodies - self.rank

    @property
    def generic_freedoms(self) -> int:
        """Freedoms at configurations nearby."""
        return 6 * self.bodies - self.generic_rank

    @property
    def redundant(self) -> int:
        """Equations that can be left out without a change of the motion."""
        return self.equations - self.generic_rank

    @property
    def singular(self) -> bool:
        """Whether more equations are dependent here than nearby."""
        return self.rank < self.generic_rank

    def __str__(self) -> str:
        freedoms, bodies = _count(self.generic_freedoms, "freedom", "s"), _count(self.bodies, "bod", "ies", "y")
        lines = [f"{freedoms}: {bodies}, {_count(self.equations, 'constraint equation', 's')}"]
        if self.redundant:
            lines.append(f"{self.redundant} of them are redundant; involved: {_names(self.always_dependent)}")
        if self.singular:
            lines.append(
                f"this configuration is singular: {self.freedoms} instantaneous freedoms; involved: "
                f"{_names(self.dependent)}"
            )
        return "\n".join(lines)


def _count(number: int, what: str, many: str, one: str = "") -> str:
    return f"{number} {what}{one if number == 1 else many}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join([*map(repr, names[:12]), *(["..."] if len(names) > 12 else [])])


def mobility_at(system: System, poses: ArrayLike, t: float = 0.0, seed: int = 0) -> Mobility:
    """Freedoms and dependent equations at poses (bodies, 7) that satisfy the constraints, and nearby."""
    mechanism = AbsoluteMechanism(system, "SO3xR3")
    central = mechanism.state(np.asarray(poses, dtype=float))[0]
    if (equations := sum(tile.rows for tile in mechanism.tiles)) > DENSE:
        raise ValueError(f"mobility: {system.name!r} has {equations} constraint equations; up to {DENSE} are looked at")
    rows, dependent, free = dependence(mechanism, central, t)
    equations, rank = rows
    best, always = rank, dependent
    for (_, other), names in nearby(mechanism, central, t, free, seed):
        if other > best or (other == best and len(names) < len(always)):
            best, always = other, names
    return Mobility(mechanism.n, equations, rank, best, dependent, always)
