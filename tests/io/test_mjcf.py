"""MJCF files: against MuJoCo, what the report says, and hostile files."""

import sys
import time
from contextlib import suppress
from pathlib import Path

import mujoco
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chasles as ch
from chasles.lie import pose as pose_group
from chasles.lie.rotation import quaternion_to_matrix
from chasles.model.mimic import as_couplings
from tools.import_agreement import MujocoPeer, agreement

GEOM = '<geom type="box" size="0.1 0.2 0.3" pos="0.1 0 -0.2" euler="10 20 30" mass="1.5"/>'


def mjcf(tmp_path: Path, world: str, more: str = "", name: str = "model.xml") -> Path:
    file = tmp_path / name
    file.write_text(f'<mujoco model="test"><worldbody>{world}</worldbody>{more}</mujoco>', encoding="utf-8")
    return file


def body(name: str, joints: str, inside: str = "") -> str:
    return f'<body name="{name}" pos="0.3 -0.1 0.4" euler="15 -25 40">{joints}{GEOM}{inside}</body>'


HINGE = '<joint name="{}" type="hinge" axis="0.3 1 -0.5" pos="0.1 0.2 -0.1" {}/>'
SLIDE = '<joint name="{}" type="slide" axis="1 0.2 0.1" {}/>'
BALL = '<joint name="{}" type="ball" pos="0.05 -0.1 0.2" {}/>'
TREES = {
    "hinge and slide": body("a", HINGE.format("h", ""), body("b", SLIDE.format("s", ""))),
    "references": body("a", HINGE.format("h", 'ref="35"'), body("b", SLIDE.format("s", 'ref="0.4"'))),
    "ball": body("a", BALL.format("b1", ""), body("b", BALL.format("b2", ""))),
    "free": body("a", "<freejoint/>", body("b", HINGE.format("h", ""))),
    "several joints of a body": body(
        "a",
        SLIDE.format("x", 'ref="-0.3"') + HINGE.format("y", 'ref="70"') + BALL.format("z", ""),
        body("b", HINGE.format("h1", 'ref="20"') + SLIDE.format("s1", 'ref="0.2"') + HINGE.format("h2", 'ref="-50"')),
    ),
    "passive": body(
        "a",
        HINGE.format("h", 'armature="0.2" damping="0.3" stiffness="2" springref="30" ref="10"'),
        body("b", SLIDE.format("s", 'armature="0.1" damping="1" stiffness="5" springref="0.1"'))
        + body("c", BALL.format("b", 'damping="0.4" stiffness="3"')),
    ),
    "a free body with a damper": body("a", '<joint name="f" type="free" damping="0.7"/>'),
    "fixed bodies": body("a", "", body("b", HINGE.format("h", ""), body("c", ""))),
}


@pytest.mark.parametrize("kind", TREES)
def test_mass_matrix_bias_springs_and_forward_dynamics_are_those_of_mujoco(tmp_path, kind):
    found = agreement(mjcf(tmp_path, TREES[kind]))
    assert found.passive is not None
    assert max(found.mass, found.bias, found.passive, found.forward) < 1e-12


@pytest.mark.parametrize("kind", TREES)
def test_bodies_and_sites_are_where_mujoco_has_them(tmp_path, kind):
    file = mjcf(tmp_path, TREES[kind].replace(GEOM, GEOM + '<site pos="0.1 0.2 0.3"/>'))
    system = ch.load(file).system
    mechanism, peer = system.compile(), MujocoPeer(file, system)
    q = mechanism.random(np.random.default_rng(3))
    peer(mechanism, q, np.zeros(mechanism.nv), np.zeros(mechanism.nv))
    for i in range(1, peer.model.nbody):
        pose = mechanism.poses(q, mujoco.mj_id2name(peer.model, mujoco.mjtObj.mjOBJ_BODY, i))
        np.testing.assert_allclose(pose[4:], peer.data.xpos[i], atol=1e-14)
        np.testing.assert_allclose(quaternion_to_matrix(pose[:4]), peer.data.xmat[i].reshape(3, 3), atol=1e-14)


def test_names_coordinates_and_chains(tmp_path):
    study = ch.load(mjcf(tmp_path, TREES["several joints of a body"]))
    system, report = study.system, study.report
    assert [joint.name for joint in system.joints] == ["x", "y", "z", "h1", "s1", "h2"]
    assert [b.name for b in system.bodies if b.massless] == ["a after x", "a after y", "b after h1", "b after s1"]
    assert system.compile().joints == ("x", "y", "z", "h1", "s1", "h2")
    assert any(line.what == "joints of one body" and line.names == ["a", "b"] for line in report.lines)


LIMITS = 'limited="true" range="-20 30" frictionloss="0.2"'


def test_what_is_approximated_and_ignored_is_said(tmp_path):
    world = body("a", HINGE.format("h", LIMITS) + "<site name='s' pos='1 2 3'/><camera/><light/>")
    world += body("f", '<joint name="free" type="free" armature="1"/>') + '<geom type="plane" size="1 1 1"/>'
    more = '<option density="1.2" gravity="0 1 -2"/><sensor><framepos objtype="site" objname="s"/></sensor>'
    more += '<tendon><fixed stiffness="1"><joint joint="h" coef="1"/></fixed></tendon>'
    more += '<actuator><position joint="h" kp="3"/><motor name="m" joint="h" gear="3" ctrlrange="-1 2"/></actuator>'
    study = ch.load(mjcf(tmp_path, world, more))
    system, report = study.system, study.report
    assert system.gravity == (0.0, 1.0, -2.0)
    assert system.actuators == (ch.Actuator("m", "h", 0, 3.0, -1.0, 2.0),)
    assert system.frames == (ch.Frame("s", "a", (1.0, 2.0, 3.0)),)
    hinge = system.joint("h")
    assert np.allclose([*hinge.lower, *hinge.upper, *hinge.friction], [*np.deg2rad([-20, 30]), 0.2])
    assert {line.what for line in report.those("approximated")} == {"limits", "frictionloss"}
    ignored = {line.what: line.moves for line in report.those("ignored")}
    moving = {"contact", "tendons", "fluid forces", "actuators", "armature"}
    assert {what for what, moves in ignored.items() if moves} == moving
    still = {"cameras", "lights", "sensors", "geoms of the world", "solver settings"}
    assert {what for what, moves in ignored.items() if not moves} == still
    assert not report.faithful
    assert "NONE IS SIMULATED" in str(report)


def test_warnings_of_mujoco_are_in_the_report_and_in_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    world = '<body><freejoint/><geom size="1"/></body>'
    report = ch.load(mjcf(tmp_path, world, '<compiler settotalmass="2"/>')).report
    if int(mujoco.__version__.split(".")[0]) >= 4:  # from there on it warns of this
        assert any(line.what == "warnings of MuJoCo" and "settotalmass" in line.why for line in report.lines)
    assert [path.name for path in tmp_path.iterdir()] == ["model.xml"]


def test_limits_of_forces_and_motors_of_ball_joints(tmp_path):
    world = body("a", HINGE.format("h", "")) + body("b", BALL.format("ball", ""))
    motors = '<general name="one" joint="h" gear="2" gainprm="-4" forcelimited="true" forcerange="-8 12"/>'
    motors += '<motor name="two" joint="ball" gear="0 5 0"/><motor name="three" joint="ball" gear="1 1 0"/>'
    study = ch.load(mjcf(tmp_path, world, f"<actuator>{motors}</actuator>"))
    system, report = study.system, study.report
    one, two = system.actuators
    assert (one.gear, one.lower, one.upper) == (-8.0, -3.0, 2.0)
    assert (two.joint, two.coordinate, two.gear) == ("ball", 1, 5.0)
    assert [line.names for line in report.those("ignored") if line.what == "actuators"] == [["three"]]


def test_geoms_are_shapes(tmp_path):
    geoms = (
        '<geom type="sphere" size="0.1" rgba="1 0 0 1" pos="1 2 3"/><geom type="capsule" size="0.1 0.2"/>'
        '<geom type="cylinder" size="0.1 0.2"/><geom type="ellipsoid" size="0.1 0.2 0.3"/>'
        '<geom type="box" size="0.1 0.2 0.3"/><geom type="sphere" size="0.1" group="3"/>'
    )
    study = ch.load(mjcf(tmp_path, f'<body name="a"><freejoint/>{geoms}</body>'))
    system, report = study.system, study.report
    kinds = [type(shape) for shape in system.body("a").shapes]
    assert kinds == [ch.shapes.Sphere, ch.shapes.Capsule, ch.shapes.Cylinder, ch.shapes.Ellipsoid, ch.shapes.Box]
    sphere, capsule, _, _, box = system.body("a").shapes
    assert (sphere.pose[4:], sphere.color) == ((1.0, 2.0, 3.0), (1.0, 0.0, 0.0, 1.0))
    assert (capsule.length, box.size) == (0.4, (0.2, 0.4, 0.6))
    assert [line.count for line in report.lines if line.what == "hidden geoms"] == [1]


PYRAMID = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def test_a_mesh_is_where_its_file_has_it(tmp_path):
    (tmp_path / "pyramid.obj").write_text(PYRAMID)
    geom = '<geom type="mesh" mesh="pyramid" pos="0.1 0.2 0.3" euler="10 20 30"/>'
    asset = '<asset><mesh name="pyramid" file="pyramid.obj" scale="0.5 1 1"/></asset>'
    file = mjcf(tmp_path, f'<body name="a"><freejoint/>{geom}</body>', asset)
    (mesh,) = ch.load(file).system.body("a").shapes
    assert (mesh.path, mesh.scale) == (str((tmp_path / "pyramid.obj").resolve()), (0.5, 1.0, 1.0))
    model = mujoco.MjModel.from_xml_path(str(file))
    corners = np.array([[0, 0, 0], [0.5, 0, 0], [0, 2, 0], [0, 0, 3]])
    placed = pose_group.act(np.array(mesh.pose), corners)
    theirs = np.array([*model.geom_quat[0], *model.geom_pos[0]])
    known = pose_group.act(theirs, model.mesh_vert.astype(float))
    assert all(np.linalg.norm(known - corner, axis=1).min() < 1e-6 for corner in placed)


# ------------------------------------------------------------ equality constraints

PENDULUMS = body("a", HINGE.format("h1", "") + '<site name="sa" pos="0 0.1 0.2"/>', body("b", HINGE.format("h2", "")))
PENDULUMS += body("c", HINGE.format("h3", ""), body("d", BALL.format("b1", "") + '<site name="sd" euler="9 5 2"/>'))
PENDULUMS += body("e", "<freejoint/>")
EQUALITIES = {
    "connect": '<connect name="e" body1="b" body2="d" anchor="0.1 0.2 0.3"/>',
    "connect to the world": '<connect name="e" body1="b" anchor="0.1 0.2 0.3"/>',
    "weld": '<weld name="e" body1="b" body2="e"/>',
    "weld with a pose": '<weld name="e" body1="b" body2="e" relpose="0.1 0.2 0.3 0.5 0.5 0.5 0.5" anchor="0 0.1 0"/>',
    "weld to the world": '<weld name="e" body1="e"/>',
    "weld without torque": '<weld name="e" body1="b" body2="e" torquescale="0"/>',
    "joint": '<joint name="e" joint1="h1" joint2="h3" polycoef="0.1 -2 0 0 0"/>',
    "held joint": '<joint name="e" joint1="h1" polycoef="0.3 0 0 0 0"/>',
}


@pytest.mark.parametrize("kind", EQUALITIES)
def test_equalities_hold_as_rows_of_mujoco(tmp_path, kind):
    """At rest in a position that both agree is on the constraint, the accelerations are those of MuJoCo's rows."""
    file = mjcf(tmp_path, PENDULUMS, f"<equality>{EQUALITIES[kind]}</equality>")
    study = ch.load(file)
    own, report = study.system, study.report
    assert any(line.what.startswith("equalities") for line in report.those("approximated"))
    system = as_couplings(own)
    peer = MujocoPeer(file, system)
    closed = system.compile("relative", cut=peer.cut)
    rng = np.random.default_rng(5)
    v, tau = np.zeros(closed.nv), rng.normal(size=closed.nv)
    for _ in range(20):  # from some starts a weld ends half a turn off, where its rows are zero too
        try:
            q = closed.assemble(closed.spanning.random(rng))
        except ch.errors.AssemblyError:
            continue  # too far
        theirs = peer(closed.spanning, q, v, tau)
        rows = peer.data.ne
        if np.abs(peer.data.efc_pos[:rows]).max() < 1e-9:
            break
    else:
        pytest.fail("no position is on the constraint for both")
    J = peer.data.efc_J.reshape(-1, peer.model.nv)[:rows] @ theirs.V
    mass = theirs.V.T @ theirs.mass @ theirs.V
    kkt = np.block([[mass, J.T], [J, np.zeros((rows, rows))]])
    right = np.concatenate([tau - theirs.V.T @ theirs.bias, np.zeros(rows)])
    expected = np.linalg.lstsq(kkt, right, rcond=1e-12)[0][: closed.nv]
    ours = closed.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(ours, expected, atol=1e-8 * np.abs(expected).max())
    if kind == "joint":  # which the tree has no coordinate of
        tree = own.compile()
        depends = tree.tree.dependence
        place = q[depends.own_coordinates]
        assert own.joint("h1").mimic == "h3"
        np.testing.assert_allclose(depends.coordinates(place), q, atol=1e-9)
        followed = depends.velocities(tree.forward_dynamics(place, np.zeros(tree.nv), depends.reduced(tau, 0)))
        np.testing.assert_allclose(followed, expected, atol=1e-8 * np.abs(expected).max())
    free = closed.spanning.forward_dynamics(q, v, tau)
    assert np.abs(free - expected).max() > 1e-3  # the constraint acts


def test_equalities_between_sites(tmp_path):
    text = '<equality><weld name="e" site1="sa" site2="sd"/></equality>'
    made = ch.load(mjcf(tmp_path, PENDULUMS, text)).system.joint("e")
    assert (made.kind, made.parent, made.child) == ("weld", "a", "d")
    assert made.parent_frame == (1.0, 0.0, 0.0, 0.0, 0.0, 0.1, 0.2)


def test_equalities_that_are_not_taken(tmp_path):
    text = (
        '<joint name="bent" joint1="h1" joint2="h3" polycoef="0 1 2 0 0"/><weld name="off" body1="b" active="false"/>'
    )
    study = ch.load(mjcf(tmp_path, PENDULUMS, f"<equality>{text}</equality>"))
    system, report = study.system, study.report
    assert not system.constraints
    found = {line.names[0]: line.moves for line in report.those("ignored") if line.what == "equalities"}
    assert found == {"bent": True, "off": False}


# ------------------------------------------------------------ errors and hostile files


def test_without_mujoco_the_message_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ch.errors.ModelFileError, match="pip install mujoco"):
        ch.load(mjcf(tmp_path, TREES["ball"]))


OUTSIDE = '<asset><mesh name="m" file="{}"/></asset>'
PLACED = '<worldbody><body pos="{} 0 0"><freejoint/><geom size="1"/></body></worldbody>'
REFUSED = {
    "mesh": (OUTSIDE.format("../secret.stl"), "leads out of"),
    "absolute mesh": (OUTSIDE.format("/etc/passwd"), "leads out of"),
    "directory": ('<compiler meshdir="../.."/>', "leads out of"),
    "texture": ('<asset><texture type="2d" file="../a.png"/></asset>', "leads out of"),
    "include": ('<include file="../secret.xml"/>', "leads out of"),
    "large texture": ('<asset><texture type="2d" builtin="flat" width="1000000" height="1000000"/></asset>', "at most"),
    "large field": ('<asset><hfield nrow="1000000" ncol="1000000" size="1 1 1 1" name="a"/></asset>', "at most"),
    "memory": ('<size memory="900G"/>', "at most 1024M"),
    "numbers": ('<custom><numeric name="a" size="2000000000"/></custom>', "at most"),
    "unknown element": ("<nonsense/>", "refused by MuJoCo"),
    "duplicate names": (f"<worldbody>{body('a', '')}{body('a', '')}</worldbody>", "refused by MuJoCo: .*repeated name"),
    "copies": (
        '<worldbody><replicate count="10000"><replicate count="10000"><body/></replicate></replicate></worldbody>',
        "once <replicate>",
    ),
    "soft body": ('<worldbody><flexcomp name="a" type="grid" count="9 9 9"/></worldbody>', "soft body"),
    "huge number": (PLACED.format("1e308"), "refused by MuJoCo|body_pos"),
    "not a number": (PLACED.format("nan"), "refused by MuJoCo|body_pos"),
    "disconnected": ('<equality><weld body1="nowhere"/></equality>', "refused by MuJoCo"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused(tmp_path, kind):
    more, message = REFUSED[kind]
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret.stl").write_text("")
    (tmp_path / "secret.xml").write_text("<mujoco/>")
    file, start = mjcf(folder, "", more), time.process_time()
    with pytest.raises(ch.errors.ModelFileError, match=message):
        ch.load(file)
    assert time.process_time() - start < 1.0


def test_included_files_are_checked_too(tmp_path):
    (tmp_path / "bomb.xml").write_text('<!DOCTYPE a [<!ENTITY a "b">]><mujoco>&a;</mujoco>')
    with pytest.raises(ch.errors.ModelFileError, match=r"bomb\.xml.*document type"):
        ch.load(mjcf(tmp_path, "", '<include file="bomb.xml"/>'))
    (tmp_path / "deep.xml").write_text("<mujoco>" + "<a>" * 5000 + "</a>" * 5000 + "</mujoco>")
    with pytest.raises(ch.errors.ModelFileError, match=r"deep\.xml.*nested"):
        ch.load(mjcf(tmp_path, "", '<include file="deep.xml"/>'))


def test_names_of_any_script_and_with_slashes(tmp_path):
    world = TREES["hinge and slide"].replace('name="a"', 'name="ground"').replace('name="b"', 'name="链/δ"')
    study = ch.load(mjcf(tmp_path, world))
    system, report = study.system, study.report
    assert [b.name for b in system.bodies] == ["ground'", "链/δ"]
    assert any(line.what == "names" for line in report.those("approximated"))


ANY = st.sampled_from(
    ["0", "1", "-1", "nan", "1e308", "1e-300", "", "a", "0 0 1", "0 0 0", "true", "-1 1", "2 1", "ball"]
)
KEYS = (
    "type",
    "axis",
    "pos",
    "range",
    "limited",
    "ref",
    "springref",
    "armature",
    "damping",
    "stiffness",
    "frictionloss",
)
JOINT = st.dictionaries(st.sampled_from(KEYS), ANY, max_size=3)
PARTS = st.lists(
    st.sampled_from(
        [
            *('<equality><connect body1="a" anchor="0 0 0"/></equality>', '<equality><weld body1="a"/></equality>'),
            *('<actuator><motor joint="h"/></actuator>', '<actuator><velocity joint="h"/></actuator>', "<size/>"),
            *('<include file="none.xml"/>', '<option gravity="nan 0 0"/>', '<compiler angle="radian"/>', "<b/>"),
            *("<worldbody><replicate count='1e60'/></worldbody>", "<custom><numeric name='a' size='-1'/></custom>"),
        ]
    ),
    max_size=2,
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(JOINT, JOINT, PARTS)
def test_any_joints_are_refused_or_read(tmp_path, first, second, parts):
    """Nothing but a `ModelFileError` may come, and what is read has finite numbers."""
    joints = "".join(
        f"<joint {name}{' '.join(f'{key}={value!r}' for key, value in given.items())}/>"
        for name, given in (("name='h' ", first), ("", second))
    )
    with suppress(ch.errors.ModelFileError):
        system = ch.load(mjcf(tmp_path, f'<body name="a">{joints}{GEOM}</body>', "".join(parts))).system
        assert all(np.isfinite(joint.parent_frame + joint.child_frame).all() for joint in system.joints)
