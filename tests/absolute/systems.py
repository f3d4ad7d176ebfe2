"""Systems for the tests of absolute coordinates."""

import json
from pathlib import Path

import numpy as np

import chasles as ch
from chasles.model import joint as make

SPACES = ("SE3", "SO3xR3")
REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "box_top.json").read_text())["states"]
TOP_SPIN = (0.0, 20 * np.pi, 10 * np.pi)  # of mueller2013, section 5.1
JOINTS = {
    "revolute": lambda *names, **at: make.revolute(*names, axis=(0.3, -0.5, 0.8), **at),
    "prismatic": lambda *names, **at: make.prismatic(*names, axis=(0.3, 0.9, -0.2), **at),
    "helical": lambda *names, **at: make.helical(*names, axis=(-0.4, 0.5, 0.6), pitch=0.13, **at),
    "cylindrical": lambda *names, **at: make.cylindrical(*names, axis=(0.1, 0.5, -0.6), **at),
    "planar": lambda *names, **at: make.planar(*names, normal=(0.4, 0.5, 0.6), **at),
    "universal": lambda *names, **at: make.universal(*names, axes=((0.6, 0.0, 0.8), (0.0, 1.0, 0.0)), **at),
    "spherical": make.spherical,
    "weld": make.weld,
    "free": make.free,
}


def frame(rng) -> np.ndarray:
    turn = rng.normal(size=4)
    return np.array([*(turn / np.linalg.norm(turn)), *rng.uniform(-0.5, 0.5, 3)])


def bodies(rng, *names: str) -> list[ch.Body]:
    made = []
    for name in names:
        spread = np.diag(rng.uniform(0.01, 0.1, 3))
        turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        inertia = turn @ (np.trace(spread) * np.eye(3) - spread) @ turn.T
        made.append(ch.Body(name, rng.uniform(0.5, 2.0), rng.uniform(-0.3, 0.3, 3), 0.5 * (inertia + inertia.T)))
    return made


def joined(kind: str, between: bool) -> ch.System:
    """A body on a joint of a kind, to the ground or to another body that hangs on a spherical joint, with a spring."""
    rng = np.random.default_rng([len(kind), ord(kind[0]), between])
    at = {"at": frame(rng), "child_at": frame(rng)}
    if not between:
        spring = ch.Spring("pull", ("ground", "one"), ((0.5, 0.2, 1.0), (0.1, 0.2, 0.3)), 7.0, 0.3, 0.4)
        return ch.System(bodies(rng, "one"), [JOINTS[kind]("joint", "ground", "one", **at)], forces=[spring])
    base = make.spherical("base", "ground", "one", at=frame(rng), child_at=frame(rng))
    spring = ch.Spring("pull", ("one", "two"), ((0.5, 0.2, 1.0), (0.1, 0.2, 0.3)), 7.0, 0.3, 0.4)
    return ch.System(bodies(rng, "one", "two"), [base, JOINTS[kind]("joint", "one", "two", **at)], forces=[spring])


def top() -> ch.System:
    """The heavy top of mueller2013, section 5.1: no gravity; the body's frame is at the center of mass."""
    body = ch.Body("top", 21.6, (0.0, 0.0, 0.0), (0.36, 0.306, 0.09))
    joint = make.spherical("pivot", "ground", "top", child_at=(-0.5, 0.0, 0.0))
    return ch.System([body], [joint], gravity=(0.0, 0.0, 0.0), name="top")


def slow_top() -> ch.System:
    """A top in gravity with no symmetry whose rotation is slow enough for orders to show."""
    body = ch.Body("top", 15.0, (0.0, 0.0, 0.0), (0.234375, 0.46875, 0.334375))
    return ch.System([body], [make.spherical("pivot", "ground", "top", child_at=(0.1, -1.0, 0.2))], name="slow top")


def double_pendulum() -> ch.System:
    """The spherical double pendulum of mueller2013, section 5.2, with 2700 kg/m³ and forces m g."""
    sides = (0.2, 0.1, 0.05)
    made = [ch.Body(name, shapes=[ch.shapes.Box(sides)], density=2700.0) for name in ("one", "two")]
    joints = [
        make.spherical("base", "ground", "one", child_at=(-0.1, 0.0, 0.0)),
        make.spherical("elbow", "one", "two", at=(0.1, 0.0, 0.0), child_at=(-0.1, 0.0, 0.0)),
    ]
    return ch.System(made, joints, name="double pendulum")
