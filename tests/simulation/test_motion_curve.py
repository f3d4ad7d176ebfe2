"""run(t) between the points of methods that keep no slopes, against finer runs of other methods and closed forms."""

import numpy as np
import pytest

import chasles as ch

SPAN = (0.0, 0.5)
START = {"q": {"pin": 0.5}, "v": {"ball": [1.0, 2.0, 3.0], "pin": 1.0}}


def arm() -> ch.System:
    upper = ch.Body("upper", mass=1.0, com=(0, 0, -0.5), inertia=np.diag([0.1, 0.12, 0.02]))
    lower = ch.Body("lower", mass=0.7, com=(0, 0.1, -0.3), inertia=np.diag([0.05, 0.04, 0.02]))
    joints = [
        ch.spherical("ball", "ground", "upper"),
        ch.revolute("pin", "upper", "lower", axis=(1, 0, 0), at=(0, 0, -1)),
    ]
    return ch.System([upper, lower], joints)


@pytest.fixture(scope="module")
def exact() -> ch.Run:
    return ch.simulate(arm(), SPAN, step=1e-3, **START)


@pytest.mark.parametrize("space", ["SO3xR3", "SE3"])
def test_implicit_runs_are_known_between_their_steps(exact: ch.Run, space: str) -> None:
    """The curve adds less than the steps have."""
    errors, apart = [], []
    for step in (0.02, 0.01):
        run = ch.simulate(
            arm(), SPAN, method="generalized_alpha", step=step, coordinates="absolute", space=space, **START
        )
        times = run.t[:-1] + 0.37 * step
        found, known, at_steps = run(times), exact(times), exact(run.t)
        for name in ("q", "v"):
            own = np.abs(getattr(run, name) - getattr(at_steps, name)).max()
            assert np.abs(getattr(found, name) - getattr(known, name)).max() < 1.2 * own
        errors.append(np.abs(found.q - known.q).max())
        np.testing.assert_allclose(run(run.t).q, run.q, rtol=0, atol=1e-13)
        np.testing.assert_allclose(run(run.t).v, run.v, rtol=0, atol=1e-11)
        # velocities are the derivative of positions, but for what does not commute in a step
        slow = (run(times + 1e-5).q - run(times - 1e-5).q)[:, 4:] / 2e-5
        apart.append(np.abs(slow - found.v[:, 3:]).max())
    assert 3.5 < errors[0] / errors[1] < 4.5
    assert apart[0] < 1e-6
    assert apart[0] / apart[1] > 6.0  # third order


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_a_ball_that_bounces_is_known_between_impacts(coordinates: str) -> None:
    ball = ch.Body("ball", mass=1.0, inertia=np.eye(3))
    slide = ch.prismatic("z", "ground", "ball", axis=(0, 0, 1), lower=0.0, restitution=0.5)
    system = ch.System([ball], [slide], gravity=(0, 0, -10.0))
    run = ch.simulate(system, (0.0, 0.85), q=[1.0], coordinates=coordinates)
    t, struck = np.linspace(0.0, 0.85, 52), np.sqrt(0.2)
    after = t - struck
    known = np.where(t < struck, 1 - 5 * t**2, 0.5 * np.sqrt(20) * after - 5 * after**2)
    speed = np.where(t < struck, -10 * t, 0.5 * np.sqrt(20) - 10 * after)
    np.testing.assert_allclose(run(t).q[:, 0], known, rtol=0, atol=1e-11)
    np.testing.assert_allclose(run(t).v[:, 0], speed, rtol=0, atol=1e-10)


def test_points_that_were_not_kept_have_no_curve() -> None:
    run = ch.simulate(arm(), SPAN, method="generalized_alpha", step=0.02, save="final", coordinates="absolute", **START)
    with pytest.raises(ValueError, match='cannot be interpolated: not all steps were kept; save="all" keeps them'):
        run(0.1)
    run = ch.simulate(arm(), SPAN, method="generalized_alpha", step=0.02, coordinates="absolute", **START)
    with pytest.raises(ValueError, match="some of the points were left out"):
        run.part(slice(None, None, 2))(0.1)


def test_the_input_of_a_sampled_controller_is_the_one_held_then() -> None:
    body = ch.Body("body", mass=2.0, inertia=np.eye(3))
    system = ch.System([body], [ch.prismatic("x", "ground", "body", axis=(1, 0, 0))])
    run = ch.simulate(system, (0.0, 0.3), q=[1.0], controller=lambda t, q, v: [10.0 * t], period=0.1)
    found = run([0.05, 0.15, 0.25])
    np.testing.assert_allclose(found.inputs[:, 0], [0.0, 1.0, 2.0])
    np.testing.assert_allclose(found.a[:, 0], [0.0, 0.5, 1.0], atol=1e-14)
    np.testing.assert_allclose(found.q[:, 0], [1.0, 1 + 0.25 * 0.05**2, 1 + 0.25 * 0.01 + 0.0025 + 0.5 * 0.05**2])
    many = ch.simulate(system, (0.0, 0.3), q=[1.0], controller=lambda t, q, v: [10.0 * t], period=0.1, step=1e-3)
    np.testing.assert_allclose([many(t).inputs[0] for t in (0.05, 0.1, 0.15)], [0.0, 0.0, 1.0])  # one among many points


def test_a_run_backwards_is_known_between_its_steps() -> None:
    body = ch.Body("body", mass=2.0, inertia=np.eye(3))
    system = ch.System([body], [ch.prismatic("x", "ground", "body", axis=(1, 0, 0))])
    options = {"method": "generalized_alpha", "step": 0.01, "coordinates": "absolute"}
    run = ch.simulate(system, (0.3, 0.0), q=[1.0], v=[2.0], **options)
    np.testing.assert_allclose(run([0.155, 0.05]).q[:, 0], [1 - 2 * 0.145, 1 - 2 * 0.25], rtol=0, atol=1e-12)
