"""A law that gives no number on the way, or at the start, is named with its name, its force and the time."""

import warnings

import numpy as np
import pytest

import chasles as ch
from tests.simulation.test_laws_of_others import arm


def told(system, **how):
    """The message of a run that breaks off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            run = ch.simulate(system, (0.0, 1.0), progress=False, certificate=False, **how)
        except (ValueError, ArithmeticError, RuntimeError) as error:
            return str(error)
    assert not run.success
    return run.message


def breaks(t, x, y, parameters, out):
    out[0] = np.nan if t > 0.3 else 1.0


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"step": 0.01},
        {"coordinates": "absolute"},
        {"coordinates": "absolute", "method": "generalized_alpha", "step": 0.01},
    ],
    ids=["adaptive", "fixed", "absolute", "implicit"],
)
def test_on_the_way(how):
    for law in ("sqrt(0.3 - t)", breaks):
        message = told(arm(ch.JointForce("motor", "A", law)), **how)
        name = law if isinstance(law, str) else "breaks"
        assert f"the law {name!r} of 'motor' is not finite at t = " in message
        assert float(message.rpartition("t = ")[2].split()[0]) == pytest.approx(0.3, abs=1e-6)


def test_where_the_motion_comes_to_a_place_without_a_number():
    """The logarithm of what is left of a turn of 0.1 rad at 1 rad/s, without gravity: at t = 0.1 s."""
    system = ch.System(
        [ch.Body("a", 1.0, inertia=(1, 1, 1))],
        [ch.revolute("A", "ground", "a", axis=(0, 0, 1))],
        forces=[ch.JointForce("f", "A", "1e-9 * log(0.1 - q)")],
        gravity=(0, 0, 0),
    )
    message = told(system, v={"A": 1.0})
    assert "the law '1e-09 * log(0.1 - q)' of 'f' is not finite at t = 0.1" in message
    start = arm(ch.JointForce("p", "A", "1 / q"))
    for coordinates in ("relative", "absolute"):
        message = told(start, coordinates=coordinates)
        assert message == "simulate: the law '1 / q' of 'p' is not finite at t = 0 s, at the start"
    with pytest.raises(ValueError, match=r"two-point force 'p': value '1 / \(distance - distance\)': division by zero"):
        ch.TwoPointForce("p", ("ground", "b"), "1 / (distance - distance)")


def test_a_pole_is_named():
    for law in ("1 / (t - 0.3)", "-2 / (0.3 - t) ** 2"):
        message = told(arm(ch.JointForce("motor", "A", law)))
        assert "of 'motor' grows without bound at t = " in message
        assert float(message.rpartition("t = ")[2].split()[0]) == pytest.approx(0.3, abs=1e-6)
