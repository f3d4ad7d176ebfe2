"""The progress of commands, drawn by rich on standard error: a bar, the line of `display.progress`, no flicker. Where
nobody looks, in a file or a pipe, it is a plain line now and then."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bars

if TYPE_CHECKING:
    from chasles.display.progress import Progress

BAR = 24  # characters
FIRST, LONGER = 10.0, 3.0  # seconds until the first plain line; each further one comes so many times as late
QUIET: dict[str, Any] = {"redirect_stdout": False, "redirect_stderr": False}  # others print while it is cleared


class RichDisplay:
    """Shows the line of a `Progress` behind a bar; without an end there is a sign of life instead."""

    def __init__(self) -> None:
        self._bars: Bars | None = None
        self._next = FIRST

    def draw(self, progress: Progress, text: str) -> None:
        share, console = progress.share(), Console(file=sys.stderr, highlight=False)
        if not console.is_terminal:
            passed = time.perf_counter() - progress.began
            if passed >= self._next:
                self._next = LONGER * passed
                print(f"chasles: {text}", file=sys.stderr, flush=True)
            return
        if self._bars is None:
            first = SpinnerColumn() if share is None else BarColumn(BAR)
            columns = (first, TextColumn("{task.description}", markup=False))
            self._bars = Bars(*columns, console=console, transient=True, auto_refresh=False, **QUIET)
            self._bars.start()
            self._task = self._bars.add_task(text, total=None if share is None else 1.0)
        self._bars.update(self._task, description=text, completed=share or 0.0, refresh=True)

    def clear(self) -> None:
        if self._bars is not None:
            self._bars.stop()
            self._bars = None
