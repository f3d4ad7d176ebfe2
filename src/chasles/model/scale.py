"""Lengths of a model, to compare lengths with: no unit of length is better than another.

The size of a body is how far apart the places on it are (center of mass, joints, frames, points of forces and
constraints), or its radius of gyration if that is larger. Where its own frame is does not matter. What belongs to a
joint is compared with the size of the body that it carries: a small mechanism on a large machine has its own scale.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from chasles.model.body import GROUND
from chasles.model.cam import Cam
from chasles.model.constraint import BetweenPoints, Distance, Drive, Rolling
from chasles.model.force import BetweenBodies, Spring
from chasles.model.joint import Joint
from chasles.model.rod_parts import RodElement
from chasles.model.system import System
from chasles.once import once


@once
def body_sizes(system: System) -> Mapping[str, float]:
    """The size of each body and of what is on the ground; zero for a point mass at its only joint."""
    places: dict[str, list[Any]] = {body.name: [] if body.massless else [body.com] for body in system.bodies} | {
        GROUND: []
    }
    for joint in system.joints:
        places[joint.parent].append(joint.parent_frame[4:])
        places[joint.child].append(joint.child_frame[4:])
    for frame in system.frames:
        places[frame.body].append(frame.pose[4:])
    for item in (*system.forces, *system.constraints):
        if isinstance(item, BetweenBodies | BetweenPoints):
            for name, point in zip(item.bodies, item.points, strict=True):
                places[name].append(point)
        elif isinstance(item, Cam):
            places[item.bodies[0]] += item.places.tolist()
            places[item.bodies[1]].append(item.point)
        if isinstance(item, RodElement):  # a node is as large as what it stands for
            for name in item.bodies:
                places[name].append(np.add(places[name][0] if places[name] else (0.0,) * 3, item.rest[3:]))
    sizes = {name: math.dist(*_corners(some)) if len(some) > 1 else 0.0 for name, some in places.items()}
    heavy = [body for body in system.bodies if not body.massless]
    moments = np.abs(np.linalg.eigvalsh(np.array([body.inertia for body in heavy]).reshape(-1, 3, 3))).max(axis=1)
    for body, moment in zip(heavy, moments.tolist(), strict=True):
        sizes[body.name] = max(sizes[body.name], math.sqrt(moment / body.mass))
    return sizes


def _corners(places: list[Any]) -> tuple[list[float], list[float]]:
    """The corners of the box around places."""
    x, y, z = zip(*places, strict=True)
    return [min(x), min(y), min(z)], [max(x), max(y), max(z)]


@once
def length_of(system: System) -> float:
    """The largest length in a model [m]; 1 if there is none."""
    sizes = dict(body_sizes(system))
    on_ground = sizes.pop(GROUND)
    own = [length for joint in system.joints for length in own_lengths(joint)]
    own += [item.length for item in (*system.forces, *system.constraints) if isinstance(item, Spring | Distance)]
    own += [item.radius for item in system.constraints if isinstance(item, Rolling)]
    return max((*sizes.values(), *own), default=0.0) or on_ground or 1.0


def energy_of(system: System) -> float:
    """What is large for energies in a model [J]: all of it at its largest length a second."""
    return sum(body.mass for body in system.bodies) * length_of(system) ** 2 or 1.0


def joint_lengths(system: System, joints: Iterable[Joint]) -> dict[str, float]:
    """A length for each joint to compare lengths with [m]: of the body that it carries, or of the whole model. In a
    spanning tree a joint may carry a part of its body."""
    sizes, whole = body_sizes(system), length_of(system)
    carried = {joint.name: joint.child for joint in system.joints}
    return {
        joint.name: max((sizes[carried.get(joint.name, joint.child)], *own_lengths(joint))) or whole for joint in joints
    }


def constraint_lengths(system: System) -> dict[str, float]:
    """A length for each joint and constraint to compare lengths with [m]; of a joint to the ground that of the body."""
    sizes = body_sizes(system)
    found = joint_lengths(system, system.joints)
    for item in system.constraints:
        ends = [sizes[body] for body in item.bodies if body != GROUND] if isinstance(item, BetweenPoints) else []
        own = [getattr(item, name) for name in ("length", "radius") if hasattr(item, name)]
        if isinstance(item, Drive):
            own.append(found[item.joint])
        elif isinstance(item, Cam):
            own = [item.curve.size]  # the radius of a roller inside is negative
        found[item.name] = max((*ends, *own), default=0.0) or length_of(system)
    return found


def velocity_sizes(joints: Iterable[Joint], lengths: dict[str, float]) -> np.ndarray:
    """For each velocity what is large for its coordinate: 1 rad, or a length of its joint."""
    found: list[float] = []
    for joint in joints:
        length = lengths[joint.name]
        if joint.screws:
            found += [1.0 if any(screw[:3]) else length for screw in joint.screws]
        else:
            found += ([1.0] * 3 + [length] * 3)[: joint.nv]
    return np.array(found)


def own_lengths(joint: Joint) -> list[float]:
    """Lengths of a joint's own: pitches and distances of its axes from its origin, rests and limits of what slides."""
    found: list[float] = []
    for k, screw in enumerate(joint.screws):
        if any(screw[:3]):
            found.append(math.hypot(*screw[3:]))
        else:
            found += [abs(x) for x in (joint.rest[k], joint.lower[k], joint.upper[k]) if math.isfinite(x)]
    return found
