"""Ctrl-C is put off while something must not be broken off."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any


class Undisturbed:
    """`with Undisturbed():` puts Ctrl-C off until the end of the block; a second one interrupts at once.

    The compiler is such a thing: an interrupt that comes while LLVM calls back is lost, and what is half done is taken
    for done later; then machine code is missing, or is not what it should be.
    """

    def __init__(self) -> None:
        self._depth, self._came = 0, False
        self._before: Any = None

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self._came:
            raise KeyboardInterrupt
        self._came = True

    def __enter__(self) -> Undisturbed:
        if threading.current_thread() is threading.main_thread():
            self._depth += 1
            if self._depth == 1:
                before = signal.getsignal(signal.SIGINT)
                self._came, self._before = False, before if callable(before) else None
                if self._before is not None:  # one that is ignored, or not of Python, stays as it is
                    signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *exception: object) -> None:
        if threading.current_thread() is threading.main_thread() and self._depth:
            self._depth -= 1
            if not self._depth and self._before is not None:
                signal.signal(signal.SIGINT, self._before)
                if self._came:
                    self._before(signal.SIGINT, None)


COMPILING = Undisturbed()
