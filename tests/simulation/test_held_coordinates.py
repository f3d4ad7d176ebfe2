"""What holds coordinates lets go in time: under forces that jump, between steps, and at the limits of one freedom."""

import numpy as np
import pytest

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


@pytest.mark.parametrize("steps", [{}, {"step": 0.03, "method": "rk4"}, {"save": [0.5, 1.0, 2.0, 3.0]}])
@pytest.mark.parametrize("law", ["15 * step(t, 1)", switched])
def test_a_force_that_jumps_frees_what_friction_holds(law, steps):
    run = ch.simulate(slider(law, **DRY), (0, 3.0), **steps)
    assert run.q[-1, 0] == pytest.approx(0.5 * 2.5 * 2.0**2, rel=1e-9)
    assert not run.q[run.t <= 1.0].any()
    if "save" in steps:
        np.testing.assert_array_equal(run.t, steps["save"])
        assert run.q[2, 0] == pytest.approx(0.5 * 2.5, rel=1e-9)


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
