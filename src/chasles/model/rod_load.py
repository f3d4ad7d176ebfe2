"""What rods carry: loads along all of them, and masses at places on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chasles.model.body import Body
from chasles.model.expression import used_names
from chasles.model.expression_builder import TIME_NAME
from chasles.model.expression_law import Expression, put_in
from chasles.model.placement import as_numbers
from chasles.model.rod_intrinsic import ARC_LENGTH


@dataclass(frozen=True)
class Load:
    """A load along all of a rod, for a unit of its length: torque [N m/m] and force [N/m], six numbers or expressions
    of t and of the arc length s [m]. representation: "hybrid" (in the axes of space, as snow or wind) or "body" (it
    turns with the sections, as pressure and thrust do)."""

    value: Any
    representation: str = "hybrid"

    def __post_init__(self) -> None:
        if self.representation not in ("hybrid", "body"):
            raise ValueError(f'load: representation is {self.representation!r}; expected "hybrid" or "body"')
        if not isinstance(self.value, Sequence | np.ndarray) or isinstance(self.value, str) or len(self.value) != 6:
            raise ValueError(f"load: value is {self.value!r}; expected six numbers or expressions of t and s")
        settled = (x if isinstance(x, str) else float(as_numbers("load", "value", x, ())) for x in self.value)
        object.__setattr__(self, "value", tuple(settled))
        self.on(0.0, 1.0)

    def on(self, s: float, length: float) -> tuple[float | str, ...]:
        """What it is on a piece of a rod at an arc length, of a length [m]: laws only where it depends on time."""
        return tuple(_part(x, s, length) if isinstance(x, str) else length * x for x in self.value)


def _part(text: str, s: float, length: float) -> float | str:
    try:
        here = Expression(text, names={ARC_LENGTH: s})
    except ValueError as error:
        raise ValueError(f"load: {error}; it may use t and {ARC_LENGTH}, the arc length [m]") from None
    if TIME_NAME in used_names(text):
        return f"({put_in(text, {ARC_LENGTH: s})}) * {length!r}"
    value = float(here.at(0.0)[0])
    if not np.isfinite(value):
        raise ValueError(f"load: {text!r} is {value} at {ARC_LENGTH} = {s:g} m; expected a finite number")
    return length * value


@dataclass(frozen=True)
class Mass:
    """A mass [kg] that is fixed to the section at an arc length `at` [m], without a body of its own.

    com: its center, in the axes of the section (x along the rod) [m]; inertia about that [kg m²], as of a `Body`.
    """

    at: float
    mass: float
    com: Any = (0.0, 0.0, 0.0)
    inertia: Any = (0.0, 0.0, 0.0)
    spatial: np.ndarray = field(init=False, repr=False, compare=False)  # 6x6, in the axes of the section

    def __post_init__(self) -> None:
        object.__setattr__(self, "at", float(as_numbers("added mass", "at", self.at, ())))
        try:
            body = Body("added", self.mass, self.com, self.inertia)
        except ValueError as error:
            reason = str(error).removeprefix("body 'added': ")
            raise ValueError(f"added mass at {self.at:g} m: {reason}") from None
        for name in ("mass", "com", "inertia", "spatial"):
            object.__setattr__(self, name, getattr(body, name))
