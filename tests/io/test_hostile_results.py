"""Result files made to do harm, disks that are full, two runs with one file: errors that say so, and nothing lost."""

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest

import chasles as ch
from chasles.integrate import stepper as integration
from chasles.io.result import checkpoint, layout, lock, mapped, reader, writer
from tests.io import result_models as models
from tests.io.result_models import CASES, RESUME
from tests.waiting import limited, wait_for

TABLES = ("header", "model", "counts", "checkpoints", "outcome", "start", "events", "energy", "points")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Files of short runs, and the same as if they had been killed."""
    folder = tmp_path_factory.mktemp("sound")
    for case in ("fixed", "adaptive", "implicit", "alpha adaptive", "sampled"):
        CASES[case](0.02, file=folder / f"{case}.h5")
        data = (folder / f"{case}.h5").read_bytes()
        (folder / f"{case} killed.h5").write_bytes(data)
        with h5py.File(folder / f"{case} killed.h5", "r+") as h5:
            h5["counts"][2] = 0
    return folder


def copied(sound, name, tmp_path):
    file = tmp_path / "run.h5"
    file.write_bytes((sound / f"{name}.h5").read_bytes())
    return file


def resized(file, changes, header=None):
    """The file with other sizes, all of its tables made to fit: as somebody would forge it."""
    with h5py.File(file, "r+") as h5:
        text = json.loads(h5["header"][()].decode())
        text["sizes"] |= {name: text["sizes"][name] + more for name, more in changes.items()}
        text |= header or {}
        sizes, rows, events = layout.Sizes(**text["sizes"]), len(h5["points"]), len(h5["events"])
        for name, (dtype, shape) in sizes.tables(rows, events).items():
            old = h5[name][()]
            if h5[name].dtype == dtype and h5[name].shape == shape:
                continue
            new = np.zeros(shape, dtype)
            if dtype.names:
                for field in set(dtype.names) & set(old.dtype.names):
                    if dtype[field].shape:
                        count = min(dtype[field].shape[0], old.dtype[field].shape[0])
                        new[field][:, :count] = old[field][:, :count]
                    else:
                        new[field] = old[field]
            elif shape:
                part = tuple(slice(min(a, b)) for a, b in zip(shape, old.shape, strict=True))
                new[part] = old[part]
            del h5[name]
            h5.create_dataset(name, data=new, dtype=dtype)
        del h5["header"]
        data = json.dumps(text).encode()
        h5.create_dataset("header", data=data, dtype=h5py.string_dtype("utf-8", len(data)))


@pytest.mark.parametrize(
    ("case", "changes", "header"),
    [
        ("fixed", {"point": 5}, None),
        ("fixed", {"point": -1}, None),
        ("fixed", {"algebra": 3}, None),
        ("fixed", {"algebra": -1}, None),
        ("fixed", {"inputs": 2}, None),
        ("fixed", {}, {"control": [0.0] * 500}),
        ("fixed", {}, {"control": [0.0]}),
        ("fixed", {}, {"period": 0.01}),
        ("sampled", {"inputs": 4}, None),
        ("sampled", {"inputs": -2}, None),
        ("sampled", {}, {"period": None}),
        ("sampled", {}, {"period": 1e-300}),
        ("implicit", {"point": 40}, None),
        ("alpha adaptive", {"point": -3}, None),
    ],
)
def test_sizes_that_are_not_those_of_the_model(case, changes, header, sound, tmp_path):
    """The kernels write as much as the model has; a file that promised less room gave a heap overflow."""
    file = copied(sound, f"{case} killed", tmp_path)
    resized(file, {}, None)
    functions = RESUME.get(case, {})
    before = reader.read(file)  # it is the sizes alone that are refused
    assert len(before.points)
    resized(file, changes, header)
    with pytest.raises(ch.errors.ResultFileError):
        ch.resume(file, **functions)
    if header != {"period": 1e-300}:  # which is no obstacle to opening
        with pytest.raises(ch.errors.ResultFileError):
            ch.open(file, laws=functions.get("laws"))


def forged(file, **arrays):
    """A checkpoint that is whole, with other contents."""
    with h5py.File(file, "r+") as h5:
        memory = json.loads(h5["header"][()].decode())["memory"]
        found = checkpoint.newest(h5["checkpoints"][()], memory)
        for name, change in arrays.items():
            change(found.arrays[name])
        slot = checkpoint.packed(checkpoint.Checkpoint(found.sequence + 1, found.note, found.arrays))
        h5["checkpoints"][...] = np.frombuffer(slot, np.uint8)


def put(at, value):
    return lambda array: array.reshape(-1).__setitem__(at, value)


@pytest.mark.parametrize(
    ("case", "arrays"),
    [
        ("implicit", {"pivots": put(3, 10**6)}),
        ("implicit", {"pivots": put(0, -(10**6))}),
        ("implicit", {"counts": put(0, 10**9)}),
        ("implicit", {"counts": put(0, -5)}),
        ("adaptive", {"counts": put(slice(None), 10**7)}),
        ("adaptive", {"state": put(0, 1e9)}),
        ("adaptive", {"state": put(slice(None), np.nan)}),
        ("alpha adaptive", {"clock": put(1, -1e-3)}),
        ("alpha adaptive", {"clock": put(0, -1.0)}),
        ("alpha adaptive", {"clock": put(1, np.inf)}),
    ],
)
def test_checkpoints_whose_numbers_lead_elsewhere(case, arrays, sound, tmp_path):
    """Places in arrays, times and steps of a checkpoint are used by compiled loops, which look at nothing."""
    file = copied(sound, f"{case} killed", tmp_path)
    forged(file, **arrays)
    data = file.read_bytes()
    with pytest.raises(ch.errors.ResultFileError, match=r"cannot be continued: .*checkpoint is damaged"):
        ch.resume(file, **RESUME.get(case, {}))
    assert file.read_bytes() == data  # nothing was written to it
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]


def test_checkpoints_of_users_are_looked_at_too():
    problem = ch.integrate.LieODE(ch.integrate.Space("s3"), lambda t, y, p: np.array([1.0, 0.2, 0.1]))
    stopped = ch.integrate.solve(problem, ch.integrate.Gauss(2), (0, 0.1), [1, 0, 0, 0], step=0.01, progress=False)
    for name, value in (("pivots", 10**6), ("counts", -1), ("counts", 10**6)):
        spoiled = {key: np.array(array) for key, array in stopped.checkpoint.items()}
        spoiled[name][0] = value
        with pytest.raises(ValueError, match="checkpoint is damaged"):
            ch.integrate.solve(
                problem, ch.integrate.Gauss(2), (0, 0.1), [1, 0, 0, 0], step=0.01, resume=spoiled, progress=False
            )


@pytest.mark.parametrize("name", TABLES)
def test_tables_that_are_elsewhere(name, sound, tmp_path):
    """Another file is never looked at, whatever this one says."""
    secret = tmp_path / "secret"
    secret.write_bytes(bytes(range(256)) * 400)
    good = copied(sound, "fixed", tmp_path).read_bytes()

    def soft(h5, shape, dtype):
        h5["other"] = 1
        h5[name] = h5py.SoftLink("/other")

    def external_link(h5, shape, dtype):
        h5[name] = h5py.ExternalLink(str(secret), "/x")

    def external(h5, shape, dtype):
        h5.create_dataset(name, shape or (1,), dtype, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])

    def virtual(h5, shape, dtype):
        plan = h5py.VirtualLayout(shape or (1,), dtype)
        plan[...] = h5py.VirtualSource(str(secret), "x", shape or (1,), dtype)
        h5.create_virtual_dataset(name, plan)

    def packed(h5, shape, dtype):
        h5.create_dataset(name, (10**10, *shape[1:]), dtype, chunks=(1000, *shape[1:]), compression="gzip")

    def missing(h5, shape, dtype):
        pass

    file = tmp_path / "run.h5"
    for change in (soft, external_link, external, virtual, packed, missing):
        file.write_bytes(good)
        with h5py.File(file, "r+") as h5:
            shape, dtype = h5[name].shape, h5[name].dtype
            if not all(shape) and change in (external, virtual):
                continue  # of nothing there is nothing elsewhere
            del h5[name]
            change(h5, shape, dtype)
        with pytest.raises(ch.errors.ResultFileError):
            ch.open(file)
        with pytest.raises(ch.errors.ResultFileError):
            ch.resume(file)


def test_a_changed_byte_of_the_structure_is_noticed(sound, tmp_path):
    """HDF5 keeps sums of its structure in files of version 1.8 and later: no changed byte is believed."""
    good = copied(sound, "fixed", tmp_path).read_bytes()
    assert good[8] >= 2  # version of the superblock
    rng, file, refused = np.random.default_rng(2), tmp_path / "run.h5", 0
    begin = good.index(b"OHDR")
    for _ in range(60):
        data = bytearray(good)
        data[int(rng.integers(begin, begin + 600))] ^= 1 << int(rng.integers(8))
        file.write_bytes(data)
        try:
            ch.open(file)
        except ch.errors.ResultFileError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("small", [True, False])
def test_a_file_that_shrinks_while_it_is_read(small, sound, tmp_path, monkeypatch):
    """The system would end the process at the first number that is no longer there."""
    monkeypatch.setattr(mapped, "SMALL", 1 << 26 if small else 0)
    file = copied(sound, "fixed", tmp_path)
    run = ch.open(file)
    expected, kept = np.array(run.q), run.t
    assert isinstance(run.t, mapped.Mapped) != small
    os.truncate(file, 4096)
    if small:
        np.testing.assert_array_equal(run.q, expected)
        return
    uses = [
        lambda: run.t[-1],
        lambda: run.q[0],
        lambda: run.part(slice(0, 2)),
        lambda: run["top"].pose,
        lambda: run.energies.balance,
        lambda: kept.sum(),
        lambda: kept.tolist(),
        lambda: np.diff(kept),
        lambda: kept + 1,
        lambda: run(0.01),
        lambda: ch.export(run, tmp_path / "run.csv"),
        lambda: str(run),
    ]
    for use in uses:
        with pytest.raises(ch.errors.ResultFileError, match="has become shorter"):
            use()


def test_a_file_that_shrinks_in_the_midst_of_one_access(sound, tmp_path, monkeypatch):
    """Parts of a mapped table are read: with the length looked at before, the pages may be gone a moment later."""
    file = copied(sound, "fixed", tmp_path)
    whole = ch.open(file)
    monkeypatch.setattr(mapped, "SMALL", 0)
    run = ch.open(file)
    monkeypatch.setattr(mapped, "SMALL", 1500)
    monkeypatch.setattr(mapped, "SLAB", 400)  # bytes, so an access takes several reads
    for key in (0, -1, slice(3), slice(9, 2, -2), (slice(2, 9), 1), (-1, slice(None)), (3, 2)):
        np.testing.assert_array_equal(run.solution.y[key], whole.solution.y[key])
        assert not isinstance(run.solution.y[key], mapped.Mapped)
    assert isinstance(run.solution.y[:-1], mapped.Mapped)
    np.testing.assert_array_equal(run.t[::-1] + 0, whole.t[::-1])
    np.testing.assert_array_equal(run.solution.y.T.copy(), whole.solution.y.T)
    monkeypatch.setattr(mapped.MappedFile, "check", lambda source: None)  # it was long enough then
    os.truncate(file, 4096)
    for use in (lambda: run.t[-1], lambda: run.t[:5], lambda: run.t + 1, lambda: run.solution.y.copy()):
        with pytest.raises(ch.errors.ResultFileError, match="has become shorter"):
            use()


# ---------------------------------------------------------------- two runs, one file


def test_a_file_has_one_writer(tmp_path):
    """While a run goes on, another run, `save` and `resume` are refused, and the file is as if they had never come."""
    file, said = tmp_path / "run.h5", []
    other = CASES["fixed"](0.01)

    def meddling(t, q, v):
        if not said and t > 0.1:
            for attempt in (
                lambda: CASES["fixed"](0.01, file=file),
                lambda: other.save(file),
                lambda: ch.resume(file, controller=meddling),
            ):
                with pytest.raises(ch.errors.ResultFileError, match="is being written by another run") as caught:
                    attempt()
                said.append(str(caught.value))
            assert not ch.open(file).success  # to look is allowed
        return models.balance(t, q, v)

    options = {"v": models.V, "step": 1e-3, "period": 0.01, "progress": False}
    run = ch.simulate(models.arm(), (0, 0.2), controller=meddling, file=file, **options)
    assert len(said) == 3
    assert all(f"process {os.getpid()}" in text for text in said)
    np.testing.assert_array_equal(run.solution.y, CASES["sampled"](0.2).solution.y)
    assert [path.name for path in tmp_path.iterdir()] == ["run.h5"]
    CASES["fixed"](0.01, file=file)  # now it may


def test_the_lock_is_of_processes_and_dies_with_them(tmp_path):
    file = tmp_path / "run.h5"
    command = [sys.executable, "-m", "tests.io.result_models", "fixed", "2000", str(file)]
    with limited(subprocess.Popen(command)) as process:
        wait_for(file, process)
        with pytest.raises(ch.errors.ResultFileError, match=f"is being written by another run .process {process.pid}."):
            ch.resume(file)
        with pytest.raises(ch.errors.ResultFileError, match="is being written"):
            CASES["fixed"](0.01, file=file)
        (tmp_path / "link.h5").symlink_to(file)
        with pytest.raises(ch.errors.ResultFileError, match="is being written"):
            ch.resume(tmp_path / "link.h5")
    (tmp_path / f".run.h5.{process.pid}.new").write_bytes(b"half of a file")
    with pytest.raises(ch.errors.ResultFileError, match="holds a run that has not ended"):
        CASES["fixed"](0.01, file=file)
    held = lock.Lock(file)
    held.release()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link.h5", "run.h5"]


def test_a_run_returns_what_it_computed(tmp_path, monkeypatch):
    """Not what has its file's name at the end."""
    file = tmp_path / "run.h5"

    def replacing(t, q, v):
        if 0.1 < t < 0.115:
            file.unlink()
            CASES["fixed"](0.01, file=tmp_path / "other.h5")
            (tmp_path / "other.h5").rename(file)
        return models.balance(t, q, v)

    options = {"v": models.V, "step": 1e-3, "period": 0.01, "progress": False}
    expected = CASES["sampled"](0.2)
    monkeypatch.setattr(writer.ResultWriter, "_resize", keeping(writer.ResultWriter._resize))
    with pytest.warns(RuntimeWarning, match="another program replaced or deleted it"):
        run = ch.simulate(models.arm(), (0, 0.2), controller=replacing, file=file, **options)
    np.testing.assert_array_equal(run.solution.y, expected.solution.y)
    assert str(run.certificate) == str(expected.certificate)


def keeping(resize):
    """A file that is made, and never made larger or smaller: then it would take its name back."""
    return lambda self, rows, events: None if self.descriptor >= 0 else resize(self, rows, events)


def test_locks_where_the_system_has_none(tmp_path, monkeypatch):
    """A file system without locks is no reason not to compute."""

    def none(descriptor, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(lock.fcntl, "flock", none)
    assert CASES["fixed"](0.01, file=tmp_path / "run.h5").success


# ---------------------------------------------------------------- full disks


@pytest.mark.first(1)
@pytest.mark.parametrize("case", ["fixed", "adaptive", "sampled"])
def test_a_full_disk_loses_nothing(case, tmp_path, monkeypatch):
    """Whenever it gets full: a message, a file that opens, and the same bits when there is room again."""
    whole, file, functions = CASES[case](0.1), tmp_path / "run.h5", RESUME.get(case, {})
    monkeypatch.setattr(writer, "EVERY", 0.0)
    monkeypatch.setattr(writer, "FIRST", 1)
    monkeypatch.setattr(integration, "MOST_STEPS", 8)
    put, left = layout.put, [0]

    def full(descriptor, data, at):
        data = memoryview(data).cast("B").tobytes()
        left[0] -= 1
        if left[0] < 0:
            put(descriptor, data[: len(data) // 2], at)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        put(descriptor, data, at)

    monkeypatch.setattr(writer, "put", full)
    monkeypatch.setattr(layout, "put", full)
    seen = 0
    for writes in (0, 3, 6, 9, 11, 14, 17):
        file.unlink(missing_ok=True)
        left[0] = writes
        with pytest.raises(ch.errors.ResultFileError, match="cannot be written: No space left"):
            CASES[case](0.1, file=file)
        assert [path.name for path in tmp_path.iterdir()] in ([], ["run.h5"])
        left[0] = 10**9
        if file.exists():
            seen += 1
            opened = ch.open(file)
            assert np.array_equal(opened.t, whole.t[: len(opened)])
            run = ch.resume(file, **functions)
            np.testing.assert_array_equal(run.solution.y, whole.solution.y)
            assert run.success
    assert seen > 3


LIMITED = """
import resource, runpy, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))
sys.argv = ["chasles", "run", "heavy_top", "--step", "1e-5", "--end", "1", "-o", sys.argv[1]]
runpy.run_module("chasles", run_name="__main__")
"""


def test_the_command_says_that_a_disk_is_full(tmp_path):
    result = subprocess.run(
        [sys.executable, "-c", LIMITED, str(tmp_path / "run.h5")], capture_output=True, text=True, check=False
    )
    assert result.returncode == 4, result.stderr
    assert "Traceback" not in result.stderr
    assert re.search(r"chasles: .*run.h5: cannot be written: ", result.stderr)
    assert Path(tmp_path / "run.h5").exists() is False or ch.open(tmp_path / "run.h5") is not None
