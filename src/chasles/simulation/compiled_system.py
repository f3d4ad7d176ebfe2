"""The mechanism of a system for `simulate`: made at the first run, and taken again by the next ones.

A system does not change, but numbers that compiled laws take from outside may; then a law has another address, and the
mechanism is made anew.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeVar

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.absolute.tables import MASS, MECHANISM
from chasles.cached import cached_property
from chasles.model.body import Body
from chasles.model.system import System
from chasles.once import once
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism

# of a mechanism in absolute coordinates, by the names of `once`: what follows from joints and forces alone
SHARED = (
    "chasles.constrained.run.structures_of",
    "chasles.simulation.bodies.dynamics.spanning_tree",  # which places bodies, whatever their masses
    "chasles.simulation.bodies.tree_order.quaternions",
    "chasles.simulation.bodies.tree_order.tree_order",
)
# of each kind the mechanism that was made last, and the addresses of its laws then
_recent: dict[Any, tuple[weakref.ref[Any], tuple[int, ...]]] = {}
Made = TypeVar("Made", Mechanism | ClosedMechanism, AbsoluteMechanism)


def in_joint_coordinates(system: System) -> Mechanism | ClosedMechanism:
    """The mechanism of a system in joint coordinates."""
    return _known(system, "relative", lambda: compiled(system))


def in_absolute_coordinates(
    system: System, space: str | Mapping[str, str], stabilized: bool, baumgarte: tuple[float, float], *more: bool
) -> AbsoluteMechanism:
    """The mechanism of a system in absolute coordinates, with these options."""
    spaces = space if isinstance(space, str) else tuple(sorted(space.items()))
    key = ("absolute", spaces, stabilized, tuple(baumgarte), *more)
    return _known(system, key, lambda: AbsoluteMechanism(system, space, stabilized, baumgarte, *more))


def take_over(system: System, other: System) -> None:
    """Let a system that differs from another in the masses of its bodies alone have the mechanisms of that one in
    absolute coordinates, with its own masses: nothing else of them depends on these."""
    for key, (addresses, found) in _mechanisms(other).items():
        if isinstance(found, AbsoluteMechanism):
            _mechanisms(system)[key] = addresses, _with_masses(found, system)


def _with_masses(mechanism: AbsoluteMechanism, system: System) -> AbsoluteMechanism:
    """A mechanism with the masses of another system. What was computed from it later is left behind, but for what
    follows from joints and forces alone."""
    from chasles.constrained.run import structures_of  # with all methods for constrained systems

    structures_of(mechanism)  # there are none yet before the first run
    found = object.__new__(type(mechanism))
    later = {name for name, value in vars(type(mechanism)).items() if isinstance(value, cached_property)}
    kept = {name: value for name, value in vars(mechanism).items() if name in SHARED or "." not in name}
    found.__dict__.update({name: value for name, value in kept.items() if name not in later})
    found.system, found.packed = system, mechanism.packed.copy()
    table = MECHANISM.part(found.packed, "masses").reshape(-1, MASS.size)
    table[:, MASS.mass] = [body.mass for body in system.bodies]
    return found


def _known(system: System, key: Any, make: Callable[[], Made]) -> Made:
    kept = _mechanisms(system)
    addresses, found = kept.get(key, (None, None))
    if found is None or addresses != _addresses(found):
        found = _of_recent(system, key)
        found = make() if found is None else found
        kept[key] = _addresses(found), found
        _recent[key] = weakref.ref(found), _addresses(found)
    made: Made = found
    return made


def _of_recent(system: System, key: Any) -> Any:
    """The mechanism of the last system, if it was equal; in absolute coordinates also if only masses differ."""
    known, addresses = _recent.get(key, (None, None))
    found = None if known is None else known()
    if found is None or addresses != _addresses(found):
        return None
    if found.system == system:
        return found
    absolute = isinstance(found, AbsoluteMechanism)
    return _with_masses(found, system) if absolute and _differ_in_masses(found.system, system) else None


def _differ_in_masses(one: System, other: System) -> bool:
    """Whether masses of bodies, all of them positive, are all in which two systems differ."""
    if one.rods or one.reduced or len(one.bodies) != len(other.bodies):
        return False
    for a, b in zip(one.bodies, other.bodies, strict=True):
        if a is not b and not (a.mass > 0 and b.mass > 0 and a.density is b.density is None and _alike(a, b)):
            return False
    rest = (item.name for item in fields(System) if item.compare and item.name != "bodies")
    return all(getattr(one, name) == getattr(other, name) for name in rest)


def _alike(a: Body, b: Body) -> bool:
    rest = (item.name for item in fields(Body) if item.compare and item.name != "mass")
    return all(getattr(a, name) == getattr(b, name) for name in rest)


@once
def _mechanisms(system: System) -> dict[Any, tuple[Any, Any]]:
    """Of each kind of mechanism the last, with the addresses of its laws."""
    return {}


def _addresses(mechanism: Any) -> tuple[int, ...]:
    acting = mechanism.forces if isinstance(mechanism, AbsoluteMechanism) else mechanism.tables.acting
    return tuple(law.compiled.address for law in (*acting.laws, *getattr(mechanism, "laws", ())))
