"""Steps that follow the error, projection of velocities, and the energy-momentum scheme."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.lie.rotation import quaternion_to_matrix
from tests.absolute.implicit.systems import SLOW_SPIN, SLOW_TURN, STARTS, bruls_top, errors, run, run_of
from tests.absolute.systems import SPACES, joined, slow_top


def adaptive(name, space, method, tolerance, **more):
    make, q, v, end = STARTS[name]
    options = {"rtol": tolerance, "atol": tolerance, **more}
    return ch.simulate(make(), (0.0, end), q, v, coordinates="absolute", space=space, method=method, **options)


@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(
    ("method", "tolerances", "gain"),
    [(ch.integrate.HalfExplicit(5), (1e-5, 1e-8), 1e-2), (ch.integrate.GeneralizedAlpha(0.9), (1e-5, 1e-7), 0.1)],
    ids=["HEM5", "alpha"],
)
def test_errors_follow_the_tolerance_and_beat_fixed_steps(method, tolerances, gain, name, space):
    coarse, fine = (adaptive(name, space, method, tolerance) for tolerance in tolerances)
    off = [max(errors(found, name)) for found in (coarse, fine)]
    assert off[1] < gain * off[0]
    fixed = run_of(name, space, method, fine.solution.steps)
    assert errors(fine, name)[0] < 2.0 * errors(fixed, name)[0]
    assert fine.solution.rejections < 0.25 * fine.solution.steps
    assert fine.violations[0].max() < 1e-13


def test_steps_follow_the_motion():
    """A pendulum that a stop throws back: steps become short at the stop, and long again."""
    body = ch.Body("rod", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))
    joint = ch.revolute(
        "hinge", "ground", "rod", axis=(0.0, 1.0, 0.0), lower=-0.5, upper=1.9, stop_stiffness=1e5, stop_damping=5.0
    )
    system = ch.System([body], [joint])
    exact = ch.simulate(system, (0.0, 1.0), method=ch.integrate.RKMK("dop853"), rtol=1e-12, atol=1e-12, save="final")
    found = ch.simulate(
        *(system, (0.0, 1.0)),
        coordinates="absolute",
        method=ch.integrate.HalfExplicit(5),
        rtol=1e-7,
        atol=1e-7,
        space="SO3xR3",
    )
    steps = np.diff(found.t)
    assert steps.max() > 30 * steps[:-1].min()
    assert abs(found.joint("hinge").q[-1, 0] - exact.q[-1, 0]) < 1e-4
    assert found.solution.rejections > 0


def test_saving_events_and_ends():
    options = {"method": ch.integrate.HalfExplicit(5), "rtol": 1e-7, "atol": 1e-7, "coordinates": "absolute"}
    start = (slow_top(), (0.0, 0.5), SLOW_TURN, SLOW_SPIN)
    every = ch.simulate(*start, **options)
    assert every.t[0] == 0.0
    assert every.t[-1] == 0.5
    assert len(every) == every.solution.steps + 1
    assert len(ch.simulate(*start, **options, save="final")) == 2
    times = ch.simulate(*start, **options, save=[0.1, 0.2, 0.5])
    np.testing.assert_allclose(times.poses[-1], every.poses[-1], atol=1e-12)
    level = times["top"].position[0, 2]
    event = ch.Event(lambda t, y, p: y[6] - level, terminal=True, name="down")
    ended = ch.simulate(*start, **options, events=[event])
    assert ended.t[-1] < 0.5
    assert abs(ended.poses[-1, 0, 6] - level) < 1e-7


@pytest.mark.parametrize(
    "method",
    [
        ch.integrate.Rattle(),
        ch.integrate.BLieDF(3),
        ch.integrate.EnergyMomentum(),
        ch.integrate.GeneralizedAlpha(index=3),
    ],
    ids=str,
)
def test_other_methods_need_a_step(method):
    with pytest.raises(ValueError, match="takes fixed steps"):
        ch.simulate(bruls_top(), (0.0, 1.0), coordinates="absolute", space="SO3xR3", method=method)


@pytest.mark.parametrize("space", SPACES)
def test_velocities_are_projected(space):
    method = ch.integrate.GeneralizedAlpha(0.8, tolerance=1e-6, project_velocity=True)
    found = run_of("pendulum", space, method, 200, save="all")
    assert found.violations[1].max() < 1e-12 * np.abs(found.twists).max()
    plain = run_of("pendulum", space, ch.integrate.GeneralizedAlpha(0.8, tolerance=1e-6), 200, save="all")
    assert plain.violations[1].max() > 10 * found.violations[1].max()
    assert errors(found, "pendulum")[0] < 1.1 * errors(plain, "pendulum")[0]
    with pytest.raises(ValueError, match="project_velocity=True needs index=2"):
        ch.integrate.GeneralizedAlpha(index=3, project_velocity=True)


@pytest.mark.parametrize("name", STARTS)
def test_energy_momentum_is_of_order_2_and_keeps_energy_and_momentum(name):
    method = ch.integrate.EnergyMomentum()
    coarse, fine = (np.array(errors(run_of(name, "SO3xR3", method, n), name)) for n in (200, 400))
    assert (np.log2(coarse / fine) > 1.9).all()
    found = run_of(name, "SO3xR3", method, 200, save="all")
    energy = found.energies
    assert np.ptp(energy.total) < 1e-11 * energy.kinetic.max()
    mechanism, (central, velocity, _) = found.mechanism, found.dynamics.split(found.solution.y)
    rotations = quaternion_to_matrix(central[..., :4])
    turning = np.einsum("tbij,bj,tbj->tbi", rotations, mechanism.moments, velocity[..., :3])
    masses = np.array([body.mass for body in mechanism.system.bodies])
    orbital = np.cross(central[..., 4:], masses[:, None] * velocity[..., 3:])
    about_vertical = (turning + orbital).sum(axis=1)[:, 2]
    assert np.ptp(about_vertical) < 1e-11 * np.abs(turning).max()
    assert found.violations[0].max() < 1e-14


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "cylindrical", "planar", "universal"])
def test_energy_momentum_with_joints_of_bilinear_rows(kind):
    system = replace(joined(kind, True), forces=())
    v = np.random.default_rng(5).normal(size=ch.Mechanism(system).nv)
    found = run(system, 0.5, "SO3xR3", ch.integrate.EnergyMomentum(), 5e-3, v=v, save="all")
    energy = found.energies
    assert np.ptp(energy.total) < 1e-11 * (energy.kinetic.max() + np.ptp(energy.gravity))
    assert found.violations[0].max() < 1e-13


def test_energy_momentum_refuses_what_is_not_bilinear():
    with pytest.raises(ValueError, match="at most bilinear"):
        run(joined("helical", True), 0.1, "SO3xR3", ch.integrate.EnergyMomentum(), 0.01)
    with pytest.raises(ValueError, match=r'give space="SO3xR3"'):
        run(slow_top(), 0.1, "SE3", ch.integrate.EnergyMomentum(), 0.01)
