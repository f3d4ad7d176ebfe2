"""Laws of time and motion in model files: expressions, tables, mistakes with their lines, and files without Python."""

import math

import numpy as np
import pytest

import chasles as ch
from chasles.io.model_writer import model_text

CAM = "# measured\nangle [deg];lift [mm];note\n" + "\n".join(
    f"{a};{20 * (1 - math.cos(math.radians(a)))};x" for a in range(0, 361, 15)
)
MODEL = """
name = "cam"

[parameters]
speed = "30 * tau / 60"
start = 0.1

[tables]
lift = { file = "cam.csv", x = "angle", y = "lift", kind = "periodic" }
push = { x = [0, 0.5, 1], y = [0, 5, 0], kind = "table" }

[[bodies]]
name = "shaft"
mass = 2
inertia = [0.1, 0.1, 0.1]

[[bodies]]
name = "follower"
mass = 0.5

[[joints]]
name = "turn"
kind = "revolute"
parent = "ground"
child = "shaft"
axis = [0, 0, 1]

[[joints]]
name = "slide"
kind = "prismatic"
parent = "ground"
child = "follower"
axis = [1, 0, 0]

[[constraints]]
name = "motor"
kind = "drive"
joint = "turn"
value = "start + speed * t"

[[constraints]]
name = "cam"
kind = "drive"
joint = "slide"
value = "lift(speed * t)"

[[forces]]
name = "brake"
kind = "joint_force"
joint = "turn"
value = "-0.2 * v - push(t)"

[[forces]]
name = "wind"
kind = "wrench"
body = "follower"
value = [0, 0, 0, "3 * sin(t)", 0, "2 * start"]

[initial]
q.turn = "start"
v.turn = "speed"

[simulation]
span = [0, 2]
rtol = 1e-9
"""


@pytest.fixture
def file(tmp_path):
    (tmp_path / "cam.csv").write_text(CAM)
    path = tmp_path / "cam.toml"
    path.write_text(MODEL)
    return path


def test_a_driven_mechanism_needs_no_python(file):
    run = ch.load(file).run(progress=False)
    assert run.success
    angle = math.pi * run.t
    np.testing.assert_allclose(run.joint("turn").q.ravel(), 0.1 + angle, atol=1e-7)
    # the spline through 25 points of 0.02 (1 - cos x) m is within 4th-order error of it
    np.testing.assert_allclose(run.joint("slide").q.ravel(), 0.02 * (1 - np.cos(angle)), atol=4e-6)


def test_written_and_read_again_it_is_the_same(file, tmp_path):
    study = ch.load(file)
    other = tmp_path / "elsewhere" / "again.toml"
    other.parent.mkdir()
    other.write_text(model_text(study))  # the table is part of it
    assert ch.load(other).system == study.system
    force = next(force for force in study.system.forces if force.name == "brake")
    assert force.value.breaks == (0.0, 0.5, 1.0)


def test_result_files_hold_the_laws(file, tmp_path):
    result = tmp_path / "run.h5"
    live = ch.load(file).run(span=(0, 0.3), progress=False, file=result)
    opened = ch.open(result)
    np.testing.assert_array_equal(opened.q, live.q)
    assert opened.mechanism.system == live.mechanism.system
    assert opened(0.15).q.shape == (2,)


@pytest.mark.parametrize(
    ("old", "new", "there", "message"),
    [
        ('"start + speed * t"', '"start + sped * t"', True, "'sped' is unknown here"),
        ('"start + speed * t"', '"smoth(t, 0, 1)"', True, "there is no function 'smoth'; did you mean 'smooth'"),
        ('"-0.2 * v - push(t)"', '"-0.2 * v - pus(t)"', True, "no function or table 'pus'; did you mean 'push'"),
        ('"start + speed * t"', '"v + t"', True, "'v' is unknown here"),
        ('"start + speed * t"', '"t / 0"', True, "division by zero"),
        ('"-0.2 * v - push(t)"', '"-0.2 * v[1]"', False, r"uses v\[1\], but joint 'turn' has 1 of them"),
        ('[0, 0, 0, "3 * sin(t)", 0, "2 * start"]', '["t", 0, 0]', True, "has 3 expressions; expected 6"),
        ('file = "cam.csv"', 'file = "../cam.csv"', True, "leads out of the folder"),
        ('file = "cam.csv"', 'file = "none.csv"', True, "cannot be read: No such file"),
        ('x = "angle"', 'x = "angel"', True, "has no column 'angel'; did you mean 'angle'"),
        ('kind = "periodic"', 'kind = "cubic"', True, "kind is 'cubic'"),
        ("x = [0, 0.5, 1]", "x = [0, 1, 0.5]", True, "0.5 follows 1; expected x in ascending order"),
        ("x = [0, 0.5, 1], ", "", True, "has no x and y"),
    ],
)
def test_mistakes_have_a_line(file, old, new, there, message):
    assert MODEL.count(old) == 1
    file.write_text(MODEL.replace(old, new))
    with pytest.raises(ch.errors.ModelFileError, match=message) as error:
        ch.load(file)
    assert error.value.line == (MODEL[: MODEL.index(old)].count("\n") + 1 if there else None)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("angle [deg];lift [mm]\n0;0\n1;x\n", "row 3 has 'x' in column 2"),
        ("angle [deg];lift [furlong]\n0;0\n1;1\n", "is in 'furlong'"),
        ("angle [deg];lift [mm]\n0;0\n", "has 2 lines"),
        ("angle [deg];lift [mm]\n0;0\n1;nan\n", "row 3 has 'nan'"),
        (
            "# of a cam\nangle [deg];lift [mm]\n0;0\n\n20;1\n10;2\n",
            "cam.csv: row 6 has 10 in column 'angle' after 20; expected ascending order",
        ),
        ("angle;lift\n" + "0;0\n" * 3000, "at most 2000"),
    ],
)
def test_bad_tables_are_named(file, text, message):
    (file.parent / "cam.csv").write_text(text)
    with pytest.raises(ch.errors.ModelFileError, match=message):
        ch.load(file)


class Push:
    def __init__(self, size):
        self.size = size

    def __call__(self, t, q, v, p, out):
        out[0] = self.size

    def other(self, t, q, v, p, out):
        out[0] = 2 * self.size


def push(t, q, v, p, out):
    out[0] = 3.0


def pushed(*laws):
    """A slide for each law."""
    names = [f"s{k}" for k in range(len(laws))]
    return ch.System(
        [ch.Body(name, 1.0, inertia=(0.01, 0.01, 0.01)) for name in names],
        [ch.prismatic(name, "ground", name, axis=(1, 0, 0)) for name in names],
        forces=[ch.JointForce(f"f{name}", name, one) for name, one in zip(names, laws, strict=True)],
        gravity=(0, 0, 0),
    )


def test_one_function_is_one_law_in_a_file(tmp_path):
    push_of, named = Push(3.0), [Push(1.0), Push(2.0)]
    for k, laws in enumerate([(push, push), (push_of, push_of), (push_of.other, push_of.other)]):
        file = tmp_path / f"{k}.h5"
        run = ch.simulate(pushed(*laws), (0, 0.05), file=file, certificate=False)
        again = ch.open(file, laws={getattr(laws[0], "__name__", "Push"): laws[0]})
        assert np.array_equal(again.a, run.a)
    for laws in (named, (push_of.other, named[0].other), (push, ch.law(push))):
        with pytest.raises(ValueError, match=r"two different laws are called .* function\.__name__ = "):
            ch.simulate(pushed(*laws), (0, 0.05), file=tmp_path / "other.h5")
    for one in named:
        one.__name__ = f"push {one.size}"
    file = tmp_path / "named.h5"
    ch.simulate(pushed(*named), (0, 0.05), file=file, certificate=False)
    assert np.array_equal(ch.open(file, laws={one.__name__: one for one in named}).a[0], [1.0, 2.0])
