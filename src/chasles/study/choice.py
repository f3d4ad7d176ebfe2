"""What `compare` runs: methods, spaces and stabilizations by their names, and which of them go together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.space import SO3XR3_NAME, SPACE_NAMES, choose_spaces
from chasles.integrate.constrained_method import (
    CONSTRAINED_METHODS,
    BLieDF,
    EnergyMomentum,
    GeneralizedAlpha,
    HalfExplicit,
    RadauIIA,
    Rattle,
)
from chasles.integrate.method_name import SHORT, method_from, named_method
from chasles.model.system import System
from chasles.study.comparison import AUTO, OWN


def explicit_methods() -> dict[str, Any]:
    """All explicit methods by their names: Munthe-Kaas on every tableau, commutator-free, Crouch-Grossman and
    low-storage methods."""
    return {name: method_from(name) for name in SHORT}


def index_of(method: Any) -> int:
    """Of the equations that a method solves: 1 accelerations, 2 velocities, 3 positions."""
    if isinstance(method, Rattle | EnergyMomentum):
        return 3
    if isinstance(method, GeneralizedAlpha):
        return method.index
    return 2 if isinstance(method, BLieDF | HalfExplicit | RadauIIA) else 1


def methods_of(wanted: str | Iterable[Any]) -> dict[str, Any]:
    """Names and methods."""
    if isinstance(wanted, str):
        wanted = explicit_methods() if wanted == "all" else [wanted]
    found: dict[str, Any] = {}
    for given in wanted:
        method = named_method("compare", given)
        found[given if isinstance(given, str) else getattr(method, "name", None) or str(method)] = method
    return found


def spaces_of(system: System, wanted: Sequence[Any], stabilization: str | None) -> dict[str, Any]:
    """Names and spaces; "auto" only where it is another choice than the same space for all bodies."""
    result: dict[str, Any] = {}
    for space in wanted:
        if space == AUTO:
            chosen = AbsoluteMechanism(system, AUTO, stabilized=stabilization is not None).spaces
            used = set(chosen.values())
            if len(used) == 1 and used & {space for space in wanted if isinstance(space, str)}:
                continue
            result[AUTO] = chosen
        elif isinstance(space, Mapping):
            result["mapping" if "mapping" not in result else f"mapping {len(result)}"] = dict(space)
        elif space in SPACE_NAMES:
            result[space] = space
        else:
            raise ValueError(f'compare: space {space!r}; expected "SE3", "SO3xR3", "auto" or a mapping of bodies')
    return result


class RunGroup(NamedTuple):
    """Runs that differ in their steps alone."""

    name: str
    method: Any
    stabilization: str | None
    label: str  # of the space
    space: Any

    @property
    def shown(self) -> str:
        """The stabilization, for people."""
        return OWN if isinstance(self.method, CONSTRAINED_METHODS) else self.stabilization or "none"


def all_groups(
    system: System, methods: dict[str, Any], spaces: Sequence[Any], stabilizations: Sequence[str | None]
) -> list[RunGroup]:
    """All that can be run: EnergyMomentum is a method on SO(3)xR3."""
    return [
        RunGroup(name, method, stabilization, label, space)
        for name, method in methods.items()
        for stabilization in (("projection",) if isinstance(method, CONSTRAINED_METHODS) else stabilizations)
        for label, space in spaces_of(system, spaces, stabilization).items()
        if not isinstance(method, EnergyMomentum) or is_direct(system, space)
    ]


def is_direct(system: System, space: Any) -> bool:
    """Whether all bodies are on SO(3)xR3."""
    return set(choose_spaces(system, space, True)[0].values()) <= {SO3XR3_NAME}
