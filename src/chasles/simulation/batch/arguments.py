"""What a batch is given: values that all members share, or one for each; in arrays or by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.model.suggestion import meant
from chasles.simulation.batch.variants import WHERE


class Rows:
    """Numbers of a thing, `size` of them in each member: shape (size,) for all members, or (members, size). With
    `places` they may be given by name, {"elbow": (members,)}: the numbers of some, and the others have `neutral`."""

    def __init__(
        self,
        what: str,
        given: ArrayLike | Mapping[str, ArrayLike] | None,
        size: int,
        places: Mapping[str, slice] | None = None,
        depth: int = 1,
    ):
        """depth: 2 if the numbers of a member may be a sequence in time too, (members, times, size)."""
        self.what, self.size, self.given = what, size, given
        self.counts: dict[str, int] = {}  # members, by what says so
        self.parts: dict[str, np.ndarray] = {}  # by name; "" for the whole
        self.each: set[str] = set()  # those that differ between members
        if given is None:
            return
        if isinstance(given, Mapping):
            for name, value in given.items():
                if places is not None and name in places:
                    self._take(name, value, places[name].stop - places[name].start, depth)
                elif places is not None:
                    known = ", ".join(map(repr, places))
                    raise ValueError(f"{WHERE}: {what}: there is no {name!r}; {meant(name, places)}there are {known}")
                else:
                    self._take(name, value, 1, depth)
            return
        self._take("", given, size, depth)

    def _take(self, name: str, given: ArrayLike, size: int, depth: int) -> None:
        called = f"{self.what}[{name!r}]" if name else self.what
        try:
            value = np.array(given, dtype=float)
        except (TypeError, ValueError):
            raise ValueError(f"{WHERE}: {called} is {given!r}; expected numbers") from None
        if size == 1 and value.ndim == 1 and value.shape != (1,):
            value = value[:, None]  # one number of each member
        elif value.ndim == 0:
            value = value[None]
        if value.shape[-1] != size or value.ndim > depth + 1:
            shapes = f"({size},) or (members, {size})" + (f" or (members, times, {size})" if depth > 1 else "")
            shapes = shapes if size != 1 else shapes.replace("(1,)", "a number, (members,)")
            raise ValueError(f"{WHERE}: {called} has shape {np.shape(given)}; expected {shapes}")
        if not np.isfinite(value).all():
            bad = np.argwhere(~np.isfinite(value))[0]
            raise ValueError(
                f"{WHERE}: {called} {f'of member {bad[0]} ' if value.ndim > 1 else ''}has a number that is not finite"
            )
        self.parts[name] = value
        if value.ndim > 1:
            self.each.add(name)
            self.counts[called] = len(value)

    def at(self, i: int) -> Any:
        """What member i is given, as `simulate` takes it."""
        if isinstance(self.given, Mapping):
            return {name: self._one(name, i) for name in self.parts}
        return None if self.given is None else self._one("", i)

    def _one(self, name: str, i: int) -> np.ndarray:
        value = self.parts[name]
        return value[i] if name in self.each else value

    def table(self, count: int, neutral: np.ndarray, places: Mapping[str, slice]) -> np.ndarray:
        """The numbers of all members, (members, size)."""
        found = np.tile(neutral, (count, 1))
        for name, value in self.parts.items():
            found[:, places[name] if name else slice(None)] = value
        return found


def members_of(counts: Iterable[tuple[str, int]]) -> int:
    """How many members there are; ValueError if what is given does not agree, or says nothing of it."""
    named = list(counts)
    if not named:
        raise ValueError(
            f"{WHERE}: nothing is given for each member; give q or v (members, n), inputs, or parameters "
            "(members,); for one run take simulate"
        )
    for name, count in named[1:]:
        if count != named[0][1]:
            raise ValueError(f"{WHERE}: {named[0][0]} has {named[0][1]} members, and {name} {count}")
    if named[0][1] == 0:
        raise ValueError(f"{WHERE}: {named[0][0]} has no members")
    return named[0][1]
