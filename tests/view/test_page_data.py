"""What goes into the page: scenes, motions as polynomials, curves."""

import dataclasses
import hashlib
import time
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.view.curve import EVEN, QUATERNION, TOLERANCE, Fit, Samples, fitted, quanta
from chasles.view.page_data import PageMotion, run_data
from chasles.view.page_html import as_json, page_text, read
from chasles.view.picture import Film
from chasles.view.pose_samples import curve_of, rows_of
from chasles.view.scene import ON_GROUND, extremes, poses_at, scene_of
from chasles.view.series import envelope


def same_sign(poses, like):
    turned = poses.copy()
    turned[..., :4] *= np.sign((poses[..., :4] * like[..., :4]).sum(axis=-1, keepdims=True))
    return turned


@pytest.mark.parametrize("case", ["adaptive", "absolute"])
def test_the_curve_is_that_of_the_run_between_its_points_too(case, runs):
    run, scene = runs[case], scene_of(runs[case])
    curve, checked, _ = curve_of(run, scene, rows_of(run, 0, len(run) - 1, 1), 1.0, dense=True)
    assert curve.positions == [None, None]  # both hang on joints
    assert checked > 1.9 * len(run)
    times = np.random.default_rng(3).uniform(0.0, 2.0, 400)
    wanted = poses_at(run, times)
    off = np.abs(same_sign(curve(times), wanted) - wanted)
    assert off[..., :4].max() < 2.5e-7
    assert off[..., 4:].max() < 1e-6
    assert max(curve.error) < 1e-6


@pytest.mark.parametrize("off", [1e-15, 1e-12, 1e-9])
def test_pieces_share_polynomials_only_if_their_samples_are_at_equal_distances(off):
    t = np.linspace(3.0, 4.0, 301) + off * np.random.default_rng(5).uniform(-1.0, 1.0, 301)
    fit = Fit(Samples(t, np.empty((301, 1, 7)), np.ones(301, dtype=bool)))
    for first, stop in [(0, 300), (7, 39), (100, 108), (250, 253), (11, 12)]:
        basis, _ = fit._polynomials(first, stop)
        x = (2 * t[first : stop + 1] - t[first] - t[stop]) / (t[stop] - t[first])
        even = np.abs(x - np.linspace(-1, 1, len(x))).max()
        assert np.abs(basis[:, 1] - x).max() < 1.01 * EVEN
        assert (basis is fit.even[stop - first][1]) == (even <= EVEN)


def rotor(damping):
    bodies = [ch.Body("arm", 1.0, (0, 0, -0.3), (0.1, 0.1, 0.02)), ch.Body("rotor", 1.0, (0, 0, 0), (0.01, 0.01, 0.02))]
    joints = [
        ch.revolute("pivot", "ground", "arm", axis=(0, 1, 0)),
        ch.revolute("axle", "arm", "rotor", axis=(1, 0, 0), at=(0, 0, -0.3), damping=damping),
    ]
    return ch.System(bodies, joints, name="rotor")


@pytest.mark.parametrize(("speed", "save"), [(500.0, 100), (2000.0, 50)])
def test_whole_turns_between_saved_times_are_followed(speed, save):
    """A rotor that brakes: many turns between the first saved times, few between the last."""
    run = ch.simulate(
        rotor(0.2), (0, 2), v=[1.0, speed], method=ch.integrate.RKMK("rk4"), step=1e-3, save=save, progress=False
    )
    curve, _, lost = curve_of(run, scene_of(run), np.arange(len(run)), 1.0, dense=True)
    times = np.linspace(0, 2, 20001)
    alike = np.einsum("tbc,tbc->tb", curve(times)[..., :4], poses_at(run, times)[..., :4])
    assert np.abs(np.abs(alike) - 1).max() < 1e-8
    assert lost == 0


def test_a_run_that_went_out_of_bounds_is_shown_soon():
    """No number of points follows speeds without end; it is said between how many saved times."""
    arm = ch.System(rotor(0).bodies[:1], [ch.revolute("pivot", "ground", "arm", axis=(0, 1, 0), damping=1e5)])
    with pytest.warns(RuntimeWarning):
        run = ch.simulate(arm, (0, 10), v=[1.0], method=ch.integrate.RKMK("rk4"), step=0.1, progress=False)
    assert not run.success
    assert np.abs(run.v).max() > 1e20
    began = time.process_time()
    assert run_data(run)["motion"]["lost"] > 3
    assert time.process_time() - began < 10


def test_kinks_and_jumps_are_kept():
    """A path with kinks at saved points, and quaternions given with changing signs."""
    t = np.linspace(0.0, 3.0, 301)
    angle = np.abs(np.sin(2 * t)) + 20 * t
    poses = np.zeros((301, 2, 7))
    poses[:, 0, 0], poses[:, 0, 3] = np.cos(angle / 2), np.sin(angle / 2)
    poses[:, 1, 0] = 1.0
    poses[:, 0, 4], poses[:, 1, 5] = np.abs(t - 1.0), 1000.0 * np.round(t)
    poses[::7, 0, :4] *= -1
    curve = fitted(Samples(t, poses, np.ones(301, dtype=bool)), quanta(1.0), [None, None], [0, 1])
    off = np.abs(same_sign(curve(t), poses) - poses)
    assert off[:, 0].max() < 1e-6
    assert off[:, 1, 4:].max() < 1e-6
    assert len(curve.orientations[0].edges) > 10
    assert len(curve.orientations[1].edges) == 2


@pytest.mark.parametrize("uneven", [0.0, 1e-13, 1e-6, 1e-2])
def test_samples_that_are_nearly_at_equal_distances(uneven):
    """They share polynomials only if nothing is lost by it."""
    t = 1000.0 + 1e-3 * (np.arange(2001) + uneven * np.sin(np.arange(2001)))
    poses = np.zeros((len(t), 1, 7))
    poses[:, 0, 0], poses[:, 0, 3] = np.cos(30 * t), np.sin(30 * t)
    poses[:, 0, 4] = np.sin(9 * t)
    curve = fitted(Samples(t, poses, np.ones(len(t), dtype=bool)), quanta(1.0), [None], [0])
    off = np.abs(same_sign(curve(t), poses) - poses)
    assert off[..., :4].max() <= QUATERNION * 1.01
    assert off[..., 4:].max() <= TOLERANCE * 1.01
    assert curve.error == pytest.approx([off[..., :4].max(), off[..., 4:].max()], rel=1e-3)


def test_a_terminal_sees_how_far_it_is(runs, monkeypatch, capsys):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("chasles.display.progress.PATIENCE", 0.0)
    monkeypatch.setattr("chasles.display.progress.RENEWED", 0.0)
    PageMotion(scene_of(runs["absolute"])).extend(runs["absolute"])
    assert "motion, t = 2 of 2 s, 100 %" in capsys.readouterr().err


def test_a_motion_grows_with_its_run(runs):
    run = runs["adaptive"]
    motion = PageMotion(scene_of(run))
    for rows in (1, 40, 41, len(run)):
        motion.extend(run.part(slice(0, rows)))
        assert motion.rows == (rows if rows > 1 else 0)
    assert len(motion.blocks) == 3
    assert max(motion.error) < 1e-6


def test_a_run_that_went_astray_is_shown_up_to_there(runs):
    run = runs["absolute"]
    y = np.array(run.solution.y)
    y[400:] = np.nan
    broken = dataclasses.replace(run, solution=dataclasses.replace(run.solution, y=y))
    motion = PageMotion(scene_of(run)).extend(broken)
    assert len(motion.blocks) == 1
    assert np.isfinite(motion.hull).all()


def test_scene_of_bodies_without_shapes(runs):
    scene = scene_of(runs["absolute"])
    upper, lower = scene.bodies
    assert [part.kind for part in upper.parts] == ["capsule", "capsule", "box"]
    rod = upper.parts[1]
    ends = np.array([0, 0, rod.size[1] / 2])
    assert rod.size[1] == pytest.approx(0.2)
    assert np.allclose(rod.pose[4:], (0, 0, -0.1))
    assert np.allclose(np.sort([rod.pose[6] - ends[2], rod.pose[6] + ends[2]]), (-0.2, 0.0))
    assert upper.color != lower.color
    shoulder, elbow = scene.joints
    assert (shoulder.parent, shoulder.child, elbow.parent, elbow.child) == (ON_GROUND, 0, 0, 1)
    (axis,) = elbow.axes
    assert axis.turns
    assert not axis.slides
    np.testing.assert_allclose(axis.point, (0, 0, -0.4))
    np.testing.assert_allclose(axis.direction, np.array([0, 1, 0.1]) / np.hypot(1, 0.1))
    assert scene.up == (0.0, 0.0, 1.0)


def test_shapes_are_drawn_as_they_are_and_reach_their_joints():
    box = ch.shapes.Box((0.2, 0.1, 0.1), pose=(0.5, 0, 0), color=(1, 0, 0))
    body = ch.Body("b", shapes=[box, ch.shapes.Mesh("none.stl")], mass=1.0, inertia=(1, 1, 1))
    scene = scene_of(ch.System([body], [ch.helical("h", "ground", "b", axis=(0, 0, 1), pitch=0.1)]))
    first, stalk = scene.bodies[0].parts
    assert (first.kind, first.size, first.color) == ("box", (0.2, 0.1, 0.1), (1.0, 0.0, 0.0, 1.0))
    assert stalk.kind == "capsule"
    np.testing.assert_allclose(sorted(np.abs(stalk.points()[:, 0]))[-1], 0.5, atol=0.02)
    assert scene.joints[0].axes[0].slides
    assert "none.stl" in scene.notes[0]
    low, high = scene.bounds(np.array([[[1.0, 0, 0, 0, 0, 0, 2.0]]]))
    np.testing.assert_allclose(high, (0.6, 0.05, 2.05), atol=0.02)
    assert low[2] == 0.0  # the joint on the ground


def test_extremes_are_the_corners():
    cube = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    inside = np.random.default_rng(0).uniform(-0.9, 0.9, (500, 3))
    assert len(extremes(np.concatenate([cube, inside]))) == 8


def test_curves_keep_their_peaks():
    values = np.zeros(100_000)
    values[54_321], values[7] = 5.0, -3.0
    t, v = envelope(np.arange(100_000), values, 400)
    assert len(t) <= 400
    assert (v.max(), v.min()) == (5.0, -3.0)
    assert 54_321 in t


def test_text_of_a_model_stays_text(runs):
    data = {"runs": [{"name": "</script><script>"}]}
    assert "<" not in as_json(data)
    text = page_text(data)
    assert "&lt;/script&gt;" in text
    assert text.count("</script>") == 2
    assert "connect-src 'none'" in text
    assert "connect-src 'self'" in page_text(None, served=True)


def test_all_curves_and_the_certificate_are_in_the_data(runs):
    data = run_data(runs["absolute"])
    charts = {(s["chart"], s["joint"]) for s in data["series"]}
    assert {("energy", ""), ("drift", ""), ("position", "elbow"), ("velocity", "shoulder")} <= charts
    assert set(data["reactions"]["joints"]) == {"shoulder", "elbow"}
    assert data["certificate"]["passed"] == runs["absolute"].certificate.passed
    assert data["label"] == "SE(3) · rk4 · h = 0.001 s" or "h = 0.001 s" in data["label"]


def test_the_built_page_is_that_of_the_sources():
    viewer = Path(__file__).parents[2] / "viewer"
    digest = hashlib.sha256()
    for file in (*sorted((viewer / "src").iterdir()), viewer / "package-lock.json"):
        digest.update(file.read_bytes())
    assert digest.hexdigest() in read("page.js")[:200], "run `npm ci && npm run build` in viewer/"
    lock = (viewer / "package-lock.json").read_text()
    assert "resolved" not in lock


def spinning(speed, **options):
    """A free top without gravity that turns about its axis."""
    top = ch.System([ch.Body("b", 1.0, inertia=(0.1, 0.1, 0.2))], [ch.spherical("f", "ground", "b")], gravity=(0, 0, 0))
    return ch.simulate(top, v=[0, 0, speed], method="rk4", step=1e-3, progress=False, **options)


def angles(poses):
    return 2 * np.arctan2(poses[:, 0, 3], poses[:, 0, 0])


LOST = {  # 4 rad from saved time to saved time, of which no curve tells which way
    "every so many steps": {"span": (0, 0.2), "save": 20},
    "at given times": {"span": (0, 0.2), "save": np.linspace(0, 0.2, 11)},
    "backwards": {"span": (0.2, 0), "save": 20},
}


@pytest.mark.parametrize("kind", LOST)
def test_no_motion_is_drawn_that_nobody_knows(kind):
    """Drawn is the saved pose, until the next; the page says so. It used to turn the other way, with success."""
    run = spinning(200.0, **LOST[kind])
    curve, checked, lost = curve_of(run, scene_of(run), rows_of(run, 0, 10, 1), 1.0, run.solution.slopes is not None)
    assert (lost, checked) == (10, 11)
    saved, t = run.mechanism.poses(run.q), np.asarray(run.t)
    for k in range(10):
        inside = t[k] + np.linspace(0, 0.99, 50) * (t[k + 1] - t[k])
        for found in (poses_at(run, inside), curve(inside) if kind != "backwards" else curve(inside[:1])):
            np.testing.assert_allclose(np.exp(1j * angles(found)), np.exp(1j * angles(saved[[k]])[0]), atol=1e-6)
    for found in (curve(t), poses_at(run, t)):
        np.testing.assert_allclose(np.exp(1j * angles(found)), np.exp(200j * (t - t[0])), atol=2e-6)
    with pytest.warns(RuntimeWarning, match="between 10 of 11 saved times"):
        Film(run, (64, 64))
    data = run_data(run)
    assert data["motion"]["lost"] == 10
    assert any("Between 10 of 11 saved times" in note for note in data["scene"]["notes"])


@pytest.mark.parametrize("save", [5, np.linspace(0, 0.2, 41)], ids=["curve", "no curve"])
def test_turns_below_half_a_turn_are_drawn(save):
    run = spinning(200.0, span=(0, 0.2), save=save)
    dense = run.solution.slopes is not None
    curve, _, lost = curve_of(run, scene_of(run), np.arange(len(run)), 1.0, dense)
    assert lost == 0
    times = np.linspace(0, 0.2, 333)
    np.testing.assert_allclose(np.exp(1j * angles(curve(times))), np.exp(200j * times), atol=2e-6 if dense else 0.1)
    assert not run_data(run)["scene"]["notes"]


def test_only_what_is_lost_jumps():
    """A top that brakes: its last turns are drawn."""
    top = ch.System(
        [ch.Body("b", 1.0, inertia=(0.1, 0.1, 0.2))], [ch.spherical("f", "ground", "b", damping=4.0)], gravity=(0, 0, 0)
    )
    run = ch.simulate(top, (0, 0.4), v=[0, 0, 200.0], method="rk4", step=1e-3, save=20, progress=False)
    curve, _, lost = curve_of(run, scene_of(run), np.arange(len(run)), 1.0, dense=True)
    assert 1 <= lost <= 3
    times = np.linspace(0.1, 0.4, 500)
    true = np.exp(10j * (1 - np.exp(-20 * times)))
    cubic = 0.02**4 / 384 * 10 * 20**4 * np.exp(-2)  # of the curve of the integrator: h^4/384 of the fourth derivative
    np.testing.assert_allclose(np.exp(1j * angles(curve(times))), true, atol=cubic)


def test_what_cannot_be_drawn_is_said_when_a_run_is_saved(tmp_path, monkeypatch):
    def fails(of):
        raise RuntimeError("no picture today")

    monkeypatch.setattr("chasles.view.page_data.look_text", fails)
    run = spinning(1.0, span=(0, 0.01))
    with pytest.warns(RuntimeWarning, match="no picture today"):
        run.save(tmp_path / "run.h5")
    assert len(ch.open(tmp_path / "run.h5")) == len(run)


def test_what_cannot_be_computed_is_noted_on_the_page(runs, monkeypatch):
    """Energies, reactions and the certificate used to be missing without a word."""

    def fails(run, *_):
        raise ValueError("the law is not in the file")

    run = spinning(1.0, span=(0, 0.01))
    kind = type(run)
    monkeypatch.setattr(kind, "energies", property(fails))
    monkeypatch.setattr(kind, "reactions", fails)
    monkeypatch.setattr(kind, "certificate", property(fails))
    data = run_data(run)
    assert data["certificate"] is None
    parts = ["Reactions of f", "Energies", "Certificate"]
    assert data["scene"]["notes"] == [f"{part}: not drawn, the law is not in the file" for part in parts]
