"""Opening a result file: what is in it is checked, mapped to memory, and becomes a run like any other."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import h5py
import numpy as np

from chasles.certificate.verdict import Certificate
from chasles.integrate.event import Event, Occurrence
from chasles.integrate.solution import COUNTED_WORK, Solution
from chasles.io.result.acted import Acted, MissingLaw
from chasles.io.result.checkpoint import Checkpoint, newest, slot_size
from chasles.io.result.expected import check_header, check_note, check_outcome
from chasles.io.result.header import check_fit, task_of
from chasles.io.result.layout import FORMAT, VERSION, WHOLE, ResultFileError, Sizes, table, text
from chasles.io.result.mapped import rows_of
from chasles.io.result.seal import opened
from chasles.simulation.laws.samples import items_with_laws
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task

LOOKS = 1 << 16  # saved times that are looked at when a file is opened


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
    laws: np.ndarray  # what the user's laws gave at the points
    contiguous: bool = True  # as chasles writes tables, so that it can go on with them


def open(file: str | Path, *, laws: Mapping[str, Any] | None = None) -> Run:
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
    controller: Callable[..., Any] | None = None,
    needed: bool = False,
) -> Task:
    """What was simulated; see `header.task_of`."""
    with damage(stored.file):
        task = task_of(stored.file, stored.header, stored.model, stored.start, laws, events, controller, needed)
        check_fit(stored.file, stored.header, stored.sizes, task)
    return task


def run_of(stored: Stored, task: Task) -> Run:
    """The run of a file and its task."""
    with damage(stored.file):
        return _run_of(stored, task)


def _run_of(stored: Stored, task: Task) -> Run:
    file, points, ended = stored.file, stored.points, stored.outcome
    curve = not stored.header["no_curve"]
    note = stored.checkpoint.note if stored.checkpoint else {}
    last = f"t = {points['t'][-1]:.8g}" if len(points) else "its start"
    outcome = ended or {
        "success": False,
        "message": f'not ended: killed after {last}, or still going on; resume("{file.name}") continues it',
        **note.get("work", {}),
    }
    watched = task.watched
    solution = Solution(
        task.dynamics.space,
        task.method,
        points["t"],
        points["state"],
        outcome["success"],
        outcome["message"],
        **{name: outcome.get(name, 0) for name in COUNTED_WORK},
        events=[Occurrence(watched[e["event"]], float(e["t"]), np.array(e["state"])) for e in stored.events],
        checkpoint=stored.checkpoint.arrays if stored.checkpoint else {},
        slopes=points["rate"] if curve else None,
        moves=points["move"] if curve else None,
        no_curve=stored.header["no_curve"],
    )
    given = points["input"] if stored.sizes.inputs else task.constant(len(points))
    known = stored.energy if outcome.get("energy") else None
    found = outcome.get("certificate")
    if len(stored.laws):
        acted = Acted(task.dynamics, points["t"], points["state"], stored.laws["given"])
        for _, law in items_with_laws(task.dynamics.mechanism.system):
            if isinstance(law.function, MissingLaw):
                law.function.acted = acted
    kept = partial(_certificate, stored) if found and "digest" in found else None  # earlier versions judged less
    return Run(task.dynamics, solution, given, stored=known, task=task, kept=kept)


def _certificate(stored: Stored) -> Certificate:
    with damage(stored.file):
        return opened(stored)


# ---------------------------------------------------------------- reading and checking


def read(file: Path) -> Stored:
    """Read a result file; ResultFileError if it is none, or damaged."""
    if file.is_dir():
        raise ResultFileError(file, "is a folder; expected a result file in it (.h5)")
    if not file.is_file():
        raise ResultFileError(file, "there is no such file")
    with damage(file), h5py.File(file, "r", locking=False) as h5, file.open("rb") as stream:
        form, version = h5.attrs.get("format"), h5.attrs.get("version")
        if not isinstance(form, bytes) or form != FORMAT.encode():
            raise ResultFileError(file, "is an HDF5 file, but not the result of a run")
        if not isinstance(version, np.integer | int) or version != VERSION:
            raise ResultFileError(file, f"has version {version} of the format; this chasles reads {VERSION}")
        return _checked(file, h5, stream)


@contextmanager
def damage(file: Path) -> Iterator[None]:
    """What fails while a file is read is its fault, and says so."""
    try:
        yield
    except ResultFileError:
        raise
    except OSError as error:
        raise ResultFileError(file, f"is not a result file, or damaged: {error}") from None
    except MemoryError as error:
        raise ResultFileError(file, f"does not fit into memory, or is damaged: {error}") from None
    except (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ResultFileError(file, f"is damaged: {type(error).__name__}: {error}") from error


def _checked(file: Path, h5: h5py.File, stream: BinaryIO) -> Stored:
    header, model = check_header(json.loads(text(file, h5, "header"))), text(file, h5, "model")
    given = {"laws": 0, **header["sizes"]}  # files of earlier versions do not have what laws gave
    sizes = Sizes(*(_whole(given[field.name]) for field in fields(Sizes)))
    room = tuple(table(file, h5, name).shape[0] for name in ("points", "events"))
    tables = {name: table(file, h5, name) for name in sizes.tables(0, 0)}
    for name, (dtype, shape) in sizes.tables(*room).items():
        if tables[name].dtype != dtype or tables[name].shape != shape:
            found, expected = f"{tables[name].shape} of {tables[name].dtype}", f"{shape} of {dtype}"
            raise ResultFileError(file, f"{name} is {found:.400}; expected {expected:.400}")
    rows, events, ended = (int(x) for x in h5["counts"][()])
    if not (0 <= rows <= room[0] and 0 <= events <= room[1] and ended in (0, 1)):
        raise ResultFileError(file, f"is damaged: {rows} rows and {events} events in tables of {room}")
    if max(sizes.checkpoint, events * tables["events"].dtype.itemsize) > WHOLE:
        raise ResultFileError(file, f"its checkpoint or its {events} events have more than {WHOLE} bytes")
    happened = _rows(file, stream, tables["events"], events)
    if ((happened["event"] < 0) | (happened["event"] >= len(header["events"]) + len(header.get("strikes", ())))).any():
        raise ResultFileError(file, "is damaged: an event has a number that there is not")
    outcome = check_outcome(json.loads(h5["outcome"][()].decode())) if ended else None
    done = rows if outcome and outcome["energy"] else 0
    points = _rows(file, stream, tables["points"], rows)
    _check_times(file, points, header["span"])
    memory = [(str(name), np.dtype(kind).str, [_whole(n) for n in shape]) for name, kind, shape in header["memory"]]
    if any(np.dtype(kind).kind not in "fiu" for _, kind, _ in memory) or slot_size(memory) != sizes.checkpoint:
        raise ResultFileError(file, "is damaged: a checkpoint holds other things than numbers, or more than its room")
    checkpoint = newest(h5["checkpoints"][()], memory)
    if checkpoint is not None:
        check_note(checkpoint.note, *room)
    return Stored(
        *(file, header, model, sizes, (room[0], room[1])),
        offsets={name: dataset.id.get_offset() or 0 for name, dataset in tables.items()},
        start=h5["start"][()],
        points=points,
        energy=_rows(file, stream, tables["energy"], done),
        events=happened,
        checkpoint=checkpoint,
        outcome=outcome,
        laws=_rows(file, stream, tables["laws"], rows) if sizes.laws else np.empty(0),
        contiguous=all(dataset.chunks is None for dataset in tables.values()),
    )


def _whole(value: Any) -> int:
    """A number of things."""
    if type(value) is not int or not 0 <= value <= WHOLE:
        raise ValueError(f"a size is {value!r}")
    return value


def _rows(file: Path, stream: BinaryIO, dataset: h5py.Dataset, rows: int) -> np.ndarray:
    """The first rows of a table; read at once if another program stored them in pieces."""
    offset = dataset.id.get_offset()
    return dataset[:rows] if not rows or offset is None else rows_of(file, stream, dataset.dtype, offset, rows)


def _check_times(file: Path, points: np.ndarray, span: tuple[float, float]) -> None:
    """Saved times follow each other in the span; of a large file some are looked at."""
    some = points["t"] if len(points) <= LOOKS else points["t"][np.linspace(0, len(points) - 1, LOOKS).astype(np.int64)]
    start, end = span
    passed = (np.array(some) - start) * (1.0 if end >= start else -1.0)
    if not ((passed >= 0) & (passed <= abs(end - start))).all() or (np.diff(passed) < 0).any():
        raise ResultFileError(file, f"is damaged: its times do not follow each other from {start:g} to {end:g} s")
