"""Joints that close loops: coordinates found from the poses of their bodies are those of absolute coordinates."""

import csv

import numpy as np
import pytest

import chasles as ch
from chasles.cli.run import left_limits


def press(**thread) -> ch.System:
    """A screw that moves a nut along a rail: revolute, helical, prismatic; and a collar that turns and slides."""
    bodies = [ch.Body(name, 1.0, (0.01, 0.02, 0), (0.01, 0.02, 0.015)) for name in ("screw", "nut")]
    tilted = np.array([0.9, 0.1, -0.3, 0.2, 0.02, 0.01, 0.03])
    tilted[:4] /= np.linalg.norm(tilted[:4])
    joints = [
        ch.revolute("bearing", "ground", "screw", axis=(0.6, 0, 0.8), stiffness=0.5),
        ch.helical("thread", "screw", "nut", axis=(0.6, 0, 0.8), pitch=0.02, **thread),
        ch.prismatic("rail", "ground", "nut", axis=(0.6, 0, 0.8), lower=-0.01, upper=0.01),
    ]
    frames = [ch.Frame("tip", "nut", tuple(tilted))]
    return ch.System(bodies, joints, frames=frames, gravity=(0, 0, 0), name="press")


@pytest.fixture(scope="module")
def runs():
    system = press()
    turned = {"cut": [["thread"], ["rail"]]}["cut"]
    options = {"v": {"bearing": 40.0}, "assemble": True, "rtol": 1e-9, "certificate": False}
    save = np.linspace(0, 1.0, 41)
    found = [ch.simulate(system.compile("relative", cut=cut), (0, 1), **options, save=save) for cut in turned]
    return [*found, ch.simulate(system, (0, 1), **options, save=save, coordinates="absolute")]


def test_all_cuts_tell_the_same_of_each_joint(runs):
    for name in ("bearing", "thread", "rail"):
        exact = runs[-1].joint(name)
        for run in runs[:-1]:
            found = run.joint(name)
            for what in ("q", "v", "a"):
                one, other = getattr(found, what), getattr(exact, what)
                assert one == pytest.approx(other, abs=1e-6 * np.abs(other).max()), (name, what)
    assert np.abs(runs[0].joint("thread").q).max() > 2 * np.pi  # full turns are counted


def test_an_angle_that_closes_a_loop_is_counted_by_its_velocity():
    bodies = [ch.Body(name, 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01)) for name in ("crank", "arm")]
    joints = [
        ch.revolute("motor", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("pin", "crank", "arm", axis=(0, 0, 1), at=(0.1, 0, 0)),
        ch.revolute("far", "ground", "arm", axis=(0, 0, -1), child_at=(-0.1, 0, 0)),
    ]
    system = ch.System(bodies, joints, gravity=(0, 0, 0))  # both turn as one
    run = ch.simulate(
        system.compile("relative", cut=["far"]), (0, 1), v={"motor": 30.0}, save=np.linspace(0, 1, 8), certificate=False
    )
    assert run.joint("far").q[:, 0] == pytest.approx(-run.joint("motor").q[:, 0] - run.joint("pin").q[:, 0], abs=1e-6)


def test_tables_have_frames_and_joints_that_close_loops(runs, tmp_path):
    run = runs[0]
    with pytest.warns(UserWarning, match="reactions are not unique: 'bearing', 'thread', 'rail' in "):  # screw and rail
        run.export(tmp_path / "run.csv")
    with (tmp_path / "run.csv").open() as stream:
        rows = list(csv.reader(stream))
    table = dict(zip(rows[0], np.array(rows[1:], dtype=float).T, strict=True))
    assert table["thread.q0 [rad]"] == pytest.approx(run.joint("thread").q[:, 0])
    for k, axis in enumerate("xyz"):
        assert table[f"tip.{axis} [m]"] == pytest.approx(run["tip"].position[:, k])
    assert table["kinetic [J]"] == pytest.approx(run.energies.kinetic)


def test_limits_that_nothing_enforces_are_told_when_they_are_left(runs):
    (told,) = left_limits(runs[0])
    assert told.startswith("joint 'rail' left its limits -0.01 to 0.01 m at t = ")
    assert "stop_stiffness" in told
