"""The mechanism of a system for `simulate`: made at the first run, and taken again by the next ones.

A system does not change, but numbers that compiled laws take from outside may; then a law has another address, and the
mechanism is made anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.model.system import System
from chasles.once import once
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism

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


def _known(system: System, key: Any, make: Callable[[], Made]) -> Made:
    kept = _mechanisms(system)
    addresses, found = kept.get(key, (None, None))
    if found is None or addresses != _addresses(found):
        found = make()
        kept[key] = _addresses(found), found
    made: Made = found
    return made


@once
def _mechanisms(system: System) -> dict[Any, tuple[Any, Any]]:
    """Of each kind of mechanism the last, with the addresses of its laws."""
    return {}


def _addresses(mechanism: Any) -> tuple[int, ...]:
    acting = mechanism.forces if isinstance(mechanism, AbsoluteMechanism) else mechanism.tables.acting
    return tuple(law.compiled.address for law in (*acting.laws, *getattr(mechanism, "laws", ())))
