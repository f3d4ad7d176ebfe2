"""Friction that sticks or depends on loads, and rigid limits: absolute coordinates move as joint coordinates do."""

import numpy as np
import pytest

import chasles as ch
from tests.simulation.test_loaded_friction import pendulum
from tests.simulation.test_rigid_limits import slider_crank
from tests.simulation.work import judge_at_few_times

STICKS = {"friction_speed": 0.0}
OPTIONS = {"rtol": 1e-11, "certificate": False}


def double_pendulum(turn=1.0):
    """With friction in both joints, and limits of the second."""
    limits = {"lower": -0.4, "upper": 0.5} if turn > 0 else {"lower": -0.5, "upper": 0.4}
    joints = [
        ch.revolute("hip", "ground", "thigh", axis=(0, turn, 0), friction=0.3, static_friction=0.5, **STICKS),
        ch.revolute(
            "knee", "thigh", "shin", axis=(0, turn, 0), at=(0, 0, -1), restitution=0.6, friction=0.1, **limits, **STICKS
        ),
    ]
    return ch.System([ch.Body(name, 1.0, (0, 0, -0.5), (0.1, 0.1, 0.01)) for name in ("shin", "thigh")], joints)


def loop(**more):
    return slider_crank(lower=0.75, restitution=0.3, **more), {"q": {"A": -np.deg2rad(80.0)}, "v": {"A": 4.0}}


CASES = {
    "tree": lambda: (double_pendulum(), {"q": {"hip": 1.0, "knee": 0.3}}, 1.4),
    "turned": lambda: (double_pendulum(-1.0), {"q": {"hip": -1.0, "knee": -0.3}}, 2.0),
    "loop": lambda: (*loop(), 2.0),
    "loop that sticks": lambda: (*loop(friction=1.0, static_friction=2.0, **STICKS), 1.8),
    "bearing": lambda: (pendulum(0.0), {"q": [1.0]}, 0.1),
}


def same(one, other, size=1e-8):
    assert [found.event.name for found in one.events] == [found.event.name for found in other.events]
    assert len(one.events) > 0
    assert np.abs([a.t - b.t for a, b in zip(one.events, other.events, strict=True)]).max() < size
    assert np.abs(one.q[-1] - other.q[-1]).max() < size
    assert np.abs(one.v[-1] - other.v[-1]).max() < size
    assert one.energies.work[-1] == pytest.approx(other.energies.work[-1], abs=size)


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.study] * (case in ("turned", "loop"))) for case in CASES]
)
def test_the_same_motion(case):
    system, start, end = CASES[case]()
    one, other = (
        ch.simulate(system, (0.0, end), **start, **OPTIONS, coordinates=name) for name in ("relative", "absolute")
    )
    same(one, other)
    assert np.abs(one.a[-1] - other.a[-1]).max() < 1e-6 * np.abs(one.a).max()
    for joint in () if "loop" in case else system.joints:  # a planar loop does not tell all of them
        forces = [run.reactions(joint.name)[-1] for run in (one, other)]
        assert np.abs(forces[0] - forces[1]).max() < 1e-6 * np.abs(one.reactions(joint.name)).max()
    for strike, again in zip(one.strikes, other.strikes, strict=True):
        assert strike.names == again.names
        assert strike.lost == pytest.approx(again.lost, abs=1e-8)
        np.testing.assert_allclose(strike.after, again.after, atol=1e-8)


@pytest.mark.parametrize(
    "options",
    [{"method": "radau5", "step": 2e-3}, {"space": "SE3"}, {"trivialization": "right"}, {"stabilization": "baumgarte"}],
    ids=["radau5", "SE3", "right", "baumgarte"],
)
@pytest.mark.first(2)
def test_other_ways_of_absolute_coordinates(options):
    system, start, _ = CASES["tree"]()
    end, start = 0.4, {**start, "q": {"hip": 0.5, "knee": -0.35}, "v": {"knee": -0.5}}  # it strikes its limit soon
    one = ch.simulate(system, (0.0, end), **start, **OPTIONS)
    other = ch.simulate(
        system, (0.0, end), **start, **(OPTIONS if "step" not in options else {}), coordinates="absolute", **options
    )
    same(one, other)


def test_files_and_the_certificate(tmp_path, monkeypatch):
    judge_at_few_times(monkeypatch.setattr)
    system, start, _ = CASES["loop that sticks"]()
    run = ch.simulate(system, (0.0, 0.5), **start, coordinates="absolute", file=tmp_path / "run.h5")
    assert run.certificate.status == "passed"
    read = ch.open(tmp_path / "run.h5")
    assert [(one.event.name, one.t) for one in read.events] == [(one.event.name, one.t) for one in run.events]
    assert np.array_equal(read.q, run.q)
    np.testing.assert_array_equal(read.force("guide"), run.force("guide"))


def test_what_is_refused_before_anything_is_computed():
    with pytest.raises(ValueError, match=r"proportion to its load, .* take method=\"dopri5\" in place of Gener"):
        ch.simulate(pendulum(0.0), (0, 1.0), coordinates="absolute", method="generalized_alpha", step=0.01)
    system, start, _ = CASES["tree"]()
    with pytest.raises(ValueError, match=r"'hip' sticks or strikes, .* take method=\"radau5\""):
        ch.simulate(system, (0, 1.0), **start, coordinates="absolute", method="bliedf3", step=0.01)
    with pytest.raises(ValueError, match=r"'hip' sticks or strikes, .* EnergyMomentum cannot hold a coordinate; take"):
        ch.simulate(system, (0, 1.0), **start, coordinates="absolute", method="energy_momentum", step=0.01)
    cross = ch.universal("cross", "ground", "rod", friction=0.1, **STICKS)
    with pytest.raises(ValueError, match=r"not for a universal one; use coordinates=\"relative\""):
        ch.simulate(ch.System([ch.Body("rod", 1.0, (0, 0, 0), (1, 1, 1))], [cross]), (0, 1.0), coordinates="absolute")
    with pytest.raises(ValueError, match="only simulate supports"):
        ch.Simulation(system, 0.01, coordinates="absolute")
