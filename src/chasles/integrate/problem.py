"""The problem that most methods solve: a vector field on a space on which a group acts."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from chasles.integrate.event import Shown
from chasles.integrate.vector_field import PLAIN_FORM, Field
from chasles.model.user_function import check_arguments


@dataclass(frozen=True)
class LieODE:
    """y' = f(t, y) acting on the space: f gives an element of the algebra, in flat form.

    `space` is a `Space`, or a `MatrixGroup` or `FrameSpace`, which are integrated in plain Python. `field` is compiled
    (see `field`), called as f(t, y, p, out), or a plain Python function f(t, y, p) that returns the algebra element.
    `parameters` is the vector p. `correction` is a compiled field that writes to out the point to go on from, given
    the result y of each accepted step: a projection, say. `coordinates` is the coordinate map that a problem asks for,
    one of those of `RKMK`, instead of the method's; a step beyond its chart then raises `ChartError`.
    `shown` makes of a point what events see of it, if that is not the point itself.
    `floor` is the least size that errors of a number of the space which has one (see `Space`) are relative to. `units`
    are what is large for each number of the algebra, 1 if nothing is said: the first step is compared with them.
    """

    caller: ClassVar[str] = "solve"  # the function that warnings name

    space: Any
    field: Field | Callable[..., Any]
    parameters: Sequence[float] | np.ndarray = ()
    correction: Field | None = None
    coordinates: str | None = None
    floor: float = dataclasses.field(default=0.0, kw_only=True)
    shown: Shown | None = dataclasses.field(default=None, kw_only=True)
    units: np.ndarray | None = dataclasses.field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.field, Field):
            name = getattr(self.field, "__name__", "field")
            check_arguments(f"LieODE: field {name!r}", self.field, PLAIN_FORM, "t", "y", "p")
