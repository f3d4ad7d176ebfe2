"""A line for people who wait for the compiler: the first use of a function can take seconds, once."""

from __future__ import annotations

import sys
import time

from numba.core import event

PATIENCE = 1.0  # [s] of compilation before a word is said


class Notice(event.Listener):
    """Says once on standard error, if that is a terminal or a notebook, that time goes into compilation."""

    def __init__(self) -> None:
        self.depth, self.began, self.spent, self.said = 0, 0.0, 0.0, False

    def on_start(self, event: event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            self.began = time.perf_counter()
        elif not self.said and self.spent + time.perf_counter() - self.began > PATIENCE and someone_looks():
            self.said = True
            print("chasles: compiling for this computer; what is part of chasles is kept for later", file=sys.stderr)

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0:
            self.spent += time.perf_counter() - self.began


def someone_looks() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


LISTENER = Notice()
event.register("numba:compile", LISTENER)
