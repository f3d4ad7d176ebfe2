"""Joints given by several screws with the methods for constrained systems: their rows must not change within a step."""

import numpy as np
import pytest

import chasles as ch

ROD = {"mass": 1.0, "com": (0, 0, -0.25), "inertia": (0.03, 0.03, 0.01)}
ARM = ch.System(
    [ch.Body("a", **ROD), ch.Body("b", **ROD)],
    [
        ch.spherical("s", "ground", "a"),
        ch.general("g", "a", "b", screws=[(0, 1, 0, 0, 0, 0), (1, 0, 0, 0, 0.1, 0)], at=(0, 0, -0.5)),
    ],
)
V = [1.0, 2.0, -1.0, 0.5, 0.3]


@pytest.fixture(scope="module")
def end():
    return ch.simulate(ARM, (0, 0.2), v=V, rtol=1e-11, atol=1e-12)["b"].position[-1]


@pytest.mark.parametrize(
    ("method", "error"), [(ch.GeneralizedAlpha(), 3e-7), (ch.BLieDF(3), 3e-8), (ch.Rattle(), 5e-7)], ids=str
)
def test_the_motion_is_that_in_joint_coordinates(method, error, end):
    run = ch.simulate(ARM, (0, 0.2), v=V, coordinates="absolute", method=method, step=1e-3)
    assert np.abs(run["b"].position[-1] - end).max() < error
