"""What a certificate says of rods: how far their elements turn, and how much their fibers are strained."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.certificate.verdict import Finding
from chasles.lie import pose as pose_group
from chasles.model.rod_section import Stiffness
from chasles.simulation.rod_motion import fiber_strains

ELEMENT_TURN, FIBER_STRAIN = "turn in an element", "strain of a fiber"


def rods(run: Any, limits: Mapping[str, float]) -> list[Finding]:
    """The largest of all rods at the checkpoints [rad and 1]; strains are judged only if a limit is given."""
    turns, strains = [(0.0, "")], [(-1.0, "")]
    for rod in run.mechanism.system.rods:
        motion = run.rod(rod.name)
        nodes, rest = motion.nodes, motion.rest
        X = pose_group.log(pose_group.compose(pose_group.inverse(nodes[..., :-1, :]), nodes[..., 1:, :]))
        turns += [(float(np.linalg.norm(one[..., :3], axis=-1).max()), rod.name) for one in (X, rest)]
        if not isinstance(rod.section if not isinstance(rod.section, tuple) else rod.section[0], Stiffness):
            strains.append((float(fiber_strains(rod, (X - rest) / rod.mesh.lengths[:, None]).max()), rod.name))
    if len(turns) == 1:
        return []
    (turn, most), (strain, rod_name) = max(turns), max(strains)
    found = [
        Finding(
            ELEMENT_TURN, turn, limits[ELEMENT_TURN], f"largest of rod {most!r} [rad]; with more elements it is less"
        )
    ]
    if strain >= 0.0:
        limit = limits[FIBER_STRAIN] if math.isfinite(limits[FIBER_STRAIN]) else None
        found.append(Finding(FIBER_STRAIN, strain, limit, f"largest of rod {rod_name!r}; its law is linear"))
    return found
