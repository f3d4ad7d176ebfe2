"""The one progress line of all that takes long: how far, at which rate, time left."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Self

from chasles import registry

PATIENCE = 1.0  # seconds before anything is shown
RENEWED = 0.2  # seconds between two lines
TELLING = 0.2  # seconds of work before it tells how long the rest takes: a first step of many loads code
WIDTH = 78
DISPLAY = "display of progress"  # the service that draws instead of `ProgressLine`: the command line has one


class ProgressLine:
    """One line on standard error, written over again and again."""

    def draw(self, progress: Progress, text: str) -> None:
        print(f"\r{text[:WIDTH]:<{WIDTH}}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        print(f"\r{'':{WIDTH}}\r", end="", file=sys.stderr, flush=True)


class NotebookLine:
    """One line of text in the output of a cell of Jupyter, replaced again and again, empty in the end. All that is
    shown while a cell runs has the same line."""

    cell: int = -1  # that has a line
    handle: Any = None  # the line

    def draw(self, progress: Progress, text: str) -> None:
        cell = import_module("IPython").get_ipython().execution_count
        if NotebookLine.cell != cell:
            NotebookLine.cell, NotebookLine.handle = cell, import_module("IPython.display").DisplayHandle()
            NotebookLine.handle.display({"text/plain": text}, raw=True)
        else:
            NotebookLine.handle.update({"text/plain": text}, raw=True)

    def clear(self) -> None:
        NotebookLine.handle.update({"text/plain": ""}, raw=True)


def in_notebook() -> bool:
    """Whether this process answers a notebook."""
    return "ipykernel" in sys.modules


def _display() -> Any:
    """What draws the line here."""
    if registry.offered(DISPLAY):
        return registry.service(DISPLAY)()
    return NotebookLine() if in_notebook() else ProgressLine()


class Progress:
    """Shows nothing for the first second (`patience`); then one line on standard error, renewed a few times a second.

    From `start` to `end`, of which `at` is reached already: simulated time in `unit`, or so many things, `what`. If the
    end is the start, only the time that has passed is known. By default only on a terminal. With steady=True the line
    is renewed also while nothing is told, by a thread.
    """

    front: Progress | None = None  # of several at once, the one that is seen: else they would take turns on the line
    compiling = 0.0  # seconds that the compiler took in this process: they do not tell how fast the rest will be

    def __init__(
        self,
        start: float,
        end: float,
        wanted: bool | None = None,
        *,
        at: float | None = None,
        what: str = "t =",
        unit: str = " s",
        steady: bool = False,
        patience: float | None = None,
    ):
        self.start, self.end, self.what, self.unit = start, end, what, unit
        self.first = self.at = start if at is None else at
        self.enabled = sys.stderr.isatty() if wanted is None else wanted
        self.began = self.last = time.perf_counter()
        self._before = Progress.compiling
        self.patience = PATIENCE if patience is None else patience
        self.shown, self.note = False, ""
        self._display: Any = None  # made when there is something to draw: what draws takes long to load
        self._over, self._mine = threading.Event(), threading.RLock()
        self._thread = threading.Thread(target=self._renew, daemon=True) if steady and self.enabled else None

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._clear()

    def _clear(self) -> None:
        if self.shown:
            self._display.clear()
            self.shown = False

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Room for others to print."""
        with self._mine:
            self._clear()
            yield

    def _renew(self) -> None:
        while not self._over.wait(RENEWED):
            self._print()

    def show(self, at: float, note: str = "") -> None:
        """Where it is now, and what is done next."""
        self.at, self.note = at, note
        if self._thread is None:
            self._print()

    def say(self, text: str) -> None:
        """A line that stays."""
        if self.enabled:
            with self.aside():
                print(text, file=sys.stderr, flush=True)

    def share(self) -> float | None:
        """How much is done, from 0 to 1; None if the end is not known."""
        whole = self.end - self.start
        return (self.at - self.start) / whole if whole else None

    def line(self, now: float) -> str:
        """What is shown."""
        share, passed = self.share(), now - self.began
        if share is None:
            return f"{self.what} {duration(passed)}"
        text = f"{self.what} {self.at:.4g} of {self.end:.4g}{self.unit}, {100 * share:.0f} %, "
        rate = self.rate(passed)
        if rate > 0:
            text += f"{duration(abs(self.end - self.at) / rate)} left, {rate:.3g}{self.unit}/s"
        else:
            text += f"{duration(passed)} passed"
        return f"{text}: {self.note}" if self.note else text

    def rate(self, passed: float) -> float:
        """How much a second, without the time that the compiler took; 0 if that cannot be told."""
        moving = passed - (Progress.compiling - self._before)
        return abs(self.at - self.first) / moving if moving > TELLING else 0.0

    def _print(self) -> None:
        now = time.perf_counter()
        if not self.enabled or now - self.began < self.patience or now - self.last < 0.9 * RENEWED:
            return
        if Progress.front not in (None, self):
            return
        with self._mine:
            self.last, self.shown = now, True
            if self._display is None:
                self._display = _display()
            self._display.draw(self, self.line(now))


def duration(seconds: float) -> str:
    """Seconds, minutes or hours."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
