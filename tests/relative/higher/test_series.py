"""Derivatives of twists, Jacobians and forces: batches, threads, identities among them, orders beyond the oracle's."""

import math
from operator import attrgetter

import numpy as np
import pytest

from chasles.kernel.policy import COMPILED
from chasles.relative.higher import (
    christoffel,
    inverse_rates,
    inverse_series,
    jacobian_partials,
    jacobian_series,
    series,
)
from chasles.relative.kinematics import REPRESENTATIONS
from chasles.relative.mechanism import Mechanism
from tests.relative.zoo import MOVING, ZOO, deviation, state


def rates(mechanism: Mechanism, orders: int, shape: tuple[int, ...] = (), seed: int = 1) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).normal(size=(orders, *shape, mechanism.nv)))


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("name", MOVING)
def test_first_orders_are_those_of_the_other_recursions(name, representation):
    mechanism = MOVING[name]
    q, v, a = state(mechanism, 21, (2, 3))
    twist, rate = mechanism.rates.twists(q, [v, a], representation=representation)
    assert deviation(twist, mechanism.twists(q, v, representation=representation)) < 1e-13
    assert deviation(rate, mechanism.accelerations(q, v, a, representation=representation)) < 1e-13
    (first,) = mechanism.rates.jacobians(q, [v], representation=representation)
    assert deviation(first, mechanism.rates.jacobian(q, v, representation=representation)) < 1e-13
    body = mechanism.bodies[-1]
    slopes = mechanism.derivatives.jacobian(q, body, representation=representation)
    assert deviation(np.einsum("...ijk,...k->...ij", slopes, v), first[..., -1, :, :]) < 1e-13


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("name", ["arm", "kinds", "rooted"])
def test_leibniz_rule_up_to_order_six(name, representation):
    """V⁽ᵏ⁾ = Σ binomial(k, m) J⁽ᵐ⁾ v⁽ᵏ⁻ᵐ⁾."""
    mechanism = MOVING[name]
    q, _, _ = state(mechanism, 22)
    given = rates(mechanism, 7)
    twists = mechanism.rates.twists(q, given, representation=representation)
    J = [
        mechanism.jacobian(q, representation=representation),
        *mechanism.rates.jacobians(q, given[:6], representation=representation),
    ]
    for k in range(7):
        total = sum(math.comb(k, m) * J[m] @ given[k - m] for m in range(k + 1))
        assert deviation(twists[k], total) < 1e-12


@pytest.mark.parametrize("name", MOVING)
def test_second_derivative_of_the_jacobian_is_that_of_its_partial_derivatives(name):
    """J'' = Σ_k ∂_k J a_k + Σ_kr ∂_r ∂_k J v_k v_r."""
    mechanism = MOVING[name]
    q, v, a = state(mechanism, 23)
    body = mechanism.bodies[-1]
    for representation in REPRESENTATIONS:
        more = {"representation": representation}
        _, found = mechanism.rates.jacobians(q, [v, a], body, **more)
        one = mechanism.derivatives.jacobian(q, body, **more)
        two = mechanism.derivatives.jacobian(q, body, order=2, **more)
        assert deviation(found, one @ a + np.einsum("ijkr,k,r->ij", two, v, v)) < 1e-13


def test_partial_derivatives_are_symmetric_for_joints_with_axes_only():
    arm = ZOO["arm"]
    q, _, _ = state(arm, 24)
    for representation in REPRESENTATIONS:
        two = arm.derivatives.jacobian(q, "b6", order=2, representation=representation)
        assert deviation(two, np.swapaxes(two, -1, -2)) < 1e-14
    floating = ZOO["floating"]
    q, _, _ = state(floating, 24)
    two = floating.derivatives.jacobian(q, "b1", order=2, representation="hybrid")
    assert deviation(two, np.swapaxes(two, -1, -2)) > 0.1
    # two rotations of a free joint: E_0 E_1 - E_1 E_0 = E_2
    one = floating.derivatives.jacobian(q, "b1", representation="hybrid")
    assert deviation(two[..., 1, 0] - two[..., 0, 1], one[..., 2]) < 1e-13


@pytest.mark.parametrize("name", MOVING)
def test_recursions_of_the_forces_agree(name):
    mechanism = MOVING[name]
    q, v, a = state(mechanism, 25, (7,))
    jerk, snap = rates(mechanism, 2, (7,))
    wrenches = list(np.random.default_rng(5).normal(size=(3, 7, len(mechanism.bodies), 6)))
    for loads in ([], wrenches[:1], wrenches):
        body = mechanism.rates.inverse_dynamics(q, v, a, jerk, snap, wrenches=loads)
        hybrid = mechanism.rates.inverse_dynamics(q, v, a, jerk, snap, wrenches=loads, representation="hybrid")
        assert deviation(hybrid, body) < 1e-13
        assert deviation(body[0], mechanism.inverse_dynamics(q, v, a, loads[0] if loads else None)) < 1e-13
        first = mechanism.rates.inverse_dynamics(q, v, a, jerk, wrenches=loads[:2])
        assert deviation(first, body[:2]) < 1e-14
        one = mechanism.rates.inverse_dynamics(
            q[5], v[5], a[5], jerk[5], snap[5], wrenches=[load[5] for load in loads], representation="body"
        )
        assert deviation(one, body[:, 5]) < 1e-13


def test_forces_of_higher_order_are_differences_of_those_below():
    """tau⁽⁵⁾ of a motion with polynomial coordinates, by differences of tau⁽⁴⁾ along it."""
    mechanism = ZOO["geared"]
    q, _, _ = state(mechanism, 26)
    given = rates(mechanism, 7)

    def fourth(t):
        def at(values):
            return sum(t**k / math.factorial(k) * value for k, value in enumerate(values))

        moved = [at(given[m:]) for m in range(7)]
        return mechanism.rates.inverse_dynamics_series(at([q, *given]), moved[:6])[4]

    weights, h = (4 / 5, -1 / 5, 4 / 105, -1 / 280), 4e-3
    expected = sum(w * (fourth(k * h) - fourth(-k * h)) / h for k, w in enumerate(weights, start=1))
    assert deviation(mechanism.rates.inverse_dynamics_series(q, given)[5], expected) < 1e-9


@pytest.mark.parametrize("name", MOVING)
def test_forward_dynamics_rates_go_back(name):
    mechanism = MOVING[name]
    q, v, a = state(mechanism, 27, (3,))
    jerk, snap = rates(mechanism, 2, (3,))
    loads = list(np.random.default_rng(6).normal(size=(3, len(mechanism.bodies), 6)))
    tau = mechanism.rates.inverse_dynamics(q, v, a, jerk, snap, wrenches=loads)
    found = mechanism.rates.forward_dynamics(q, v, *tau, wrenches=loads)
    for back, given in zip(found, (a, jerk, snap), strict=True):
        assert deviation(back, given) < 1e-10
    assert deviation(mechanism.rates.forward_dynamics(q, v, *tau[:2], wrenches=loads[:2]), found[:2]) < 1e-10


def test_threads_and_broadcasting_do_not_change_a_bit():
    mechanism = ZOO["kinds"]
    two = Mechanism(mechanism.system, threads=2)
    q, v, a = state(mechanism, 28, (130,))
    (jerk,) = rates(mechanism, 1)
    for function, arguments in (
        ("rates.twists", ([v, a, jerk],)),
        ("rates.jacobians", ([v, a], ["b3"])),
        ("derivatives.jacobian", ("b3",)),
        ("rates.inverse_dynamics", (v, a, jerk)),
        ("rates.inverse_dynamics_series", ([v, a, jerk],)),
    ):
        np.testing.assert_array_equal(
            attrgetter(function)(two)(q, *arguments), attrgetter(function)(mechanism)(q, *arguments), err_msg=function
        )


@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
def test_a_loop_has_one_signature_however_it_is_called():
    arm = ZOO["arm"]
    for shape in ((), (1,), (2, 3)):
        q, v, a = (np.asfortranarray(x) for x in state(arm, 31, shape))
        for array in (q, v, a):
            array.flags.writeable = False
        wrenches = [np.zeros((7, 6)), np.zeros((*shape, 7, 6))]
        arm.rates.twists(q, [v, a], "tool")
        arm.rates.jacobians(q, [v], "tool")
        arm.derivatives.jacobian(q, "tool")
        arm.derivatives.christoffel_symbols(q)
        for representation in ("body", "hybrid"):
            arm.rates.inverse_dynamics(q, v, a, a, representation=representation)
            arm.rates.inverse_dynamics(q, v, a, a, wrenches=wrenches, representation=representation)
    for algorithm in (
        *(series.twist_series, jacobian_series.jacobian_series, jacobian_partials.jacobian_partials),
        *(inverse_rates.inverse_rates, inverse_series.inverse_series, christoffel.christoffel),
    ):
        algorithm.compile()
        assert len(algorithm.scalar.signatures) == 1, algorithm.__name__


def test_shapes_and_nothing_that_moves():
    arm, fixed, none = ZOO["arm"], ZOO["fixed"], np.zeros((3, 0))
    q, v, a = state(arm, 29, (2, 5))
    assert arm.rates.twists(q, [v, a[0]], "tool").shape == (2, 2, 5, 6)
    assert arm.rates.twists(q, [v, a], ["tool", "side"]).shape == (2, 2, 5, 2, 6)
    assert arm.rates.jacobians(q, [v, a, a], "tool").shape == (3, 2, 5, 6, 7)
    assert arm.derivatives.jacobian(q, order=2).shape == (2, 5, 7, 6, 7, 7, 7)
    assert arm.rates.inverse_dynamics(q, v, a, a, a).shape == (3, 2, 5, 7)
    assert arm.derivatives.christoffel_symbols(q).shape == (2, 5, 7, 7, 7)
    assert arm.derivatives.christoffel_symbols(q[:0]).shape == (0, 5, 7, 7, 7)
    assert arm.rates.twists(q[:0], [v[:0]]).shape == (1, 0, 5, 7, 6)
    assert not fixed.rates.twists(none, [none, none]).any()
    assert fixed.rates.jacobians(none, [none]).shape == (1, 3, 2, 6, 0)
    assert fixed.derivatives.jacobian(none).shape == (3, 2, 6, 0, 0)
    for representation in ("body", "hybrid"):
        found = fixed.rates.inverse_dynamics(none, none, none, none, representation=representation)
        assert found.shape == (2, 3, 0)
    assert fixed.derivatives.christoffel_symbols(none).shape == (3, 0, 0, 0)


def test_bad_input():
    arm, kinds = ZOO["arm"], ZOO["kinds"]
    q, v, a = state(arm, 30)
    with pytest.raises(ValueError, match=r"rates\.twists: derivatives\[1\] has shape \(3,\)"):
        arm.rates.twists(q, [v, np.zeros(3)])
    with pytest.raises(ValueError, match="derivatives is empty"):
        arm.rates.jacobians(q, [])
    with pytest.raises(ValueError, match="do not broadcast"):
        arm.rates.twists(q, [np.zeros((2, 7)), np.zeros((3, 7))])
    with pytest.raises(ValueError, match="order is 0; expected an integer, 1 or more"):
        arm.derivatives.jacobian(q, order=0)
    with pytest.raises(ValueError, match="there is no recursion in 'spatial' representation"):
        arm.rates.inverse_dynamics(q, v, a, a, representation="spatial")
    with pytest.raises(ValueError, match="'world' is not a representation"):
        arm.rates.inverse_dynamics(q, v, a, a, representation="world")
    with pytest.raises(ValueError, match="derivatives has only v"):
        arm.rates.inverse_dynamics_series(q, [v])
    with pytest.raises(ValueError, match="3 wrenches are given; expected at most 2"):
        arm.rates.inverse_dynamics(q, v, a, a, wrenches=[np.zeros((7, 6))] * 3)
    with pytest.raises(ValueError, match="3 wrenches are given; expected at most 2"):
        arm.rates.forward_dynamics(q, v, a, a, wrenches=[np.zeros((7, 6))] * 3)
    with pytest.raises(ValueError, match=r"rates\.inverse_dynamics: jerk has shape"):
        arm.rates.inverse_dynamics(q, v, a, np.zeros(2))
    with pytest.raises(
        ValueError, match=r"derivatives\.christoffel_symbols: the velocities of joint 'j\d' are not the derivatives"
    ):
        kinds.derivatives.christoffel_symbols(state(kinds)[0])
