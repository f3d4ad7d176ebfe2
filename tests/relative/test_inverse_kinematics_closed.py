"""Inverse kinematics with loops, couplings and drives: targets are reached on the constraints and within the limits."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie import pose
from tests.absolute import loops
from tests.relative import closed
from tests.simulation.test_linearize_closed import suspension


def check(mechanism, frame: str, target: np.ndarray, found, t: float = 0.0) -> None:
    """Reached, on the constraints, within the limits."""
    assert found, found.message
    at = mechanism.poses(found.q, frame)
    error = pose.log(pose.compose(pose.inverse(at), target))
    assert np.abs(error).max() < 1e-9
    assert mechanism.constraint_violation(found.q, t=t).position.max() < 1e-11
    for joint in mechanism.tree.joints:
        if joint.screws:
            q = found.q[mechanism.tree.coordinates[joint.name]]
            assert (joint.lower <= q).all()
            assert (q <= joint.upper).all()


@pytest.mark.parametrize("crank", [0.3, 2.0, 4.5])
def test_four_bar(crank):
    """Where the rocker has to be, the crank follows, from near by and from nothing."""
    mechanism = closed.four_bar().compile()
    q, _ = closed.four_bar_state(mechanism, crank, 0.0)
    near, _ = closed.four_bar_state(mechanism, crank + 0.2, 0.0)
    target = mechanism.poses(q, "coupler")
    found = mechanism.inverse_kinematics("coupler", target, near + 1e-3)
    check(mechanism, "coupler", target, found)
    assert np.abs(found.q - q).max() < 1e-9
    check(mechanism, "coupler", target, mechanism.inverse_kinematics("coupler", target))


def test_suspension():
    """The pose of the upright at a deflection, with spherical joints and a tie rod; one out of reach is said."""
    mechanism = suspension().compile()
    q = mechanism.neutral()
    q[mechanism.tree.coordinates["lower arm"]] = 0.2
    q = mechanism.assemble(q, held=["lower arm"])
    target = mechanism.poses(q, "upright")
    found = mechanism.inverse_kinematics("upright", target)
    check(mechanism, "upright", target, found)
    assert np.abs(mechanism.difference(found.q, q)).max() < 1e-9
    away = mechanism.inverse_kinematics("upright", (5.0, 0.0, 0.0), weights=(0, 1), restarts=2)
    assert not away
    assert "out of reach" in away.message
    assert mechanism.constraint_violation(away.q).position.max() < 1e-11


def robot(*more, masses: float = 1.0) -> ch.ClosedMechanism:
    """Six axes, and two fingers of which one mimics the other; masses may be as small as they like."""
    axes = np.eye(3)[[2, 1, 1, 2, 1, 2]]
    inertia = np.full(3, 0.01 * masses)
    bodies = [ch.Body(f"b{k}", masses, (0, 0, 0.1), inertia) for k in range(6)]
    bodies += [ch.Body(name, masses, inertia=inertia) for name in ("left finger", "right finger")]
    limits = {"lower": -1.5, "upper": 1.5}
    joints = [
        ch.revolute(f"j{k}", f"b{k - 1}" if k else "ground", f"b{k}", axis=axes[k], at=(0.05, 0, 0.3), **limits)
        for k in range(6)
    ]
    joints += [
        ch.prismatic(side, "b5", f"{side} finger", axis=(0, y, 0), at=(0, 0, 0.2), lower=0.0, upper=0.04)
        for side, y in (("left", 1), ("right", -1))
    ]
    mimic = ch.Coupling("mimic", ("left", "right"), (1.0, -1.0))
    return ch.System(bodies, joints, constraints=[mimic, *more], name="robot").compile()


def test_mimic_joints():
    mechanism, rng = robot(), np.random.default_rng(1)
    for seed in range(6):
        q = np.concatenate([rng.uniform(-1.4, 1.4, 6), np.full(2, rng.uniform(0.0, 0.04))])
        target = mechanism.poses(q, "left finger")
        found = mechanism.inverse_kinematics("left finger", target, seed=seed)
        check(mechanism, "left finger", target, found)
        assert abs(found.q[6] - found.q[7]) < 1e-12
    edge = np.array([1.5, -1.5, 0.3, 1.5, 0.2, 0.1, 0.0, 0.0])  # some coordinates at their limits
    target = mechanism.poses(edge, "left finger")
    check(mechanism, "left finger", target, mechanism.inverse_kinematics("left finger", target))


def test_masses_have_no_part_in_it():
    heavy, light = robot(masses=1e3), robot(masses=1e-9)
    target = heavy.poses(np.array([0.3, -0.5, 0.8, 0.2, -0.4, 0.1, 0.01, 0.01]), "left finger")
    found = [mechanism.inverse_kinematics("left finger", target).q for mechanism in (heavy, light)]
    assert np.abs(found[0] - found[1]).max() < 1e-12


def test_drives_are_where_they_are_at_the_time():
    mechanism = robot(ch.Drive("gripper", "left", "0.01 * t"))
    q = np.array([0.3, -0.5, 0.8, 0.2, -0.4, 0.1, 0.02, 0.02])
    target = mechanism.poses(q, "left finger")
    found = mechanism.inverse_kinematics("left finger", target, t=2.0)
    check(mechanism, "left finger", target, found, t=2.0)
    assert np.abs(found.q[6:] - 0.02).max() < 1e-12


def test_starts_and_frames_that_are_wrong():
    mechanism = closed.four_bar().compile()
    both = closed.four_bar().with_constraint(ch.Drive("one", "A", 1.0), ch.Drive("two", "B", 0.0)).compile()
    with pytest.raises(ch.errors.AssemblyError, match="no coordinates near the given ones satisfy all constraints"):
        both.inverse_kinematics("rocker", (0.0, 0.0, 0.0), [1.0, 0.0, 0.0], weights=(0, 1))
    none = both.inverse_kinematics("rocker", (0.0, 0.0, 0.0), weights=(0, 1), restarts=2)
    assert not none
    assert "no start was found on the constraints" in none.message
    with pytest.raises(ValueError, match="there is no body or frame 'hand'"):
        mechanism.inverse_kinematics("hand", loops.four_bar_poses(0.3)[0])
