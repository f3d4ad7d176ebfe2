"""What writing a result file costs: a heavy top, 1e6 steps of RK4, every step saved, with a file and without.

python -m benchmarks.result_files [--steps 1000000]
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import chasles as ch
from chasles.io.result.writer import ResultWriter

TOP = ch.System(
    [ch.Body("top", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.02))], [ch.spherical("pivot", "ground", "top")], name="heavy top"
)
STEP = 1e-4


class Clock:
    """Processor time spent in functions."""

    def __init__(self) -> None:
        self.spent, self.depth = 0.0, 0

    def timed(self, function: Callable) -> Callable:
        def wrapped(*arguments: Any, **named: Any) -> Any:
            began, self.depth = time.process_time(), self.depth + 1
            try:
                return function(*arguments, **named)
            finally:
                self.depth -= 1
                self.spent += (time.process_time() - began) if not self.depth else 0.0

        return wrapped


def measure(steps: int) -> tuple[float, float, float]:
    """Processor time [s] of a run with its certificate, of the same with a file, and of what wrote the file in it."""
    span, start, method = (0.0, steps * STEP), [1.0, 0.0, 30.0], ch.integrate.RKMK("rk4")
    began = time.process_time()
    ch.simulate(TOP, span, v=start, method=method, step=STEP, progress=False).certificate  # noqa: B018
    without = time.process_time() - began
    clock, kept = Clock(), {name: vars(ResultWriter)[name] for name in ("rows", "passed", "make", "_put", "_resize")}
    for name, function in kept.items():
        setattr(ResultWriter, name, clock.timed(function))
    try:
        with tempfile.TemporaryDirectory() as folder:
            began = time.process_time()
            file = Path(folder) / "run.h5"
            ch.simulate(TOP, span, v=start, method=method, step=STEP, progress=False, file=file)
            return without, time.process_time() - began, clock.spent
    finally:
        for name, function in kept.items():
            setattr(ResultWriter, name, function)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    steps = parser.parse_args().steps
    measure(1000)  # compiles
    for _ in range(3):
        without, with_file, writing = measure(steps)
        print(
            f"{steps} steps: {without:.2f} s without a file, {with_file:.2f} s with one, of which {writing:.3f} s "
            f"writing: {100 * writing / with_file:.1f} %",
            flush=True,
        )


if __name__ == "__main__":
    main()
