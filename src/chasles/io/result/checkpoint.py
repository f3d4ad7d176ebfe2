"""Checkpoints in two slots that are written in turn: one of them is always whole."""

from __future__ import annotations

import json
import math
import zlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

NOTE = 2048  # bytes for the numbers that go with the arrays
HEAD = np.dtype([("sequence", "<i8"), ("length", "<i8"), ("sum", "<u4"), ("spare", "<u4")])
Memory = Sequence[tuple[str, str, Sequence[int]]]  # names, types and shapes of the arrays


class Checkpoint(NamedTuple):
    """Arrays for `solve(resume=...)`, and `note`: rows, events, seconds, ... at that moment."""

    sequence: int
    note: dict[str, Any]
    arrays: dict[str, np.ndarray]


def memory_of(arrays: Mapping[str, np.ndarray]) -> Memory:
    return [(name, array.dtype.str, list(array.shape)) for name, array in arrays.items()]


def slot_size(memory: Memory) -> int:
    return HEAD.itemsize + NOTE + sum(_bytes(item) for item in memory)


def packed(checkpoint: Checkpoint) -> bytes:
    """A slot: head, note and arrays, with a sum over all that follows the head and over the sequence number."""
    note = json.dumps(checkpoint.note).encode()
    if len(note) > NOTE:
        raise ValueError(f"checkpoint: the note has {len(note)} bytes; at most {NOTE}")
    body = note.ljust(NOTE) + b"".join(array.tobytes() for array in checkpoint.arrays.values())
    head = np.zeros((), HEAD)
    head["sequence"], head["length"] = checkpoint.sequence, len(body)
    head["sum"] = zlib.crc32(body, checkpoint.sequence & 0xFFFFFFFF)
    return head.tobytes() + body


def unpacked(slot: memoryview, memory: Memory) -> Checkpoint | None:
    """The checkpoint in a slot, or None if it was not written to its end."""
    head = np.frombuffer(slot[: HEAD.itemsize], HEAD)[0]
    sequence, length = int(head["sequence"]), int(head["length"])
    if sequence < 1 or length != slot_size(memory) - HEAD.itemsize:
        return None
    body = slot[HEAD.itemsize :]
    if zlib.crc32(body, sequence & 0xFFFFFFFF) != int(head["sum"]):
        return None
    arrays, at = {}, NOTE
    for name, dtype, shape in memory:
        size = _bytes((name, dtype, shape))
        arrays[name] = np.frombuffer(body[at : at + size], dtype).reshape(shape).copy()
        at += size
    return Checkpoint(sequence, json.loads(bytes(body[:NOTE])), arrays)


def newest(slots: np.ndarray, memory: Memory) -> Checkpoint | None:
    """The newer one of those that are whole."""
    found = [checkpoint for slot in slots if (checkpoint := unpacked(memoryview(slot), memory))]
    return max(found, key=lambda checkpoint: checkpoint.sequence, default=None)


def _bytes(item: tuple[str, str, Sequence[int]]) -> int:
    return np.dtype(item[1]).itemsize * math.prod(item[2])
