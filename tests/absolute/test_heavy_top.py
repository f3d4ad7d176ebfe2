"""The heavy top of mueller2013, section 5.1, on both groups: reference digits, drift and energy."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie.rotation import quaternion_to_matrix
from tests.absolute.systems import REFERENCE, SPACES, TOP_SPIN, top


@pytest.mark.parametrize("stabilization", ["projection", None])
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(("time", "tolerance"), [("0.1", 1e-9), ("1", 1e-9), ("10", 1e-8)])
def test_reference_digits(time, tolerance, space, stabilization):
    run = ch.simulate(
        top(), (0.0, float(time)), v=TOP_SPIN, coordinates="absolute", space=space, stabilization=stabilization,
        method=ch.integrate.RKMK("dop853"), rtol=1e-12, atol=1e-12, save="final",
    )  # fmt: skip
    state = REFERENCE[time]["bodies"][0]
    R, r, w, v = (np.array(state[name], dtype=float) for name in ("R", "r", "omega_body", "v_body"))
    pose, twist = run.poses[-1, 0], run.twists[-1, 0]
    assert np.abs(quaternion_to_matrix(pose[:4]) - R).max() < tolerance
    assert np.abs(pose[4:] - r).max() < tolerance
    assert max(np.abs(twist[:3] - w).max(), np.abs(twist[3:] - v).max()) < tolerance * np.abs(w).max()


@pytest.mark.parametrize("space", SPACES)
def test_drift_without_stabilization(space):
    """Figure 2: on SE(3) the pivot stays to rounding, on SO(3)xR3 it drifts linearly.

    The energy of the rotation about the pivot drifts as the method does on Euler's equations, alike on both; on
    SO(3)xR3 the energy of the drifting center is another.
    """
    run = ch.simulate(
        top(), (0.0, 10.0), v=TOP_SPIN, coordinates="absolute", space=space, stabilization=None,
        method=ch.integrate.RKMK("rk4"), step=1e-3, save=100,
    )  # fmt: skip
    drift = run.violations[0][:, 0]
    energy = run.energies.kinetic
    assert energy[0] == pytest.approx(13972.398950622205, rel=1e-14)
    w, r = run.twists[-1, 0, :3], np.array([0.5, 0.0, 0.0])
    about_pivot = np.diag([0.36, 0.306, 0.09]) + 21.6 * (r @ r * np.eye(3) - np.outer(r, r))
    assert 0.5 * w @ about_pivot @ w - energy[0] == pytest.approx(-3.90188e-3, abs=1e-7)
    assert energy[-1] - energy[0] == pytest.approx(-3.90188e-3 if space == "SE3" else -2.95601e-3, abs=1e-7)
    if space == "SE3":
        assert drift.max() < 2e-14
    else:
        assert drift[-1] == pytest.approx(8.094e-6, rel=1e-3)
        assert drift[50] == pytest.approx(0.5 * drift[-1], rel=0.01)


@pytest.mark.parametrize("space", SPACES)
def test_projection_keeps_the_constraints_to_rounding(space):
    run = ch.simulate(
        top(), (0.0, 2.0), v=TOP_SPIN, coordinates="absolute", space=space, method=ch.integrate.RKMK("rk4"), step=1e-3
    )
    position, speed = run.violations
    assert position.max() < 1e-13 * 0.5
    assert speed.max() < 1e-13 * np.abs(run.twists).max()
