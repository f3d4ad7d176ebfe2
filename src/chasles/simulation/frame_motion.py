"""The motion of a body or frame during a run, in either kind of coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.screw.representation import check_representation


class FrameMotion:
    """Pose, twist and acceleration of a body or frame; time is the first axis. `representation` is that of twist and
    acceleration: "body", "spatial", "hybrid" or "mixed"."""

    def __init__(self, states: Any, name: str, representation: str = "body"):
        check_representation("run.frame", representation)
        self._states, self.name, self.representation = states, name, representation
        self._frame = states.mechanism.system.frame(name)

    @cached_property
    def pose(self) -> np.ndarray:
        """Poses in space, (times, 7)."""
        return self._states.collected(lambda part: [part._kind.frame_pose(self._frame)])[0]

    @property
    def position(self) -> np.ndarray:
        """(times, 3) [m]."""
        return self.pose[..., 4:]

    @property
    def orientation(self) -> np.ndarray:
        """Unit quaternions (w, x, y, z), (times, 4)."""
        return self.pose[..., :4]

    @cached_property
    def twist(self) -> np.ndarray:
        """(times, 6) [rad/s, m/s]."""
        return self._states.collected(lambda part: [part._kind.frame_twist(self._frame, self.representation)])[0]

    @cached_property
    def acceleration(self) -> np.ndarray:
        """Time derivative of the twist, (times, 6) [rad/s², m/s²]."""
        return self._states.collected(lambda part: [part._kind.frame_acceleration(self._frame, self.representation)])[0]

    def __repr__(self) -> str:
        return f"<motion of {self.name!r}, {np.size(self._states.t)} points>"
