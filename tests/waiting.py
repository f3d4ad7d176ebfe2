"""Waiting with an end: a machine that does much else is slow, one that hangs does not come to an end."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

LONGEST = 240.0  # [s]


def wait_for(file: Path, process: subprocess.Popen) -> None:
    """Wait until a process has made a file."""
    end = time.monotonic() + LONGEST
    while not file.exists():
        assert process.poll() is None, "the process ended before its file was there"
        assert time.monotonic() < end, f"no {file.name} after {LONGEST} s"
        time.sleep(0.002)


@contextmanager
def limited(process: subprocess.Popen, seconds: float = LONGEST) -> Iterator[subprocess.Popen]:
    """A process that ends with the block, and within some time, so that nobody reads from it for ever."""
    timer = threading.Timer(seconds, process.kill)
    timer.daemon = True
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.wait(LONGEST)
