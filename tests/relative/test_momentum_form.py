"""The first-order forms: momenta and back, rates, and what Runge-Kutta steps keep."""

import numpy as np
import pytest

from chasles.lie import pose
from chasles.model.body import Body
from chasles.model.joint import revolute
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from tests.relative.zoo import MOVING, ZOO, deviation, moved, rate_of, state, tree


@pytest.mark.parametrize("name", MOVING)
def test_velocities_come_back_and_rates_are_those_of_forward_dynamics(name):
    mechanism = MOVING[name]
    q, v, tau = state(mechanism, 18, (5,))
    wrenches = np.random.default_rng(19).normal(size=(5, len(mechanism.bodies), 6))
    p = mechanism.momentum_form.momenta(q, v)
    assert deviation(mechanism.momentum_form.velocities(q, p), v) < 1e-11
    for forces, applied in ((None, None), (tau, None), (tau, wrenches)):
        found, rate = mechanism.momentum_form.rates(q, p, forces, applied)
        assert deviation(found, v) < 1e-11
        a = mechanism.forward_dynamics(q, v, np.zeros(mechanism.nv) if forces is None else forces, applied)
        # p' along the motion: p is linear in v, so its rate is p(q, a) and the change along v
        drift = np.array(
            [rate_of(lambda x, k=k: mechanism.momentum_form.momenta(x, v[k]), mechanism, q[k], v[k]) for k in range(5)]
        )
        assert deviation(rate, mechanism.momentum_form.momenta(q, a) + drift) < 1e-9
        one = mechanism.momentum_form.rates(
            q[3], p[3], None if forces is None else forces[3], None if applied is None else applied[3]
        )
        assert deviation(one[1], rate[3]) < 1e-12


def test_momentum_of_a_free_joint_is_that_of_the_whole_tree():
    mechanism = ZOO["floating"]
    q, v, _ = state(mechanism, 20)
    assert deviation(mechanism.momentum_form.momenta(q, v)[:6], mechanism.momentum(q, v)) < 1e-14


def test_twist_form():
    mechanism = ZOO["kinds"]
    q, v, tau = state(mechanism, 21)
    found, rates = mechanism.twist_form.rates(q, mechanism.twists(q, v), tau)
    assert deviation(found, v) < 1e-12
    a = mechanism.forward_dynamics(q, v, tau)
    assert deviation(rates, mechanism.accelerations(q, v, a)) < 1e-11


def commutator_free(mechanism, field, q, x, h):
    """Fourth-order Runge-Kutta on the group for q' = v, x' = rate with (v, rate) = field(q, x) (celledoni2003)."""
    v1, f1 = field(q, x)
    v2, f2 = field(moved(mechanism, q, h / 2 * v1), x + h / 2 * f1)
    v3, f3 = field(moved(mechanism, q, h / 2 * v2), x + h / 2 * f2)
    half = moved(mechanism, moved(mechanism, q, h / 2 * v1), h * (v3 - v1 / 2))
    v4, f4 = field(half, x + h * f3)
    q = moved(mechanism, q, h / 12 * (3 * v1 + 2 * v2 + 2 * v3 - v4))
    q = moved(mechanism, q, h / 12 * (-v1 + 2 * v2 + 2 * v3 + 3 * v4))
    return q, x + h / 6 * (f1 + 2 * f2 + 2 * f3 + f4)


def test_floating_tree_keeps_its_momentum_to_rounding():
    mechanism = Mechanism(tree(22, ("free", "revolute", "revolute", "spherical", "revolute"), gravity=(0, 0, 0)))
    q, v, _ = state(mechanism, 23)
    start, p = mechanism.momentum(q, v), mechanism.momentum_form.momenta(q, v)
    size = np.abs(start).max()
    still = np.zeros(mechanism.nv)
    by_momenta, by_velocities = (q, p), (q, v)
    for _ in range(400):
        by_momenta = commutator_free(mechanism, mechanism.momentum_form.rates, *by_momenta, 2e-2)
        by_velocities = commutator_free(
            mechanism, lambda x, u: (u, mechanism.forward_dynamics(x, u, still)), *by_velocities, 2e-2
        )
    q_end, p_end = by_momenta
    assert np.array_equal(p_end[:6], p[:6])
    kept = mechanism.momentum(q_end, mechanism.momentum_form.velocities(q_end, p_end))
    assert np.abs(kept - start).max() < 2e-14 * size * max(1.0, np.linalg.norm(q_end[4:7]))
    assert np.abs(mechanism.momentum(*by_velocities) - start).max() > 1e-9 * size


def test_spherical_joint_on_the_ground_keeps_its_angular_momentum():
    mechanism = Mechanism(tree(24, ("spherical", "revolute", "prismatic"), gravity=(0, 0, 0)))
    q, v, _ = state(mechanism, 25)
    p = mechanism.momentum_form.momenta(q, v)
    _, rate = mechanism.momentum_form.rates(q, p)
    assert not rate[:3].any()
    center = pose.act(np.array(mechanism.tree.joints[0].parent_frame), np.zeros(3))
    whole = mechanism.momentum(q, v)
    assert deviation(p[:3], whole[:3] - np.cross(center, whole[3:])) < 1e-13


def test_nothing_that_moves():
    none = np.zeros((3, 0))
    assert ZOO["fixed"].momentum_form.momenta(none, none).shape == (3, 0)
    assert ZOO["fixed"].momentum_form.rates(none, none)[1].shape == (3, 0)


def test_singular_inertia_is_an_error_that_names_the_joint():
    rod = Body("rod", 1.0, (0, 0, 0.5), (0.1, 0.1, 0.0))
    light = Mechanism(System([rod], [revolute("hinge", "ground", "rod", axis=(0, 0, 1))]))
    with pytest.raises(ValueError, match=r"momentum_form\.rates: the inertia that joint 'hinge' moves is singular"):
        light.momentum_form.rates([0.3], [2.0])
