"""A kind of joint is known everywhere or nowhere: what is missing for a new one is listed here."""

from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.constraint.joints import EQUATIONS
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text
from chasles.model.joint import Joint
from chasles.model.joint_kind import JOINT_KINDS
from chasles.model.system import placement
from chasles.relative.tree import OWN_RECURSIONS

VALUES = {
    "axis": (0.6, 0.0, 0.8),
    "axes": [(1, 0, 0), (0.6, 0.8, 0)],
    "normal": (0, 0.6, 0.8),
    "pitch": 0.1,
    "screws": [(0, 0, 1, 0, 0, 0.2), (1, 0, 0, 0, 0.3, 0)],
}


def joint_of(kind, **more):
    return getattr(ch, kind.name)("j", "ground", "b", **{one.name: VALUES[one.name] for one in kind.parameters}, **more)


@pytest.mark.parametrize("kind", JOINT_KINDS.values(), ids=JOINT_KINDS)
def test_a_kind_is_known_to_all_layers(kind):
    assert hasattr(ch, kind.name), "model/joint.py: no function makes it, or chasles/__init__.pyi does not list it"
    joint = joint_of(kind)
    assert kind.any_screws or kind.name in EQUATIONS, "constraint/joints.py: no equations"
    assert kind.has_screws or not kind.nv or kind.name in OWN_RECURSIONS, "relative/tree.py: no recursion"
    body = ch.Body("b", 1.0, (0.1, 0.2, 0.3), (0.3, 0.2, 0.25))
    system = ch.System([body], [joint])
    again = study_of_text(model_text(system), Path()).system.joint("j")
    assert again == joint, "io/model_writer.py does not write it"
    tree = system.compile()
    assert (tree.nq, tree.nv) == (joint.nq, joint.nv), "relative/tree.py: no recursion"
    rows = sum(tile.rows for tile in system.compile("absolute").tiles)
    assert rows == 6 - joint.nv, "constraint/joints.py: no equations"
    at, speed = tree.neutral(), np.zeros(tree.nv)
    bodies = system.compile("absolute")
    found = bodies.accelerations(*(state := bodies.state(tree.poses(at))), bodies.accelerations_under(*state))
    expected = tree.accelerations(at, speed, tree.accelerations_under(at, speed))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("kind", JOINT_KINDS.values(), ids=JOINT_KINDS)
def test_the_table_says_how_a_joint_moves(kind):
    """Its traits, against displacements of the joint."""
    joint, rng = joint_of(kind), np.random.default_rng(1)
    poses = []
    for _ in range(20):
        q = rng.normal(size=joint.nq)
        if kind.quaternion:
            q[:4] /= np.linalg.norm(q[:4])
        poses.append(placement(joint, q))
    poses = np.array(poses)
    turned, moved = np.abs(poses[:, 1:4]).max() > 1e-9, np.abs(poses[:, 4:]).max() > 1e-9
    assert kind.holds_point == (not moved)
    assert ("rad" in joint.velocity_units) == turned
    assert len(joint.coordinate_units) == joint.nq
    assert len(joint.velocity_units) == joint.nv
    if kind.angle is not None:  # |q_angle| is the angle of the rotation
        q = np.where(np.arange(joint.nq) == kind.angle, 0.7, 1.3)
        assert 2 * np.arccos(placement(joint, q)[0]) == pytest.approx(0.7, abs=1e-12)
    if kind.line:
        axis = np.array(VALUES["axis"])
        np.testing.assert_allclose(np.cross(poses[:, 1:4], axis), 0, atol=1e-12)
        np.testing.assert_allclose(np.cross(poses[:, 4:], axis), 0, atol=1e-12)
    if kind.plane:
        normal = np.array(VALUES["normal"])
        np.testing.assert_allclose(np.cross(poses[:, 1:4], normal), 0, atol=1e-12)
        np.testing.assert_allclose(poses[:, 4:] @ normal, 0, atol=1e-12)


def test_a_joint_made_by_hand_has_as_many_screws_as_its_kind():
    with pytest.raises(ValueError, match="joint 'j': has 2 screws; expected 1 of a revolute joint"):
        Joint("j", "ground", "b", "revolute", [(0, 0, 1, 0, 0, 0), (1, 0, 0, 0, 0, 0)])
