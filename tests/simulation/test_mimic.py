"""Runs of trees some of whose joints follow others: against the same with couplings, in both kinds of coordinates."""

from dataclasses import replace

import numpy as np
import pytest

import chasles as ch
from chasles.ensembles.quantity import quantity
from chasles.io.model_writer import model_text
from chasles.model.mimic import as_couplings
from tests.relative.mimics import special

START = {"shoulder": 0.3, "wrist": -0.2, "left": 0.4}
SPEED = {"shoulder": 1.0, "wrist": -2.0, "left": 3.0}


def gripper(**more) -> ch.System:
    """An arm with two fingers, of which the second follows the first, and a tip that slides with them."""
    flat = {"inertia": (1e-3, 1.1e-3, 5e-4)}
    bodies = [
        ch.Body("arm", 2.0, (0, 0, 0.2), (0.05, 0.05, 0.02)),
        ch.Body("palm", 1.0, (0, 0, 0.05), (0.01, 0.012, 0.008)),
        ch.Body("finger 1", 0.2, (0.02, 0, 0.04), **flat),
        ch.Body("finger 2", 0.2, (-0.02, 0, 0.04), **flat),
        ch.Body("tip", 0.1, (0, 0, 0.02), (1e-4, 1e-4, 1e-4)),
    ]
    joints = [
        ch.revolute("shoulder", "ground", "arm", axis=(0, 1, 0), damping=0.1),
        ch.revolute("wrist", "arm", "palm", axis=(1, 0, 0), at=(0, 0, 0.4), damping=0.05),
        ch.revolute("left", "palm", "finger 1", axis=(0, 1, 0), at=(0.03, 0, 0.1), stiffness=2.0, damping=0.02),
        ch.revolute(
            *("right", "palm", "finger 2"),
            axis=(0, 1, 0),
            at=(-0.03, 0, 0.1),
            damping=0.03,
            armature=1e-3,
            friction=0.01,
            mimic="left",
            mimic_ratio=-1.0,
        ),
        ch.prismatic(
            *("slide", "finger 2", "tip"),
            axis=(0, 0, 1),
            at=(0, 0, 0.08),
            stiffness=30.0,
            rest=0.01,
            mimic="right",
            mimic_ratio=-0.02,
            mimic_offset=0.01,
        ),
    ]
    return ch.System(bodies, joints, name="gripper", **more)


def with_all(system, start, offsets=True):
    """A start by name with the followers, as couplings need it."""
    right = -start["left"]
    return {**start, "right": right, "slide": -0.02 * right + (0.01 if offsets else 0.0)}


@pytest.fixture(scope="module")
def runs():
    forces = [ch.JointForce("push", "slide", 0.5), ch.JointForce("pull", "right", "0.05 * sin(9 * t) - 0.01 * q")]
    forces.append(ch.Spring("between", ("arm", "tip"), ((0, 0, 0), (0, 0, 0)), stiffness=5.0, length=0.4))
    system = gripper(forces=forces, actuators=[ch.Actuator("motor", "right", gear=2.0)])
    how = {"rtol": 1e-11, "atol": 1e-13, "control": 0.1}
    own = ch.simulate(system, (0, 0.5), START, SPEED, **how)
    coupled = as_couplings(system)
    closed = ch.simulate(coupled, (0, 0.5), with_all(coupled, START), with_all(coupled, SPEED, False), **how)
    return own, closed


def test_motion_energies_and_reactions_are_those_of_couplings(runs):
    own, closed = runs
    assert own.success
    assert own.joints == ("shoulder", "wrist", "left")
    times = np.linspace(0, 0.5, 7)
    ours, theirs = own(times), closed(times)
    assert np.abs(ours.poses - theirs.poses).max() < 1e-10
    assert np.abs(ours.twists - theirs.twists).max() < 1e-9
    for name in closed.joints:
        one, other = ours.joint(name), theirs.joint(name)
        assert np.abs(one.q - other.q).max() < 1e-10
        assert np.abs(one.v - other.v).max() < 1e-9
        assert np.abs(one.a - other.a).max() < 1e-8 * np.abs(other.a).max()
        here, there = ours.reactions(name), theirs.reactions(name)
        assert np.abs(here - there).max() < 1e-8 * np.abs(there).max()
    for part in ("kinetic", "gravity", "springs", "work"):
        one, other = getattr(ours.energies, part), getattr(theirs.energies, part)
        assert np.abs(one - other).max() < 1e-10 * theirs.energies.kinetic.max()
    assert np.ptp(own.energies.balance) < 1e-10


def test_the_certificate_passes(runs):
    assert runs[0].certificate.passed


def test_absolute_coordinates_hold_the_couplings(runs):
    own = runs[0]
    system = replace(own.system, actuators=())
    tree = ch.simulate(system, (0, 0.2), list(START.values()), list(SPEED.values()), rtol=1e-10, atol=1e-12)
    how = {"coordinates": "absolute", "rtol": 1e-10, "atol": 1e-12}
    for q, v in ((list(START.values()), list(SPEED.values())), (START, SPEED)):
        bodies = ch.simulate(system, (0, 0.2), q, v, **how)
        assert not bodies.start_changes
        assert np.abs(bodies.poses[-1] - tree.poses[-1]).max() < 1e-9
    assert "right mimics left" in bodies.constraints


def test_start_values_by_name_of_followers():
    system, plan = gripper(), {"step": 1e-3}
    one = ch.simulate(system, (0, 2e-3), {"right": -0.4}, {"slide": 0.02}, **plan)
    other = ch.simulate(system, (0, 2e-3), {"left": 0.4}, {"left": 1.0}, **plan)
    assert np.abs(one.q - other.q).max() < 1e-15
    ch.simulate(system, (0, 2e-3), {"left": 0.4, "right": -0.4}, **plan)
    with pytest.raises(
        ValueError, match=r"q\.right: is 0\.4; joint 'right' follows 'left', which is at 0\.4 and puts it"
    ):
        ch.simulate(system, (0, 2e-3), {"left": 0.4, "right": 0.4}, **plan)


def test_files_results_and_plots(tmp_path, runs):
    own = runs[0]
    text = model_text(own.system)
    (tmp_path / "gripper.toml").write_text(text)
    study = ch.load(tmp_path / "gripper.toml")
    assert study.system == own.system
    assert 'mimic = "right"' in text
    assert (
        ch.load(tmp_path / "gripper.toml", set={"joints.right.mimic_ratio": -0.5}).system.joint("right").mimic_ratio
        == -0.5
    )
    own.save(tmp_path / "run.h5")
    again = ch.open(tmp_path / "run.h5")
    assert np.array_equal(again.q, own.q)
    assert np.array_equal(again.joint("slide").q, own.joint("slide").q)
    assert np.allclose(own.joint("slide").q, -0.02 * own.joint("right").q + 0.01, rtol=0, atol=1e-16)
    # what acts on a follower is along its own coordinate
    assert np.array_equal(own.force("push"), np.full((len(own), 1), 0.5))
    assert np.allclose(own.force("slide")[:, 0], -30.0 * (own.joint("slide").q[:, 0] - 0.01), rtol=0, atol=1e-14)
    # tables have the motion of followers, and quantities their names
    own.export(tmp_path / "run.csv")
    header = (tmp_path / "run.csv").read_text().split("\n")[0].split(",")
    table = np.loadtxt(tmp_path / "run.csv", delimiter=",", skiprows=1)
    for name, unit in (("right", "rad"), ("slide", "m")):
        motion = own.joint(name)
        assert np.array_equal(table[:, header.index(f"{name}.q0 [{unit}]")], motion.q[:, 0])
        assert np.array_equal(table[:, header.index(f"{name}.v0 [{unit}/s]")], motion.v[:, 0])
    assert table.shape[1] == len(header)
    assert quantity("final(joints.slide.velocity)").of(own) == own.joint("slide").v[-1, 0]
    for part in ("kinetic", "gravity", "springs", "work", "total", "balance"):
        assert quantity(f"initial(energy.{part})").of(own) == getattr(own.energies, part)[0]


def test_friction_that_sticks_and_rigid_limits_of_followers():
    """As if the leader had them: friction adds up by the ratios, limits are met where the follower meets them."""
    turning = {"inertia": (0.1, 0.1, 0.1)}
    bodies = [ch.Body(name, 1.0, **turning) for name in "ab"]

    def pair(one, two):
        first = ch.revolute("one", "ground", "a", axis=(0, 0, 1), **one)
        second = ch.revolute(
            "two", "ground", "b", axis=(0, 0, 1), mimic="one", mimic_ratio=-2.0, mimic_offset=0.1, **two
        )
        return ch.System(bodies, [first, second])

    sticks = pair({"friction": 0.1, "friction_speed": 0.0}, {"friction": 0.2, "friction_speed": 0.0})
    run = ch.simulate(sticks, (0, 2), v=[1.0])
    deceleration = (0.1 + 2 * 0.2) / (0.1 + 4 * 0.1)
    stop = 1.0 / deceleration
    assert run.q[-1, 0] == pytest.approx(0.5 * stop, abs=1e-9)
    assert run.v[-1, 0] == 0.0
    assert ch.simulate(sticks, (0, 1), control=0.49).q[-1, 0] == 0.0
    assert ch.simulate(sticks, (0, 1), control=0.51).q[-1, 0] == pytest.approx(0.5 * 0.01 / 0.5, abs=1e-9)
    strikes = pair({}, {"lower": -0.5, "restitution": 0.5})
    run = ch.simulate(strikes, (0, 1), v=[1.0])
    hit = (0.1 + 0.5) / 2
    assert run.q[-1, 0] == pytest.approx(hit - 0.5 * (1.0 - hit), abs=1e-9)
    assert run.joint("two").v[-1, 0] == pytest.approx(1.0, abs=1e-9)
    with pytest.raises(ValueError, match="give both the same restitution"):
        pair({"upper": 0.2, "restitution": 0.3}, {"lower": -0.5, "restitution": 0.5}).compile()
    with pytest.raises(ValueError, match="leave nothing"):
        pair({"lower": 1.0}, {"lower": -0.5}).compile()


def test_linearization_equilibrium_and_sensitivities():
    system = gripper()
    mechanism = system.compile()
    q, v = np.array(list(START.values())), np.array(list(SPEED.values()))
    found, step = ch.linearize(system, q, v), 1e-6

    def differences(function):
        return np.stack([(function(step * e) - function(-step * e)) / (2 * step) for e in np.eye(3)], -1)

    by_place = differences(lambda x: mechanism.accelerations_under(q + x, v))
    by_speed = differences(lambda x: mechanism.accelerations_under(q, v + x))
    assert np.abs(found.A[3:, :3] - by_place).max() < 1e-7 * np.abs(by_place).max()
    assert np.abs(found.A[3:, 3:] - by_speed).max() < 1e-7 * np.abs(by_speed).max()
    rest = ch.equilibrium(system, {"shoulder": 3.0, "left": 0.1})
    assert np.abs(mechanism.accelerations_under(rest.q, np.zeros(3))).max() < 1e-9

    def family(ratio, offset):
        changed = {"slide": {"mimic_ratio": ratio, "mimic_offset": offset}}
        return replace(system, joints=[replace(joint, **changed.get(joint.name, {})) for joint in system.joints])

    given = {"ratio": -0.02, "offset": 0.01}
    exact = ch.sensitivities(family, (0, 0.02), q, v, parameters=given, step=1e-3, wrt=["q", *given])
    h = 1e-5
    for k, name in enumerate(given):
        ahead, behind = (
            ch.simulate(family(**{**given, name: given[name] + s}), (0, 0.02), q, v, step=1e-3) for s in (h, -h)
        )
        expected = (ahead.q[-1] - behind.q[-1]) / (2 * h)
        assert np.abs(exact.state[-1][:3, 3 + k] - expected).max() < 1e-7 * max(np.abs(expected).max(), 1e-3)


@pytest.mark.study
def test_free_bodies_move_on_their_own_space():
    system = special("between free bodies")
    mechanism = system.compile()
    rng = np.random.default_rng(3)
    q, v = mechanism.random(rng), rng.normal(size=mechanism.nv)
    one = ch.simulate(system, (0, 0.3), q, v, rtol=1e-10, atol=1e-12)
    other = ch.simulate(system, (0, 0.3), q, v, space="SE3", rtol=1e-10, atol=1e-12)
    assert np.abs(one.poses[-1] - other.poses[-1]).max() < 1e-8
    depends = mechanism.tree.dependence
    closed = ch.simulate(
        as_couplings(system), (0, 0.3), depends.coordinates(q), depends.velocities(v), rtol=1e-10, atol=1e-12
    )
    assert np.abs(one.poses[-1] - closed.poses[-1]).max() < 1e-8
    assert one.certificate.passed


def test_what_is_not_followed_is_refused_before():
    loaded = {"friction_coefficient": 0.1, "bearing_radius": 0.01}
    system = gripper()
    joints = [replace(joint, friction=0.0, **loaded) if joint.name == "right" else joint for joint in system.joints]
    with pytest.raises(ValueError, match="joint 'right' has a friction_coefficient, which is not supported where"):
        ch.simulate(replace(system, joints=joints), (0, 0.1))
