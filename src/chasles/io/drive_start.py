"""`start` in the law of a drive: where its joint is when the run begins, found without the drives that use it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from chasles.model.expression import used_names
from chasles.model.force import JointForce

START = "start"


class WaitingDrive(NamedTuple):
    """A drive whose law waits for the start: its name, its joint and which coordinate of it."""

    name: str
    joint: str
    coordinate: int


def waiting_drive(entry: Any, parameters: Any) -> WaitingDrive | None:
    """The drive that an entry of [[constraints]] is, if its law uses `start` and no parameter has this name."""
    if not isinstance(entry, dict) or entry.get("kind") != "drive" or START in parameters:
        return None
    value, name, joint = entry.get("value"), entry.get("name"), entry.get("joint")
    if not isinstance(value, str) or not isinstance(name, str) or not isinstance(joint, str):
        return None
    coordinate = entry.get("coordinate", 0)
    uses = START in used_names(value) and isinstance(coordinate, int)
    return WaitingDrive(name, joint, coordinate) if uses else None


def start_values(study: Any, waiting: Sequence[WaitingDrive]) -> dict[str, float]:
    """Where the joints of drives are at the start of a study that lacks these drives, by the names of the drives."""
    system, forces = study.system, []
    for one in waiting:  # a joint on which something acts keeps its coordinate, in loops too
        joint = system.joint(one.joint, f"drive {one.name!r}")
        forces.append(JointForce(f"{START} of {one.name}", joint.name, np.zeros(joint.nv)))
    begin = replace(study, system=replace(system, forces=[*system.forces, *forces])).plan().begin
    return {one.name: float(np.ravel(begin.joint(one.joint).q)[one.coordinate]) for one in waiting}
