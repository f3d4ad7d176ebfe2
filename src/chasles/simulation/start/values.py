"""The values that a simulation was given to start from, by joint or body, and what assembly made of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles import caution
from chasles.model.joint import Joint
from chasles.model.mimic import Following
from chasles.model.system import System

Values = ArrayLike | Mapping[str, ArrayLike]  # of all joints in their order, or of some by name
CHANGED = 1e-8  # of angles [rad], of lengths in the size of the system, and of velocities in the largest
UNITS = {"coordinates": ("rad", "m"), "velocities": ("rad/s", "m/s"), "pose": ("", "m"), "twist": ("rad/s", "m/s")}
AGREES = 1e-9  # of what a value given of a joint that follows another is the sum of
SHOWN = 1e-13  # of 1 rad and of the size of a model: less is rounding


class StartChangedWarning(RuntimeWarning):
    """Assembly changed given initial values."""


class StartChange(NamedTuple):
    """What assembly changed: `quantity` ("coordinates" or "velocities" of a joint, "pose" or "twist" of a body) of
    `name`, `before` and `after`; `given`: whether the user gave it, or it was left at its default."""

    name: str
    quantity: str
    before: tuple[float, ...]
    after: tuple[float, ...]
    unit: str
    given: bool

    def __str__(self) -> str:
        before, after = _numbers(self.before), _numbers(self.after)
        of = {"coordinates": "coordinate", "velocities": "velocity"}.get(self.quantity, self.quantity)
        told = "" if self.given else " (not given)"
        return (
            f"{of if len(self.before) == 1 else self.quantity} of {self.name!r}{told}: {before} -> {after} {self.unit}"
        )


def _numbers(values: Sequence[float] | np.ndarray) -> str:
    found = ", ".join(f"{x:.6g}" for x in values)
    return found if len(values) == 1 else f"({found})"


def shown_values(joint: Joint, values: np.ndarray, velocities: bool) -> str:
    """Coordinates or velocities of a joint, with their units."""
    units = dict.fromkeys(filter(None, joint.velocity_units if velocities else joint.coordinate_units))
    return " ".join([_numbers(values), ", ".join(f"{unit}/s" if velocities else unit for unit in units)]).rstrip()


def by_name(where: str, mechanism: Any, key: str, given: Values | None) -> ArrayLike | None:
    """Coordinates ("q") or velocities ("v") of all joints, from those of some by name; arrays are left as they are."""
    if not isinstance(given, Mapping):
        return given
    places = mechanism.tree.coordinates if key == "q" else mechanism.tree.velocities
    found = mechanism.neutral() if key == "q" else np.zeros(mechanism.nv)
    depends = mechanism.tree.dependence
    given = {mechanism.system.named(name, where): values for name, values in given.items()}
    given = given if depends is None else _of_leaders(where, depends.following, key, given)
    for name, values in given.items():
        if name not in places:
            raise ValueError(
                f"{where}.{name}: there is no joint {name!r} in the tree, whose joints are "
                f"{', '.join(map(repr, mechanism.joints))}; coordinates of one that closes a loop follow from those of "
                "the others"
            )
        part = places[name]
        if np.size(values) != part.stop - part.start:
            raise ValueError(f"{where}.{name}: has {np.size(values)} numbers; expected {part.stop - part.start}")
        found[part] = values
    return found


def _of_leaders(
    where: str, following: Mapping[str, Following], key: str, given: Mapping[str, ArrayLike]
) -> dict[str, ArrayLike]:
    """Values of joints without those that follow others: what these say of their leaders, or what agrees with them."""
    found = {name: values for name, values in given.items() if name not in following}
    for name, rule in following.items():
        if name not in given:
            continue
        if np.size(given[name]) != 1:
            raise ValueError(f"{where}.{name}: has {np.size(given[name])} numbers; expected 1")
        value, offset = float(np.ravel(given[name])[0]), rule.offset if key == "q" else 0.0
        if rule.leader not in found and rule.ratio:
            found[rule.leader] = (value - offset) / rule.ratio
            continue
        leader = float(np.ravel(found.get(rule.leader, 0.0))[0])
        wanted = rule.ratio * leader + offset
        if abs(value - wanted) > AGREES * max(abs(value), abs(rule.ratio * leader), abs(offset)):
            raise ValueError(
                f"{where}.{name}: is {value:.9g}; joint {name!r} follows {rule.leader!r}, which is at {leader:.9g} and "
                f"puts it at {wanted:.9g}; leave one of them out"
            )
    return found


def with_followers(where: str, mechanism: Any, key: str, given: Values | None) -> Values | None:
    """Values of joints by name, with those of all that follow others: for coordinates that these have of their own."""
    depends = mechanism.tree.dependence
    values = by_name(where, mechanism, key, given)
    if values is None:
        values = mechanism.neutral() if key == "q" else np.zeros(mechanism.nv)
    tables = mechanism.tables
    if key == "q":
        every, places = depends.coordinates(tables.check_q("simulate", values)), depends.every.coordinates
    else:
        every, places = depends.velocities(tables.check_v("simulate", "v", values)), depends.every.velocities
    if every.ndim != 1:
        return values
    names = {*(places if given is not None and not isinstance(given, Mapping) else given or ()), *depends.following}
    return {name: every[at] for name, at in places.items() if name in names and at.stop > at.start}


class StartValue(NamedTuple):
    """A joint at the start: coordinates and velocities with units, and whether these were given, found, or are those
    that are taken by default."""

    joint: str
    q: str
    v: str
    q_from: str
    v_from: str

    def __str__(self) -> str:
        return f"{self.joint}: {self.q} ({self.q_from}), {self.v} ({self.v_from})"


def start_values(
    begin: Any, given: Mapping[str, Values | None], changes: Sequence[StartChange]
) -> tuple[StartValue, ...]:
    """The start that was taken, of the joints that move: `begin` is the motion at that time, `given` has the arguments
    q and v."""
    found, size = [], _size(begin.mechanism.system)
    changed = {(change.name, change.quantity) for change in changes}
    for joint in begin.moving_joints:
        motion, told = begin.joint(joint.name), []
        for key, quantity in (("q", "coordinates"), ("v", "velocities")):
            by_user = joint.name in names_given(given.get(key), begin.joints)
            found_out = (joint.name, quantity) in changed or given.get("poses") is not None
            found_out = found_out or (joint.name not in begin.joints and not by_user)  # it closes a loop, or follows
            told.append("found" if found_out else "given" if by_user else "default")
        values = [_without_rounding(joint, np.ravel(motion.q), size), np.ravel(motion.v)]
        shown = [shown_values(joint, x, level) for x, level in zip(values, (False, True), strict=True)]
        found.append(StartValue(joint.name, *shown, *told))
    return tuple(found)


def _without_rounding(joint: Joint, q: np.ndarray, size: float) -> np.ndarray:
    """Coordinates to be shown: zero is zero, though assembly leaves some rounding of 1 rad and of lengths."""
    return np.where(np.abs(q) <= SHOWN * np.where(_lengths(joint, 0), size, 1.0), 0.0, q)


def names_given(given: Values | None, every: Collection[str]) -> Collection[str]:
    """Whose values were given: all of an array, the names of a mapping."""
    return () if given is None else given.keys() if isinstance(given, Mapping) else every


def joint_changes(
    system: System,
    joints: Sequence[Joint],
    given: Sequence[Values | None],
    before: Sequence[np.ndarray],
    after: Sequence[np.ndarray],
    places: Sequence[tuple[Mapping[str, slice], Mapping[str, slice]]],
) -> tuple[StartChange, ...]:
    """Changes of joints: `given`, `before` and `after` are coordinates and velocities; `places` says where those of a
    joint are before and after."""
    found: list[StartChange] = []
    names, size = [joint.name for joint in joints], _size(system)
    for level, quantity in enumerate(("coordinates", "velocities")):
        rows = []
        for joint in joints:
            one, other = before[level][places[level][0][joint.name]], after[level][places[level][1][joint.name]]
            if not level:
                other = in_the_turn_of(joint, one, other)
            rows.append((joint.name, one, other, np.array(_lengths(joint, level), dtype=bool)))
        found += _changed(quantity, rows, names_given(given[level], names), size, bool(level))
    return tuple(found)


def body_changes(
    system: System, names: Sequence[str], before: Sequence[Any], after: Sequence[np.ndarray]
) -> tuple[StartChange, ...]:
    """Changes of bodies, of poses and twists (None: not given) before and after."""
    found: list[StartChange] = []
    size = _size(system)
    for quantity, given, now in zip(("pose", "twist"), before, after, strict=True):
        turning = 4 if quantity == "pose" else 3
        one = np.zeros_like(now) if given is None else np.array(given, dtype=float)
        if quantity == "pose":
            one[:, :4] *= np.where(np.sum(one[:, :4] * now[:, :4], axis=1, keepdims=True) < 0.0, -1.0, 1.0)
            one[:, :4] /= np.linalg.norm(one[:, :4], axis=1, keepdims=True)
        lengths = np.arange(now.shape[1]) >= turning
        rows = [(name, one[k], now[k], lengths) for k, name in enumerate(names)]
        found += _changed(quantity, rows, () if given is None else names, size, quantity == "twist")
    return tuple(found)


def warn_of(where: str, changes: Sequence[StartChange]) -> None:
    """Warn of values that were given and did not stay."""
    if told := [str(change) for change in changes if change.given]:
        listed = "; ".join([*told[:8], f"and {len(told) - 8} more"][: len(told)])
        caution.warn(
            f"{where}: assemble=True changed what was given of the start: {listed}. All that it changed is in "
            "start_changes; give what is to stay by name, values that satisfy the constraints, or ignore "
            "StartChangedWarning",
            StartChangedWarning,
        )


def _size(system: System) -> float:
    """The largest distance of a joint or center of mass from the frame it is given in [m]."""
    frames = [frame[4:] for joint in system.joints for frame in (joint.parent_frame, joint.child_frame)]
    points = [*frames, *(body.com for body in system.bodies)]
    return float(np.abs(np.array(points)).max(initial=0.0))


def _lengths(joint: Joint, level: int) -> list[bool]:
    """Which coordinates (level 0) or velocities (1) of a joint are lengths."""
    return [unit == "m" for unit in (joint.velocity_units if level else joint.coordinate_units)]


def in_the_turn_of(joint: Joint, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """The same coordinates, with angles in the turn of those before, and quaternions of their sign."""
    if joint.traits.quaternion:
        sign = -1.0 if before[:4] @ after[:4] < 0 else 1.0
        return np.concatenate([sign * after[:4], after[4:]])
    turns = np.round((before - after) / (2 * np.pi))
    if not turns.any():
        return after
    back = [any(screw[:3]) and not np.dot(screw[:3], screw[3:]) for screw in joint.screws]  # not along a thread
    return after + 2 * np.pi * np.where(back, turns, 0.0)


def _changed(
    quantity: str,
    rows: Sequence[tuple[str, np.ndarray, np.ndarray, np.ndarray]],
    given: Collection[str],
    size: float,
    rates: bool,
) -> list[StartChange]:
    """The rows (name, before, after, which are lengths) that differ by more than `CHANGED` of their scale."""
    if not rows:
        return []
    every = [np.concatenate([row[k] for row in rows]) for k in (1, 2, 3)]
    all_before, all_after, sliding_ones = every
    largest = np.maximum(np.abs(all_before), np.abs(all_after))
    turning, sliding = (largest[which].max(initial=0.0) for which in (~sliding_ones, sliding_ones))
    angle, length = 1.0, max(size, sliding)
    if rates:
        angle, length = max(turning, sliding / size if size else 0.0), max(sliding, turning * size)
    off = np.abs(all_after - all_before) > CHANGED * np.where(sliding_ones, length, angle)
    ends = np.cumsum([len(row[1]) for row in rows]).tolist()
    found = []
    for (name, before, after, lengths), first, end in zip(rows, (0, *ends), ends, strict=False):
        if off[first:end].any():
            units = dict.fromkeys(UNITS[quantity][int(k)] for k in lengths)
            values = tuple(map(float, before)), tuple(map(float, after))
            found.append(StartChange(name, quantity, *values, ", ".join(filter(None, units)), name in given))
    return found
