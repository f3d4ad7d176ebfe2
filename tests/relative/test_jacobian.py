"""Jacobians and their rates: against differences of poses, against twists and accelerations."""

import numpy as np
import pytest

from chasles.lie import pose
from chasles.relative.kinematics import REPRESENTATIONS
from tests.relative.zoo import MOVING, ZOO, deviation, moved, rate_of, state


@pytest.mark.parametrize("name", MOVING)
def test_columns_are_differences_of_poses(name):
    mechanism = MOVING[name]
    q, _, _ = state(mechanism)
    matrix = mechanism.jacobian(q, "tool")
    h = 1e-3
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    back = pose.inverse(mechanism.poses(q, "tool"))
    for k, e in enumerate(np.eye(mechanism.nv)):
        column = np.zeros(6)
        for m, w in enumerate(weights, start=1):
            for sign in (1, -1):
                there = mechanism.poses(moved(mechanism, q, sign * m * h * e), "tool")
                column += sign * w / h * pose.log(pose.compose(back, there))
        assert deviation(matrix[:, k], column) < 1e-11


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("name", ZOO)
def test_twists_and_accelerations_follow(name, representation):
    mechanism = ZOO[name]
    q, v, a = state(mechanism, 1, (5,))
    J = mechanism.jacobian(q, representation=representation)
    rate = mechanism.rates.jacobian(q, v, representation=representation)
    if not mechanism.nv:
        assert J.shape == rate.shape == (5, 2, 6, 0)
        return
    twists = mechanism.twists(q, v, representation=representation)
    assert deviation(np.einsum("bfik,bk->bfi", J, v), twists) < 1e-14
    accelerations = mechanism.accelerations(q, v, a, representation=representation)
    assert deviation(np.einsum("bfik,bk->bfi", J, a) + np.einsum("bfik,bk->bfi", rate, v), accelerations) < 1e-13


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("name", MOVING)
def test_rates_are_differences_of_jacobians(name, representation):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 2)
    found = mechanism.rates.jacobian(q, v, "tool", representation=representation)
    truth = rate_of(lambda x: mechanism.jacobian(x, "tool", representation=representation), mechanism, q, v)
    assert deviation(found, truth) < 1e-10


@pytest.mark.parametrize("name", MOVING)
def test_lanes_equal_scalars(name):
    mechanism = MOVING[name]
    q, v, _ = state(mechanism, 3, (2, 3))
    for representation in REPRESENTATIONS:
        J = mechanism.jacobian(q, ["tool", "side", "ground"], representation=representation)
        rate = mechanism.rates.jacobian(q, v, ["tool", "side", "ground"], representation=representation)
        assert J.shape == rate.shape == (2, 3, 3, 6, mechanism.nv)
        one = mechanism.jacobian(q[1, 2], ["tool", "side", "ground"], representation=representation)
        assert deviation(J[1, 2], one) < 1e-14
        one = mechanism.rates.jacobian(q[1, 2], v[1, 2], ["tool", "side", "ground"], representation=representation)
        assert deviation(rate[1, 2], one) < 1e-14
        assert not J[..., 2, :, :].any()


def test_unknown_names_are_errors():
    mechanism = ZOO["arm"]
    q, v, _ = state(mechanism)
    with pytest.raises(ValueError, match="no body or frame 'hand'"):
        mechanism.jacobian(q, "hand")
    with pytest.raises(ValueError, match="'world' is not a representation"):
        mechanism.rates.jacobian(q, v, "tool", representation="world")
