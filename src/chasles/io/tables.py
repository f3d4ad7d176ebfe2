"""Tables of model files: two columns of a CSV file, or two lists, that laws use as a function.

[tables]
lift = { file = "cam.csv", x = "angle", y = "lift", kind = "periodic" }

value = "lift(2 * pi * t)"
"""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from chasles.io.source import within
from chasles.io.units import check, exact, unit_of
from chasles.model.expression_function import TABLES, Table, checked
from chasles.model.suggestion import meant

LARGEST = 16_000_000  # bytes
MOST = 2000  # rows: a table becomes part of the model's text
FIELDS = ("file", "x", "y", "kind")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d*(?:[eE][-+]?\d+)?\s*")
_TITLE = re.compile(r"\s*(.*?)\s*(?:[\[(]\s*(.*?)\s*[\])])?\s*")


def read_table(given: Any, folder: Path, numbers: Callable[[Any], tuple[float, ...]]) -> Table:
    """A table as a model file gives it; a ValueError says what is wrong."""
    if not isinstance(given, Mapping):
        raise ValueError(f'is {given!r}; expected {{ file = "name.csv", x = "column", y = "column" }}')
    for key in given:
        if key not in FIELDS:
            raise ValueError(f"has {key!r}; {meant(key, FIELDS)}expected {', '.join(FIELDS)}")
    kind = given.get("kind", "spline")
    if kind not in TABLES:
        raise ValueError(f"kind is {kind!r}; {meant(kind, TABLES)}expected one of {', '.join(TABLES)}")
    if "x" not in given or "y" not in given:
        raise ValueError("has no x and y: two columns of the file, or two lists of numbers")
    if "file" not in given:
        return checked(Table(kind, numbers(given["x"]), numbers(given["y"])))
    if not isinstance(given["file"], str):
        raise ValueError(f"file is {given['file']!r}; expected a name")
    path = within(folder, given["file"], "table")
    read = titled_rows(path, MOST)
    x, y = _columns(path, read, [given["x"], given["y"]])
    for k, (before, after) in enumerate(itertools.pairwise(x), 1):
        if not before < after:
            cells = [read.rows[row][read.names.index(given["x"])].strip() for row in (k, k - 1)]
            raise ValueError(
                f"{path.name}: row {read.lines[k]} has {cells[0]} in column {given['x']!r} after {cells[1]}; expected "
                "ascending order"
            )
    try:
        return checked(Table(kind, x, y))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from None


def read_profile(given: Any, folder: Path, points: Callable[[Any], Any]) -> Any:
    """Points of a curve as a model file gives them: pairs, or two columns of a file [m]."""
    if not isinstance(given, Mapping):
        return points(given)
    for key in given:
        if key not in ("file", "x", "y"):
            raise ValueError(f"has {key!r}; expected file, x, y")
    if not all(isinstance(given.get(key), str) for key in ("file", "x", "y")):
        raise ValueError('expected { file = "name.csv", x = "column", y = "column" }, or a list of points')
    path = within(folder, given["file"], "table")
    columns = _columns(path, titled_rows(path, MOST), [given["x"], given["y"]], "m")
    return tuple(zip(*columns, strict=True))


class TitledRows(NamedTuple):
    """Names and units of the columns of a CSV file, the cells of its rows, and the lines of the file they are in."""

    names: list[str]
    units: list[str]
    rows: list[list[str]]
    lines: list[int]


def titled_rows(path: Path, most: int, least: int = 2) -> TitledRows:
    """Read a CSV file. Cells are separated by commas, semicolons or tabs; lines with # are comments. Between semicolons
    and tabs, numbers may have decimal commas."""
    try:
        if not path.is_file() and path.exists():  # reading from a pipe would wait for ever
            raise ValueError(f"{path.name} is a folder, a pipe or a device; expected a file")
        if path.stat().st_size > LARGEST:
            raise ValueError(f"{path.name} is larger than {LARGEST / 1e6:.0f} MB")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ValueError(f"{path.name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path.name} is not UTF-8 text; save it as CSV in UTF-8") from None
    every = enumerate(text.splitlines(), 1)
    numbered = [(number, line) for number, line in every if line.strip() and not line.lstrip().startswith("#")]
    lines = [line for _, line in numbered]
    if len(lines) < least + 1:
        wanted = {1: "one row", 2: "two rows"}.get(least, f"{least} rows")
        raise ValueError(f"{path.name} has {len(lines)} lines; expected a header and at least {wanted}")
    if len(lines) > most + 1:
        raise ValueError(f"{path.name} has {len(lines) - 1} rows; at most {most} are read: take fewer points")
    separator = next((one for one in ("\t", ";", ",") if one in lines[0]), ",")
    header, *rows = csv.reader(lines, delimiter=separator)
    if len(rows) + 1 != len(lines):
        raise ValueError(f"{path.name} has a cell over several lines; expected one row in each line")
    names, units = (list(part) for part in zip(*map(name_and_unit, header), strict=True))
    if separator != "," and not any("." in cell for row in rows for cell in row):  # beside points, commas group digits
        rows = [[_with_point(cell) for cell in row] for row in rows]
    return TitledRows(names, units, rows, [number for number, _ in numbered[1:]])


def name_and_unit(title: str) -> tuple[str, str]:
    """The name and the unit, or "", of a title such as "joints.elbow [deg]"."""
    found = _TITLE.fullmatch(title)
    return (found.group(1), found.group(2) or "") if found else ("", "")


def _with_point(cell: str) -> str:
    """A number with a point for its decimal comma, as European programs write it; other cells stay as they are."""
    return cell.replace(",", ".") if _DECIMAL_COMMA.fullmatch(cell) else cell


def _columns(path: Path, given: TitledRows, wanted: list[Any], asked: str = "") -> list[tuple[float, ...]]:
    names, units, rows, lines = given
    result = []
    for name in wanted:
        if name not in names:
            near = meant(name, names)
            raise ValueError(f"{path.name} has no column {name!r}; {near}there are {', '.join(names)}")
        k = names.index(name)
        unit = units[k]
        try:
            own = unit_of(unit)
            if unit and asked:
                check(unit, own.dimension, [asked])
        except ValueError as error:
            raise ValueError(f"{path.name}: column {name!r} is in {unit!r}; {error}") from None
        cells = zip(rows, lines, strict=True)
        result.append(tuple(own.of(_number(path, row, k, line)) for row, line in cells))
    return result


def _number(path: Path, row: list[str], k: int, line: int) -> Fraction:
    given = row[k].strip() if k < len(row) else ""
    try:
        value = float(given)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"{path.name}: row {line} has {given!r} in column {k + 1}; expected a number")
    return exact(given)
