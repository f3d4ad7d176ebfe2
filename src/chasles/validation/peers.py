"""Other programs beside ours on the problems of the board, where they are installed: Pinocchio and MuJoCo, on trees.

Pinocchio has no integrators: SciPy's DOP853 integrates its accelerations. MuJoCo takes steps of its own method of
order 4. What follows from coordinates and velocities (poses, angles of axes) is computed by chasles from theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from chasles.model.system import System
from chasles.relative.mechanism import Mechanism


def installed() -> dict[str, Callable[[System], Any]]:
    """What makes the trees of the peers that are installed, by their names."""
    found: dict[str, Callable[[System], Any]] = {}
    if find_spec("pinocchio"):
        from chasles.validation.pinocchio_tree import PinocchioTree

        found["Pinocchio"] = partial(tree, PinocchioTree)
    if find_spec("mujoco"):
        from chasles.validation.mujoco_tree import MujocoTree

        found["MuJoCo"] = partial(tree, MujocoTree)
    return found


def tree(kind: Callable[[Mechanism], Any], system: System) -> Any:
    """A system as a tree of a peer; NotImplementedError if it is more than bodies, joints and gravity."""
    mechanism = system.compile()
    if not isinstance(mechanism, Mechanism) or system.forces or system.rods:
        raise NotImplementedError("only trees without forces are translated")
    for joint in system.joints:
        if joint.mimic or any(np.any(value) for value in (joint.stiffness, joint.damping, joint.friction)):
            raise NotImplementedError("followers, springs, dampers and friction of joints are not translated")
    return kind(mechanism)
