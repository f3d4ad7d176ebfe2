"""Laws of time beside friction that sticks: they are scanned, so that what a run stepped over is seen."""

import numpy as np
import pytest

import chasles as ch


@ch.law
def short_blow(t, q, v, p, out):
    """3000 N for some 40 microseconds, without a jump."""
    out[0] = 3000.0 * np.exp(-(((t - 0.5005) / 2e-5) ** 2))


def block(value):
    rubs = {"friction": 1.0, "static_friction": 1.5, "friction_speed": 0.0}
    slide = ch.prismatic("slide", "ground", "block", axis=(1, 0, 0), **rubs)
    body = ch.Body("block", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    return ch.System([body], [slide], forces=[ch.JointForce("pull", "slide", value)])


@pytest.mark.first(2)
@pytest.mark.parametrize(
    ("value", "step", "verdict"),
    [
        ("3 * sin(40 * t)", 0.05, "failed"),
        ("2 * step(t, 0.7)", None, "passed"),
        ("3 * sin(4 * t)", None, "passed"),
        (short_blow, None, "passed"),
        (short_blow, 0.01, "failed"),
    ],
)
def test_the_verdict(value, step, verdict):
    options = {} if step is None else {"step": step, "method": "rk4"}
    run = ch.simulate(block(value), (0.0, 1.5), **options)
    assert run.certificate.status == verdict
    assert any(
        finding.name == "forces" and "'pull' depends on time" in finding.note for finding in run.certificate.findings
    )


def servo(**more):
    """A cart that rubs, with a pendulum on it, and a motor."""
    rubs = {"friction": 2.0, "static_friction": 3.0, "friction_speed": 0.0}
    bodies = [ch.Body("cart", 1.0, (0, 0, 0), (0.1, 0.1, 0.1)), ch.Body("rod", 0.2, (0, 0, -0.3), (0.01, 0.01, 0.01))]
    rail = ch.prismatic("rail", "ground", "cart", axis=(1, 0, 0), **rubs)
    return ch.System(
        *(bodies, [rail, ch.revolute("pin", "cart", "rod", axis=(0, 1, 0), **more)]),
        actuators=[ch.Actuator("motor", "rail")],
    )


@pytest.mark.parametrize(
    ("more", "options", "verdict"),
    [
        ({}, {}, "passed"),
        ({"lower": -0.2, "upper": 0.2, "restitution": 0.5}, {}, "passed"),
        ({}, {"coordinates": "absolute"}, "passed"),
        ({}, {"method": "euler", "step": 0.1}, "failed"),
    ],
)
def test_a_controller_beside_friction_that_sticks_and_rigid_limits_is_judged(more, options, verdict):
    """The companion asks the controller again, and finds its own times of sticking, slipping and impacts."""

    def controller(t, q, v):
        return [20 * (0.3 * np.sign(np.sin(8 * t)) - q[0]) - 3 * v[0]]

    given = {"q": {"pin": 0.15}, "controller": controller, "period": 0.1, **options}
    run = ch.simulate(servo(**more), (0.0, 0.6), **given)
    assert run.events
    assert run.certificate.status == verdict, str(run.certificate)
