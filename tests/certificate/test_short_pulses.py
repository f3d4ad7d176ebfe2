"""Pulses too short for any sampling pass if the run was told of them, and their motion is right."""

import numpy as np
import pytest

import chasles as ch

IMPULSE, AT = 0.1, 0.5
WITHIN = 0.5037  # no step of a round size ends there


def hinge(law):
    """A rod that only the pulse moves."""
    return ch.System(
        [ch.Body("rod", 1.0, (0.0, 0.0, 0.0), (0.01, 0.02, 0.02))],
        [ch.revolute("hinge", "ground", "rod", axis=(0, 1, 0))],
        forces=[ch.JointForce("pulse", "hinge", law)],
    )


def pulsed(width, at=AT):
    def pulse(t, q, v, parameters, out):
        out[0] = IMPULSE / width if at <= t < at + width else 0.0

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


ABSOLUTE = {"coordinates": "absolute"}


@pytest.mark.parametrize("width", [1e-6, 1e-8])
@pytest.mark.parametrize("off", [0.0, 1e-13, 1e-12, -1e-12])
@pytest.mark.parametrize(
    "options", [{"method": "rk4", "step": 0.01}, {"method": "rattle", "step": 2e-3, **ABSOLUTE}], ids=["rk4", "rattle"]
)
def test_equal_steps_over_a_pulse_that_its_law_declares(options, off, width):
    """Equal steps know nothing of it, and the law is not called often enough to find it."""
    law = pulsed(width, WITHIN)
    law.breaks = (WITHIN + off, WITHIN + width + off)
    run = ch.simulate(hinge(law), (0.0, 1.0), v=[0.2], progress=False, **options)
    assert abs(run.v[-1, 0] - 0.2) < 1e-9  # the truth is 5.2
    assert run.certificate.status == "failed", str(run.certificate)
    if not off:
        stops = [WITHIN, WITHIN + width]
        assert f"give stops=[{stops[0]:.12g}, {stops[1]:.12g}]" in run.certificate.advice[0]


def test_equal_steps_over_a_pulse_in_an_expression():
    law = f"{IMPULSE / 1e-7!r} * (step(t, {WITHIN}) - step(t, {WITHIN + 1e-7!r}))"
    run = ch.simulate(hinge(law), (0.0, 1.0), v=[0.2], method="rk4", step=0.01, progress=False)
    assert abs(run.v[-1, 0] - 0.2) < 1e-9
    assert run.certificate.status == "failed", str(run.certificate)


@pytest.mark.parametrize("stops", [True, False])
def test_a_pulse_among_many_other_stops(stops):
    """Where forces jump counts before all other times that are told."""
    law, options = pulsed(1e-7), {}
    times = [*np.linspace(0.001, 0.999, 700), AT, AT + 1e-7]
    if stops:
        options["stops"] = sorted(times)
    else:
        law.breaks = times
    run = ch.simulate(hinge(law), (0.0, 1.0), progress=False, **options)
    assert abs(run.v[-1, 0] - IMPULSE / 0.02) < 1e-5
    assert run.certificate.passed, str(run.certificate)


@pytest.mark.parametrize("told", ["stops", "breaks"])
def test_a_pulse_beside_many_laws_that_depend_on_time(told):
    law, options = pulsed(1e-7), {}
    if told == "stops":
        options["stops"] = [AT, AT + 1e-7]
    else:
        law.breaks = (AT, AT + 1e-7)
    tones = [(0.1, 7 + 1.3 * k) for k in range(20)]
    system = hinge(law)
    forces = [ch.JointForce(f"tone {k}", "hinge", f"{size} * cos({w} * t)") for k, (size, w) in enumerate(tones)]
    system = ch.System(system.bodies, system.joints, forces=[*system.forces, *forces])
    run = ch.simulate(system, (0.0, 1.0), progress=False, **options)
    speed = (IMPULSE + sum(size * np.sin(w) / w for size, w in tones)) / 0.02
    assert abs(run.v[-1, 0] - speed) < 1e-5 * speed
    assert run.certificate.passed, str(run.certificate)


@pytest.mark.parametrize("method", ["dopri5", "rk4"])
@pytest.mark.parametrize("width", [1e-4, 1e-7])
def test_a_pulse_under_a_controller(width, method):
    """Steps that follow the error end at the pulse; equal steps of a controller's periods pass over it."""
    law = pulsed(width, WITHIN)
    law.breaks = (WITHIN, WITHIN + width)
    plain = hinge(law)
    system = ch.System(plain.bodies, plain.joints, forces=plain.forces, actuators=[ch.Actuator("m", "hinge")])
    options = {} if method == "dopri5" else {"method": "rk4", "step": 0.02}
    run = ch.simulate(system, (0.0, 1.0), controller=lambda t, q, v: 0.0 * v, period=0.1, progress=False, **options)
    right = abs(run.v[-1, 0] - IMPULSE / 0.02) < 1e-4
    assert right == (method == "dopri5")
    assert run.certificate.status == ("passed" if right else "failed"), str(run.certificate)


def test_many_declared_pulses_that_are_too_expensive_to_judge():
    """The method alone with other steps agrees with itself: both pass over all pulses, of which the begins are told."""
    begins = 0.01 + 0.97 * (np.arange(20) + 0.8 * np.random.default_rng(20).random(20)) / 20

    def pulse(t, q, v, parameters, out):
        out[0] = 2.5e6 if (t >= begins).sum() > (t >= begins + 1e-7).sum() else 0.0

    pulse.breaks = tuple(begins)
    run = ch.simulate(hinge(pulse), (0.0, 1.0), v=[0.2], method="rk4", step=1e-3, progress=False)
    assert abs(run.v[-1, 0] - 0.2) < 1e-9
    assert run.certificate.status in ("failed", "not judged"), str(run.certificate)
