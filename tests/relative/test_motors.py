"""What motors must give: inverse dynamics with the forces of the system, of trees and of loops."""

import numpy as np
import pytest

import chasles as ch
from tests.relative import closed
from tests.simulation.test_sensitivities import machine, start


def test_pendulum():
    """m l² a + m g l sin q + k q + d v + c tanh(v/s)."""
    hinge = ch.revolute(
        "hinge", "ground", "bob", axis=(0, 1, 0), stiffness=3.0, damping=0.5, friction=0.2, friction_speed=0.1
    )
    mechanism = ch.System([ch.Body("bob", 2.0, (0, 0, -0.7))], [hinge]).compile()
    q, v, a = np.array([[0.4], [-1.0]]), np.array([[2.0], [0.05]]), np.array([[1.0], [-3.0]])
    bare = 2.0 * 0.49 * a + 2.0 * 9.81 * 0.7 * np.sin(q)
    passive = 3.0 * q + 0.5 * v + 0.2 * np.tanh(v / 0.1)
    assert np.abs(mechanism.inverse_dynamics(q, v, a) - bare - passive).max() < 1e-14
    assert np.abs(mechanism.inverse_dynamics(q, v, a, applied=False) - bare).max() < 1e-14
    assert np.abs(mechanism.terms.bias(q, v) - bare + 2.0 * 0.49 * a).max() < 1e-14


@pytest.mark.parametrize("representation", ["body", "spatial"])
def test_the_motion_comes_back(representation):
    """With springs between bodies, laws of time and wrenches, for states at different times."""
    mechanism, (q, v) = machine(damping=0.2).compile(), start()
    rng = np.random.default_rng(2)
    states, times = mechanism.retract(q, 0.3 * rng.normal(size=(3, mechanism.nv))), np.array([0.0, 0.3, 1.1])
    rates, a = v + rng.normal(size=(3, mechanism.nv)), rng.normal(size=(3, mechanism.nv))
    u = mechanism.inverse_dynamics(states, rates, a, t=times, representation=representation)
    assert np.abs(mechanism.accelerations_under(states, rates, u, times) - a).max() < 1e-12
    bare = mechanism.inverse_dynamics(states, rates, a, applied=False, representation=representation)
    assert np.abs(mechanism.forward_dynamics(states, rates, bare) - a).max() < 1e-12
    assert np.abs(u - bare).max() > 0.1
    pushed = rng.normal(size=(len(mechanism.bodies), 6))
    with_both = mechanism.inverse_dynamics(states, rates, a, pushed, t=times, representation=representation)
    alone = mechanism.inverse_dynamics(states, rates, a, pushed, applied=False, representation=representation)
    assert np.abs((with_both - alone) - (u - bare)).max() < 1e-12


def test_four_bar_with_springs_and_dampers():
    """Lagrange's equation in the crank's angle, with the power of springs and dampers in all joints."""
    stiffness, damping, crank, speed, acceleration = 30.0, 0.7, 0.8, 2.0, -1.5
    mechanism = closed.four_bar(stiffness=stiffness, damping=damping).compile()
    q, v = closed.four_bar_state(mechanism, crank, speed)
    h = 1e-4
    rates = [closed.four_bar_state(mechanism, crank + k * h, 1.0)[1] for k in (-2, -1, 1, 2)]
    slope = (8 * (rates[2] - rates[1]) - (rates[3] - rates[0])) / (12 * h)
    a = v / speed * acceleration + slope * speed**2
    a = mechanism.accelerations_under(q, v, _push(mechanism, q, v, a))  # on the constraints to rounding
    wanted = closed.four_bar_torque(crank, speed, a[0])
    passive = (stiffness * q + damping * v) @ v / speed
    bare = mechanism.inverse_dynamics(q, v, a, actuated=["A"], applied=False)
    assert np.abs(bare - [wanted, 0, 0, 0]).max() < 1e-8
    found = mechanism.inverse_dynamics(q, v, a, actuated=["A"])
    assert np.abs(found - bare - [passive, 0, 0, 0]).max() < 1e-12
    assert np.abs(mechanism.accelerations_under(q, v, found) - a).max() < 1e-10
    both = mechanism.inverse_dynamics(np.array([q, q]), v, np.array([a, a]), actuated=["A"], t=[0.0, 1.0])
    assert np.array_equal(both, [found, found])


def _push(mechanism, q, v, a):
    """Some torque on the crank that brings the acceleration about."""
    free = mechanism.accelerations_under(q, v)
    unit = mechanism.accelerations_under(q, v, np.eye(mechanism.nv)[0]) - free
    return np.eye(mechanism.nv)[0] * (a[0] - free[0]) / unit[0]


def test_a_drive_gives_what_inverse_dynamics_asks_for():
    drive = ch.Drive("motor", "A", "0.8 + 2 * t + 0.5 * t * t")
    system = closed.four_bar(stiffness=3.0)
    driven, free = system.with_constraint(drive).compile(), system.compile()
    q, v = closed.four_bar_state(driven, 0.8, 2.0)
    a = driven.accelerations_under(q, v)
    given = driven.coordinate_forces("motor", q, v)
    assert np.abs(free.inverse_dynamics(q, v, a, actuated=["A"])[0] - given).max() < 1e-12
    with pytest.raises(ValueError, match=r"there is no coupling or drive 'A'; .*there are motor"):
        driven.coordinate_forces("A", q, v)


def test_friction_that_sticks():
    """Against the velocity, or where the motion begins against the acceleration; of a crank in a loop too."""
    dry = {"friction": 0.4, "friction_speed": 0.0, "static_friction": 0.6}
    hinge = ch.revolute("hinge", "ground", "bob", axis=(0, 1, 0), **dry)
    mechanism = ch.System([ch.Body("bob", 2.0, (0, 0, -0.7))], [hinge]).compile()
    v, a = np.array([[2.0], [-1.0], [0.0], [0.0]]), np.array([[1.0], [3.0], [-2.0], [0.0]])
    q = np.full((4, 1), 0.3)
    bare = 2.0 * 0.49 * a + 2.0 * 9.81 * 0.7 * np.sin(q)
    assert np.abs(mechanism.inverse_dynamics(q, v, a) - bare - [[0.4], [-0.4], [-0.4], [0.0]]).max() < 1e-14
    assert np.abs(mechanism.inverse_dynamics(q, v, a, applied=False) - bare).max() < 1e-14
    rubbing, free = closed.four_bar(**dry).compile(), closed.four_bar(damping=1e-300).compile()
    at, speed = closed.four_bar_state(rubbing, 0.8, -2.0)
    rates = free.accelerations_under(at, speed)
    lost = 0.4 * np.abs(speed).sum() / 2.0  # the power of friction in all joints, by the crank's speed
    found = [m.inverse_dynamics(at, speed, rates, actuated=["A"])[0] for m in (rubbing, free)]
    assert abs(found[0] - found[1] + lost) < 1e-12
