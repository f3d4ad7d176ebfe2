"""The motion of a joint during a run, in either kind of coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.model.joint import Joint


class JointMotion:
    """Coordinates `q`, velocities `v` and accelerations `a` of a joint, (times, its number of them), and the
    generalized `forces` of inputs along its velocities."""

    def __init__(self, states: Any, joint: Joint):
        self._states, self._joint, self.name = states, joint, joint.name

    @cached_property
    def _at(self) -> tuple[np.ndarray, np.ndarray]:
        return self._states._kind.joint_states(self._joint)

    @property
    def q(self) -> np.ndarray:
        """[rad, m; quaternions of a spherical or free joint]; full turns are counted."""
        return self._at[0]

    @property
    def v(self) -> np.ndarray:
        """[rad/s, m/s]."""
        return self._at[1]

    @cached_property
    def a(self) -> np.ndarray:
        """[rad/s², m/s²], from the equations of motion."""
        return self._states.collected(lambda part: [part._kind.joint_accelerations(self._joint)])[0]

    @property
    def forces(self) -> np.ndarray:
        """[N m, N]: of the inputs, after gears and limits."""
        return self._states._kind.joint_forces(self._joint)

    @property
    def angle(self) -> np.ndarray:
        """The angle [rad] of a joint that turns about one axis, (times,); full turns are counted."""
        if (coordinate := self._joint.traits.angle) is None:
            raise ValueError(
                f"run.joint: {self.name!r} is a {self._joint.kind} joint, which has no angle; its coordinates are q"
            )
        return self.q[..., coordinate]

    def __repr__(self) -> str:
        return f"<motion of {self._joint.kind} joint {self.name!r}, {np.size(self._states.t)} points>"
