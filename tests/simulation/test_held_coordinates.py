"""What holds coordinates lets go in time: under forces that jump, between steps, and at the limits of one freedom."""

import numpy as np
import pytest
from scipy.optimize import brentq

import chasles as ch

G = 9.81


def slider(law, axis=(1, 0, 0), mass=2.0, **joint):
    body = ch.Body("b", mass, (0, 0, 0), (0.1, 0.1, 0.1))
    forces = [] if law is None else [ch.JointForce("push", "s", law)]
    return ch.System([body], [ch.prismatic("s", "ground", "b", axis=axis, **joint)], forces=forces)


DRY = {"friction": 10.0, "friction_speed": 0.0}


def switched(t, q, v, p, out):
    out[0] = 15.0 if t > 1.0 else 0.0


switched.breaks = [1.0]


@pytest.mark.sample(1)
@pytest.mark.parametrize("steps", [{}, {"step": 0.03, "method": "rk4"}, {"save": [0.5, 1.0, 2.0, 3.0]}])
@pytest.mark.parametrize("law", ["15 * step(t, 1)", switched])
def test_a_force_that_jumps_frees_what_friction_holds(law, steps):
    run = ch.simulate(slider(law, **DRY), (0, 3.0), **steps)
    assert run.q[-1, 0] == pytest.approx(0.5 * 2.5 * 2.0**2, rel=1e-9)
    assert not run.q[run.t <= 1.0].any()
    if "save" in steps:
        np.testing.assert_array_equal(run.t, steps["save"])
        assert run.q[2, 0] == pytest.approx(0.5 * 2.5, rel=1e-9)


def test_a_jump_at_an_end_of_the_span_is_harmless():
    for law, end in (("15 * step(t, 1)", 1.0), ("15 * step(t, 1)", np.nextafter(1.0, 2.0)), ("5 * step(t, 0)", 0.5)):
        run = ch.simulate(slider(law, **DRY), (0, end))
        assert run.t[-1] == end
        assert not run.q.any()
    assert not ch.simulate(slider("15 * step(t, 1)", **DRY), (0, 0.0)).q.any()


def test_a_sampled_controller_and_a_jump():
    """The motor gives 4 N all the time; with the jump of 11 N friction no longer holds."""
    run = ch.simulate(slider("11 * step(t, 0.35)", **DRY), (0, 1.35), controller=lambda t, q, v: [4.0], period=0.1)
    assert run.q[-1, 0] == pytest.approx(0.5 * 2.5, rel=1e-9)


def test_pulses_free_it_each_time():
    """Pushed at 20 N from 1 s to 1.5 s, it comes to rest at 2 s; then once more, the other way."""
    law = "20 * (step(t, 1) - step(t, 1.5)) - 20 * (step(t, 2.5) - step(t, 3))"
    run = ch.simulate(slider(law, **DRY), (0, 4.0), save=[0.9, 2.2, 4.0])
    assert run.q[:, 0] == pytest.approx([0.0, 1.25, 0.0], abs=1e-9)
    assert not run.v.any()


def test_a_force_that_jumps_lifts_off_a_limit():
    run = ch.simulate(slider("30 * step(t, 1)", (0, 0, 1), lower=0.0, restitution=0.0), (0, 3.0))
    assert run.q[-1, 0] == pytest.approx(0.5 * (15.0 - G) * 2.0**2, rel=1e-9)
    assert not run.q[run.t <= 1.0].any()


@pytest.mark.parametrize("other", [0.6, 0.3, 0.0])
def test_limits_of_one_freedom_give_back_the_largest_share(other):
    """Two coupled wheels strike limits of both at once: the freedom rebounds at the larger restitution."""
    bodies = [ch.Body(n, 1.0, (0, 0, 0), (i, i, i)) for n, i in (("a", 0.1), ("b", 0.3))]
    joints = [
        ch.revolute("A", "ground", "a", axis=(0, 0, 1), upper=0.5, restitution=0.6),
        ch.revolute("B", "ground", "b", axis=(0, 0, 1), lower=-0.25, restitution=other),
    ]
    system = ch.System(bodies, joints, constraints=[ch.Coupling("g", ("A", "B"), (1.0, 2.0))])
    run = ch.simulate(system, (0, 1.0), v={"A": 1.0})
    assert run.v[-1] == pytest.approx([-0.6, 0.3], rel=1e-9)
    before = 0.5 * (0.1 + 0.3 / 4)
    assert run.strikes[0].lost == pytest.approx(before * (1 - 0.6**2), rel=1e-9)
    assert run.energies.balance[-1] == pytest.approx(run.energies.balance[0], rel=1e-9)


def test_angle_and_distance_of_a_screw_strike_together():
    lead = 0.2
    joint = ch.cylindrical("C", "ground", "c", axis=(0, 0, 1), lower=(0, 0.0), restitution=(0.2, 0.8))
    body = ch.Body("c", 1.0, (0, 0, 0), (0.1, 0.1, 0.1))
    system = ch.System([body], [joint], constraints=[ch.model.lead_screw("l", "C", lead)])
    run = ch.simulate(system, (0, 1.6), q={"C": [np.pi, 0.1]})
    strike = run.strikes[0]
    assert strike.after == pytest.approx(-0.8 * strike.before, rel=1e-9)
    assert strike.after[1] == pytest.approx(strike.after[0] * lead / (2 * np.pi), rel=1e-12)


@pytest.mark.parametrize(("peak", "end", "e"), [(1.5, 1.0, 0.5), (1.001, 10.0, 0.5), (1.02, 7.0, 0.0)])
def test_a_limit_that_is_passed_and_left_within_one_step_is_struck(peak, end, e):
    speed = np.sqrt(2 * G * peak)
    run = ch.simulate(slider(None, (0, 0, 1), upper=1.0, restitution=e), (0, end), v=[speed])
    first = (speed - np.sqrt(speed**2 - 2 * G)) / G
    back, t = -e * (speed - G * first), end - first
    assert run.q[-1, 0] == pytest.approx(1.0 + back * t - 0.5 * G * t**2, rel=1e-8)
    assert [one.t for one in run.events] == pytest.approx([first], rel=1e-9)


def stick_and_slip(force, rate, friction, end):
    """Where 1 kg is after steps of slip under force sin(rate t), by classical steps between closed-form changes."""
    t, q = np.arcsin(friction / force) / rate, 0.0
    while t < end:
        sign = np.sign(np.sin(rate * t))

        def moved(x, t=t, sign=sign):
            return (
                force / rate * (np.cos(rate * t) - np.cos(rate * x)) - sign * friction * (x - t),
                force / rate * np.cos(rate * t) * (x - t)
                - force / rate**2 * (np.sin(rate * x) - np.sin(rate * t))
                - sign * friction * (x - t) ** 2 / 2,
            )

        stop = brentq(lambda x, s=sign, m=moved: s * m(x)[0], t + 1e-3 * np.pi / rate, t + np.pi / rate, xtol=1e-15)
        q += moved(min(stop, end))[1]
        n = np.ceil((rate * stop - np.arcsin(friction / force)) / np.pi)
        t = (n * np.pi + np.arcsin(friction / force)) / rate
    return q


@pytest.mark.first(1)
@pytest.mark.parametrize(("force", "rate", "end"), [(6.0, 20.0, 1.1), (5.01, 3.0, 4.7), (5.2, 3.0, 4.7)])
def test_slips_shorter_than_a_step_are_seen(force, rate, end):
    law = f"{force} * sin({rate} * t)"
    run = ch.simulate(slider(law, mass=1.0, friction=5.0, friction_speed=0.0), (0, end), rtol=1e-10, save="final")
    assert run.q[-1, 0] == pytest.approx(stick_and_slip(force, rate, 5.0, end), rel=1e-6)


@pytest.mark.parametrize("step", [0.1, 0.05, 0.03])
def test_a_fixed_step_is_shortened_to_what_is_left(step):
    run = ch.simulate(slider(None, (0, 0, 1), lower=0.0, restitution=0.5), (0, 0.5), q=[1.0], method="rk4", step=step)
    t = 0.5 - np.sqrt(2 / G)
    assert run.q[-1, 0] == pytest.approx(0.5 * np.sqrt(2 * G) * t - 0.5 * G * t**2, abs=1e-9)
    with pytest.raises(ValueError, match="longer than the span"):
        ch.simulate(slider(None, **DRY), (0, 0.5), method="rk4", step=1.0)


def test_what_drives_take_through_a_limit_is_refused():
    system = slider(None, lower=-1.0, upper=1.0, restitution=0.5).with_constraint(ch.Drive("d", "s", "0.5 * t"))
    with pytest.raises(ValueError, match=r"drive 'd': joint 's' has rigid limits"):
        ch.simulate(system, (0, 5.0))
    bodies = [ch.Body(n, 1.0, (0, 0, 0), (0.1, 0.1, 0.1)) for n in "abc"]
    joints = [
        ch.revolute("A", "ground", "a", axis=(0, 0, 1)),
        ch.revolute("B", "ground", "b", axis=(0, 0, 1), upper=1.0, restitution=0.5),
        ch.revolute("C", "ground", "c", axis=(0, 0, 1)),
    ]
    drives = [ch.Drive("d", "A", "0.5 * t"), ch.Coupling("g", ("A", "B"), (1.0, -1.0))]
    for count in (2, 3):  # nothing else moves, or something does
        with pytest.raises(ArithmeticError, match=r"B strikes its upper limit at t = 2 s, and no impulse can stop it"):
            ch.simulate(ch.System(bodies[:count], joints[:count], constraints=drives), (0, 5.0), certificate=False)
