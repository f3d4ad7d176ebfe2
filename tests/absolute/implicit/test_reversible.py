"""Steps of RATTLE that are the same backward: it goes back to its start, and the energy does not drift."""

import numpy as np
import pytest

import chasles as ch
from chasles.constrained import step_control
from chasles.constrained.step_control import CLOCK, AdaptiveStepper
from chasles.constrained.workspace import STATE_VECTOR
from chasles.integrate.options import Options
from chasles.simulation.bodies.dynamics import BodyDynamics
from tests.absolute.systems import SPACES

ECCENTRICITY = 0.6


def orbit(space):
    """A body in a plane around a center that pulls with 1/r²: period 2 pi, energy -1/2."""
    body = ch.Body("body", 1.0, inertia=(0.1, 0.1, 0.1))
    pull = ch.TwoPointForce("pull", ("ground", "body"), "1 / distance ** 2")
    system = ch.System(
        [body], [ch.planar("plane", "ground", "body", normal=(0.0, 0.0, 1.0))], forces=[pull], gravity=(0.0, 0.0, 0.0)
    )
    dynamics = BodyDynamics(system, space, projected=True)
    speed = np.sqrt((1 + ECCENTRICITY) / (1 - ECCENTRICITY))
    poses, twists = np.array([[1.0, 0, 0, 0, 1 - ECCENTRICITY, 0, 0]]), np.array([[0, 0, 0.3, 0, speed, 0]])
    return dynamics, dynamics.start(0.0, None, None, poses, twists, False)


def going(space, periods, rtol):
    dynamics, start = orbit(space)
    options = Options(rtol=rtol, atol=0.0, save="all")
    return AdaptiveStepper(dynamics, ch.integrate.Rattle(1e-14), (0.0, 2 * np.pi * periods), start, options)


def energies(run, found):
    q, v, _ = run.problem.split(found.y)
    return 0.5 * (v[..., 3:] ** 2).sum(axis=(1, 2)) - 1.0 / np.linalg.norm(q[:, 0, 4:], axis=-1)


@pytest.mark.parametrize("space", SPACES)
def test_a_run_goes_back_to_its_start(space):
    """Steps of all lengths, then the velocities turned round and the last step again: the same steps back."""
    run = going(space, 3, 1e-3)
    begun, n = run.point(), run.mechanism.n
    times = [0.0]
    for _ in range(150):
        run.advance(1)
        times.append(run.time)
    steps = np.diff(times)
    assert steps.max() > 4 * steps.min()
    STATE_VECTOR.split(run.state.point, run.packed).v[:] *= -1.0
    run.clock[CLOCK.step], run.clock[CLOCK.time] = steps[-1], 0.0
    back = [0.0]
    for _ in range(150):
        run.advance(1)
        back.append(run.time)
    np.testing.assert_allclose(np.diff(back), steps[::-1], rtol=1e-7)
    assert np.abs(run.point()[: 7 * n] - begun[: 7 * n]).max() < 1e-9
    assert np.abs(run.point()[7 * n : 13 * n] + begun[7 * n : 13 * n]).max() < 1e-9


def drift(periods, rtol, ordinary=False):
    """How far the energy goes in a run, by a straight line through it, relative to its largest error."""
    keep = step_control.next_density
    if ordinary:  # the step of the rate at hand, which forgets the one before
        step_control.next_density = lambda rate, density: rate
    try:
        run = going("SO3xR3", periods, rtol)
        found = run.finish(progress=False)
    finally:
        step_control.next_density = keep
    assert found.rejections == 0
    off = energies(run, found) + 0.5
    return abs(np.polyfit(found.t / found.t[-1], off, 1)[0]) / np.abs(off).max()


def test_the_energy_does_not_drift():
    assert drift(20, 1e-2) < 0.05
    assert drift(20, 1e-2, ordinary=True) > 0.3


def test_the_error_follows_the_tolerance():
    """After a period of the orbit, where it began."""
    off = []
    for rtol in (1e-2, 1e-3):
        run = going("SE3", 1, rtol)
        found = run.finish(progress=False)
        off.append(np.linalg.norm(run.problem.split(found.y[-1])[0].reshape(-1, 7)[0, 4:] - [1 - ECCENTRICITY, 0, 0]))
        assert off[-1] < 20 * rtol
    assert off[1] < 0.2 * off[0]


def test_densities_are_near_the_rate_to_second_order():
    """ρ of a step less the mean of U at both its ends is -ε²/4 U'', by the derivation in `reversible`: four times as
    much with twice the ε. The error after a period is of second order in ε, too."""
    apart, errors = [], []
    for rtol in (4e-3, 1e-3):
        run = going("SO3xR3", 1, rtol)
        found = run.finish(progress=False)
        steps, rates = np.diff(found.t)[:-2], np.array([run.rate(t, y) for t, y in zip(found.t, found.y, strict=True)])
        mean = 0.5 * (rates[:-1] + rates[1:])[:-2]  # the last two steps meet the end
        apart.append(np.abs(run.fineness / steps / mean - 1).max())
        errors.append(np.abs(run.problem.split(found.y[-1])[0].reshape(-1, 7)[0, 4:] - [1 - ECCENTRICITY, 0, 0]).max())
    assert 1.7 < np.log2(apart[0] / apart[1]) < 2.3
    assert 1.7 < np.log2(errors[0] / errors[1]) < 2.3


@pytest.mark.study
def test_the_energy_over_ten_thousand_periods():
    assert drift(10_000, 1e-2) < 0.02


def test_a_step_that_runs_into_a_stop_is_tried_again():
    """No state before the stop tells of it. With the steps that end in it as they are, the error is 2000 rtol."""
    rod = ch.Body("rod", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))
    stop = {"lower": -0.2, "upper": 0.2, "stop_stiffness": 1e5, "stop_damping": 10.0}
    hinge = ch.revolute("hinge", "ground", "rod", axis=(0.0, 1.0, 0.0), **stop)
    more = {"coordinates": "absolute", "space": "SO3xR3", "save": "final", "progress": False}
    system, rtol = ch.System([rod], [hinge]), 1e-4
    best = ch.simulate(system, (0.0, 0.25), rtol=1e-11, atol=1e-11, method="dop853", **more)
    run = ch.simulate(system, (0.0, 0.25), rtol=rtol, method=ch.integrate.Rattle(), **more)
    assert run.solution.rejections > 0
    assert np.abs(run.twists[-1] - best.twists[-1]).max() < 100 * rtol * np.abs(best.twists[-1]).max()


def test_a_law_that_has_no_number_ends_with_a_step():
    """Beyond a time the law is not a number: the step becomes short, not NaN."""
    rod = ch.Body("rod", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))
    hinge = ch.revolute("hinge", "ground", "rod", axis=(0.0, 1.0, 0.0))
    system = ch.System([rod], [hinge], forces=[ch.JointForce("law", "hinge", "sqrt(0.05 - t)")])
    more = {"coordinates": "absolute", "space": "SO3xR3", "progress": False}
    with pytest.raises(ch.errors.StepError, match=r"t = 0.0[45].*h = \d.*the law 'sqrt\(0.05 - t\)' of 'law' is not"):
        ch.simulate(system, (0.0, 0.1), rtol=1e-4, method=ch.integrate.Rattle(), **more)
