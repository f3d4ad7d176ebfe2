"""Changes of the tables of mechanisms: bodies taken apart, against the tables themselves."""

import numpy as np
import pytest

import chasles as ch
from chasles.simulation.parameter_family import Family
from chasles.simulation.sensitivities import numbers_of

VALUES = {
    "masses": np.array([1.0, 2.0, 0.5]),
    "com": np.array([[0.1, 0.0, -0.3], [0.0, 0.2, 0.0], [0.0, 0.0, 0.0]]),
    "inertia": np.array([0.03, 1e-3, -2e-3, 0.04, 5e-4, 0.05]),
    "at": np.array([[0.3, 0.0, 0.1], [0.0, -0.4, 0.2]]),
    "turn": 0.4,
    "radius": 0.05,
    "damping": np.array([0.3, 0.0]),
}


def made(closed, masses, com, inertia, at, turn, radius, damping) -> ch.System:
    """A link of two welded bodies, one of a density, a turned frame on a child; closed by a ball."""
    cylinder = ch.shapes.Cylinder(radius, 0.4, pose=(1, 0, 0, 0, 0.1, 0, 0))
    bodies = [
        ch.Body("arm", masses[0], com[0], inertia),
        ch.Body("load", masses[1], com[1], 2 * np.asarray(inertia)),
        ch.Body("tool", masses[2], com[2], (1e-3, 2e-3, 2.5e-3)),
        ch.Body("rod", shapes=[cylinder], density=7800.0),
    ]
    tilted = (np.cos(turn / 2), np.sin(turn / 2), 0.0, 0.0, *at[0])
    joints = [
        ch.universal("shoulder", "ground", "arm", damping=damping[0]),
        ch.weld("held", "arm", "load", at=tilted),
        ch.spherical("wrist", "load", "tool", at=at[1], child_at=(np.cos(turn), 0, np.sin(turn), 0, 0.1, 0, 0.2)),
        ch.revolute("elbow", "arm", "rod", axis=(np.sin(turn), 0.0, np.cos(turn)), at=at[1], damping=damping[1]),
    ]
    pulls = [ch.Spring("pull", ("ground", "rod"), ((0, 0, 1), at[0]), stiffness=40.0 * masses[0], length=0.1)]
    balls = [ch.Distance("strut", ("tool", "rod"), ((0, 0, 0), (0, 0, 0.2)), length=0.9)] if closed else []
    return ch.System(bodies, joints, forces=pulls, constraints=balls)


@pytest.mark.parametrize("closed", [False, True])
def test_bodies_taken_apart(closed):
    family = Family(lambda **values: made(closed, **values), VALUES)
    names = tuple(VALUES)
    found = family.table_derivatives(names, numbers_of, lambda mechanism: np.array([mechanism.system.bodies[0].mass]))
    wanted = family.derivatives(names, numbers_of)
    assert found.shape == (len(wanted) + 1, sum(np.size(value) for value in VALUES.values()))
    assert found[-1].tolist() == pytest.approx([1.0] + [0.0] * (found.shape[1] - 1))
    sizes = np.abs(numbers_of(family.base))
    off = np.abs(found[:-1] - wanted)
    assert (
        off <= 1e-11 * (np.abs(wanted).max(axis=1) + np.where(np.isfinite(sizes), sizes, 0.0) + 1e-2)[:, None]
    ).all()
