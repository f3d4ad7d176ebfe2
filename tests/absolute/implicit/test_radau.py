"""Radau IIA on the group: against its own equations solved by SciPy, its orders, and stiff systems."""

import numpy as np
import pytest
import scipy.optimize

import chasles as ch
from chasles.constrained.radau import collocation, lower_factor
from chasles.lie import pose, so3
from tests.absolute.implicit.systems import errors, exact, multiplier_defect, run, run_of, stepper
from tests.absolute.implicit.test_systems import difference
from tests.absolute.loops import four_bar, four_bar_poses, four_bar_twists
from tests.absolute.systems import SPACES
from tests.simulation.test_bushing import chain

RADAU = ch.integrate.RadauIIA()
R6 = 6**0.5
# hairer1996, table IV.5.6
A = np.array(
    [
        [(88 - 7 * R6) / 360, (296 - 169 * R6) / 1800, (-2 + 3 * R6) / 225],
        [(296 + 169 * R6) / 1800, (88 + 7 * R6) / 360, (-2 - 3 * R6) / 225],
        [(16 - R6) / 36, (16 + R6) / 36, 1 / 9],
    ]
)
NODES = np.array([(4 - R6) / 10, (4 + R6) / 10, 1.0])


def test_coefficients():
    assert np.abs(collocation(NODES) - A).max() < 1e-15
    T = lower_factor(A)
    assert not np.triu(T, 1).any()
    assert (np.diag(T) > 0).all()
    U = np.linalg.solve(T, A)
    assert np.abs(np.tril(U) - np.eye(3)).max() < 1e-14


def test_a_step_solves_the_equations_of_the_method():
    """A body that tumbles: three stages of rotations and angular velocities, by SciPy's solver of equations."""
    moments, spin, h = np.array([0.3, 0.4, 0.6]), np.array([1.0, 2.0, -3.0]), 0.2

    def residual(z):
        X, V = z.reshape(2, 3, 3)
        slopes, rates = so3.dexpinv_apply(-X, V), -np.cross(V, moments * V) / moments
        return np.concatenate([X - h * A @ slopes, V - spin - h * A @ rates]).ravel()

    guess = np.concatenate([h * NODES[:, None] * spin, np.tile(spin, (3, 1))]).ravel()
    X, V = scipy.optimize.fsolve(residual, guess, xtol=1e-14).reshape(2, 3, 3)
    body = ch.System([ch.Body("b", 1.0, inertia=moments)], gravity=(0, 0, 0))
    found = run(body, h, "SO3xR3", RADAU, h, v=[*spin, 0, 0, 0])
    assert np.abs(found.twists[-1, 0, :3] - V[2]).max() < 1e-13
    assert np.abs(pose.log(found["b"].pose[-1])[:3] - X[2]).max() < 1e-13


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", ["slow", "pendulum"])
def test_orders(name, space):
    """5 in positions and velocities, 3 in multipliers."""
    exact(name)
    steps = 20 if name == "slow" else 40
    coarse, fine = (np.array(errors(run_of(name, space, RADAU, n), name)) for n in (steps, 2 * steps))
    assert (np.log2(coarse / fine) > 4.8).all()
    defects = [multiplier_defect(name, space, RADAU, n) for n in (80, 160)]
    assert defects[1] < 1e-10 or np.log2(defects[0] / defects[1]) > 2.8


def test_orders_of_a_loop():
    """And the constraints hold to rounding."""
    system, start = four_bar(), {"poses": four_bar_poses(1.0), "twists": four_bar_twists(1.0, 3.0)}
    tight = {"method": ch.integrate.RKMK("dop853"), "rtol": 1e-13, "atol": 1e-13, "save": "final"}
    best = ch.simulate(system, (0.0, 0.5), coordinates="absolute", space="SO3xR3", **tight, **start)
    runs = [run(system, 0.5, "SO3xR3", RADAU, 0.5 / n, **start) for n in (20, 40)]
    coarse, fine = (difference(found, best) for found in runs)
    assert np.log2(coarse / fine) > 4.8
    assert max(violation.max() for violation in runs[1].violations) < 1e-14


def test_stiff_bushings():
    """Periods of 2 ms and steps of 5 ms: far better than generalized alpha; and where damping makes what is fast
    infinitely stiff, few sweeps."""
    system = chain(3, 1e7)
    best = ch.simulate(
        system,
        (0.0, 0.2),
        coordinates="absolute",
        space="SO3xR3",
        method="dop853",
        rtol=1e-11,
        atol=1e-12,
        save="final",
    )
    found = run(system, 0.2, "SO3xR3", RADAU, 5e-3)
    other = run(system, 0.2, "SO3xR3", ch.integrate.GeneralizedAlpha(0.6), 5e-3)
    assert difference(found, best) < 1e-6
    assert difference(other, best) > 100 * difference(found, best)
    going = stepper(chain(3, 1e9), 1.0, "SO3xR3", RADAU, 1e-2)
    going.advance(100)
    assert going.evaluations() / 100 < 3 * 6  # three stages a sweep
