"""A sampled loop that is unstable ends with a message; a slow one does not."""

import warnings

import numpy as np
import pytest

import chasles as ch


def wheel():
    bodies = [ch.Body("a", 1.0, (0.3, 0, 0), (0.003,) * 3), ch.Body("wheel", 0.2, (0.02, 0, 0), (0.003,) * 3)]
    joints = [
        ch.revolute("i", "ground", "a", axis=(0, 0, 1)),
        ch.revolute("j", "a", "wheel", axis=(0, 1, 0), at=(0.5, 0, 0)),
    ]
    return ch.System(bodies, joints, actuators=[ch.Actuator("u", "j")])


@pytest.mark.sample(1)
@pytest.mark.parametrize("save", ["final", "all"])
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_an_unstable_loop_says_which_joint_and_when(coordinates, save):
    """The gain is thirty times above the limit of the period."""
    with pytest.warns(RuntimeWarning, match="runs away"):
        run = ch.simulate(
            *(wheel(), (0, 0.05), [0.0, 1e-6]),
            controller=lambda t, x, v: -600 * x[-1:] - 30 * v[-1:],
            period=1e-3,
            coordinates=coordinates,
            save=save,
        )
    assert not run.success
    assert "joint 'j'" in run.message
    assert 0.005 < run.t[-1] < 0.02
    assert run.solution.evaluations < 10**6


def test_the_same_loop_with_a_gain_that_fits_reaches_its_end():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = ch.simulate(
            wheel(), (0, 0.05), [0.0, 1e-6], controller=lambda t, x, v: -20 * x[-1:] - v[-1:], period=1e-3
        )
    assert run.message == "reached the end"


def test_a_period_that_is_slow_for_another_reason_is_let():
    """A stiff spring is met in the midst of the run; the ball comes back by the law of reflection."""
    stop = ch.prismatic(
        "s", "ground", "b", axis=(1, 0, 0), lower=[-1e3], upper=[0.25], stop_stiffness=1e14, stop_damping=0.0
    )
    system = ch.System([ch.Body("b", 1.0, inertia=(0.01,) * 3)], [stop], gravity=(0, 0, 0))
    run = ch.simulate(system, (0, 0.5), v=[1.0], controller=lambda t, q, v: 0 * v, period=0.1)
    assert run.success
    assert run.v[-1, 0] == pytest.approx(-1.0, abs=1e-3)
    assert np.all(np.diff(run.t) > 0)
