"""Writing a result file while a run goes on; killed at any moment, it leaves a file that opens."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from chasles import caution
from chasles.certificate.verdict import Certificate
from chasles.display.progress import Progress
from chasles.integrate.fixed_step import schedule
from chasles.integrate.options import saving
from chasles.integrate.solution import COUNTED_WORK, Cause, Solution
from chasles.integrate.stepper import Stepper
from chasles.io.result.acted import numbers_of_laws, values_of_laws
from chasles.io.result.checkpoint import Checkpoint, memory_of, packed, slot_size
from chasles.io.result.header import describe
from chasles.io.result.layout import (
    FILE_COUNTS,
    OUTCOME,
    WHOLE,
    NotWrittenError,
    ResultFileError,
    Sizes,
    copy,
    keep,
    lay_out,
    open_file,
    put,
    replacing,
)
from chasles.io.result.lock import Lock
from chasles.io.result.mapped import rows_of
from chasles.io.result.reader import Stored, read, run_of
from chasles.io.result.seal import sealed
from chasles.registry import service
from chasles.simulation.run_task import Task
from chasles.simulation.runaway import explained, usable
from chasles.simulation.sampled_run import JUMPS

EVERY = 0.25  # seconds between checkpoints
SAFE = 30.0  # seconds after which the disk is told to keep what it has
FIRST = 1 << 26  # bytes of room at first, where the number of rows is not known before
ENDINGS = (".h5", ".hdf5")
EVENTS = 64  # room for events at first


def _just_made(certificate: Certificate) -> Certificate:
    return certificate


class ResultWriter:
    """A `Recorder` of `simulate`, see `Task`."""

    def __init__(self, file: Path, task: Task, header: dict[str, Any], model: str, lock: Lock | None = None):
        self.file, self.task, self.header, self.model, self.lock = file, task, header, model, lock
        self.descriptor = -1
        self.begun = self.resumable = False  # a run takes steps; it can be continued
        self.checkpoint: Checkpoint | None = None
        self.sizes = Sizes(0, 0, 0, 0)
        self.rows_done = self.events_done = self.seen = self.sequence = self.pieces = 0
        self.room = (0, 0)
        self.offsets: dict[str, int] = {}
        self.saved = self.synced = self.began = time.perf_counter()
        self.work: dict[str, float] = dict.fromkeys(COUNTED_WORK, 0)  # of the pieces before
        self.stopped = ""
        self.look: str | None = None  # for the 3D page
        self.name = file.name

    @classmethod
    def start(cls, file: Path, task: Task) -> ResultWriter:
        """A new file. One that is there is replaced if it is the result of a run that has ended."""
        if file.suffix.lower() not in ENDINGS:
            raise ResultFileError(file, f"is to hold a run; expected a name that ends in {' or '.join(ENDINGS)}")
        file = file.resolve()  # a link stays one
        lock = Lock(file)
        if file.exists() and read(file).outcome is None:
            raise ResultFileError(
                file, f"holds a run that has not ended; continue it with resume({file.name!r}), or delete the file"
            )
        return cls(file, task, *describe(task), lock)

    @classmethod
    def again(cls, stored: Stored, task: Task, lock: Lock) -> ResultWriter:
        """The file of a run that is continued from its checkpoint."""
        writer = cls(stored.file, task, stored.header, stored.model, lock)
        writer.sizes, writer.room, writer.offsets = stored.sizes, stored.room, stored.offsets
        writer.resumable, writer.checkpoint = bool(stored.header["memory"]), stored.checkpoint
        try:
            writer.descriptor = open_file(stored.file)
        except OSError as error:
            raise NotWrittenError(stored.file, error) from None
        if stored.checkpoint:
            note = stored.checkpoint.note
            writer.rows_done, writer.events_done = note["rows"], note["events"]
            writer.sequence, writer.pieces = stored.checkpoint.sequence, note["pieces"]
            before = note["work"]
            writer.work |= before if task.controller is not None else {"seconds": before["seconds"]}
        return writer

    # ------------------------------------------------------------ what a run calls

    def begin(self, stepper: Stepper) -> None:
        if self.descriptor < 0:
            self.make(*stepper.row_sizes, 0, stepper.checkpoint(), stepper.no_curve())
        self._begin()
        stepper.hand_over()
        self.passed(stepper, last=True)

    def _begin(self) -> None:
        """From here on the file changes. That of a run that is continued goes back to its checkpoint."""
        self.begun = True
        for name, value in {"ended": 0, "rows": self.rows_done, "events": self.events_done}.items():
            self._count(name, value)

    def rows(self, rows: np.ndarray) -> None:
        if self.rows_done + len(rows) > self.room[0]:
            self._resize(max(self._expected(), 2 * (self.rows_done + len(rows))), self.room[1])
        data = np.ascontiguousarray(rows, dtype="<f8")
        self._put("points", data, self.rows_done * self.sizes.row.itemsize)
        if self.sizes.laws:
            states = data[:, 1 : 1 + self.sizes.point]
            gave = values_of_laws(self.task.dynamics, data[:, 0], states, self.sizes.laws)
            self._put("laws", gave, self.rows_done * 8 * self.sizes.laws)
        self.rows_done += len(rows)
        self._count("rows", self.rows_done)

    def passed(self, stepper: Stepper, last: bool) -> None:
        self.happened(stepper.occurrences[self.seen :])
        self.seen = len(stepper.occurrences)
        now = time.perf_counter()
        over = bool(stepper.occurrences) and stepper.occurrences[-1].event.terminal  # nothing to go on from
        if over or (not last and now - self.saved < EVERY):
            return
        if self.resumable:
            work = {"steps": stepper.steps, "seconds": self.work["seconds"] + now - stepper.began}
            self.mark(work, stepper.checkpoint())
        if now - self.synced > SAFE:
            keep(self.descriptor)
            self.synced = time.perf_counter()

    def piece(self, solution: Solution, given: np.ndarray) -> None:
        if self.descriptor < 0:
            self.make(solution.y.shape[1], 0, len(given), {}, JUMPS)
        if not self.begun:
            self._begin()
        new = slice(1 if self.rows_done else 0, None)
        t, y = solution.t[new, None], solution.y[new]
        self.happened(solution.events)
        self.rows(np.concatenate([t, y, np.broadcast_to(given, (len(t), len(given)))], axis=1))
        self.pieces += 1
        for name in COUNTED_WORK:
            self.work[name] += getattr(solution, name)
        if solution.success and solution.t[-1] == self.task.edges()[self.pieces]:  # else it is done again
            self.mark(self.work, {})

    def stretch(self, rows: np.ndarray, events: list[Any], memory: dict[str, np.ndarray], why: str, last: bool) -> None:
        if self.descriptor < 0:
            self.make(rows.shape[1] - 1, 0, 0, memory, why)
        if not self.begun:
            self._begin()
            self.began = time.perf_counter()
        self.happened(events)
        if len(rows):
            self.rows(rows)
        if not last:  # else there is nothing to go on from
            seconds = self.work["seconds"] + time.perf_counter() - self.began
            self.mark({"steps": int(memory["work"][0]), "seconds": seconds}, memory)

    def finish(self, solution: Solution, progress: bool | None = None) -> Any:
        """Complete the file with energies and certificate; the run that is in it."""
        try:
            return self._finish(solution, progress)
        finally:
            self.close()

    def _finish(self, solution: Solution, progress: bool | None) -> Any:
        if self.task.controller is None:
            self.work |= {name: getattr(solution, name) for name in COUNTED_WORK if name != "seconds"}
            self.work["seconds"] += solution.seconds
        outcome: dict[str, Any] = {
            "success": solution.success,
            "message": solution.message,
            **self.work,
            "energy": False,
        }
        stopped = self.begun and solution.cause is Cause.INTERRUPTED
        if stopped:  # who presses Ctrl-C waits for nothing; it is made when it is asked for, or after `resume`
            outcome["message"] += f'; resume("{self.name}") continues it'
        elif self.room != (self.rows_done, self.events_done):
            self._resize(self.rows_done, self.events_done)
        self._end(outcome)
        judged: Certificate | None = None
        if self.rows_done and not stopped:
            run = run_of(self.stored(outcome), self.task)
            told = explained(self.task, run.solution)
            outcome |= {"success": told.success, "message": told.message}
            run = replace(run, solution=told)
            at = rows = 0
            good = usable(told)
            if good < len(run):
                self._put("energy", np.full((len(run) - good, 4), np.inf), good * 32)
            with Progress(0, good, progress, what="energies:", unit=" points") as line:
                for part in run.parts(until=good):
                    energy = part.energies
                    values = np.stack([energy.kinetic, energy.gravity, energy.springs, energy.work], axis=1)
                    self._put("energy", np.ascontiguousarray(values), at)
                    at, rows = at + values.nbytes, rows + len(part)
                    line.show(rows)
            if not solution.success and solution.checkpoint:
                outcome["message"] += f'; resume("{self.name}") continues it'
            outcome["hull"] = _seen("hull", run) or []
            outcome["energy"] = True
            self._end(outcome)
            judged = run.certificate
            outcome["certificate"] = sealed(self.stored(outcome), judged)
            self._end(outcome)
        if not stopped:
            with self._writing():
                os.fsync(self.descriptor)
        found = run_of(self.stored(outcome), self.task)
        if judged is not None:  # just now, so it is not "as stored"
            found = replace(found, kept=partial(_just_made, judged))
        if not self._is_there():
            caution.warn(
                f"{self.file}: another program replaced or deleted it; what was computed is returned, not kept"
            )
        return found

    def stored(self, outcome: dict[str, Any]) -> Stored:
        """What was computed: that is in our file, whatever has its name now."""
        tables, done = self.sizes.tables(*self.room), self.rows_done if outcome["energy"] else 0
        with os.fdopen(os.dup(self.descriptor), "rb") as stream:

            def rows(name: str, count: int) -> np.ndarray:
                return rows_of(self.file, stream, tables[name][0], self.offsets[name], count)

            return Stored(
                *(self.file, self.header, self.model, self.sizes, self.room, self.offsets, self.task.state),
                points=rows("points", self.rows_done),
                energy=rows("energy", done),
                laws=rows("laws", self.rows_done) if self.sizes.laws else np.empty(0),
                events=rows("events", self.events_done),
                checkpoint=self.checkpoint,
                outcome=outcome,
            )

    def _is_there(self) -> bool:
        try:
            return os.path.samestat(os.fstat(self.descriptor), self.file.stat())
        except FileNotFoundError:
            return False

    def fail(self, error: BaseException) -> None:
        try:
            if self.descriptor >= 0 and self.begun:
                with suppress(NotWrittenError):  # then it is as that of a killed run
                    self._end(
                        {"success": False, "message": str(error) or type(error).__name__, **self.work, "energy": False}
                    )
        finally:
            self.close()

    def close(self) -> None:
        """Leave the file to others."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1
        if self.lock is not None:
            self.lock.release()

    def __del__(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """A disk that is full, or gone, is told as what it is."""
        try:
            yield
        except NotWrittenError:
            raise
        except OSError as error:
            kept = f"; what was computed before is in it: make room, then resume({self.file.name!r}) continues it"
            raise NotWrittenError(self.file, error, kept if self.descriptor >= 0 else "") from None

    # ------------------------------------------------------------ the file

    def make(self, point: int, algebra: int, inputs: int, memory: Mapping[str, np.ndarray], no_curve: str) -> None:
        """Make the file, complete with room for what will come."""
        shapes = memory_of(memory)
        self.resumable = slot_size(shapes) <= WHOLE  # else it can only be begun again
        if not self.resumable:
            shapes = memory_of({})
        laws = numbers_of_laws(self.task.dynamics, self.task.state)
        self.sizes = Sizes(point, algebra, inputs, slot_size(shapes), laws)
        self.header |= {"sizes": asdict(self.sizes), "memory": shapes, "no_curve": no_curve}
        rows = self._expected() or max(64, FIRST // self.sizes.row.itemsize)
        self._resize(rows, EVENTS if self.task.watched else 0)

    def _expected(self) -> int:
        """Rows of a run with fixed steps; 0 if it is not known."""
        step, save = self.task.more["step"], self.task.more["save"]
        every = saving(save)
        if every is None:
            return len(np.atleast_1d(save))
        if every == 0:
            return 2
        if step is None or self.task.controller is not None:
            return 0
        return 1 - (-schedule(self.task.span, step).steps // every)

    def mark(self, work: Mapping[str, float], arrays: dict[str, np.ndarray]) -> None:
        """A checkpoint, into the slot that has the older one."""
        self.sequence += 1
        note = {"rows": self.rows_done, "events": self.events_done, "pieces": self.pieces, "work": dict(work)}
        self.checkpoint = Checkpoint(self.sequence, note, arrays)
        self._put("checkpoints", packed(self.checkpoint), self.sequence % 2 * self.sizes.checkpoint)
        self.saved = time.perf_counter()

    def happened(self, occurrences: list[Any]) -> None:
        watched = list(self.task.watched)
        for occurrence in occurrences:
            if self.events_done == self.room[1]:
                self._resize(self.room[0], 2 * self.room[1] + EVENTS)
            dtype = self.sizes.tables(0, 0)["events"][0]
            row = np.array((watched.index(occurrence.event), occurrence.t, occurrence.y), dtype)
            self._put("events", row.tobytes(), self.events_done * dtype.itemsize)
            self.events_done += 1
            self._count("events", self.events_done)

    def _end(self, outcome: Mapping[str, Any]) -> None:
        text = json.dumps(outcome).encode()
        if len(text) >= OUTCOME:  # names without end: the certificate can be found again
            text = json.dumps({**outcome, "message": outcome["message"][:4096], "certificate": None}).encode()
        self._count("ended", 0)
        self._put("outcome", text.ljust(OUTCOME, b"\0"))
        self._count("ended", 1)

    def _count(self, name: str, value: int) -> None:
        self._put("counts", np.array(value, "<i8").tobytes(), 8 * FILE_COUNTS.index(name))

    def _put(self, table: str, data: Any, at: int = 0) -> None:
        with self._writing():
            put(self.descriptor, data, self.offsets[table] + at)

    def _resize(self, rows: int, events: int) -> None:
        with self._writing():
            self._put_into(rows, events)

    def _put_into(self, rows: int, events: int) -> None:
        """Put all into a file with room for so many rows and events, which then takes the name of this one."""
        tables = self.sizes.tables(rows, events)
        used = {"points": self.rows_done, "events": self.events_done, "energy": 0, "laws": self.rows_done}
        if self.look is None:
            self.look = _seen("preview", self.task) or ""
        texts = {"header": json.dumps(self.header, indent=1), "model": self.model, "look": self.look}
        with replacing(self.file) as new:
            offsets = lay_out(new, texts, tables)
            descriptor = open_file(new)
            try:
                if self.descriptor < 0:
                    for name in ("counts", "checkpoints", "outcome"):  # they have their place on a disk that gets full
                        dtype, shape = tables[name]
                        put(descriptor, bytes(dtype.itemsize * math.prod(shape)), offsets[name])
                    put(descriptor, np.ascontiguousarray(self.task.state, dtype="<f8"), offsets["start"])
                else:
                    for name, (dtype, shape) in tables.items():
                        size = dtype.itemsize * used.get(name, int(np.prod(shape, dtype=np.int64)))
                        copy(self.descriptor, self.offsets[name], descriptor, offsets[name], size)
            finally:
                os.close(descriptor)
            if self.descriptor >= 0:
                os.close(self.descriptor)  # Windows replaces no file that is open
                self.descriptor = -1
        self.descriptor, self.offsets, self.room = open_file(self.file), offsets, (rows, events)


def _seen(what: str, of: Any) -> Any:
    """What is seen of a task or run. A picture is no reason for a run to fail: what cannot be drawn is said, and left
    out of the file."""
    try:
        return service(what)(of)
    except Exception as error:
        caution.warn(
            f"save: the first look of the 3D page is not in the file ({type(error).__name__}: {error}); the run is"
        )
        return None
