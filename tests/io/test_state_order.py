"""States in the order of Pinocchio and MuJoCo: poses and velocities of all bodies agree with the libraries."""

import numpy as np
import pytest

import chasles as ch
from chasles.lie.rotation import quaternion_to_matrix

LINK = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial>'
URDF = f"""<robot name="r">
{"".join(f'<link name="{name}">{LINK}</link>' for name in "abcdefg")}
<joint name="z last" type="revolute"><parent link="a"/><child link="g"/><axis xyz="0 0.6 0.8"/>
  <origin xyz="0.3 0 0.1" rpy="0.1 0.2 0.3"/><limit lower="-1" upper="2" effort="7" velocity="3"/></joint>
<joint name="plane" type="planar"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/>
  <origin xyz="0.1 0.2 0.3" rpy="0.3 0.1 0.2"/></joint>
<joint name="turn" type="continuous"><parent link="b"/><child link="c"/><axis xyz="0 1 0"/><origin xyz="0 0 1"/></joint>
<joint name="skew" type="continuous"><parent link="c"/><child link="d"/><axis xyz="0 0.6 0.8"/>
  <limit effort="5" velocity="2"/></joint>
<joint name="float" type="floating"><parent link="a"/><child link="e"/><origin xyz="0 1 0" rpy="1 0 0"/></joint>
<joint name="an early one" type="prismatic"><parent link="d"/><child link="f"/><axis xyz="1 0 0"/>
  <limit lower="0" upper="2" effort="100" velocity="1"/></joint>
</robot>"""
MJCF = """<mujoco>
<worldbody>
  <body name="one" pos="0 0 1"><freejoint/><geom size="0.1"/>
    <body name="two" pos="0.2 0 0"><joint type="ball" pos="0.1 0 0"/><geom size="0.1"/>
      <body name="three" pos="0 0.3 0"><joint type="slide" axis="0 0 1"/><joint name="h" axis="1 1 0" ref="0.3"/>
        <geom size="0.1"/></body></body></body>
  <body name="four" pos="1 0 0"><joint name="a" axis="0 1 0"/><geom size="0.1"/></body>
</worldbody></mujoco>"""


def states(mechanism, rng, count=3):
    q = mechanism.retract(mechanism.neutral(), rng.normal(size=(count, mechanism.nv)))
    return np.array(q), rng.normal(size=(count, mechanism.nv))


def alike(order, mechanism, q, v):
    """There and back again, one state or many."""
    again = order.back(*order.to(q, v))
    wrapped = np.abs(again[0] - q)
    assert np.minimum(wrapped, np.abs(wrapped - 2 * np.pi)).max() < 1e-14
    assert np.abs(again[1] - v).max() < 1e-14
    assert np.abs(order.to(q[0], v[0])[1] - order.to(q, v)[1][0]).max() < 1e-15
    assert np.array_equal(order.to(q[0]), order.to(q)[0])


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_pinocchio(base, tmp_path):
    pinocchio = pytest.importorskip("pinocchio")
    (tmp_path / "robot.urdf").write_text(URDF)
    study = ch.load(tmp_path / "robot.urdf", base=base)
    mechanism = study.system.compile()
    root = () if base == "fixed" else (pinocchio.JointModelFreeFlyer(),)
    model = pinocchio.buildModelFromXML(URDF, *root)
    data, order = model.createData(), ch.io.pinocchio_order(mechanism, model)
    q, v = states(mechanism, np.random.default_rng(1))
    for place, speed in zip(q, v, strict=True):
        pinocchio.forwardKinematics(model, data, *order.to(place, speed))
        pinocchio.updateFramePlacements(model, data)
        poses, twists = mechanism.poses(place), mechanism.twists(place, speed)
        for k, body in enumerate(mechanism.bodies):
            frame = model.getFrameId(body)
            there = data.oMf[frame]
            assert np.abs(quaternion_to_matrix(poses[k, :4]) - there.rotation).max() < 1e-12
            assert np.abs(poses[k, 4:] - there.translation).max() < 1e-12
            moving = pinocchio.getFrameVelocity(model, data, frame, pinocchio.LOCAL)
            assert np.abs(twists[k] - [*moving.angular, *moving.linear]).max() < 1e-12
    alike(order, mechanism, q, v)


def test_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    (tmp_path / "model.xml").write_text(MJCF)
    mechanism = ch.load(tmp_path / "model.xml").system.compile()
    model = mujoco.MjModel.from_xml_string(MJCF)
    data, order = mujoco.MjData(model), ch.io.mujoco_order(mechanism, model)
    q, v = states(mechanism, np.random.default_rng(2))
    for place, speed in zip(q, v, strict=True):
        data.qpos[:], data.qvel[:] = order.to(place, speed)
        mujoco.mj_forward(model, data)
        poses, twists = mechanism.poses(place), mechanism.twists(place, speed)
        for name in ("one", "two", "three", "four"):
            k = mechanism.bodies.index(name)
            R = quaternion_to_matrix(poses[k, :4])
            assert np.abs(R - data.body(name).xmat.reshape(3, 3)).max() < 1e-12
            assert np.abs(poses[k, 4:] - data.body(name).xpos).max() < 1e-12
            found = np.zeros(6)
            mujoco.mj_objectVelocity(model, data, mujoco.mjtObj.mjOBJ_XBODY, data.body(name).id, found, 1)
            assert np.abs(twists[k] - found).max() < 1e-12
    alike(order, mechanism, q, v)


def test_another_model_is_refused(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    model = mujoco.MjModel.from_xml_string(MJCF)
    (tmp_path / "model.xml").write_text(MJCF)
    system = ch.load(tmp_path / "model.xml").system
    order = ch.io.mujoco_order(system.compile(), model)
    with pytest.raises(ValueError, match=r"StateOrder.to: q has shape \(3,\); expected \(..., 14\)"):
        order.to(np.zeros(3))
    with pytest.raises(ValueError, match=r"StateOrder.back: v has shape \(2,\)"):
        order.back(np.zeros(14), np.zeros(2))
    with pytest.raises(ValueError, match="mujoco_order: joint 'h' is not one of the mechanism"):
        ch.io.mujoco_order(system.lock("h").compile(), model)
    other = ch.System([ch.Body("x", 1.0, inertia=(1, 1, 1))], [ch.revolute("joint 0", "ground", "x", axis=(0, 0, 1))])
    with pytest.raises(ValueError, match="joint 'joint 1' is not one of the mechanism"):
        ch.io.mujoco_order(other.compile(), model)


def test_limits_and_motors(tmp_path):
    (tmp_path / "robot.urdf").write_text(URDF)
    system = ch.load(tmp_path / "robot.urdf", base="floating").system
    mechanism = system.compile()
    limits, at = mechanism.limits, mechanism.tree.velocities
    assert limits.lower.shape == limits.effort.shape == (mechanism.nv,)
    last = at["z last"].start
    assert [one[last] for one in limits] == [-1.0, 2.0, 3.0, 7.0]
    skew = at["skew"].start
    assert [one[skew] for one in limits] == [-np.inf, np.inf, 2.0, 5.0]
    assert np.isinf([one[at["float"]] for one in limits]).all()
    driven = system.with_motors()
    assert {(m.joint, m.lower, m.upper) for m in driven.actuators} == {
        ("z last", -7.0, 7.0),
        ("skew", -5.0, 5.0),
        ("an early one", -100.0, 100.0),
    }
    assert driven.with_motors().actuators == driven.actuators
    assert [m.joint for m in system.with_motors(["skew"]).actuators] == ["skew"]
    with pytest.raises(ValueError, match="with_motors: joint 'turn' has no effort_limit"):
        system.with_motors(["turn"])
    with pytest.raises(ValueError, match="there is no joint 'other'"):
        system.with_motors(["other"])
    with pytest.raises(ValueError, match=r"effort_limit is .* expected zero or more"):
        ch.revolute("j", "ground", "b", axis=(0, 0, 1), effort_limit=-1)
    (tmp_path / "bad.urdf").write_text(URDF.replace('effort="7"', 'effort="-7"'))
    with pytest.raises(ValueError, match=r"effort.*of joint 'z last' is -7; expected zero or more"):
        ch.load(tmp_path / "bad.urdf")


def test_lock_several_joints(tmp_path):
    (tmp_path / "robot.urdf").write_text(URDF)
    system = ch.load(tmp_path / "robot.urdf").system
    both = system.lock({"skew": 0.4, "z last": None})
    assert both == system.lock("skew", 0.4).lock("z last")
    assert system.lock(["turn", "skew"]) == system.lock("turn").lock("skew")
    with pytest.raises(ValueError, match="lock: q is for one joint"):
        system.lock(["turn", "skew"], 0.3)
    with pytest.raises(ValueError, match="there is no joint 'other'"):
        system.lock(["turn", "other"])
    with pytest.raises(ValueError, match="joint 'skew' cannot be locked: actuator 'motor of skew' acts on it"):
        system.with_motors(["skew"]).lock(["turn", "skew"])
