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
    "method", [ch.integrate.GeneralizedAlpha(), ch.integrate.BLieDF(3), ch.integrate.Rattle()], ids=str
)
def test_the_motion_converges_to_that_in_joint_coordinates(method, end):
    found = []
    for step in (2e-3, 1e-3):
        run = ch.simulate(ARM, (0, 0.2), v=V, coordinates="absolute", method=method, step=step)
        found.append(np.abs(run["b"].position[-1] - end).max())
    assert np.log2(found[0] / found[1]) > method.order - 0.2, found
    assert found[1] < 1e-6
