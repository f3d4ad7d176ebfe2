"""A word for people who wait for the compiler: what is compiled, and how much of it is left.

In a terminal and in a notebook it is a line that is renewed; in a terminal one that stays says that this is the first
use only. Elsewhere, in scripts, it is said once.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from types import CodeType, ModuleType
from typing import Any

from numba.core import event

from chasles.display.progress import Progress, in_notebook

PATIENCE = 1.0  # [s] of compilation before a line is shown to someone who looks
SCRIPT_PATIENCE = 2.0  # [s] before it is said in a script
ONCE = "chasles: compiling for this computer, at the first use only"
EXPECTED = "A first simulation takes ten to thirty seconds; `chasles warm` compiles everything in advance"


class CompilingLine(Progress):
    """How many functions are done, and for how long it works. How long the rest takes nobody knows: LLVM, which begins
    when most of them are done and takes half of the time, tells nothing."""

    def show(self, at: float, note: str = "") -> None:
        self.at, self.note = at, note
        self._print()

    def rate(self, passed: float) -> float:
        return 0.0

    def _print(self) -> None:
        super()._print()
        if self.shown:
            Progress.front = self

    def __exit__(self, *exception: object) -> None:
        super().__exit__(*exception)
        Progress.front = None


class Notice(event.Listener):
    """Follows the compiler: `spent` is the time [s] that it took so far, `left` what it must compile yet for the
    function that it works on. Says nothing if `silent`: for those who tell themselves."""

    def __init__(self) -> None:
        self.depth, self.began, self.spent, self.said = 0, 0.0, 0.0, False
        self.silent = False
        self.left: set[Any] = set()
        self.known, self.name = 0, ""
        self.progress: CompilingLine | None = None

    def on_start(self, event: event.Event) -> None:
        dispatcher = event.data["dispatcher"]
        self.depth += 1
        if self.depth == 1:
            self._begin(dispatcher)
        passed = self.spent + time.perf_counter() - self.began
        if self.progress:
            self.progress.show(self.known - len(self.left))
            if self.progress.shown and not (self.said or in_notebook()):
                self.said = True
                self.progress.say(f"{ONCE}. {EXPECTED}")
        elif passed > SCRIPT_PATIENCE and not (self.said or self.silent):
            self.said = True
            print(
                f"{ONCE}: {self.name}, {len(self.left)} of {self.known} functions left, then what else is used. "
                f"{EXPECTED}",
                file=sys.stderr,
            )

    def on_end(self, event: event.Event) -> None:
        self.left.discard(event.data["dispatcher"])
        self.depth -= 1
        if self.depth == 0:
            taken = time.perf_counter() - self.began
            self.spent += taken
            Progress.compiling += taken
            if self.progress:
                self.progress.__exit__()
                self.progress = None

    def _begin(self, dispatcher: Any) -> None:
        self.began = time.perf_counter()
        self.left = needed(dispatcher)
        self.known, self.name = len(self.left), name_of(dispatcher)
        if someone_looks() and not self.silent:
            # without its module, so that the time has room on the line
            what, patience = f"compiling {dispatcher.py_func.__name__}:", max(0.0, PATIENCE - self.spent)
            options: dict[str, Any] = {"steady": not in_notebook(), "patience": patience}  # a cell is of one thread
            self.progress = CompilingLine(0, self.known, True, what=what, unit=" functions", **options).__enter__()


def name_of(dispatcher: Any) -> str:
    """How a compiled function is called."""
    function = dispatcher.py_func
    return f"{(function.__module__ or '').removeprefix('chasles.')}.{function.__name__}"


def needed(dispatcher: Any) -> set[Any]:
    """The function and all that it calls which is not compiled yet, by the names in their code."""
    found, look = {dispatcher}, [dispatcher]
    while look:
        for one in _callees(look.pop().py_func):
            if one not in found and not one.overloads:
                found.add(one)
                look.append(one)
    return found


def _callees(function: Any) -> Iterator[Any]:
    names = set(_names(function.__code__))
    scope = function.__globals__
    for value in [scope[name] for name in names if name in scope]:
        inner = [vars(value)[name] for name in names if name in vars(value)] if isinstance(value, ModuleType) else ()
        for one in inner if isinstance(value, ModuleType) else (value,):
            one = getattr(one, "kernel", one)  # of a `face`
            one = getattr(one, "dispatcher", one)  # of what is inlined
            if hasattr(one, "py_func") and hasattr(one, "overloads"):
                yield one


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def someone_looks() -> bool:
    return sys.stderr.isatty() or in_notebook()


LISTENER = Notice()
event.register("numba:compile", LISTENER)
