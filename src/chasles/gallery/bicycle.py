"""Whipple's bicycle with the data of the benchmark of meijaard2007."""

from __future__ import annotations

import numpy as np

from chasles.model.body import Body
from chasles.model.constraint import Rolling
from chasles.model.joint import free, revolute
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.mechanism import Mechanism

RADII = {"rear": 0.3, "front": 0.35}  # of the wheels [m]


def system() -> System:
    """The bicycle upright: x forward, z down."""
    tilt, y = np.pi / 10, (0.0, 1.0, 0.0)
    frame = [[9.2, 0.0, 2.4], [0.0, 11.0, 0.0], [2.4, 0.0, 2.8]]
    fork = [[0.05892, 0.0, -0.00756], [0.0, 0.06, 0.0], [-0.00756, 0.0, 0.00708]]
    bodies = [
        Body("rear frame", 85.0, (0.3, 0.0, -0.9), frame),
        Body("rear wheel", 2.0, inertia=(0.0603, 0.12, 0.0603)),
        Body("front frame", 4.0, (0.9 - 1.1, 0.0, -0.7), fork),
        Body("front wheel", 3.0, inertia=(0.1405, 0.28, 0.1405)),
    ]
    joints = [
        free("bicycle", "ground", "rear frame"),
        revolute("rear hub", "rear frame", "rear wheel", axis=y, at=(0, 0, -RADII["rear"])),
        revolute("steer", "rear frame", "front frame", axis=(np.sin(tilt), 0, np.cos(tilt)), at=(1.1, 0, 0)),
        revolute("front hub", "front frame", "front wheel", axis=y, at=(1.02 - 1.1, 0, -RADII["front"])),
    ]
    rolls = [
        Rolling(name, ("ground", f"{name} wheel"), radius, normal=(0, 0, -1), axis=y) for name, radius in RADII.items()
    ]
    return System(bodies, joints, constraints=rolls, gravity=(0, 0, 9.81), name="bicycle")


def rolling(mechanism: Mechanism | ClosedMechanism, speed: float) -> np.ndarray:
    """Velocities of the bicycle that rolls straight on at a speed [m/s]."""
    v = np.zeros(mechanism.nv)
    v[mechanism.tree.velocities["bicycle"].start + 3] = speed
    for name, radius in RADII.items():
        v[mechanism.tree.velocities[f"{name} hub"].start] = -speed / radius
    return v
