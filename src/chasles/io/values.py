"""Values of fields: from what a file holds to what the model takes, with parameters put in."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from chasles.io.units import Units, check, is_unit, quantity, value_of
from chasles.model.expression import CONSTANTS, evaluate, used_names
from chasles.model.expression_builder import POINT_DISTANCE, POINT_SPEED
from chasles.model.expression_function import Table
from chasles.model.expression_law import put_in
from chasles.model.placement import LONGEST_NAME
from chasles.model.rod_intrinsic import ARC_LENGTH
from chasles.model.rod_place import MARK, arc_length

LARGEST_NUMBER = 1e60  # numbers beyond this are no quantities of a mechanism
LONGEST_PATH = 4000  # characters
TURNS = ("quaternion", "rotation_vector", "rpy")


OPERATORS = re.compile(r"\s[-+*/]\s|[()]")
PLACE, ANGLES = ("m",), ("rad",)
CURVE_PARAMETER = "u"
VARYING = {"t", "q", "v", POINT_DISTANCE, POINT_SPEED}  # names of what moves


class Reader:
    """Reads values with the parameters of a file and the laws that the caller gave. `dimensions`: of the parameters
    that have one."""

    def __init__(
        self,
        parameters: Mapping[str, float],
        laws: Mapping[str, Any],
        tables: Mapping[str, Table] | None = None,
        dimensions: Mapping[str, tuple[int, ...]] | None = None,
    ):
        self.parameters, self.laws, self.tables = parameters, laws, tables or {}
        self.dimensions = dimensions or {}
        self._types: dict[str, Callable[[Any, Units], Any]] = {
            "name": lambda given, _: self.name(given),
            "names": lambda given, _: self.names(given),
            "body": lambda given, _: self.body(given),
            "bodies": lambda given, _: tuple(self.body(item) for item in _list(given)),
            "title": lambda given, _: given if given == "" else self.name(given),
            "path": lambda given, _: self.name(given, LONGEST_PATH),
            "number": self.number,
            "numbers": self.numbers,
            "each": self.each,
            "limit": lambda given, units: self.number(given, units, infinite=True),
            "limits": lambda given, units: self.each(given, units, infinite=True),
            "whole": lambda given, _: self.whole(given),
            "wholes": lambda given, _: [self.whole(item) for item in _list(given)],
            "flag": lambda given, _: self.flag(given),
            "flag or number": lambda given, _: given if isinstance(given, bool) else self.number(given),
            "vector": lambda given, units: self.numbers(given, units, 3),
            "vectors": lambda given, units: [self.numbers(item, units, 3) for item in _list(given, 2)],
            "points": lambda given, units: [self.numbers(item, units, 2) for item in _list(given)],
            "screws": lambda given, units: [self.numbers(item, units, 6) for item in _list(given)],
            "inertia": lambda given, units: self.matrix(given, units, 3, 3, 6),
            "six by six": lambda given, units: self.matrix(given, units, 6, 6),
            "pose": lambda given, _: self.pose(given),
            "matrix": lambda given, units: [self.numbers(item, units) for item in _list(given)],
            "poses": lambda given, units: [self.read("pose", item, units) for item in _list(given)],
            "several vectors": lambda given, units: [self.numbers(item, units, 3) for item in _list(given)],
            "two poses": lambda given, _: [self.pose(item) for item in _list(given, 2)],
            "ranges": lambda given, _: _by_name(given, int | float | str | list),
            "texts by name": lambda given, _: _by_name(given, str),
            "law": lambda given, _: self.law(given),
            "number or law": lambda given, units: self.value_or_law(given, units, self.number),
            "pull or law": self.pull_or_law,
            "formulas of u": lambda given, units: tuple(self.formula(item, units) for item in _list(given, 3)),
            "strain or law": self.strain_or_law,
            "load or law": self.load_or_law,
            "numbers or law": lambda given, units: self.value_or_law(given, units, self.each),
        }

    def read(self, kind: str, given: Any, units: Units = ()) -> Any:
        """The value of a field of a type, in one of the units; a ValueError says what is wrong."""
        return self._types[kind](given, units)

    def name(self, given: Any, longest: int = LONGEST_NAME) -> str:
        return checked_name(given, longest)

    def names(self, given: Any) -> tuple[str, ...]:
        return tuple(self.name(item) for item in _list(given))

    def body(self, given: Any) -> str:
        """A body by its name. The arc length in that of a node, "blade@length / 2", may be an expression of parameters;
        all others are left to the system, which knows the rods: "wheel@1" may be a body."""
        name = self.name(given)
        owner, mark, place = name.rpartition(MARK)
        try:
            if (
                not mark
                or arc_length(place) is not None
                or used_names(place) - self.parameters.keys() - CONSTANTS.keys()
            ):
                return name
        except ValueError:
            return name
        return f"{owner}{MARK}{self.number(place, PLACE)!r}"

    def number(self, given: Any, units: Units = (), infinite: bool = False) -> float:
        if isinstance(given, str):
            value = self._written(given, _alternatives(units))
        elif isinstance(given, int | float) and not isinstance(given, bool):
            try:
                value = float(given)
            except OverflowError:
                value = math.inf
        else:
            raise ValueError(
                f'is {given!r}; expected a number, one with a unit such as "25 mm", or an expression of parameters in '
                "quotes"
            )
        if infinite and math.isinf(value):
            return value
        if not math.isfinite(value):
            raise ValueError(f"is {value}; expected a finite number")
        if abs(value) > LARGEST_NUMBER:
            raise ValueError(f"is {value:g}; a number of this size cannot be meant")
        return value

    def _written(self, text: str, units: Sequence[str] | None) -> float:
        """A number with a unit, or an expression of parameters."""
        found = quantity(text)
        if not (found and is_unit(found[1])) and (parts := OPERATORS.split(text))[1:] and any(map(quantity, parts)):
            raise ValueError(
                f"{text!r} has a number with a unit in an expression, where numbers are SI; make it a parameter, "
                '[parameters] width = "25 mm", and write its name'
            )
        if found is not None:
            return value_of(*found, units)
        if (name := text.strip()) in self.dimensions and units is not None:
            check(name, self.dimensions[name], units)
        return evaluate(text, self.parameters)

    def numbers(self, given: Any, units: Units = (), *counts: int) -> tuple[float, ...]:
        items = _list(given, *counts)
        return tuple(self.number(item, _unit(units, k)) for k, item in enumerate(items))

    def each(self, given: Any, units: Units = (), infinite: bool = False) -> Any:
        """One number, or a list of them."""
        if isinstance(given, list):
            return tuple(self.number(item, _unit(units, k), infinite) for k, item in enumerate(given))
        return self.number(given, units, infinite)

    def whole(self, given: Any) -> int:
        if isinstance(given, float) and given.is_integer():  # of a range of values
            return int(given)
        if not isinstance(given, int) or isinstance(given, bool):
            raise ValueError(f"is {given!r}; expected a whole number")
        return given

    def flag(self, given: Any) -> bool:
        if not isinstance(given, bool):
            raise ValueError(f"is {given!r}; expected true or false")
        return given

    def matrix(self, given: Any, units: Units, size: int, *short: int) -> Any:
        """A square matrix by rows, or as many numbers as a short form has."""
        rows = _list(given, *short)
        if rows and isinstance(rows[0], list):
            inside = None if _apart(units) else units  # between rotations and translations there are others
            return [self.numbers(row, inside, size) for row in _list(given, size)]
        return self.numbers(given, units, *short)

    def pose(self, given: Any) -> tuple[float, ...]:
        """Position; seven numbers; or a table of position and quaternion, rotation_vector or rpy [m, rad]."""
        if not isinstance(given, Mapping):
            numbers = self.numbers(given, [PLACE] * 3 if len(_list(given)) == 3 else [()] * 4 + [PLACE] * 3, 3, 7)
            return numbers if len(numbers) == 7 else (1.0, 0.0, 0.0, 0.0, *numbers)
        unknown = set(given) - {"position", *TURNS}
        turns = [name for name in TURNS if name in given]
        if unknown or len(turns) > 1:
            raise ValueError(f"has {', '.join(map(str, given))}; expected position and one of {', '.join(TURNS)}")
        position = self.numbers(given.get("position", [0, 0, 0]), PLACE, 3)
        turn: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)
        if "quaternion" in given:
            turn = self.numbers(given["quaternion"], (), 4)
        elif "rotation_vector" in given:
            turn = from_rotation_vector(self.numbers(given["rotation_vector"], ANGLES, 3))
        elif "rpy" in given:
            turn = from_rpy(self.numbers(given["rpy"], ANGLES, 3))
        return (*turn, *position)

    def value_or_law(self, given: Any, units: Units, number: Callable[[Any, Units], Any]) -> Any:
        """Numbers, expressions of time and motion with parameters put in, or a law by its name."""
        if isinstance(given, Mapping):
            return self.law(given)
        if isinstance(given, list) and any(self._varies(item) for item in given):
            return [
                self._put_in(item) if self._varies(item) else self.number(item, _unit(units, k))
                for k, item in enumerate(given)
            ]
        return self._put_in(given) if self._varies(given) else number(given, units)

    def pull_or_law(self, given: Any, units: Units) -> Any:
        """The same between two points, where distance and speed are variables."""
        if isinstance(given, str) and (used := used_names(given) & {POINT_DISTANCE, POINT_SPEED}):
            if both := sorted(used & self.parameters.keys()):
                raise ValueError(
                    f"uses {both[0]!r}, which is a parameter and what the force depends on; rename the parameter"
                )
            return self._put_in(given)
        return self.value_or_law(given, units, self.number)

    def strain_or_law(self, given: Any, units: Units) -> Any:
        """The same along a rod, where the arc length is a variable."""
        if self._along(given):
            return self._put_in(given)
        return self.value_or_law(given, units, self.number)

    def load_or_law(self, given: Any, units: Units) -> Any:
        """Six numbers, of which some may be expressions of time and of the arc length."""
        items = _list(given, 6)
        return [
            self._put_in(item) if self._along(item) or self._varies(item) else self.number(item, _unit(units, k))
            for k, item in enumerate(items)
        ]

    def _along(self, given: Any) -> bool:
        """Whether something is an expression of the arc length."""
        found = isinstance(given, str) and ARC_LENGTH in used_names(given)
        if found and ARC_LENGTH in self.parameters:
            raise ValueError(f"uses {ARC_LENGTH!r}, which is a parameter and the arc length; rename the parameter")
        return found

    def formula(self, given: Any, units: Units) -> float | str:
        """A number, or an expression of u and parameters."""
        if not isinstance(given, str) or CURVE_PARAMETER not in used_names(given):
            return self.number(given, units)
        if CURVE_PARAMETER in self.parameters:
            raise ValueError(
                f"uses {CURVE_PARAMETER!r}, which is a parameter and runs along the curve; rename the parameter"
            )
        return self._put_in(given)

    def _put_in(self, text: str) -> str:
        return put_in(text, self.parameters, self.tables)

    def _varies(self, given: Any) -> bool:
        """Whether something is an expression of more than parameters."""
        return isinstance(given, str) and bool((used_names(given) & VARYING) - self.parameters.keys())

    def law(self, given: Any) -> Any:
        name = given.get("law") if isinstance(given, Mapping) else given
        if not isinstance(name, str):
            raise ValueError(f'is {given!r}; expected {{ law = "its name" }}')
        if name not in self.laws:
            known = ", ".join(self.laws) or "none"
            raise ValueError(
                f"needs the law {name!r}, which a file cannot hold: give laws={{{name!r}: function}}, or --law FILE.py "
                f"on the command line ({known} given)"
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


def _unit(units: Units, k: int) -> Sequence[str] | None:
    """The units of the k-th of several numbers."""
    if not _apart(units):
        return _alternatives(units)
    own: Any = units
    return tuple(own[k]) if k < len(own) else ()


def _alternatives(units: Units) -> Sequence[str] | None:
    """The units of a number that stands for all of several."""
    if units is None:
        return None
    return tuple(dict.fromkeys(unit for own in units for unit in own) if _apart(units) else map(str, units))


def _apart(units: Units) -> bool:
    return units is not None and len(units) > 0 and not isinstance(units[0], str)


def _by_name(given: Any, expected: Any) -> dict[str, Any]:
    """A table of values of some types; what they mean is read by who uses them."""
    if not isinstance(given, dict):
        raise ValueError(f"is {given!r}; expected a table, name = value for each")
    for name, value in given.items():
        if not isinstance(value, expected) or isinstance(value, bool):
            raise ValueError(f"has {name} = {value!r}; expected {'a text' if expected is str else 'values or a range'}")
    return dict(given)


def _list(given: Any, *counts: int) -> list[Any]:
    if not isinstance(given, list) or (counts and len(given) not in counts):
        expected = f"{' or '.join(map(str, counts))} of them" if counts else "a list"
        raise ValueError(f"is {given!r}; expected {expected}")
    return given
