"""What a sensor can measure, by the names of `plot`: functions of states, with the units of their numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from chasles.lie import s3
from chasles.model.suggestion import meant
from chasles.model.system import System

Values = Callable[[Any], np.ndarray]
RATES = {"": "", "velocity": "/s", "acceleration": "/s²"}
OF_BODIES = {
    "position": ("m", "xyz"),
    "orientation": ("1", "wxyz"),
    "velocity": ("m/s", "xyz"),
    "gyro": ("rad/s", "xyz"),
    "accelerometer": ("m/s²", "xyz"),
}


@dataclass(frozen=True)
class Measurable:
    """A quantity of a motion: `values` makes (times, components) of states.

    `of_state`: whether it is a function of coordinates and velocities of joints alone, whatever the parameters are;
    `of_places`: of these and of places of frames, but not of masses. `turns`: whether it is a quaternion; its
    differences are rotation vectors.
    """

    name: str
    components: tuple[str, ...]  # "" if there is one
    units: tuple[str, ...]
    values: Values
    of_state: bool = False
    turns: bool = False
    of_places: bool = False

    def column(self, component: str) -> str:
        """The name of the column of a component."""
        return f"{self.name}.{component}" if component else self.name


def measurable(system: System, name: str) -> Measurable:
    """The quantity of a name; a ValueError says which there are."""
    kind, _, rest = name.partition(".")
    makers = {"joints": _of_joint, "bodies": _of_body, "reactions": _of_reaction, "forces": _of_force}
    found = makers[kind](system, name, rest) if kind in makers else None
    if found is None:
        known = names_of(system)
        listed = f"{', '.join(known[:24])}{', ...' if len(known) > 24 else ''}"
        raise ValueError(f"fit: there is nothing to measure called {name!r}; {meant(name, known)}there are {listed}")
    return found


def names_of(system: System) -> list[str]:
    """All that can be measured."""
    joints = [joint.name for joint in system.joints if joint.nv]
    frames = [*(body.name for body in system.bodies), *(frame.name for frame in system.frames)]
    return [
        *(f"joints.{name}{f'.{rate}' if rate else ''}" for name in joints for rate in RATES),
        *(f"bodies.{name}.{what}" for name in frames for what in OF_BODIES),
        *(f"reactions.{joint.name}.{what}" for joint in system.joints for what in ("torque", "force")),
        *(f"forces.{force.name}" for force in system.forces),
    ]


def _of_joint(system: System, name: str, rest: str) -> Measurable | None:
    own = {joint.name: joint for joint in system.joints if joint.nv}
    at, _, rate = (rest, "", "") if rest in own else rest.rpartition(".")
    if at not in own or rate not in RATES:
        return None
    joint, letter = own[at], "qva"[list(RATES).index(rate)]
    units = tuple(f"{unit}{RATES[rate]}" for unit in joint.velocity_units)
    if rate == "" and joint.traits.quaternion:
        if joint.nv != 3:
            raise ValueError(f"fit: {name!r} is a {joint.kind} joint; measure its body: bodies.{joint.child}.position")
        return Measurable(name, tuple("wxyz"), ("1",) * 4, partial(_joint_values, at, "q"), True, True)
    components = ("",) if len(units) == 1 else tuple(str(k + 1) for k in range(len(units)))
    return Measurable(name, components, units, partial(_joint_values, at, letter), rate in ("", "velocity"))


def _joint_values(joint: str, letter: str, states: Any) -> np.ndarray:
    found: np.ndarray = getattr(states.joint(joint), letter)
    return found


def _of_body(system: System, name: str, rest: str) -> Measurable | None:
    at, _, what = rest.rpartition(".")
    frames = {*(body.name for body in system.bodies), *(frame.name for frame in system.frames)}
    if what not in OF_BODIES or (at := system.named(at)) not in frames:
        return None
    unit, components = OF_BODIES[what]
    values = partial(_body_values, at, what)
    return Measurable(
        name,
        tuple(components),
        (unit,) * len(components),
        values,
        False,
        what == "orientation",
        what != "accelerometer",
    )


def _body_values(frame: str, what: str, states: Any) -> np.ndarray:
    motion = states[frame]
    if what == "velocity":
        found: np.ndarray = s3.act(motion.orientation, motion.twist[..., 3:])
    elif what == "gyro":
        found = motion.twist[..., :3]
    elif what == "accelerometer":
        found = _specific_force(states, frame)
    else:
        found = getattr(motion, what)
    return found


def _specific_force(states: Any, frame: str) -> np.ndarray:
    """Acceleration less gravity, in the axes of the frame: what an accelerometer feels."""
    motion = states[frame]
    angular, linear = motion.twist[..., :3], motion.twist[..., 3:]
    gravity = s3.act(s3.inverse(motion.orientation), np.asarray(states.system.gravity, dtype=float))
    found: np.ndarray = motion.acceleration[..., 3:] + np.cross(angular, linear) - gravity
    return found


def _of_reaction(system: System, name: str, rest: str) -> Measurable | None:
    at, _, what = rest.rpartition(".")
    if what not in ("torque", "force") or at not in {joint.name for joint in system.joints}:
        return None
    rows, unit = (slice(0, 3), "N m") if what == "torque" else (slice(3, 6), "N")
    return Measurable(name, tuple("xyz"), (unit,) * 3, partial(_reaction_values, at, rows))


def _reaction_values(joint: str, rows: slice, states: Any) -> np.ndarray:
    found: np.ndarray = states.reactions(joint)[..., rows]
    return found


def _of_force(system: System, name: str, rest: str) -> Measurable | None:
    from chasles.simulation.named_forces import columns_of, named_forces

    if rest not in named_forces(system):
        return None
    columns = columns_of(system, rest)
    components = ("",) if len(columns) == 1 else tuple(str(k + 1) for k in range(len(columns)))
    return Measurable(name, components, tuple(one.unit for one in columns), partial(_force_values, rest))


def _force_values(name: str, states: Any) -> np.ndarray:
    found: np.ndarray = states.force(name)
    return found
