"""Planar loops of spatial joints, anywhere: a slider-crank and a four-bar in any plane, at any place, of any size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.lie.rotation import matrix_to_quaternion
from tests.absolute import loops

R, L = 0.1, 0.35  # crank and rod of the slider-crank
G = 9.81
X, Y, Z = np.eye(3)


@dataclass(frozen=True)
class Place:
    """The plane of a loop: rotation of its axes, position of its origin, scale of lengths; frames of bodies are turned
    by `frames` (one rotation each) against those along the rods."""

    turn: np.ndarray
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    scale: float = 1.0
    frames: tuple[np.ndarray, ...] = (np.eye(3),) * 3


def rotation(rng: np.random.Generator) -> np.ndarray:
    """A random one."""
    q, r = np.linalg.qr(rng.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return q * np.linalg.det(q)


def about(normal) -> np.ndarray:
    """Axes with the third along a direction."""
    normal = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
    first = np.cross(normal, np.roll(np.eye(3), -1, axis=0)[int(np.argmax(np.abs(normal)))])
    first /= np.linalg.norm(first)
    return np.stack([first, np.cross(normal, first), normal], axis=1)


def _system(place: Place, rods: dict[str, float], joints: list[tuple], gravity, name: str) -> ch.System:
    """rods: lengths by body. joints: name, kind, parent, child, places along x of the parent's rod and the child's."""
    turns = {"ground": place.turn.T} | dict(zip(rods, place.frames, strict=True))
    bodies = []
    for body, length in rods.items():
        F, size = turns[body], place.scale * length
        mass = 2.0 * size**3
        inertia = mass * size**2 * np.diag([0.02, 0.1, 0.11])
        bodies.append(ch.Body(body, mass, F.T @ (0.5 * size * X), F.T @ inertia @ F))
    made = []
    for label, kind, parent, child, at, child_at in joints:
        ends = []
        for body, along in ((parent, at), (child, child_at)):
            where = turns[body].T @ (place.scale * along * X) + (place.origin if body == "ground" else np.zeros(3))
            ends.append(np.array([*matrix_to_quaternion(turns[body].T), *where]))
        make = ch.prismatic if kind == "prismatic" else ch.revolute
        axis = X if kind == "prismatic" else Z
        made.append(make(label, parent, child, axis=axis, at=ends[0], child_at=ends[1]))
    return ch.System(bodies, made, gravity=place.turn @ np.array(gravity) * G, name=name)


def slider_crank(place: Place, down=(0.3, -1.0, 0.0)) -> ch.System:
    joints = [
        ("A", "revolute", "ground", "one", 0.0, 0.0),
        ("B", "revolute", "one", "two", R, 0.0),
        ("C", "revolute", "two", "three", L, 0.0),
        ("S", "prismatic", "ground", "three", 0.0, 0.0),
    ]
    return _system(place, {"one": R, "two": L, "three": 0.1}, joints, down, "slider-crank")


def slider_crank_state(place: Place, crank: float, speed: float) -> tuple[dict, dict]:
    """Coordinates and velocities of all joints."""
    rod = -np.arcsin(R / L * np.sin(crank))
    rate = -R / L * np.cos(crank) / np.cos(rod) * speed
    slide = place.scale * (R * np.cos(crank) + L * np.cos(rod))
    slip = -place.scale * (R * np.sin(crank) * speed + L * np.sin(rod) * rate)
    at = {"A": crank, "B": rod - crank, "C": -rod, "S": slide}
    return at, {"A": speed, "B": rate - speed, "C": -rate, "S": slip}


def four_bar(place: Place, down=(0.3, -1.0, 0.0)) -> ch.System:
    joints = [
        ("A", "revolute", "ground", "one", 0.0, 0.0),
        ("B", "revolute", "one", "two", loops.CRANK, 0.0),
        ("C", "revolute", "two", "three", loops.COUPLER, loops.ROCKER),
        ("D", "revolute", "ground", "three", loops.BASE, 0.0),
    ]
    return _system(place, dict(zip(("one", "two", "three"), loops.LENGTHS.values(), strict=True)), joints, down, "bars")


def four_bar_state(place: Place, crank: float, speed: float) -> tuple[dict, dict]:
    a, b, c = loops.four_bar_angles(crank)
    x, y, z = speed * loops.four_bar_rates(crank)
    return {"A": a, "B": b - a, "C": c - b, "D": c}, {"A": x, "B": y - x, "C": z - y, "D": z}


def stretched() -> float:
    """The angle of the four-bar's crank with the coupler in line with it, a dead center of the rocker."""
    return brentq(lambda a: np.sin(loops.four_bar_angles(a)[1] - a), 0.3, 1.2, xtol=1e-15)


LOOPS = {"slider-crank": (slider_crank, slider_crank_state), "four-bar": (four_bar, four_bar_state)}


def state(system: ch.System, mechanism: ch.ClosedMechanism, at: dict, rates: dict) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates and velocities of a tree, whichever joints it has; a body that none carries moves freely."""
    plain = system.compile(cut=[system.joints[-1].name])
    known = np.array([at[name] for name in plain.joints]), np.array([rates[name] for name in plain.joints])
    if mechanism.joints == plain.joints:
        return known
    q, v = np.zeros(mechanism.nq), np.zeros(mechanism.nv)
    poses, twists = plain.poses(known[0]), plain.twists(*known)
    for name in mechanism.joints:
        free = plain.bodies.index(name.removeprefix("free ")) if name.startswith("free ") else -1
        q[mechanism.tree.coordinates[name]] = at[name] if free < 0 else poses[free]
        v[mechanism.tree.velocities[name]] = rates[name] if free < 0 else twists[free]
    return q, v


def in_absolute(system: ch.System, poses: np.ndarray) -> ch.AbsoluteMechanism:
    """The system in absolute coordinates, told which of its equations depend on others."""
    absolute = system.compile("absolute", space="SE3")
    return absolute.examined(poses)


def apart(mechanism: ch.ClosedMechanism, absolute: ch.AbsoluteMechanism, q, v) -> float:
    """The largest difference of the bodies' accelerations in joint and in absolute coordinates, relative."""
    wanted = absolute.accelerations_under(*absolute.state(mechanism.poses(q), mechanism.twists(q, v)))
    found = mechanism.accelerations(q, v, mechanism.accelerations_under(q, v))
    found = pose_group.Ad_apply(pose_group.inverse(absolute.central), found)
    off = np.abs(found - wanted)
    return max(off[:, part].max() / np.abs(wanted)[:, part].max() for part in (slice(3), slice(3, 6)))
