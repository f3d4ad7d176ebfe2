"""Velocities and accelerations of joints from the motion of bodies, back from what the bodies' motions came from."""

import numpy as np
import pytest

from chasles.relative.kinematics import REPRESENTATIONS
from tests.relative.zoo import MOVING, ZOO, deviation, state


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("name", MOVING)
def test_joint_rates_come_back(name, representation):
    mechanism = MOVING[name]
    for shape in ((), (2, 3)):
        q, v, a = state(mechanism, 4, shape)
        V = mechanism.twists(q, v, representation=representation)
        A = mechanism.accelerations(q, v, a, representation=representation)
        assert deviation(mechanism.twist_form.velocities(q, V, representation=representation), v) < 1e-12
        assert deviation(mechanism.twist_form.accelerations(q, V, A, representation=representation), a) < 1e-11


def test_motions_that_do_not_fit_give_least_squares():
    mechanism = ZOO["arm"]
    q, v, _ = state(mechanism, 5)
    V = mechanism.twists(q, v)
    V[0] += np.array([0.3, -0.2, 0.1, 0.0, 0.1, 0.2])
    first = mechanism.jacobian(q, "b0")[:, 0]
    assert mechanism.twist_form.velocities(q, V)[0] == pytest.approx(first @ V[0] / (first @ first), rel=1e-13)


def test_nothing_that_moves_and_bad_input():
    fixed = ZOO["fixed"]
    assert fixed.twist_form.velocities(np.zeros(0), np.zeros((2, 6))).shape == (0,)
    mechanism = ZOO["arm"]
    q, _, _ = state(mechanism)
    with pytest.raises(ValueError, match="twists has shape"):
        mechanism.twist_form.velocities(q, np.zeros((3, 6)))
    with pytest.raises(ValueError, match="do not broadcast"):
        mechanism.twist_form.velocities(np.zeros((2, 7)), np.zeros((3, 7, 6)))
