"""What a model file or result file holds is read as what was written: every kind, at the edges of its values."""

import numpy as np
import pytest

import chasles as ch
from chasles.gallery import andrews, model_files, overconstrained
from chasles.io import spec
from chasles.io.load import load
from chasles.io.model_file import Study, study_of_text
from chasles.io.model_writer import model_text
from chasles.model.joint import Joint

AT = (0.5, -0.5, 0.5, -0.5, 1e-300, -0.0, 3e5)
TWO = ("a", "b")
POINTS = ((0.0, -1.0, 2.0), (1 / 3, 0.0, -1e-17))


@ch.law
def law(t, pose, twist, parameters, out):
    out[0] = 0.0


SHAPES = [
    ch.shapes.Box((1e-9, 2, 1 / 3), pose=AT, color=(0, 0.5, 1)),
    ch.shapes.Sphere(1.0),
    ch.shapes.Cylinder(1.0, 1.0, color=(0, 0, 0, 0)),
    ch.shapes.Capsule(1e-6, 1e6),
    ch.shapes.Ellipsoid((1, 1, 1)),
    ch.shapes.Mesh('äöü $x/\\ "quoted".stl', (-1, 1, 1e-3)),
    ch.shapes.Mesh("m.stl"),
]
JOINTS = [
    ch.revolute("j", "a", "b", axis=(0, 0, -2)),
    ch.revolute("j", "a", "b", axis=(0, 0, 1), lower=-np.inf, upper=0.0, rest=-0.5, at=AT, child_at=AT),
    ch.revolute("j", "a", "b", axis=(0, 0, 1), lower=0.0, upper=0.0, stop_stiffness=1e-300, friction_speed=1e9),
    ch.prismatic(
        "j", "a", "b", axis=(1, 1, 1), damping=0.0, stiffness=1.0, armature=1.0, friction=1.0, stop_damping=1.0
    ),
    ch.helical("j", "a", "b", axis=(1, 2, 3), pitch=0.0),
    ch.helical("j", "a", "b", axis=(1, 2, 3), pitch=-1 / 7),
    ch.cylindrical("j", "a", "b", axis=(0, 1, 0), lower=(-np.inf, -1.0), upper=(0.0, np.inf)),
    ch.universal("j", "a", "b"),
    ch.universal("j", "a", "b", axes=((0, 1, 1), (1, 0, 0))),
    ch.planar("j", "a", "b", normal=(0, 0, -1)),
    ch.spherical("j", "a", "b", damping=(0.0, 1.0, 2.0)),
    ch.free("j", "a", "b", damping=1.0),
    ch.weld("j", "a", "b", at=(0, 0, -1)),
    ch.general("j", "a", "b", screws=[(0, 0, 0, 0, -1, 0)]),
    ch.model.denavit_hartenberg("j", "a", "b", a=0.1, alpha=-1.0, sliding=True),
]
CURVES = [
    ch.rods.Line((0, 0, 1 / 3), (1e3, 0, 0)),
    ch.rods.Arc((1, 0, 0), (0, 0, 0), (0, 0, 2), -0.7),
    ch.rods.Helix((0, 0, 1), (0, 0, 0), (0, 1, 0), -0.1, 2.5),
    ch.rods.Spline([(0, 0, 0), (1, 0, 0.5), (2, 1 / 3, 0), (3, 0, 0)]),
]
METAL = ch.rods.Material(7e10, 1 / 3, 2700.0)
SECTIONS = [
    (ch.rods.Circle(1 / 30), METAL),
    (ch.rods.Tube(0.1, 0.09), METAL),
    (ch.rods.Rectangle(0.1, 0.2), METAL),
    (ch.rods.Rectangle(0.1, 0.2, (5 / 6, 0.7)), ch.rods.Material(1e5, G=1e4)),
    (ch.rods.Constants(1e-3, 1e-6, 2e-6, 1.5e-6, 0.4), METAL),
    (ch.rods.Stiffness(np.eye(6) + 0.1, 1.0, (1, 2, 3)), None),
    (ch.rods.Stiffness((1, 2, 3, 4, 5, 6)), None),
    ((ch.rods.Circle(0.1), ch.rods.Circle(0.05)), METAL),
]
RODS = [
    *(ch.Rod("r", curve, *SECTIONS[0], elements=12) for curve in CURVES),
    *(ch.Rod("r", CURVES[0], *section, ends=("a", "free")) for section in SECTIONS),
    ch.Rod(
        "r", CURVES[0], *SECTIONS[0], loads=[ch.rods.Load((0, 0, 0, 1, 0, "2 * t")), ch.rods.Load((1,) * 6, "body")]
    ),
    ch.Rod("r", CURVES[3], *SECTIONS[1], ("ground", "b"), 7, 1e-3, (0, 1, 0), -1.0, "helix", "trapezoid"),
]
FORCES = [
    ch.Spring("f", TWO),
    ch.Spring("f", TWO, POINTS, 0.0, 1.0, 1.0),
    ch.TwoPointForce("f", TWO, "-2e5 * max(0.1 - distance, 0) + k * speed", ((0, 0, 1), (0.1, 0, 0)), {"k": 3.0}),
    ch.Bushing("f", TWO),
    ch.Bushing("f", TWO, ((0, 0, 1), (0.6, 0, 0.8, 0, 0, 1, 0)), (1, 2, 3, 4, 5, 6), np.eye(6) + 0.1),
    ch.Wrench("f", "a", (0,) * 6),
    ch.Wrench("f", "a", (-1, 0, 0, 0, 0, 1), "mixed"),
    ch.Wrench("f", "a", law, "spatial", (0.0, -1.0)),
    ch.JointForce("f", "j", 0.0),
    ch.JointForce("f", "j", (-1.0,)),
    ch.JointForce("f", "j", law),
]
CONSTRAINTS = [
    ch.Distance("c", TWO),
    ch.Distance("c", TWO, POINTS, 1.0),
    ch.Distance("c", TWO, POINTS, 1e-300),
    ch.PointOnLine("c", TWO),
    ch.PointOnLine("c", TWO, POINTS, (-1, 0, 3)),
    ch.PointOnPlane("c", TWO),
    ch.PointOnPlane("c", TWO, POINTS, (0, -1, 0)),
    ch.Coupling("c", ("j", "k"), (-1, 1)),
    ch.Coupling("c", ("j", "k"), (1, 1), -0.5, (0, 0)),
    ch.Drive("c", "j", 0.0),
    ch.Drive("c", "j", -1.0, 0),
    ch.Drive("c", "j", law, parameters=(0.0,)),
    ch.Rolling("c", TWO, 1.0),
    ch.Rolling("c", TWO, 1e-3, POINTS, (0, 0, -1), (0, 1, 0)),
    ch.Cam("c", TWO, [(1, 0), (0, 1), (-1, 0), (0, -1)]),
    ch.Cam("c", TWO, [(1, 0), (0, 1 / 3)], (1, 2, 3), (0, 0, 1), closed=False, radius=-0.1),
    ch.CustomConstraint("c", TWO, law),
    ch.CustomConstraint("c", TWO, law, 3, (0.0, -1.0)),
]
ACTUATORS = [
    ch.Actuator("m", "j"),
    ch.Actuator("m", "j", 0, 0.0, 0.0, 0.0),
    ch.Actuator("m", "j", 0, -1.0, -np.inf, -1.0),
]
LOPSIDED = np.array([[1.0, 0.1, 0.2], [0.1 + 1e-17, 1.0, 0.3], [0.2, 0.3 - 6e-17, 1.0]])
BODIES = [
    ch.Body("x"),
    ch.Body("x", 1.0),
    ch.Body("x", 1e-300, (0, -0.0, -1)),
    ch.Body("x", 1.0, inertia=(1, 0, 0), physical=False),
    ch.Body("x", 1.0, inertia=(1, -0.1, 0, 1, 0, 1)),
    ch.Body("x", 1.0, inertia=LOPSIDED),
    ch.Body("x", shapes=SHAPES[:2], density=1e-9),
    ch.Body("x", 1.0, shapes=SHAPES),
]


def two(**more):
    """Two bodies with a joint of two each, and more."""
    bodies = [ch.Body(name, 1.0, inertia=(1, 1, 1)) for name in (*TWO, "c")]
    joints = more.pop("joints", [ch.revolute("j", "a", "b", axis=(1, 0, 0))])
    return ch.System(bodies, [*joints, ch.revolute("k", "b", "c", axis=(1, 0, 0))], **more)


def back(given):
    return study_of_text(model_text(given), "text", {"law": law})


@pytest.mark.parametrize("name", model_files())
def test_every_system_of_the_gallery_comes_back(name):
    study = load(model_files()[name])
    again = back(study)
    assert (again.system, again.initial, again.options) == (study.system, study.initial, study.options)


@pytest.mark.parametrize(
    "system",
    [
        andrews.system(),
        *(make().system for make in (overconstrained.four_bars, overconstrained.bricard, overconstrained.bennett)),
    ],
    ids=lambda system: system.name,
)
def test_systems_of_the_gallery_in_python_come_back(system):
    assert back(system).system == system


def test_every_kind_is_in_these_tests():
    for table, things in ((spec.SHAPE_SPECS, SHAPES), (spec.FORCE_SPECS, FORCES), (spec.CONSTRAINT_SPECS, CONSTRAINTS)):
        assert {kind.make for kind in table.values() if isinstance(kind.make, type)} == {
            type(thing) for thing in things
        }
    assert {*spec.JOINT_SPECS} - {"denavit_hartenberg"} == {joint.kind for joint in JOINTS}


def every():
    for joint in JOINTS:
        yield two(joints=[joint])
    for force in FORCES:
        yield two(forces=[force])
    for actuator in ACTUATORS:
        yield two(actuators=[actuator])
    for constraint in CONSTRAINTS:
        yield two(constraints=[constraint])
    for body in BODIES:
        yield ch.System([body])
    yield two(frames=[ch.Frame("here", "ground"), ch.Frame("there", "b", AT)], gravity=(0, 0, 0), name="")
    yield two(name='"\\ \u2028 \u202e 日本 $x$ # [a] \x7f'.replace("\x7f", ""))


def test_every_kind_comes_back_at_the_edges_of_its_values():
    for system in every():
        assert back(system).system == system, model_text(system)


def test_a_joint_made_by_hand_comes_back_with_its_screw():
    joint = Joint("j", "a", "b", "revolute", [(0, 0, 1, 0.5, 0, 0)])
    again = back(two(joints=[joint])).system.joint("j")
    assert again.kind == "general"
    assert again.screws == joint.screws


def test_options_that_are_not_given_are_not_written():
    study = Study(two(), options={"step": None, "rtol": 1e-6, "stabilization": None})
    assert back(study).options == {"rtol": 1e-6, "stabilization": None}


@pytest.mark.parametrize("name", ["a\nb", "a\x7f", "\ud800", "x" * 201, "  "])
def test_a_name_that_no_file_can_hold_is_refused_at_once(name):
    for make in (lambda: ch.Body(name, 1.0), lambda: ch.System([], name=name)):
        with pytest.raises(ValueError, match=r"expected a string that is not|expected no control|expected at most 200"):
            make()


@pytest.mark.parametrize("rod", RODS)
def test_rods_come_back_without_their_nodes(rod):
    system = ch.System([ch.Body("a", 1.0, inertia=(1, 1, 1)), ch.Body("b", 1.0, inertia=(1, 1, 1))], rods=[rod])
    text = model_text(system)
    assert "r[" not in text
    assert study_of_text(text, "here").system == system
