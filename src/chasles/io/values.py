"""Values of fields: from what a file holds to what the model takes, with parameters put in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from chasles.model.expression import evaluate, used_names
from chasles.model.expression_law import Table, put_in
from chasles.model.placement import LONGEST_NAME

LARGEST_NUMBER = 1e60  # numbers beyond this are no quantities of a mechanism
LONGEST_PATH = 4000  # characters
TURNS = ("quaternion", "rotation_vector", "rpy")


class Reader:
    """Reads values with the parameters of a file and the laws that the caller gave."""

    def __init__(
        self, parameters: Mapping[str, float], laws: Mapping[str, Any], tables: Mapping[str, Table] | None = None
    ):
        self.parameters, self.laws, self.tables = parameters, laws, tables or {}
        self._types: dict[str, Callable[[Any], Any]] = {
            "name": self.name,
            "names": self.names,
            "title": lambda given: given if given == "" else self.name(given),
            "path": lambda given: self.name(given, LONGEST_PATH),
            "number": self.number,
            "numbers": self.numbers,
            "each": self.each,
            "limit": lambda given: self.number(given, infinite=True),
            "limits": lambda given: self.each(given, infinite=True),
            "whole": self.whole,
            "wholes": lambda given: [self.whole(item) for item in _list(given)],
            "flag": self.flag,
            "vector": lambda given: self.numbers(given, 3),
            "vectors": lambda given: [self.numbers(item, 3) for item in _list(given, 2)],
            "screws": lambda given: [self.numbers(item, 6) for item in _list(given)],
            "inertia": lambda given: self.matrix(given, 3, 3, 6),
            "six by six": lambda given: self.matrix(given, 6, 6),
            "pose": self.pose,
            "two poses": lambda given: [self.pose(item) for item in _list(given, 2)],
            "law": self.law,
            "number or law": lambda given: self.value_or_law(given, self.number),
            "numbers or law": lambda given: self.value_or_law(given, self.each),
        }

    def read(self, kind: str, given: Any) -> Any:
        """The value of a field of a type; a ValueError says what is wrong."""
        return self._types[kind](given)

    def name(self, given: Any, longest: int = LONGEST_NAME) -> str:
        return checked_name(given, longest)

    def names(self, given: Any) -> tuple[str, ...]:
        return tuple(self.name(item) for item in _list(given))

    def number(self, given: Any, infinite: bool = False) -> float:
        if isinstance(given, str):
            value = evaluate(given, self.parameters)
        elif isinstance(given, int | float) and not isinstance(given, bool):
            try:
                value = float(given)
            except OverflowError:
                value = math.inf
        else:
            raise ValueError(f"is {given!r}; expected a number, or an expression of parameters in quotes")
        if infinite and math.isinf(value):
            return value
        if not math.isfinite(value):
            raise ValueError(f"is {value}; expected a finite number")
        if abs(value) > LARGEST_NUMBER:
            raise ValueError(f"is {value:g}; a number of this size cannot be meant")
        return value

    def numbers(self, given: Any, *counts: int) -> tuple[float, ...]:
        return tuple(self.number(item) for item in _list(given, *counts))

    def each(self, given: Any, infinite: bool = False) -> Any:
        """One number, or a list of them."""
        if isinstance(given, list):
            return tuple(self.number(item, infinite) for item in given)
        return self.number(given, infinite)

    def whole(self, given: Any) -> int:
        if not isinstance(given, int) or isinstance(given, bool):
            raise ValueError(f"is {given!r}; expected a whole number")
        return given

    def flag(self, given: Any) -> bool:
        if not isinstance(given, bool):
            raise ValueError(f"is {given!r}; expected true or false")
        return given

    def matrix(self, given: Any, size: int, *short: int) -> Any:
        """A square matrix by rows, or as many numbers as a short form has."""
        rows = _list(given, *short)
        if rows and isinstance(rows[0], list):
            return [self.numbers(row, size) for row in _list(given, size)]
        return self.numbers(given, *short)

    def pose(self, given: Any) -> tuple[float, ...]:
        """Position; seven numbers; or a table of position and quaternion, rotation_vector or rpy [m, rad]."""
        if not isinstance(given, Mapping):
            numbers = self.numbers(given, 3, 7)
            return numbers if len(numbers) == 7 else (1.0, 0.0, 0.0, 0.0, *numbers)
        unknown = set(given) - {"position", *TURNS}
        turns = [name for name in TURNS if name in given]
        if unknown or len(turns) > 1:
            raise ValueError(f"has {', '.join(map(str, given))}; expected position and one of {', '.join(TURNS)}")
        position = self.numbers(given.get("position", [0, 0, 0]), 3)
        turn: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
        if "quaternion" in given:
            turn = self.numbers(given["quaternion"], 4)
        elif "rotation_vector" in given:
            turn = from_rotation_vector(self.numbers(given["rotation_vector"], 3))
        elif "rpy" in given:
            turn = from_rpy(self.numbers(given["rpy"], 3))
        return (*turn, *position)

    def value_or_law(self, given: Any, number: Callable[[Any], Any]) -> Any:
        """Numbers, expressions of time and motion with parameters put in, or a law by its name."""
        if isinstance(given, Mapping):
            return self.law(given)
        if isinstance(given, list) and any(self._varies(item) for item in given):
            return [self._put_in(item) if self._varies(item) else self.number(item) for item in given]
        return self._put_in(given) if self._varies(given) else number(given)

    def _put_in(self, text: str) -> str:
        return put_in(text, self.parameters, self.tables)

    def _varies(self, given: Any) -> bool:
        """Whether something is an expression of more than parameters."""
        return isinstance(given, str) and bool((used_names(given) & {"t", "q", "v"}) - self.parameters.keys())

    def law(self, given: Any) -> Any:
        name = given.get("law") if isinstance(given, Mapping) else given
        if not isinstance(name, str):
            raise ValueError(f'is {given!r}; expected {{ law = "its name" }}')
        if name not in self.laws:
            known = ", ".join(self.laws) or "none"
            raise ValueError(
                f"needs the law {name!r}, which a file cannot hold: give laws={{{name!r}: function}} ({known} given)"
            )
        return self.laws[name]


def checked_name(given: Any, longest: int = LONGEST_NAME) -> str:
    """A name, or a ValueError that says what is wrong with it."""
    if not isinstance(given, str) or not given.strip():
        raise ValueError(f"is {given!r}; expected a name")
    if any(ord(c) < 32 or ord(c) == 127 for c in given):
        raise ValueError(f"is {given[:longest]!r}; expected a name without control characters")
    if len(given) > longest:
        raise ValueError(f"has {len(given)} characters; expected a name of at most {longest}")
    return given


def from_rotation_vector(x: tuple[float, ...]) -> tuple[float, ...]:
    """Quaternion of a rotation vector [rad]. Plain Python: reading a file should not wait for a compiler."""
    angle = math.hypot(*x)
    factor = math.sin(angle / 2) / angle if angle > 0 else 0.5
    return (math.cos(angle / 2), *(factor * component for component in x))


def from_rpy(angles: tuple[float, ...]) -> tuple[float, ...]:
    """Quaternion of roll, pitch and yaw about the fixed axes x, y, z [rad], in this order (as in URDF)."""
    (cx, sx), (cy, sy), (cz, sz) = ((math.cos(angle / 2), math.sin(angle / 2)) for angle in angles)
    return (
        cx * cy * cz + sx * sy * sz,
        sx * cy * cz - cx * sy * sz,
        cx * sy * cz + sx * cy * sz,
        cx * cy * sz - sx * sy * cz,
    )


def _list(given: Any, *counts: int) -> list[Any]:
    if not isinstance(given, list) or (counts and len(given) not in counts):
        expected = f"{' or '.join(map(str, counts))} of them" if counts else "a list"
        raise ValueError(f"is {given!r}; expected {expected}")
    return given
