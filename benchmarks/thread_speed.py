"""Batches on two threads against one: more threads must not make a batch slower.

Run: python -m benchmarks.thread_speed. It prints a table. Elapsed time, because threads run beside each other: the
least of many repetitions in turn, on a machine that does nothing else. The number of threads is chosen from the work
(`chasles.relative.sharing`), so small batches run on one.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import page
from benchmarks.tree_speed import MECHANISMS
from chasles.relative.mechanism import Mechanism

COUNTS = (1, 4, 20, 64, 200, 500, 1000, 2000, 5000, 10_000, 20_000)
TITLES = ("arm, 7 joints", "humanoid, 36 velocities")
LONG = 0.6  # seconds for a pair, at least
FEWEST = 15  # repetitions
BAR = 1.05  # times the time of one thread, at most


def pair(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[float, float]:
    """Least elapsed time [s] of both, in turn."""
    least, began, done = [np.inf, np.inf], time.perf_counter(), 0
    while done < FEWEST or time.perf_counter() - began < LONG:
        for k, call in enumerate((one, other)):
            start = time.perf_counter()
            call()
            least[k] = min(least[k], time.perf_counter() - start)
        done += 1
    return least[0], least[1]


def rows() -> list[list[str]]:
    """Microseconds a state, on one and on two threads."""
    found = []
    for title in TITLES:
        system, rng = MECHANISMS[title](), np.random.default_rng(2)
        one, two = Mechanism(system), Mechanism(system, threads=2)
        for count in COUNTS:
            q, v, a = one.random(rng, (count,)), rng.normal(size=(count, one.nv)), rng.normal(size=(count, one.nv))
            cells = []
            for name in ("inverse_dynamics", "forward_dynamics"):
                calls = [lambda m=m, name=name, q=q, v=v, a=a: getattr(m, name)(q, v, a) for m in (one, two)]
                assert (calls[0]() == calls[1]()).all()
                alone, shared = pair(*calls)
                met = "" if shared <= BAR * alone else " **slower**"
                cells.append(f"{alone / count * 1e6:.2f} / {shared / count * 1e6:.2f} = {shared / alone:.2f}{met}")
            found.append([title, str(count), *cells])
    return found


if __name__ == "__main__":
    heads = ["mechanism", "states", "inverse dynamics, one / two threads [µs a state]", "forward dynamics"]
    print(page.table(heads, rows()))
