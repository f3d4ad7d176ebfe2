"""What the tests compile, and how long that takes: most of a run from an empty cache.

A test that waits for the compiler carries the functions and their seconds in its report, so `--junitxml` has them as
properties, too. The end of a run names the tests that wait longest, so that the budget stays in sight.
"""

from __future__ import annotations

import time
import zlib
from collections import Counter
from typing import Any

import pytest
from numba.core import event

from chasles.kernel.notice import name_of

NAMED = 20  # tests at the end of a run
WORTH_A_LINE = 1.0  # [s]
COMPILED = "compiled"


class Watch(event.Listener):
    """Notes what is compiled in this process since it was last asked."""

    def __init__(self) -> None:
        self.depth, self.began = 0, 0.0
        self.notes: list[str] = []

    def on_start(self, event: event.Event) -> None:
        self.depth += 1
        if self.depth == 1:
            self.began = time.perf_counter()

    def on_end(self, event: event.Event) -> None:
        self.depth -= 1
        if self.depth == 0:
            kinds = zlib.crc32(str(event.data["args"]).encode())
            seconds = time.perf_counter() - self.began
            self.notes.append(f"{name_of(event.data['dispatcher'])}:{kinds:08x}={seconds:.3f}")

    def asked(self) -> list[str]:
        """What was compiled since the last question."""
        notes, self.notes = self.notes, []
        return notes


WATCH = Watch()
event.register("numba:compile", WATCH)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Any:
    item.user_properties += [(COMPILED, note) for note in WATCH.asked()]
    return (yield)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The tests that wait longest for the compiler."""
    of_tests: Counter[str] = Counter()
    of_functions: dict[str, list[float]] = {}
    for report in terminalreporter.getreports(""):  # of teardowns, which have all notes of a test
        for function, _, seconds in (note.rpartition("=") for name, note in report.user_properties if name == COMPILED):
            of_tests[report.nodeid] += float(seconds)
            of_functions.setdefault(function, []).append(float(seconds))
    if of_tests.total() < WORTH_A_LINE:
        return
    again = sum(sum(times) - max(times) for times in of_functions.values())
    terminalreporter.section(f"the {NAMED} longest waits for the compiler")
    for name, seconds in of_tests.most_common(NAMED):
        terminalreporter.line(f"{seconds:7.2f} s {name}")
    terminalreporter.line(
        f"{of_tests.total():7.0f} s of {len(of_tests)} tests for {len(of_functions)} functions; "
        f"{again:.0f} s of it for functions that another test or worker compiled as well"
    )
