"""How a result file is laid out, and how numbers get into it without HDF5.

HDF5 changes its metadata in steps, and a process killed between two of them leaves a file that does not open. So the
file is complete from its first moment: all tables are there with room for what will come, stored contiguously, and a
running simulation only puts bytes into them, and then the number of rows that count. A file that becomes too small is
copied to a larger one, which takes its name when it is complete.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np

FORMAT, VERSION = "chasles run", 1
COUNTS = ("rows", "events", "ended")  # the table `counts`
OUTCOME = 1 << 16  # bytes for how the run ended, with its certificate
ALIGNED = 4096  # bytes: tables can be mapped to memory
PIECE = 1 << 26  # bytes that are copied at once
Table = tuple[np.dtype, tuple[int, ...]]


class ResultFileError(ValueError):
    """What is wrong with a result file."""

    def __init__(self, file: str | Path, message: str):
        self.file = str(file)
        super().__init__(f"{file}: {message}")


@dataclass(frozen=True)
class Sizes:
    """Numbers in a point, in a vector of the algebra, in an input, and bytes of a checkpoint."""

    point: int
    algebra: int
    inputs: int
    checkpoint: int

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
            "counts": (np.dtype("<i8"), (len(COUNTS),)),
            "checkpoints": (np.dtype("u1"), (2, self.checkpoint)),
            "outcome": (np.dtype(f"S{OUTCOME}"), ()),
            "start": (np.dtype("<f8"), (self.point,)),
            "events": (happened, (events,)),
            "energy": (energy, (rows,)),
            "points": (self.row, (rows,)),
        }


def lay_out(file: Path, texts: Mapping[str, str], tables: Mapping[str, Table]) -> dict[str, int]:
    """Make a file with texts and empty tables; where the tables are in it."""
    plan = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    plan.set_layout(h5py.h5d.CONTIGUOUS)
    plan.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plan.set_fill_time(h5py.h5d.FILL_TIME_NEVER)  # room that was never written takes no space on the disk
    with h5py.File(file, "w", alignment_threshold=256, alignment_interval=ALIGNED) as h5:
        h5.attrs["format"], h5.attrs["version"] = np.bytes_(FORMAT), VERSION
        for name, text in texts.items():
            data = text.encode()
            h5.create_dataset(name, data=data, dtype=h5py.string_dtype("utf-8", max(len(data), 1)))
        offsets = {}
        for name, (dtype, shape) in tables.items():
            space = h5py.h5s.create_simple(shape) if shape else h5py.h5s.create(h5py.h5s.SCALAR)
            made = h5py.h5d.create(h5.id, name.encode(), h5py.h5t.py_create(dtype, logical=True), space, plan)
            offsets[name] = made.get_offset() or 0
    return offsets


@contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A name to write under; the file takes its place when the block is done."""
    new = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        yield new
        with new.open("rb") as done:
            os.fsync(done.fileno())
        new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def put(descriptor: int, data: Any, at: int) -> None:
    """Write all bytes of an array or of bytes."""
    rest = memoryview(data).cast("B") if not isinstance(data, bytes) else memoryview(data)
    while rest:
        done = os.pwrite(descriptor, rest, at)
        rest, at = rest[done:], at + done


def copy(source: int, begin: int, target: int, at: int, size: int) -> None:
    """Copy bytes from file to file."""
    while size > 0:
        data = os.pread(source, min(size, PIECE), begin)
        if not data:
            return  # room at the end that was never written
        put(target, data, at)
        begin, at, size = begin + len(data), at + len(data), size - len(data)
