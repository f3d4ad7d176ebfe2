"""Steps of bodies that are far from the origin and fast: as many as the motion needs, however it is written."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import chasles as ch

GM, RADIUS = 3.986004418e14, 6.878e6
SPEED = np.sqrt(GM / RADIUS)
SPAN = 300.0


@ch.law
def attraction(t, pose, twist, p, out):
    x, y, z = pose[4], pose[5], pose[6]
    square = x * x + y * y + z * z
    k = -p[0] * p[1] / (square * np.sqrt(square))
    for i in range(3):
        out[i] = 0.0
        out[3 + i] = k * pose[4 + i]


def satellite():
    force = ch.Wrench("gravity", "sat", attraction, parameters=[GM, 100.0], representation="hybrid")
    body = ch.Body("sat", 100.0, (0, 0, 0), (10.0, 12.0, 15.0))
    return ch.System([body], gravity=(0, 0, 0), forces=[force])


def peer(spin):
    inertia = np.array([10.0, 12.0, 15.0])

    def rate(t, y):
        x, w = y[:3], y[6:]
        return np.concatenate([y[3:6], -GM * x / np.linalg.norm(x) ** 3, -np.cross(w, inertia * w) / inertia])

    start = np.concatenate([[RADIUS, 0, 0, 0, SPEED, 0], spin])
    return solve_ivp(rate, (0, SPAN), start, method="RK45", rtol=1e-8, atol=1e-10)


@pytest.mark.sample(1)
@pytest.mark.parametrize("spin", [(0, 0, 0), (0.01, 0.02, 0.03), (0.1, 0.2, 0.3)], ids=["still", "slow", "fast"])
@pytest.mark.parametrize(
    "options",
    [{}, {"coordinates": "absolute", "space": "SE3"}, {"coordinates": "absolute", "space": "SO3xR3"}],
    ids=["relative", "SE3", "SO3xR3"],
)
def test_a_satellite_takes_the_steps_that_its_spin_needs(options, spin):
    truth = peer(spin)
    run = ch.simulate(
        satellite(), (0, SPAN), q=[1, 0, 0, 0, RADIUS, 0, 0], v=[*spin, 0, SPEED, 0], max_evaluations=10**5, **options
    )
    assert run.success
    assert run.solution.steps <= 4 * len(truth.t)  # SciPy has no attitude to follow
    angle = SPEED / RADIUS * SPAN
    place = RADIUS * np.array([np.cos(angle), np.sin(angle), 0])
    assert np.linalg.norm(run["sat"].position[-1] - place) < 1e-6 * SPEED * SPAN
    np.testing.assert_allclose(run["sat"].twist[-1, :3], truth.y[6:, -1], atol=1e-5 * max(*spin, 1e-3))


def test_steps_do_not_depend_on_where_a_body_is_or_how_fast_it_drifts():
    """A free body that turns and is pushed by a force in its own axes: elsewhere, and in a train, it does the same.
    Angles must not become less exact where distances are large."""
    body = ch.Body("b", 1.0, inertia=(1.0, 2.0, 3.0))
    system = ch.System([body], gravity=(0, 0, 0), forces=[ch.Wrench("jet", "b", (0, 0, 0, 1.0, 0, 0))])
    here = ch.simulate(system, (0, 20), v=[0.3, 1.0, 0.2, 0, 0, 0])
    there = ch.simulate(system, (0, 20), q=[1, 0, 0, 0, 1e7, 0, 0], v=[0.3, 1.0, 0.2, 0, 1e4, 0])
    assert there.solution.steps < 2 * here.solution.steps
    np.testing.assert_allclose(there["b"].orientation[-1], here["b"].orientation[-1], atol=1e-7)
