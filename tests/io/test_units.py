"""Quantities with units in model files: they are what they are in SI, and no angle is taken for a length."""

import math
import re

import numpy as np
import pytest

import chasles as ch
from chasles.cli.run import seconds
from chasles.io.units import NAMES, UNITS, quantity, unit_of, value_of
from chasles.io.values import Reader

MODEL = """
gravity = [0, 0, "-981 cm/s^2"]

[parameters]
arm = "250 mm"
lean = "30 deg"

[[bodies]]
name = "crank"
mass = "1500 g"
com = ["arm / 2", "0 mm", 0]
inertia = ["2e4 kg mm^2", "0.02 kg m²", "200 kg cm**2"]
shapes = [{ kind = "sphere", radius = "2 in" }]

[[bodies]]
name = "slider"
mass = 0.5
inertia = [0.01, 0.01, 0.01]

[[joints]]
name = "hinge"
kind = "revolute"
parent = "ground"
child = "crank"
axis = [0, 0, 1]
at = { position = ["1 m", "2 cm", 0], rpy = ["90 deg", 0, "lean"] }
damping = "3 N mm s/deg"
stiffness = "5 Nm"
lower = "-0.25 rev"
upper = "0.25 turn"
friction_speed = "1 rpm"

[[joints]]
name = "slide"
kind = "cylindrical"
parent = "ground"
child = "slider"
axis = [1, 0, 0]
rest = ["10 deg", "25.4 mm"]
stiffness = [0, "5 N/mm"]

[[forces]]
name = "push"
kind = "wrench"
body = "slider"
value = ["1 N m", 0, 0, "1 kN", "20 * sin(t)", 0]

[[forces]]
name = "motor"
kind = "joint_force"
joint = "hinge"
value = "2 kNm"

[[constraints]]
name = "held"
kind = "drive"
joint = "slide"
coordinate = 1
value = "30 mm"

[initial]
q.hinge = "90 deg"
v.hinge = "3 rpm"
q.slide = ["0 deg", "30 mm"]

[simulation]
span = [0, "10 ms"]
step = "1 ms"
save = ["0 s", "4 ms"]
"""


@pytest.fixture
def load(tmp_path):
    def read(text=MODEL, **changes):
        file = tmp_path / "crank.toml"
        file.write_text(text, encoding="utf-8")
        return ch.load(file, set=changes.get("set"))

    return read


def test_units_of_all_kinds_of_fields(load):
    study = load()
    crank, _ = study.system.bodies
    assert study.system.gravity == (0.0, 0.0, -9.81)
    assert (crank.mass, crank.com, crank.shapes[0].radius) == (1.5, (0.125, 0.0, 0.0), 0.0508)
    assert np.array_equal(np.diag(crank.inertia), [0.02, 0.02, 0.02])
    hinge, slide = study.system.joints
    assert hinge.damping == pytest.approx((3e-3 * 180 / math.pi,), rel=1e-15)
    assert (hinge.stiffness, hinge.lower, hinge.upper) == ((5.0,), (-math.pi / 2,), (math.pi / 2,))
    assert hinge.friction_speed == math.tau / 60
    assert hinge.parent_frame[4:] == (1.0, 0.02, 0.0)
    c, x = math.cos(math.pi / 4), math.cos(math.pi / 12)
    assert hinge.parent_frame[0] == pytest.approx(c * x, abs=1e-15)  # half angles of 90 and 30 degrees
    assert slide.rest == (math.pi / 18, 0.0254)  # as 25.4 / 1000, to the last bit
    assert slide.stiffness == (0.0, 5000.0)
    push, motor = study.system.forces
    assert push.value.at(math.pi / 2)[[0, 3, 4]] == pytest.approx([1.0, 1000.0, 20.0], rel=1e-15)
    assert motor.value == (2000.0,)
    assert study.system.constraints[0].value == 0.03
    assert study.initial["q"] == {"hinge": math.pi / 2, "slide": (0.0, 0.03)}
    assert study.initial["v"] == {"hinge": math.pi / 10}
    assert study.options == {"span": (0.0, 0.01), "step": 0.001, "save": (0.0, 0.004)}
    changed = load(set={"bodies.crank.mass": "2 kg", "initial.q.hinge": "-45 °", "parameters.arm": "1 cm"})
    assert (changed.system.bodies[0].mass, changed.initial["q"]["hinge"]) == (2.0, -math.pi / 4)
    assert changed.system.bodies[0].com[0] == 0.005


@pytest.mark.parametrize(
    ("line", "instead", "where", "message"),
    [
        (
            'radius = "2 in"',
            'radius = "2 deg"',
            "bodies[0].shapes[0].radius",
            "'2 deg', an angle; expected a length [m]",
        ),
        ('mass = "1500 g"', 'mass = "15 N"', "bodies[0].mass", "'15 N', a force; expected a mass [kg]"),
        ('mass = "1500 g"', 'mass = "lean"', "bodies[0].mass", "'lean', an angle; expected a mass [kg]"),
        ('mass = "1500 g"', 'mass = "1500 gr"', "bodies[0].mass", "'gr' is unknown; "),
        ('q.hinge = "90 deg"', 'q.hinge = "90 mm"', "initial.q.hinge", "a length; expected an angle [rad]"),
        ('v.hinge = "3 rpm"', 'v.hinge = "3 deg"', "initial.v.hinge", "an angle; expected an angular speed [rad/s]"),
        ('v.hinge = "3 rpm"', 'v.hinge = "3 Hz"', "initial.v.hinge", "a rate; expected an angular speed [rad/s]"),
        ('["0 deg", "30 mm"]', '["30 mm", "0 deg"]', "initial.q.slide", "'30 mm', a length; expected an angle [rad]"),
        ('damping = "3 N mm s/deg"', 'damping = "3 N s/m"', "joints[0].damping", "expected a damping of turning"),
        ('rest = ["10 deg", "25.4 mm"]', 'rest = [0, "25.4 deg"]', "joints[1].rest", "an angle; expected a length [m]"),
        ('value = "2 kNm"', 'value = "2 kN"', "forces[1].value", "a force; expected a torque [N m]"),
        ('"1 kN", "20', '"1 kN m", "20', "forces[0].value", "a torque; expected a force [N]"),
        ('value = "30 mm"', 'value = "30 deg"', "constraints[0].value", "an angle; expected a length [m]"),
        ('step = "1 ms"', 'step = "1 mm"', "simulation.step", "a length; expected a time [s]"),
        ('step = "1 ms"', 'rtol = "1 ms"', "simulation.rtol", "a time; expected a number without a unit"),
        ("axis = [1, 0, 0]", 'axis = ["1 m", 0, 0]', "joints[1].axis", "a length; expected a number without a unit"),
        ('rpy = ["90 deg", 0', 'rpy = ["90 m", 0', "joints[0].at", "a length; expected an angle [rad]"),
        ('"-981 cm/s^2"', '"-981 cm/s"', "gravity", "a speed; expected an acceleration [m/s²]"),
        ('arm = "250 mm"', 'arm = "250 mmm"', "parameters.arm", "'mmm' is unknown"),
        ('arm = "250 mm"', 'arm = "250 mm + 3"', "parameters.arm", "is unknown"),
    ],
)
def test_wrong_dimensions_are_named_with_file_line_and_key(load, line, instead, where, message):
    assert line in MODEL
    with pytest.raises(ValueError, match=re.escape(message)) as wrong:
        load(MODEL.replace(line, instead))
    assert re.search(rf"crank\.toml:\d+: {re.escape(where)}: ", str(wrong.value))


def test_every_unit_and_every_name():
    for name, unit in UNITS.items():
        if name not in ("", "-", "1"):
            number, text = quantity(f"2 {name}")
            assert value_of(number, text, None) == pytest.approx(2 * float(unit.factor) * math.pi**unit.turns)
    for name in NAMES:
        assert unit_of(name).factor == 1  # what the program computes in
    assert unit_of("kg m/s²") == unit_of("N")
    assert unit_of("N·m / s^2 / kg") == unit_of("N m kg^-1 s^-2")
    for text in ("2 * r", "r", "1e3", "30 * deg", "-x", "3e9999 m", "2 m" + " " * 100):
        assert quantity(text) is None
    assert quantity(" -2.5e-3mm ") == quantity("-0.0025 mm")
    assert value_of(*quantity("2.5 \N{MICRO SIGN}m"), ["m"]) == 2.5e-6


def test_output_times_with_units(load):
    text = MODEL.replace('save = ["0 s", "4 ms"]', 'every = "2 ms"')
    study = load(text)
    assert study.options["every"] == 0.002
    assert study.run(progress=False).t.tolist() == pytest.approx([0.0, 0.002, 0.004, 0.006, 0.008, 0.01], abs=1e-17)
    assert study.run(progress=False, save=[0.0, 0.0031]).t.tolist() == [0.0, 0.0031]
    with pytest.raises(ValueError, match=r"simulation\.every: is '2 mm', a length; expected a time \[s\]"):
        load(text.replace("2 ms", "2 mm"))
    assert (seconds("--every", "10ms"), seconds("--end", "2")) == (0.01, 2.0)
    with pytest.raises(ValueError, match="--every is '3 m', a length; expected a time"):
        seconds("--every", "3m")


def test_a_mount_has_units_for_turning_and_for_sliding(load):
    mount = """
[[forces]]
name = "mount"
kind = "bushing"
bodies = ["crank", "slider"]
stiffness = ["1 N m/deg", 2, 3, "4 N/mm", "5 kN/m", 6]
"""
    found = load(MODEL + mount).system.forces[-1]
    stiffness = np.array(found.stiffness)
    diagonal = np.diag(stiffness) if stiffness.ndim == 2 else stiffness
    assert diagonal == pytest.approx([180 / math.pi, 2.0, 3.0, 4000.0, 5000.0, 6.0], rel=1e-15)
    with pytest.raises(ValueError, match=r"forces\[2\]\.stiffness: .* expected a stiffness against turning"):
        load(MODEL + mount.replace("1 N m/deg", "1 N/mm"))


@pytest.mark.parametrize("text", ["crank + 25 mm", "40 N m * ramp(t, 0, 1)", "2 * (3 mm)", "25 mm - crank"])
def test_a_unit_in_an_expression_is_told_from_an_unknown_unit(text):
    reader = Reader({"crank": 0.05}, {})
    with pytest.raises(ValueError, match=r"has a number with a unit in an expression.*make it a parameter"):
        reader.number(text, ("m",))


@pytest.mark.parametrize(
    ("text", "value"), [("2e-3 * crank", 1e-4), ("25 mm", 0.025), ("3 * (crank - 1e-2)", 0.12), ("-crank + 1", 0.95)]
)
def test_what_is_no_mixture_is_read(text, value):
    assert Reader({"crank": 0.05}, {}).number(text, ("m",)) == pytest.approx(value)


@pytest.mark.parametrize("text", ["2 N / mm", "2 N * m/m", "3 kg * m / s^2"])
def test_spaces_in_units(text):
    assert Reader({}, {}).number(text, None) > 0


def test_a_unit_may_begin_with_a_one():
    """Curvatures and rates; without a space the one is a part of the number."""
    assert Reader({}, {}).number("6 1/mm", ("1/m",)) == 6000.0
    assert Reader({}, {}).number("2 1/s", None) == 2.0
    assert Reader({"m": 4.0}, {}).number("61/m", None) == 61 / 4.0
    with pytest.raises(ValueError, match=r"unit '1/x': 'x' is unknown"):
        Reader({}, {}).number("6 1/x", ("1/m",))
