"""Pictures and animations of runs."""

import stat
import sys

import numpy as np
import pytest
from PIL import Image

import chasles as ch
from chasles.cli.animate import animate as command
from chasles.cli.plot import plot as plot_command
from chasles.kernel.policy import COMPILED
from chasles.view import animation
from chasles.view.picture import Film
from chasles.view.scene import poses_at, scene_of
from tests.io.result_models import CASES

pytestmark = pytest.mark.skipif(not COMPILED, reason="a loop over pixels")


def pendulum(**options):
    ball = ch.shapes.Sphere(0.1, pose=(1, 0, 0, 0, 0, 0, -0.5), color=(1, 0, 0))
    body = ch.Body("bob", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1), shapes=[ball])
    system = ch.System([body], [ch.revolute("hinge", "ground", "bob", axis=(0, 1, 0))], name="pendulum")
    return ch.simulate(system, (0.0, 1.0), q=[1.0], v=[2.0], progress=False, **options)


@pytest.fixture(scope="module")
def run():
    return pendulum()


def test_the_mechanism_is_drawn_where_it_is(run):
    film = Film(run, (320, 240), trail=0.0)
    for t in (0.0, 0.37, float(run.t[7]), 1.0):
        angle = run(t).q[0]
        place = np.array([[-0.5 * np.sin(angle), 0.0, -0.5 * np.cos(angle)]])  # turned about y
        np.testing.assert_allclose(
            poses_at(run, np.array([t]))[0, 0, :4], [np.cos(angle / 2), 0, np.sin(angle / 2), 0], atol=1e-12
        )
        column, row, _ = film.camera.project(place, 320, 240)[0]
        image = film.image(t).astype(int)
        rows, columns = np.nonzero((image[..., 0] > 80) & (image[..., 1] < 0.25 * image[..., 0]))  # the rod is paler
        assert abs(columns.mean() - column) < 1.5
        assert abs(rows.mean() - row) < 1.5


def test_a_picture_of_each_kind_of_run(tmp_path):
    for case in ("fixed", "absolute", "sampled", "closed"):
        run = CASES[case](0.2)
        image = run.picture(0.1, tmp_path / f"{case}.png", size=(96, 64))
        assert (image.size, image.mode) == ((96, 64), "RGB")
        with Image.open(tmp_path / f"{case}.png") as written:
            np.testing.assert_array_equal(np.array(written), np.array(image))
        assert np.array(image).std() > 5  # something is there
    first = run.part(slice(0, 1))
    assert first.picture(size=(32, 32)).size == (32, 32)
    with pytest.raises(ValueError, match="no point to draw"):
        run.part(slice(0, 0)).picture()


def test_options_of_pictures(run, tmp_path):
    plain, other = (np.array(run.picture(0.5, size=(64, 64), azimuth=a, trail=0)) for a in (None, 10.0))
    assert (plain != other).any()
    trailed = np.array(run.picture(0.5, size=(64, 64), trail=0.5))
    assert (plain != trailed).any()
    for options, message in (
        ({"t": 1.1}, r"t = 1.1 s is not in the run, which goes from 0 to 1 s"),
        ({"t": np.nan}, "is not in the run"),
        ({"size": (5, 5)}, "expected width and height, 16 to 8192"),
        ({"size": (100_000, 100)}, "expected width and height"),
        ({"size": "big"}, "expected width and height"),
        ({"trail": -1.0}, "expected seconds, 0 or more"),
        ({"file": tmp_path / "a.bmp"}, "expected a name that ends in .png"),
        ({"file": tmp_path / "none" / "a.png"}, "cannot be written"),
    ):
        with pytest.raises(ValueError, match=message):
            run.picture(**{"size": (32, 32), **options})


def test_gif(run, tmp_path):
    file = run.animate(tmp_path / "run.gif", size=(48, 40), fps=25, speed=2.0, progress=False)
    exact = Film(run, (48, 40)).image(0.8).astype(float)
    with Image.open(file) as film:
        told = (film.size, film.n_frames, film.info["duration"], film.info["loop"])
        assert told == ((48, 40), 13, 40, 0)  # 0 to 0.96 s
        film.seek(10)
        assert np.abs(np.array(film.convert("RGB")) - exact).mean() < 4.0  # 256 colors
    assert [path.name for path in tmp_path.iterdir()] == ["run.gif"]
    part = animation.moments(Film(run, (48, 40)), 0.04, (0.5, 0.25))  # backwards
    np.testing.assert_allclose(part, 0.5 - 0.04 * np.arange(7))


def test_what_animate_refuses(run, tmp_path, monkeypatch):
    monkeypatch.setattr(animation.shutil, "which", lambda name: None)
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    for options, message in (
        ({"file": "a.avi"}, "expected a name that ends in .gif or .mp4"),
        ({"file": "a.mp4"}, r"needs the program ffmpeg; install it, or pip install imageio-ffmpeg, or write a .gif"),
        ({"fps": 0.0}, "fps is 0.0; expected a positive number"),
        ({"speed": -1.0}, "speed is -1.0"),
        ({"speed": 1e-9}, "at most 20000"),
        ({"span": (0.0, 3.0)}, "the span 0 to 3 s is not in the run, 0 to 1 s"),
        ({"file": tmp_path / "none" / "a.gif", "speed": 20.0}, "cannot be written"),
    ):
        with pytest.raises(ValueError, match=message):
            run.animate(**{"file": tmp_path / "a.gif", "size": (32, 32), "progress": False, **options})
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="a script stands in for the program")
def test_a_film_faster_than_a_gif_can_be_says_so(run, tmp_path):
    with pytest.warns(UserWarning, match="a GIF has at most 50 frames a second, so not 1000"):
        run.animate(tmp_path / "a.gif", fps=1000, span=(0.0, 0.1), size=(32, 24))
    with Image.open(tmp_path / "a.gif") as film:
        assert (film.n_frames, film.info["duration"]) == (6, 20)


def test_what_is_not_drawn_is_said_and_stays_small(tmp_path, capsys):
    (tmp_path / "damaged.stl").write_bytes(b"x" * 200)
    rod = ch.shapes.Cylinder(0.05, 1.0, pose=(1, 0, 0, 0, 0, 0, -0.5))
    wide = {"mass": 1.0, "inertia": (0.5, 0.5, 0.1)}  # as of a box of 2.3 m
    system = ch.System(
        [
            ch.Body("rod", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.1), shapes=[rod]),
            ch.Body("wheel", **wide, shapes=[ch.shapes.Mesh(str(tmp_path / "damaged.stl"))]),
        ],
        [
            ch.revolute("hinge", "ground", "rod", axis=(0, 1, 0)),
            ch.revolute("axle", "rod", "wheel", axis=(0, 1, 0), at=(0, 0, -1)),
        ],
    )
    made = ch.simulate(system, (0.0, 0.1), file=tmp_path / "run.h5", progress=False)
    assert scene_of(made).bodies[1].reach < 0.4
    plot_command(str(tmp_path / "run.h5"), frame=0.1, size="64x48")
    said = capsys.readouterr().err
    assert said.startswith("the mesh damaged.stl of body 'wheel' is not drawn: damaged.stl")
    made.report(tmp_path / "report.html")
    assert str(tmp_path) not in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "the meshes damaged.stl" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_mp4_gets_all_frames(run, tmp_path, monkeypatch):
    """A stand-in for ffmpeg writes down what it is given."""
    program = tmp_path / "ffmpeg"
    program.write_text(
        f"#!{sys.executable}\nimport sys\ndata = sys.stdin.buffer.read()\n"
        "open(sys.argv[-1], 'w').write(f'{len(data)} ' + ' '.join(sys.argv[1:-1]))\n"
    )
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    monkeypatch.setenv("PATH", str(tmp_path))
    file = run.animate(tmp_path / "run.mp4", size=(33, 31), fps=10, progress=False)
    count, *words = file.read_text().split()
    assert int(count) == 11 * 34 * 32 * 3  # sides are even
    assert words[words.index("-s") + 1] == "34x32"
    assert words[words.index("-r") + 1] == "10"
    program.write_text("#!/bin/sh\necho no such codec >&2\nexit 3\n")
    with pytest.raises(ValueError, match="failed: no such codec"):
        run.animate(tmp_path / "run.mp4", size=(32, 32), fps=5, progress=False)


def test_the_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    CASES["fixed"](0.2, file="run.h5")
    command("run.h5", size="40x32", fps=50.0, start=0.1)
    with Image.open("run.gif") as film:
        assert film.n_frames == 6
    assert capsys.readouterr().out == "wrote run.gif\n"
    with pytest.raises(ValueError, match=r"from 0.15 to 0.1 s the film would run backwards"):
        command("run.h5", start=0.15, end=0.1)
    command("run.h5", size="40x32", fps=1000.0, start=0.1)
    assert capsys.readouterr().err == "a frame of a GIF lasts at least 0.02 s, so it has 50 a second\n"


def test_the_last_frame_of_a_film_is_in_the_run(run):
    """0.1 · 3 is more than 0.3."""
    film = Film(run.part(slice(None)), (32, 32))
    film.first, film.last = 0.0, 0.3
    assert animation.moments(film, 0.1, None)[-1] == 0.3


def test_a_run_with_points_too_far_apart_for_a_curve_is_drawn():
    """Its top turns by several turns between saved points."""
    sparse = CASES["fixed"](1.0, save=250)
    with pytest.raises(ValueError, match="half a turn"):
        sparse.solution(0.3)
    saved = sparse.mechanism.poses(sparse.q)
    np.testing.assert_allclose(poses_at(sparse, sparse.t), saved, atol=1e-12)
    with pytest.warns(RuntimeWarning, match="turn too far"):
        assert sparse.picture(0.3, size=(48, 48)).size == (48, 48)
    np.testing.assert_array_equal(poses_at(sparse, np.array([0.3])), saved[[np.searchsorted(sparse.t, 0.3) - 1]])


def crank(length):
    """A crank and a rod with a screw at its end, and a block that is held at its center alone."""
    inertia = np.array([0.001, 0.1, 0.1]) * length**2
    arms = [ch.Body(name, 1.0, (0.5 * length, 0, 0), inertia) for name in ("crank", "rod")]
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 1, 0)),
        ch.revolute("B", "crank", "rod", axis=(0, 1, 0), at=(length, 0, 0)),
        ch.helical("C", "rod", "nut", axis=(1, 0, 0), pitch=1e-3 * length, at=(length, 0, 0)),
    ]
    nut = ch.Body("nut", 0.2, inertia=(0.01 * length**2,) * 3)
    return ch.System([*arms, nut], joints, gravity=(0, 0, -9.81 * length))


@pytest.mark.parametrize("length", [1e-9, 1e-15, 1e7])
def test_small_and_large_systems_look_the_same(length):
    one, other = scene_of(crank(1.0)), scene_of(crank(length))
    assert other.size / length == pytest.approx(one.size, rel=1e-9)
    for body, small in zip(one.bodies, other.bodies, strict=True):
        assert [part.kind for part in small.parts] == [part.kind for part in body.parts]
        for part, little in zip(body.parts, small.parts, strict=True):
            np.testing.assert_allclose(np.array(little.size) / length, part.size, rtol=1e-9)
            np.testing.assert_allclose(little.points() / length, part.points(), rtol=1e-9, atol=1e-9)
    assert [[axis.slides for axis in joint.axes] for joint in other.joints] == [
        [axis.slides for axis in joint.axes] for joint in one.joints
    ]
    films = []
    for scale in (1.0, length):
        run = ch.simulate(crank(scale), (0.0, 1.0), step=0.05, method="rk4", progress=False)
        film = Film(run, (96, 96))
        films.append((film.camera.eye / scale, film.stage.radius / scale, film.trail))
    for a, b in zip(*films, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-6)
