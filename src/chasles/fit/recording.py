"""What was measured: times and columns, from a CSV file with units in its header or from arrays."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from chasles.io.tables import name_and_unit, titled_rows
from chasles.io.units import check, unit_of
from chasles.model.suggestion import meant

TIME = ("t", "time")  # names of the column of times, in small or capital letters
EMPTY = ("", "nan", "na", "n/a", "#n/a", "null", "none")  # cells in which nothing was measured
MOST_ROWS = 1_000_000
GAP = 10.0  # times the usual distance of two rows: a gap
COARSE = 1e-7  # of the distance of rows: rounding of their times that a simulation would feel


@dataclass(frozen=True)
class Recording:
    """Times `t` (n,) [s] and columns by name, (n,) each, in SI units; NaN where nothing was measured.

    `units` has the unit that the header gives a column, "" if none.
    """

    name: str
    t: np.ndarray
    columns: Mapping[str, np.ndarray]
    units: Mapping[str, str] = field(default_factory=dict)

    def column(self, name: str, unit: str) -> np.ndarray:
        """A column whose dimension is that of a unit."""
        if name not in self.columns:
            near = meant(name, self.columns)
            raise ValueError(f"{self.name} has no column {name!r}; {near}there are {', '.join(self.columns)}")
        given = self.units.get(name, "")
        if given:
            try:
                check(given, unit_of(given).dimension, [unit])
            except ValueError as error:
                raise ValueError(f"{self.name}: column {name!r} {error}") from None
        return self.columns[name]

    @property
    def gaps(self) -> list[tuple[float, float]]:
        """Times between which there is no row for much longer than usual."""
        steps = np.diff(self.t)
        far = np.flatnonzero(steps > GAP * np.median(steps, keepdims=True))
        return [(float(self.t[k]), float(self.t[k + 1])) for k in far]


def recording(given: Any, number: int = 1) -> Recording:
    """A recording from a CSV file, from a mapping of names to arrays (one of them "t"), or as it is."""
    if isinstance(given, Recording):
        found = given
    elif isinstance(given, str | Path):
        found = _read(Path(given))
    elif isinstance(given, Mapping) or (hasattr(given, "columns") and hasattr(given, "items")):
        found = _of_arrays(dict(given.items()), f"data {number}")  # of a data frame too
    else:
        raise TypeError(
            f'fit: data is {type(given).__name__}; expected a CSV file, or arrays by name: {{"t": t, "joints.arm": q}}'
        )
    _check_times(found)
    return found


def _read(path: Path) -> Recording:
    names, units, rows, lines = titled_rows(path, MOST_ROWS, least=2)
    if doubled := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"{path.name} has two columns {doubled[0]!r}; give each its own name")
    factors = [factor_of(path.name, name, unit) for name, unit in zip(names, units, strict=True)]
    table = np.full((len(rows), len(names)), np.nan)
    for number, row in enumerate(rows):
        if len(row) != len(names):
            told = "; decimal commas need semicolons between the columns" if len(row) > len(names) else ""
            raise ValueError(
                f"{path.name}: row {lines[number]} has {len(row)} cells; its header has {len(names)}{told}"
            )
        for k, cell in enumerate(row):
            if cell.strip().lower() not in EMPTY:
                table[number, k] = factors[k] * _number(path, cell, lines[number], names[k], number == 0)
    return _recording(path.name, dict(zip(names, table.T, strict=True)), dict(zip(names, units, strict=True)))


def factor_of(data: str, name: str, unit: str) -> float:
    """The size of the unit of a column."""
    try:
        return float(unit_of(unit).of(1))  # type: ignore[arg-type]
    except ValueError as error:
        raise ValueError(f"{data}: column {name!r} is in {unit!r}; {error}") from None


def _number(path: Path, cell: str, row: int, name: str, first: bool) -> float:
    try:
        value = float(cell)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        told = "leave the cell empty if nothing was measured"
        if name.lower() in TIME:
            told = "give times in seconds, such as 0.02"
        if first and cell.strip() and not any(letter.isdigit() for letter in cell):
            told = f"units belong into the header: {name} [{cell.strip()}]"
        if " " in cell.strip() and " " in name:
            told = "separate columns by commas, semicolons or tabs"
        raise ValueError(f"{path.name}: row {row} has {cell.strip()!r} in column {name!r}; expected a number; {told}")
    return value


def _of_arrays(given: Mapping[str, Any], name: str) -> Recording:
    columns, units = dict[str, np.ndarray](), dict[str, str]()
    for title, values in given.items():
        key, unit = name_and_unit(str(title))
        try:
            array = factor_of(name, key, unit) * _plain(values)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name}: {key!r}: {error}; expected numbers, NaN where nothing was measured") from None
        if array.ndim != 1:
            raise ValueError(f"{name}: {key!r} has shape {array.shape}; expected (times,): a column for each number")
        if np.isinf(array).any():
            raise ValueError(
                f"{name}: {key!r} has a number that is infinite; use NaN for values that were not measured"
            )
        columns[key], units[key] = array, unit
    return _recording(name, columns, units)


def _plain(values: Any) -> np.ndarray:
    """Numbers of an array: NaN where it is masked, seconds of times, from the first one on if they are of a clock."""
    array = np.asarray(values)
    if np.ma.isMaskedArray(values):
        array = np.where(np.ma.getmaskarray(values), np.nan, np.ma.getdata(values))
    if array.dtype.kind == "M":
        array = array - array[:1]
    if array.dtype.kind == "m":
        return np.asarray(array / np.timedelta64(1, "s"), dtype=float)
    if array.dtype.kind == "c":
        raise ValueError("has complex numbers")
    return np.asarray(array, dtype=float)


def _recording(name: str, columns: dict[str, np.ndarray], units: dict[str, str]) -> Recording:
    times = [key for key in columns if key.lower() in TIME]
    if len(times) != 1:
        there = f"{', '.join(map(repr, list(columns)[:8]))}{', ...' if len(columns) > 8 else ''}"
        raise ValueError(
            f"{name} has {'two' if times else 'no'} columns of times; expected one, 't' or 'time'; its columns: {there}"
        )
    if len({len(column) for column in columns.values()}) > 1:
        sizes = ", ".join(f"{key!r} {len(column)}" for key, column in columns.items())
        raise ValueError(f"{name}: columns have different lengths: {sizes}")
    if (unit := units.get(times[0], "")) and unit_of(unit).dimension != unit_of("s").dimension:
        raise ValueError(f"{name}: column {times[0]!r} is in {unit!r}, which is not a time [s]")
    t = columns.pop(times[0])
    return Recording(name, t, columns, units)


def _check_times(found: Recording) -> None:
    t, name = found.t, found.name
    if len(t) < 2:
        raise ValueError(f"{name} has {len(t)} rows; expected two or more")
    if not np.isfinite(t).all():
        raise ValueError(f"{name}: row {int(np.argmin(np.isfinite(t))) + 1} after the header has no time")
    if (np.diff(t) <= 0).any():
        k = int(np.argmax(np.diff(t) <= 0)) + 1
        raise ValueError(
            f"{name}: times must rise; row {k + 1} after the header is at {t[k]:g} s, after {t[k - 1]:g} s"
            f"{_how_to_sort(t)}"
        )
    if np.spacing(np.abs(t).max()) > COARSE * np.median(np.diff(t)):
        raise ValueError(
            f"{name}: times are from {t[0]:.10g} to {t[-1]:.10g} s, too late on their clock for steps of "
            f"{np.median(np.diff(t)):.3g} s; subtract the time at which the model starts"
        )


def _how_to_sort(t: np.ndarray) -> str:
    if len(np.unique(t)) < len(t):
        return "; leave out rows that repeat a time"
    return "; sort the rows by time"
