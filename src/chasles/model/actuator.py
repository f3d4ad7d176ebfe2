"""Actuators: what turns an input into a force on a joint."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from chasles.model.placement import as_numbers, check_name


@dataclass(frozen=True)
class Actuator:
    """A drive on one coordinate of a joint: force = gear * input, the input held between lower and upper."""

    name: str
    joint: str
    coordinate: int = 0
    gear: float = 1.0
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        check_name("Actuator", self.name)
        where = f"actuator {self.name!r}"
        object.__setattr__(self, "gear", float(as_numbers(where, "gear", self.gear, ())))
        if not self.lower <= self.upper:
            raise ValueError(f"{where}: lower limit {self.lower} is above the upper limit {self.upper}")
