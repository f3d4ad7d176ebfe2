"""Numbers of elements that a model file leaves to an accuracy, on the 45 degree bend, whose tip is known."""

import json

import numpy as np
import pytest

import chasles as ch
from chasles import rods
from chasles.io.source import ModelFileError
from tests.rods.test_statics import BEND

TEXT = """
gravity = [0, 0, 0]
[parameters]
P = 600
[[rods]]
name = "bend"
ends = ["ground", "free"]
curve = { kind = "arc", start = [0, 0, 0], center = [100, 0, 0], axis = [0, 0, -1], angle = "45 deg" }
section = { kind = "constants", area = 1, Iy = "1/12", Iz = "1/12", J = "1/6", shear = 1 }
material = { E = 1e7, nu = 0 }
elements = { accuracy = "1 mm" }
[[forces]]
name = "tip"
kind = "wrench"
body = "bend@25 * pi"
representation = "hybrid"
value = [0, 0, 0, 0, 0, "P"]
[[frames]]
name = "third"
body = "bend@25 * pi / 3"
"""


def load(folder, text=TEXT, **changes):
    file = folder / "bend.toml"
    file.write_text(text)
    return ch.load(file, set=changes)


def test_elements_for_an_accuracy(tmp_path):
    study = load(tmp_path)
    (rod,) = study.system.rods
    off = np.abs(ch.equilibrium(study.system).pose(rod.nodes[-1])[4:] - BEND).max()
    assert rod.elements == 12  # a quarter of it has a node at a third
    assert off < 1e-3
    assert study.mesh.error == pytest.approx(off, rel=0.2)
    finer = load(tmp_path, **{"rods.bend.elements.accuracy": "1 um"})
    assert finer.system.rods[0].elements == 48
    assert np.abs(ch.equilibrium(finer.system).pose("bend@78.5398163")[4:] - BEND).max() < 1e-6
    assert load(tmp_path, **{"rods.bend.elements": 6}).system.rods[0].elements == 6


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("P = 600", "P = 0", r"elements: rod 'bend' has no deformation in equilibrium.* give a number"),
        ("bend@25 * pi\"", "bend[8]\"", r"'bend\[8\]' is no place as long as .*'bend@78.5398' at the end"),
        ("accuracy =", "accurate =", r"has accurate; expected \{ accuracy = \"0.1 mm\" \}, or a number"),
        ("1 mm", "1 kg", r"is '1 kg', a mass; expected a length \[m\]"),
        ("1 mm", "-1 mm", r"accuracy is -0.001; expected a positive length"),
        ("1 mm", "1e-9 mm", r"accuracy is 1e-12 m; expected 1e-10 of the length or more, which is 7.9e-09 m"),
        ("\"1 mm\" }", "1 }\nstrains = [\"bend_z\"]\nmodes = 2", r"a rod with modes is as exact as its modes; give a"),
        ('"ground"', '"free"', r"elements: elements by accuracy need an equilibrium: .*; or give a number of elements"),
    ],
)  # fmt: skip
def test_where_an_accuracy_gives_no_number(tmp_path, old, new, message):
    with pytest.raises(ModelFileError, match=message):
        load(tmp_path, TEXT.replace(old, new, 1))


def test_some_rods_are_judged_and_refined():
    metal, line = rods.Material(1e8, density=1000.0), rods.Line((0, 0, 0), (1, 0, 0))
    one = ch.Rod("one", line, rods.Circle(0.01), metal, ("ground", "free"), 8)
    two = ch.Rod("two", line, rods.Circle(0.01), metal, ("one@0.125", "free"), 6)
    system = ch.System(rods=[one, two])
    fine = rods.refined(system, 1e-3, rods=["one"])
    assert (fine.rod("one").elements, fine.rod("two").elements) == (32, 6)  # a quarter of 32 has the node of "two"
    assert rods.mesh_error(fine, rods=["one"]).elements == {"one": 32}
    assert json.dumps(fine.rod("two").ends) == '["one[4]", "free"]'
