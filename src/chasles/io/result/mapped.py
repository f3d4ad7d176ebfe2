"""Tables of a file as arrays: small ones are read, large ones are mapped, so that they may be larger than memory.

The system ends a process that touches a mapped page which its file no longer has. So parts are read from the file, and
what is too large for that looks at the length of the file before it is used.
"""

from __future__ import annotations

import mmap
import os
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from chasles.io.result.layout import ResultFileError, read_at

SMALL = 1 << 26  # bytes of a table, or of the part of a file that a part of one is in
READ = 1 << 30  # bytes of an array that is read for a computation; a larger one is used as it is mapped
SLAB = 1 << 22  # bytes that are read at once
PLAIN = (int, np.integer, slice, type(None))


class MappedFile:
    """Where a mapped table is from."""

    def __init__(self, file: Path, stream: BinaryIO, length: int):
        self.file, self.length = file, length  # that the file must have
        self.mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
        self.descriptor = os.dup(stream.fileno())
        weakref.finalize(self, os.close, self.descriptor)
        self.address = np.frombuffer(self.mapping, np.uint8).__array_interface__["data"][0]

    def check(self) -> None:
        """Raise if the file has become shorter."""
        if self.mapping.size() < self.length:
            raise ResultFileError(self.file, "has become shorter while it was read: another program wrote to it")

    def read(self, at: int, size: int) -> bytes:
        pieces, done = [], 0
        while done < size and (piece := read_at(self.descriptor, size - done, at + done)):
            pieces.append(piece)
            done += len(piece)
        if done < size:
            raise ResultFileError(self.file, "has become shorter while it was read: another program wrote to it")
        return b"".join(pieces)


class Mapped(np.ndarray):
    """An array in a file, and views of it."""

    source: MappedFile | None = None

    def __array_finalize__(self, other: Any) -> None:
        self.source = getattr(other, "source", None)

    def there(self) -> None:
        """Raise if the file has become shorter."""
        if self.source is not None:
            self.source.check()

    def in_file(self) -> bool:
        """Whether its numbers are in the mapping: what is computed of a mapped array is in memory."""
        if self.source is None or not self.size:
            return False
        return bool(0 <= _range(self)[0] - self.source.address < self.source.length)

    def __getitem__(self, key: Any) -> Any:
        self.there()
        keys = key if isinstance(key, tuple) else (key,)
        if not self.in_file() or not all(isinstance(one, PLAIN) for one in keys):
            return super().__getitem__(key)
        part: Any = super().__getitem__((*keys, ...))  # not even one number is touched
        if part.ndim and (part.size == 0 or _range(part)[1] > SMALL):
            return part
        return _read(part)[()]

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **options: Any) -> Any:
        if out is not None:
            options["out"] = tuple(map(_plain, out))
        return getattr(ufunc, method)(*map(_plain, inputs), **options)

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        self.there()
        return super().__array_function__(function, types, arguments, options)

    def __reduce__(self) -> Any:
        return np.array(_plain(self)).__reduce__()


def _checking(name: str) -> Callable[..., Any]:
    """A method of arrays, for a file that is still there."""

    def method(self: Mapped, *arguments: Any, **options: Any) -> Any:
        return getattr(_plain(self), name)(*arguments, **options)

    return method


for _name in ("copy", "astype", "tolist", "tobytes", "flatten", "item", "take", "__iter__", "__copy__", "__deepcopy__"):
    setattr(Mapped, _name, _checking(_name))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapped):
        value.there()
        if value.in_file() and value.nbytes <= READ:
            return _read(value)
        return value.view(np.ndarray)
    return value


def _range(array: np.ndarray) -> tuple[int, int]:
    """Address and length of the memory that an array spans."""
    spans = [(n - 1) * step for n, step in zip(array.shape, array.strides, strict=True)]
    before = sum(min(span, 0) for span in spans)
    return array.__array_interface__["data"][0] + before, sum(map(abs, spans)) + array.itemsize


def _read(array: Mapped) -> np.ndarray:
    """A copy, read from the file some rows at a time."""
    source, raw = array.source, np.atleast_1d(array.view(np.ndarray))
    assert source is not None
    found = np.empty(raw.shape, raw.dtype)
    rows = max(1, SLAB // max(1, abs(raw.strides[0])))
    for first in range(0, len(raw), rows):
        part = raw[first : first + rows]
        begin, size = _range(part)
        data = source.read(begin - source.address, size)
        at = part.__array_interface__["data"][0] - begin
        found[first : first + rows] = np.ndarray(part.shape, part.dtype, data, at, part.strides)
    return found.reshape(array.shape)


def rows_of(file: Path, stream: BinaryIO, dtype: np.dtype, offset: int, rows: int) -> np.ndarray:
    """The first rows of a table that begins at an offset."""
    size = rows * dtype.itemsize
    if not rows:
        return np.empty(0, dtype)
    if size <= SMALL:
        stream.seek(offset)
        data = stream.read(size)
        if len(data) < size:
            raise ResultFileError(file, f"is damaged: it ends after {len(data)} of the {size} bytes of a table")
        return np.frombuffer(data, dtype)
    source = MappedFile(file, stream, offset + size)
    if len(source.mapping) < offset + size:
        raise ResultFileError(file, f"is damaged: it ends before the {rows} rows of a table")
    array = np.frombuffer(source.mapping, dtype, rows, offset).view(Mapped)
    array.source = source
    return array
