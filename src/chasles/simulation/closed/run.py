"""What a simulation of a closed mechanism in joint coordinates leaves."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.run import Run


@dataclass(frozen=True, repr=False)
class ClosedRun(Run):
    """A `Run` of a closed mechanism, in the coordinates of its tree; `violations` and `reactions` are those of what
    closes it."""

    dynamics: ClosedDynamics

    @property
    def mechanism(self) -> ClosedMechanism:
        return self.dynamics.mechanism

    @cached_property
    def violations(self) -> tuple[np.ndarray, np.ndarray]:
        """Position and velocity violation of each constraint, (times, `mechanism.constraint_names`)."""
        return tuple(self.collected(lambda part: part._violations()))  # type: ignore[return-value]

    def _violations(self) -> tuple[np.ndarray, np.ndarray]:
        found = self.mechanism.constraint_violation(self.q, self.v, t=self.t)
        return found.position, found.velocity

    def reactions(self, joint: str) -> np.ndarray:
        """The wrench (torque [N m], force [N]) that a cut joint or constraint exerts on its child body, in the joint's
        frame on it, (times, 6): `ClosedMechanism.reactions`."""
        return self.collected(lambda part: [part._wrenches(joint)])[0]

    def _wrenches(self, joint: str) -> np.ndarray:
        u = 0.0 if self.controls is None else self.controls
        return self.mechanism.reactions(joint, self.q, self.v, u, self.t)
