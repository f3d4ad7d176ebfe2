"""Simulations against exact solutions and independent references."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

import chasles as ch
from chasles.gallery.rigid_body import RigidBody
from chasles.lie import pose
from tests.simulation.systems import arm, pendulum, satellite, satellite_state, top

REFERENCE = json.loads((Path(__file__).parents[1] / "reference" / "box_top.json").read_text())


@pytest.mark.parametrize(("time", "allowed"), [("0.1", 1e-10), ("1", 1e-9)])
def test_the_top_of_boxes(time, allowed):
    """Quadruple-precision reference; the error is that of the tolerance 1e-12, grown by the fast spin."""
    run = ch.simulate(
        top(),
        (0.0, float(time)),
        v=(0.0, 20 * np.pi, 10 * np.pi),
        method=ch.integrate.RKMK("dop853"),
        rtol=1e-12,
        atol=1e-12,
    )
    wanted = REFERENCE["states"][time]["bodies"][0]
    rotation = pose.to_matrix(run["top"].pose[-1])[:3, :3]
    assert np.abs(rotation - np.array(wanted["R"], dtype=float)).max() < allowed
    spin = np.array(wanted["omega_body"], dtype=float)
    assert np.abs(run.v[-1] - spin).max() < allowed * np.abs(spin).max()


def test_a_pendulum_swings_as_elliptic_functions_say():
    amplitude, g = 2.0, 9.81
    run = ch.simulate(pendulum(), (0.0, 5.0), q=[amplitude], method=ch.integrate.RKMK("dop853"), rtol=1e-12, atol=1e-12)
    k = np.sin(amplitude / 2) ** 2
    sn = ellipj(ellipk(k) - np.sqrt(g) * run.t, k)[0]
    assert np.abs(run.joint("hinge").q[:, 0] - 2 * np.arcsin(np.sqrt(k) * sn)).max() < 1e-10
    assert np.allclose(run["bob"].position, 0.0)


def test_a_free_body_moves_as_the_exact_solution_says():
    moments = (0.3, 0.5, 0.7)
    body = RigidBody(inertia=moments, momentum=(0.3, 1.0, 0.2))
    w = np.array(body.momentum) / np.array(moments)
    system = ch.System([ch.Body("b", mass=1.0, inertia=moments)], gravity=(0.0, 0.0, 0.0))
    run = ch.simulate(
        system, (0.0, 4.0), v=[*w, 1.0, 2.0, 3.0], method=ch.integrate.RKMK("dop853"), rtol=1e-12, atol=1e-12
    )
    exact = body.reference(run.t)
    assert np.abs(run.v[:, :3] * moments - exact).max() < 1e-10
    assert np.abs(run.frame("b", "hybrid").twist[:, 3:] - (1.0, 2.0, 3.0)).max() < 1e-10  # it flies straight


def test_orders_on_a_tree_with_a_spherical_joint():
    q, v = arm().compile().neutral(), np.array([1.0, 0.5, 2.0, 0.3])
    q[4] = 1.0
    exact = ch.simulate(
        arm(), (0.0, 0.5), q, v, method=ch.integrate.RKMK("dop853"), rtol=1e-13, atol=1e-13, save="final"
    )
    for name, order in (("heun", 2), ("kutta3", 3), ("rk4", 4)):
        errors = []
        for steps in (50, 100, 200, 400):
            run = ch.simulate(arm(), (0.0, 0.5), q, v, method=ch.integrate.RKMK(name), step=0.5 / steps, save="final")
            errors.append(np.abs(run.v[-1] - exact.v[-1]).max())
        slopes = np.diff(np.log(errors)) / np.log(0.5)
        assert slopes.min() > order - 0.2, (name, errors)


def test_a_free_floating_tree_keeps_its_momentum():
    mechanism = satellite().compile()
    q, v = satellite_state(mechanism)
    run = ch.simulate(mechanism, (0.0, 10.0), q, v, method=ch.integrate.RKMK("dop853"), rtol=1e-11, atol=1e-11)
    momentum = mechanism.momentum(run.q, run.v)
    assert np.abs(momentum - momentum[0]).max() < 1e-8 * np.abs(momentum).max()
    assert run.certificate["momentum"].passed
    assert run.certificate.passed


def test_a_momentum_of_zero_is_kept_too():
    """Joint forces inside a floating system: the total is zero, so its deviation is relative to that of the parts."""
    swing = ch.JointForce("motor", "port", lambda t, q, v, p, out: out.__setitem__(0, np.cos(3 * t)))
    run = ch.simulate(satellite().with_force(swing), (0.0, 1.0))
    assert np.abs(run.v).max() > 0.1
    assert 0 < run.certificate["momentum"].value < 1e-8
    assert run.certificate.passed


def test_the_work_of_dampers_balances_the_energy():
    mechanism = satellite(damping=0.4, gravity=(0.0, 0.0, -9.81)).compile()
    q, v = satellite_state(mechanism)
    run = ch.simulate(mechanism, (0.0, 3.0), q, v, rtol=1e-10, atol=1e-10)
    assert run.energies.work[-1] < -0.1 * run.energies.kinetic[0] / 10
    assert np.ptp(run.energies.balance) < 1e-7 * np.abs(run.energies.kinetic).max()
    assert run.certificate.passed, str(run.certificate)


def test_backwards_in_time():
    there = ch.simulate(arm(), (0.0, 1.0), v=[1.0, 0.0, 0.5, 1.0], rtol=1e-11, atol=1e-12)
    back = ch.simulate(arm(), (1.0, 0.0), there.q[-1], there.v[-1], rtol=1e-11, atol=1e-12)
    assert np.abs(back.v[-1] - [1.0, 0.0, 0.5, 1.0]).max() < 1e-8


def test_stepping_equals_simulating_to_the_bit():
    control, q = [0.0, 0.0, 0.0, 1.0], arm().compile().neutral()
    run = ch.simulate(arm(), (0.0, 0.5), q, method=ch.integrate.RKMK("rk4"), step=1e-3, control=control)
    sim = ch.Simulation(arm(), 1e-3, q)
    for _ in range(len(run) - 1):
        sim.step(control)
    assert np.array_equal(sim.q, run.q[-1])
    assert np.array_equal(sim.v, run.v[-1])
    assert sim.t == pytest.approx(0.5, abs=1e-12)
    assert sim.work == run.energies.work[-1]
    again = ch.Simulation(arm(), 1e-3, q).step(control, steps=500)
    assert np.array_equal(again.q, sim.q)


def test_a_sampled_controller_holds_its_input():
    asked = []

    def controller(t, q, v):
        asked.append(t)
        return [0.0, 0.0, 0.0, -3.0 * (q[4] - 0.5) - 0.7 * v[3]]

    run = ch.simulate(arm(), (0.0, 0.2), controller=controller, period=0.01, method=ch.integrate.RKMK("rk4"), step=1e-3)
    assert np.allclose(asked, 0.01 * np.arange(20))
    assert len(run) == 201
    assert np.allclose(np.diff(run.t), 1e-3)
    sim = ch.Simulation(arm(), 1e-3)
    for _ in range(20):
        sim.step([0.0, 0.0, 0.0, -3.0 * (sim.q[4] - 0.5) - 0.7 * sim.v[3]], steps=10)
    assert np.abs(sim.v - run.v[-1]).max() < 1e-12
    assert np.ptp(run.energies.balance) < 1e-8


@pytest.mark.parametrize("how", [{"method": "rk4", "step": 3e-3}, {"rtol": 1e-6}], ids=["fixed", "adaptive"])
def test_periods_under_a_controller_are_runs_of_their_own_to_the_bit(how):
    """One solver serves all periods; each is as `simulate` does it from the state before, under the input held. From
    the second period on no solution is made of them, and from the tenth on loops are bound to their arrays."""
    period, count, asked = 0.01, 14, []

    def controller(t, q, v):
        asked.append((q, v))
        return [0.0, 0.0, 0.0, -3.0 * (q[4] - 0.5) - 0.7 * v[3]]

    run = ch.simulate(arm(), (0.0, count * period), v=[1.0, 0.5, 2.0, 0.3], controller=controller, period=period, **how)
    work = {"steps": 0, "evaluations": 0}
    for k, (q, v) in enumerate(asked):
        span = (period * k, period * (k + 1))
        alone = ch.simulate(arm(), span, q, v, control=run.inputs[np.searchsorted(run.t, span[1])], **how)
        inside = (run.t >= span[0]) & (run.t <= span[1])
        assert np.array_equal(run.t[inside], alone.t)
        assert np.array_equal(run.q[inside], alone.q)
        assert np.array_equal(run.v[inside], alone.v)
        for name in work:
            work[name] += getattr(alone.solution, name)
    assert run.solution.steps == work["steps"]
    fewer = 12 if "step" in how else 0  # no field at the end of a period, where the input jumps
    assert run.solution.evaluations == work["evaluations"] - fewer


def test_a_reset_begins_anew_to_the_bit():
    q, v, control = arm().compile().neutral(), [1.0, 0.5, 2.0, 0.3], [0.0, 0.0, 0.0, 1.0]
    fresh = ch.Simulation(arm(), 1e-3, q, v, start=2.0).step(steps=3).step(control, 20)
    used = ch.Simulation(arm(), 1e-3, v=[0.0, 0.0, 0.0, 5.0]).step(control, 15).reset(q, v, t=2.0).step(steps=3)
    for _ in range(20):
        used.step(control)
    assert (used.t, used.work) == (fresh.t, fresh.work)
    assert np.array_equal(used.q, fresh.q)
    assert np.array_equal(used.v, fresh.v)
    assert used.reset().t == 2.0
    assert np.array_equal(used.q, q)
    with pytest.raises(ValueError, match="t is nan"):
        used.reset(t=np.nan)


def test_actuators_have_gears_and_limits():
    drive = ch.Actuator("motor", "elbow", gear=2.0, lower=-1.0, upper=1.0)
    system = arm().with_actuator(drive)
    driven = ch.simulate(system, (0.0, 0.1), control=[5.0], step=1e-2, method=ch.integrate.RKMK("rk4"))
    direct = ch.simulate(arm(), (0.0, 0.1), control=[0.0, 0.0, 0.0, 2.0], step=1e-2, method=ch.integrate.RKMK("rk4"))
    assert np.array_equal(driven.v, direct.v)
    with pytest.raises(ValueError, match="the system has 1 actuators"):
        ch.simulate(system, (0.0, 0.1), control=[1.0, 2.0])


def test_results_can_be_looked_up():
    system = arm().with_frame(ch.Frame("hand", "lower", (0.0, 0.0, -1.0)))
    run = ch.simulate(system, (0.0, 1.0), v=[1.0, 0.0, 0.0, 2.0])
    hand, lower = run["hand"], run["lower"]
    assert np.allclose(np.linalg.norm(hand.position - lower.position, axis=1), 1.0)
    between = run([0.25, 0.5])
    assert between.q.shape == (2, 5)
    assert between.v.shape == (2, 4)
    speed = np.gradient(hand.position, run.t, axis=0)[5:-5]
    assert np.abs(speed - run.frame("hand", "hybrid").twist[5:-5, 3:]).max() < 1e-2
    assert np.allclose(run.joint("elbow").a, run.a[:, 3:])
    with pytest.raises(ValueError, match="no body or frame 'foot'"):
        run["foot"]
    with pytest.raises(ValueError, match="no joint 'knee'; joints: shoulder, elbow"):
        run.joint("knee")
    assert "arm: 2 bodies" in str(run)


def test_in_between_in_absolute_coordinates():
    run = ch.simulate(arm(), (0.0, 0.2), v=[1.0, 2.0, 0.5, -1.0], coordinates="absolute", step=1e-3)
    between = run(run.t[[3, 70]])
    np.testing.assert_allclose(between.poses, run.poses[[3, 70]], rtol=0, atol=1e-14)
    np.testing.assert_allclose(between.twists, run.twists[[3, 70]], rtol=0, atol=1e-13)
    between = run(0.0555)
    other = ch.simulate(arm(), (0.0, 0.0555), v=[1.0, 2.0, 0.5, -1.0], coordinates="absolute", step=5e-4)
    np.testing.assert_allclose(between.poses, other.poses[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(between.twists, other.twists[-1], rtol=0, atol=1e-7)


def test_a_point_mass_that_could_spin():
    mass = ch.System([ch.Body("bob", 1.0, (0, 0, -1.0))], [ch.spherical("pivot", "ground", "bob")])
    with pytest.raises(ValueError, match=r"about the line through its center of mass.*universal joint"):
        ch.simulate(mass, (0.0, 1.0))
    with pytest.raises(ValueError, match="a point mass can be a small ball"):
        ch.simulate(mass, (0.0, 1.0), coordinates="absolute")


def test_bad_input():
    with pytest.raises(ValueError, match="quaternion of joint 'shoulder' has length 2"):
        ch.simulate(arm(), (0.0, 1.0), q=[2.0, 0.0, 0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="q has shape"):
        ch.simulate(arm(), (0.0, 1.0), q=[1.0, 0.0])
    with pytest.raises(ValueError, match='expected "relative"'):
        ch.simulate(arm(), (0.0, 1.0), coordinates="global")
    with pytest.raises(ValueError, match="period"):
        ch.simulate(arm(), (0.0, 1.0), controller=lambda t, q, v: np.zeros(4))
    with pytest.raises(ValueError, match="give controller"):
        ch.simulate(arm(), (0.0, 1.0), period=0.1)
    with pytest.raises(ValueError, match="step is -1"):
        ch.Simulation(arm(), -1.0)
    with pytest.raises(ValueError, match="not finite"):
        ch.Simulation(arm(), 1e-3).step([0.0, np.nan, 0.0, 0.0])


def test_the_certificate_finds_a_bad_run():
    run = ch.simulate(arm(), (0.0, 2.0), v=[1.0, 1.0, 2.0, 3.0], method=ch.integrate.RKMK("euler"), step=0.01)
    assert not run.certificate.passed
    assert not run.certificate["energy balance"].passed
    assert not run.certificate["error estimate"].passed
    text = str(run.certificate)
    assert "FAILED" in text
    assert "verdict: FAILED" in text
    loose = ch.certify(run, {"energy": 1e9, "error": 1e9})
    assert loose.passed
    with pytest.raises(ValueError, match="unknown tolerance 'speed'"):
        ch.certify(run, {"speed": 1.0})
