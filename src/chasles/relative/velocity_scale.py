"""What is large for the velocities of a mechanism in joint coordinates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from chasles.model.scale import joint_lengths, velocity_sizes
from chasles.once import once

if TYPE_CHECKING:
    from chasles.relative.loop.closed import ClosedMechanism
    from chasles.relative.mechanism import Mechanism


@once
def sizes_of_velocities(mechanism: Mechanism | ClosedMechanism) -> np.ndarray:
    """1 rad, or a length of the joint, for each velocity."""
    joints = mechanism.tree.joints
    return _fixed(velocity_sizes(joints, joint_lengths(mechanism.system, joints)))


@once
def sliding_velocities(mechanism: Mechanism | ClosedMechanism) -> np.ndarray:
    """Whether each velocity is one of a length, not of an angle."""
    joints = mechanism.tree.joints
    return _fixed(np.isnan(velocity_sizes(joints, {joint.name: np.nan for joint in joints})))


def _fixed(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array
