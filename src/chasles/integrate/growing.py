"""Rows of numbers that come in pieces, as one array: nothing is left to copy when the last one is there."""

from __future__ import annotations

import itertools

import numpy as np

SMALL = 1 << 26  # bytes; columns of a larger table are views of it rather than copies


class GrowingRows:
    """A table that grows by an eighth at a time. The system moves large blocks without copying them, so ten million
    rows are at hand at once, and memory holds them once."""

    def __init__(self, width: int):
        self._room = np.empty((0, width))
        self._count = 0
        self._lent = False  # others look at the rows, so they must stay where they are

    def add(self, rows: np.ndarray) -> None:
        self.more(len(rows))[:] = rows

    def more(self, rows: int) -> np.ndarray:
        """So many new rows, to be written."""
        first = self._count
        self._count = count = first + rows
        if count > len(self._room):
            self._count = first  # what there is, if there is no memory for more
            self._grow(count + count // 8)
            self._count = count
        return self._room[first:count]

    def _grow(self, rows: int) -> None:
        shape = rows, self._room.shape[1]
        if self._lent:
            room = np.empty(shape)
            room[: self._count] = self._room[: self._count]
            self._room, self._lent = room, False
        else:
            self._room.resize(shape, refcheck=False)

    def clear(self) -> None:
        self._count = 0
        if self._lent:
            self._room, self._lent = np.empty((0, self._room.shape[1])), False

    @property
    def rows(self) -> np.ndarray:
        """All rows, until more are added."""
        return self._room[: self._count]

    def columns(self, *sizes: int) -> list[np.ndarray]:
        """The table divided: the first so many columns, the next ones, and so on."""
        rows, ends = self.rows, itertools.accumulate(sizes)
        parts = [rows[:, end - size : end] for size, end in zip(sizes, ends, strict=True)]
        if rows.nbytes <= SMALL:
            return [part.copy() for part in parts]
        self._lent = True
        return parts
