"""Finished members on the way, safe at every moment: records that are appended, each with its checksum.

A record is a mark, the lengths of its two parts, a checksum of both, a JSON text (index, status, message, steps,
labels, units, shapes) and the numbers as float64. What was cut off by a kill is left out, and computed again.
"""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from chasles.ensembles.work import MemberOutcome

MARK, RECORD_HEAD = b"MEM1", struct.Struct("<4sIII")
TITLE_HEAD = struct.Struct("<4sI")


class JournalError(ValueError):
    """A journal that is not of this study, or no journal."""


IN_WORDS = {
    "axes": "values of the grid",
    "digest": "content of the model",
    "kind": "design",
    "n": "samples",
    "points": "values of the grid",
    "shape": "members",
}


def other_parts(one: Mapping[str, Any], other: Mapping[str, Any]) -> str:
    """The parts in which the titles of two studies differ, in words; the parts of a part are named with it."""
    found = []
    for name in sorted({*one, *other}):
        a, b = one.get(name), other.get(name)
        if isinstance(a, dict) and isinstance(b, dict) and a != b:
            found += [f"{name}.{part}" for part in sorted({*a, *b}) if a.get(part) != b.get(part)]
        elif a != b:
            found.append(IN_WORDS.get(name, name))
    return ", ".join(map(repr, dict.fromkeys(found)))


class Journal:
    """The records of one study: `title` says which."""

    def __init__(self, file: Path, title: dict[str, Any]):
        self.file = file
        self._title = json.dumps(title, sort_keys=True).encode()

    def begin(self) -> None:
        """A new one, empty."""
        with self.file.open("xb") as stream:
            stream.write(TITLE_HEAD.pack(b"STUD", len(self._title)) + self._title)
            stream.flush()
            os.fsync(stream.fileno())

    def records(self) -> Iterator[tuple[int, MemberOutcome]]:
        """All whole records; the file then ends after the last."""
        with self.file.open("rb") as stream:
            head = stream.read(TITLE_HEAD.size)
            if len(head) < TITLE_HEAD.size or head[:4] != b"STUD":
                raise JournalError(f"{self.file} is not the journal of an ensemble")
            title = stream.read(TITLE_HEAD.unpack(head)[1])
            if title != self._title:
                try:
                    changed = other_parts(json.loads(title), json.loads(self._title))
                except ValueError:
                    raise JournalError(
                        f"{self.file} is damaged: it does not name its study; remove it to start again"
                    ) from None
                raise JournalError(
                    f"{self.file} belongs to another study, with other values of {changed}; "
                    "continue with those, or remove it to start again"
                )
            good = stream.tell()
            while (record := _read(stream)) is not None:
                good = stream.tell()
                yield record
        if good < self.file.stat().st_size:
            os.truncate(self.file, good)

    def empty(self) -> bool:
        """Whether nothing is lost without it: no member is finished in it, whatever study it is of."""
        with self.file.open("rb") as stream:
            head = stream.read(TITLE_HEAD.size)
            if len(head) < TITLE_HEAD.size or head[:4] != b"STUD":
                return False  # it is something else
            stream.seek(TITLE_HEAD.unpack(head)[1], os.SEEK_CUR)
            return _read(stream) is None

    def append(self, finished: list[tuple[int, MemberOutcome]]) -> None:
        """Write records, and tell the disk to keep them: all of them, or none."""
        before = self.file.stat().st_size
        try:
            with self.file.open("ab") as stream:
                for index, outcome in finished:
                    stream.write(_packed(index, outcome))
                stream.flush()
                os.fsync(stream.fileno())
        except OSError as error:
            os.truncate(self.file, before)
            raise OSError(
                error.errno,
                f"{self.file} cannot be written ({error.strerror}); what was finished before is kept, and resume=True "
                "(--resume) goes on",
            ) from None


def _packed(index: int, outcome: MemberOutcome) -> bytes:
    shapes = {name: list(np.shape(value)) for name, value in outcome.numbers.items()}
    text = json.dumps(
        {
            "index": index,
            "status": outcome.status,
            "message": outcome.message,
            "steps": outcome.steps,
            "shapes": shapes,
            "labels": {name: list(labels) for name, labels in outcome.labels.items()},
            "units": dict(outcome.units),
        }
    ).encode()
    data = b"".join(np.ascontiguousarray(value, dtype="<f8").tobytes() for value in outcome.numbers.values())
    return RECORD_HEAD.pack(MARK, len(text), len(data), zlib.crc32(data, zlib.crc32(text))) + text + data


def _read(stream: Any) -> tuple[int, MemberOutcome] | None:
    """The next record; None at the end, or where it was cut off."""
    head = stream.read(RECORD_HEAD.size)
    if len(head) < RECORD_HEAD.size:
        return None
    mark, length, size, check = RECORD_HEAD.unpack(head)
    if mark != MARK:
        return None
    text, data = stream.read(length), stream.read(size)
    if len(text) < length or len(data) < size or zlib.crc32(data, zlib.crc32(text)) != check:
        return None
    note, at, numbers = json.loads(text), 0, {}
    for name, shape in note["shapes"].items():
        count = int(np.prod(shape, dtype=int))
        numbers[name] = np.frombuffer(data, "<f8", count, at).reshape(shape)
        at += 8 * count
    labels = {name: tuple(values) for name, values in note["labels"].items()}
    told = note["status"], note["message"], numbers, labels, note["steps"], note.get("units", {})
    return note["index"], MemberOutcome(*told)
