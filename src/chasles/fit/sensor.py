"""A sensor: what it measures, in which columns, with which noise, bias and delay."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from chasles.fit.measurable import Measurable, measurable, names_of
from chasles.fit.recorded_input import PREFIX, input_names
from chasles.fit.recording import Recording
from chasles.fit.unknown import Range, range_of
from chasles.io.units import check, quantity, unit_of
from chasles.lie import s3
from chasles.model.suggestion import meant
from chasles.model.system import System

MEASURED = ("joints", "bodies", "reactions", "forces")  # of a system, with which names of quantities begin


@dataclass(frozen=True)
class Sensor:
    """A sensor. All of it can be left out: columns of a recording that have names of quantities are sensors too.

    of: what it measures, "bodies.hand.position"; by default its name. columns: components by the names of the columns,
    {"u": "x", "v": "z"}; by default columns are called "bodies.hand.position.x". noise: its standard deviation, a
    number or "2 mm"; None: it is estimated. bias: True if an unknown constant is added to each of its numbers. delay:
    [s] by which values come late, a number, or a range such as "0:50 ms" in which it is looked for.
    """

    of: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    noise: float | str | None = None
    bias: bool = False
    delay: float | str = 0.0


@dataclass(frozen=True)
class Channel:
    """A sensor of one recording: at times `t` it measured `values` (times, numbers)."""

    name: str
    measured: Measurable
    which: tuple[int, ...]  # components that were measured
    t: np.ndarray
    values: np.ndarray
    noise: float | None
    bias: bool
    delay: float
    delays: Range | None  # in which the delay is looked for
    notes: tuple[str, ...] = ()

    @property
    def labels(self) -> tuple[str, ...]:
        """What its residuals are."""
        if self.measured.turns:
            return tuple(f"turn about {axis}" for axis in "xyz")
        return tuple(self.measured.components[k] for k in self.which)

    @property
    def unit(self) -> str:
        """That of its residuals; "" if they differ."""
        units = {self.measured.units[k] for k in self.which}
        return "rad" if self.measured.turns else units.pop() if len(units) == 1 else ""

    def shown(self, states: Any) -> np.ndarray:
        """What the sensor would measure of states, without bias, (times, numbers)."""
        return self.measured.values(states)[:, list(self.which)]

    def off(self, shown: np.ndarray) -> np.ndarray:
        """Simulated less measured; of orientations rotation vectors in the measured frame."""
        if not self.measured.turns:
            return shown - self.values
        found: np.ndarray = s3.log(_short(s3.compose(s3.inverse(self.values), s3.project(shown))))
        return found


def _short(q: np.ndarray) -> np.ndarray:
    """Of the two quaternions of a rotation the one of the shorter way."""
    return np.where(q[..., :1] < 0, -q, q)


def channels(system: System, data: Recording, sensors: Mapping[str, Sensor]) -> list[Channel]:
    """The sensors that a recording has: those that are named, and columns with names of quantities."""
    found = [_named(system, data, name, sensor) for name, sensor in sensors.items()]
    taken = {column for sensor in sensors.values() for column in sensor.columns}
    own: dict[str, list[str]] = {}
    for column in data.columns:
        if column in taken:
            continue
        base = _base(system, column)
        if base is not None and base not in {sensor.of or name for name, sensor in sensors.items()}:
            own.setdefault(base, []).append(column)
    for name, columns in own.items():
        found += _own(data, name, measurable(system, name), columns)
    if not any(len(one.t) for one in found):
        names = names_of(system)
        near = next((hint for column in data.columns if (hint := _near(column, names))), "")
        raise ValueError(
            f"{data.name} has no column that the model knows; its columns are {', '.join(data.columns) or 'none'}. "
            f"{near}Name them after what they measure, such as {', '.join(names[:6])}, or say what they are: sensors, "
            "or --column"
        )
    return found


def _own(data: Recording, name: str, measured: Measurable, columns: list[str]) -> list[Channel]:
    """The sensor that columns with the names of a quantity are; one for each column if they were measured at different
    times."""
    there = {column: np.isfinite(data.columns[column]) for column in columns}
    alike = all((one == there[columns[0]]).all() for one in there.values())
    if measured.turns or alike:
        return [_channel(data, name, measured, Sensor(), {})]
    parts = {measured.column(c): c for c in measured.components}
    return [
        _channel(data, column, measured, Sensor(), {parts[column]: column}) for column in columns if there[column].any()
    ]


def _near(column: str, names: list[str]) -> str:
    """What a column may have been meant to be: its name may lack the first part, or be in other letters."""
    last = column.casefold().partition(".")[0]
    found = [name for name in names if name.casefold().split(".")[1] == last]
    return meant(column, names) or (f"did you mean {found[0]!r}? " if found else "")


def unused(data: Recording, system: System, sensors: Mapping[str, Sensor], found: list[Channel]) -> list[str]:
    """A note that names the columns that no sensor and no input takes, if there are any."""
    taken = {column for sensor in sensors.values() for column in sensor.columns}
    for one in found:
        if one.name not in sensors or not sensors[one.name].columns:
            taken |= {one.measured.column(one.measured.components[k]) for k in one.which}
    left = [name for name in data.columns if name and name not in taken and not name.startswith(PREFIX)]
    if not left:
        return []
    known = [*names_of(system), *(PREFIX + name for name in input_names(system))]
    near = ["" if name.startswith(tuple(f"{one}." for one in known)) else meant(name, known).strip() for name in left]
    said = [f"{name!r} ({hint})" if hint else repr(name) for name, hint in zip(left, near, strict=True)]
    return [f"{data.name}: column{'s' if len(left) > 1 else ''} {', '.join(said)}: not used"]


def _base(system: System, column: str) -> str | None:
    """The quantity that a column is, or is a component of."""
    for name in (column, column.rpartition(".")[0]):
        if name.partition(".")[0] in MEASURED:
            try:
                found = measurable(system, name)
            except ValueError:
                continue
            if column in map(found.column, found.components):
                return name
            raise ValueError(
                f"fit: column {column!r} is no number of {found.name!r}; expected "
                f"{', '.join(map(found.column, found.components))}"
            )
    if column.partition(".")[0] in MEASURED:
        measurable(system, column)  # says what there is
    return None


def _named(system: System, data: Recording, name: str, sensor: Sensor) -> Channel:
    if not isinstance(sensor.columns, Mapping):
        raise TypeError(
            f'fit: sensor {name!r}: columns is {sensor.columns!r}; expected components by column: {{"u": "x"}}'
        )
    measured = measurable(system, sensor.of or name)
    for column, component in sensor.columns.items():
        if component not in measured.components:
            near = meant(component, measured.components)
            which = f"component {component!r}" if component else "no component"
            raise ValueError(
                f"fit: sensor {name!r}: column {column!r} is {which} of {measured.name!r}; {near}expected one of "
                f"{', '.join(repr(one) for one in measured.components)}: {measured.column(measured.components[0])}"
            )
    return _channel(data, name, measured, sensor, {component: column for column, component in sensor.columns.items()})


def _channel(data: Recording, name: str, measured: Measurable, sensor: Sensor, columns: Mapping[str, str]) -> Channel:
    named = columns or {c: measured.column(c) for c in measured.components if measured.column(c) in data.columns}
    which = tuple(k for k, c in enumerate(measured.components) if c in named)
    if measured.turns and len(which) != 4:
        raise ValueError(f"fit: sensor {name!r}: an orientation takes four columns, w, x, y, z; there are {len(which)}")
    if not which:
        wanted = ", ".join(map(measured.column, measured.components))
        raise ValueError(f"fit: sensor {name!r}: {data.name} has none of the columns {wanted}")
    values = np.stack([data.column(named[measured.components[k]], measured.units[k]) for k in which], axis=1)
    there = np.isfinite(values).all(axis=1)
    notes = [f"{name} has no value in {int((~there).sum())} of {len(there)} rows"] if not there.all() else []
    some = np.isfinite(values).any(axis=1) & ~there
    notes += [f"{name}: {int(some.sum())} rows with some of its columns only are left out"] if some.any() else []
    if not there.any():
        raise ValueError(f"{data.name}: sensor {name!r} has no row in which all its columns have a value")
    t, values = data.t[there], values[there]
    if measured.turns:
        values = s3.project(values)
    delay, delays = _delay(name, sensor.delay, float(t[-1] - t[0]))
    unit = "rad" if measured.turns else measured.units[which[0]]
    return Channel(
        name,
        measured,
        which,
        t,
        values,
        _noise(name, sensor.noise, unit),
        sensor.bias,
        delay,
        delays,
        tuple(f"{data.name}: {note}" for note in notes),
    )


def _delay(name: str, given: float | str, lasts: float) -> tuple[float, Range | None]:
    """A delay, and the range in which it is looked for if it is one; lasts: how long the sensor measured."""
    delays = range_of(f"delay of {name!r}", given, "s") if isinstance(given, str) and ":" in given else None
    ends = [delays.low, delays.high] if delays else [_value(name, "delay", given, "s")]
    if not np.isfinite(ends).all():
        raise ValueError(f"fit: sensor {name!r}: delay is {given!r}; expected a number or a range, '0:50 ms'")
    if (late := max(map(abs, ends))) >= lasts > 0.0:
        raise ValueError(
            f"fit: sensor {name!r}: delay is {given!r}, and the data lasts {lasts:g} s; expected a delay of less than "
            f"that{': is it in ms?' if late >= 1.0 else ''}"
        )
    return sum(ends) / len(ends), delays


def _value(name: str, what: str, given: float | str, unit: str) -> float:
    """A number of a sensor, or one with a unit."""
    found = quantity(given) if isinstance(given, str) else None
    if found is None:
        try:
            return float(given)
        except (TypeError, ValueError):
            raise ValueError(
                f"fit: sensor {name!r}: {what} is {given!r}; expected a number, with a unit if it is a text"
            ) from None
    try:
        check(str(given), unit_of(found[1]).dimension, [unit])
    except ValueError as error:
        raise ValueError(f"fit: sensor {name!r}: {what} {error}") from None
    return float(unit_of(found[1]).of(found[0]))


def _noise(name: str, given: float | str | None, unit: str) -> float | None:
    if given is None:
        return None
    value = _value(name, "noise", given, unit)
    if not (np.isfinite(value) and value > 0):
        raise ValueError(f"fit: sensor {name!r}: noise is {given!r}; expected a standard deviation above 0")
    return value


def sensor_of(column: str) -> tuple[str, str]:
    """The quantity and the component that a column name means: "bodies.hand.position.x" is "x" of the position."""
    base, _, last = column.rpartition(".")
    is_part = len(last) == 1 and last in "wxyz123456" and base.count(".") >= 1
    return (base, last) if is_part else (column, "")
