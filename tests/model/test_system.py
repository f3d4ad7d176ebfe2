"""Bodies from shapes, systems from other systems."""

from dataclasses import replace

import numpy as np
import pytest

from chasles.model import joint as make
from chasles.model.body import Body, Frame
from chasles.model.force import JointForce, Spring, Wrench
from chasles.model.joint import Joint
from chasles.model.system import System
from chasles.screw import inertia as spatial
from chasles.screw.shape import Box, Sphere


def test_mass_from_shapes_and_density():
    """Two equal boxes side by side are one of twice the length."""
    halves = [Box((1.0, 2.0, 3.0), pose=(1, 0, 0, 0, x, 0, 0)) for x in (-0.5, 0.5)]
    body, whole = Body("two", shapes=halves, density=100.0), Body("one", shapes=[Box((2.0, 2.0, 3.0))], density=100.0)
    assert body.mass == pytest.approx(1200.0, rel=1e-15)
    np.testing.assert_allclose(body.spatial, whole.spatial, rtol=0, atol=1e-12 * 1200)
    np.testing.assert_allclose(body.com, 0, atol=1e-15)
    np.testing.assert_allclose(np.diag(body.inertia), 100 * np.array([13, 13, 8]), rtol=1e-14)


def test_shapes_without_density_are_for_drawing():
    assert Body("drawn", shapes=[Sphere(0.1)]).massless
    assert not Body("drawn", 1.0, shapes=[Sphere(0.1)]).massless


def test_three_ways_to_write_an_inertia():
    full = [[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]]
    ways = [Body("a", 2.0, (0.1, 0.2, 0.3), inertia) for inertia in (full, (0.3, 0.01, 0.02, 0.4, 0.03, 0.5))]
    np.testing.assert_array_equal(ways[0].spatial, ways[1].spatial)
    np.testing.assert_allclose(ways[0].spatial, spatial.spatial_inertia(2.0, (0.1, 0.2, 0.3), full), rtol=1e-15)
    np.testing.assert_array_equal(Body("a", 1.0, inertia=(1, 2, 2.5)).inertia, np.diag([1, 2, 2.5]))


def arm() -> System:
    system = System(
        [Body("upper", 1.0, inertia=(1, 1, 1))], [make.revolute("shoulder", "ground", "upper", axis=(0, 0, 1))]
    )
    return system.with_frame(Frame("elbow", "upper", (0, 0, 1))).with_gravity((0, 0, -1.62))


def hand() -> System:
    return System(
        [Body("palm", shapes=[Box((0.1, 0.1, 0.02))], density=1000.0), Body("finger", 0.1, inertia=(1e-4, 1e-4, 1e-4))],
        [make.revolute("knuckle", "palm", "finger", axis=(1, 0, 0), damping=0.1)],
        [Frame("tip", "finger", (0, 0, 0.1))],
        [
            Spring("tendon", ("palm", "finger"), stiffness=10.0),
            Spring("rope", ("ground", "finger"), stiffness=1.0),
            Wrench("load", "finger", [0, 0, 0, 0, 0, -1], "hybrid"),
            JointForce("motor", "knuckle", [0.2]),
        ],
    )


def test_a_system_is_grown_without_changing_the_old_one():
    first = arm()
    second = first.with_body(Body("lower", 2.0, inertia=(1, 1, 1))).with_joint(make.weld("bolt", "upper", "lower"))
    second = second.with_force(Wrench("push", "lower", np.ones(6)))
    assert (len(first.bodies), len(second.bodies), len(first.forces), len(second.forces)) == (1, 2, 0, 1)
    assert (first.mass, second.mass) == (1.0, 3.0)
    assert second.gravity == (0, 0, -1.62)
    assert second.frame("elbow").body == "upper"
    assert second.frame("lower") == Frame("lower", "lower")
    assert second.joint("bolt").kind == "weld"


def test_attaching_brings_all_names_with_the_prefix():
    system = arm().attach(hand(), make.weld("wrist", "upper", "palm", at=(0, 0, 1)), prefix="left ")
    assert [b.name for b in system.bodies] == ["upper", "left palm", "left finger"]
    assert [j.name for j in system.joints] == ["shoulder", "wrist", "left knuckle"]
    assert system.joint("wrist").child == "left palm"
    assert system.joint("left knuckle").damping == (0.1,)
    assert system.frame("left tip").body == "left finger"
    tendon, rope, load, motor = system.forces
    assert tendon.bodies == ("left palm", "left finger")
    assert rope.bodies == ("ground", "left finger")  # there is one ground
    assert (load.body, load.representation, motor.joint) == ("left finger", "hybrid", "left knuckle")
    assert system.body("left palm").mass == hand().body("palm").mass
    both = system.attach(hand(), make.weld("other wrist", "upper", "palm"), prefix="right ")
    assert len(both.bodies) == 5


@pytest.mark.parametrize(
    "base", [make.weld("base", "ground", "palm", at=(9, 9, 9)), make.free("base", "ground", "palm")]
)
def test_what_holds_the_attached_body_is_replaced(base):
    """As imported robots have it; what is attached is as if it had never stood anywhere."""
    wrist = make.weld("wrist", "upper", "palm", at=(0, 0, 1))
    loose = hand()
    standing = loose.with_joint(base)
    assert arm().attach(standing, wrist, "left ") == arm().attach(loose, wrist, "left ")
    driven = standing.with_force(JointForce("push", "base", [0.0] * standing.joint("base").nv))
    with pytest.raises(ValueError, match=r"'push'.*'base'"):
        arm().attach(driven, wrist)


def test_locking_keeps_the_name_and_the_place():
    held = arm().lock("shoulder", np.pi / 2)
    joint = held.joint("shoulder")
    assert (joint.kind, joint.nv) == ("weld", 0)
    np.testing.assert_allclose(joint.parent_frame, [np.sqrt(0.5), 0, 0, np.sqrt(0.5), 0, 0, 0], atol=1e-15)
    np.testing.assert_array_equal(arm().lock("shoulder").joint("shoulder").parent_frame, [1, 0, 0, 0, 0, 0, 0])


def test_one_part_is_changed():
    """A joint, and bodies by numbers and by density; what is not named stays."""
    changed = arm().change("joints.shoulder", upper=1.5, stop_stiffness=200.0)
    joint, before = changed.joint("shoulder"), arm().joint("shoulder")
    assert (joint.upper, joint.stop_stiffness) == ((1.5,), 200.0)
    assert joint == replace(before, upper=1.5, stop_stiffness=200.0)
    assert changed.change("joints.shoulder", upper=before.upper, stop_stiffness=before.stop_stiffness) == arm()
    ball = System([Body("ball", shapes=[Sphere(0.1)], density=1000.0), Body("other", 2.0)])
    assert ball.change("bodies.ball", mass=7.0).body("ball").mass == 7.0
    assert ball.change("bodies.ball", density=500.0).body("ball").mass == pytest.approx(ball.body("ball").mass / 2)
    larger = ball.change("bodies.ball", shapes=[Sphere(0.2)])
    assert larger.body("ball").mass == pytest.approx(8 * ball.body("ball").mass)
    assert ball.change("bodies.other", mass=3.0).body("other").mass == 3.0


@pytest.mark.parametrize(
    ("part", "values", "match"),
    [
        ("shoulder", {"upper": 1}, r"expected a part such as 'joints\.elbow'"),
        ("joints.shoulde", {"upper": 1}, r"there is no 'joints\.shoulde'; did you mean 'shoulder'"),
        ("joints.shoulder", {"uper": 1}, r"'joints\.shoulder' has no 'uper'; did you mean 'upper'"),
        ("joints.shoulder", {"lower": 2, "upper": 1}, "shoulder"),
    ],
)
def test_changes_that_cannot_be_made_say_why(part, values, match):
    with pytest.raises(ValueError, match=match):
        arm().change(part, **values)


def test_bad_forces():
    with pytest.raises(ValueError, match=r"spring 's': bodies is .* two different bodies"):
        Spring("s", ("a", "a"))
    with pytest.raises(ValueError, match=r"spring 's': stiffness is -1"):
        Spring("s", ("a", "b"), stiffness=-1)
    with pytest.raises(ValueError, match=r"joint 'j': the rest position of a spherical joint"):
        Joint("j", "a", "b", "spherical", rest=1.0)
    with pytest.raises(ValueError, match=r"wrench 'w': .*'world'"):
        Wrench("w", "a", np.zeros(6), "world")


def test_what_a_joint_prints():
    assert repr(arm().joint("shoulder")) == "<revolute joint 'shoulder': 'ground' to 'upper'>"
