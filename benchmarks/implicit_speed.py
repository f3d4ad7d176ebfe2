"""Implicit methods for constrained systems: time per body and step, growth with size, memory, the heavy top; the peer
is Exudyn (its fast module), measured in the same run, in turns, on one thread.

    python -m benchmarks.implicit_speed [--page]
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

import numpy as np

import chasles as ch
from benchmarks.constrained_speed import (
    TOP,
    TOP_END,
    chain,
    exudyn_chain,
    star,
    top_of_exudyn,
)
from benchmarks.page import machine, show, table, versions
from chasles.constrained.run import ConstrainedStepper
from chasles.constrained.workspace import WORKSPACE
from chasles.integrate.options import Options
from chasles.simulation.bodies.dynamics import BodyDynamics

STEP = 1e-3
PAIRS = 5
DEFAULT, INDEX_3 = ch.integrate.GeneralizedAlpha(), ch.integrate.GeneralizedAlpha(index=3)


def prepared(system: ch.System, method: Any, step: float, v: Any = None, end: float = 1e3) -> ConstrainedStepper:
    dynamics = BodyDynamics(system, "SO3xR3", projected=True)
    state = dynamics.start(0.0, None, v, None, None, False)
    return ConstrainedStepper(dynamics, method, (0.0, end), state, Options(step=step, save="final"))


def time_of_steps(run: ConstrainedStepper, steps: int, repeats: int = 3) -> float:
    """Least processor time of a step [s], in motion."""
    run.advance(steps)
    times = []
    for _ in range(repeats):
        began = time.process_time()
        run.advance(steps)
        times.append(time.process_time() - began)
    return min(times) / steps


def numbers_held(run: ConstrainedStepper) -> int:
    """Bytes of all arrays of a run that grow with the number of bodies, and of the packed mechanism."""
    declared = WORKSPACE.nbytes(run.packed) + run.scheme.vectors.nbytes(run.packed)
    return run.row_work.nbytes + declared + sum(array.nbytes for array in (run.p, run.packed, run.memory, run.saved_y))


def top() -> ch.System:
    body = ch.Body("top", mass=TOP["mass"], com=(0.0, 1.0, 0.0), inertia=TOP["inertia"])
    return ch.System([body], [ch.spherical("pivot", "ground", "top")])


def top_error(method: Any, step: float) -> float:
    found = prepared(top(), method, step, TOP["spin"], end=1.0).finish(progress=False)
    return float(np.abs(found.y[-1][4:7] - TOP_END).max())


def chains(sizes: list[int]) -> list[tuple[str, ...]]:
    """Rows: bodies, Exudyn, ours of index 2 and 3, ratios of the least times."""
    rows = []
    for n in sizes:
        steps, found = max(20, 8000 // n), []
        runs = [prepared(chain(n), method, STEP) for method in (DEFAULT, INDEX_3)]
        for _ in range(PAIRS):
            theirs = exudyn_chain(n, max(40, 4000 // n))
            found.append((theirs, *(time_of_steps(run, steps) / n for run in runs)))
        best = np.min(found, axis=0)
        middle = np.median([row[0] / row[1] for row in found])
        rows.append((str(n), *(f"{1e6 * t:.2f}" for t in best), f"{best[0] / best[1]:.1f}", f"{middle:.1f}"))
        print("chain", *rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", action="store_true", help="print all of it as a page")
    options = parser.parse_args()
    sys.exudynFast = True  # type: ignore[attr-defined]  # how Exudyn is told to load its fast module
    compared = chains([2, 10, 100, 500])
    pairs = []
    for _ in range(3):
        their_error, their_time = top_of_exudyn(1e-4)
        ours = [time_of_steps(prepared(top(), m, 1e-4, TOP["spin"]), 5000) for m in (DEFAULT, INDEX_3)]
        pairs.append((1e-4 * their_time, *ours))
    theirs, *ours = np.min(pairs, axis=0)
    tops = [("Exudyn, rho = 0.6", f"{1e6 * theirs:.2f}", f"{their_error:.1e}", "")]
    for name, method, spent in zip(("index 2 (default)", "index 3"), (DEFAULT, INDEX_3), ours, strict=True):
        tops.append((name, f"{1e6 * spent:.2f}", f"{top_error(method, 1e-4):.1e}", f"{theirs / spent:.1f}"))
    print(*tops, sep="\n", flush=True)
    growth = []
    for make in (chain, star):
        for n in (100, 1000, 10_000):
            run = prepared(make(n), DEFAULT, STEP)
            spent = time_of_steps(run, max(5, 20_000 // n)) / n
            growth.append((f"{make.__name__} of {n}", f"{1e6 * spent:.2f}", f"{numbers_held(run) / n / 1e3:.1f}"))
            print(*growth[-1], flush=True)
    if options.page:
        show(
            "implicit.md",
            machine=machine(),
            versions=versions("chasles", "exudyn", "numpy", "numba"),
            chains=table(["bodies", "Exudyn", "index 2", "index 3", "ratio", "median of ratios"], compared),
            tops=table(["", "µs per step", "error [m]", "ratio"], tops),
            growth=table(["", "µs per body and step", "kB per body"], growth),
        )


if __name__ == "__main__":
    main()
