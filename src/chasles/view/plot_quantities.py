"""What of a run can be drawn, by name: `energy`, `joints.elbow.velocity`, `bodies.arm.path`, ... and in which units."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from chasles.display.style import shortened
from chasles.io.result.quantities import with_reactions
from chasles.model.rod_parts import followers
from chasles.view.plot_panel import AS_COUNTS, AS_HELD, AS_SIZES, AS_STAIRS, BARS, Panel
from chasles.view.plot_parts import (
    MOTIONS,
    NAMED,
    all_joints,
    body_panels,
    force_panels,
    frames_of,
    joint_panels,
    phase_panels,
    reaction_panels,
)
from chasles.view.plot_rods import rod_names, rod_panels

NAMED_EVENT = 40  # characters of an event in a legend
LISTED = 24  # names in an error message
ENERGIES = {
    "kinetic": "kinetic $T$",
    "gravity": "gravity $V_1$",
    "springs": "springs $V_2$",
    "work": "work $W$",
    "balance": "balance $E = T + V - W$",
}
ALONE = {**ENERGIES, "total": "total $T + V$"}  # those that have a name of their own, as in `run.energies`


def panels(run: Any, name: str) -> list[Panel]:
    """The panels that a name stands for; a ValueError with the names that there are, if it is none."""
    made = panels_of(run, name)
    if made or name in SIMPLE:
        return made
    kind, _, rest = name.partition(".")
    if cut := _cut_joint(run, kind, rest):
        raise ValueError(
            f"plot: joint {cut!r} is cut to open a loop, so its coordinates are not known; cut another one, cut = "
            '[...] under [simulation] or system.compile(cut=[...]), or take coordinates="absolute"'
        )
    known = list(names(run))
    close = difflib.get_close_matches(name, known, 3, 0.5)
    advice = f"; did you mean {' or '.join(map(repr, close))}?" if close else "."
    listed = ", ".join(known[:LISTED]) + (f", ... ({len(known)} in all)" if len(known) > LISTED else "")
    raise ValueError(f"plot: there is no {name!r} in this run{advice} There are: {listed}")


def panels_of(run: Any, name: str) -> list[Panel]:
    """The panels that a name stands for; none if it is no name."""
    if name in SIMPLE:
        return SIMPLE[name](run)
    kind, _, rest = name.partition(".")
    return BY_NAME[kind](run, rest) if kind in BY_NAME and rest else []


def _cut_joint(run: Any, kind: str, rest: str) -> str:
    """The joint that a name is of, if it closes a loop and so has no coordinates."""
    known = {joint.name for joint in run.moving_joints}
    missing = [joint.name for joint in run.system.joints if joint.nv and joint.name not in known]
    return next((name for name in missing if kind in ("joints", "phase") and (f"{rest}.").startswith(f"{name}.")), "")


def names(run: Any) -> Iterator[str]:
    """All names for a run."""
    yield from ("energy", "energy.drift", "steps", "certificate")
    yield from (f"energy.{part}" for part in ALONE)
    if run.constraints:
        yield from ("drift", "drift.velocity")
    inside = followers(run.system.joints)
    moving = [joint for joint in run.moving_joints if joint.name not in inside]
    if moving:
        yield from ("joints", "joints.velocity")
    for joint in moving:
        yield from (f"joints.{joint.name}", f"joints.{joint.name}.velocity", f"joints.{joint.name}.acceleration")
        if joint.nq == joint.nv:
            yield f"phase.{joint.name}"
    if len(run):
        yield from (f"reactions.{name}" for name in with_reactions(run))
        yield from (f"forces.{name}" for name in run.force_names)
    yield from rod_names(run)
    for frame in frames_of(run):
        yield from (f"{'bodies' if frame in run.bodies else 'frames'}.{frame}.{what}" for what in MOTIONS)
    if run.given is not None:
        yield from ("inputs", "forces")
    if run.events:
        yield "events"


# ------------------------------------------------------------ of the whole system


def _energy(run: Any) -> list[Panel]:
    def values(part: Any) -> np.ndarray:
        return np.stack([getattr(part.energies, name) for name in ENERGIES], axis=1)

    return [Panel("energy", "energy [J]", tuple(ENERGIES.values()), values, optional=(1, 2, 3))]


def _one_energy(run: Any, name: str) -> list[Panel]:
    """One of `run.energies`, or how far the balance, which an exact motion keeps, is from its start."""
    if name in ALONE:
        return [Panel("energy", "energy [J]", (ALONE[name],), lambda part: getattr(part.energies, name)[:, None])]
    if name != "drift":
        return []
    start = float(run.part(slice(0, 1)).energies.balance[0]) if len(run) else 0.0

    def values(part: Any) -> np.ndarray:
        return part.energies.balance[:, None] - start

    labels = "$E(t) - E(0)$ [J]", "$|E(t) - E(0)|$ [J]"
    return [Panel("drift of the energy balance", labels[0], ("$E = T + V - W$",), values, compared=labels[1])]


def _drift(run: Any, level: str = "") -> list[Panel]:
    if level not in ("", "velocity"):
        return []
    which = ("", "velocity").index(level)
    title = ("violation of the joints", "violation of the joints, velocities")[which]
    label = ("violation [m, rad]", "violation [m/s, rad/s]")[which]
    series = tuple(shortened(run.constraints, NAMED))
    return [Panel(title, label, series, lambda part: part.violations[which], drawn=AS_SIZES)] if series else []


def _drifts(run: Any) -> list[Panel]:
    if made := _drift(run):
        return made
    raise ValueError(
        "plot: drift is the violation of constraints, and this run has none: its joint coordinates cannot violate the "
        'joints of a tree. With coordinates="absolute" they can'
    )


def _steps(run: Any) -> list[Panel]:
    def values(part: Any) -> np.ndarray:
        return np.abs(np.diff(part.t, prepend=np.nan))[:, None]

    each = len(run) - 1 == run.solution.steps
    label, title = ("step size $h$ [s]", "steps") if each else ("time between points [s]", "saved times")
    return [Panel(title, label, ("$h$",), values, drawn=AS_STAIRS)]


def _certificate(run: Any) -> list[Panel]:
    found = run.certificate
    judged = [finding for finding in found.findings if finding.judged and not finding.count]
    shown = np.array([finding.value / finding.tolerance for finding in judged])
    names = tuple(finding.name for finding in judged)
    return [Panel(f"certificate: {found.status}", "value / tolerance", names, lambda part: shown, BARS)]


def _inputs(run: Any) -> list[Panel]:
    return _given(run, "inputs", "input [as given]")


def _forces(run: Any) -> list[Panel]:
    return _given(run, "forces", "generalized force [N m, N]")


def _events(run: Any) -> list[Panel]:
    """How often each event has happened."""
    names = tuple(dict.fromkeys(one.event.name for one in run.events))
    if not names:
        raise ValueError("plot: events: nothing happened in this run")
    times = [np.sort([one.t for one in run.events if one.event.name == name]) for name in names]

    def values(part: Any) -> np.ndarray:
        return np.stack([np.searchsorted(own, part.t, "right") for own in times], axis=1).astype(float)

    told = tuple(shortened(names, NAMED_EVENT))
    title = "events" if len(told) > 1 else told[0]  # a single line has no legend
    return [Panel(title, "how often so far [1]", told, values, drawn=AS_COUNTS)]


def _given(run: Any, what: str, label: str) -> list[Panel]:
    if run.given is None:
        raise ValueError(f"plot: {what}: this run has no inputs")
    series = tuple(f"$u_{{{k + 1}}}$" for k in range(getattr(run, what).shape[1]))
    return [Panel(what, label, series, lambda part: getattr(part, what), drawn=AS_HELD)]


SIMPLE: dict[str, Callable[[Any], list[Panel]]] = {
    "energy": _energy,
    "drift": _drifts,
    "steps": _steps,
    "certificate": _certificate,
    "inputs": _inputs,
    "forces": _forces,
    "events": _events,
    "joints": all_joints,
}
BY_NAME: dict[str, Callable[[Any, str], list[Panel]]] = {
    "joints": joint_panels,
    "phase": phase_panels,
    "reactions": reaction_panels,
    "forces": force_panels,
    "bodies": body_panels,
    "frames": body_panels,
    "rods": rod_panels,
    "drift": _drift,
    "energy": _one_energy,
}
