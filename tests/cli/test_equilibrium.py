"""`chasles equilibrium`: one, and a branch over a value of the file with its folds, against the closed form."""

import json

import numpy as np
import pytest

from chasles.cli.equilibrium import equilibrium
from chasles.cli.linearize import linearize

TRUSS = """
gravity = [0, 0, 0]
[parameters]
load = "0 N"
[[bodies]]
name = "knee"
mass = 1
[[joints]]
name = "height"
kind = "prismatic"
parent = "ground"
child = "knee"
axis = [0, 1, 0]
[[forces]]
name = "left"
kind = "spring"
bodies = ["ground", "knee"]
points = [[-1, 0, 0], [0, 0, 0]]
stiffness = 100
length = 1.0770329614269007
[[forces]]
name = "right"
kind = "spring"
bodies = ["ground", "knee"]
points = [[1, 0, 0], [0, 0, 0]]
stiffness = 100
length = 1.0770329614269007
[[forces]]
name = "push"
kind = "joint_force"
joint = "height"
value = ["-load"]
[initial]
q.height = 0.4
"""


@pytest.fixture
def truss(tmp_path):
    file = tmp_path / "truss.toml"
    file.write_text(TRUSS)
    return file


def test_at_rest(truss, capsys):
    equilibrium(str(truss), json_output=True)
    found = json.loads(capsys.readouterr().out)
    assert found["stability"] == "stable"
    assert found["q"]["height"] == pytest.approx([0.4], abs=1e-12)
    equilibrium(str(truss))
    assert "height: 0.4 m" in capsys.readouterr().out


@pytest.mark.study
def test_a_branch_through_its_folds(truss, capsys):
    """P = 2 k h (l0/l - 1) is largest where l³ = l0 a²."""
    picture = truss.with_suffix(".png")
    equilibrium(str(truss), over="parameters.load=-3 N:3 N", begin=0.0, output=picture, json_output=True)
    found = json.loads(capsys.readouterr().out)
    free = np.hypot(1.0, 0.4)
    length = np.cbrt(free)
    largest = 200.0 * np.sqrt(length**2 - 1) * (free / length - 1)
    folds = [one["parameter"] for one in found["special"] if one["kind"] == "fold"]
    assert folds == pytest.approx([largest, -largest], rel=1e-12)
    assert found["unit"] == "N"
    assert picture.stat().st_size > 10_000
    equilibrium(str(truss), over="parameters.load=0:3 N")
    assert "fold at load [N] = " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("over", "told"),
    [
        ("parameters.load", "expected a value of the file and its ends"),
        ("parameters.load=0:3:5", "expected a value of the file and its ends"),
        ("parameters.load=a:b", "expected a value of the file and its ends"),
        ("parameters.load=0 N:3 kN", "expected one unit"),
        ("parameters.load=1:1", "two numbers that differ"),
        ("parameters.lode=0:3", "lode"),
    ],
)
def test_what_is_no_range(truss, over, told):
    with pytest.raises(ValueError, match=told):
        equilibrium(str(truss), over=over)
    with pytest.raises(ValueError, match="--over path=from:to"):
        equilibrium(str(truss), begin=1.0)


DRIVEN = """
name = "crank"
[[bodies]]
name = "arm"
mass = 1.0
com = [0.1, 0, 0]
inertia = [0.01, 0.01, 0.01]
[[joints]]
name = "motor"
kind = "revolute"
parent = "ground"
child = "arm"
axis = [0, 1, 0]
[[constraints]]
name = "drive"
kind = "drive"
joint = "motor"
value = "2 * t"
[initial]
v.motor = 2.0
"""


def test_a_driven_model_is_linearized_about_the_velocities_that_its_drive_asks_for(tmp_path, capsys):
    (tmp_path / "crank.toml").write_text(DRIVEN)
    equilibrium(str(tmp_path / "crank.toml"))
    assert "not at rest: 'drive'" in capsys.readouterr().out
    linearize(str(tmp_path / "crank.toml"))
    told = " ".join(capsys.readouterr().out.split())
    assert "held in motion by 'drive'; no degrees of freedom left" in told
    assert "no modes" in told


def test_of_rods(capsys):
    """In absolute coordinates, by the joints of their nodes: here those of a frame without load, which stays."""
    equilibrium("right_angle_frame", change=["rods.one.elements=8"], json_output=True)
    found = json.loads(capsys.readouterr().out)
    assert found["stability"] == "stable"
    assert list(found["q"]) == [f"{leg}[{k}]" for leg in ("one", "two") for k in range(1, 9)]
    assert found["q"]["two[8]"] == pytest.approx([1, 0, 0, 0, 0, 0, 0], abs=1e-12)
