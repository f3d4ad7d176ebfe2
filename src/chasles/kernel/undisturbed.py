"""Ctrl-C is put off while something must not be broken off."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable
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

    def note(self) -> None:
        """One came in the block, to somebody who took over meanwhile and did not act on it."""
        self._came = True


COMPILING = Undisturbed()


class Calling:
    """`with Calling(functions):` around compiled code that may call functions of Python (those that are `in_python`).

    Raises what one of them raised, of which the compiled code saw NaN alone. Ctrl-C waits for the end of the block: as
    such a function begins, nothing can catch it yet; it would be lost, and the numbers of the call before be taken.
    """

    def __init__(self, functions: Iterable[Any], in_python: bool = False) -> None:
        self._functions = tuple(functions)
        self._in_python = in_python or any(function.in_python for function in self._functions)
        self._undisturbed = Undisturbed()
        self.idle = not self._functions and not self._in_python  # the block does nothing

    def __enter__(self) -> None:
        if self._in_python:
            self._undisturbed.__enter__()

    def __exit__(self, *exception: object) -> None:
        raised = [function.take_error() for function in self._functions]  # of all: none is left for another block
        if self._in_python:
            self._undisturbed.__exit__()
        for error in raised:
            if error is not None:
                raise error
