"""Bodies that stay in the matrix as hubs move as others do: over many turns, wherever the point of a joint is."""

import numpy as np
import pytest

import chasles as ch
from tests.absolute.implicit.systems import run

SPIN, END, STEP = 6.0, 8.0, 0.01
METHODS = {
    "index 2": ch.integrate.GeneralizedAlpha(0.8, tolerance=1e-13),
    "textbook": ch.integrate.GeneralizedAlpha(0.8, local=False, tolerance=1e-13),
    "BLieDF2": ch.integrate.BLieDF(2, tolerance=1e-13),
    "BLieDF3": ch.integrate.BLieDF(3, tolerance=1e-13),
}


def on_a_shaft(point: float) -> ch.System:
    """A ball half a meter from the axis of a shaft, welded to it at a point along the arm."""
    shaft = ch.Body("shaft", 1.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.02))
    ball = ch.Body("ball", 1.0, (0.0, 0.0, 0.0), (0.01, 0.01, 0.01))
    joints = [
        ch.revolute("spin", "ground", "shaft", axis=(0.0, 0.0, 1.0)),
        ch.weld("arm", "shaft", "ball", at=(point, 0.0, 0.0), child_at=(point - 0.5, 0.0, 0.0)),
    ]
    return ch.System([shaft, ball], joints, gravity=(0.0, 0.0, 0.0))


@pytest.mark.parametrize("name", METHODS)
def test_a_welded_ball_turns_with_its_shaft(name):
    """The angle is 6 t, but for an error of the order of the method that grows like t; the same for all points."""
    ends = []
    for point in (0.0, 0.25, 1.0):
        found = run(on_a_shaft(point), END, "SO3xR3", METHODS[name], STEP, v=[SPIN], save=1)
        x, y, z = found["ball"].position.T
        off = np.unwrap(np.arctan2(y, x)) - SPIN * found.t
        grown = (SPIN * STEP) ** 2 * SPIN * np.maximum(found.t, STEP)
        assert np.all(np.abs(off) < grown)
        assert np.abs(np.hypot(x, y) - 0.5).max() < 1e-13
        assert np.abs(z).max() < 1e-13
        ends.append(off[-1])
    assert np.ptp(ends) < 1e-11
