"""Mechanisms for tests, as raw numbers from which both a `System` and the oracle's tree are made, on separate ways.

Numbers are given in the reference assembly (all coordinates zero), in space. Directions are not of unit length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from chasles.model import joint as make
from chasles.model.body import GROUND, Body
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from tests.oracle import tree as oracle

GRAVITY = (0.7, -1.1, -9.6)


@dataclass(frozen=True)
class Part:
    """A body and the joint that carries it. axes: directions (planar: the normal; general: (axis, point, pitch))."""

    name: str
    parent: str
    kind: str
    reference: tuple[float, ...]  # pose of the body
    mass: float
    com: tuple[float, ...]
    inertia: tuple[float, ...]  # xx, xy, xz, yy, yz, zz about the center of mass
    axes: Any = ()
    point: tuple[float, ...] = (0.0, 0.0, 0.0)  # on the axes, or the center
    turn: tuple[float, ...] = (1.0, 0.0, 0.0, 0.0)  # of the frame of a spherical or free joint
    pitch: float = 0.0
    armature: tuple[float, ...] = ()


# ---------------------------------------------------------------- as a System


def body_of(part: Part) -> Body:
    return Body(part.name, part.mass, part.com, part.inertia)


def joint_of(part: Part) -> Joint:
    """The joint with its frame in space, for `System.from_assembly`."""
    ends: dict[str, Any] = {"at": part.point} | ({"armature": part.armature} if part.armature else {})
    names = (f"to {part.name}", part.parent, part.name)
    simple: dict[str, Callable] = {
        "revolute": make.revolute,
        "prismatic": make.prismatic,
        "cylindrical": make.cylindrical,
    }
    if part.kind in simple:
        return simple[part.kind](*names, axis=part.axes[0], **ends)
    if part.kind == "helical":
        return make.helical(*names, axis=part.axes[0], pitch=part.pitch, **ends)
    if part.kind == "planar":
        return make.planar(*names, normal=part.axes[0], **ends)
    if part.kind == "universal":
        return make.universal(*names, axes=part.axes, **ends)
    if part.kind == "general":
        screws = [_unit_screw(*screw) for screw in part.axes]
        return make.general(*names, screws=screws, **{k: v for k, v in ends.items() if k != "at"})
    if part.kind == "weld":
        return make.weld(*names)
    turning = {"spherical": make.spherical, "free": make.free}[part.kind]
    return turning(*names, at=(*part.turn, *part.point))


def _unit_screw(axis: Sequence[float], point: Sequence[float], pitch: float | None) -> list[float]:
    e = np.array(axis) / np.linalg.norm(axis)
    return [0.0, 0.0, 0.0, *e] if pitch is None else [*e, *(np.cross(point, e) + pitch * e)]


def system_of(parts: Sequence[Part], gravity: Sequence[float] = GRAVITY) -> System:
    return System.from_assembly(
        [body_of(part) for part in parts],
        [joint_of(part) for part in parts],
        {part.name: part.reference for part in parts},
        gravity=gravity,
    )


# ---------------------------------------------------------------- as data of the oracle


@oracle.precise
def screws_of(part: Part) -> oracle.Array:
    """Unit screws in space."""
    pitches: dict[str, list] = {
        "revolute": [0.0],
        "prismatic": [None],
        "helical": [part.pitch],
        "cylindrical": [0.0, None],
        "universal": [0.0, 0.0],
        "planar": [None, None, 0.0],
    }
    axes: Any = part.axes
    if part.kind == "general":
        return np.array([oracle.screw(*screw) for screw in axes], dtype=object)
    if part.kind == "cylindrical":
        axes = [axes[0], axes[0]]
    if part.kind == "planar":
        axes = [*_in_plane(oracle.unit(axes[0])), axes[0]]
    found = [oracle.screw(e, part.point, h) for e, h in zip(axes, pitches.get(part.kind, ()), strict=False)]
    return np.array(found, dtype=object).reshape(-1, 6)


def _in_plane(n: oracle.Array) -> list[oracle.Array]:
    """x and y of space, turned with z into n by the shortest way: v + k x v + k x (k x v) / (1 + n_z), k = z x n."""
    k = oracle.cross(oracle.identity(3)[2], n)
    return [v + oracle.cross(k, v) + oracle.cross(k, oracle.cross(k, v)) / (1 + n[2]) for v in oracle.identity(3)[:2]]


@oracle.precise
def oracle_of(parts: Sequence[Part], gravity: Sequence[float] = GRAVITY) -> oracle.Tree:
    index = {part.name: k for k, part in enumerate(parts)} | {GROUND: -1}
    links = []
    for part in parts:
        xx, xy, xz, yy, yz, zz = part.inertia
        group = part.kind if part.kind in ("spherical", "free") else None
        links.append(
            oracle.Link(
                index[part.parent],
                screws_of(part),
                oracle.pose_matrix(part.reference),
                part.mass,
                part.com,
                [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]],
                group,
                oracle.pose_matrix((*part.turn, *part.point)) if group else None,
                part.armature,
            )
        )
    return oracle.Tree(links, gravity)


# ---------------------------------------------------------------- states


def split(mechanism: Mechanism, parts: Sequence[Part], x: np.ndarray, what: str = "velocities") -> list[np.ndarray]:
    """A vector of the mechanism (what: "coordinates" or "velocities") as one array for each part."""
    where = getattr(mechanism.tree, what)
    return [x[where[f"to {part.name}"]] for part in parts]


def joined(mechanism: Mechanism, parts: Sequence[Part]) -> np.ndarray:
    """Where each velocity of the oracle (by parts) is among those of the mechanism."""
    every = np.arange(mechanism.nv)
    return np.concatenate([every[mechanism.tree.velocities[f"to {part.name}"]] for part in parts])


def coordinates(mechanism: Mechanism, rng: np.random.Generator, *batch: int) -> np.ndarray:
    """Random coordinates: angles and distances of size one, quaternions of any turn."""
    q = rng.uniform(-1.5, 1.5, (*batch, mechanism.nq))
    for joint in mechanism.tree.joints:
        if joint.kind in ("spherical", "free"):
            at = mechanism.tree.coordinates[joint.name].start
            turn = rng.normal(size=(*batch, 4))
            q[..., at : at + 4] = turn / np.linalg.norm(turn, axis=-1, keepdims=True)
    return q


# ---------------------------------------------------------------- the mechanisms


def _numbers(x: np.ndarray) -> tuple[float, ...]:
    return tuple(np.asarray(x, dtype=float).ravel().tolist())


def random_body(rng: np.random.Generator) -> dict[str, Any]:
    """Mass properties of a solid body of size one half."""
    mass = rng.uniform(0.5, 3.0)
    sizes = rng.uniform(0.1, 0.5, 3) ** 2  # mean squares of the points along three axes
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    spread = turn @ np.diag(sizes) @ turn.T
    inertia = mass * (np.trace(spread) * np.eye(3) - spread)
    return {
        "mass": float(mass),
        "com": _numbers(rng.uniform(-0.3, 0.3, 3)),
        "inertia": _numbers(inertia[np.triu_indices(3)]),
    }


def random_pose(rng: np.random.Generator, around: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)) -> tuple[float, ...]:
    turn = rng.normal(size=4)
    return (*_numbers(turn / np.linalg.norm(turn)), *_numbers(np.array(around) + rng.uniform(-0.4, 0.4, 3)))


def grow(rng: np.random.Generator, plan: Sequence[tuple[str, str, str]]) -> list[Part]:
    """Parts with random numbers from (name, parent, kind); each body stands about half a meter from its parent."""
    parts: dict[str, Part] = {}
    for name, parent, kind in plan:
        base = np.array(parts[parent].reference[4:] if parent in parts else (0.3, -0.2, 0.5))
        step = rng.normal(size=3)
        reference = random_pose(rng, base + 0.5 * step / np.linalg.norm(step))
        point = _numbers(base + rng.uniform(-0.3, 0.3, 3))
        axes: Any = [_numbers(rng.normal(size=3)) for _ in range({"universal": 2}.get(kind, 1))]
        more: dict[str, Any] = {}
        if kind == "general":
            pitches = (0.0, None, 0.3)
            axes = [(_numbers(rng.normal(size=3)), _numbers(base + rng.uniform(-1, 1, 3)), h) for h in pitches]
        if kind == "helical":
            more["pitch"] = float(rng.uniform(-0.4, 0.4))
        if kind in ("spherical", "free"):
            more["turn"] = random_pose(rng)[:4]
        parts[name] = Part(name, parent, kind, reference, axes=axes, point=point, **random_body(rng), **more)
    return list(parts.values())


def chain() -> list[Part]:
    """Six bodies one after the other, with a prismatic and a helical joint; two joints have a rotor."""
    kinds = ("revolute", "revolute", "prismatic", "revolute", "helical", "revolute")
    names = (GROUND, "one", "two", "three", "four", "five", "six")
    parts = grow(np.random.default_rng(2001), [(names[k + 1], names[k], kind) for k, kind in enumerate(kinds)])
    rotors = {"two": (0.13,), "three": (0.4,), "five": (0.02,)}
    return [Part(**{**vars(part), "armature": rotors.get(part.name, ())}) for part in parts]


def branching() -> list[Part]:
    """Fourteen bodies on revolute joints, with two roots, branches of several depths; not in depth-first order."""
    parents = {
        "trunk": GROUND,
        "left": "trunk",
        "right": "trunk",
        "head": "trunk",
        "left hand": "left",
        "right hand": "right",
        "thumb": "left hand",
        "finger": "left hand",
        "tip": "finger",
        "other": GROUND,
        "right tip": "right hand",
        "twig": "other",
        "leaf": "twig",
        "second leaf": "twig",
    }
    plan = [(name, parent, "revolute") for name, parent in parents.items()]
    parts = grow(np.random.default_rng(2002), plan)
    return [parts[k] for k in (3, 0, 8, 1, 2, 13, 4, 5, 9, 6, 7, 10, 11, 12)]  # a child may come before its parent


def all_kinds() -> list[Part]:
    """Every kind of joint, on a tree with a floating and a standing root."""
    plan = [
        *[
            ("base", GROUND, "free"),
            ("hip", "base", "spherical"),
            ("shin", "hip", "universal"),
            ("foot", "shin", "weld"),
        ],
        *[("table", GROUND, "planar"), ("piston", "table", "cylindrical"), ("ball", "piston", "spherical")],
        *[("odd", "base", "general"), ("nut", "odd", "helical"), ("slide", "nut", "prismatic"), ("pad", "hip", "weld")],
        *[("moon", "slide", "free"), ("hand", "ball", "revolute"), ("rock", GROUND, "weld")],
    ]
    return grow(np.random.default_rng(2003), plan)


MODELS: dict[str, Callable[[], list[Part]]] = {"chain": chain, "branching": branching, "all kinds": all_kinds}
# where 60 digits take seconds: the tree with every kind of joint; the others are a study
COSTLY = [pytest.param(name, marks=[pytest.mark.study] * (name != "all kinds")) for name in MODELS]
