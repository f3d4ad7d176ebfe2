"""Tables of a file as arrays: small ones are read, large ones are mapped, so that they may be larger than memory.

The system ends a process that touches a mapped page which its file no longer has. So what is mapped looks at the length
of the file before it is used.
"""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from chasles.io.result.layout import ResultFileError

SMALL = 1 << 26  # bytes


class Mapped(np.ndarray):
    """An array in a file, and views of it."""

    source: tuple[mmap.mmap, int, Path] | None = None  # the mapping, the length that the file must have, its name

    def __array_finalize__(self, other: Any) -> None:
        self.source = getattr(other, "source", None)

    def there(self) -> None:
        """Raise if the file has become shorter."""
        if self.source is not None:
            mapping, length, file = self.source
            if mapping.size() < length:
                raise ResultFileError(file, "has become shorter while it was read: another program wrote to it")

    def __getitem__(self, key: Any) -> Any:
        self.there()
        return super().__getitem__(key)

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
        return value.view(np.ndarray)
    return value


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
    mapping = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
    if len(mapping) < offset + size:
        raise ResultFileError(file, f"is damaged: it ends before the {rows} rows of a table")
    array = np.frombuffer(mapping, dtype, rows, offset).view(Mapped)
    array.source = mapping, offset + size, file
    return array
