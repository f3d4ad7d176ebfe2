"""A motion that grows beyond all numbers says which joint or body, and when; others that break off do not."""

import math
import re

import numpy as np
import pytest

import chasles as ch

SPRING, STEP = 1e6, 1e-2  # 1 kg: the step is five times too long for rk4


def slider(**more):
    joint = ch.prismatic("rail", "ground", "block", axis=(1, 0, 0), stiffness=SPRING)
    return ch.System([ch.Body("block", 1.0, inertia=(0.01,) * 3)], [joint], gravity=(0, 0, 0), **more)


def growth():
    """How much longer (q, v) is after a step of rk4: the largest eigenvalue of its matrix."""
    A = STEP * np.array([[0.0, 1.0], [-SPRING, 0.0]])
    powers = [np.linalg.matrix_power(A, k) / math.factorial(k) for k in range(5)]
    return np.abs(np.linalg.eigvals(sum(powers))).max()


@pytest.mark.filterwarnings("ignore:simulate. the field")
@pytest.mark.parametrize("save", ["all", "final"])
@pytest.mark.parametrize(("coordinates", "who"), [("relative", "joint 'rail'"), ("absolute", "body 'block'")])
def test_steps_that_are_too_long_for_a_spring(coordinates, who, save):
    with pytest.warns(RuntimeWarning, match=f"runs away: at t = .* {who}"):
        run = ch.simulate(slider(), (0, 100), [0.1], method="rk4", step=STEP, coordinates=coordinates, save=save)
    assert not run.success
    assert "take a shorter step" in run.message
    assert not run.certificate.passed
    assert np.isfinite(run.solution.y).all()
    t, speed = (float(x) for x in re.search(r"runs away: at t = (\S+) s .* moves at (\S+) rad", run.message).groups())
    assert math.log(speed / (0.1 * math.sqrt(SPRING))) == pytest.approx(t / STEP * math.log(growth()), rel=0.02)


@pytest.mark.filterwarnings("ignore:simulate. the field")
def test_a_file_keeps_what_was_said_and_can_be_read(tmp_path):
    with pytest.warns(RuntimeWarning, match="runs away"):
        ch.simulate(slider(), (0, 100), [0.1], method="rk4", step=STEP, file=tmp_path / "run.h5")
    run = ch.open(tmp_path / "run.h5")
    assert "joint 'rail'" in run.message
    assert "failed" in str(run.certificate) or not run.certificate.passed
    assert np.isfinite(run.energies.kinetic[:10]).all()
    assert np.isinf(run.energies.kinetic[-1])  # beyond all numbers


@pytest.mark.filterwarnings("ignore:simulate. the step became")
def test_a_law_that_feeds_energy_in():
    def pushed(law):
        joint = ch.prismatic("rail", "ground", "block", axis=(1, 0, 0))
        force, body = ch.JointForce("push", "rail", law), ch.Body("block", 1.0, inertia=(0.01,) * 3)
        return ch.System([body], [joint], forces=[force], gravity=(0, 0, 0))

    def squared(t, q, v, p, out):
        out[0] = v[0] ** 2

    def amplified(t, q, v, p, out):
        out[0] = 100.0 * v[0]

    with pytest.warns(RuntimeWarning, match="joint 'rail'"):
        run = ch.simulate(pushed(squared), (0, 10), v=[1.0])
    assert run.t[-1] == pytest.approx(1.0)  # v = 1 / (1 - t)
    assert "shorter step" not in run.message
    with pytest.raises(ch.errors.StepError, match=r"runs away: at t = .* joint 'rail'"):
        ch.simulate(pushed(amplified), (0, 10), v=[1.0], method=ch.integrate.LieMidpoint(), step=1e-2)


def test_a_sampled_loop_with_fixed_steps():
    with pytest.warns(RuntimeWarning, match="joint 'rail'"):
        run = ch.simulate(
            *(slider(), (0, 100), [0.1]), method="rk4", step=STEP, controller=lambda t, q, v: -1e3 * v, period=0.05
        )
    assert not run.success
    assert run.t[-1] < 2


def test_what_breaks_off_for_another_reason_does_not_run_away():
    def breaks(t, q, v, p, out):
        out[0] = np.nan if t > 0.5 else 0.0

    force = ch.JointForce("push", "rail", breaks)
    joint = ch.prismatic("rail", "ground", "block", axis=(0, 0, 1))
    system = ch.System([ch.Body("block", 1.0, inertia=(0.01,) * 3)], [joint], forces=[force])
    for save in ("all", "final"):
        with pytest.warns(RuntimeWarning, match="not finite") as warned:
            run = ch.simulate(system, (0, 1), method="rk4", step=1e-2, save=save)
        assert len(warned) == 1
        assert not run.success
        assert "runs away" not in run.message


@pytest.mark.filterwarnings("ignore:simulate. the field")
@pytest.mark.parametrize(("coordinates", "who"), [("relative", "joint 'rail'"), ("absolute", "body 'block'")])
def test_steps_from_outside_say_who_runs_away(coordinates, who):
    going = ch.Simulation(slider(), STEP, [0.1], coordinates=coordinates)
    with pytest.raises(RuntimeError, match=f"runs away: at t = .* {who} .* take a shorter step"):
        going.step(steps=10_000)
