"""Other programs beside ours on the problems of the board, where they are installed: Pinocchio and MuJoCo, on trees.

Pinocchio has no integrators: SciPy's DOP853 integrates its accelerations. MuJoCo takes steps of its own method of
order 4. What follows from coordinates and velocities (poses, angles of axes) is computed by chasles from theirs.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from chasles.model.system import System
from chasles.relative.mechanism import Mechanism

# name: the package, and the class of its trees
PEERS = {
    "Pinocchio": ("pinocchio", "chasles.validation.pinocchio_tree", "PinocchioTree"),
    "MuJoCo": ("mujoco", "chasles.validation.mujoco_tree", "MujocoTree"),
}


def installed() -> dict[str, Callable[[System], Any]]:
    """What makes the trees of the peers that are installed, by their names."""
    return {
        name: partial(tree, module, kind)
        for name, (package, module, kind) in PEERS.items()
        if importlib.util.find_spec(package)
    }


def tree(module: str, kind: str, system: System) -> Any:
    """A system as a tree of a peer; NotImplementedError if it is more than bodies, joints and gravity."""
    mechanism = system.compile()
    if not isinstance(mechanism, Mechanism) or system.forces or system.rods:
        raise NotImplementedError("only trees without forces are translated")
    for joint in system.joints:
        if joint.mimic or any(np.any(value) for value in (joint.stiffness, joint.damping, joint.friction)):
            raise NotImplementedError("followers, springs, dampers and friction of joints are not translated")
    return getattr(importlib.import_module(module), kind)(mechanism)
