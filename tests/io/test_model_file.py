"""Model files: what is read is what is written, and every mistake is found where it stands."""

import contextlib
import math
import os
import time

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import chasles as ch
from chasles.io.load import load
from chasles.io.model_file import Study
from chasles.io.model_writer import model_text
from chasles.io.schema import TYPES, schema
from chasles.io.source import ModelFileError
from chasles.io.spec import SECTIONS, KindSpec
from chasles.io.tables import titled_rows
from chasles.io.values import from_rotation_vector, from_rpy
from chasles.lie.rotation import convert
from chasles.model.expression import evaluate, evaluate_all

PENDULUM = """
name = "double pendulum"
[parameters]
length = 0.5
radius = "length / 25"
[[bodies]]
name = "upper"
density = 7800
shapes = [{ kind = "cylinder", radius = "radius", length = "length", pose = [0, 0, "-length / 2"] }]
[[bodies]]
name = "lower"
mass = 2
com = [0, 0, "-length/2"]
inertia = [0.1, 0.1, 0.1]
[[joints]]
name = "pivot"
kind = "spherical"
parent = "ground"
child = "upper"
[[joints]]
name = "elbow"
kind = "revolute"
axis = [0, 1, 1]
parent = "upper"
child = "lower"
at = { position = [0, 0, "-length"], rpy = ["30*deg", 0, 0] }
damping = 0.1
[[frames]]
name = "tip"
body = "lower"
pose = [0, 0, "-length"]
[initial]
v.pivot = [4, 3, 0]
q.elbow = 0.3
[simulation]
span = [0, 0.5]
method = "dopri5"
rtol = 1e-9
"""


@pytest.fixture
def written(tmp_path):
    def write(text: str = PENDULUM, name: str = "model.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_is_the_system_that_python_writes(written):
    study = load(written())
    rod = [ch.shapes.Cylinder(0.02, 0.5, pose=(1, 0, 0, 0, 0, 0, -0.25))]
    turned = (math.cos(math.pi / 12), math.sin(math.pi / 12), 0, 0, 0, 0, -0.5)
    expected = ch.System(
        [
            ch.Body("upper", shapes=rod, density=7800.0),
            ch.Body("lower", mass=2, com=(0, 0, -0.25), inertia=(0.1, 0.1, 0.1)),
        ],
        [
            ch.spherical("pivot", "ground", "upper"),
            ch.revolute("elbow", "upper", "lower", axis=(0, 1, 1), at=turned, damping=0.1),
        ],
        [ch.Frame("tip", "lower", (0, 0, -0.5))],
        name="double pendulum",
    )
    assert study.system == expected
    assert study.options["method"] == ch.integrate.RKMK("dopri5")
    run = study.run()
    other = ch.simulate(expected, (0, 0.5), q=[1, 0, 0, 0, 0.3], v=[4, 3, 0, 0], rtol=1e-9)
    np.testing.assert_array_equal(run.q, other.q)
    fixed = study.run(step=0.01, span=(0, 0.1))
    assert fixed.solution.steps == 10


def test_folders_and_empty_files(tmp_path):
    for opened in (load, ch.open):
        with pytest.raises(ValueError, match="is a folder"):
            opened(tmp_path)
    empty = tmp_path / "empty.toml"
    for text in ("", 'name = "nothing"\n'):
        empty.write_text(text)
        with pytest.raises(ModelFileError, match=r"empty\.toml: has no bodies; expected \[\[bodies\]\]"):
            load(empty)


def test_values_can_be_changed_by_path(written):
    changes = {"parameters.length": 0.3, "bodies.lower.mass": 3, "simulation.span": [0, 1], "gravity": [0, 0, -1.6]}
    study = load(written(), set=changes)
    assert study.system.body("lower").mass == 3
    assert study.system.frame("tip").pose[6] == -0.3
    assert study.options["span"] == (0.0, 1.0)
    assert study.system.gravity == (0.0, 0.0, -1.6)
    assert load(written(), set={"length": 0.3}).system == load(written(), set={"parameters.length": 0.3}).system
    for path, match in (
        ("bodies.nobody.mass", "nothing of this name"),
        ("parameters.width", "no parameter 'width'"),
        ("lenght", "nothing of this name.*length"),
        ("bodies.lower.weight", "weight: is unknown here"),
    ):
        with pytest.raises(ValueError, match=match):
            load(written(), set={path: 1})


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("mass = 2", "mass = -2", 12, r"bodies\[1\].mass: .*negative mass"),
        ("inertia = [0.1, 0.1, 0.1]", "inertia = [1, 0.1, 0.1]", 14, r"bodies\[1\].inertia: .*triangle inequality"),
        ("axis = [0, 1, 1]", "axis = [0, 0, 0]", 23, r"joints\[1\].axis: .*no length"),
        ("axis = [0, 1, 1]", "axis = [0, 1]", 23, r"joints\[1\].axis: is \[0, 1\]; expected 3"),
        ("axis = [0, 1, 1]", 'axis = [0, 1, "wide"]', 23, "'wide' is not a parameter; known: length, radius"),
        ('kind = "revolute"', 'kind = "hinge"', 22, r"joints\[1\].kind: is 'hinge'; expected one of revolute"),
        ('kind = "revolute"\n', "", 20, r"joints\[1\].kind: is None; expected one of"),
        ('child = "lower"\n', "", 20, r"joints\[1\]: has no child"),
        (
            "damping = 0.1",
            "dampening = 0.1",
            27,
            r"dampening: is unknown here; did you mean 'damping'. expected name",
        ),
        ("damping = 0.1", "damping = true", 27, "is True; expected a number"),
        ("damping = 0.1", "damping = nan", 27, "is nan; expected a finite number"),
        ("damping = 0.1", "damping = 1e308", 27, "cannot be meant"),
        ("mass = 2", "mass = " + "9" * 400, 12, "is inf; expected a finite number"),
        ("q.elbow = 0.3", "q.elbow = [0.3, 1]", 34, "initial.q.elbow: has 2 numbers; expected 1"),
        ("q.elbow = 0.3", "q.knee = 0.3", 34, "there is no joint 'knee'"),
        (
            'method = "dopri5"',
            'method = "rk5"',
            37,
            "method: is 'rk5'; did you mean 'rk4'. expected one of rkmk",
        ),
        ("[parameters]", "[params]", 3, "params: is unknown; did you mean 'parameters'. expected name, description"),
        ("length = 0.5", 'length = "2 * radius"', 3, "in a circle: length -> radius -> length"),
        ("length = 0.5", "length = ]", 4, "is not TOML"),
        ('name = "lower"', 'name = "lo\\u0007wer"', 11, "without control characters"),
    ],
)
def test_a_mistake_is_found_where_it_stands(written, old, new, line, message):
    assert PENDULUM.count(old) == 1 or old == 'child = "lower"\n'
    with pytest.raises(ModelFileError, match=message) as caught:
        load(written(PENDULUM.replace(old, new)))
    assert caught.value.line == line
    assert f"model.toml:{line}: " in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "().__class__",
        "[1][0]",
        "(lambda: 1)()",
        "open('x')",
        "length.real",
        "f'{length}'",
        "1 if 1 else 2",
        "min(*[1, 2])",
        "max(1, key=abs)",
        "(" * 399,
        "[" * 399,
        "9 ** 9 ** 9 ** 9",
        "1 / 0",
        "sqrt(-1)",
        "log(0)",
        "(-8) ** (1 / 3)",
        "1j",
        "'1'",
        "True",
        "1 +",
        "",
        "x" * 1000,
        "sin(1, 2)",
    ],
)
def test_expressions_compute_and_do_nothing_else(text):
    began = time.process_time()
    with pytest.raises(ValueError, match=r"\S"):
        evaluate(text, {"length": 1.0})
    assert time.process_time() - began < 1


def test_values_of_expressions():
    names = {"a": 2.0, "b": 0.5}
    assert evaluate("-a ** 2 + b / 4 - 1", names) == -4 + 0.125 - 1
    assert evaluate("atan2(1, 1) * 4", {}) == pytest.approx(math.pi, rel=1e-15)
    assert evaluate("max(a, b, 3) + sin(90 * deg)", names) == 4
    assert evaluate_all({"c": "a + b", "a": "2 * b", "b": 1}) == {"b": 1.0, "a": 2.0, "c": 3.0}


# all of ASCII, and of the other signs those that are digits, letters or spaces in some sense: to draw from all of
# Unicode, Hypothesis makes a table of it first, for seconds
SIGNS = "".join(map(chr, range(128))) + "²½Ωπ°µé٣ⅷ𝟘☃\u00a0\u0301\u2028\u202e\u200b\ufeff\uffff"


@settings(max_examples=60, deadline=None)
@given(st.text(SIGNS, max_size=60))
def test_any_text_is_a_number_or_a_named_error(text):
    with contextlib.suppress(ValueError):
        assert isinstance(evaluate(text, {"x": 1.0}), float)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(PENDULUM) - 2), st.text(SIGNS, max_size=6))
def test_a_damaged_file_is_read_or_refused_with_its_name(written, at, text):
    with contextlib.suppress(ModelFileError):
        assert isinstance(load(written(PENDULUM[:at] + text + PENDULUM[at + 1 :])), Study)


def test_includes(written):
    written("[parameters]\nlength = 0.7\nmass = 3\n", "sizes.toml")
    with_include = 'include = "sizes.toml"\n' + PENDULUM.replace("mass = 2", 'mass = "mass"')
    study = load(written(with_include))
    assert study.system.body("lower").mass == 3
    assert study.parameters["length"] == 0.5  # what includes has the last word
    written('include = "model.toml"\n', "sizes.toml")
    with pytest.raises(ModelFileError, match=r"in a circle: model\.toml -> sizes\.toml -> model\.toml"):
        load(written(with_include))
    for outside in ("../secret.toml", "/etc/passwd"):
        with pytest.raises(ModelFileError, match="leads out of the folder"):
            load(written(f'include = "{outside}"\n' + PENDULUM))
    with pytest.raises(ModelFileError, match="cannot be read"):
        load(written('include = "nothing.toml"\n' + PENDULUM))


def test_hostile_files_are_refused_at_once(written):
    began = time.process_time()
    with pytest.raises(ModelFileError, match=r"nested too deeply|is not TOML"):
        load(written("a = " + "[" * 100_000))
    with pytest.raises(ModelFileError, match="is larger than"):
        load(written("# " + "x" * 17_000_000))
    path = written()
    path.write_bytes(b"name = '\xff\xfe'")
    with pytest.raises(ModelFileError, match="not UTF-8"):
        load(path)
    assert time.process_time() - began < 2


def every_kind() -> ch.System:
    """A system with everything that a file can hold."""
    bodies = [
        ch.Body(
            f"b{k}",
            mass=1.0 + k / 3,
            com=(0.1, 0, 0.2 / 3),
            inertia=[[0.2, 0.01, 0], [0.01, 0.3, 0], [0, 0, 0.25]],
        )
        for k in range(11)
    ]
    bodies.append(
        ch.Body(
            'Körper "12" / \\',
            density=2700.0 / 7,
            shapes=[
                ch.shapes.Box((1, 2, 3), color=(0.1, 0.2, 0.3)),
                ch.shapes.Sphere(0.3, pose=(1, 0, 0, 0, 0, 1 / 3, 0)),
                ch.shapes.Capsule(0.1, 0.2),
                ch.shapes.Ellipsoid((0.1, 0.2, 0.3)),
            ],
        )
    )
    at = (*np.array([0.9, 0.1, -0.3, 0.2]) / np.linalg.norm([0.9, 0.1, -0.3, 0.2]), 0.1, 1 / 3, 0.2)
    axis = (0.3, -0.2, 0.9)
    joints = [
        ch.revolute("revolute", "ground", "b0", axis=axis, at=at, lower=-1, upper=2, stop_stiffness=5.0, damping=0.1),
        ch.prismatic("prismatic", "b0", "b1", axis=axis, child_at=at, stiffness=3.0, rest=0.1, friction=0.2),
        ch.helical("helical", "b1", "b2", axis=axis, pitch=0.1 / 3, armature=0.01),
        ch.cylindrical("cylindrical", "b2", "b3", axis=axis, damping=(0.1, 0.2)),
        ch.universal("universal", "b3", "b4", axes=[(1, 0.2, 0), (0.1, 1, 0.3)]),
        ch.planar("planar", "b4", "b5", normal=axis),
        ch.spherical("spherical", "b5", "b6"),
        ch.free("free", "ground", "b7", at=at),
        ch.weld("weld", "b7", "b8", at=at),
        ch.general("general", "b8", "b9", screws=[(0, 0, 1, 0.3, 0, 0), (0, 0.6, 0.8, 0, 0, 0.1)]),
        ch.model.denavit_hartenberg("dh", "b9", "b10", a=0.1, alpha=0.2, d=0.3, theta=0.4),
    ]
    return ch.System(
        bodies,
        joints,
        frames=[ch.Frame("tool", "b10", at)],
        forces=[
            ch.Spring("spring", ("b0", "b6"), ((0, 0, 0.1), (0.1, 0, 0)), 10.0, 0.1, 0.2),
            ch.Bushing("mount", ("b1", "b7"), (at, (0, 0, 0.1)), 2 * np.eye(6) - 0.1, (0, 0, 1, 2, 3, 4)),
            ch.Wrench("wrench", "b3", (1, 2, 3, 4, 5, 6), "hybrid"),
            ch.JointForce("push", "cylindrical", (1.0, 2.0)),
        ],
        actuators=[ch.Actuator("motor", "cylindrical", 1, 2.0, -1.0)],
        constraints=[
            ch.Distance("rod", ("b0", "b7"), ((0, 0, 1), (1, 0, 0)), 0.7),
            ch.PointOnLine("line", ("b0", "b7"), direction=axis),
            ch.PointOnPlane("plane", ("b0", "b7"), normal=axis),
            ch.Coupling("gear", ("revolute", "cylindrical"), (2.0, -1 / 3), 0.1, (0, 1)),
            ch.Drive("drive", "helical", 0.3),
            ch.Rolling("wheel", ("ground", "b7"), 0.3, axis=(0, 1, 0)),
        ],
        gravity=(0, 0.1, -9.8),
        name="every kind",
    )


def test_a_system_comes_back_to_the_last_bit(written):
    system = every_kind()
    assert load(written(model_text(system))).system == system
    study = load(written())
    again = load(written(model_text(study), "again.toml"))
    assert (again.system, again.initial, again.options) == (study.system, study.initial, study.options)


def test_laws_are_named_and_given_again(written):
    @ch.law
    def drag(t, pose, twist, parameters, out):
        out[3] = -parameters[0] * twist[3]

    system = ch.System(
        [ch.Body("ball", 1.0, inertia=(1, 1, 1))], forces=[ch.Wrench("drag", "ball", drag, "body", (2.0,))]
    )
    path = written(model_text(system))
    with pytest.raises(ModelFileError, match=r"needs the law 'drag', which a file cannot hold: give laws="):
        load(path)
    assert load(path, laws={"drag": drag}).system == system


def test_the_schema_knows_every_field():
    found = schema()
    assert set(found["properties"]) >= {*SECTIONS, "parameters", "initial", "simulation"}
    for kinds in SECTIONS.values():
        for kind in [kinds] if isinstance(kinds, KindSpec) else kinds.values():
            assert {field.type for field in kind.fields.values()} <= {
                *TYPES,
                "shapes",
                "curve",
                "sections",
                "material",
                "intrinsic",
                "loads",
                "masses",
            }


def test_rotations_of_poses():
    rng = np.random.default_rng(0)
    for angles in rng.normal(size=(20, 3)):
        np.testing.assert_allclose(
            convert(np.array(from_rpy(tuple(angles))), "quaternion", "matrix"),
            convert(angles, "euler:xyz", "matrix"),
            atol=1e-15,
        )
        np.testing.assert_allclose(
            convert(np.array(from_rotation_vector(tuple(angles))), "quaternion", "matrix"),
            convert(angles, "rotation_vector", "matrix"),
            atol=1e-15,
        )
    assert from_rotation_vector((0.0, 0.0, 0.0)) == (1.0, 0.0, 0.0, 0.0)


def test_what_a_file_says_of_start_and_simulation_is_not_dropped(tmp_path, written):
    """`load` gives what `chasles run` runs; `convert` writes all of it again."""
    study = ch.load(written())
    run = study.run()
    assert run.t[-1] == study.options["span"][1]
    assert study.initial
    for name, values in study.initial["q"].items():
        np.testing.assert_allclose(run.joint(name).q[0], values, rtol=1e-15)
    assert [line.what for line in study.report.lines]  # what was taken
    again = ch.load(written(model_text(study), "again.toml"))
    np.testing.assert_array_equal(again.run().q, run.q)
    with pytest.raises(TypeError, match=r"simulate: a Study is not a system; .*\.system, and \.run\(\) simulates as"):
        ch.simulate(study, (0.0, 1.0))
    urdf = tmp_path / "one.urdf"
    urdf.write_text('<robot name="one"><link name="base"/></robot>')
    assert isinstance(ch.load(urdf), Study)
    with pytest.raises(ValueError, match=r"load: set=... is for model files of chasles; convert first"):
        ch.load(urdf, set={"bodies.base.mass": 2.0})


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_are_no_files(tmp_path):
    """Reading from a pipe that nobody writes to would wait for ever."""
    for name in ("pipe.toml", "pipe.urdf", "pipe.csv"):
        os.mkfifo(tmp_path / name)
    for name in ("pipe.toml", "pipe.urdf"):
        with pytest.raises(ModelFileError, match="a pipe or a device; expected a file"):
            ch.load(tmp_path / name)
    with pytest.raises(ValueError, match=r"pipe\.csv is a folder, a pipe"):
        titled_rows(tmp_path / "pipe.csv", 10)


def test_a_mark_of_the_byte_order_is_read_over(tmp_path):
    """Editors of Windows write one."""
    text = '[[bodies]]\nname = "a"\nmass = 1.0\ninertia = [1.0, 1.0, 1.0]\n'
    (tmp_path / "a.toml").write_text(text, encoding="utf-8-sig")
    assert ch.load(tmp_path / "a.toml").system.bodies[0].mass == 1.0
