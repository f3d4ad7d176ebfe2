"""Quantities with units, such as "90 deg", "25 mm", "5 N/mm": the one table of units, and their dimensions.

A unit is a product of those below, with powers, written as people do: "N m", "kg m^2", "N/mm", "m/s²", "N m s/rad". An
angle has a dimension of its own, so that it is not taken for a ratio.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from chasles.model.suggestion import meant

# units that a value can be in: alternatives, or these for each of several numbers; none: it has none, None: any
Units = Sequence[str] | Sequence[Sequence[str]] | None
LONGEST = 60  # characters of a quantity


class Unit(NamedTuple):
    """In kg, m, s and rad: `factor` times a power of pi, and the powers of these four."""

    factor: Fraction
    turns: int = 0  # power of pi
    dimension: tuple[int, int, int, int] = (0, 0, 0, 0)

    def times(self, other: Unit, power: int) -> Unit:
        """This times a power of another."""
        dimension = tuple(a + power * b for a, b in zip(self.dimension, other.dimension, strict=True))
        return Unit(self.factor * other.factor**power, self.turns + power * other.turns, dimension)  # type: ignore[arg-type]

    def of(self, number: Fraction) -> float:
        """So much of it; rational factors are exact, so that "25.4 mm" is 0.0254 to the last bit."""
        return float(number * self.factor) * math.pi**self.turns


def _of(dimension: tuple[int, int, int, int], turns: int = 0, **factors: Fraction | int | str) -> dict[str, Unit]:
    return {name: Unit(Fraction(factor), turns, dimension) for name, factor in factors.items()}


_MASS, _LENGTH, _TIME, _ANGLE = (1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)
_FORCE, _TORQUE, _POWER = (1, 1, -2, 0), (1, 2, -2, 0), (1, 2, -3, 0)
UNITS: dict[str, Unit] = {
    "": Unit(Fraction(1)),
    "-": Unit(Fraction(1)),
    "1": Unit(Fraction(1)),
    "%": Unit(Fraction(1, 100)),
    **_of(_MASS, kg=1, g="1e-3", mg="1e-6", t=1000, lb="0.45359237"),
    **_of(_LENGTH, m=1, mm="1e-3", cm="1e-2", dm="1e-1", um="1e-6", km=1000, ft="0.3048"),
    "in": Unit(Fraction("0.0254"), 0, _LENGTH),
    **_of(_TIME, s=1, ms="1e-3", us="1e-6", min=60, h=3600),
    **_of(_ANGLE, rad=1, mrad="1e-3"),
    **_of(_ANGLE, turns=1, deg=Fraction(1, 180), rev=2, turn=2),
    "°": Unit(Fraction(1, 180), 1, _ANGLE),
    **_of((0, 0, -1, 1), turns=1, rpm=Fraction(1, 30)),
    **_of((0, 0, -1, 0), Hz=1, kHz=1000),
    **_of(_FORCE, N=1, mN="1e-3", kN=1000, MN=1000000, lbf="4.4482216152605"),
    **_of(_TORQUE, Nm=1, Nmm="1e-3", kNm=1000, J=1, kJ=1000),
    **_of(_POWER, W=1, kW=1000),
    **_of((1, -1, -2, 0), Pa=1, kPa=1000, MPa=10**6, GPa=10**9),
}
# what people call them, by the unit that the program computes in
NAMES = {
    "1": "a plain number",
    "kg": "a mass",
    "m": "a length",
    "s": "a time",
    "rad": "an angle",
    "m/s": "a speed",
    "rad/s": "an angular speed",
    "m/s²": "an acceleration",
    "rad/s²": "an angular acceleration",
    "1/s": "a rate",
    "N": "a force",
    "N m": "a torque",
    "N/m": "a stiffness",
    "Pa": "a pressure or modulus",
    "N m/rad": "a stiffness against turning",
    "N s/m": "a damping",
    "N m s/rad": "a damping of turning",
    "kg m²": "a moment of inertia",
    "kg/m³": "a density",
    "m/rad": "a pitch",
}
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?"
_BEGIN = r"(?:[A-Za-z\u00b5\u03bc°%]|(?<=\s)1\s*/\s*[A-Za-z])"  # of a unit: a letter, or "1/m" apart from the number
_QUANTITY = re.compile(rf"\s*({_NUMBER})\s*(?![eE][-+]?\d)({_BEGIN}.*?)\s*")
_PART = re.compile(r"\s*([*·/]?)\s*([A-Za-z°%]+|1)(?:(?:\^|\*\*)?([-+]?\d)|([²³]))?(?=[\s*·/]|$)")
_RAISED = {"²": 2, "³": 3}


def unit_of(text: str) -> Unit:
    """The unit that a text such as "N m/rad" is; a ValueError says what is not known."""
    given = text.strip().replace("\N{MICRO SIGN}", "u").replace("\N{GREEK SMALL LETTER MU}", "u")
    if given in UNITS:
        return UNITS[given]
    found, at = UNITS["1"], 0
    while at < len(given):
        part = _PART.match(given, at)
        if part is None or part[2] not in UNITS:
            word = part[2] if part else given[at:].strip()
            near = meant(word, filter(None, UNITS))
            raise ValueError(f"unit {given!r}: {word!r} is unknown; {near}known: {', '.join(filter(None, UNITS))}")
        power = int(part[3]) if part[3] else _RAISED.get(part[4], 1)
        found = found.times(UNITS[part[2]], -power if part[1] == "/" else power)
        at = part.end()
    return found


def is_unit(text: str) -> bool:
    """Whether a text is a unit that is known."""
    try:
        unit_of(text)
    except ValueError:
        return False
    return True


def exact(text: str) -> Fraction:
    """A number as it is written, not rounded."""
    return Fraction(text) if len(text) <= LONGEST and re.fullmatch(_NUMBER, text) else Fraction(float(text))


def quantity(text: str) -> tuple[Fraction, str] | None:
    """Number and unit of a text such as "25 mm"; None if it is something else, an expression perhaps."""
    found = _QUANTITY.fullmatch(text) if len(text) <= LONGEST else None
    return None if found is None else (Fraction(found[1]), found[2])


def value_of(number: Fraction, unit: str, wanted: Iterable[str] | None) -> float:
    """A quantity in one of the units wanted (none: a plain number; None: whatever it is), or a ValueError."""
    found = unit_of(unit)
    if wanted is not None:
        check(f"{float(number):g} {unit}", found.dimension, tuple(wanted))
    return found.of(number)


def length(text: str) -> float | None:
    """A length [m] that has a unit, such as "500 mm"; None if it is none."""
    found = quantity(text)
    if found is None or not is_unit(found[1]) or unit_of(found[1]).dimension != _LENGTH:
        return None
    return value_of(*found, ("m",))


def check(shown: str, dimension: tuple[int, ...], wanted: Sequence[str]) -> None:
    """A ValueError if something of a dimension is not in one of the units wanted."""
    if not any(_same(dimension, unit_of(one).dimension) for one in wanted or ("1",)):
        expected = " or ".join(f"{NAMES.get(one, 'something')} [{one}]" for one in wanted) or "a number without a unit"
        lead = _same(dimension, unit_of("m").dimension) and "m/rad" in wanted
        hint = f'; of a lead in a turn, lead = "{shown}" under [parameters], it is "lead / (2 * pi)"' if lead else ""
        raise ValueError(f"is {shown!r}, {_name(dimension)}; expected {expected}{hint}")


def require_dimension_of(before: object, given: object) -> None:
    """A ValueError if a text replaces another one, both have a unit, and the units are of different dimensions."""
    units = [quantity(one) if isinstance(one, str) else None for one in (before, given)]
    old, new = (unit_of(one[1]).dimension if one and is_unit(one[1]) else None for one in units)
    if old is not None and new is not None and not (_same(new, old) or _same(old, new)):
        raise ValueError(f"is {given!r}, {_name(new)}; expected {_name(old)}, as {before!r} in the file")


def computed_in(given: object) -> str:
    """The unit that a value is computed in, if it is a text with a unit that has a name: "N/m" of "38 N/mm"."""
    found = quantity(given) if isinstance(given, str) else None
    if found is None or not is_unit(found[1]):
        return ""
    dimension = unit_of(found[1]).dimension
    return next((unit for unit in NAMES if unit != "1" and unit_of(unit).dimension == dimension), "")


def _same(given: tuple[int, ...], wanted: tuple[int, ...]) -> bool:
    """Whether dimensions agree; "N m" may stand for "N m/rad", as radians are often left out there."""
    left_out = wanted[3] < 0 and wanted[0] != 0 and given[3] == 0
    return given == wanted or (left_out and given[:3] == wanted[:3])


def _name(dimension: tuple[int, ...]) -> str:
    return next((name for unit, name in NAMES.items() if unit_of(unit).dimension == dimension), "something else")


def alternatives(what: str) -> tuple[str, ...]:
    """The units that a description of a field has in brackets: "[N/m or N m/rad] about rest" has two, the first for
    what slides, the second for what turns."""
    found = re.search(r"\[([^\]]+)\]", what)
    return () if found is None else tuple(found[1].split(" or "))
