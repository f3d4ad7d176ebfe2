"""Every attribute of a format is used, without effect on the motion, or in the report: MJCF against MuJoCo's own schema
and its numbers, URDF against its specification."""

import re

import mujoco
import numpy as np
import pytest

import chasles as ch
from chasles.io import mjcf_attributes as table
from tests.io.test_mjcf import HINGE, SLIDE, body, mjcf

LINE = re.compile(r"( *)(\S+) \([!?*R]\) *(.*)")


def schema():
    """(place, attribute) of everything that MuJoCo reads."""
    stack, place = [], ""
    for line in mujoco.mj_printSchema(False, False).splitlines():
        if not line.strip():
            continue
        if (found := LINE.match(line)) and len(found[1]) < 15:
            depth, tag, words = len(found[1]) // 3, found[2].replace("(world)", ""), found[3].split()
            stack = stack[:depth]
            place = table.place_of(stack[-1], tag) if stack else ""
            stack.append(place)
            yield place, ""
        else:
            words = line.split()
        yield from ((place, word) for word in words)


def test_the_table_covers_the_schema_of_mujoco():
    rows = list(schema())
    assert len(rows) > 1500
    assert ("body.joint", "damping") in rows
    assert ("option.flag", "clampctrl") in rows
    assert [row for row in rows if not row[1] and not table.known(row[0])] == []
    assert [row for row in rows if row[1] and not table.fate(*row)] == []


def test_every_attribute_that_is_not_handled_has_a_default_and_a_reason():
    missing = [(place, word) for place, row in table.ATTRIBUTES.items() for word in row.get(table.MISSING, "").split()]
    assert set(missing) == set(table.AT_DEFAULT)
    assert all(word in table.WHY_MISSING for _, word in missing)
    for place, row in table.ATTRIBUTES.items():
        words = " ".join(row.values()).split()
        assert len(words) == len(set(words)), place  # one fate each


FIRM = 'armature="0.1"'
SPRUNG = 'armature="0.1" damping="0.3" stiffness="2" frictionloss="0.4" limited="true" range="-1 1"'
MOTORS = (
    '<actuator><motor name="m1" joint="h" gear="5" group="1" ctrllimited="true" ctrlrange="-0.5 0.5"/>'
    '<motor name="m2" joint="s" gear="2" group="2" forcelimited="true" forcerange="-0.7 0.7"/></actuator>'
)
FLAGS = {  # options, flags, attributes of the joints
    "none": ("", "", FIRM),
    "clampctrl": ("", 'clampctrl="disable"', FIRM),
    "actuation": ("", 'actuation="disable"', FIRM),
    "group 1": ('actuatorgroupdisable="1"', "", FIRM),
    "groups 0 and 2": ('actuatorgroupdisable="0 2"', "", FIRM),
    "gravity": ("", 'gravity="disable"', FIRM),
    "constraint": ("", 'constraint="disable"', SPRUNG),
    "friction and limits": ("", 'frictionloss="disable" limit="disable"', SPRUNG),
    "spring": ("", 'spring="disable" constraint="disable"', SPRUNG),
    "damper": ("", 'damper="disable" constraint="disable"', SPRUNG),
    "passive": ('density="1000" viscosity="1"', 'spring="disable" damper="disable" constraint="disable"', SPRUNG),
    "others": (
        'integrator="RK4" timestep="0.001" magnetic="1 2 3" solver="PGS" sleep_tolerance="1"',
        'warmstart="disable" energy="enable" fwdinv="enable" sensor="disable" autoreset="disable" island="disable" '
        'eulerdamp="disable" refsafe="disable" midphase="disable" diagexact="enable" invdiscrete="enable"',
        FIRM,
    ),
}


@pytest.mark.parametrize("kind", FLAGS)
def test_flags_change_the_motion_as_in_mujoco(tmp_path, kind):
    """Accelerations at a state with inputs beyond all limits; contact is off."""
    options, flags, joints = FLAGS[kind]
    world = body("a", HINGE.format("h", joints), body("b", SLIDE.format("s", joints)))
    more = f'<option {options}><flag contact="disable" {flags}/></option>{MOTORS}'
    file = mjcf(tmp_path, world, more)
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:], data.ctrl[:] = (0.4, -0.3), (0.7, -1.1), (3.0, -2.0)
    mujoco.mj_forward(model, data)
    study = ch.load(file)
    system, report = study.system, study.report
    run = ch.simulate(
        system, (0, 1e-6), q=data.qpos, v=data.qvel, control=[3.0, -2.0], method="rk4", step=1e-6, progress=False
    )
    np.testing.assert_allclose(run.a[0], data.qacc, rtol=1e-9)
    assert report.faithful, report


def test_a_flag_that_is_not_handled_is_said(tmp_path):
    world = body("a", HINGE.format("h", ""))
    for value, faithful in (("enable", False), ("disable", True)):
        report = ch.load(mjcf(tmp_path, world, f'<option><flag sleep="{value}"/></option>')).report
        assert report.faithful is faithful
        assert any(line.what == "<flag> sleep" for line in report.lines) is not faithful


def test_what_no_table_has_is_said(tmp_path, monkeypatch):
    """An attribute of a version of MuJoCo to come, in an included file and in a body of a frame."""
    row = dict(table.ATTRIBUTES["body.joint"])
    row[table.USED] = row[table.USED].replace(" damping", "")
    monkeypatch.setitem(table.ATTRIBUTES, "body.joint", row)
    monkeypatch.delitem(table.ATTRIBUTES, "body.frame")
    part = tmp_path / "part.xml"
    damped = body("a", HINGE.format("h", 'damping="1"'))
    part.write_text(f"<mujocoinclude>{damped}</mujocoinclude>")
    file = mjcf(tmp_path, '<frame pos="1 0 0"><include file="part.xml"/></frame>')
    report = ch.load(file).report
    assert not report.faithful
    moving = {line.what: line.names for line in report.those("ignored") if line.moves and line.what != "contact"}
    assert moving == {"<joint> damping": ["h"], "<frame>": [""]}


def test_pairs_of_contact_are_said(tmp_path):
    geom = '<geom name="{}" size="0.1" contype="0" conaffinity="0"/>'
    world = f"{geom.format('floor')}<body><freejoint/>{geom.format('ball')}</body>"
    report = ch.load(mjcf(tmp_path, world, '<contact><pair geom1="floor" geom2="ball"/></contact>')).report
    assert "contact" in {line.what for line in report.those("ignored")}


# ---------------------------------------------------------------- URDF

ROBOT = """<robot name="r"><link name="base"/><link name="rod"><inertial><origin xyz="0 0 -0.5" {inertial}/>
<mass value="2"/><inertia ixx="0.17" ixy="0.01" ixz="0" iyy="0.18" iyz="0" izz="0.05"/></inertial></link>
<joint name="j" type="continuous"><origin xyz="1 2 3" {origin}/><parent link="base"/><child link="rod"/>
<axis xyz="0 1 0" {axis}/>{more}</joint></robot>"""
# attributes and elements of the URDF specification (wiki.ros.org/urdf/XML, urdfdom 5)
SPECIFIED = {
    "robot": ("name version", "link joint material transmission gazebo sensor ros2_control"),
    "link": ("name type", "inertial visual collision"),
    "inertial": ("", "origin mass inertia"),
    "origin": ("xyz rpy quat_xyzw", ""),
    "mass": ("value", ""),
    "inertia": ("ixx ixy ixz iyy iyz izz", ""),
    "visual": ("name", "origin geometry material"),
    "collision": ("name verbose", "origin geometry verbose contact"),
    "geometry": ("", "box cylinder sphere mesh capsule"),
    "material": ("name", "color texture"),
    "joint": (
        "name type",
        "origin parent child axis calibration dynamics limit mimic safety_controller",
    ),
    "axis": ("xyz", ""),
    "dynamics": ("damping friction", ""),
    "limit": ("lower upper effort velocity acceleration deceleration jerk", ""),
    "mimic": ("joint multiplier offset", ""),
}


def urdf(tmp_path, **filled):
    file = tmp_path / "robot.urdf"
    file.write_text(ROBOT.format(**{"inertial": "", "origin": "", "axis": "", "more": ""} | filled))
    study = ch.load(file)
    return study.system, study.report


def test_the_tables_cover_the_specification_of_urdf():
    from chasles.io.urdf import KNOWN, WHY_IGNORED

    for tag, (attributes, elements) in SPECIFIED.items():
        read = KNOWN[tag]
        assert {
            word for word in attributes.split() if word not in read[0] and f"<{tag}> {word}" not in WHY_IGNORED
        } == set()
        assert {word for word in elements.split() if word not in read[1] and f"<{word}>" not in WHY_IGNORED} == set()


def test_urdf_without_anything_strange_is_faithful(tmp_path):
    _, report = urdf(tmp_path, more='<calibration rising="0"/><safety_controller k_velocity="1"/>')
    assert report.faithful
    assert {line.what for line in report.those("ignored")} == {"<calibration>", "<safety_controller>"}


@pytest.mark.parametrize(
    ("filled", "what"),
    [
        ({"more": '<dynamics damping="1" spring_stiffness="3"/>'}, "<dynamics> spring_stiffness"),
        ({"more": '<rotor_inertia value="3"/>'}, "<rotor_inertia>"),
        ({"axis": 'expressed_in="base"'}, "<axis> expressed_in"),
        ({"inertial": 'relative_to="rod"'}, "<origin> relative_to"),
    ],
)
def test_what_urdf_does_not_know_is_said_to_move(tmp_path, filled, what):
    _, report = urdf(tmp_path, **filled)
    assert {line.what for line in report.those("ignored")} == {what}
    assert not report.faithful


def test_orientations_as_quaternions(tmp_path):
    """URDF 1.2: origin quat_xyzw, here the same turn as rpy; it was dropped without a word."""
    from scipy.spatial.transform import Rotation

    turn = Rotation.from_euler("xyz", [0.3, -0.5, 1.1])
    words = " ".join(f"{2 * k:.17g}" for k in turn.as_quat())
    one, _ = urdf(tmp_path, origin='rpy="0.3 -0.5 1.1"', inertial='rpy="0.3 -0.5 1.1"')
    other, report = urdf(tmp_path, origin=f'quat_xyzw="{words}"', inertial=f'quat_xyzw="{words}"')
    assert report.faithful
    state = [0.4], [0.7], [-0.3]
    expected = one.compile().inverse_dynamics(*state)
    np.testing.assert_allclose(other.compile().inverse_dynamics(*state), expected, rtol=1e-14)
    with pytest.raises(ch.errors.ModelFileError, match="quat_xyzw"):
        urdf(tmp_path, origin='rpy="0 0 0" quat_xyzw="0 0 0 1"')
