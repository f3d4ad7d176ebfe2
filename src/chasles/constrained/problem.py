"""What a run of a method for constrained systems asks of its problem."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from chasles.absolute.mechanism import AbsoluteMechanism


class BodyProblem(Protocol):
    """A mechanism in absolute coordinates; points y are (central poses, velocities, counted angles, work)."""

    mechanism: AbsoluteMechanism
    n: int  # bodies
    held: Any  # constant inputs along joint coordinates, or None
    space: Any

    @property
    def control(self) -> Any:
        """Where they are in the parameters of the vector field."""
        ...

    @property
    def units(self) -> np.ndarray:
        """What is large in the model, for each number of a displacement."""
        ...

    def split(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Poses, velocities and work."""
        ...

    def angles(self, y: np.ndarray) -> np.ndarray:
        """Angles counted over full turns."""
        ...
