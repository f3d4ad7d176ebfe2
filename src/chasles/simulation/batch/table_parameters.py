"""Parameters that stand in the tables of a tree as they are: dampings, stiffnesses, gains, gravity.

Where they stand is found by making a few members in full, those with the least and the largest values among them: these
fields may be anything between two values that they may have. So the tables of all others need no system of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

# fields of joints, forces and the system whose values are valid between valid ones, each by itself
OF_JOINTS = ("damping", "stiffness", "rest", "friction", "friction_speed", "stop_stiffness", "stop_damping")
OF_FORCES = ("stiffness", "damping", "length", "value", "parameters")
FIELDS = {"joints": OF_JOINTS, "forces": OF_FORCES, "": ("gravity",)}
FIRST = 3  # members that are made in full beside those with extreme values


def are_copied(places: Mapping[str, Any]) -> bool:
    """Whether all parameters at places of a system are such fields."""
    return all(place.field in FIELDS.get(place.section, ()) for place in places.values())


class Copies:
    """Columns of numbers, one for each number of each parameter, (members, columns), and where they go in tables."""

    def __init__(self, values: Mapping[str, np.ndarray]):
        self.columns = np.concatenate([value.reshape(len(value), -1) for value in values.values()], axis=1)
        self._from: dict[int, int] = {}  # the column of a place in the tables

    @property
    def examples(self) -> list[int]:
        """Members that are to be made in full."""
        ends = [*self.columns.argmin(axis=0), *self.columns.argmax(axis=0)]
        return sorted({*range(min(FIRST, len(self.columns))), *map(int, ends)})

    def find(self, predicted: np.ndarray, table_of: Callable[[int], np.ndarray | None]) -> bool:
        """Find the places by examples; whether they explain the tables of these.

        predicted: what tables would be without the parameters; table_of: the true table of a member, if it has one of
        this form. Raises what making it raises."""
        found = dict[int, np.ndarray]()
        for i in self.examples:
            table = table_of(i)
            if table is None or table.shape != predicted[i].shape:
                return False
            found[i] = table
        rows = list(found)
        tables, columns = np.array(list(found.values())), self.columns[rows]
        for place in np.flatnonzero((tables != predicted[rows]).any(axis=0)):
            like = np.flatnonzero((columns == tables[:, place, None]).all(axis=0))
            if not len(like) or (self.columns[:, like] != self.columns[:, like[:1]]).any():
                return False  # it is computed from them, or several of them are alike in the examples alone
            self._from[int(place)] = int(like[0])
        told = self.columns[:, list(self._from.values())]
        moving = (self.columns != self.columns[0]).any(axis=0)
        return all((told == self.columns[:, k, None]).all(axis=0).any() for k in np.flatnonzero(moving))

    def put(self, tables: np.ndarray) -> None:
        """Put the values of all members into their tables, (members, numbers)."""
        tables[:, list(self._from)] = self.columns[:, list(self._from.values())]
