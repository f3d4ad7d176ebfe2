"""Result files: what is opened is what was computed, whatever happened to the process that wrote it."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import replace

import h5py
import numpy as np
import pytest

import chasles as ch
from chasles.integrate import stepper as integration
from chasles.io.result import checkpoint, layout, reader, writer
from chasles.io.result import export as export_module
from chasles.simulation import states
from chasles.simulation.bodies.dynamics import BodyDynamics
from tests.io import result_models as models
from tests.io.result_models import CASES, RESUME
from tests.waiting import limited, wait_for


def same(one, two):
    """Two runs have the same bits."""
    np.testing.assert_array_equal(one.t, two.t)
    np.testing.assert_array_equal(one.solution.y, two.solution.y)
    assert (one.solution.slopes is None) == (two.solution.slopes is None)
    if one.solution.slopes is not None:
        np.testing.assert_array_equal(one.solution.slopes, two.solution.slopes)
        np.testing.assert_array_equal(one.solution.moves, two.solution.moves)
    np.testing.assert_array_equal(one.inputs, two.inputs)
    np.testing.assert_array_equal(one.forces, two.forces)
    assert [(e.event.name, e.t) for e in one.solution.events] == [(e.event.name, e.t) for e in two.solution.events]
    for name in ("steps", "rejections", "evaluations", "success"):
        assert getattr(one.solution, name) == getattr(two.solution, name), name


@pytest.fixture(scope="module")
def whole():
    return {case: simulate(0.5) for case, simulate in CASES.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_run_with_a_file_is_the_run_without(case, whole, tmp_path):
    file = tmp_path / "run.h5"
    live, written = whole[case], CASES[case](0.5, file=file)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
    for run in (written, ch.open(file)):
        same(live, run)
        assert run.certificate.findings == live.certificate.findings
        assert run.message == live.message == "reached the end"
        for name in ("kinetic", "gravity", "springs", "work"):
            np.testing.assert_array_equal(getattr(run.energies, name), getattr(live.energies, name))
        frame = "top" if case == "fixed" else "hand"
        np.testing.assert_array_equal(run[frame].pose, live.frame(frame).pose)
    if case == "adaptive":
        assert len(live.solution.events) > 1
        np.testing.assert_array_equal(ch.open(file).solution.events[1].y, live.solution.events[1].y)


@pytest.mark.parametrize("case", CASES)
def test_saving_and_opening_changes_nothing(case, whole, tmp_path):
    file = tmp_path / "run.h5"
    live = whole[case]
    live.save(file)
    run = ch.open(file, laws=RESUME.get(case, {}).get("laws"))
    same(live, run)
    assert run.certificate.findings == live.certificate.findings
    with h5py.File(file) as h5:  # what another program reads
        np.testing.assert_array_equal(h5["points"]["t"], live.t)
        np.testing.assert_array_equal(h5["derived/poses"][:, -1], live[live.mechanism.bodies[-1]].pose)
        np.testing.assert_array_equal(h5["derived/twists"][:, -1], live[live.mechanism.bodies[-1]].twist)
        assert h5["derived/reactions"].shape == (len(live), len(live.mechanism.system.joints), 6)
    run.save(file, quantities="poses")  # over itself
    same(live, ch.open(file))


def test_where_the_system_cannot_write_at_a_place(whole, tmp_path, monkeypatch):
    """As on Windows."""
    for name in ("pwrite", "pread", "fdatasync"):
        monkeypatch.delattr(os, name, raising=False)
    monkeypatch.setattr(writer, "FIRST", 1)
    monkeypatch.setattr(writer, "SAFE", 0.0)
    monkeypatch.setattr(writer, "EVERY", 0.0)
    monkeypatch.setattr(integration, "MOST_STEPS", 16)
    file = tmp_path / "run.h5"
    same(whole["adaptive"], CASES["adaptive"](0.5, file=file))
    same(whole["adaptive"], ch.open(file))
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


class Died(BaseException):
    """Stands for the end of a process."""


DEATHS = (*range(9), 17, 27, 40, 64, 101)  # writes before the process "dies"
STOPPED = [
    *(pytest.param(case, DEATHS[k % 5 :: 5], id=case) for k, case in enumerate(CASES)),  # each write in two cases
    *(pytest.param(case, DEATHS, id=f"{case}, all", marks=pytest.mark.study) for case in CASES),
]


@pytest.mark.parametrize(("case", "firsts"), STOPPED)
def test_stopped_at_any_write_the_rest_has_the_same_bits(case, firsts, whole, tmp_path, monkeypatch):
    """The process "dies" in one of its first writes, half way, and again after it was resumed."""
    file = tmp_path / "run.h5"
    monkeypatch.setattr(writer, "EVERY", 0.0)
    monkeypatch.setattr(writer, "FIRST", 1)
    monkeypatch.setattr(integration, "MOST_STEPS", 16)
    put, left = layout.put, [0]

    def dying(descriptor, data, at):
        data = memoryview(data).cast("B").tobytes()
        left[0] -= 1
        put(descriptor, data if left[0] >= 0 else data[: len(data) // 2], at)
        if left[0] < 0:
            raise Died

    monkeypatch.setattr(writer, "put", dying)
    monkeypatch.setattr(layout, "put", dying)
    functions, deaths = RESUME.get(case, {}), 0
    for first in firsts:
        file.unlink(missing_ok=True)
        for writes in (first, first % 13, 10**9):
            left[0] = writes
            try:
                if file.exists():
                    opened = ch.open(file)
                    assert np.array_equal(opened.t, whole[case].t[: len(opened)])
                    run = ch.resume(file, **functions)
                else:
                    run = CASES[case](0.5, file=file)
                break
            except Died:
                deaths += 1
        same(whole[case], run)
        assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
    assert deaths > len(firsts)


def killed_runs(case, end, times, tmp_path):
    """Kill processes that simulate, after times [s] from when their file is there; resume each to the end."""
    for k, wait in enumerate(times):
        file = tmp_path / f"{case}{k}.h5"
        command = [sys.executable, "-m", "tests.io.result_models", case, str(end), str(file)]
        with limited(subprocess.Popen(command)) as process:
            wait_for(file, process)
            time.sleep(wait)
        opened = ch.open(file)
        yield len(opened), opened.success, ch.resume(file, **RESUME.get(case, {}), progress=False)
        file.unlink()


@pytest.mark.parametrize(
    ("case", "end", "times"),
    [
        ("absolute adaptive", 30.0, (0.05,)),
        pytest.param("absolute adaptive", 60.0, (0.0, 0.1), marks=pytest.mark.study),
        pytest.param("fixed", 100.0, (0.0, 0.1), marks=pytest.mark.study),
    ],
)
def test_killed_and_resumed(case, end, times, tmp_path):
    whole = CASES[case](end)
    for rows, _, run in killed_runs(case, end, times, tmp_path):
        assert rows <= len(whole)  # all of them if it was killed while energies and certificate were written
        same(whole, run)


KILLS = {  # ends [s]
    "fixed": 800.0,
    "adaptive": 600.0,
    "absolute": 160.0,
    "absolute adaptive": 400.0,
    "sampled": 40.0,
    "closed": 100.0,
}


@pytest.mark.study
@pytest.mark.parametrize("case", KILLS)
def test_killed_at_random_moments(case, tmp_path):
    """Seventeen times each, 102 in all; `pytest -s -m study tests/io/test_results.py` shows how far they came."""
    CASES[case](0.1)  # compiles
    began = time.perf_counter()
    whole = CASES[case](KILLS[case], file=tmp_path / "whole.h5")
    spent, rng, unfinished = time.perf_counter() - began, np.random.default_rng(0), 0
    for rows, success, run in killed_runs(case, KILLS[case], rng.uniform(0, spent, 17), tmp_path):
        print(f"{case}: {rows} of {len(whole)} rows when killed, {'ended' if success else 'not ended'}")
        unfinished += not success
        same(whole, run)
    assert unfinished >= 4  # the others were killed while energies and certificate were written


@pytest.fixture
def listening():
    """Ctrl-C raises KeyboardInterrupt, as it does for users; test processes may ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_interrupted_run_keeps_what_it_has(tmp_path, whole, listening):
    file, calls = tmp_path / "run.h5", [0]

    def interrupting(t, y, p):
        calls[0] += 1
        if calls[0] == 120:
            signal.raise_signal(signal.SIGINT)
        return 1.0

    def quiet(t, y, p):
        return 1.0

    options = {"v": models.V, "step": 1e-3, "method": ch.integrate.Gauss(2), "progress": False}
    with pytest.raises(
        ch.errors.Interrupted, match=r'simulate: interrupted at t = .*; resume\("run.h5"\) continues it'
    ) as stop:
        ch.simulate(models.arm(), (0, 0.5), events=[ch.Event(interrupting)], file=file, **options)
    run = stop.value.result
    assert not run.success
    assert "interrupted at t" in run.message
    assert 'resume("run.h5")' in run.message
    assert 10 < len(run) < 400
    with pytest.raises(
        ch.errors.ResultFileError, match="the source of the event 'interrupting' is not that of the run"
    ):
        ch.resume(file, events=[ch.Event(quiet, name="interrupting")])
    rest = ch.resume(file, events=[ch.Event(interrupting)])
    np.testing.assert_array_equal(rest.solution.y, whole["implicit"].solution.y)


def interrupted_at(call, function):
    """The function, which at its call of this number raises the signal of Ctrl-C."""
    calls = [0]

    def wrapped(*arguments):
        calls[0] += 1
        if calls[0] == call:
            signal.raise_signal(signal.SIGINT)
        return function(*arguments)

    return wrapped


def test_interrupted_in_a_law_and_in_a_controller(listening):
    """Python functions that a compiled loop calls are not broken off, and nothing is lost."""
    air = interrupted_at(700, lambda t, pose, twist, parameters, out: None)
    with pytest.raises(ch.errors.Interrupted, match="simulate: interrupted at t = ") as stop:
        ch.simulate(models.arm(ch.Wrench("air", "lower", air)), (0, 5.0), v=models.V, step=1e-3, progress=False)
    run = stop.value.result
    assert not run.success
    assert 0.1 < run.t[-1] < 4.0
    assert np.isfinite(run.q).all()
    assert np.isfinite(run.energies.kinetic).all()
    options = {"v": models.V, "step": 1e-3, "controller": interrupted_at(20, models.balance), "period": 0.01}
    with pytest.raises(ch.errors.Interrupted, match=r"simulate: interrupted at t = 0\.2") as stop:
        ch.simulate(models.arm(), (0, 5.0), progress=False, **options)
    run = stop.value.result
    assert "interrupted at t = 0.2" in run.message
    np.testing.assert_array_equal(run.solution.y, CASES["sampled"](0.2).solution.y)


def test_a_second_time_interrupts_at_once(listening):
    came = []

    def impatient(t, y, p):
        if t > 0.1:
            signal.raise_signal(signal.SIGINT)
            came.append(t)
        return 1.0

    with pytest.raises(KeyboardInterrupt, match="interrupted at t = ") as stop:
        ch.simulate(models.top(), (0, 1.0), step=1e-3, events=[ch.Event(impatient)], progress=False)
    run = stop.value.result
    assert len(came) == 1
    assert came[0] - 1e-3 <= run.t[-1] <= came[0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_ctrl_c_ends_a_loop_of_simulations(listening):
    """Wherever it comes: in short runs and in their last piece too."""
    for case in ("adaptive", "sampled", "implicit", "alpha"):
        done = []

        def sweep(case=case, done=done):
            for k in range(3):
                if k == 1:
                    signal.setitimer(signal.ITIMER_REAL, 1e-3)
                done.append(CASES[case](0.5))
                if k == 1:  # it came as the run ended
                    time.sleep(1.0)
                    pytest.fail("Ctrl-C was lost")

        before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
        try:
            with pytest.raises(KeyboardInterrupt) as stop:
                sweep()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, before)
        assert len(done) in (1, 2)
        if isinstance(stop.value, ch.errors.Interrupted):
            assert 0 < len(stop.value.result) <= len(done[0])


def test_ctrl_c_in_the_last_step_is_not_lost(listening):
    options = {"v": models.V, "step": 0.01, "progress": False}
    late = interrupted_at(2, models.balance)  # of two periods
    with pytest.raises(ch.errors.Interrupted, match="simulate: interrupted as it ended") as stop:
        ch.simulate(models.arm(), (0, 0.02), controller=late, period=0.01, **options)
    assert stop.value.result.success
    last = interrupted_at(50, lambda t, pose, twist, parameters, out: None)
    with pytest.raises(ch.errors.Interrupted, match="simulate: interrupted as it ended") as stop:
        ch.simulate(models.arm(ch.Wrench("air", "lower", last)), (0, 0.1), **options)
    assert stop.value.result.success
    assert stop.value.result.t[-1] == 0.1


def test_an_error_in_a_law_is_noted(tmp_path):
    file = tmp_path / "run.h5"

    def breaks(t, pose, twist, parameters, out):
        if t > 0.2:
            raise ZeroDivisionError("the law broke")

    system = models.arm(ch.Wrench("bad", "lower", breaks))
    with pytest.raises(ZeroDivisionError):
        ch.simulate(system, (0, 1), v=models.V, step=1e-3, file=file)
    opened = ch.open(file)
    assert not opened.success
    assert 0.15 < opened.t[-1] <= 0.2


def test_functions_are_needed_again_and_must_be_the_same(tmp_path, monkeypatch):
    file = tmp_path / "run.h5"
    CASES["adaptive"](0.1, file=file)
    run = ch.open(file)
    assert np.isfinite(run.a).all()  # known without the law, from the file
    assert np.isfinite(run.energies.kinetic).all()
    with_law = ch.open(file, laws=models.LAWS)
    np.testing.assert_allclose(run.reactions("elbow"), with_law.reactions("elbow"), rtol=0, atol=1e-12)
    assert with_law(0.0123).reactions("elbow").shape == (6,)
    with pytest.raises(ch.errors.ResultFileError, match="'drag' is not in the file, only what it gave at the saved"):
        run(0.0123).reactions("elbow")
    with h5py.File(file, "r+") as h5:  # as if it had been killed before its first step
        h5["counts"][...] = 1, 0, 0
        h5["checkpoints"][...] = 0
    with pytest.raises(ch.errors.ResultFileError, match="holds a run that has not ended"):
        CASES["adaptive"](0.1, file=file)
    with pytest.raises(ch.errors.ResultFileError, match=r"needs the law 'drag' again: give laws="):
        ch.resume(file)
    with pytest.raises(ch.errors.ResultFileError, match="needs its events again"):
        ch.resume(file, laws=models.LAWS)

    @ch.law
    def drag(t, pose, twist, parameters, out):
        for k in range(6):
            out[k] = -2 * parameters[0] * twist[k]

    with pytest.raises(ch.errors.ResultFileError, match="source of the law 'drag'"):
        ch.resume(file, laws={"drag": drag}, events=models.EVENTS)
    with pytest.raises(ch.errors.ResultFileError, match="no law 'lift'"):
        ch.open(file, laws={"lift": drag})
    ch.resume(file, laws=models.LAWS, events=models.EVENTS)


def test_damaged_and_foreign_files(tmp_path, whole):
    file, good = tmp_path / "run.h5", tmp_path / "good.h5"
    whole["fixed"].save(good, quantities=())
    data = good.read_bytes()
    with pytest.raises(ch.errors.ResultFileError, match="there is no such file"):
        ch.open(file)
    with pytest.raises(ch.errors.ResultFileError, match="there is no folder"):
        CASES["fixed"](0.1, file=tmp_path / "nowhere" / "run.h5")
    file.write_bytes(b"")
    with pytest.raises(ch.errors.ResultFileError, match="not a result file, or damaged"):
        ch.open(file)
    with pytest.raises(ch.errors.ResultFileError):  # something else is not replaced by a result
        CASES["fixed"](0.1, file=file)
    with h5py.File(file, "w") as h5:
        h5["x"] = 1
    with pytest.raises(ch.errors.ResultFileError, match="an HDF5 file, but not the result of a run"):
        ch.open(file)
    rng = np.random.default_rng(3)
    for length in [*rng.integers(1, len(data), 20).tolist(), len(data) - 1]:
        file.write_bytes(data[:length])
        with contextlib.suppress(ch.errors.ResultFileError):
            assert len(ch.open(file)) == len(whole["fixed"])  # nothing of importance was at the end
    for name, value, found in (
        ("counts", [10**9, 0, 1], "rows and 0 events in tables"),
        ("counts", [-1, 0, 1], "rows and 0 events in tables"),
        ("header", b"{}", "damaged"),
        ("model", b"bodies = 3", "model or options cannot be read"),
        ("outcome", b"[", "damaged"),
    ):
        file.write_bytes(data)
        with h5py.File(file, "r+") as h5:
            h5[name][...] = value
        with pytest.raises(ch.errors.ResultFileError, match=found):
            ch.open(file)
    file.write_bytes(data)
    with h5py.File(file, "r+") as h5:
        del h5["header"]
        h5.create_dataset("header", data="{}")  # of variable length: an object to NumPy
    with pytest.raises(ch.errors.ResultFileError, match="header is neither a text"):
        ch.open(file)


def test_random_bytes_changed_give_a_named_error_or_a_run(tmp_path, whole):
    """In what HDF5 does not keep itself: the texts, counts, checkpoints and outcome."""
    file, rng = tmp_path / "run.h5", np.random.default_rng(5)
    whole["fixed"].save(file, quantities=())
    data = bytearray(file.read_bytes())
    stored = reader.read(file)
    places = [stored.offsets[name] for name in ("counts", "checkpoints", "outcome")]
    with h5py.File(file) as h5:
        places += [h5[name].id.get_offset() for name in ("header", "model")]
    named = 0
    for _ in range(80):
        changed = bytearray(data)
        changed[rng.choice(places) + int(rng.integers(0, 400))] = int(rng.integers(0, 256))
        file.write_bytes(changed)
        try:
            ch.open(file)
        except ch.errors.ResultFileError:
            named += 1
    assert 5 < named < 80


def test_checkpoints_that_are_not_whole_are_not_taken():
    arrays = {"y": np.arange(5.0), "counts": np.arange(3)}
    memory = checkpoint.memory_of(arrays)
    slots = np.zeros((2, checkpoint.slot_size(memory)), np.uint8)
    assert checkpoint.newest(slots, memory) is None
    for sequence in (1, 2, 3):
        packed = checkpoint.packed(checkpoint.Checkpoint(sequence, {"rows": sequence}, arrays))
        slots[sequence % 2] = np.frombuffer(packed, np.uint8)
    found = checkpoint.newest(slots, memory)
    assert found.note == {"rows": 3}
    np.testing.assert_array_equal(found.arrays["y"], arrays["y"])
    for at in (0, 8, 16, 30, slots.shape[1] - 1):  # a byte of the newer one is not there yet
        broken = slots.copy()
        broken[1, at] ^= 1
        assert checkpoint.newest(broken, memory).note == {"rows": 2}, at


def test_in_parts_is_as_at_once(whole, monkeypatch, tmp_path):
    runs = {case: whole[case] for case in ("adaptive", "absolute", "sampled")}
    for case, run in runs.items():
        file = tmp_path / f"{case}.h5"
        run.save(file)
        opened = ch.open(file, laws=RESUME.get(case, {}).get("laws"))
        monkeypatch.setattr(states, "ROWS_AT_ONCE", 50)
        monkeypatch.setattr(type(run).parts, "__defaults__", (50, None))
        assert ch.certify(opened)["energy balance"] == run.certificate["energy balance"]
        for found, expected in (
            (opened.frame("hand", "hybrid").twist, run.frame("hand", "hybrid").twist),
            (opened.frame("hand", "spatial").acceleration, run.frame("hand", "spatial").acceleration),
            (opened.joint("elbow").angle, run.joint("elbow").angle),
            (opened.reactions("elbow"), run.reactions("elbow")),
        ):
            monkeypatch.undo()
            assert len(found) == len(run)
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)
        assert sum(map(len, opened.parts(7))) == len(run)


def test_export(whole, tmp_path):
    run = whole["adaptive"]
    run.export(tmp_path / "run.csv")
    ch.export(run, tmp_path / "run.npz")
    lines = (tmp_path / "run.csv").read_text().splitlines()
    table = np.loadtxt(lines[1:], delimiter=",")
    column = {name: k for k, name in enumerate(lines[0].split(","))}
    np.testing.assert_array_equal(table[:, 0], run.t)
    np.testing.assert_array_equal(table[:, column["elbow.q0 [rad]"]], run.joint("elbow").angle)
    np.testing.assert_array_equal(table[:, column["lower.x [m]"] : column["lower.z [m]"] + 1], run["lower"].position)
    with np.load(tmp_path / "run.npz", allow_pickle=False) as arrays:
        np.testing.assert_array_equal(arrays["poses"][:, 1], run["lower"].pose)
        np.testing.assert_array_equal(arrays["kinetic"], run.energies.kinetic)
        assert arrays["bodies"].tolist() == ["upper", "lower"]
    with pytest.raises(ValueError, match=r"ends in \.csv, \.events\.csv, \.parquet or \.npz"):
        ch.export(run, "run.xls")


@pytest.mark.filterwarnings("ignore:reactions are not unique")
@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_tables_have_units_forces_and_reactions(tmp_path, coordinates, monkeypatch):
    """Of a loop with a drive and an input: the columns are what the run says, and the drive does the work."""
    crank, rocker = (ch.Body(name, 1.0, (0.5, 0, 0), (0.01, 0.1, 0.1)) for name in ("crank", "rocker"))
    slide = ch.Body("slide", 0.5, inertia=(0.01, 0.01, 0.01))
    joints = [
        ch.revolute("A", "ground", "crank", axis=(0, 0, 1)),
        ch.revolute("B", "crank", "rocker", axis=(0, 0, 1), at=(1, 0, 0)),
        ch.prismatic("D", "ground", "slide", axis=(1, 0, 0), damping=3.0),
        ch.revolute("C", "rocker", "slide", axis=(0, 0, 1), at=(1, 0, 0)),
    ]
    motor = ch.Drive("motor", "A", "1 + 2 * t")
    system = ch.System(
        [crank, rocker, slide], joints, constraints=[motor], actuators=[ch.Actuator("push", "D", gear=2.0)]
    )
    run = ch.simulate(system, (0, 0.05), {"A": 1.0}, control=[1.5], coordinates=coordinates, step=5e-3, progress=False)
    assert run.system is run.mechanism.system
    with pytest.warns(UserWarning, match="'A', 'B', 'D', 'C' in torque x, torque y, force z") as told:
        run.export(tmp_path / "run.csv")  # gravity is across its plane, which is said once
    assert len(told) == 1
    lines = (tmp_path / "run.csv").read_text().splitlines()
    titles, table = lines[0].split(","), np.loadtxt(lines[1:], delimiter=",")
    column = dict(zip(titles, table.T, strict=True))
    assert titles[0] == "t [s]"
    assert len(table) == len(run) == 11
    np.testing.assert_array_equal(column["D.q0 [m]"], run.joint("D").q[:, 0])
    np.testing.assert_array_equal(column["A.v0 [rad/s]"], run.joint("A").v[:, 0])
    np.testing.assert_array_equal(column["slide.vx [m/s]"], run.twists[:, 2, 3])
    np.testing.assert_array_equal(column["D.input0 [N]"], 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, first, unit in (("B", "tx", "N m"), ("C", "tx", "N m")):
            at = titles.index(f"{name}.{first} [{unit}]")
            np.testing.assert_array_equal(table[:, at : at + 6], run.reactions(name))
    np.testing.assert_array_equal(column["motor.force0 [N m]"], run.coordinate_forces("motor")[:, 0])
    # power of the motor, the input and the damper is the change of the energies
    speed, torque = column["A.v0 [rad/s]"], column["motor.force0 [N m]"]
    slides = column["D.v0 [m/s]"]
    power = torque * speed + 3.0 * slides - 3.0 * slides**2
    gained = column["kinetic [J]"] + column["gravity [J]"]
    work = np.concatenate([[0.0], np.cumsum(0.5 * (power[1:] + power[:-1]) * np.diff(column["t [s]"]))])
    assert np.abs(gained - gained[0] - work).max() < 1e-3 * np.abs(gained).max()
    monkeypatch.setattr(export_module, "MOST_REACTIONS", 2)
    run.export(tmp_path / "short.csv")
    assert "B.tx" not in (tmp_path / "short.csv").read_text()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="export: pyarrow is not installed"):
        run.export(tmp_path / "run.parquet")


@pytest.mark.parametrize("coordinates", ["relative", "absolute"])
def test_uniform_times_whatever_the_steps_are(coordinates, tmp_path):
    """Points at equal times have the accuracy of the method: against order 8 at a tolerance of 1e-13."""
    system = models.arm()
    how = {"v": models.V, "coordinates": coordinates, "progress": False}
    run = ch.simulate(system, (0.1, 0.6), every=0.07, rtol=1e-9, **how)
    np.testing.assert_allclose(run.t, 0.1 + 0.07 * np.arange(8), rtol=0, atol=1e-15)
    steps = ch.simulate(system, (0.1, 0.6), rtol=1e-9, **how)
    assert run.solution.steps == steps.solution.steps
    exact = ch.simulate(system, (0.1, 0.6), save=run.t, rtol=1e-13, atol=1e-13, method="dop853", **how)
    assert np.abs(run.poses - exact.poses).max() < 3e-8
    assert ch.simulate(system, (0.0, 0.5), every=0.1, step=0.1, **how).t[-1] == 0.5
    assert ch.simulate(system, (0.5, 0.0), every=0.1, step=0.1, **how).t.tolist() == pytest.approx(
        [0.5, 0.4, 0.3, 0.2, 0.1, 0.0], abs=1e-15
    )
    for wrong, message in ((0.0, "every is 0.0"), (2.0, "not longer than the span"), (1e-12, "at most 100000000")):
        with pytest.raises(ValueError, match=message):
            ch.simulate(system, (0.0, 0.5), every=wrong, **how)
    with pytest.raises(ValueError, match="every or save, not both"):
        ch.simulate(system, (0.0, 0.5), every=0.1, save="final", **how)


def test_export_in_parts_is_that_of_the_whole(whole, tmp_path, monkeypatch):
    """Angles go on over full turns from part to part, and with a stride every n-th time is there."""
    run = whole["absolute"]
    wheel = ch.System(
        [ch.Body("lower", 1.0, inertia=(1, 1, 1))], [ch.revolute("elbow", "ground", "lower", axis=(0, 1, 0))]
    )
    fast = ch.simulate(wheel, (0, 0.3), v=[60.0], step=1e-3, coordinates="absolute", progress=False)
    assert abs(fast.joint("elbow").angle).max() > 7
    for k, one in enumerate((run, fast, whole["fixed"])):
        for stride in (1, 7):
            files = [tmp_path / f"{k}{stride}{name}" for name in ("a.npz", "b.npz", "a.csv", "b.csv")]
            ch.export(one, files[0], stride=stride)
            ch.export(one, files[2], stride=stride)
            monkeypatch.setattr(states, "ROWS_AT_ONCE", 50)
            ch.export(one, files[1], stride=stride)
            ch.export(one, files[3], stride=stride)
            monkeypatch.undo()
            tables = [np.loadtxt(file, delimiter=",", skiprows=1) for file in files[2:]]
            np.testing.assert_allclose(tables[0], tables[1], rtol=1e-13, atol=1e-14)
            with np.load(files[0], allow_pickle=False) as a, np.load(files[1], allow_pickle=False) as b:
                assert list(a) == list(b)
                np.testing.assert_array_equal(a["t"], one.t[::stride])
                for name in set(a) - {"bodies"}:
                    np.testing.assert_allclose(a[name], b[name], rtol=1e-13, atol=1e-14)


def test_frames_of_other_libraries(whole):
    pytest.importorskip("pandas")
    pytest.importorskip("xarray")
    for case, frame in (("absolute", "lower"), ("adaptive", "lower"), ("fixed", "top")):
        run = whole[case]
        table, data = run.to_pandas(), run.to_xarray()
        assert table.index.name == "t"
        np.testing.assert_array_equal(table.index.to_numpy(), run.t)
        np.testing.assert_array_equal(table[[f"{frame}.{x}" for x in "xyz"]].to_numpy(), run[frame].position)
        np.testing.assert_array_equal(table["kinetic"].to_numpy(), run.energies.kinetic)
        np.testing.assert_array_equal(data["pose"].sel(body=frame).to_numpy(), run[frame].pose)
        np.testing.assert_array_equal(data["twist"].sel(body=frame).to_numpy(), run[frame].twist)
        assert data["work"].dims == ("t",)
        if case != "fixed":
            np.testing.assert_array_equal(table["elbow.q0"].to_numpy(), run.joint("elbow").angle)
            np.testing.assert_array_equal(data["q"].sel(coordinate="elbow.q0").to_numpy(), run.joint("elbow").angle)


def test_libraries_that_are_not_there(whole, monkeypatch):
    for name, convert in (("pandas", whole["fixed"].to_pandas), ("xarray", whole["fixed"].to_xarray)):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=f"to_{name}: {name} is not installed; pip install"):
            convert()


def test_shown(whole):
    text = repr(whole["fixed"])
    assert text.startswith("heavy top: 1 body, 3 velocities, t = 0 to 0.5 s, 501 points")
    assert "<b>heavy top" in whole["fixed"]._repr_html_()
    assert "energy balance" in whole["fixed"].certificate._repr_html_()
    assert "energy balance" in whole["fixed"]._repr_html_()  # now that it was asked for
    assert repr(whole["adaptive"].joint("elbow")).startswith("<motion of revolute joint 'elbow'")
    with pytest.raises(ValueError, match="'shoulder' is a spherical joint, which has no angle"):
        whole["adaptive"].joint("shoulder").angle  # noqa: B018


def test_the_file_says_how_it_came_about(whole, tmp_path):
    file = tmp_path / "run.h5"
    CASES["absolute"](0.01, file=file)
    stored = reader.read(file)
    assert stored.header["command"] == sys.argv
    assert stored.header["versions"]["chasles"] == ch.__version__
    assert stored.header["dynamics"]["kind"] == "bodies"
    assert {name: value for name, value in stored.header["options"].items() if value is not None} == {
        "step": 1e-3,
        "save": 3,
    }
    assert 'name = "elbow"' in stored.model


def test_times_to_save_and_empty_spans(tmp_path):
    file = tmp_path / "run.h5"
    times = np.array([0.011, 0.05, 0.0999])
    for options in ({"step": 1e-3}, {}, {"step": 1e-3, "method": ch.integrate.Gauss(1)}):
        run = ch.simulate(models.arm(), (0, 0.1), v=models.V, save=times, file=file, **options)
        live = ch.simulate(models.arm(), (0, 0.1), v=models.V, save=times, **options)
        same(live, run)
        last = ch.simulate(models.arm(), (0, 0.1), v=models.V, save="final", file=file, **options)
        same(ch.simulate(models.arm(), (0, 0.1), v=models.V, save="final", **options), last)
        with pytest.raises(ValueError, match="cannot be interpolated"):
            last(0.05)
    empty = ch.simulate(models.arm(), (0.3, 0.3), v=models.V, file=file)
    assert len(empty) == 1
    assert ch.open(file).message == "the span is empty"


def test_the_certificate_in_a_file_is_that_of_the_run_as_explained(tmp_path, monkeypatch):
    """A run that ended well but jumped on its way is neither a success nor certified, in memory and in its file."""
    monkeypatch.setattr(
        BodyDynamics, "explained", lambda self, solution: replace(solution, success=False, message="it jumped")
    )
    run = CASES["absolute"](0.05, file=tmp_path / "run.h5")
    for found in (run, ch.open(tmp_path / "run.h5")):
        assert not found.success
        assert not found.certificate.passed


def test_the_certificate_of_a_file_is_bound_to_its_data(tmp_path):
    """As stored, and recomputed; a number, a word of the model or the verdict that is changed is noticed."""
    file = tmp_path / "run.h5"
    run = CASES["fixed"](0.05, file=file)
    live = CASES["fixed"](0.05).certificate
    assert live.origin == ""
    for found, origin in ((run.certificate, ""), (ch.open(file).certificate, "as stored")):
        assert found.origin == origin
        assert found.findings == live.findings
        assert found.status == live.status
        assert ("(as stored)" in str(found)) == bool(origin)
    again = ch.certify(ch.open(file))
    assert (again.origin, again.findings) == ("recomputed", live.findings)

    def change(h5, what):
        if what == "state":
            rows = h5["points"][()]
            rows["state"][7, 0] += 1e-9
            h5["points"][...] = rows
        elif what == "energy":
            rows = h5["energy"][()]
            rows["kinetic"][3] *= 1.5
            h5["energy"][...] = rows
        else:
            text = h5["outcome"][()].decode().rstrip("\0").replace('"tolerance": 0.001', '"tolerance": 0.1')
            h5["outcome"][()] = np.bytes_(text)

    untouched = file.read_bytes()
    for what in ("state", "energy", "verdict"):
        file.write_bytes(untouched)
        with h5py.File(file, "r+") as h5:
            change(h5, what)
        edited = ch.open(file).certificate
        assert edited.status == "not judged", what
        assert "was changed" in edited.reason
