"""Curves under the scene: energies, drift, violations and the motion of joints, thinned out for the screen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles import caution
from chasles.model.rod_parts import followers
from chasles.simulation.named_forces import named_holds
from chasles.view.reduce import kept

NUMBERS = 300_000  # of all curves together
POINTS = (200, 1500)  # of one curve
WHOLE = 5_000_000  # numbers up to which a quantity is computed at all saved times
JOINTS = 40  # so many joints have reactions in the page; each takes a walk over all bodies
ARROWS = 240  # times at which reactions are known


@dataclass(frozen=True)
class Series:
    """A curve of a chart: values (points,) at times; the names of joint and chart say where it belongs."""

    chart: str
    name: str
    unit: str
    t: np.ndarray
    values: np.ndarray
    joint: str = ""


def left_out(notes: list[str] | None, what: str, error: Exception) -> None:
    """Say why something is not drawn: in the notes of the page, or as a warning."""
    note = f"{what}: not drawn, {str(error).rstrip('.')}"
    if notes is None:
        caution.warn(f"view: {note}")
    elif note not in notes:
        notes.append(note)


def series_of(run: Any, notes: list[str] | None = None) -> list[Series]:
    """All curves of a run; `notes` takes what could not be computed."""
    known = {joint.name for joint in run.moving_joints} - followers(run.mechanism.system.joints)
    joints = [joint for joint in run.mechanism.system.joints if joint.name in known]
    count = 6 + sum(joint.nq + joint.nv for joint in joints)
    points = int(np.clip(NUMBERS // count, *POINTS))
    found = _energies(run, points, notes) + _violations(run, points, notes)
    whole = run if len(run) * max(1, len(joints)) <= WHOLE else thinned(run, points)
    for joint in joints:
        motion = whole.joint(joint.name)
        for what, values in (("position", motion.q), ("velocity", motion.v)):
            names, unit = _coordinates(joint, what)
            for k, column in enumerate(values.T):
                found.append(Series(what, names[k], unit[k], *envelope(whole.t, column, points), joint.name))
    return found + _forces(run, points, notes)


def _forces(run: Any, points: int, notes: list[str] | None) -> list[Series]:
    """What springs, laws, drives and joints exert, by their names."""
    names = run.force_names
    if len(names) > JOINTS or not len(run):
        return []
    part, found = thinned(run, ARROWS), list[Series]()
    for name in names:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # redundant constraints: the certificate says so
                values = part.force(name)
        except (ValueError, ArithmeticError) as error:  # such as a law that is not in the file
            left_out(notes, f"Force of {name}", error)
            continue
        for column, own in zip(run.force_columns(name), values.T, strict=True):
            found.append(Series("exerted", column.part, column.unit, *envelope(part.t, own, points), name))
    return found


def _coordinates(joint: Any, what: str) -> tuple[list[str], list[str]]:
    """Names and units of the coordinates or velocities of a joint."""
    position = what == "position"
    units = list(joint.coordinate_units) if position else [f"{unit}/s" for unit in joint.velocity_units]
    if joint.traits.quaternion:
        names = ["w", "x", "y", "z", "px", "py", "pz"] if position else ["ωx", "ωy", "ωz", "vx", "vy", "vz"]
        return names[: len(units)], units
    letter = "q" if position else "v"
    return [letter if joint.nv == 1 else f"{letter}{'₁₂₃₄₅₆'[k] if k < 6 else k}" for k in range(joint.nv)], units


def _energies(run: Any, points: int, notes: list[str] | None) -> list[Series]:
    part = run if run.stored is not None or len(run) * len(run.mechanism.bodies) <= WHOLE else thinned(run, points)
    try:
        energy = part.energies
    except (ValueError, ArithmeticError) as error:  # such as a law that is not in the file
        left_out(notes, "Energies", error)
        return []
    parts = {"kinetic": energy.kinetic, "gravity": energy.gravity, "springs": energy.springs, "work": energy.work}
    found = [
        Series("energy", name, "J", *envelope(part.t, values, points))
        for name, values in parts.items()
        if np.any(values != 0)
    ]
    found.append(Series("energy", "balance", "J", *envelope(part.t, energy.balance, points)))
    drift = np.abs(energy.balance - energy.balance[0])
    return [*found, Series("drift", "energy balance", "J", *envelope(part.t, drift, points))]


def _violations(run: Any, points: int, notes: list[str] | None) -> list[Series]:
    names = run.constraints
    if not names:
        return []
    part = run if len(run) * len(names) <= WHOLE else thinned(run, points)
    try:
        position = part.violations.position
    except (ValueError, ArithmeticError) as error:
        left_out(notes, "Violations of joints", error)
        return []
    largest = [Series("drift", "joints, largest", "m, rad", *envelope(part.t, position.max(axis=1), points))]
    return largest + [
        Series("violation", "violation", "m, rad", *envelope(part.t, column, points), name)
        for name, column in zip(names, position.T, strict=True)
        if len(names) <= JOINTS
    ]


def reactions_of(run: Any, notes: list[str] | None = None) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Times, and for each joint and constraint the wrench on its child in the joint's frame there, (times, 6)."""
    holds = named_holds(run.mechanism.system)
    if len(holds) > JOINTS or not len(run):
        return np.empty(0), {}
    part = thinned(run, ARROWS)
    found, failed = {}, dict[str, Exception]()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for name in holds:
            try:
                wrench = part.reactions(name)
            except (ValueError, ArithmeticError) as error:  # such as a law that is not in the file
                failed[name] = error
                continue
            if np.isfinite(wrench).all():
                found[name] = wrench
    if failed:
        left_out(notes, f"Reactions of {', '.join(failed)}", next(iter(failed.values())))
    if notes is not None:  # loads that are shared, in the same words for all
        texts = dict.fromkeys(str(one.message) for one in told if one.category is UserWarning)
        notes += [text[:1].upper() + text[1:] for text in texts]
    rising = slice(None) if part.t[0] <= part.t[-1] else slice(None, None, -1)
    return np.asarray(part.t)[rising], {name: wrench[rising] for name, wrench in found.items()}


def thinned(run: Any, points: int) -> Any:
    """The run at every so many of its saved times, in memory."""
    return run.part(slice(None, None, max(1, -(-len(run) // points))))


def envelope(t: np.ndarray, values: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """A curve with about so many points, which keeps the highest and lowest value of each stretch."""
    t, values = np.asarray(t, dtype=float), np.asarray(values, dtype=float)
    if len(t) and t[0] > t[-1]:  # a run backwards in time
        t, values = t[::-1], values[::-1]
    if len(t) <= points:
        return t, values
    at = kept(np.arange(len(t)) * (points // 4) // len(t), values[:, None])
    return t[at], values[at]
