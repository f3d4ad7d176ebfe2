"""Which members an ensemble has: the values of the parameters of each.

A grid or a table gives points; samples give points too; the members are the product of both, samples running fastest.
The samples are the same at each point of the grid, so that points are compared under the same chances.
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from chasles.ensembles.distribution import Distribution, distribution, number
from chasles.io.units import unit_of
from chasles.model.suggestion import meant

KINDS = ("random", "latin", "sobol", "halton", "saltelli")
MAX_MEMBERS = 100_000_000
OPEN = 2.0**-53  # points are kept this far from the faces of the unit cube, where quantiles may be infinite


@dataclass(frozen=True)
class DesignAxis:
    """Values of one or several parameters that change together: (points, parameters)."""

    names: tuple[str, ...]
    rows: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Design:
    """The points of an ensemble: axes of a grid, and distributions of which `n` samples are taken by a `kind` of
    design: "random", "latin" (hypercube), "sobol" or "halton" (scrambled sequences of low discrepancy), or "saltelli",
    the points that sensitivity indices need."""

    axes: tuple[DesignAxis, ...] = ()
    samples: tuple[tuple[str, Distribution], ...] = ()
    n: int | None = None
    kind: str = "random"
    seed: int = 0

    def __post_init__(self) -> None:
        names = [*itertools.chain(*(axis.names for axis in self.axes)), *(name for name, _ in self.samples)]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"ensemble: {repeated[0]!r} is given twice")
        if not names:
            raise ValueError('ensemble: nothing varies; expected a range, set={"length": "0.4:0.6:21"}, or a sample')
        if self.kind not in KINDS:
            raise ValueError(f"ensemble: design is {self.kind!r}; {meant(self.kind, KINDS)}expected {', '.join(KINDS)}")
        if self.samples and self.n is None:
            raise ValueError("ensemble: samples are to be taken, but not how many; expected n=1000 or the like")
        if self.n is not None and not self.samples:
            raise ValueError(f"ensemble: n={self.n} is the number of samples, and nothing is sampled")
        for what, value, least in (("n", 1 if self.n is None else self.n, 1), ("seed", self.seed, 0)):
            if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
                raise ValueError(f"ensemble: {what} is {value!r}; expected a whole number, {least} or more")
        if self.kind == "saltelli" and (self.axes or self.dimensions != len(self.samples)):
            raise ValueError("ensemble: a saltelli design takes samples of plain numbers alone, without ranges")
        if self.members > MAX_MEMBERS:
            raise ValueError(f"ensemble: {self.members} members; at most {MAX_MEMBERS} are possible")

    @property
    def dimensions(self) -> int:
        """Coordinates of the unit cube that a sample takes."""
        return sum(one.coordinates for _, one in self.samples)

    @property
    def shape(self) -> tuple[int, ...]:
        """Points of each axis, and samples at each point of the grid."""
        sampled = () if self.n is None else (self.n * (self.dimensions + 2 if self.kind == "saltelli" else 1),)
        return (*(len(axis.rows) for axis in self.axes), *sampled)

    @property
    def members(self) -> int:
        """How many members there are."""
        return math.prod(self.shape)

    def __str__(self) -> str:
        parts = [f"{len(axis.rows)} values of {', '.join(axis.names)}" for axis in self.axes]
        if self.samples:
            drawn = ", ".join(f"{name} ~ {one}" for name, one in self.samples)
            parts.append(f"{self.shape[-1]} {self.kind} samples of {drawn}")
        return f"{' x '.join(parts)}: {self.members} members"

    def values(self) -> dict[str, np.ndarray]:
        """Values by parameter, (members,) each, or (members, size) of rotations."""
        found: dict[str, np.ndarray] = {}
        places = np.unravel_index(np.arange(self.members), self.shape)
        for axis, place in zip(self.axes, places, strict=False):
            rows = np.array(axis.rows, dtype=float)[place]
            found |= {name: rows[:, k] for k, name in enumerate(axis.names)}
        if self.samples:
            points, at = self.points(), 0
            for name, one in self.samples:
                found[name] = one.values(points[:, at : at + one.coordinates])[places[-1]]
                at += one.coordinates
        return found

    def points(self) -> np.ndarray:
        """Samples in the unit cube, (samples, dimensions)."""
        assert self.n is not None
        d = self.dimensions
        if self.kind == "random":  # each of its own seed: a longer ensemble begins with a shorter one
            children = np.random.SeedSequence(self.seed).spawn(self.n)
            found = np.array([np.random.default_rng(child).random(d) for child in children])
        elif self.kind == "saltelli":
            found = saltelli(sequence("sobol", 2 * d, self.n, self.seed))
        else:
            found = sequence(self.kind, d, self.n, self.seed)
        return np.clip(found, OPEN, 1.0 - OPEN)


def sequence(kind: str, d: int, n: int, seed: int) -> np.ndarray:
    """Points (n, d) of the unit cube that fill it evenly, by SciPy."""
    from scipy.stats import qmc

    makers = {"latin": qmc.LatinHypercube, "sobol": qmc.Sobol, "halton": qmc.Halton}
    engine = makers[kind](d, rng=np.random.default_rng(seed))
    if kind == "sobol" and n & (n - 1):
        raise ValueError(
            f"ensemble: n is {n}; a Sobol sequence is even only at powers of 2, such as {1 << n.bit_length()}"
        )
    found: np.ndarray = engine.random(n)
    return found


def saltelli(points: np.ndarray) -> np.ndarray:
    """The points A, B, and for each coordinate A with that of B, one after the other: (n (d + 2), d) of (n, 2 d)."""
    d = points.shape[1] // 2
    A, B = points[:, :d], points[:, d:]
    mixed = []
    for k in range(d):
        changed = A.copy()
        changed[:, k] = B[:, k]
        mixed.append(changed)
    return np.concatenate([A, B, *mixed])


def values_of(name: str, given: Any) -> np.ndarray | None:
    """The values that a parameter takes: "0.4:0.6:21" (evenly), "1:100:5:log", a list, also as a text with units,
    "[40 mm, 60 mm]", or an array; None if it is one value."""
    given = _listed(given)
    if isinstance(given, str) and given.count(":") in (2, 3):
        first, last, count, *how = (part.strip() for part in given.split(":"))
        low, high = _end(name, given, first), _end(name, given, last)
        if count.isdigit() and int(count) < 1:
            raise ValueError(f"{name}={given}: the number of values is {count}; expected 1 or more")
        if not count.isdigit() or how not in ([], ["log"]):
            raise ValueError(f"{name}={given}: expected first:last:number, or first:last:number:log")
        if int(count) > MAX_MEMBERS:
            raise ValueError(f"{name}={given}: {count} values; at most {MAX_MEMBERS} are possible")
        if how and not (low > 0 and high > 0):
            raise ValueError(f"{name}={given}: a logarithmic range needs ends above 0")
        return np.geomspace(low, high, int(count)) if how else np.linspace(low, high, int(count))
    if isinstance(given, Sequence | np.ndarray) and not isinstance(given, str):
        if not isinstance(given, np.ndarray) and any(isinstance(one, str) for one in given):
            given = [_end(name, f"[{', '.join(map(str, given))}]", str(one)) for one in given]
        found = np.asarray(given, dtype=float)
        if found.ndim != 1 or not len(found) or not np.isfinite(found).all():
            raise ValueError(f"{name}: expected a list of finite numbers, each a value of the parameter")
        return found
    return None


def written_values(given: Any) -> list[str]:
    """The texts of a range or a list that are values of the parameter, with the units they are written in."""
    listed = _listed(given)
    if isinstance(listed, str):
        return [part.strip() for part in listed.split(":")[:2]]
    return [one for one in listed if isinstance(one, str)] if isinstance(listed, list | tuple) else []


def _listed(given: Any) -> Any:
    """A list that is written as a text, "[40 mm, 60 mm]", as a list of texts; anything else as it is."""
    if isinstance(given, str) and (listed := re.fullmatch(r"\s*\[(.*)\]\s*", given)):
        return [part.strip(" \t\"'") for part in listed[1].split(",") if part.strip()]
    return given


def _end(name: str, given: str, text: str) -> float:
    try:
        return number(text)
    except ValueError as error:
        raise ValueError(f"{name}={given}: {error}") from None


def read_points(file: str | Path) -> DesignAxis:
    """Points from a CSV file: a column for each parameter, with its unit in the header if it has one, "length [mm]"."""
    path = Path(file)
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            header, *lines = (line for line in csv.reader(stream) if any(cell.strip() for cell in line))
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise ValueError(f"{path}: cannot be read as a table with a header: {error}") from None
    names, factors = [], []
    for cell in header:
        found = re.fullmatch(r"\s*([^\[\]]+?)\s*(?:\[([^\[\]]*)\])?\s*", cell)
        if found is None:
            raise ValueError(f"{path}: the column {cell!r} has no name; expected one such as length or length [mm]")
        names.append(found[1])
        factors.append(1.0 if found[2] is None else unit_of(found[2]).of(1))  # type: ignore[arg-type]
    rows = []
    for k, line in enumerate(lines, 2):
        try:
            rows.append(tuple(float(cell) * factor for cell, factor in zip(line, factors, strict=True)))
        except ValueError:
            raise ValueError(f"{path}: row {k} is {line}; expected {len(names)} numbers") from None
        if not all(map(math.isfinite, rows[-1])):
            raise ValueError(f"{path}: row {k} has a number that is not finite")
    if not rows:
        raise ValueError(f"{path}: has no rows after its header")
    return DesignAxis(tuple(names), tuple(rows))


def design_of(
    given: Mapping[str, Any],
    sample: Mapping[str, Any],
    tables: Iterable[str | Path],
    n: int | None,
    kind: str,
    seed: int,
) -> tuple[Design, dict[str, Any]]:
    """The design, and what is set to one value in all members."""
    axes, fixed = [read_points(file) for file in tables], {}
    for name, value in given.items():
        values = values_of(name, value)
        if values is None:
            fixed[name] = value
        else:
            axes.append(DesignAxis((name,), tuple((float(x),) for x in values)))
    drawn = []
    for name, text in sample.items():
        try:
            drawn.append((name, distribution(text)))
        except ValueError as error:
            raise ValueError(f"sample {name}: {error}") from None
    return Design(tuple(axes), tuple(drawn), n, kind, seed), fixed
