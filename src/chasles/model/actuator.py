"""Actuators: what turns an input into a force on a joint."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from chasles.model.joint import Joint
from chasles.model.placement import as_numbers, check_name


@dataclass(frozen=True)
class Actuator:
    """A motor on one coordinate of a joint: force = gear * input, with the input limited to lower and upper."""

    name: str
    joint: str
    coordinate: int = 0
    gear: float = 1.0
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        check_name("Actuator", self.name)
        where = f"actuator {self.name!r}"
        object.__setattr__(self, "gear", float(as_numbers(where, "gear", self.gear, ())))
        if not self.lower <= self.upper:
            raise ValueError(f"{where}: lower limit {self.lower} is above the upper limit {self.upper}")


def motors(joints: Iterable[Joint], present: Iterable[Actuator], asked: bool) -> list[Actuator]:
    """An actuator for each coordinate with an effort limit that has none yet; a ValueError if a joint that was asked
    for has no limit."""
    taken, names = {(item.joint, item.coordinate) for item in present}, {item.name for item in present}
    found = []
    for joint in joints:
        if asked and not np.isfinite(joint.effort_limit).any():
            raise ValueError(f"with_motors: joint {joint.name!r} has no effort_limit; add chasles.Actuator instead")
        for k, effort in enumerate(joint.effort_limit):
            if np.isfinite(effort) and (joint.name, k) not in taken:
                name = f"motor of {joint.name}" + (f", {k}" if joint.nv > 1 else "")
                while name in names:
                    name += "'"
                names.add(name)
                found.append(Actuator(name, joint.name, k, lower=-effort, upper=effort))
    return found
