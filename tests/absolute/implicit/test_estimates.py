"""The estimated error of a step is the error of the step: against the exact motion from where the step began."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import chasles as ch
from chasles.constrained.step_control import CLOCK, AdaptiveStepper
from chasles.integrate.options import Options
from chasles.simulation.bodies.dynamics import BodyDynamics

MOMENTS = np.array([0.02, 0.03, 0.045])
ATOL = 1e-3


def spinning():
    return ch.System([ch.Body("body", 1.0, (0, 0, 0), MOMENTS)], [ch.free("free", "ground", "body")])


def state_of(going):
    """Rotation and angular velocity of the body."""
    central, velocity, _ = going.problem.split(going.point())
    pose, twist = going.mechanism.poses(central)[0], going.mechanism.twists(central, velocity)[0]
    return Rotation.from_quat(pose[[1, 2, 3, 0]]), twist[:3]


def exact(turn, spin, h):
    """Euler's equations from a state, by SciPy."""

    def rates(t, y):
        w, q = y[:3], y[3:]
        return np.concatenate(
            [
                np.cross(MOMENTS * w, w) / MOMENTS,
                0.5 * np.array([*(q[3] * w + np.cross(q[:3], w)), -q[:3] @ w]),
            ]
        )

    y = solve_ivp(rates, (0, h), [*spin, *turn.as_quat()], method="DOP853", rtol=1e-13, atol=1e-15).y[:, -1]
    return Rotation.from_quat(y[3:]), y[:3]


@pytest.mark.parametrize("local", [True, False], ids=["local", "textbook"])
@pytest.mark.parametrize("rho", [0.3, 0.8])
@pytest.mark.parametrize(("speed", "ruler"), [(0.1, "angles"), (30.0, "velocities")])
def test_generalized_alpha(local, rho, speed, ruler):
    """Slow rotations have the larger errors in angles, fast ones in angular velocities: both constants are seen."""
    method, h = ch.integrate.GeneralizedAlpha(rho, local=local, tolerance=1e-13), 0.004 / speed**0.5
    dynamics = BodyDynamics(spinning(), "SO3xR3", projected=True)
    start = dynamics.start(0.0, None, speed * np.array([0.7, 1.0, -0.4, 0, 0, 0]), None, None, False)
    going = AdaptiveStepper(
        dynamics, method, (0.0, 1e3 * h), start, Options(rtol=0.0, atol=ATOL, max_step=h, save="final")
    )
    going.advance(40)  # until steps are as long as they may be, and what the start lacks has decayed
    before, (turn, spin) = going.time, state_of(going)
    going.advance(1)
    assert going.time - before == pytest.approx(h)
    new_turn, new_spin = exact(turn, spin, h)
    found_turn, found_spin = state_of(going)
    angle, velocity = np.linalg.norm((new_turn.inv() * found_turn).as_rotvec()), np.linalg.norm(found_spin - new_spin)
    assert (angle > velocity) == (ruler == "angles")
    assert going.state.errors[0] * going.tolerances[1] * np.sqrt(6) == pytest.approx(max(angle, velocity), rel=0.05)


@pytest.mark.parametrize("ratio", [1.0, 0.7], ids=["equal steps", "a shorter step"])
@pytest.mark.parametrize(("speed", "ruler"), [(0.1, "angles"), (30.0, "velocities")])
@pytest.mark.parametrize("k", [2, 3, 4, 5])
def test_bliedf(k, speed, ruler, ratio):
    """The first k steps are exact, so that the next one shows the error of the formula alone."""
    h = {"angles": (0.01, 0.03, 0.05, 0.08), "velocities": (0.01, 0.02, 0.03, 0.05)}[ruler][k - 2] / max(speed, 1.0)
    dynamics = BodyDynamics(spinning(), "SO3xR3", projected=True)
    start = dynamics.start(0.0, None, speed * np.array([0.7, 1.0, -0.4, 0, 0, 0]), None, None, False)
    method = ch.integrate.BLieDF(k, "exact", tolerance=1e-14)
    going = AdaptiveStepper(
        dynamics, method, (0.0, 1e3 * h), start, Options(rtol=0.0, atol=ATOL, max_step=h, save="final")
    )
    going.clock[CLOCK.step] = h
    going.advance(k)
    assert going.time == pytest.approx(k * h)
    going.clock[CLOCK.step] = ratio * h
    before, (turn, spin) = going.time, state_of(going)
    going.advance(1)
    assert going.time - before == pytest.approx(ratio * h)
    new_turn, new_spin = exact(turn, spin, ratio * h)
    found_turn, found_spin = state_of(going)
    angle, velocity = np.linalg.norm((new_turn.inv() * found_turn).as_rotvec()), np.linalg.norm(found_spin - new_spin)
    assert (angle > velocity) == (ruler == "angles")
    assert going.state.errors[0] * going.tolerances[1] * np.sqrt(6) == pytest.approx(max(angle, velocity), rel=0.05)
