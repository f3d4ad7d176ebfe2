"""Result files that were spoiled, or made by hand to do harm: the same number gives the same file."""

import contextlib
import copy
import json
import random
from pathlib import Path

import h5py
import numpy as np

import chasles as ch
from chasles.io.result import checkpoint, reader

CASES = ("fixed", "adaptive", "absolute", "sampled", "implicit", "alpha adaptive", "closed")
TABLES = ("header", "model", "look", "counts", "checkpoints", "outcome", "start", "events", "energy", "points")
VALUES = (None, True, -1, 0, 1, 2**31, 2**63, 10**30, 1e308, -1.0, "", "x", "\x00", [], {}, [1] * 50, {"a": [1]}, 1e-9)
NUMBERS = (np.nan, np.inf, -np.inf, 1e308, -1.0, 0.0, 1e-310, 2.0**63)


def make(folder: Path) -> None:
    """Sound files: of runs that have ended, and of runs that were stopped on their way."""
    from tests.io import result_models as models

    for case in CASES:
        file = folder / f"{case}.h5"
        models.CASES[case](0.05, file=file)
        stopped = folder / f"{case} stopped.h5"
        stopped.write_bytes(file.read_bytes())
        with h5py.File(stopped, "r+") as h5:
            h5["counts"][2] = 0
            if case != "sampled":
                _restart(h5)


def _restart(h5: h5py.File) -> None:
    """As if the run had been killed half way: a checkpoint of an earlier time."""
    rows = int(h5["counts"][0]) // 2
    h5["counts"][0] = max(rows, 1)
    h5["checkpoints"][...] = 0


def spoil(number: int, sound: Path, file: Path) -> None:
    """Write a spoiled file."""
    rng = random.Random(number)
    stopped = rng.random() < 0.6
    source = sound / f"{rng.choice(CASES)}{' stopped' if stopped else ''}.h5"
    data = bytearray(source.read_bytes())
    kind = rng.randrange(10)
    if kind < 2:
        _flip(rng, data)
        file.write_bytes(data)
        return
    file.write_bytes(data)
    with h5py.File(file, "r+") as h5:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            rng.choice(
                (_text, _text, _text, _table, _table, _numbers, _numbers, _memory, _memory, _counts, _attribute)
            )(rng, h5)
    if kind == 9:
        data = bytearray(file.read_bytes())
        _flip(rng, data)
        file.write_bytes(data)


def _flip(rng: random.Random, data: bytearray) -> None:
    for _ in range(rng.choice((1, 1, 4, 50))):
        at = rng.randrange(min(len(data), rng.choice((512, 5000, len(data)))))
        what = rng.randrange(4)
        if what == 0:
            data[at] ^= 1 << rng.randrange(8)
        elif what == 1:
            data[at] = rng.choice((0, 255, rng.randrange(256)))
        elif what == 2 and rng.random() < 0.3:
            del data[at:]
            data += b"x"
        else:
            data[at : at + 8] = rng.choice((2**63 - 1, 0, 2**32, rng.randrange(2**64))).to_bytes(8, "little")


def _changed(rng: random.Random, found):
    """JSON with one of its values changed."""
    place, key, inner = None, None, found
    while isinstance(inner, dict | list) and inner and (place is None or rng.random() < 0.75):
        place, key = inner, rng.choice(list(inner) if isinstance(inner, dict) else list(range(len(inner))))
        inner = place[key]
    if place is None:
        return rng.choice(VALUES)
    what = rng.randrange(6)
    if what == 0:
        del place[key]
    elif what == 1 and isinstance(inner, int | float) and not isinstance(inner, bool):
        place[key] = rng.choice((inner + 1, inner * 2, -inner, inner / 3, inner * 10**9, inner - 1))
    elif what == 2 and isinstance(place, list):
        place.extend([copy.deepcopy(inner)] * rng.choice((1, 100)))
    elif what == 3 and isinstance(place, dict):
        place[rng.choice(("a", "size", str(key) + "x"))] = inner
    else:
        place[key] = rng.choice((*VALUES, json.loads("[" * 200 + "]" * 200)))
    return found


def _own(h5: h5py.File, name: str) -> h5py.Dataset | None:
    """A table that has not been spoiled beyond recognition yet."""
    hard = isinstance(h5.get(name, getlink=True), h5py.HardLink)
    return h5[name] if hard and isinstance(h5[name], h5py.Dataset) else None


def _put_text(h5: h5py.File, name: str, text: bytes) -> None:
    del h5[name]
    h5.create_dataset(name, data=text, dtype=h5py.string_dtype("utf-8", max(len(text), 1)))


def _text(rng: random.Random, h5: h5py.File) -> None:
    name = rng.choice(("header", "header", "header", "outcome", "model", "look"))
    found = _own(h5, name)
    if found is None or found.dtype.kind != "S" or found.shape != () or found.external or found.is_virtual:
        return
    data = found[()]
    if name == "model" or rng.random() < 0.15 or not data:
        from tests.fuzz import models

        text = data.decode(errors="replace") or "x1"
        try:
            data = models._toml(rng, text).encode() if rng.random() < 0.5 else models._bytes(rng, text)
        except ValueError:  # spoiled before, or no model
            data = models._bytes(rng, text)
    else:
        try:
            data = json.dumps(_changed(rng, json.loads(data.decode()))).encode()
        except ValueError:
            data = b"[" * 100_000
    if name == "outcome":
        h5[name][...] = data[:65536] if data else b"\0"
    else:
        _put_text(h5, name, data)


def _table(rng: random.Random, h5: h5py.File) -> None:
    """A table becomes another kind of thing."""
    name, what = rng.choice(TABLES), rng.randrange(12)
    if _own(h5, name) is None:
        return
    shape, dtype = h5[name].shape, h5[name].dtype
    del h5[name]
    if what == 0:
        return
    if what == 1:
        h5[name] = h5py.SoftLink("/start")
    elif what == 2:
        h5[name] = h5py.ExternalLink("/etc/passwd", "/x")
    elif what == 3:
        h5.create_group(name)
    elif what == 4:
        h5.create_dataset(name, shape or (1,), dtype, external=[("/etc/passwd", 0, h5py.h5f.UNLIMITED)])
    elif what == 5:
        layout = h5py.VirtualLayout(shape or (1,), dtype)
        layout[...] = h5py.VirtualSource("/etc/hostname", "x", shape or (1,), dtype)
        h5.create_virtual_dataset(name, layout)
    elif what == 6:  # much of nothing, in little space
        h5.create_dataset(name, (10**9, *shape[1:]), dtype, chunks=(10**5, *shape[1:]), compression="gzip")
    elif what == 7:
        h5.create_dataset(name, [n + rng.choice((-1, 1, 7)) if n else 3 for n in shape], dtype)
    elif what == 8:
        h5.create_dataset(name, shape, rng.choice(("<f4", ">f8", "<i8", "S8", "<c16")))
    elif what == 9:
        h5.create_dataset(name, (*shape, 1), dtype)
    elif what == 10:
        h5[name] = 1 if _own(h5, "counts") is None else h5["counts"]
    else:
        h5.create_dataset(name, data="text of any length")


def _numbers(rng: random.Random, h5: h5py.File) -> None:
    name = rng.choice(("points", "start", "events", "energy", "points"))
    found = _own(h5, name)
    if found is None or not found.shape or not 0 < found.shape[0] < 10**6 or found.dtype.kind not in "fiV":
        return
    if found.external or found.is_virtual:
        return
    data = found[()]
    for _ in range(rng.choice((1, 1, 20))):
        row = rng.choice((0, len(data) - 1, rng.randrange(len(data))))
        if data.dtype.names:
            field = rng.choice(data.dtype.names)
            values = np.atleast_1d(data[field][row])
            with np.errstate(all="ignore"):
                values[rng.randrange(values.size) if values.size else 0] = (
                    rng.choice(NUMBERS) if data.dtype[field].base.kind == "f" else rng.choice((-1, 10**6))
                )
            data[field][row] = values if data.dtype[field].shape else values[0]
        elif data.dtype.kind == "f":
            data.reshape(-1)[rng.randrange(data.size)] = rng.choice(NUMBERS)
    h5[name][...] = data


def _counts(rng: random.Random, h5: h5py.File) -> None:
    found = _own(h5, "counts")
    if found is not None and found.shape == (3,) and found.dtype.kind == "i" and not found.is_virtual:
        h5["counts"][rng.randrange(3)] = rng.choice((-1, 0, 1, 2, 5, 10**6, 2**62, -(2**63)))


def _attribute(rng: random.Random, h5: h5py.File) -> None:
    name, what = rng.choice(("format", "version")), rng.randrange(4)
    h5.attrs.pop(name, None)
    if what:
        h5.attrs[name] = (None, 2, "chasles run", [1, 1])[what]


def _memory(rng: random.Random, h5: h5py.File) -> None:
    """A checkpoint that is whole, of other contents: sizes, places and numbers as somebody would forge them."""
    try:
        header = json.loads(h5["header"][()].decode())
        slots, memory = h5["checkpoints"][()], header["memory"]
        found = checkpoint.newest(slots, memory)
        arrays = dict(found.arrays) if found else {name: np.zeros(shape, kind) for name, kind, shape in memory}
        header["sizes"]["checkpoint"] = 0
    except (AttributeError, LookupError, MemoryError, TypeError, ValueError, OSError):  # spoiled before
        return
    note = dict(found.note) if found else {"rows": 1, "events": 0, "pieces": 0, "work": {"steps": 1, "seconds": 0.1}}
    for _ in range(rng.choice((1, 1, 3))):
        if arrays and rng.random() < 0.8:
            name = rng.choice(sorted(arrays))
            array = arrays[name] = np.array(arrays[name])
            what = rng.randrange(4)
            if what == 0:
                arrays[name] = np.zeros(rng.choice(([3], [1000], [0], [2, 2], [*array.shape, 1])), array.dtype)
            elif what == 1:
                arrays[name] = np.nan_to_num(array, posinf=0).astype(rng.choice(("<f4", "<i8", "<f8", "<u1")))
            elif array.size:
                large = rng.choice(NUMBERS if array.dtype.kind == "f" else (-1, 10**6, 2**40, -(2**62), 1, 0, 5))
                array.reshape(-1)[rng.randrange(array.size)] = large
        else:
            note[rng.choice(("rows", "events", "pieces", "work"))] = rng.choice((-1, 0, 1, 2, 10**9, "x", None, {}))
    header["memory"] = [list(item) for item in checkpoint.memory_of(arrays)]
    size = checkpoint.slot_size(header["memory"])
    header["sizes"]["checkpoint"] = size
    slot = checkpoint.packed(checkpoint.Checkpoint(7, note, arrays))
    _put_text(h5, "header", json.dumps(header).encode())
    del h5["checkpoints"]
    h5.create_dataset("checkpoints", data=np.stack([np.frombuffer(slot, np.uint8)] * 2))


def use(file: Path, number: int) -> None:
    """Open, plot, show, export, resume."""
    import warnings

    from chasles.view.page import Page
    from chasles.view.preview import glance
    from tests.io import result_models as models

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        glance(file)
        try:
            run = ch.open(file, laws=models.LAWS if number % 2 else None)
        except ch.errors.ResultFileError:
            _resume(file, number)
            return
        uses = [lambda: str(run.certificate), lambda: Page(run), lambda: ch.export(run, file.with_suffix(".csv"))]
        uses.append(lambda: ch.export(run, file.with_suffix(".npz")))
        uses.append(lambda: _resume(file, number))
        if number % 10 == 0:
            uses.append(lambda: run.plot(file=file.with_suffix(".png")))
        for one in uses:
            with contextlib.suppress(ValueError, ArithmeticError):  # numbers that cannot be computed with
                one()


def _resume(file: Path, number: int) -> None:
    from tests.io import result_models as models

    try:
        stored = reader.read(file)
        given = stored.header
    except ch.errors.ResultFileError:
        given = {"laws": [1], "events": [1], "controller": 1}
    with contextlib.suppress(ValueError, ArithmeticError):
        ch.resume(
            file,
            laws=models.LAWS if given["laws"] else None,
            events=models.EVENTS if given["events"] else None,
            controller=models.balance if given["controller"] else None,
            progress=False,
        )
