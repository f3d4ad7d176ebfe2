"""URDF files: against Pinocchio, what the report says, and errors that name the place."""

from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.io.load import load
from chasles.io.model_writer import model_text
from tools.import_agreement import PinocchioPeer, agreement, compare

INERTIAL = (
    '<inertial><origin xyz="0.1 -0.2 0.3" rpy="0.3 -0.5 0.7"/><mass value="1.5"/>'
    '<inertia ixx="0.1" ixy="0.01" ixz="-0.02" iyy="0.12" iyz="0.005" izz="0.09"/></inertial>'
)


def inertial(mass: str, moments: str = "1 1 1") -> str:
    xx, yy, zz = moments.split()
    return (
        f'<inertial><mass value="{mass}"/>'
        f'<inertia ixx="{xx}" ixy="0" ixz="0" iyy="{yy}" iyz="0" izz="{zz}"/></inertial>'
    )


def link(name: str, more: str = INERTIAL) -> str:
    return f'<link name="{name}">{more}</link>'


def joint(name: str, parent: str, child: str, kind: str = "revolute", more: str | None = None) -> str:
    limit = '<limit lower="-1" upper="2" effort="5" velocity="3"/>' if kind in ("revolute", "prismatic") else ""
    middle = '<axis xyz="0.2 -1 2"/>' if more is None else more
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="0.4 0.1 -0.3" rpy="0.2 -0.4 1.1"/>'
        f'<parent link="{parent}"/><child link="{child}"/>{limit}{middle}</joint>'
    )


def urdf(tmp_path: Path, *parts: str, name: str = "robot.urdf") -> Path:
    file = tmp_path / name
    file.write_text(f'<?xml version="1.0"?>\n<robot name="test">\n{chr(10).join(parts)}\n</robot>\n', encoding="utf-8")
    return file


def branched(tmp_path: Path) -> Path:
    """A tree with every type of joint."""
    return urdf(
        tmp_path,
        *(link(name) for name in ("base", "a", "b", "c", "d", "e", "f")),
        joint("j1", "base", "a"),
        joint("j2", "a", "b", "prismatic"),
        joint("j3", "a", "c", "continuous"),
        joint("j4", "c", "d", "fixed"),
        joint("j5", "d", "e", "floating", ""),
        joint("j6", "b", "f", "planar", '<axis xyz="0 0 1"/>'),
    )


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_mass_matrix_bias_and_forward_dynamics_are_those_of_pinocchio(tmp_path, base):
    found = agreement(branched(tmp_path), base=base)
    assert max(found.mass, found.bias, found.forward) < 1e-13


def test_a_mimic_joint_follows_the_other(tmp_path):
    mimic = '<axis xyz="0 1 0"/><mimic joint="j1" multiplier="-2" offset="0.3"/>'
    file = urdf(
        tmp_path,
        *(link(name) for name in ("base", "a", "b", "c")),
        joint("j1", "base", "a"),
        joint("j2", "a", "b", more=mimic),
        joint("j3", "b", "c", more='<axis xyz="1 0 0"/><mimic joint="j1" multiplier="0" offset="0.25"/>'),
    )
    system = ch.load(file).system
    second, third = system.joint("j2"), system.joint("j3")
    assert (second.mimic, second.mimic_ratio, second.mimic_offset) == ("j1", -2.0, 0.3)
    assert (third.mimic, third.mimic_ratio, third.mimic_offset) == ("j1", 0.0, 0.25)
    assert not system.constraints
    found = compare(system, PinocchioPeer(file))
    assert found.closed is not None
    assert max(found.mass, found.bias, found.forward, found.closed) < 1e-12
    assert system.compile().joints == ("j1",)


def test_mimics_of_mimics(tmp_path):
    """A chain of mimics is resolved, a circle is named, and what follows a fixed joint is held."""

    def robot(*followed):
        parts = []
        for k, other in enumerate(followed):
            mimic = f'<mimic joint="{other}" multiplier="2"/>' if other else ""
            parts.append(joint(f"j{k}", "base", f"l{k}", more=f'<axis xyz="0 0 1"/>{mimic}'))
        return urdf(tmp_path, link("base"), *(link(f"l{k}") for k in range(len(parts))), *parts)

    mechanism = ch.load(robot("", "j0", "j1")).system.compile()
    assert mechanism.tree.dependence.coordinates(np.array([0.1])) == pytest.approx([0.1, 0.2, 0.4], abs=1e-15)
    with pytest.raises(ValueError, match="of joint 'j0' goes round in a circle: j0 mimics j2 mimics j1 mimics j0"):
        ch.load(robot("j2", "j0", "j1"))
    with pytest.raises(ValueError, match="round in a circle"):
        ch.load(robot("j1", "j2", "j1"))
    still = '<mimic joint="j0" multiplier="2" offset="0.5"/>'
    follows = '<mimic joint="j1" multiplier="-2" offset="0.1"/>'
    parts = [joint("j1", "base", "l1", more=f'<axis xyz="0 0 1"/>{still}')]
    parts += [joint("j2", "base", "l2", more=f'<axis xyz="0 0 1"/>{follows}')]
    parts += ['<joint name="j0" type="fixed"><parent link="base"/><child link="l0"/></joint>']
    held = ch.load(urdf(tmp_path, link("base"), *(link(f"l{k}") for k in range(3)), *parts)).system
    assert [held.joint(name).kind for name in ("j1", "j2")] == ["weld", "weld"]
    free = ch.load(robot("", "", "")).system.compile()
    assert held.compile().poses([], "l2") == pytest.approx(free.poses([0.0, 0.0, 0.1 - 2 * 0.5], "l2"), abs=1e-14)


def test_damping_friction_and_limits(tmp_path):
    more = '<axis xyz="0 0 1"/><dynamics damping="0.7" friction="0.2"/>'
    study = ch.load(urdf(tmp_path, link("base"), link("a"), joint("j", "base", "a", more=more)))
    system, report = study.system, study.report
    made = system.joint("j")
    assert (made.damping, made.friction, made.lower, made.upper) == ((0.7,), (0.2,), (-1.0,), (2.0,))
    approximated = {line.what for line in report.those("approximated")}
    assert approximated == {"limits", "dry friction"}
    assert not report.those("ignored")
    assert {line.what for line in report.those("taken")} >= {"limits of effort", "limits of velocity"}
    assert (made.effort_limit, made.velocity_limit) == ((5.0,), (3.0,))


def test_shapes_materials_and_meshes(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "part.stl").write_text("")
    (tmp_path / "package.xml").write_text("<package/>")
    visual = '<visual><origin xyz="1 2 3"/><geometry>{}</geometry>{}</visual>'
    named = '<material name="red"/>'
    parts = (
        visual.format('<box size="1 2 3"/>', '<material name="red"><color rgba="1 0 0 0.5"/></material>'),
        visual.format('<sphere radius="2"/>', named),
        visual.format('<cylinder radius="1" length="2"/>', ""),
        visual.format('<mesh filename="meshes/part.stl" scale="1 1 0.5"/>', ""),
        visual.format(f'<mesh filename="package://{tmp_path.name}/meshes/part.stl"/>', ""),
        visual.format('<mesh filename="meshes/none.stl"/>', ""),
        visual.format('<mesh filename="package://nowhere/none.stl"/>', ""),
        '<collision><geometry><sphere radius="1"/></geometry></collision>',
    )
    file = urdf(tmp_path, link("base", INERTIAL + "".join(parts)))
    study = ch.load(file)
    system, report = study.system, study.report
    place = (1.0, 0.0, 0.0, 0.0, 1.0, 2.0, 3.0)
    mesh = str((tmp_path / "meshes" / "part.stl").resolve())
    assert system.body("base").shapes == (
        ch.shapes.Box((1, 2, 3), pose=place, color=(1, 0, 0, 0.5)),
        ch.shapes.Sphere(2.0, pose=place, color=(1, 0, 0, 0.5)),
        ch.shapes.Cylinder(1.0, 2.0, pose=place),
        ch.shapes.Mesh(mesh, (1, 1, 0.5), pose=place),
        ch.shapes.Mesh(mesh, pose=place),
    )
    missing = [line.why for line in report.those("ignored") if line.what == "meshes"]
    assert len(missing) == 2
    assert any("none.stl" in why for why in missing)
    assert any("packages={'nowhere': folder}" in why for why in missing)
    contact = next(line for line in report.lines if line.what == "contact")
    assert contact.moves
    assert "NONE IS SIMULATED" in str(report)
    written = tmp_path / "again.toml"
    written.write_text(model_text(system), encoding="utf-8")
    assert load(written).system == system


def test_a_mesh_has_no_mass_properties():
    mesh = ch.shapes.Mesh("part.stl")
    with pytest.raises(ValueError, match=r"part\.stl.*drawing only"):
        mesh.inertia(density=1.0)
    with pytest.raises(ValueError, match=r"body 'b': Mesh .*give the body mass"):
        ch.Body("b", shapes=[mesh], density=1.0)
    with pytest.raises(ValueError, match="scale"):
        ch.shapes.Mesh("part.stl", (1, 0, 1))
    with pytest.raises(ValueError, match="path"):
        ch.shapes.Mesh("")


@pytest.mark.parametrize(
    "name",
    [
        *("../secret.stl", "meshes/../../secret.stl", "/etc/passwd", "file:///etc/passwd"),
        *("package://{here}/../secret.stl", "package://{here}/%2e%2e/secret.stl", "package://../secret.stl"),
    ],
)
def test_a_mesh_outside_the_folder_is_refused(tmp_path, name):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "secret.stl").write_text("")
    mesh = f'<visual><geometry><mesh filename="{name.format(here="inner")}"/></geometry></visual>'
    study = ch.load(urdf(folder, link("base", INERTIAL + mesh)))
    system, report = study.system, study.report
    assert system.body("base").shapes == ()
    why = [line.why for line in report.those("ignored") if line.what == "meshes"]
    assert len(why) == 1
    assert "REFUSED" in why[0] or "is not found" in why[0]


def test_root_allows_a_folder_above(tmp_path):
    folder = tmp_path / "inner"
    folder.mkdir()
    (tmp_path / "part.stl").write_text("")
    mesh = '<visual><geometry><mesh filename="../part.stl"/></geometry></visual>'
    system = ch.load(urdf(folder, link("base", INERTIAL + mesh)), root=tmp_path).system
    assert system.body("base").shapes == (ch.shapes.Mesh(str((tmp_path / "part.stl").resolve())),)


def test_inertias_that_no_mass_distribution_has_are_taken_and_reported(tmp_path):
    flat = inertial("1", "0.1 0.1 0.3")
    file = urdf(tmp_path, link("base"), link("a", flat), joint("j", "base", "a"))
    study = ch.load(file)
    system, report = study.system, study.report
    assert not system.body("a").physical
    assert any("NOT PHYSICAL" in line.why and line.names == ["a"] for line in report.lines)
    found = agreement(file)
    assert max(found.mass, found.bias, found.forward) < 1e-13
    with pytest.raises(ValueError, match="triangle inequality"):
        ch.Body("a", 1.0, inertia=(0.1, 0.1, 0.3))
    written = tmp_path / "again.toml"
    written.write_text(model_text(system), encoding="utf-8")
    assert load(written).system == system


def test_a_joint_that_moves_no_mass_is_reported(tmp_path):
    file = urdf(tmp_path, link("base"), link("a", ""), joint("j", "base", "a"))
    study = ch.load(file)
    system, report = study.system, study.report
    assert [line.names for line in report.lines if line.what == "joints that move no mass"] == [["j"]]
    with pytest.raises(ValueError, match="'j' carries no mass"):
        system.compile()


def test_what_is_not_known_is_reported(tmp_path):
    more = '<axis xyz="0 0 1"/><dynamics damping="1" spin="2"/><wobble/>'
    parts = (link("base"), link("a", INERTIAL + "<sensor/>"), joint("j", "base", "a", more=more))
    report = ch.load(urdf(tmp_path, *parts, "<gazebo/>", "<gazebo/>")).report
    ignored = {line.what: line.count for line in report.those("ignored")}
    expected = {"<dynamics> spin": 1, "<wobble>": 1, "<sensor>": 1, "<gazebo>": 2}
    assert ignored == expected


def test_a_link_called_ground_is_renamed(tmp_path):
    study = ch.load(urdf(tmp_path, link("ground"), link("a"), joint("j", "ground", "a")))
    system, report = study.system, study.report
    assert [body.name for body in system.bodies] == ["ground link", "a"]
    assert system.joint("j").parent == "ground link"
    assert any(line.what == "names" for line in report.those("approximated"))


def test_names_of_any_script_and_with_slashes(tmp_path):
    system = ch.load(urdf(tmp_path, link("базис/链接"), link("a b"), joint("δ/j", "базис/链接", "a b"))).system
    assert system.joint("δ/j").parent == "базис/链接"
    assert system.compile().nv == 1


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "has no links"),
        ([link("a"), link("a")], "used twice, first in line 3"),
        ([link("")], "expected a name"),
        (["<link/>"], "name: is missing"),
        ([link("a"), link("b"), joint("j", "a", "b"), joint("j", "a", "b")], "used twice"),
        ([link("a"), joint("j", "a", "b")], "'b'; there is no such link"),
        ([link("a"), link("b")], "falls into 2 parts, whose first links are 'a', 'b'"),
        ([link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")], "circle: 'a', 'b'"),
        ([link("r"), link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")], "circle: 'a', 'b'"),
        ([link("a"), link("b"), joint("j", "a", "b"), joint("k", "a", "b")], r"carries link 'b'.*'j' \(line 5\)"),
        ([link("a"), link("b"), joint("j", "a", "b", "screw")], "type: is 'screw'; expected one of revolute"),
        ([link("a"), link("b"), joint("j", "a", "b", "continuous", '<axis xyz="0 0 0"/>')], "no length"),
        ([link("a"), link("b"), joint("j", "a", "b", "continuous", '<axis xyz="0 0"/>')], "has 2 numbers; expected 3"),
        ([link("a"), link("b"), joint("j", "a", "b", more='<mimic joint="k"/>')], "no such joint"),
        ([link("a"), link("b"), joint("j", "a", "b", more='<mimic joint="j"/>')], "itself"),
        ([link("a", "<inertial/>")], "has no <mass>"),
        ([link("a", inertial("-1"))], "is -1; expected zero or more"),
        ([link("a", '<inertial><mass value="1"/><inertia ixx="1"/></inertial>')], "ixy: is missing"),
        ([link("a", inertial("nan"))], "finite number"),
        (
            [link("a", inertial("1e308"))],
            "cannot be meant",
        ),
        ([link("a", inertial("1_0"))], "finite number"),
        (
            [link("a", inertial("${m}"))],
            "with xacro first",
        ),
        ([link("a"), link("b"), joint("j", "a", "b", more='<limit lower="0" upper="1"/>')], "second <limit>"),
        (['<xacro:property name="m" value="1"/>'], r"xacro robot\.urdf > robot\.urdf"),
    ],
)
def test_errors_name_the_place(tmp_path, parts, message):
    with pytest.raises(ch.errors.ModelFileError, match=message) as caught:
        ch.load(urdf(tmp_path, *parts))
    assert caught.value.line is not None


def test_files_that_are_not_models(tmp_path):
    for name, text, message in (
        ("a.xacro", "<robot/>", "expand it first"),
        ("a.xml", "<sdf/>", "neither <robot>"),
        ("a.txt", "", "expected one of .toml, .urdf"),
        ("a.urdf", "<robot>", "is not XML"),
        ("b.urdf", "", "is not XML"),
    ):
        (tmp_path / name).write_text(text)
        with pytest.raises(ch.errors.ModelFileError, match=message):
            ch.load(tmp_path / name)
    with pytest.raises(ch.errors.ModelFileError, match="cannot be read"):
        ch.load(tmp_path / "none.urdf")
    with pytest.raises(ValueError, match="base is 'free'"):
        ch.load(urdf(tmp_path, link("a")), base="free")


def test_the_report_of_a_model_file_and_as_a_table(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(model_text(ch.System([ch.Body("b", 1.0, inertia=(1, 1, 1))])), encoding="utf-8")
    study = ch.load(file)
    system, report = study.system, study.report
    assert ch.load(file).system == system
    assert report.faithful
    assert str(report).splitlines()[-1].split() == ["taken", "bodies", "1", "b"]
    assert "1 taken, 0 approximated, 0 ignored" in repr(report)


def test_a_long_chain_is_read(tmp_path):
    count = 500
    parts = [link(f"l{k}") for k in range(count)]
    parts += [joint(f"j{k}", f"l{k}", f"l{k + 1}") for k in range(count - 1)]
    assert np.isclose(ch.load(urdf(tmp_path, *parts)).system.mass, 1.5 * count)
