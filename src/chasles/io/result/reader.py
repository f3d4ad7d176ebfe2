"""Opening a result file: what is in it is checked, mapped to memory, and becomes a run like any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from chasles.integrate.event import Event, Occurrence
from chasles.integrate.solution import Solution
from chasles.io.result.checkpoint import Checkpoint, newest
from chasles.io.result.header import task_of
from chasles.io.result.layout import FORMAT, VERSION, ResultFileError, Sizes
from chasles.io.result.seal import opened
from chasles.simulation.body_run import BodyRun
from chasles.simulation.run import Run
from chasles.simulation.task import Task

WORK = ("steps", "rejections", "evaluations", "exponentials", "commutators", "seconds")


@dataclass(frozen=True)
class Stored:
    """The checked contents of a result file; tables are mapped to memory where they are large."""

    file: Path
    header: dict[str, Any]
    model: str
    sizes: Sizes
    room: tuple[int, int]  # for rows and events
    offsets: dict[str, int]
    start: np.ndarray
    points: np.ndarray
    energy: np.ndarray
    events: np.ndarray
    checkpoint: Checkpoint | None
    outcome: dict[str, Any] | None  # None while the run goes on, or if it was killed


def open(file: str | Path, *, laws: Mapping[str, Any] | None = None) -> Run | BodyRun:
    """The run in a result file. Numbers are read when they are asked for, so it may be larger than memory.

    `laws` are the user's functions that the model names, for what has to be computed with them. Nothing in a file is
    executed. A run that was killed, or still goes on, is opened as far as it came.
    """
    stored = read(Path(file))
    return run_of(stored, task_for(stored, laws))


def task_for(
    stored: Stored,
    laws: Mapping[str, Any] | None = None,
    events: Sequence[Event] | None = None,
    controller: Callable | None = None,
    needed: bool = False,
) -> Task:
    """What was simulated; see `header.task_of`."""
    return task_of(stored.file, stored.header, stored.model, stored.start, laws, events, controller, needed)


def run_of(stored: Stored, task: Task) -> Run | BodyRun:
    """The run of a file and its task."""
    with _damage(stored.file):
        return _run_of(stored, task)


def _run_of(stored: Stored, task: Task) -> Run | BodyRun:
    file, points, ended = stored.file, stored.points, stored.outcome
    curve = not stored.header["no_curve"]
    note = stored.checkpoint.note if stored.checkpoint else {}
    last = f"t = {points['t'][-1]:.8g}" if len(points) else "its start"
    outcome = ended or {
        "success": False,
        "message": f'not ended: killed after {last}, or still going on; resume("{file.name}") continues it',
        **note.get("work", {}),
    }
    watched = task.more["events"]
    solution = Solution(
        task.dynamics.space,
        task.method,
        points["t"],
        points["state"],
        outcome["success"],
        outcome["message"],
        **{name: outcome.get(name, 0) for name in WORK},
        events=[Occurrence(watched[e["event"]], float(e["t"]), np.array(e["state"])) for e in stored.events],
        checkpoint=stored.checkpoint.arrays if stored.checkpoint else {},
        slopes=points["rate"] if curve else None,
        moves=points["move"] if curve else None,
        no_curve=stored.header["no_curve"],
    )
    controls = None
    if stored.sizes.inputs:
        controls = points["input"]
    elif task.u is not None:
        controls = np.broadcast_to(task.u, (len(points), len(task.u)))
    known = stored.energy if outcome.get("energy") else None
    found = outcome.get("certificate")
    kept = partial(opened, stored) if found and "digest" in found else None  # earlier versions judged less
    return task.make(task.dynamics, solution, task.options, controls, known, task, kept)


# ---------------------------------------------------------------- reading and checking


def read(file: Path) -> Stored:
    """Read a result file; ResultFileError if it is none, or damaged."""
    if not file.is_file():
        raise ResultFileError(file, "there is no such file")
    with _damage(file), h5py.File(file, "r", locking=False) as h5:
        form, version = h5.attrs.get("format"), h5.attrs.get("version")
        if form != np.bytes_(FORMAT):
            raise ResultFileError(file, "is an HDF5 file, but not the result of a run")
        if version != VERSION:
            raise ResultFileError(file, f"has version {version} of the format; this chasles reads {VERSION}")
        return _checked(file, h5)


@contextmanager
def _damage(file: Path) -> Iterator[None]:
    """What fails while a file is read is its fault, and says so."""
    try:
        yield
    except ResultFileError:
        raise
    except OSError as error:
        raise ResultFileError(file, f"is not a result file, or damaged: {error}") from None
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError, OverflowError) as error:
        raise ResultFileError(file, f"is damaged: {type(error).__name__}: {error}") from error


def _checked(file: Path, h5: h5py.File) -> Stored:
    header, model = json.loads(_text(file, h5, "header")), _text(file, h5, "model")
    sizes = Sizes(*(int(header["sizes"][name]) for name in ("point", "algebra", "inputs", "checkpoint")))
    room = tuple(_dataset(file, h5, name).shape[0] for name in ("points", "events"))
    offsets: dict[str, int] = {}
    for name, (dtype, shape) in sizes.tables(*room).items():
        dataset = _dataset(file, h5, name)
        if dataset.dtype != dtype or dataset.shape != shape:
            expected = f"{shape} of {dtype}"
            raise ResultFileError(file, f"{name} is {dataset.shape} of {dataset.dtype}; expected {expected}")
        offsets[name] = dataset.id.get_offset() or 0
    rows, events, ended = (int(x) for x in h5["counts"][()])
    if not (0 <= rows <= room[0] and 0 <= events <= room[1] and ended in (0, 1)):
        raise ResultFileError(file, f"is damaged: {rows} rows and {events} events in tables of {room}")
    happened = h5["events"][:events]
    if ((happened["event"] < 0) | (happened["event"] >= len(header["events"]))).any():
        raise ResultFileError(file, "is damaged: an event has a number that there is not")
    outcome = json.loads(h5["outcome"][()].decode()) if ended else None
    memory = [(str(name), str(np.dtype(kind).str), list(shape)) for name, kind, shape in header["memory"]]
    if any(np.dtype(kind).kind not in "fiu" for _, kind, _ in memory):
        raise ResultFileError(file, "is damaged: a checkpoint holds something other than numbers")
    return Stored(
        *(file, header, model, sizes, (room[0], room[1]), offsets, h5["start"][()]),
        points=_mapped(file, h5["points"], rows),
        energy=_mapped(file, h5["energy"], rows if outcome and outcome.get("energy") else 0),
        events=happened,
        checkpoint=newest(h5["checkpoints"][()], memory),
        outcome=outcome,
    )


def _dataset(file: Path, h5: h5py.File, name: str) -> h5py.Dataset:
    if not isinstance(h5.get(name, getlink=True), h5py.HardLink) or not isinstance(h5[name], h5py.Dataset):
        raise ResultFileError(file, f"is damaged: it has no table {name!r}")
    return h5[name]


def _text(file: Path, h5: h5py.File, name: str) -> str:
    dataset = _dataset(file, h5, name)
    if dataset.dtype.kind != "S" or dataset.shape != ():
        raise ResultFileError(file, f"is damaged: {name} is no text")
    return dataset[()].decode()


def _mapped(file: Path, dataset: h5py.Dataset, rows: int) -> np.ndarray:
    """The first rows of a table, read when they are used; at once if another program stored them in pieces."""
    offset = dataset.id.get_offset()
    if not rows or offset is None or dataset.external:
        return dataset[:rows]
    if offset + rows * dataset.dtype.itemsize > file.stat().st_size:
        raise ResultFileError(file, f"is damaged: it ends before the {rows} rows of {dataset.name}")
    return np.asarray(np.memmap(file, dataset.dtype, "r", offset, (rows,)))
