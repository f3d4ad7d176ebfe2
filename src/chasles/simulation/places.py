"""Numbers of a system by name: "bodies.arm.mass", "joints.elbow.damping", "gravity"."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from chasles.lie import pose as pose_group
from chasles.model.body import UPPER, Body
from chasles.model.expression_law import Expression
from chasles.model.rod_parts import OfRod
from chasles.model.suggestion import meant
from chasles.model.system import System
from chasles.once import once

POSES = ("parent_frame", "child_frame", "pose")
INDICES = ("coordinate", "coordinates", "rows")  # fields whose numbers say which, not how much
SECTIONS = ("bodies", "joints", "frames", "forces", "actuators", "constraints")


@dataclass(frozen=True)
class PlaceOfNumbers:
    """Where a parameter is in a system: a field of one of the things of a section, or of the system itself."""

    section: str
    index: int
    field: str

    def value(self, system: System) -> Any:
        """What stands there; of inertias the six numbers that may differ (xx, xy, xz, yy, yz, zz)."""
        thing = getattr(system, self.section)[self.index] if self.section else system
        value = getattr(thing, self.field)
        return np.array(value)[UPPER] if self.section == "bodies" and self.field == "inertia" else value


@once
def places(system: System) -> dict[str, PlaceOfNumbers]:
    """All places of a system that hold numbers, by name; what follows from rods is made anew by each system."""
    found = {"gravity": PlaceOfNumbers("", 0, "gravity")}
    for section in SECTIONS:
        for index, thing in enumerate(getattr(system, section)):
            written = isinstance(getattr(thing, "value", None), Expression)  # its parameters are its program
            for item in () if isinstance(thing, OfRod) else fields(thing):
                if item.name in INDICES or (written and item.name == "parameters"):
                    continue
                if item.init and _numeric(getattr(thing, item.name)):
                    found[f"{section}.{thing.name}.{item.name}"] = PlaceOfNumbers(section, index, item.name)
    return found


def place_of(system: System, name: str, where: str) -> PlaceOfNumbers:
    """The place with a name; ValueError, which begins with `where`, if there is none."""
    known = places(system)
    if name not in known:
        examples = ", ".join(list(known)[:4])
        raise ValueError(
            f"{where}: the system has no number {name!r}; {meant(name, known)}such places are {examples}, ...; or give "
            "a function of the parameters that returns a System"
        )
    return known[name]


def changed(system: System, values: Mapping[PlaceOfNumbers, Any]) -> System:
    """The system with other values at some places."""
    changes: dict[str, dict[int, dict[str, Any]]] = {}
    top: dict[str, Any] = {}
    for place, value in values.items():
        if not place.section:
            top[place.field] = value
            continue
        changes.setdefault(place.section, {}).setdefault(place.index, {})[place.field] = value
    for section, things in changes.items():
        every = list(getattr(system, section))
        for index, some in things.items():
            every[index] = _renewed(every[index], some)
        top[section] = every
    return replace(system, **top)


def named_places(names: Iterable[str], parameters: Mapping[str, Any] | None) -> list[str]:
    """Those of some names that are places of a system: no parameters of a function."""
    return [name for name in names if "." in name and name not in (parameters or {})]


def family_of(system: System, names: Iterable[str], where: str) -> tuple[Callable[..., System], dict[str, Any]]:
    """The system as a function of the numbers at some places, and their values. Poses change along pose exp(δ), with
    six numbers δ that are zero: rotations [rad] and displacements [m] in the axes of the frame."""
    known = {name: place_of(system, name, where) for name in names}
    given = {name: place.value(system) for name, place in known.items()}
    moved = {name for name, place in known.items() if place.field in POSES}

    def build(**values: Any) -> System:
        for name in moved & values.keys():
            values[name] = pose_group.compose(np.array(given[name]), pose_group.exp(np.asarray(values[name])))
        return changed(system, {known[name]: value for name, value in values.items()})

    return build, {name: np.zeros(6) if name in moved else value for name, value in given.items()}


def _numeric(value: Any) -> bool:
    if isinstance(value, bool | str) or value is None:
        return False
    if isinstance(value, tuple | list):
        return bool(value) and all(map(_numeric, value))
    return isinstance(value, int | float | np.ndarray | np.generic)


def _renewed(thing: Any, values: dict[str, Any]) -> Any:
    """A body, joint, ... with other values."""
    if isinstance(thing, Body) and thing.density is not None:
        if set(values) != {"density"}:
            raise ValueError(f"body {thing.name!r}: its mass follows from its density; vary that instead")
        return replace(thing, **values, mass=0.0, com=(0.0,) * 3, inertia=(0.0,) * 3)
    return replace(thing, **values)
