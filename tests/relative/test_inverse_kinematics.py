"""Position inverse kinematics: targets that can be reached are, within the limits, and others are reported."""

import numpy as np
import pytest

from chasles.lie import pose
from chasles.model.body import Body, Frame
from chasles.model.joint import helical, revolute
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from tests.relative.zoo import MOVING, ZOO, state


def away(mechanism, frame, q, target):
    """Angle and distance from a target."""
    error = pose.log(pose.compose(pose.inverse(mechanism.poses(q, frame)), target))
    return np.linalg.norm(error[:3]), np.linalg.norm(mechanism.poses(q, frame)[4:] - target[4:])


@pytest.mark.parametrize("name", [name for name, mechanism in MOVING.items() if mechanism.nv >= 6])
def test_reaches_poses_of_random_configurations(name):
    mechanism = MOVING[name]
    for seed in range(20):
        target = mechanism.poses(state(mechanism, 100 + seed)[0], "tool")
        found = mechanism.inverse_kinematics("tool", target, seed=seed)
        assert found, found
        angle, distance = away(mechanism, "tool", found.q, target)
        assert angle < 1e-9
        assert distance < 1e-9


def arm_with_limits(width: float) -> Mechanism:
    """Six axes through the wrist, elbow and shoulder of an arm, each within ±width."""
    axes = np.eye(3)[[2, 1, 1, 2, 1, 2]]
    bodies = [Body(f"b{k}", 1.0, (0, 0, 0.1), (0.01, 0.01, 0.01)) for k in range(6)]
    joints = [
        revolute(
            *(f"j{k}", "ground" if k == 0 else f"b{k - 1}", f"b{k}"),
            axis=axes[k],
            at=(0.05, 0.0, 0.3),
            lower=-width,
            upper=width,
        )
        for k in range(6)
    ]
    return Mechanism(System(bodies, joints, [Frame("tool", "b5", (0.0, 0.1, 0.2))]))


def test_limits_hold():
    mechanism = arm_with_limits(1.2)
    rng = np.random.default_rng(1)
    solved = 0
    for seed in range(30):
        target = mechanism.poses(rng.uniform(-1.2, 1.2, 6), "tool")
        found = mechanism.inverse_kinematics("tool", target, seed=seed)
        assert np.abs(found.q).max() <= 1.2
        solved += found.success
    assert solved == 30
    # at the corner of the box only one direction is left to each coordinate
    corner = np.array([1.2, -1.2, 1.2, -1.2, 1.2, 1.2])
    found = mechanism.inverse_kinematics("tool", mechanism.poses(corner, "tool"), 0.9 * corner)
    assert found


def test_position_only_and_orientation_only():
    mechanism = arm_with_limits(2.0)
    target = mechanism.poses(np.array([0.3, 0.8, -0.5, 0.4, 0.9, -0.2]), "tool")
    placed = mechanism.inverse_kinematics("tool", target, weights=(0, 1))
    angle, distance = away(mechanism, "tool", placed.q, target)
    assert placed
    assert distance < 1e-9
    assert angle > 1e-3
    turned = mechanism.inverse_kinematics("tool", target, weights=(1, 0))
    angle, distance = away(mechanism, "tool", turned.q, target)
    assert turned
    assert angle < 1e-9
    assert distance > 1e-3


def test_out_of_reach_comes_as_near_as_it_can():
    mechanism = arm_with_limits(np.pi)
    for height in (3.0, 50.0):
        target = np.array([1.0, 0, 0, 0, 0, 0, height])
        found = mechanism.inverse_kinematics("tool", target, weights=(0, 1), restarts=3)
        assert not found
        assert "out of reach" in found.message
        assert found.residual == pytest.approx(np.linalg.norm(mechanism.poses(found.q, "tool")[4:] - target[4:]))
        others = mechanism.poses(np.random.default_rng(3).uniform(-np.pi, np.pi, (20_000, 6)), "tool")
        assert found.residual < np.linalg.norm(others[:, 4:] - target[4:], axis=1).min()


def test_bad_input():
    mechanism = arm_with_limits(1.0)
    target = np.array([1.0, 0, 0, 0, 0.1, 0, 1.0])
    with pytest.raises(ValueError, match="no body or frame 'hand'"):
        mechanism.inverse_kinematics("hand", target)
    with pytest.raises(ValueError, match="fixed to the ground"):
        mechanism.inverse_kinematics("ground", target)
    with pytest.raises(ValueError, match="target"):
        mechanism.inverse_kinematics("tool", np.zeros(5))
    with pytest.raises(ValueError, match="weights"):
        mechanism.inverse_kinematics("tool", target, weights=(0, 0))
    with pytest.raises(ValueError, match=r"joint 'j2' is .* outside of its limits"):
        mechanism.inverse_kinematics("tool", target, [0, 0, 2.0, 0, 0, 0])
    with pytest.raises(ValueError, match="iterations"):
        mechanism.inverse_kinematics("tool", target, iterations=0)
    with pytest.raises(ValueError, match="fixed to the ground"):
        ZOO["fixed"].inverse_kinematics("tool", target)


def test_angles_are_those_nearest_to_the_start():
    """Without limits every whole turn more is a solution too; none is added to where the search started."""
    mechanism = arm_with_limits(np.inf)
    rng, most = np.random.default_rng(7), 0.0
    for seed in range(20):
        target = mechanism.poses(rng.uniform(-np.pi, np.pi, 6), "tool")
        start = rng.uniform(-20, 20, 6)
        found = mechanism.inverse_kinematics("tool", target, start, seed=seed)
        assert found, found
        assert max(away(mechanism, "tool", found.q, target)) < 1e-8
        most = max(most, np.abs(found.q - start).max())
    assert most <= np.pi * (1 + 1e-12)


def test_turns_of_a_screw_and_those_that_limits_ask_for_are_kept():
    screw = System(
        [Body("nut", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01))],
        [helical("thread", "ground", "nut", axis=(0, 0, 1), pitch=0.01)],
    )
    mechanism = Mechanism(screw)
    found = mechanism.inverse_kinematics("nut", (0.0, 0.0, 0.2), weights=(0, 1))
    assert found
    assert mechanism.poses(found.q, "nut")[6] == pytest.approx(0.2, abs=1e-9)
    hinge = revolute("hinge", "ground", "arm", axis=(0, 1, 0), lower=5.0, upper=5.0 + np.pi)
    arm = System([Body("arm", 1.0, (0.1, 0, 0), (0.01, 0.01, 0.01))], [hinge])
    target = Mechanism(arm).poses(np.array([7.0]), "arm")
    found = Mechanism(arm).inverse_kinematics("arm", target, [5.1])
    assert found.q == pytest.approx([7.0])
