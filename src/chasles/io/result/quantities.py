"""Quantities that follow from the states of a run, written into its file for programs that do not know the model."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from chasles.model.suggestion import meant
from chasles.once import once
from chasles.simulation.named_forces import named_holds

KNOWN = ("poses", "twists", "accelerations", "reactions")
WIDTH = {"poses": 7, "twists": 6, "accelerations": 6, "reactions": 6}


def check(wanted: str | Iterable[str]) -> tuple[str, ...]:
    """The names of quantities; "all" are all."""
    names = KNOWN if wanted == "all" else (wanted,) if isinstance(wanted, str) else tuple(wanted)
    for name in names:
        if name not in KNOWN:
            raise ValueError(f"save: there is no quantity {name!r}; {meant(name, KNOWN)}there are {', '.join(KNOWN)}")
    return names


def of_joints(part: Any, names: tuple[str, ...]) -> np.ndarray:
    """Reactions of joints, (times, joints, 6)."""
    found = np.empty((len(part), len(names), 6))
    for k, name in enumerate(names):
        found[:, k] = part.smallest_reactions(name)
    return found


@once
def with_reactions(run: Any) -> tuple[str, ...]:
    """The joints and constraints whose reactions are known."""
    found, first = [], run.part(slice(0, 1))
    system = run.mechanism.system
    for name in dict.fromkeys([*(joint.name for joint in system.joints), *named_holds(system)]):
        try:
            first.smallest_reactions(name)
        except ValueError:
            continue
        found.append(name)
    return tuple(found)


def add(file: Path, run: Any, wanted: tuple[str, ...]) -> None:
    """Write quantities, (times, bodies or joints, ...), into the group `derived`, a part of the run at a time."""
    if not wanted:
        return
    with h5py.File(file, "r+") as h5:
        group = h5.create_group("derived")
        for name in wanted:
            forces = name == "reactions"
            names = with_reactions(run) if forces and len(run) else () if forces else run.bodies
            data = group.create_dataset(name, (len(run), len(names), WIDTH[name]), "<f8")
            data.attrs["names"] = np.bytes_(json.dumps(names))
            at = 0
            for part in run.parts():
                data[at : at + len(part)] = of_joints(part, names) if forces else getattr(part, name)
                at += len(part)
