"""Ensembles: the same whoever computes them, after a kill too; failures are kept; closed forms of statistics."""

import contextlib
import errno
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import chasles as ch
from chasles.ensembles.design import design_of
from chasles.ensembles.ensemble import ensemble, title_of
from chasles.ensembles.executor import same_versions
from chasles.ensembles.journal import Journal, JournalError
from chasles.ensembles.quantity import quantity
from chasles.ensembles.result import Ensemble
from chasles.ensembles.study_file import StoredArrays
from chasles.ensembles.work import MemberOutcome, Work
from chasles.io.model_file import Study
from chasles.io.model_writer import model_text
from chasles.io.result.lock import Lock
from tests.commands import chasles
from tests.relative import closed

ARM = Path(__file__).parent / "arm.toml"
WANTED = ("final(joints.elbow)", "max(energy.drift)")


def ishigami(x, y, z):
    return np.sin(x) + 7 * np.sin(y) ** 2 + 0.1 * z**4 * np.sin(x)


def not_below_zero(x):
    if x < 0:
        raise ValueError("x < 0 is <b>bad</b>")
    return x**2


def sometimes(x):
    if x > 0.8:
        raise ArithmeticError(f"x is {x}")
    return {"square": x * x, "pair": [x, -x]}


def dies(x):
    if x == 2.0:
        os._exit(1)
    return x


def slow(x):
    time.sleep(0.02)
    return {"cube": x**3}


def constant(x):
    return 1.0


def returns(x):
    if x == 3:
        sys.exit("gone")
    return [1.0, None, "text"][int(x)]


def large(x):
    return {"series": np.full(1 << 16, x)}  # half a megabyte


def same(a, b):
    assert list(a.parameters) == list(b.parameters)
    assert list(a.quantities) == list(b.quantities)
    for name in (*a.parameters, *a.quantities):
        assert a[name].tobytes() == b[name].tobytes(), name
    assert a.status.tolist() == b.status.tolist()
    assert list(a.messages) == list(b.messages)
    assert a.steps.tolist() == b.steps.tolist()


def test_members_are_single_runs():
    found = ensemble(ARM, set={"length": [0.4, 0.6]}, quantities=WANTED)
    for k, length in enumerate((0.4, 0.6)):
        run = ch.load(ARM, set={"parameters.length": length}).run()
        assert found["final(joints.elbow)"][k] == run.q[-1, 0]
        assert found.member(k).q.tobytes() == run.q.tobytes()
        assert found.steps[k] == run.solution.steps
    assert found.status.tolist() == ["passed", "passed"]


def test_a_name_of_the_gallery_is_a_model():
    found = ensemble("double_pendulum", set={"first_x": [8.0]}, span=(0, 0.01), quantities=[], certificate=False)
    alone = ch.load("double_pendulum", set={"first_x": 8.0}).run(span=(0, 0.01), certificate=False)
    assert found.member(0).q.tobytes() == alone.q.tobytes()
    with pytest.raises(ValueError, match="did you mean 'double_pendulum'"):
        ensemble("double_pendulm", set={"first_x": [8.0]}, quantities=[])


def test_linear_gaussian_pendulum():
    """Small swings are linear in the start: q(T) = q0 cos(w T), w² = 3 g/(2 l): a normal start, a normal end."""
    found = ensemble(
        ARM, sample={"start": "normal(0, 1e-4)"}, n=64, design="sobol", quantities=WANTED[:1], certificate=False
    )
    factor = np.cos(np.sqrt(1.5 * 9.81 / 0.5) * 0.5)
    np.testing.assert_allclose(found["final(joints.elbow)"], factor * found["start"], rtol=1e-6, atol=1e-10)
    ends, starts = found.statistics("final(joints.elbow)"), found.statistics("start")
    assert ends.deviation == pytest.approx(abs(factor) * starts.deviation, rel=1e-6)
    assert starts.deviation == pytest.approx(1e-4, rel=0.02)


def test_sensitivity_indices_of_ishigami():
    angle = f"uniform({-np.pi}, {np.pi})"
    found = ensemble(ishigami, sample=dict.fromkeys("xyz", angle), n=2048, design="saltelli", seed=3).sobol("value")
    a, b = 7.0, 0.1
    parts = 0.5 * (1 + b * np.pi**4 / 5) ** 2, a**2 / 8, 0.0
    together = b**2 * np.pi**8 * (1 / 18 - 1 / 50)
    variance = sum(parts) + together
    first = np.array(parts) / variance
    total = first + np.array([together, 0.0, together]) / variance
    np.testing.assert_allclose(found.first, first, atol=0.02)
    np.testing.assert_allclose(found.total, total, atol=0.02)
    assert (np.abs(found.first - first) < 2 * found.first_error).all()
    assert "first order" in repr(found)
    assert "left out" not in repr(found)


def test_what_failed_is_said_beside_indices_and_statistics():
    found = ensemble(not_below_zero, sample={"x": "uniform(-1, 9)"}, n=32, design="saltelli")
    assert 0 < len(found.failed) < 20
    indices = found.sobol("value")
    assert indices.points + indices.left_out == 32
    assert f"{indices.left_out} of 32 points are left out: a member of each failed" in repr(indices)
    lines = repr(found.statistics("value")).splitlines()
    assert lines[0] == f"{len(found) - len(found.failed)} members"
    assert float(lines[2].split()[0]) == pytest.approx(np.nanmean(found["value"]), rel=1e-4)


def test_extremes_lie_between_steps():
    """The largest angle of a pendulum from 0.3 above the horizontal is that of the other side."""
    swing = {"span": (0, 2.0), "quantities": ["max(joints.elbow)", "time_of_max(joints.elbow)", "range(joints.elbow)"]}
    found = ensemble(ARM, set={"start": [-1.2]}, **swing)
    assert found["max(joints.elbow)"][0] == pytest.approx(1.2, abs=1e-7)
    assert found["range(joints.elbow)"][0] == pytest.approx(2.4, abs=2e-7)


def test_failures_are_kept_and_the_others_go_on(tmp_path):
    found = ensemble(sometimes, set={"x": "0:1:6"}, file=tmp_path / "s.h5")
    again = Ensemble.open(tmp_path / "s.h5")
    same(found, again)
    assert found.failed.tolist() == [5]
    assert "x is 1.0" in found.messages[5]
    assert np.isnan(found["square"][5])
    assert found["pair"].shape == (6, 2)
    assert found.statistics("square").members == 5
    said = r"least value of 'mass', -1, gives an invalid model \(member 0\).*negative mass"
    with pytest.warns(RuntimeWarning, match=said):
        model = ensemble(ARM, set={"mass": [-1.0, 1.0]}, quantities=WANTED)
    assert model.status.tolist() == ["error", "passed"]
    assert "mass" in model.messages[0]


TRAMMEL = """
[parameters]
rod = 1.0
[[bodies]]
name = "a"
mass = 1
[[bodies]]
name = "b"
mass = 1
[[joints]]
name = "across"
kind = "prismatic"
parent = "ground"
child = "a"
axis = [1, 0, 0]
[[joints]]
name = "along"
kind = "prismatic"
parent = "ground"
child = "b"
axis = [0, 1, 0]
[[constraints]]
name = "link"
kind = "distance"
bodies = ["a", "b"]
length = "rod"
[[constraints]]
name = "motor"
kind = "drive"
joint = "across"
value = "start + 0.01 * t"
[initial]
q = { across = 0.6, along = 0.5 }
held = ["across"]
[simulation]
span = [0, 0.01]
certificate = false
"""


def test_a_member_whose_loop_cannot_close_is_an_error_and_the_others_go_on(tmp_path, few_restarts):
    """Also the first one: the law uses `start`, for which the loop is closed when the file is read."""
    (tmp_path / "trammel.toml").write_text(TRAMMEL)
    with pytest.warns(RuntimeWarning, match=r"least value of 'rod', 0\.5, gives an invalid model \(member 0\)"):
        found = ensemble(tmp_path / "trammel.toml", set={"rod": [0.5, 1.0]}, quantities="initial(joints.along)")
    assert found.status.tolist() == ["error", "not judged"]
    assert "no coordinates satisfy the constraints with 'across' = 0.6 m" in found.messages[0]
    assert found["initial(joints.along)"][1] == pytest.approx(0.8)


def test_a_motion_that_broke_off_counts_in_no_statistics():
    def of(share):
        return ch.load(ARM).run(max_evaluations=10 if share == 1.0 else None, progress=False)

    found = ensemble(of, set={"share": [0.0, 1.0]}, quantities=WANTED)
    assert found.status.tolist() == ["passed", "ended early"]
    assert found.failed.tolist() == [1]
    assert np.isnan(found[WANTED[0]][1])
    assert found.statistics(WANTED[0]).members == 1


def test_the_same_bits_in_processes(tmp_path):
    given = {"set": {"length": "0.4:0.6:3"}, "sample": {"mass": "uniform(1, 2)"}, "n": 2, "quantities": WANTED}
    same(ensemble(ARM, **given), ensemble(ARM, **given, executor=2, file=tmp_path / "s.h5"))


@pytest.mark.study
def test_a_worker_that_dies_is_found_out():
    found = ensemble(dies, set={"x": [0, 1, 2, 3]}, executor=2)
    assert found.failed.tolist() == [2]
    assert "process" in found.messages[2]
    assert found["value"].tolist()[:2] == [0.0, 1.0]
    assert found["value"][3] == 3.0


@pytest.mark.study
def test_a_script_without_a_main_guard_is_told_so(tmp_path):
    """Its workers import it, and there is the call again: none starts."""
    script = tmp_path / "script.py"
    script.write_text(
        "from tests.ensembles.test_ensemble import dies\n"
        "from chasles.ensembles.ensemble import ensemble\n"
        "ensemble(dies, set={'x': [0, 1, 3, 4, 5, 6]}, executor=2)\n"
    )
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=found)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("RuntimeError: ensemble: no worker process started")
    assert "__main__" in done.stderr.splitlines()[-1]


SCRIPT = """
import sys
from tests.ensembles.test_ensemble import slow
from chasles.ensembles.design import design_of
from chasles.ensembles.ensemble import ensemble, title_of
if __name__ == "__main__":
    ensemble(slow, set={"x": "0:1:60"}, file=sys.argv[1], resume=True, executor=eval(sys.argv[2]))
"""


def started(file, executor):
    command = [sys.executable, "-c", SCRIPT, str(file), repr(executor)]
    return subprocess.Popen(command, start_new_session=True)


def killed_at_random(folder, rng, executor, whole):
    """Kill a study, which takes `whole` seconds, at random moments until it is finished; how often."""
    file, kills = folder / "s.h5", 0
    while not file.exists():
        process = started(file, executor)
        try:
            process.wait(whole * rng.uniform(0.2, 1.0) * (1 + kills / 8))  # longer and longer, if others are busy too
            assert process.returncode == 0
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(30)
            kills += 1
        assert kills < 60
    return kills


@pytest.mark.study
@pytest.mark.parametrize("executor", [None, 2])
def test_twenty_kills(tmp_path, executor):
    rng, kills, k = np.random.default_rng(5), 0, 0
    expected, begin = ensemble(slow, set={"x": "0:1:60"}), time.perf_counter()
    assert started(tmp_path / "s.h5", executor).wait(300) == 0
    whole = time.perf_counter() - begin
    while kills < 20:
        folder = tmp_path / str(k)
        folder.mkdir()
        kills, k = kills + killed_at_random(folder, rng, executor, whole), k + 1
        same(Ensemble.open(folder / "s.h5"), expected)


def test_a_journal_cut_off_anywhere_is_continued(tmp_path):
    file, title = tmp_path / "x.journal", {"model": "m"}
    journal = Journal(file, title)
    journal.begin()
    outcomes = [
        (k, MemberOutcome("passed", f"member {k}", {"a": np.arange(k + 1.0)}, {"a": ("x",)}, k)) for k in range(3)
    ]
    journal.append(outcomes[:2])
    kept = file.stat().st_size
    journal.append(outcomes[2:])
    whole = file.read_bytes()
    for end in range(kept, len(whole) + 1):
        file.write_bytes(whole[:end])
        found = dict(journal.records())
        assert sorted(found) == ([0, 1, 2] if end == len(whole) else [0, 1])
        assert found[1].numbers["a"].tolist() == [0.0, 1.0]
        assert file.stat().st_size == (end if end == len(whole) else kept)
    damaged = bytearray(whole)
    damaged[kept - 3] ^= 1
    file.write_bytes(bytes(damaged))
    assert sorted(dict(journal.records())) == [0]
    with pytest.raises(JournalError, match="another study"):
        list(Journal(file, {"model": "n"}).records())


def test_nothing_finished_is_computed_again(tmp_path):
    file = tmp_path / "s.h5"
    expected = ensemble(slow, set={"x": "0:1:4"})
    journal = Journal(tmp_path / "s.h5.journal", dict(expected.title))
    journal.begin()
    journal.append([(2, MemberOutcome("not judged", "kept", {"cube": np.array(7.0)}))])
    with pytest.raises(ValueError, match="resume=True"):
        ensemble(slow, set={"x": "0:1:4"}, file=file)
    found = ensemble(slow, set={"x": "0:1:4"}, file=file, resume=True)
    assert found["cube"][2] == 7.0
    assert found["cube"].tolist()[:2] == expected["cube"].tolist()[:2]
    assert not (tmp_path / "s.h5.journal").exists()
    with pytest.raises(ValueError, match="exists already"):
        ensemble(slow, set={"x": "0:1:4"}, file=file)
    same(found, ensemble(slow, set={"x": "0:1:4"}, file=file, resume=True))  # nothing is left to compute
    with pytest.raises(
        ValueError, match="finished study with other values of 'design', 'values of the grid', 'members'; write"
    ):
        ensemble(slow, set={"x": "0:1:5"}, file=file, resume=True)


def test_a_study_that_cannot_begin_leaves_no_file(tmp_path):
    with pytest.raises(ValueError, match=r"reactions\.elbwo"):
        ensemble(ARM, set={"length": [1, 2]}, quantities="peak(reactions.elbwo)", file=tmp_path / "s.h5")
    assert not list(tmp_path.iterdir())


def test_a_cluster_that_is_not_there_is_told_before_any_member_is_computed(tmp_path, monkeypatch):
    monkeypatch.setattr("chasles.ensembles.executor.ANSWER", 0.2)
    monkeypatch.setattr(Work, "member", lambda *_, **__: pytest.fail("a member was computed"))
    with pytest.raises(ValueError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:9"):
        ensemble(ARM, set={"length": [1, 2]}, quantities=WANTED, executor="tcp://127.0.0.1:9", file=tmp_path / "s.h5")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"set": {"lenth": [1, 2]}}, "did you mean 'length'"),
        ({"set": {"bodies.lnk.mass": [1, 2]}}, "nothing of this name"),
        ({"set": {"length": [1, 2]}, "quantities": "maxx(joints.elbow)"}, "did you mean 'max'"),
        ({"set": {"length": [1, 2]}, "quantities": "series(joints.elbow)"}, "every"),
        ({"set": {"length": [1, 2]}, "quantities": "max(events)"}, "count"),
        ({"set": {"length": [1, 2]}, "quantities": WANTED, "save": "final"}, "no times"),
        ({"set": {"length": [1, 2]}, "executor": 0}, "executor is 0"),
        ({"set": {"length": [1, 2]}, "executor": "tcp://127.0.0.1:9"}, "no dask scheduler"),
        ({"set": {"length": [1, 2]}, "executor": "nobody"}, "no dask scheduler answers at nobody"),
        ({"sample": {"length": "uniform(1, 2)"}, "n": 2.5}, "n is 2.5; expected a whole number"),
        ({"sample": {"length": "uniform(1, 2)"}, "n": 2, "seed": -1}, "seed is -1"),
        ({"set": {"length": [1, 2]}, "file": "s.csv"}, "such as study.h5"),
        ({"set": {"length": [1, 2]}, "resume": True}, "give file="),
    ],
)
def test_wrong_input(given, message, monkeypatch):
    monkeypatch.setattr("chasles.ensembles.executor.ANSWER", 0.2)  # nobody is there
    with pytest.raises(ValueError, match=message):
        ensemble(ARM, **given)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("max(joints.elbw)", "did you mean 'joints.elbow'"),
        ("max(bodies.link.path)", "not a function of time"),
        ("peak(norm(reactions.elbow))", "expected reactions.elbow.torque or reactions.elbow.force"),
    ],
)
def test_an_unknown_quantity_ends_the_study_at_its_first_member(text, message):
    with pytest.raises(ValueError, match=message):
        ensemble(ARM, set={"length": [0.5, 0.6]}, quantities=text)


def test_what_is_wrong_in_all_members_is_said_before_any_is_computed(tmp_path):
    with pytest.raises(ValueError, match="in a circle: length -> mass -> length"):
        ensemble(ARM, set={"length": "2 * mass", "mass": "length / 2", "start": [0.1, 0.2]})
    with pytest.raises(ValueError, match="no parameter 'y'"):
        ensemble(slow, set={"y": [0, 1]})
    with pytest.raises(ValueError, match="must be importable in other processes"):
        ensemble(lambda x: x, set={"x": [0, 1]}, executor=2)
    (tmp_path / "kept").write_text("")
    with pytest.raises(ValueError, match="expected a folder for the runs"):
        ensemble(ARM, set={"mass": [1.0]}, keep=tmp_path / "kept")


def test_what_functions_return_or_do_not():
    found = ensemble(returns, set={"x": [0, 1, 2, 3]})
    assert found.failed.tolist() == [1, 2, 3]
    assert "returned None; expected" in found.messages[1]
    assert "returned 'text'; expected" in found.messages[2]
    assert found.messages[3].startswith("SystemExit: gone (returns, line")


def test_members_are_computed_again_of_the_same_model_alone(tmp_path):
    model, file = tmp_path / "arm.toml", tmp_path / "s.h5"
    model.write_text(ARM.read_text())
    ensemble(model, set={"mass": [1.0]}, file=file)
    assert Ensemble.open(file, model=ARM).member(0).success  # it moved
    model.write_text(ARM.read_text().replace("length = 0.5", "length = 0.6"))
    with pytest.raises(ValueError, match="is not the one of this study"):
        Ensemble.open(file).member(0)


def test_a_study_that_broke_off_before_its_first_member_is_no_obstacle(tmp_path):
    file = tmp_path / "s.h5"
    with pytest.raises(ValueError, match="did you mean"):
        ensemble(ARM, set={"length": [0.4, 0.5]}, quantities="max(joints.elbw)", file=file)
    found = ensemble(ARM, set={"length": [0.4, 0.5]}, quantities="max(joints.elbow)", file=file)
    same(found, ensemble(ARM, set={"length": [0.4, 0.5]}, quantities="max(joints.elbow)"))
    (tmp_path / "t.h5.journal").write_bytes(b"letters of somebody")
    with pytest.raises(ValueError, match="resume=True"):
        ensemble(ARM, set={"length": [0.4, 0.5]}, quantities="max(joints.elbow)", file=tmp_path / "t.h5")


def test_the_norm_of_a_reaction_is_that_of_the_run():
    found = ensemble(ARM, set={"start": [1.0]}, quantities=["final(norm(reactions.elbow.force))"])
    force = found.member(0).reactions("elbow")[-1, 3:]
    assert found["final(norm(reactions.elbow.force))"][0] == pytest.approx(np.linalg.norm(force), rel=1e-14)


def title(model, **sample):
    return title_of(Work(model), design_of({}, sample or {"x": "uniform(0, 1)"}, (), 1, "random", 0)[0])


def test_a_study_is_told_from_another(tmp_path):
    """By numbers beyond six digits, a table beside the model, the source of a function."""
    assert title(slow, x="uniform(1.0000001, 2)") != title(slow, x="uniform(1.0000002, 2)")
    assert title(slow) == title(slow) != title(dies)
    model, table = tmp_path / "arm.toml", tmp_path / "bump.csv"
    law = '[[forces]]\nname = "push"\nkind = "joint_force"\njoint = "elbow"\nvalue = "bump(t)"\n'
    model.write_text(f'{ARM.read_text()}\n[tables]\nbump = {{ file = "bump.csv", x = "t", y = "f" }}\n\n{law}')
    table.write_text("t,f\n0,0\n1,1\n")
    before = title(str(model))
    table.write_text("t,f\n0,0\n1,2\n")
    assert before != title(str(model))


def test_two_writers_of_one_study_are_kept_apart(tmp_path):
    lock = Lock(tmp_path / "s.h5")
    with pytest.raises(ValueError, match="being written by another run"):
        ensemble(slow, set={"x": [0.0]}, file=tmp_path / "s.h5")
    lock.release()
    assert len(ensemble(slow, set={"x": [0.0]}, file=tmp_path / "s.h5")) == 1


def test_files_of_other_kinds_are_refused(tmp_path):
    file = tmp_path / "x.h5"
    file.write_bytes(b"no file of a study")
    with pytest.raises(ValueError, match="is not a study file"):
        Ensemble.open(file)
    with pytest.raises(ValueError, match="there is no file"):
        Ensemble.open(tmp_path / "y.h5")


def test_tables_and_pictures(tmp_path):
    found = ensemble(
        ARM,
        set={"length": "0.4:0.6:3"},
        sample={"mass": "uniform(1, 2)"},
        n=2,
        quantities=[*WANTED, "series(joints.elbow)", "reactions.elbow"],
        every=0.1,
    )
    assert found.to_pandas().shape[0] == 6
    assert found.units["final(joints.elbow)"] == found.to_xarray()["series(joints.elbow)"].attrs["units"] == "rad"
    assert found.labels["reactions.elbow"][4] == "force x [N]"
    assert found.to_xarray()["series(joints.elbow)"].shape == (6, 6)
    found.export(tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text().splitlines()
    assert lines[0].startswith("member,length,mass,final(joints.elbow) [rad],")
    assert ",reactions.elbow torque x [N m]," in lines[0]
    assert len(lines) == 7
    found.plot(*WANTED, "series(joints.elbow)", file=tmp_path / "p.png")
    grid = ensemble(ishigami, set={"x": "0:1:4", "y": "0:1:3", "z": 1.0})
    grid.plot(file=tmp_path / "g.png")
    indices = ensemble(
        ishigami, sample={"x": "uniform(0, 1)", "y": "uniform(0, 1)"}, set={"z": 1}, n=8, design="saltelli"
    )
    assert "x ~ uniform(0.0, 1.0)" in indices.plot(file=tmp_path / "i.png").get_suptitle()
    same_everywhere = ensemble(constant, sample={"x": "uniform(0, 1)"}, n=8, design="saltelli")
    assert "no parameter has an influence" in same_everywhere.plot().axes[0].texts[0].get_text().replace("\n", " ")
    assert "no parameter has an influence" in same_everywhere.report()
    assert all((tmp_path / name).stat().st_size > 10_000 for name in ("p.png", "g.png", "i.png"))
    with pytest.raises(ValueError, match="did you mean"):
        found.plot("final(joints.elbo)")


def test_what_the_command_gives_of_a_parameter_replaces_what_the_file_says_of_it(tmp_path):
    from chasles.cli.sweep import _replaced

    table, base = tmp_path / "points.csv", {"set": {"a": "0:1:3"}, "sample": {"b": "uniform(0, 1)"}, "n": 4, "seed": 2}
    table.write_text("b [mm],c\n1,2\n", encoding="utf-8")
    assert _replaced(base, {}, {}, [table]) == {"set": {"a": "0:1:3"}, "sample": {}, "seed": 2}
    assert _replaced(base, {"b": "1:2:3"}, {"a": "normal(0, 1)"}, []) == {
        **base,
        "set": {"b": "1:2:3"},
        "sample": {"a": "normal(0, 1)"},
    }


def test_command(tmp_path):
    file = tmp_path / "s.h5"
    result = chasles("sweep", str(ARM), "--jobs", "1", "-o", str(file))
    assert result.returncode == 0, result.stderr
    assert "3 passed" in result.stdout
    rows = [line.replace("│", " ").split() for line in result.stdout.splitlines() if line.startswith("│")]
    study = Ensemble.open(file)
    wanted = zip(study.parameters["length"], study["final(joints.elbow)"], strict=True)
    assert [row[:2] for row in rows] == [[f"{length:.6g}", f"{angle:.5g}"] for length, angle in wanted]
    assert Ensemble.open(file).member(1).q.shape[1] == 1
    picture = chasles("plot", str(file), "-o", str(tmp_path / "p.png"))
    assert picture.returncode == 0, picture.stderr
    wrong = chasles("sweep", str(ARM), "--sample", "mass=normal(1, 2)", "-n", "3")
    assert wrong.returncode == 2
    assert "name~distribution" in wrong.stderr


def test_tables_of_the_command_do_not_fold_numbers(capsys):
    """Of a number in two lines, the first half looks like a number."""
    from rich.console import Console

    from chasles.cli.sweep import show

    tiny = {"a very long name of a quantity that is nearly zero": np.array([-1.23456e-16, -2.34567e-17])}
    for kind, wanted in (("grid", "-2.3457e-17"), ("random", "-7.3456e-17")):
        found = Ensemble(
            {"x": np.array([1.0, 2.0])},
            tiny,
            np.array(["passed"] * 2),
            ["", ""],
            np.array([1, 1]),
            title={"kind": kind},
        )
        show(Console(width=40), found)
        assert wanted in capsys.readouterr().out


def test_units_of_what_varies_are_those_of_the_parameter(tmp_path):
    file = tmp_path / "arm.toml"
    file.write_text(ARM.read_text().replace("length = 0.5 #", 'length = "500 mm" #'))
    wrong = r"parameter 'length' is '0.6 N', a force; expected a length, as '500 mm' in the file"
    for given in ("0.4 m:0.6 N:3", "[0.4 m, 0.6 N]", ["0.4 m", "0.6 N"]):
        with pytest.raises(ValueError, match=wrong):
            ensemble(file, set={"length": given})
    with pytest.raises(ValueError, match=r"--set parameters\.length: is '2 kg', a mass; expected a length"):
        ch.load(file, set={"parameters.length": "2 kg"})
    assert (Work(str(file)).unit("length"), Work(str(file)).unit("mass")) == ("m", "")
    assert ch.load(file, set={"length": "30 cm"}).parameters["length"] == 0.3
    assert ch.load(file, set={"length": 0.3}).parameters["length"] == 0.3


def test_members_in_another_assembly_mode_are_told(tmp_path, recwarn):
    """Each member searches its own start, from guesses near neutral."""
    file = tmp_path / "linkage.toml"
    file.write_text(model_text(Study(closed.four_bar(), {"q": {"A": 1.4}})))
    options = {"quantities": "initial(joints)", "span": (0, 1e-3), "certificate": False}
    with pytest.warns(RuntimeWarning, match=r"A = 2.5 \(member 1\) the linkage starts in another assembly"):
        ensemble(file, set={"initial.q.A": "[1.4, 2.5]"}, **options)
    starts = [ch.load(file, set={"initial.q.A": angle}).plan().state[:3] for angle in np.linspace(1.4, 2.5, 2)]
    assert starts[0][2] > 0 > starts[1][2]  # the joint between coupler and rocker bends to one side and to the other
    recwarn.clear()
    ensemble(file, set={"initial.q.A": "[1.3, 1.5]"}, **options)
    ensemble(ARM, set={"length": "[0.4, 0.5]"}, quantities="final(joints.elbow)")
    assert not [one for one in recwarn if "assembly mode" in str(one.message)]


@pytest.mark.parametrize("members", [2_000, pytest.param(10_000, marks=pytest.mark.study)])
def test_a_study_file_is_opened_at_once(tmp_path, members):
    """Thousands of members: the numbers are there without reading all of the file."""
    ensemble(ishigami, sample=dict.fromkeys("xyz", "uniform(0, 1)"), n=members, file=tmp_path / "s.h5")
    before = time.process_time()
    again = Ensemble.open(tmp_path / "s.h5")
    assert len(again) == members
    assert time.process_time() - before < 1e-4 * members
    same(again, ensemble(ishigami, sample=dict.fromkeys("xyz", "uniform(0, 1)"), n=members))


def test_a_study_larger_than_memory_is_written(tmp_path):
    """Members go to the disk as they are finished, and from there to the study file: a part is in memory at a time."""
    tracemalloc.start()
    found = ensemble(large, set={"x": "0:1:200"}, file=tmp_path / "s.h5")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (tmp_path / "s.h5").stat().st_size > 100e6
    assert peak < 80e6  # at most 64 members are computed together; what they leave is written in parts of 17 MB
    assert found.quantities.part("series", (np.s_[:], 7)).tolist() == found["x"].tolist()


def test_statistics_of_a_file_are_those_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("chasles.ensembles.result.MOST_AT_ONCE", 20)  # so that it is read in parts
    expected = ensemble(sometimes, set={"x": "0:1:11"})
    found = ensemble(sometimes, set={"x": "0:1:11"}, file=tmp_path / "s.h5")
    assert expected.statistics("pair").members == 9
    for name in ("square", "pair", "x"):
        for a, b in zip(found.statistics(name), expected.statistics(name), strict=True):
            np.testing.assert_array_equal(a, b)


def test_a_full_disk_leaves_what_was_finished(tmp_path, monkeypatch):
    """The last record fits in part: it is cut off, so that what comes after it is not lost."""
    journal = Journal(tmp_path / "x.journal", {})
    journal.begin()
    journal.append([(0, MemberOutcome("passed", "", {"a": np.zeros(3)}))])
    kept = journal.file.read_bytes()

    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match=r"x.journal cannot be written.*--resume"):
        journal.append([(1, MemberOutcome("passed", "", {"a": np.ones(3)}))])
    assert journal.file.read_bytes() == kept


def test_xarray_reads_no_more_of_a_study_file_than_is_looked_at(tmp_path, monkeypatch):
    found = ensemble(ishigami, sample=dict.fromkeys("xyz", "uniform(0, 1)"), n=100, file=tmp_path / "s.h5")
    x, value, read, part = found["x"], found["value"], [], StoredArrays.part
    monkeypatch.setattr(StoredArrays, "part", lambda *some: read.append(some[1:]) or part(*some))
    data = Ensemble.open(tmp_path / "s.h5").to_xarray()
    assert data["x"].shape == (100,)
    assert read == []
    np.testing.assert_array_equal(data["value"][10:14], value[10:14])
    np.testing.assert_array_equal(data["x"].isel(member=[3, 50]), x[[3, 50]])
    assert [(name, np.arange(100)[key].tolist()) for name, key in read] == [("value", [*range(10, 14)]), ("x", [3, 50])]


def test_a_worker_with_another_version_is_refused():
    class Client:
        def run(self, function, on_error):
            return {"tcp://here": function(), "tcp://gone": OSError("gone"), "tcp://there": "0.0.1"}

    with pytest.raises(ValueError, match=r"tcp://there has chasles 0.0.1, and here it is .*; install the same"):
        same_versions(Client())


def test_a_report_of_a_study_has_all_of_it(tmp_path):
    """Numbers are those of the study, members that failed say why, and a hostile name is text."""
    file, page = tmp_path / "s.h5", tmp_path / "s.html"
    found = ensemble(not_below_zero, set={"x": [1.0, 2.0, -1.0]}, file=file)
    assert chasles("report", str(file), "-o", str(page)).returncode == 0
    text = page.read_text()
    assert f"{found.statistics('value').mean:.6g}" in text
    assert "x &lt; 0 is &lt;b&gt;bad&lt;/b&gt;" in text
    assert text.count("<img ") == 1
    assert "Sensitivity" not in text
    refused = chasles("report", str(file), "--end", "1")
    assert refused.returncode != 0
    assert "a study is reported as it is" in refused.stderr


def test_members_go_to_other_processes_and_back():
    import pickle

    work = Work(str(ARM), (quantity("final(joints.elbow)"),), {"mass": 2.0})
    outcome = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(work)).member(0, {"length": 0.4})))
    assert outcome.status == "passed"
    assert json.dumps(outcome.labels)


def test_a_start_that_was_changed_is_said_of_its_member(tmp_path):
    """Put onto the joint by assemble = true, it is another start than the one that was given."""
    given = "poses.link = [1, 0, 0, 0, 0.001, 0, 0]\nassemble = true"
    text = ARM.read_text().replace('q = { elbow = "start" }', given)
    file = tmp_path / "off.toml"
    file.write_text(text.replace("span = [0, 0.5]", 'span = [0, 0.1]\ncoordinates = "absolute"'))
    found = ensemble(file, set={"length": [0.5]}, quantities="final(joints.elbow)")
    assert found.status.tolist() == ["passed"]
    assert "link" in found.messages[0]


def test_members_on_lanes_have_the_same_bits_in_any_company():
    study = ch.ensemble(
        ARM,
        sample={"mass": "uniform(1, 2)", "start": "uniform(0, 1)"},
        n=6,
        quantities="final(joints.elbow)",
        certificate=False,
        method="rk4",
        step=0.01,
    )
    assert (study.steps == 50).all()
    work, values = study.work, [study.values(k) for k in range(6)]
    for some in ([5], [4, 1], [3, 2, 1, 0, 5]):
        for index, outcome in work.members([(k, values[k]) for k in some], threads=2):
            assert np.array_equal(outcome.numbers["final(joints.elbow)"], study["final(joints.elbow)"][index])
    assert study.member(3).joint("elbow").q[-1, 0] == study["final(joints.elbow)"][3]


def test_a_batch_over_parameters_of_a_model_file():
    study, mass, start = ch.load(ARM), np.array([1.0, 2.0, -1.0]), [0.1, 0.2, 0.3]
    batch = study.run_batch({"mass": mass, "start": start, "length": 0.4}, method="rk4", step=0.01)
    assert batch.reason == ""
    assert batch.success.tolist() == [True, True, False]
    assert "negative mass" in batch.messages[2]
    run = ch.load(ARM, set={"parameters.start": 0.2, "parameters.mass": 2.0, "parameters.length": 0.4}).run(
        method="rk4", step=0.01, save="final"
    )
    np.testing.assert_allclose(batch.q[1], run.q, rtol=1e-13)
    with pytest.raises(ValueError, match="no parameter 'mas'; did you mean 'mass'"):
        study.run_batch({"mas": mass})
    with pytest.raises(ValueError, match="nothing is given for each member"):
        study.run_batch({"mass": 1.0})


def begins(x):
    os.write(1, b"begun\n")
    time.sleep(2 * x)
    return x


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_workers_end_with_a_study_that_is_killed():
    command = "from tests.ensembles.test_ensemble import *; ensemble(begins, set={'x': [0.5] * 400}, executor=1)"
    with subprocess.Popen([sys.executable, "-c", command], stdout=subprocess.PIPE, start_new_session=True) as process:
        try:
            assert process.stdout.readline() == b"begun\n"
            process.kill()
            process.communicate(timeout=20)  # until nobody holds the pipe: the worker would for 400 s
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
