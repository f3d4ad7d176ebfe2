"""A system in few words: bodies with the joints that carry them, and what else there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from chasles.display import html as shown
from chasles.model.body import Frame


def as_text(system: Any) -> str:
    """For print."""
    rows = [(name, mass, joint, place) for name, mass, _, joint, place in _rows(system)]
    return "\n".join([_title(system), *shown.columns(rows), *(f"  {line}" for line in _others(system))])


def as_html(system: Any) -> str:
    """For a notebook."""
    head = ("body", "mass", "center of mass [m]", "joint", "on")
    return shown.page(_title(system), shown.table(head, list(_rows(system))), shown.lines(_others(system)))


def joints_as_html(title: str, mechanism: Any) -> str:
    """For a notebook: the joints of a compiled mechanism, with where their coordinates and velocities are."""
    joints = [joint for joint in mechanism.tree.joints if joint.nv]
    coordinates, velocities = mechanism.tree.coordinates, mechanism.tree.velocities
    rows = [
        (
            joint.name,
            joint.kind,
            joint.parent,
            joint.child,
            _part(coordinates[joint.name]),
            _part(velocities[joint.name]),
        )
        for joint in joints
    ]
    return shown.page(title, shown.table(("joint", "kind", "from", "to", "in q", "in v"), rows))


def _part(part: slice) -> str:
    return str(part.start) if part.stop == part.start + 1 else f"{part.start}:{part.stop}"


def _title(system: Any) -> str:
    counts = [(len(system.bodies), "bodies", "body"), (len(system.joints), "joints", "joint")]
    if system.constraints:
        counts.append((len(system.constraints), "constraints", "constraint"))
    what = ", ".join(f"{count} {one if count == 1 else many}" for count, many, one in counts)
    return f"{system.name}: {what}, {system.mass:.4g} kg, gravity {shown.numbers(system.gravity)} m/s²"


def _rows(system: Any) -> Iterator[tuple[str, str, str, str, str]]:
    """Body, mass, center of mass, the joint that carries it and what it is on; more joints in more rows."""
    carrying: dict[str, list[Any]] = {}
    for joint in system.joints:
        carrying.setdefault(joint.child, []).append(joint)
    for body in system.bodies:
        own = (body.name, f"{body.mass:.4g} kg", shown.numbers(body.com))
        if body.name not in carrying:
            yield *own, "moves freely", ""
        for joint in carrying.get(body.name, ()):
            follows = "" if joint.mimic is None else f", follows {joint.mimic}"
            yield *own, f"{joint.name} ({joint.kind}{follows})", f"on {joint.parent}"
            own = ("", "", "")


def _others(system: Any) -> list[str]:
    """Frames, forces, actuators and constraints by name, a line each."""
    found = []
    for what in ("frames", "forces", "actuators", "constraints"):
        names = [f"{item.name} ({_about(item)})" for item in getattr(system, what)]
        if names:
            found.append(f"{what}: {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}")
    return found


def _about(item: Any) -> str:
    """What a frame, force, actuator or constraint is, and on what."""
    places = getattr(item, "bodies", None) or getattr(item, "joints", None)
    if places is None:
        places = (getattr(item, "body", None) or getattr(item, "joint", ""),)
    kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(item).__name__).lower()
    return f"{'' if isinstance(item, Frame) else kind + ' '}on {' and '.join(map(str, places))}"
