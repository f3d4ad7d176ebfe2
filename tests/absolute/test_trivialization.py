"""Spatial velocities with exp on the left, in place of body velocities with exp on the right."""

import numpy as np
import pytest

import chasles as ch
from tests.absolute.systems import SPACES, double_pendulum, slow_top
from tests.absolute.test_joint_forces import start_of, system_with

TIGHT = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-12, "atol": 1e-12, "coordinates": "absolute"}


@pytest.mark.parametrize("space", [*SPACES, {"one": "SE3", "two": "SO3xR3"}])
def test_both_trivializations_are_one_motion(space):
    """With joint forces, an armature and a counted angle, so that all of the state is converted."""
    system = system_with("universal", rotor=True)
    q, v = start_of(system)
    one, two = (
        ch.simulate(system, (0.0, 0.5), q, v, space=space, trivialization=side, **TIGHT) for side in ("left", "right")
    )
    assert not np.allclose(one.solution.y[-1], two.solution.y[-1])  # other states
    assert np.abs(one.poses[-1] - two.poses[-1]).max() < 1e-9
    assert np.abs(one.twists[-1] - two.twists[-1]).max() < 1e-9
    assert abs(one.energies.work[-1] - two.energies.work[-1]) < 1e-9
    assert two.certificate.passed, two.certificate


@pytest.mark.parametrize("space", SPACES)
def test_the_order_is_that_of_the_method(space):
    system, v = double_pendulum(), [1.0, 2.0, -1.0, 0.5, -2.0, 1.0]
    exact = ch.simulate(system, (0.0, 0.2), v=v, space=space, **TIGHT).poses[-1]
    options = {"coordinates": "absolute", "space": space, "trivialization": "right", "method": ch.integrate.RKMK("rk4")}
    errors = [
        np.abs(ch.simulate(system, (0.0, 0.2), v=v, step=h, **options).poses[-1] - exact).max() for h in (5e-3, 2.5e-3)
    ]
    assert 12 < errors[0] / errors[1] < 21


def test_a_lower_pair_to_the_ground_holds_without_stabilization_on_either_side():
    """Spatial velocities of such a body lie in a subalgebra as well: that of the joint's frame on the ground."""
    options = {
        "coordinates": "absolute",
        "space": "SE3",
        "stabilization": None,
        "method": ch.integrate.RKMK("rk4"),
        "step": 0.01,
    }
    for side in ("left", "right"):
        run = ch.simulate(slow_top(), (0.0, 2.0), v=[1.0, 2.0, 3.0], trivialization=side, **options)
        assert run.violations[0].max() < 1e-13
    with pytest.raises(ValueError, match="trivialization 'middle'"):
        ch.simulate(slow_top(), (0.0, 2.0), trivialization="middle", **options)
