"""A progress line for long runs: simulated time, rate, time left."""

from __future__ import annotations

import sys
import time


class Progress:
    """Shows nothing for the first second; then one line on standard error, renewed a few times a second."""

    def __init__(self, start: float, end: float, wanted: bool | None):
        self.start, self.end = start, end
        self.enabled = sys.stderr.isatty() if wanted is None else wanted
        self.began = self.last = time.perf_counter()
        self.shown = False

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self.shown:
            print(file=sys.stderr)

    def show(self, t: float) -> None:
        now = time.perf_counter()
        if not self.enabled or now - self.began < 1.0 or now - self.last < 0.2:
            return
        self.last, self.shown = now, True
        done = (t - self.start) / (self.end - self.start)
        rate = abs(t - self.start) / (now - self.began)
        left = abs(self.end - t) / rate if rate > 0 else float("inf")
        line = f"t = {t:.4g} of {self.end:.4g} s, {100 * done:3.0f} %, {rate:.3g} s/s, {left:.0f} s left"
        print(f"\r{line:<70}", end="", file=sys.stderr, flush=True)
