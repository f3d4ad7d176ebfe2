"""A result file larger than the memory that a process may have: written, opened, looked at and exported.

python -m benchmarks.large_file [--gigabytes 4] [--memory 1] [--folder /tmp]

The limit is RLIMIT_DATA, on what a process has for itself: arrays, but not files that it maps. Linux only.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import chasles as ch

GIGABYTE = 1 << 30
STEP = 1e-4
TOP = ch.System(
    [ch.Body("top", 1.0, (0, 0, 0.3), (0.1, 0.1, 0.02))],
    [ch.spherical("pivot", "ground", "top")],
    [ch.Frame("tip", "top", (0, 0, 0.6))],
    name="heavy top",
)


def peak() -> float:
    """What the process has for itself at most [GB]: anonymous memory, sampled at the ends of what is done."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon"):
            return int(line.split()[1]) / (1 << 20)
    return float("nan")


def told(what: str, function: Callable[[], object]) -> None:
    began = time.perf_counter()
    found = function()
    print(f"{what:34} {time.perf_counter() - began:7.1f} s  {peak():5.2f} GB of its own  {found}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=4.0)
    parser.add_argument("--memory", type=float, default=1.0)
    parser.add_argument("--folder", default=None)
    wanted = parser.parse_args()
    limit = int(wanted.memory * GIGABYTE)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    with tempfile.TemporaryDirectory(dir=wanted.folder) as name:
        file, rows = Path(name) / "run.h5", int(wanted.gigabytes * GIGABYTE / 216)

        def written() -> str:
            method = ch.integrate.RKMK("rk4")
            run = ch.simulate(TOP, (0, rows * STEP), v=[1.0, 0, 30.0], method=method, step=STEP, file=file)
            return f"{file.stat().st_size / GIGABYTE:.2f} GB, {len(run)} points"

        told("simulated into the file", written)
        run = ch.open(file)
        assert isinstance(run, ch.Run)
        told("opened", lambda: len(ch.open(file)))
        told("at 1000 times in between", lambda: run(np.linspace(1.0, run.t[-1], 1000)).q.shape)
        told("highest point, in parts", lambda: max(float(p["tip"].position[:, 2].max()) for p in run.parts()))
        told("one frame's positions every 1000", lambda: run.part(slice(None, None, 1000))["tip"].position.shape)
        told("certificate again", lambda: ch.certify(run).passed)
        for table, every in (("run.npz", 1), ("run.csv", 100)):
            target = file.with_name(table)
            told(f"exported, {table}, every {every}", lambda t=target, e=every: ch.export(run, t, stride=e))  # type: ignore[misc]
            print(f"    {target.stat().st_size / GIGABYTE:.2f} GB")
            target.unlink()
        try:
            np.ones(2 * limit // 8)
        except MemoryError:
            print(f"(an array of {2 * wanted.memory:g} GB was refused: the limit holds)")


if __name__ == "__main__":
    main()
