"""How a result file is laid out, and how numbers get into it without HDF5.

HDF5 changes its metadata in steps, and a process killed between two of them leaves a file that does not open. So the
file is complete from its first moment: all tables are there with room for what will come, stored contiguously, and a
running simulation only puts bytes into them, and then the number of rows that count. A file that becomes too small is
copied to a larger one, which takes its name when it is complete.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from chasles.kernel.pickled import PickledWhole

FORMAT, VERSION = "chasles run", 1
FILE_COUNTS = ("rows", "events", "ended")  # the table `counts`
OUTCOME = 1 << 16  # bytes for how the run ended, with its certificate
ALIGNED = 4096  # bytes: tables can be mapped to memory
PIECE = 1 << 26  # bytes that are copied at once
TEXT = 1 << 24  # bytes of a text, at most
WHOLE = 1 << 27  # bytes of what is read at once rather than mapped, at most: a checkpoint, events, packed tables
Table = tuple[np.dtype, tuple[int, ...]]


class ResultFileError(PickledWhole, ValueError):
    """A result file is damaged, or cannot be read or written."""

    def __init__(self, file: str | Path, message: str):
        self.file = str(file)
        super().__init__(f"{file}: {message}")


class NotWrittenError(ResultFileError):
    """A result file that could not be written, or not to its end: no space, no permission, a disk that is gone."""

    def __init__(self, file: str | Path, error: OSError, then: str = ""):
        self.errno = error.errno
        super().__init__(file, f"cannot be written: {error.strerror or error}{then}")


@dataclass(frozen=True)
class Sizes:
    """Numbers in a point, in a vector of the algebra, in an input, bytes of a checkpoint, and numbers that the user's
    laws give at a point."""

    point: int
    algebra: int
    inputs: int
    checkpoint: int
    laws: int = 0

    @property
    def row(self) -> np.dtype:
        """A saved point: time, state, its rate, the move from the point before, and the input held there."""
        parts = {"state": self.point, "rate": self.algebra, "move": self.algebra, "input": self.inputs}
        return np.dtype([("t", "<f8"), *((name, "<f8", (size,)) for name, size in parts.items() if size)])

    def tables(self, rows: int, events: int) -> dict[str, Table]:
        """All tables, with room for so many rows and events; the largest is the last."""
        happened = np.dtype([("event", "<i8"), ("t", "<f8"), ("state", "<f8", (self.point,))])
        energy = np.dtype([(name, "<f8") for name in ("kinetic", "gravity", "springs", "work")])
        return {
            "counts": (np.dtype("<i8"), (len(FILE_COUNTS),)),
            "checkpoints": (np.dtype("u1"), (2, self.checkpoint)),
            "outcome": (np.dtype(f"S{OUTCOME}"), ()),
            "start": (np.dtype("<f8"), (self.point,)),
            "events": (happened, (events,)),
            "energy": (energy, (rows,)),
            **({"laws": (np.dtype([("given", "<f8", (self.laws,))]), (rows,))} if self.laws else {}),
            "points": (self.row, (rows,)),
        }


def lay_out(file: Path, texts: Mapping[str, str], tables: Mapping[str, Table]) -> dict[str, int]:
    """Make a file with texts and empty tables; where the tables are in it."""
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_layout(h5py.h5d.CONTIGUOUS)
    plan.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plan.set_fill_time(h5py.h5d.FILL_TIME_NEVER)  # room that was never written takes no space on the disk
    # version 1.8 and later keep a sum with every piece of structure, so a changed byte is noticed before it is believed
    version = {"libver": ("v108", "v108")}
    with h5py.File(file, "w", alignment_threshold=256, alignment_interval=ALIGNED, **version) as h5:
        h5.attrs["format"], h5.attrs["version"] = np.bytes_(FORMAT), VERSION
        for name, text in texts.items():
            data = text.encode()
            if len(data) > TEXT:
                raise ResultFileError(file, f"its {name} would have {len(data)} bytes; a file has room for {TEXT}")
            h5.create_dataset(name, data=data, dtype=h5py.string_dtype("utf-8", max(len(data), 1)))
        offsets = {}
        for name, (dtype, shape) in tables.items():
            space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
            made = h5py.h5d.create(h5.id, name.encode(), h5py.h5t.py_create(dtype, logical=True), space, plan)
            offsets[name] = made.get_offset() or 0
    return offsets


def table(file: str | Path, h5: h5py.File, name: str) -> h5py.Dataset:
    """A table of a file: its own, none that points to another place or file, and no larger than what is there."""
    found = h5[name] if isinstance(h5.get(name, getlink=True), h5py.HardLink) else None
    if not isinstance(found, h5py.Dataset):
        raise ResultFileError(file, f"is damaged: it has no table {name!r}")
    if found.external or found.is_virtual:
        raise ResultFileError(file, f"{name} is kept in another file, which is not looked at")
    if found.shape is None or found.dtype.hasobject:
        raise ResultFileError(file, f"is damaged: {name} is neither a text nor a table of numbers")
    size, offset = found.dtype.itemsize * math.prod(found.shape), found.id.get_offset()
    if offset is not None and offset + size > Path(file).stat().st_size:
        raise ResultFileError(file, f"is damaged: it ends before {name} does, which has {size} bytes")
    if offset is None and size > WHOLE:
        raise ResultFileError(
            file, f"{name} has {size} bytes, packed; at most {WHOLE} are read: unpack the file, h5repack -l CONTI"
        )
    return found


def text(file: str | Path, h5: h5py.File, name: str) -> str:
    """A text of a file."""
    found = table(file, h5, name)
    if found.dtype.kind != "S" or found.shape != () or found.dtype.itemsize > TEXT:
        raise ResultFileError(file, f"is damaged: {name} is not a text, or has more than {TEXT} bytes")
    return str(found[()].decode())


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A name to write under; the file takes its place when the block is done."""
    new = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        yield new
        with new.open("r+b") as done:
            os.fsync(done.fileno())
        try:
            new.replace(file)
        except PermissionError as error:  # Windows, if it is open or mapped somewhere
            raise ResultFileError(file, f"cannot be replaced while it is in use ({error.strerror})") from None
    finally:
        new.unlink(missing_ok=True)


def open_file(file: Path) -> int:
    """A descriptor to read and write."""
    return os.open(file, os.O_RDWR | getattr(os, "O_BINARY", 0))  # without, Windows would change line ends


def keep(descriptor: int) -> None:
    """Tell the disk to keep what was written."""
    getattr(os, "fdatasync", os.fsync)(descriptor)  # Windows and macOS have but the stronger one


def put(descriptor: int, data: Any, at: int) -> None:
    """Write all bytes of an array or of bytes."""
    rest = memoryview(data).cast("B") if not isinstance(data, bytes) else memoryview(data)
    while rest:
        done = _write_at(descriptor, rest, at)
        rest, at = rest[done:], at + done


def copy(source: int, begin: int, target: int, at: int, size: int) -> None:
    """Copy bytes from file to file."""
    while size > 0:
        data = read_at(source, min(size, PIECE), begin)
        if not data:
            return  # room at the end that was never written
        put(target, data, at)
        begin, at, size = begin + len(data), at + len(data), size - len(data)


_PLACE = threading.Lock()  # a descriptor has one place to read and write at


def _write_at(descriptor: int, data: memoryview, at: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(descriptor, data, at)
    with _PLACE:  # Windows
        os.lseek(descriptor, at, os.SEEK_SET)
        return os.write(descriptor, data)


def read_at(descriptor: int, size: int, at: int) -> bytes:
    if hasattr(os, "pread"):
        return os.pread(descriptor, size, at)
    with _PLACE:
        os.lseek(descriptor, at, os.SEEK_SET)
        return os.read(descriptor, size)
