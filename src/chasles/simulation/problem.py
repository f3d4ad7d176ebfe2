"""The motion of a system as a problem for `solve`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.problem import LieODE
from chasles.integrate.vector_field import Field


@dataclass(frozen=True)
class Motion(LieODE):
    """The problem of `dynamics` under constant forces `u`. Its parameters hold addresses of this process, so it is
    pickled as these two."""

    caller: ClassVar[str] = "simulate"

    dynamics: Any = None
    u: ArrayLike | None = None

    def rate(self, t: float, y: ArrayLike) -> np.ndarray:
        """The value of the field at a state."""
        state = np.array(y, dtype=float)
        if not isinstance(self.field, Field):
            return np.asarray(self.field(t, state, self.parameters))
        out = np.zeros(self.space.dimension)
        self.field(t, state, np.asarray(self.parameters), out)
        return out

    def __reduce__(self) -> Any:
        return self.dynamics.problem, (self.u,)
