"""Inputs that were recorded with the data: columns "inputs.motor", as forces on joints that follow them in time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.fit.recording import Recording
from chasles.kernel.workspace import layout
from chasles.model.actuator import Actuator
from chasles.model.force import JointForce
from chasles.model.law import law
from chasles.model.suggestion import meant
from chasles.model.system import System

PREFIX = "inputs."
HELD, LINEAR = "held", "linear"
WAYS = (HELD, LINEAR)
MOST_VELOCITIES = 6


# parameters of the law: weights of the joint's velocities, whether values go on lines to the next, times, values
LAW = layout("LAW", weights=MOST_VELOCITIES, line=1)


@law
def recorded_force(t: Any, q: Any, v: Any, parameters: Any, out: Any) -> None:
    """The last value before a time or, on a line, what is between it and the next."""
    first = LAW.line + 1
    n = (len(parameters) - first) // 2
    low, high = 0, n
    while high - low > 1:
        middle = (low + high) // 2
        if parameters[first + middle] <= t:
            low = middle
        else:
            high = middle
    begin, value = parameters[first + low], parameters[first + n + low]
    if low + 1 < n and t > begin:
        share = parameters[LAW.line] * (t - begin) / (parameters[first + low + 1] - begin)
        value = value + share * (parameters[first + n + low + 1] - value)
    for k in range(len(out)):
        out[k] = parameters[k] * value


@dataclass(frozen=True)
class RecordedInput:
    """An input along a coordinate of a joint, or of an actuator, with times and values."""

    name: str
    joint: str
    coordinate: int
    actuator: str
    t: np.ndarray
    values: np.ndarray
    way: str

    def force(self, system: System) -> JointForce:
        """The force that it exerts in a system, whose gears may be unknowns."""
        weights, values = np.zeros(MOST_VELOCITIES), self.values
        weights[self.coordinate] = 1.0
        if self.actuator:
            actuator = next(one for one in system.actuators if one.name == self.actuator)
            weights[self.coordinate], values = actuator.gear, np.clip(values, actuator.lower, actuator.upper)
        numbers = *weights, float(self.way == LINEAR), *self.t, *values
        return JointForce(f"input of {self.name}", self.joint, recorded_force, numbers)


def with_inputs(system: System, inputs: tuple[RecordedInput, ...]) -> System:
    """A system under recorded inputs."""
    return replace(system, forces=(*system.forces, *(one.force(system) for one in inputs))) if inputs else system


def without_inputs(system: System) -> System:
    """A system without the inputs that were recorded."""
    forces = [one for one in system.forces if getattr(one, "value", None) is not recorded_force]
    return replace(system, forces=forces)


def recorded_inputs(
    system: System, data: Recording, way: str, begin: float
) -> tuple[tuple[RecordedInput, ...], list[str]]:
    """The inputs that a recording has, from the begin of the simulation on, and notes."""
    if way not in WAYS:
        raise ValueError(f"fit: inputs is {way!r}; {meant(way, WAYS)}expected {HELD!r} or {LINEAR!r}")
    known = _places(system)
    found, notes = [], list[str]()
    for column in data.columns:
        if not column.startswith(PREFIX):
            continue
        name = column.removeprefix(PREFIX)
        if name not in known:
            what = "actuators" if system.actuators else "joints"
            listed = ", ".join(known) or "none"
            raise ValueError(
                f"{data.name}: column {column!r} is an input of no one; {meant(name, known)}{what}: {listed}"
            )
        joint, coordinate, unit, actuator = known[name]
        values = data.column(column, unit) if unit else data.columns[column]
        there = np.isfinite(values)
        if not there.any() or data.t[there][0] > begin:
            when = f"before {data.t[there][0]:g} s" if there.any() else "at any time"
            raise ValueError(
                f"{data.name}: input {name!r} has no value {when}, and the simulation starts at {begin:g} s; give one "
                "at the start, or span=(start, end)"
            )
        if not there.all():
            notes.append(f"{data.name}: {column} has no value in {int((~there).sum())} of {len(there)} rows")
        if actuator is not None and not ((values[there] >= actuator.lower) & (values[there] <= actuator.upper)).all():
            notes.append(f"{data.name}: {column} is beyond the limits of its actuator, which holds it within")
        own = "" if actuator is None else actuator.name
        found.append(RecordedInput(name, joint, coordinate, own, data.t[there], values[there], way))
    return tuple(found), notes


def input_names(system: System) -> tuple[str, ...]:
    """Names of inputs that a recording may have."""
    return tuple(_places(system))


def _places(system: System) -> dict[str, tuple[str, int, str, Actuator | None]]:
    """Names of inputs: joint, coordinate, unit, and the actuator if there are any."""
    if system.actuators:
        return {one.name: (one.joint, one.coordinate, "", one) for one in system.actuators}
    found: dict[str, tuple[str, int, str, Actuator | None]] = {}
    for joint in system.joints:
        for k, unit in enumerate(joint.velocity_units):
            name = joint.name if joint.nv == 1 else f"{joint.name}.{k + 1}"
            found[name] = joint.name, k, "N m" if unit == "rad" else "N", None
    return found
