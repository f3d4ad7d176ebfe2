"""What a certificate says of rods: how far their elements turn, and how much their fibers are strained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.certificate.verdict import Finding
from chasles.lie import pose as pose_group
from chasles.model.rod_section import Stiffness

ELEMENT_TURN, FIBER_STRAIN = "turn in an element", "strain of a fiber"


def rods(run: Any, limits: Mapping[str, float]) -> list[Finding]:
    """The largest of all rods at the checkpoints [rad and 1]; strains are judged if a limit is given, here or in the
    material. Of several limits that one counts which a rod comes nearest to."""
    turns, strains = [(0.0, "")], list[tuple[float, float, float, str]]()  # part of the limit, strain, limit, rod
    for rod in run.mechanism.system.rods:
        motion = run.rod(rod.name)
        nodes, rest = motion.nodes, motion.rest
        X = pose_group.log(pose_group.compose(pose_group.inverse(nodes[..., :-1, :]), nodes[..., 1:, :]))
        turns += [(float(np.linalg.norm(one[..., :3], axis=-1).max()), rod.name) for one in (X, rest)]
        if not isinstance(rod.section if not isinstance(rod.section, tuple) else rod.section[0], Stiffness):
            strain = motion.largest_fiber_strain()
            own = math.inf if rod.material is None else rod.material.strain_limit or math.inf
            limit = min(limits[FIBER_STRAIN], own)
            strains.append((strain / limit, strain, limit, rod.name))
    if len(turns) == 1:
        return []
    turn, most = max(turns)
    found = [
        Finding(ELEMENT_TURN, turn, limits[ELEMENT_TURN], f"largest in rod {most!r} [rad]; more elements reduce it")
    ]
    if strains:
        _, strain, limit, name = max(strains)
        allowed = limit if math.isfinite(limit) else None
        found.append(Finding(FIBER_STRAIN, strain, allowed, f"largest in rod {name!r}; the material law is linear"))
    return found
