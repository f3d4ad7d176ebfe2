"""Panels of single joints, bodies and frames, with the units of their coordinates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from chasles.display.style import plain, shortened
from chasles.io.result.quantities import with_reactions
from chasles.model.constraint import Coupling
from chasles.model.joint import Joint
from chasles.model.rod_parts import followers
from chasles.model.scale import length_of
from chasles.simulation.named_forces import named_forces
from chasles.view.plot_panel import CURVE, OVER_TIME, SPACE, Panel

UNITS = {"rad": ("rad", "rad/s", "rad/s²"), "m": ("m", "m/s", "m/s²"), "": ("1", "rad/s", "rad/s²")}
WORDS = {
    "rad": ("angle", "angular velocity", "angular acceleration"),
    "m": ("displacement", "velocity", "acceleration"),
    "": ("quaternion", "angular velocity", "angular acceleration"),
}
SYMBOLS = ("q", r"\dot q", r"\ddot q")
XYZ = ("$x$", "$y$", "$z$")
VECTOR_SIZE = "magnitude"  # the curve of the length of a vector, beside those of its components
LEVELS = {"": 0, "velocity": 1, "acceleration": 2}
NAMED = 26  # characters of a name in a legend
ROUNDING = 1e-12  # of the force of a joint on the length of the model, or of its torque
MOTIONS = ("position", "velocity", "acceleration", "orientation", "twist", "path")

IN_SPACE = {"velocity": ("twist", "m/s"), "acceleration": ("acceleration", "m/s²")}  # of the origin, in world axes


def frames_of(run: Any) -> list[str]:
    """Bodies, and frames on them."""
    return [*run.bodies, *(frame.name for frame in run.mechanism.system.frames if frame.body in run.bodies)]


def coordinates(joint: Joint, level: int) -> list[tuple[str, str]]:
    """Symbol and kind of unit ("rad", "m", "" for quaternions) of each coordinate, velocity or acceleration."""
    symbol = SYMBOLS[level]
    if joint.traits.quaternion:
        turns = [(f"$\\omega_{a}$", "rad") for a in "xyz"] if level else [(f"${a}$", "") for a in "wxyz"]
        moves = [(f"$v_{a}$", "m") for a in "xyz"] if level else [(f"${a}$", "m") for a in "xyz"]
        if level == 2:
            turns, moves = ([(s.replace("$", r"$\dot ", 1), u) for s, u in group] for group in (turns, moves))
        return turns + (moves if joint.traits.holds_nothing else [])
    units = joint.velocity_units
    if len(units) == 1:
        return [(f"${symbol}$", units[0])]
    return [(f"${symbol}_{k + 1}$", unit) for k, unit in enumerate(units)]


def joint_panels(run: Any, rest: str) -> list[Panel]:
    """Coordinates, velocities or accelerations of a joint, or of all; none if there is no such joint."""
    name, level = _split(rest, LEVELS, [joint.name for joint in run.moving_joints])
    if rest in LEVELS and name is None:
        return all_joints(run, LEVELS[rest])
    joint = next((joint for joint in run.moving_joints if joint.name == name), None)
    if joint is None:
        return []
    return _by_unit(run, [joint], LEVELS[level], f"joint {plain(joint.name)}")


def all_joints(run: Any, level: int = 0) -> list[Panel]:
    """The coordinates of all joints, or their velocities or accelerations."""
    inside = followers(run.system.joints)
    moving = [joint for joint in run.moving_joints if joint.name not in inside]
    if not moving:
        raise ValueError("plot: joints: no joint of this run moves")
    return _by_unit(run, moving, level, "joints")


def _by_unit(run: Any, joints: Sequence[Joint], level: int, title: str) -> list[Panel]:
    """A panel for the coordinates of each unit."""
    columns = [(joint, k, *item) for joint in joints for k, item in enumerate(coordinates(joint, level))]
    made = []
    for unit in dict.fromkeys(item[3] for item in columns):
        mine = [(joint, k, symbol) for joint, k, symbol, u in columns if u == unit]
        several = len(joints) > 1
        names = shortened((joint.name for joint, _, _ in mine), NAMED)
        pairs = zip(names, (item[2] for item in mine), strict=True)
        series = tuple(f"{name}, {symbol}" if several else symbol for name, symbol in pairs)
        shown = UNITS[unit][level]
        single = f" ${SYMBOLS[level]}$" if len(mine) == 1 and not several else ""
        label = f"{WORDS[unit][level]}{single} [{shown}]"
        made.append(Panel(title, label, series, _columns(mine, level)))
    return made


def _columns(wanted: Sequence[tuple[Joint, int, str]], level: int) -> Callable[[Any], np.ndarray]:
    def values(part: Any) -> np.ndarray:
        found = {joint.name: getattr(part.joint(joint.name), "qva"[level]) for joint, _, _ in wanted}
        return np.stack([found[joint.name][:, k] for joint, k, _ in wanted], axis=1)

    return values


def phase_panels(run: Any, rest: str) -> list[Panel]:
    """Velocity against coordinate, for each coordinate of a joint."""
    joint = next((joint for joint in run.moving_joints if joint.name == rest), None)
    if joint is None:
        return []
    if joint.nq != joint.nv:
        raise ValueError(f"plot: phase.{rest}: a {joint.kind} joint has a quaternion, so it has no phase plane")
    made = []
    for k, (symbol, unit) in enumerate(coordinates(joint, 0)):
        rate = coordinates(joint, 1)[k][0]
        across, label = f"{WORDS[unit][0]} {symbol} [{unit}]", f"{WORDS[unit][1]} {rate} [{UNITS[unit][1]}]"

        def values(part: Any, k: int = k) -> np.ndarray:
            motion = part.joint(rest)
            return np.stack([motion.q[:, k], motion.v[:, k]], axis=1)

        title = f"phase of {plain(rest)}"
        made.append(Panel(title, label, (plain(rest),), values, CURVE, across=across))
    return made


def reaction_panels(run: Any, rest: str) -> list[Panel]:
    """Torque and force of a joint, if they are known."""
    if not len(run) or rest not in with_reactions(run):
        return []
    title, series = f"reaction of {plain(rest)}", (*XYZ, VECTOR_SIZE)

    size = length_of(run.system)

    def values(part: Any, rows: slice) -> np.ndarray:
        every = part.reactions(rest)
        found = every[:, rows]
        largest = np.abs(every[:, :3]).max(initial=0.0), size * np.abs(every[:, 3:]).max(initial=0.0)
        if largest[rows.start // 3] <= ROUNDING * max(largest):
            found = np.zeros_like(found)  # of a planar pin: what rounding leaves
        return np.concatenate([found, np.linalg.norm(found, axis=1, keepdims=True)], axis=1)

    torque = Panel(title, "torque [N m]", series, lambda part: values(part, slice(0, 3)))
    return [torque, Panel(title, "force [N]", series, lambda part: values(part, slice(3, 6)))]


def force_panels(run: Any, rest: str) -> list[Panel]:
    """What something exerts by itself: a panel for each unit of its numbers."""
    if rest not in run.force_names or not len(run):
        return []
    item, columns = named_forces(run.system)[rest], run.force_columns(rest)
    parts = [plain(name) for name in item.joints] if isinstance(item, Coupling) else [one.part for one in columns]
    made = []
    for unit in dict.fromkeys(one.unit for one in columns):
        own = [k for k, one in enumerate(columns) if one.unit == unit]
        series = (plain(rest),) if len(columns) == 1 else tuple(parts[k] for k in own)

        def values(part: Any, own: list[int] = own) -> np.ndarray:
            found: np.ndarray = part.force(rest)[:, own]
            return found

        word = "torque" if unit == "N m" else "force"
        made.append(Panel(f"force of {plain(rest)}", f"{word} [{unit}]", series, values))
    return made


# ------------------------------------------------------------ of a body or frame


def body_panels(run: Any, rest: str) -> list[Panel]:
    """The motion of a body or frame."""
    name, what = _split(rest, MOTIONS, frames_of(run), run.system.named)
    if name is None:
        return []
    shown = plain(name)
    if what == "twist":
        turning = Panel(
            f"twist of {shown} in its frame",
            "angular velocity [rad/s]",
            tuple(f"$\\omega_{a}$" for a in "xyz"),
            lambda part: part.frame(name).twist[:, :3],
        )
        moving = tuple(f"$v_{a}$" for a in "xyz")
        speed = Panel(turning.title, "velocity [m/s]", moving, lambda part: part.frame(name).twist[:, 3:])
        return [turning, speed]
    if what in IN_SPACE:
        quantity, unit = IN_SPACE[what]

        def values(part: Any) -> np.ndarray:
            found = getattr(part.frame(name, "hybrid"), quantity)[:, 3:]
            return np.concatenate([found, np.linalg.norm(found, axis=1, keepdims=True)], axis=1)

        return [Panel(f"{what} of {shown}", f"{what} [{unit}]", (*XYZ, VECTOR_SIZE), values)]
    if what == "orientation":
        series = tuple(f"${a}$" for a in "wxyz")
        return [Panel(f"orientation of {shown}", "quaternion [1]", series, Unbroken(name))]
    kind = SPACE if what == "path" else OVER_TIME
    title = f"{what or 'position'} of {shown}"
    return [Panel(title, "position [m]", XYZ, lambda part: part.frame(name).position, kind)]


class Unbroken:
    """Unit quaternions of a frame, part after part, with signs that make them curves without jumps: q and -q are the
    same orientation."""

    def __init__(self, name: str):
        self.name, self.last = name, np.zeros((1, 4))

    def __call__(self, part: Any) -> np.ndarray:
        found = np.array(part.frame(self.name).orientation, dtype=float)
        before = np.concatenate([self.last, found[:-1]])
        turned = np.where(np.sum(before * found, axis=1) < 0.0, -1.0, 1.0)
        found *= np.cumprod(turned)[:, None]
        self.last = found[-1:] if len(found) else self.last
        return found


def _split(rest: str, endings: Any, known: Sequence[str], named: Callable[[str], str] = str) -> tuple[str | None, str]:
    """A name and what of it; names may have dots of their own. named: what they mean, of nodes by arc length."""
    if rest in known:
        return rest, ""
    name, _, ending = rest.rpartition(".")
    if ending in endings and named(name) in known:
        return name, ending
    written = ending.isidentifier()  # not the end of an arc length, so that something else is wrong
    return (rest, "") if not written and named(rest) in known else (None, "")
