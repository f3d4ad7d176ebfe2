"""The motion of a system as a problem for `solve`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from chasles.integrate.problem import LieODE


@dataclass(frozen=True)
class Motion(LieODE):
    """The problem of `dynamics` under constant forces `u`. Its parameters hold addresses of this process, so it is
    pickled as these two."""

    caller: ClassVar[str] = "simulate"

    dynamics: Any = None
    u: ArrayLike | None = None

    def __reduce__(self) -> Any:
        return self.dynamics.problem, (self.u,)
