"""What laws in Python gave at the saved points is in the file: forces, accelerations and reactions need no law then."""

import shutil
import signal

import numpy as np
import pytest

import chasles as ch
from chasles.io.result.layout import Sizes

ACROSS = (0, 1, 0)


def pull(t, q, v, p, out):
    out[0] = -p[0] * q[0] - 0.1 * v[0] ** 3 + np.sin(3 * t)


def gust(t, pose, twist, p, out):
    out[3], out[1] = np.cos(t) - 0.2 * twist[3], 0.1 * pose[1]


def tie(t, distance, rate, p, out):
    out[0] = 5 * (distance[0] - 0.3) + 0.1 * rate[0]


def motor(t, _, __, p, out):
    out[:3] = 0.3 * np.sin(t), 0.3 * np.cos(t), -0.3 * np.sin(t)


def linkage(closed):
    """Three bars with a law of every kind; one function serves two joints. Open, a drive bends them; closed, none."""
    bars = [ch.Body(name, 1.0, (0, 0, -0.25), (0.03, 0.03, 0.01)) for name in ("left", "top", "right")]
    joints = [
        ch.revolute("a", "ground", "left", axis=ACROSS),
        ch.revolute("b", "left", "top", axis=ACROSS, at=(0, 0, -0.5)),
        ch.revolute("c", "top", "right", axis=ACROSS, at=(0.9, 0, 0), child_at=(0, 0, -0.6)),
    ]
    joints += [ch.revolute("d", "ground", "right", axis=ACROSS, at=(1.0, 0, 0))] if closed else []
    forces = [
        ch.JointForce("at a", "a", pull, parameters=[2.0]),
        ch.JointForce("at b", "b", pull, parameters=[2.0]),
        ch.Wrench("wind", "top", gust),
        ch.TwoPointForce("tied", ("left", "right"), points=((0, 0, -0.1), (0, 0, -0.1)), value=tie),
    ]
    drives = [] if closed else [ch.Drive("motor", "b", motor)]
    return ch.System(bars, joints, forces=forces, constraints=drives, name="linkage")


@pytest.mark.sample(1)
@pytest.mark.filterwarnings("ignore:reactions are not unique")
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
@pytest.mark.parametrize("closed", [False, True])
def test_forces_accelerations_and_reactions_need_no_law(tmp_path, closed, coordinates):
    file, table = tmp_path / "run.h5", tmp_path / "run.csv"
    run = ch.simulate(
        *(linkage(closed), (0.0, 0.5)), q={"a": 0.1}, coordinates=coordinates, file=file, certificate=False
    )
    opened = ch.open(file)
    assert len(opened.force_names) == len(run.force_names) == (4 if closed else 5)
    for name in run.force_names:
        size = np.abs(run.force(name)).max()
        assert size > 0.05
        np.testing.assert_allclose(opened.force(name), run.force(name), rtol=0, atol=1e-12 * max(size, 10.0))
    for joint in run.joints:
        np.testing.assert_allclose(opened.reactions(joint), run.reactions(joint), rtol=0, atol=1e-11)
    np.testing.assert_allclose(opened.accelerations, run.accelerations, rtol=0, atol=1e-11)
    opened.export(table)
    header = table.read_text().splitlines()[0]
    assert all(f"{name}." in header for name in run.force_names)
    part = opened.part(slice(3, 9, 2))
    assert np.array_equal(part.force("tied"), opened.force("tied")[3:9:2])


@pytest.mark.parametrize("stop", ["interrupted", "killed"])
def test_runs_that_did_not_end_need_no_law_either(tmp_path, monkeypatch, stop):
    file, left = tmp_path / "run.h5", tmp_path / "left.h5"
    monkeypatch.setattr("chasles.io.result.writer.EVERY", 0.0)

    def late(t, y, p):
        if t > 0.3 and not left.exists():
            shutil.copy(file, left)  # what a killed run leaves
            if stop == "interrupted":
                signal.raise_signal(signal.SIGINT)
        return 1.0

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    # a quick machine takes hundreds of steps before it sees Ctrl-C; a killed run has its last piece of them, no more
    end, step = (50.0, 4e-3) if stop == "interrupted" else (0.5, 1e-3)
    options = {"step": step, "method": "rk4", "events": [ch.Event(late)], "certificate": False, "progress": False}
    try:
        ch.simulate(linkage(False), (0.0, end), q={"a": 0.1}, file=file, **options)
    except KeyboardInterrupt:
        left = file
    finally:
        signal.signal(signal.SIGINT, before)
    assert (left == file) == (stop == "interrupted")
    opened, known = ch.open(left), ch.open(left, laws={law.__name__: law for law in (pull, gust, tie, motor)})
    assert not opened.success
    assert 0.1 < opened.t[-1] < end
    for name in known.force_names:
        np.testing.assert_allclose(opened.force(name), known.force(name), rtol=0, atol=1e-12)
        assert known.force(name).any()
    np.testing.assert_allclose(opened.reactions("b"), known.reactions("b"), rtol=0, atol=1e-11)
    opened.export(tmp_path / "run.csv")
    if stop == "killed":
        opened.plot("forces.wind", "energy", file=tmp_path / "run.png")


def test_a_file_that_is_saved_again_keeps_what_laws_gave(tmp_path):
    first, second = tmp_path / "first.h5", tmp_path / "second.h5"
    run = ch.simulate(linkage(False), (0.0, 0.2), q={"a": 0.1}, file=first, certificate=False)
    ch.open(first).save(second)
    np.testing.assert_allclose(ch.open(second).force("at b"), run.force("at b"), rtol=0, atol=1e-12)


def test_what_laws_gave_is_for_the_saved_points_alone(tmp_path):
    file = tmp_path / "run.h5"
    ch.simulate(linkage(False), (0.0, 0.2), q={"a": 0.1}, file=file, certificate=False)
    opened = ch.open(file)
    with pytest.raises(ch.errors.ResultFileError, match="only what it gave at the saved points"):
        ch.linearize(opened.system, q=opened.q[3], v=opened.v[3], t=opened.t[3])
    assert opened.force("at a").any()  # an error that was raised is not raised again
    assert "not in the file" in str(ch.certify(opened))


def test_a_system_without_such_laws_has_no_table_for_them():
    assert "laws" not in Sizes(3, 2, 0, 10).tables(5, 0)
    assert Sizes(3, 2, 0, 10, 4).tables(5, 0)["laws"][0].itemsize == 32
