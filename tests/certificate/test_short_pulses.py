"""Pulses too short for any sampling pass if the run was told of them, and their motion is right."""

import numpy as np
import pytest

import chasles as ch

IMPULSE, AT = 0.1, 0.5


def hinge(law):
    """A rod that only the pulse moves."""
    return ch.System(
        [ch.Body("rod", 1.0, (0.0, 0.0, 0.0), (0.01, 0.02, 0.02))],
        [ch.revolute("hinge", "ground", "rod", axis=(0, 1, 0))],
        forces=[ch.JointForce("pulse", "hinge", law)],
    )


def pulsed(width):
    def pulse(t, q, v, parameters, out):
        out[0] = IMPULSE / width if AT <= t < AT + width else 0.0

    return pulse


@pytest.mark.parametrize("width", [1e-4, 1e-5, 1e-7])
@pytest.mark.parametrize("how", ["expression", "stops", "breaks"])
def test_a_pulse_that_the_run_was_told_of(how, width):
    law, options = pulsed(width), {}
    if how == "expression":
        law = f"{IMPULSE / width!r} * (step(t, {AT}) - step(t, {AT + width!r}))"
    elif how == "stops":
        options["stops"] = [AT, AT + width]
    else:
        law.breaks = (AT, AT + width)
    run = ch.simulate(hinge(law), (0.0, 1.0), progress=False, **options)
    speed = IMPULSE / 0.02
    assert abs(run.v[-1, 0] - speed) < 1e-6 * speed
    assert abs(run.q[-1, 0] - speed * (1.0 - AT - width / 2)) < 1e-6 * speed
    assert run.certificate.passed, str(run.certificate)


def test_many_stops_do_not_make_the_second_motion_too_expensive():
    times = np.linspace(0.001, 0.999, 700)
    run = ch.simulate(hinge("sin(7 * t)"), (0.0, 1.0), stops=times, progress=False)
    assert abs(run.v[-1, 0] - (1 - np.cos(7.0)) / 7.0 / 0.02) < 1e-7
    assert run.certificate.passed, str(run.certificate)
