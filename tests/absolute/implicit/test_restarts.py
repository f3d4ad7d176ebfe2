"""What runs carry from step to step: angles over full turns, starts in the middle, checkpoints, events, tolerances."""

import numpy as np
import pytest

import chasles as ch
from chasles.constrained.run import ConstrainedStepper
from chasles.constrained.step_control import AdaptiveStepper
from chasles.integrate.options import Options
from chasles.simulation.bodies.dynamics import BodyDynamics
from tests.absolute.systems import double_pendulum

DOUBLE, DOUBLE_V = double_pendulum(), [3.0, 0.0, 0.0, 2.0, 1.0, -1.0]
HALF = [ch.integrate.HalfExplicit(3), ch.integrate.HalfExplicit(5)]
CONTROLLED = [
    ch.integrate.HalfExplicit(5),
    ch.integrate.GeneralizedAlpha(),
    ch.integrate.GeneralizedAlpha(index=3),
    ch.integrate.BLieDF(3),
    ch.integrate.Rattle(),
    ch.integrate.EnergyMomentum(),
    ch.integrate.RadauIIA(),
]


def shaft(**more):
    body = ch.Body("shaft", 1.0, (0.0, 0.0, 0.0), (0.1, 0.1, 0.2))
    return ch.System([body], [ch.revolute("axle", "ground", "shaft", axis=(0.0, 0.0, 1.0), **more)])


def slider(damping):
    body = ch.Body("slider", 1.0, inertia=(0.1, 0.1, 0.1))
    return ch.System([body], [ch.prismatic("rail", "ground", "slider", axis=(1.0, 0.0, 0.0), damping=damping)])


@pytest.mark.parametrize("method", HALF, ids=str)
def test_angles_of_half_explicit_methods_do_not_drift_from_the_poses(method):
    """Each step ends with the angle of its pose, not with the one that was predicted."""
    run = ch.simulate(
        shaft(stiffness=2.0), (0.0, 20.0), v=[9.0], coordinates="absolute", method=method, rtol=1e-5, atol=1e-5
    )
    counted = run.dynamics.angles(run.solution.y)[:, 0]
    pose = run.poses[:, 0]
    turned = 2.0 * np.arctan2(pose[:, 3], pose[:, 0])
    off = (counted - turned + np.pi) % (2 * np.pi) - np.pi
    assert np.abs(counted).max() > 2.0
    assert np.abs(off).max() < 1e-12
    exact = 9.0 / np.sqrt(10.0) * np.sin(np.sqrt(10.0) * run.t)
    assert np.abs(run.joint("axle").q[:, 0] - exact).max() < 0.05


@pytest.mark.parametrize("period", [0.01, 0.02, 0.05])
def test_index_3_starts_again_in_each_sampling_period(period):
    """Its velocities are off the constraints by O(h²); a start must not add to that."""
    rods = [ch.Body(f"rod {k}", 1.0 + k, (0.5, 0.1, 0.0), (0.06, 0.1, 0.15)) for k in range(2)]
    balls = [ch.spherical("a", "ground", "rod 0"), ch.spherical("b", "rod 0", "rod 1", at=(1.0, 0.0, 0.0))]
    more = {
        "coordinates": "absolute",
        "space": "SO3xR3",
        "method": ch.integrate.GeneralizedAlpha(index=3),
        "step": 0.01,
    }
    more |= {"v": [1.0, 2.0, -1.0, 0.5, -3.0, 2.0], "progress": False}
    plain = ch.simulate(ch.System(rods, balls), (0.0, 0.5), **more)
    sampled = {"controller": lambda t, q, v: np.zeros(len(v)), "period": period}
    run = ch.simulate(ch.System(rods, balls), (0.0, 0.5), **more, **sampled)
    assert run.success
    assert run.violations[1].max() < 2.0 * plain.violations[1].max()


@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [{"step": 0.01}, {"rtol": 1e-4, "atol": 1e-8}], ids=["fixed", "adaptive"])
@pytest.mark.parametrize("method", CONTROLLED, ids=str)
def test_runs_are_resumed_to_the_same_bits(method, options):
    dynamics = BodyDynamics(DOUBLE, "SO3xR3", projected=True)
    start = dynamics.start(0.0, None, np.array(DOUBLE_V), None, None, False)
    make = ConstrainedStepper if "step" in options else AdaptiveStepper

    def begun():
        return make(dynamics, method, (0.0, 0.5), start, Options(**options))

    whole = begun().finish(progress=False)
    first = begun()
    first.advance(17)
    second = begun()
    second.restore(first.solution(False, "").checkpoint)
    rest = second.finish(progress=False)
    assert 0 < len(rest.t) < len(whole.t)
    assert np.array_equal(rest.t, whole.t[-len(rest.t) :])
    assert np.array_equal(rest.y, whole.y[-len(rest.t) :])


def test_a_damper_too_strong_for_rattle_is_an_error():
    """Its sweeps over velocities diverge if c h / 2 m > 1; they must not be taken for a result."""
    calm = ch.simulate(
        slider(20.0), (0.0, 0.2), v=[1.0], coordinates="absolute", method=ch.integrate.Rattle(), step=0.01
    )
    assert np.abs(calm.joint("rail").v[-1, 0] - np.exp(-20.0 * 0.2)) < 2e-3
    with pytest.raises(ch.errors.StepError, match="did not converge in step 1"):
        ch.simulate(slider(240.0), (0.0, 0.2), v=[1.0], coordinates="absolute", method=ch.integrate.Rattle(), step=0.01)


@pytest.mark.parametrize("method", CONTROLLED, ids=str)
def test_adaptive_runs_of_all_kinds_end(method):
    """Without an absolute tolerance, with an event when the room for points is full, over a very long span, empty."""
    more = {"coordinates": "absolute", "method": method, "progress": False}
    still = ch.simulate(slider(0.0), (0.0, 1.0), v=[1.0], rtol=1e-6, atol=0.0, **more)
    assert still.joint("rail").q[-1, 0] == pytest.approx(1.0, abs=1e-9)
    for when in np.linspace(0.05, 0.07, 4):  # four of them: the room is full at one event or another
        stop = ch.Event(lambda t, y, p, when=when: t - when, terminal=True)
        run = ch.simulate(DOUBLE, (0.0, 1.0), v=DOUBLE_V, rtol=1e-4, atol=1e-8, save=3, events=[stop], **more)
        assert run.t[-1] == pytest.approx(when, abs=1e-9)
        assert (np.diff(run.t) > 0).all()
    spin = ch.System([ch.Body("top", 1.0, inertia=(0.1, 0.2, 0.3))])
    begun = ch.simulate(spin, (0.0, 1e6), twists=[[1e4, 0.0, 0.0, 0.0, 0.0, 0.0]], poses=[[1, 0, 0, 0, 0, 0, 0]],
                        events=[ch.Event(lambda t, y, p: t - 1e-4, terminal=True)], rtol=1e-4, **more)  # fmt: skip
    assert begun.t[-1] == pytest.approx(1e-4, abs=1e-9)
    assert ch.simulate(ch.System([]), (0.0, 1.0), **more).success


@pytest.mark.parametrize("method", [ch.integrate.HalfExplicit(3), *CONTROLLED[1:]], ids=str)
def test_adaptive_runs_end_at_the_end_and_not_with_a_tiny_step(method):
    """Ends that no sum of steps meets, also backwards; the last two steps share what is left."""
    part = 0.1 if isinstance(method, ch.integrate.Rattle) else 1.0  # it takes many steps
    for start, length in ((0.0, part / 3), (0.1, 0.7 * part / 3), (1e3, part / 7), (0.3, -part / 3)):
        end = start + length
        run = ch.simulate(
            *(DOUBLE, (start, end)), v=DOUBLE_V, coordinates="absolute", method=method, rtol=1e-4, atol=1e-6,
            progress=False,
        )  # fmt: skip
        steps = np.abs(np.diff(run.t))
        assert run.success
        assert (run.t[0], run.t[-1]) == (start, end)
        assert len(steps) > 5
        assert steps[-1] > 0.4 * steps[-2]
