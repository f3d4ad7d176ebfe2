"""Equilibria of systems in which nothing holds some freedom: rounding along it is no force."""

import numpy as np
import pytest

import chasles as ch


def cart(length: float = 1.0, axis: tuple[float, float, float] = (0, -1, 0)) -> ch.System:
    """A cart that is free to roll, with a pendulum."""
    inertia = (0.01 * length**2,) * 3
    bodies = [ch.Body("cart", 1.0, (0, 0, 0), inertia), ch.Body("bob", 1.0, (0, 0, -0.4 * length), inertia)]
    joints = [ch.prismatic("rail", "ground", "cart", axis=(1, 0, 0)), ch.revolute("pin", "cart", "bob", axis=axis)]
    return ch.System(bodies, joints)


@pytest.mark.parametrize("length", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("angle", [0.0, 1e-9, 0.35])
def test_a_cart_with_a_pendulum_hangs_down(length, angle):
    found = ch.equilibrium(cart(length), [0.0, angle])
    assert abs(found.q[1]) < 1e-9
    assert abs(found.q[0]) < length


@pytest.mark.parametrize(
    "joint",
    [ch.prismatic("rail", "ground", "body", axis=(1, 0, 0)), ch.revolute("shaft", "ground", "body", axis=(0, 0, 1))],
    ids=["rail", "shaft"],
)
def test_what_nothing_acts_on_stays(joint):
    system = ch.System([ch.Body("body", 1.0, (0, 0, 0), (0.01, 0.01, 0.01))], [joint])
    assert ch.equilibrium(system, [0.3]).q.tolist() == [0.3]


def test_frequency_of_a_free_cart():
    """w² = g (M + m) m l / ((M + m) (I + m l²) - m² l²) with both masses 1."""
    linear = ch.linearize(cart(), ch.equilibrium(cart(), [0.0, 0.0]).q)
    expected = np.sqrt(9.81 * 2 * 0.4 / (2 * (0.01 + 0.16) - 0.16))
    assert max(mode.frequency for mode in linear.modes) * 2 * np.pi == pytest.approx(expected, rel=1e-8)


def test_a_force_that_nothing_holds_is_no_equilibrium():
    with pytest.raises(RuntimeError, match="is left at joint 'rail'"):
        ch.equilibrium(cart(), control=[1e-6, 0.0])
