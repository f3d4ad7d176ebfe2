"""Nodes of rods by arc length: "blade@0.5" is the node of "blade" half a meter along its curve.

A system has such names in its parts as `NodeName`, which is the name of the node, "blade[8]", and remembers the place.
So a system with other numbers of elements has them at the same place, and files are written as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any

from chasles.model.rod import Rod
from chasles.model.suggestion import meant
from chasles.registry import service

MARK = "@"
NAMING = ("parent", "child", "body", "bodies", "ends")  # fields of parts that name bodies


class NodeName(str):
    """The name of a node, "blade[8]", that was given by its `place`, "blade@0.5"."""

    __slots__ = ("place",)
    place: str

    def __new__(cls, name: str, place: str) -> NodeName:
        found = super().__new__(cls, name)
        found.place = place
        return found

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # of a constructor with two
        return str(self), self.place


def written(name: str) -> str:
    """A name as the user wrote it: by the place, if it was."""
    return name.place if isinstance(name, NodeName) else name


def naming_fields(item: Any) -> Iterator[str]:
    """Those of a part that name bodies."""
    return (field for field in NAMING if field in item.__dataclass_fields__)


def with_names(item: Any, rename: Callable[[str], str]) -> Any:
    """A joint, frame, force, constraint or rod with other names of the bodies that it names. It is the same object if
    no name is another one."""
    changes: dict[str, Any] = {}
    for field in naming_fields(item):
        given = getattr(item, field)
        if isinstance(given, str) and (new := rename(given)) is not given:
            changes[field] = new
        elif isinstance(given, tuple) and all(isinstance(one, str) for one in given):
            several = tuple(map(rename, given))
            if any(new is not old for new, old in zip(several, given, strict=True)):
                changes[field] = several
    return replace(item, **changes) if changes else item


class NodePlaces:
    """What names by arc length mean in a system with these rods; `taken`: names of other things, which come first."""

    def __init__(self, rods: Sequence[Rod], reduced: Sequence[str] = (), taken: Collection[str] = ()):
        self.rods, self.reduced, self.taken = {rod.name: rod for rod in rods}, tuple(reduced), taken

    def name(self, given: str, where: str = "System") -> str:
        """The node that a name is; one that is not by arc length is itself. A ValueError begins with `where`."""
        text = written(given)
        if MARK not in text or text in self.taken:
            return given
        owner, _, place = text.rpartition(MARK)
        if owner not in self.rods:
            if owner in self.reduced or (self.rods and arc_length(place) is not None):
                raise ValueError(f"{where}: {text!r}: {self._no_rod(owner)}")
            return given
        rod, s = self.rods[owner], arc_length(place)
        if s is None:
            raise ValueError(
                f"{where}: {text!r}: expected an arc length [m] after {MARK}, from 0 to {rod.length:g}, such as "
                f'"{owner}{MARK}{rod.length / 2:g}" or "{owner}{MARK}{500 * rod.length:g} mm"'
            )
        found = NodeName(rod.at(s, f"{where}: {text!r}"), f"{owner}{MARK}{s!r}")
        same = isinstance(given, NodeName) and (given, given.place) == (found, found.place)
        return given if same else found

    def _no_rod(self, owner: str) -> str:
        if owner in self.reduced:
            return f"{owner!r} is a reduced body, which has no arc length; name an interface, '{owner}[0]'"
        known = ", ".join(list(self.rods)[:12]) or "none"
        return f"there is no rod {owner!r}; {meant(owner, self.rods)}rods: {known}"


def arc_length(text: str) -> float | None:
    """An arc length, in meters or with a unit; None if it is none."""
    try:
        return float(text)
    except ValueError:
        found: float | None = service("length")(text)
        return found
