"""What is computed for four bodies or bushings at once, in lanes, against the same alone: five alike move alike."""

import numpy as np
import pytest

import chasles as ch
from tests.absolute.implicit.systems import stepper

METHODS = {
    "local": ch.integrate.GeneralizedAlpha(),
    "textbook": ch.integrate.GeneralizedAlpha(local=False),
    "index 3": ch.integrate.GeneralizedAlpha(index=3),
    "textbook, index 3": ch.integrate.GeneralizedAlpha(index=3, local=False),
}


def tops(n: int) -> ch.System:
    """Heavy tops, each on its own joint and with a mount that pulls at it."""
    names = [f"top {k}" for k in range(n)]
    bodies = [ch.Body(name, 2.0, (0.0, 0.3, 0.0), (0.1, 0.05, 0.12)) for name in names]
    joints = [ch.spherical(f"pivot {name}", "ground", name) for name in names]
    stiffness, frames = (3.0, 2.0, 4.0, 50.0, 60.0, 70.0), ((0.1, 0.0, 0.2), (0.0, 0.1, 0.0))
    mounts = [ch.Bushing(f"mount {name}", ("ground", name), frames, stiffness, (0.1,) * 6) for name in names]
    return ch.System(bodies, joints, forces=mounts)


@pytest.mark.parametrize("name", METHODS)
def test_five_move_as_one_does(name):
    spin = np.array([1.0, 20.0, -2.0])
    ends = []
    for n in (1, 5):
        going = stepper(tops(n), 1.0, "SO3xR3", METHODS[name], 1e-3, v=np.tile(spin, n))
        going.advance(50)
        q, v, _ = going.problem.split(going.point())
        ends.append(np.concatenate([q, v], axis=1))
    alone, five = ends
    assert np.abs(five - alone).max() < 1e-11 * np.abs(alone).max()
    assert np.abs(alone[0, 4:7] - [0.0, 0.3, 0.0]).max() > 0.01


def test_steps_of_which_none_is_saved_are_taken_at_once(monkeypatch):
    """One call of the compiled loop, not one for a few steps: calls take longer than steps of small systems."""
    going, taken = stepper(tops(1), 1.0, "SO3xR3", METHODS["local"], 1e-3), []
    take = going.take

    def counted(limit):
        taken.append(limit)
        take(limit)

    monkeypatch.setattr(going, "take", counted)
    going.advance(300)
    assert taken == [300]
