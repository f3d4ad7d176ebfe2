"""Nodes by arc length, "mast@0.5", wherever a body is named."""

import pickle

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text

METAL = rods.Material(1e9, density=1000.0)


def mast(elements: int = 8) -> ch.System:
    """Two rods, the second on the first, with what can name a body at places; elements are those of the first."""
    one = ch.Rod("mast", rods.Line((0, 0, 0), (1, 0, 0)), rods.Circle(0.01), METAL, ("ground", "free"), elements)
    side = ch.Rod("side", rods.Line((0, 0, 0), (0, 0.5, 0)), rods.Circle(0.01), METAL, ("mast@0.5", "free"), 4)
    forces = [
        ch.Wrench("load", "side@500 mm", (0, 0, 0, 0, 0, -1), "hybrid"),
        ch.Spring("stay", ("ground", "mast@75 cm"), ((0.75, 0, 1), (0, 0, 0)), 10.0, 0.0, 1.0),
        ch.Wrench("law", "mast@1", (0, 0, 0, 0, 0, "-distance('mast@0.5', 'ground')"), "hybrid"),
    ]
    return ch.System(
        [ch.Body("ball", 0.1, inertia=(1e-4,) * 3)],
        [ch.weld("hold", "mast@1", "ball")],
        [ch.Frame("eye", "mast@0.25")],
        forces,
        constraints=[ch.Distance("tie", ("mast@1", "side@0.25"), length=1.0)],
        rods=[one, side],
    )


def names(system: ch.System) -> tuple:
    found = {force.name: force for force in system.forces}
    return (
        *(system.joint("hold").parent, system.frame("eye").body, system.rod("side").ends[0], found["load"].body),
        *(found["stay"].bodies[1], *system.constraints[0].bodies),
    )


def test_a_place_is_the_node_there_with_any_elements():
    system = mast()
    assert names(system) == ("mast[8]", "mast[2]", "mast[4]", "side[4]", "mast[6]", "mast[8]", "side[2]")
    assert names(mast(16)) == ("mast[16]", "mast[4]", "mast[8]", "side[4]", "mast[12]", "mast[16]", "side[2]")
    for fine in (rods.with_elements(system, {"mast": 16}), system.change("rods.mast", elements=16)):
        assert fine == mast(16)
    assert pickle.loads(pickle.dumps(system)).change("rods.mast", elements=16) == mast(16)
    assert system.frame("mast@500 mm") == system.frame("mast[4]")
    assert system.body("mast@0.125") == system.body("mast[1]")
    assert system.rod("mast").at(0.125) == "mast[1]"


def test_files_have_places_as_they_were_given():
    system = mast()
    text = model_text(system)
    assert 'ends = ["mast@0.5", "free"]' in text
    assert "[8]" not in text
    again = study_of_text(text, "mast.toml").system
    assert again == system
    assert names(again.change("rods.mast", elements=16)) == names(mast(16))


def test_arc_lengths_of_files_are_expressions(tmp_path):
    text = model_text(mast()).replace('"mast@0.25"', '"mast@long / 4"').replace('"side@0.5"', '"side@long / 2"')
    file = tmp_path / "mast.toml"
    file.write_text(f'{text}\n[initial]\ntwists."mast@long" = [0, 0, 0, 0, 0, 1]\n[parameters]\nlong = "1000 mm"\n')
    study = ch.load(file)
    assert study.system == mast()
    assert list(study.initial["twists"]) == ["mast[8]"]
    with pytest.raises(ValueError, match=r"frame 'eye': 'mast@0.3'.* elements = 10 puts one there \(now 8\)"):
        ch.load(file, set={"long": 1.2})


def test_bodies_may_have_names_that_look_like_places():
    text = """
        bodies = [{ name = "hub@1", mass = 1.0, inertia = [1, 1, 1] }]
        joints = [{ name = "j", kind = "free", parent = "ground", child = "hub@1" }]
        initial = { twists = { "hub@1" = [0, 0, 0, 0, 0, 1] } }"""
    assert list(study_of_text(text, "hub.toml").initial["twists"]) == ["hub@1"]


def test_equilibria_and_mechanisms_know_places():
    system = mast()
    free = ch.System(system.bodies, system.joints, system.frames, system.forces, rods=system.rods)
    rest = ch.equilibrium(free)
    assert np.array_equal(rest.pose("mast@0.5"), rest.pose("mast[4]"))
    fine = ch.equilibrium(rods.with_elements(free, {"mast": 16, "side": 16}))
    assert np.allclose(rest.pose("side@0.5"), fine.pose("side@50 cm"), atol=1e-5)
    assert np.allclose(rest.pose("mast@1"), fine.pose("mast@1"), atol=1e-5)  # where the law sees the same distance


def test_attached_rods_keep_their_places():
    arm = ch.Rod("arm", rods.Line((0, 0, 0), (1, 0, 0)), rods.Circle(0.01), METAL, ("hub", "free"), 4)
    robot = ch.System([ch.Body("hub", 1.0)], frames=[ch.Frame("eye", "arm@0.5")], rods=[arm])
    both = ch.System([ch.Body("base", 1.0)]).attach(robot, ch.weld("on", "base", "hub"), "left ")
    assert both.frame("left eye").body == "left arm[2]"
    assert both.change("rods.left arm", elements=8).frame("left eye").body == "left arm[4]"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("mast@0.3", r"frame 'x': 'mast@0.3': there is no node at 0.3 m; the nearest are 'mast\[2\]' at 0.25 m and "
         r"'mast\[3\]' at 0.375 m; elements = 10 puts one there \(now 8\)"),
        ("mast@1.2", r"'mast@1.2': there is no place at 1.2 m; rod 'mast' goes from 0 to 1 m"),
        ("mast@-0.1", r"there is no place at -0.1 m"),
        ("mast@nan", r"'mast@nan': the arc length is not finite"),
        ("mast@tip", r"expected an arc length \[m\] after @, from 0 to 1, such as \"mast@0.5\" or \"mast@500 mm\""),
        ("mast@5 kg", r"'mast@5 kg': expected an arc length"),
        ("mats@0.5", r"there is no rod 'mats'; did you mean 'mast'\? rods: mast, side"),
        ("mast@0.314159265", r"no number of elements up to 100 puts one there: take one of these"),
    ],
)  # fmt: skip
def test_places_where_there_is_no_node(name, message):
    with pytest.raises(ValueError, match=message):
        mast().with_frame(ch.Frame("x", name))


def test_a_place_on_a_welded_end_is_its_frame():
    system = mast()
    assert system.frame("mast@0").body == "ground"
    with pytest.raises(ValueError, match=r"'mast\[0\]' is an end that is welded to 'ground'; name that body"):
        system.with_force(ch.Wrench("x", "mast@0", (0,) * 6))


def test_other_elements_move_laws_too_and_refuse_joints_of_elements():
    arm = ch.Rod("arm", rods.Line((0, 0, 0), (1, 0, 0)), rods.Circle(0.01), METAL, ("ground", "free"), 4)
    law = ch.Wrench("law", "arm[4]", (0, 0, 0, 0, 0, "distance('arm[2]', 'ground')"), "hybrid")
    fine = rods.with_elements(ch.System(forces=[law], rods=[arm]), {"arm": 8})
    assert fine.forces[0].value.seen == (("arm[4]", "ground"),)
    soft = ch.Rod("arm", arm.curve, arm.section, METAL, arm.ends, 4, strains=("bend_z",))
    for part in (
        {"actuators": [ch.Actuator("motor", "arm[2]")]},
        {"forces": [ch.JointForce("push", "arm[2]", (1.0,))]},
        {"forces": [ch.Wrench("push", "arm[4]", (0, 0, 0, 0, "q('arm[2]')", 0))]},
    ):
        with pytest.raises(ValueError, match=r"uses joint 'arm\[2\]', the strain of one element, which other elements"):
            rods.with_elements(ch.System(rods=[soft], **part), {"arm": 8})


def test_a_curve_of_a_file_may_be_a_function(tmp_path):
    file = tmp_path / "coil.toml"
    section, curve = (
        'section = { kind = "circle", radius = 0.001 }',
        'point = ["R * cos(tau * u)", "R * sin(tau * u)", "pitch * u"]',
    )
    text = f'[parameters]\nR = "100 mm"\npitch = 0.05\n[[rods]]\nname = "coil"\n{section}\nelements = 16\n'
    file.write_text(f'{text}material = {{ E = 1e9, density = 1 }}\ncurve = {{ kind = "function", {curve} }}\n')
    (coil,) = ch.load(file).system.rods
    helix = rods.Helix((0.1, 0, 0), (0, 0, 0), (0, 0, 1), 0.05, 1.0)
    assert coil.length == pytest.approx(helix.length, rel=1e-6)
    s = np.linspace(0.0, helix.length, 7)
    assert np.allclose(coil.curve.poses(s, "", None)[:, 4:], helix.poses(s, "", None)[:, 4:], atol=1e-6)
    for old, new, message in (
        ("pitch * u", "pitc * u", "pitc"),
        ("pitch = 0.05", "pitch = 0.05\nu = 1", "uses 'u', which is a parameter"),
        (', "pitch * u"', "", "expected 3 of them"),
    ):
        file.write_text(
            f'{text}material = {{ E = 1e9, density = 1 }}\ncurve = {{ kind = "function", {curve} }}\n'.replace(old, new)
        )
        with pytest.raises(ValueError, match=message):
            ch.load(file)
