"""Drives that begin where the mechanism stands: `start` in their laws."""

import numpy as np
import pytest

import chasles as ch

CRANK = """
[parameters]
rod = 3.0
{parameter}
[[bodies]]
name = "crank"
mass = 1
com = [0.5, 0, 0]
inertia = [0.1, 0.1, 0.1]
[[bodies]]
name = "rod"
mass = 1
com = ["rod / 2", 0, 0]
inertia = [0.1, 0.8, 0.8]
[[bodies]]
name = "piston"
mass = 2
inertia = [0.1, 0.1, 0.1]
[[joints]]
name = "crank"
kind = "revolute"
parent = "ground"
child = "crank"
axis = [0, 0, 1]
[[joints]]
name = "big end"
kind = "revolute"
parent = "crank"
child = "rod"
axis = [0, 0, 1]
at = [1, 0, 0]
[[joints]]
name = "small end"
kind = "revolute"
parent = "rod"
child = "piston"
axis = [0, 0, 1]
at = ["rod", 0, 0]
[[joints]]
name = "slide"
kind = "prismatic"
parent = "ground"
child = "piston"
axis = [1, 0, 0]
[[constraints]]
name = "pump"
kind = "drive"
joint = "{joint}"
value = "{value}"
[initial]
q.crank = "90 deg"
q."big end" = "-100 deg"
held = ["crank"]
[simulation]
span = [0, 0.1]
"""


def write(tmp_path, value="start + 0.3 * smooth(t, 0, 0.1)", joint="slide", parameter=""):
    file = tmp_path / "pump.toml"
    file.write_text(CRANK.format(value=value, joint=joint, parameter=parameter))
    return file


def test_a_drive_begins_where_the_loop_stands(tmp_path):
    """The slide closes the loop: its place follows from the crank and the length of the rod."""
    file = write(tmp_path)
    run = ch.load(file).run(certificate=False)
    slide = run.joint("slide").q[:, 0]
    assert abs(slide[0] - np.sqrt(8.0)) < 1e-12
    assert abs(slide[-1] - np.sqrt(8.0) - 0.3) < 1e-12
    assert run.joint("crank").q[0, 0] == np.pi / 2  # as given
    other = ch.load(file, set={"parameters.rod": 2.0, "constraints.pump.value": "2 * start - start"})
    assert abs(other.plan().begin.joint("slide").q[0] - np.sqrt(3.0)) < 1e-12
    run.save(tmp_path / "run.h5")  # where the law has the number
    assert np.array_equal(
        ch.open(tmp_path / "run.h5").mechanism.system.constraints[0].value.texts, run.system.constraints[0].value.texts
    )


def test_a_parameter_of_this_name_has_the_first_word(tmp_path):
    study = ch.load(write(tmp_path, parameter="start = 2.5"))
    assert study.system.constraints[0].value.texts[0].startswith("2.5")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"joint": "sldie"}, r"constraints\[0\].joint: is 'sldie'; did you mean 'slide'"),
        ({"value": "start + 0.3 * smoth(t, 0, 1)"}, "smoth"),
        ({"value": "start + 0.3"}, "'crank' = 1.5708 rad"),
        ({"value": "start + wrong"}, "'wrong' is not a parameter"),
    ],
)
def test_mistakes(tmp_path, change, said):
    with pytest.raises(ValueError, match=said):
        ch.load(write(tmp_path, **change)).plan()
