"""What all mechanisms with constraints answer with: one kind of record, whatever the coordinates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

NOTHING = np.empty(0)
NOTHING.flags.writeable = False


TREE_GROUPS = ("derivatives", "rates", "parameters", "terms", "centroidal", "twist_form", "momentum_form", "raw")


class WithoutTreeGroups:
    """A mechanism that has not yet what `Mechanism` has one level down: it says so."""

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            why = f"{type(self).__name__!r} object has no attribute {name!r}"
            if name in TREE_GROUPS:
                why += "; yet it is for trees in joint coordinates only: those of a closed mechanism are its `spanning`"
            raise AttributeError(why)


class Violation(NamedTuple):
    """How far each constraint is off, its largest row, (..., `constraint_names`); empty where it was not asked for."""

    position: np.ndarray
    velocity: np.ndarray = NOTHING
    acceleration: np.ndarray = NOTHING


class ConstrainedMotion(NamedTuple):
    """Accelerations and multipliers λ; the constraints push with -Jᵀ λ.

    In joint coordinates accelerations are (..., nv) and multipliers (..., rows); in absolute coordinates (..., bodies,
    6) and (..., tiles, 3). Where rows depend on each other, λ is the smallest that gives the motion: the motion is the
    same for all.
    """

    accelerations: np.ndarray
    multipliers: np.ndarray


class InverseDerivatives(NamedTuple):
    """Derivatives of the forces Q(q, v, a), (..., nv, nv) each; entry [k, j] is that of Q_k by variable j"""

    dq: np.ndarray
    dv: np.ndarray
    da: np.ndarray


class ForwardDerivatives(NamedTuple):
    """Derivatives of the accelerations a(q, v, τ), (..., nv, nv) each: entry [k, j] is that of a_k by variable j."""

    dq: np.ndarray
    dv: np.ndarray
    dtau: np.ndarray


@dataclass(frozen=True)
class Mobility:
    """What the constraints leave at a configuration: equations, how many are independent, the freedoms that are left,
    and `dependent`, the joints and constraints whose equations depend on each other.

    `nearby` is the same at the most regular configuration found in the neighborhood: what depends there, too, is
    redundant; what depends here alone makes the configuration singular. None: it was not looked at.
    """

    equations: int
    rank: int
    freedoms: int
    dependent: tuple[str, ...]
    nearby: Mobility | None = None

    @property
    def generic(self) -> Mobility:
        """At configurations nearby or, if these were not looked at, here."""
        return self.nearby or self

    @property
    def redundant(self) -> int:
        """Equations that can be left out without a change of the motion."""
        return self.generic.equations - self.generic.rank

    @property
    def singular(self) -> bool:
        """Whether more equations are dependent here than nearby."""
        return self.rank < self.generic.rank

    def __str__(self) -> str:
        generic = self.generic
        lines = [f"{_count(generic.freedoms, 'degree')} of freedom, {_count(self.equations, 'constraint equation')}"]
        if self.redundant:
            verb = "is" if self.redundant == 1 else "are"
            lines.append(f"{self.redundant} of them {verb} redundant; involved: {_names(generic.dependent)}")
        if self.singular:
            lines.append(
                f"this configuration is singular: {self.freedoms} instantaneous degrees of freedom; involved: "
                f"{_names(self.dependent)}"
            )
        return "\n".join(lines)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _names(names: tuple[str, ...]) -> str:
    return ", ".join([*map(repr, names[:12]), *(["..."] if len(names) > 12 else [])])
