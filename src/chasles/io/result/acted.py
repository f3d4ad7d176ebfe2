"""What laws of the user, which are in no file, gave at the saved points: with it forces, accelerations and reactions
there need no law.

Laws may share a function, and have the same time twice where something strikes. So what a law gave is found by all
of its arguments; for others than those of the saved points it is not there, and the law has to be given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chasles.io.result.layout import ResultFileError
from chasles.model.cam import Cam
from chasles.model.expression_law import Expression
from chasles.simulation.laws.samples import CalledLaw, called_laws, items_with_laws
from chasles.simulation.runaway import LARGEST_USABLE

AT_ONCE, BLOCKS = 1024, 4  # saved points whose arguments are found together, and how many such blocks are kept
CLOSE = 1e-9  # of the largest argument in a block: as good as the same


class Missing:
    """A function of the user that is not in the file, and says so when it is called."""

    not_in_file = True  # for those who can do without
    only = ""  # what is

    def __init__(self, file: Path, what: str, name: str, how: str):
        self.file, self.what, self.__name__, self.how = file, what, name, how

    def __call__(self, *arguments: Any) -> Any:
        missing = f"the {self.what} {self.__name__!r} is not in the file{self.only}"
        raise ResultFileError(self.file, f"{missing}; to compute with it, {self.how}")


class MissingLaw(Missing):
    """A law that is not in the file; what it gave at the saved points may be."""

    acted: Acted | None = None

    def __call__(self, t: float, x: np.ndarray, y: np.ndarray, parameters: np.ndarray, out: np.ndarray) -> None:
        found = None if self.acted is None else self.acted.given(self.__name__, t, x, y, parameters)
        if found is None:
            self.only = "" if self.acted is None else ", only what it gave at the saved points"
            super().__call__()
        else:
            out[: len(found)] = found


def _own(dynamics: Any, t: np.ndarray, states: np.ndarray) -> Iterator[CalledLaw]:
    """The user's laws at states, in the order in which their numbers are kept."""
    cams = {item.name for item, law in items_with_laws(dynamics.mechanism.system) if isinstance(item, Cam)}
    for called in called_laws(dynamics, t, states):
        if called.name not in cams and not isinstance(called.law, Expression):
            yield called


def numbers_of_laws(dynamics: Any, state: np.ndarray) -> int:
    """How many numbers the user's laws give at a point."""
    return sum(called.size for called in _own(dynamics, np.zeros(1), state[None]))


def values_of_laws(dynamics: Any, t: np.ndarray, states: np.ndarray, numbers: int) -> np.ndarray:
    """What the user's laws give at points, (times, numbers); NaN where the states ran away."""
    good = np.abs(states).max(axis=1) < LARGEST_USABLE
    found, at, times = np.full((len(t), numbers), np.nan), 0, np.array(t[good])
    for called in _own(dynamics, times, np.array(states[good])) if good.any() else ():
        ends_the_run = called.law.error is not None
        found[good, at : at + called.size] = called.values(times, np.arange(len(times)))
        if not ends_the_run:  # else the run has yet to raise it
            called.failed()
        at += called.size
    return found


class _ArgumentOfLaw(NamedTuple):
    """An argument of a law at the points of a block, and its largest size there."""

    rows: np.ndarray
    largest: float

    @classmethod
    def of(cls, rows: np.ndarray) -> _ArgumentOfLaw:
        return cls(rows, float(np.abs(rows).max(initial=0.0)))

    def apart(self, here: np.ndarray, row: int) -> float:
        """How far an argument is from that of a saved point, of the largest in the block."""
        count = self.rows.shape[1]
        if count > len(here):
            return np.inf
        off = float(np.abs(here[:count] - self.rows[row]).max(initial=0.0))
        return 0.0 if off == 0.0 else off / self.largest if self.largest > 0.0 else np.inf


class _LawArguments(NamedTuple):
    """What a law was given at the points of a block; of a drive that is time alone."""

    law: str
    parameters: np.ndarray
    told: tuple[_ArgumentOfLaw, ...]
    columns: slice


@dataclass(eq=False)
class Acted:
    """What laws gave at the saved points."""

    dynamics: Any
    t: np.ndarray
    states: np.ndarray
    values: np.ndarray

    def __post_init__(self) -> None:
        self._block = lru_cache(maxsize=BLOCKS)(self._arguments)
        self.sign = 1.0 if len(self.t) < 2 or self.t[-1] >= self.t[0] else -1.0
        self.rising = self.sign * np.asarray(self.t)

    def _arguments(self, block: int) -> list[_LawArguments]:
        rows, at, found = slice(block * AT_ONCE, (block + 1) * AT_ONCE), 0, []
        for called in _own(self.dynamics, np.array(self.t[rows]), np.array(self.states[rows])):
            told = () if called.size < called.room else tuple(_ArgumentOfLaw.of(rows) for rows in (called.x, called.y))
            found.append(_LawArguments(called.law.__name__, called.parameters, told, slice(at, at + called.size)))
            at += called.size
        return found

    def given(self, law: str, t: float, x: np.ndarray, y: np.ndarray, parameters: np.ndarray) -> np.ndarray | None:
        """What a law gave for these arguments; None if they are not those of a saved point."""
        at = int(np.searchsorted(self.rising, self.sign * t))
        best, found = CLOSE, None
        while at < len(self.t) and self.t[at] == t:
            for one in self._block(at // AT_ONCE):
                if one.law != law or not np.array_equal(one.parameters, parameters):
                    continue
                off = max((a.apart(b, at % AT_ONCE) for a, b in zip(one.told, (x, y), strict=False)), default=0.0)
                values = self.values[at, one.columns]
                if off <= best and np.isfinite(values).all():
                    best, found = off, np.array(values)
            at += 1
        return found
