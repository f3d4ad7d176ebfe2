"""The motion of a joint during a run, in either kind of coordinates."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from chasles.model.joint import Joint

TURNING = {"revolute": 0, "helical": 0, "cylindrical": 0, "planar": 2}  # which coordinate is an angle


class JointMotion:
    """Coordinates `q`, velocities `v` and accelerations `a` of a joint, (times, its number of them)."""

    def __init__(self, run: Any, joint: Joint):
        self._run, self._joint, self.name = run, joint, joint.name

    @cached_property
    def _states(self) -> tuple[np.ndarray, np.ndarray]:
        return self._run.joint_states(self.name)

    @property
    def q(self) -> np.ndarray:
        return self._states[0]

    @property
    def v(self) -> np.ndarray:
        return self._states[1]

    @property
    def a(self) -> np.ndarray:
        return self._run.joint_accelerations(self.name)

    @property
    def angle(self) -> np.ndarray:
        """The angle [rad] of a joint that turns about one axis, (times,); full turns are counted."""
        if self._joint.kind not in TURNING:
            raise ValueError(
                f"run.joint: {self.name!r} is a {self._joint.kind} joint, which has no angle; its coordinates are q"
            )
        return self.q[:, TURNING[self._joint.kind]]

    @property
    def reaction(self) -> np.ndarray:
        """The wrench (torque [N m], force [N]) that the joint exerts on its child body, in the joint's frame on it,
        (times, 6)."""
        return self._run.reactions(self.name)

    def __repr__(self) -> str:
        return f"<motion of {self._joint.kind} joint {self.name!r}, {len(self.q)} points>"
