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
