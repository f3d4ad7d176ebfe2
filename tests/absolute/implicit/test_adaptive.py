"""Steps that follow the error, projection of velocities, and the energy-momentum scheme."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.constrained.backward import GROWTH, largest_growth
from chasles.constrained.step_control import AdaptiveStepper
from chasles.gallery.overconstrained import parallelogram
from chasles.integrate.options import Options
from chasles.lie.rotation import quaternion_to_matrix
from chasles.simulation.bodies.dynamics import BodyDynamics
from tests.absolute.implicit.systems import SLOW_SPIN, SLOW_TURN, STARTS, errors, run, run_of
from tests.absolute.implicit.test_systems import difference
from tests.absolute.loops import four_bar, four_bar_poses, four_bar_twists
from tests.absolute.systems import SPACES, joined, slow_top
from tests.simulation.test_bushing import chain

EVERY = [
    ch.integrate.GeneralizedAlpha(0.8),
    ch.integrate.GeneralizedAlpha(0.8, index=3),
    ch.integrate.BLieDF(3),
    ch.integrate.BLieDF(5),
    ch.integrate.Rattle(),
    ch.integrate.EnergyMomentum(),
    ch.integrate.RadauIIA(),
    ch.integrate.HalfExplicit(5),
]
NAMES = ["alpha 2", "alpha 3", "BLieDF3", "BLieDF5", "RATTLE", "energy", "Radau", "HEM5"]
ROD = ch.Body("rod", 1.0, (0.5, 0.0, 0.0), (0.01, 0.1, 0.1))
HINGE = ch.revolute("hinge", "ground", "rod", axis=(0.0, 1.0, 0.0))


def adaptive(name, space, method, tolerance, **more):
    make, q, v, end = STARTS[name]
    options = {"rtol": tolerance, "atol": tolerance, **more}
    return ch.simulate(make(), (0.0, end), q, v, coordinates="absolute", space=space, method=method, **options)


@pytest.mark.sample(1)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize("name", STARTS)
@pytest.mark.parametrize(
    ("method", "tolerances", "gain"),
    [
        (ch.integrate.HalfExplicit(5), (1e-5, 1e-8), 1e-2),
        (ch.integrate.GeneralizedAlpha(0.9), (1e-5, 1e-7), 0.1),
        (ch.integrate.RadauIIA(), (1e-5, 1e-8), 2e-3),
        (ch.integrate.BLieDF(3), (1e-4, 1e-6), 0.02),
    ],
    ids=["HEM5", "alpha", "Radau", "BLieDF3"],
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


def scenes():
    """Systems, starts and ends: a loop, redundant constraints, stiff bushings, a law that jumps, a drive."""
    law = ch.JointForce("push", "hinge", "3 * step(t, 0.1) - 3 * step(t, 0.25) - 0.5 * v")
    end = ch.Body("end", 0.5, (0.3, 0.0, 0.0), (0.01, 0.02, 0.02))
    elbow = ch.revolute("elbow", "rod", "end", axis=(0.0, 1.0, 0.0), at=(1.0, 0.0, 0.0))
    drive = ch.Drive("motor", "hinge", "0.8 * smooth(t, 0.05, 0.3)")
    linkage = parallelogram(speed=1.0)
    return {
        "four bar": (four_bar(), {"poses": four_bar_poses(1.0), "twists": four_bar_twists(1.0, 3.0)}, 0.4),
        "parallelogram": (linkage.system, {"poses": linkage.poses, "twists": linkage.twists}, 0.5),
        "bushings": (chain(2, 1e5), {}, 0.1),
        "law": (ch.System([ROD], [HINGE], forces=[law]), {}, 0.4),
        "drive": (ch.System([ROD, end], [HINGE, elbow], constraints=[drive]), {}, 0.4),
    }


UNFIT = ("energy", "drive"), ("RATTLE", "bushings")
# the equations of the first pair are not bilinear, the dampers of the second are too strong
PAIRS = [(name, scene) for name in NAMES for scene in scenes() if (name, scene) not in UNFIT]


@pytest.mark.sample(1)
@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_every_method_chooses_its_steps(method, name):
    """The error at the end is of the size of rtol, and the certificate judges the run."""
    (system, start, end), method = scenes()[name], EVERY[NAMES.index(method)]
    more = {"coordinates": "absolute", "space": "SO3xR3", "progress": False, **start}
    best = ch.simulate(system, (0.0, end), method="dop853", rtol=1e-12, atol=1e-12, save="final", **more)
    slow = isinstance(method, ch.integrate.Rattle | ch.integrate.EnergyMomentum)
    for rtol in (1e-3, 1e-4 if slow else 1e-5):
        found = ch.simulate(system, (0.0, end), method=method, rtol=rtol, **more)
        assert found.success
        assert difference(found, best) < 20 * rtol
    assert found.t[-1] == end
    assert found.violations[0].max() < 1e-10
    assert found.certificate["joints, position"].passed if system.joints else found.certificate is not None


class Ordered(AdaptiveStepper):
    """Steps of given lengths, whatever the error."""

    lengths: tuple[float, ...] = ()

    def _first_step(self, t, y):
        return self.lengths[0]

    def _judge(self, t, used):
        return True, self.lengths[min(self.steps + 1, len(self.lengths) - 1)] / used


@pytest.mark.sample(1)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    ("method", "order", "steps"),
    [
        *((ch.integrate.BLieDF(k, tolerance=1e-13), k, 80) for k in (2, 3, 4, 5)),
        (ch.integrate.BLieDF(4, "first"), 4, 100),
        (ch.integrate.GeneralizedAlpha(0.8), 2, 100),
        (ch.integrate.GeneralizedAlpha(0.8, index=3), 2, 100),
        (ch.integrate.Rattle(), 2, 100),
        (ch.integrate.RadauIIA(), 5, 20),
    ],
    ids=str,
)
def test_orders_with_steps_of_random_lengths(method, order, steps, space):
    make, q, v, end = STARTS["slow"]
    growth = min(GROWTH.get(order, 2.0), 1.4) if isinstance(method, ch.integrate.BLieDF) else 1.4
    logs = np.log(growth) * np.random.default_rng(3).uniform(-0.5, 0.5, steps)
    off = []
    for part in (1, 2):
        lengths = np.repeat(np.exp(logs), part)
        dynamics = BodyDynamics(make(), space, projected=True)
        start = dynamics.start(0.0, q, np.array(v), None, None, False)
        Ordered.lengths = tuple(end * lengths / lengths.sum())
        going = Ordered(dynamics, method, (0.0, end), start, Options(rtol=1e-6, atol=1e-6))
        found = going.finish(progress=False)
        assert found.steps - len(lengths) in (0, 1)  # the last two share what is left
        off.append(np.abs(dynamics.split(found.y[-1])[0].reshape(-1, 7) - reference(space)).max())
    assert np.log2(off[0] / off[1]) > order - 0.25


def reference(space):
    """Central poses at the end."""
    make, q, v, end = STARTS["slow"]
    tight = {"method": "dop853", "rtol": 1e-14, "atol": 1e-14, "save": "final", "progress": False}
    best = ch.simulate(make(), (0.0, end), q, v, coordinates="absolute", space=space, **tight)
    return best.dynamics.split(best.solution.y[-1])[0].reshape(-1, 7)


def test_steps_of_backward_formulas_may_grow():
    """Published limits of stability: 1 + 2^(1/2), (1 + 5^(1/2))/2, 1.28 and 1.13."""
    found = [largest_growth(k) for k in (2, 3, 4, 5)]
    np.testing.assert_allclose(found, [1 + 2**0.5, (1 + 5**0.5) / 2, 1.2807, 1.1271], rtol=1e-4)
    assert all(GROWTH[k] < limit for k, limit in zip((2, 3, 4, 5), found, strict=True))


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
