"""What a verdict costs: processor time of certificates, beside that of the runs they judge.

Run: python -m benchmarks.certificate_cost [--all] [family ...]. Judges the runs of the board (tests/certificate) and of
the gallery, each with all steps saved and with the last one alone, and prints the figures of docs/certificate.md and
the dearest verdicts; with --all a line for each. Exit status 1 if one costs more than the bar: twice the run, or 0.2 s
if that is more.

All is compiled before: each run is judged once and then measured, the better of two.
"""

from __future__ import annotations

import importlib
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import chasles as ch
from chasles.gallery import model_files
from chasles.io.load import load

TIMES, LEAST = 2.0, 0.2  # the bar: so many times the run, and so many seconds below
DEAREST = 20  # lines that are printed


class Cost(NamedTuple):
    label: str
    kind: str
    status: str
    run: float  # [s]
    verdict: float
    evaluations: tuple[int, int]

    @property
    def of_bar(self) -> float:
        return self.verdict / max(TIMES * self.run, LEAST)

    def __str__(self) -> str:
        times = f"run {self.run:6.3f} s, verdict {self.verdict:6.3f} s, {self.of_bar:4.0%} of the bar"
        return f"{self.kind:7s} {self.status:10s} {times}, {self.evaluations[1]:8d} evaluations; {self.label}"


def seconds(call: Callable[[], Any], times: int = 2) -> float:
    """Processor time, the least."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        call()
        found.append(time.process_time() - begin)
    return min(found)


def costs(label: str, kind: str, run: Any) -> Iterator[Cost]:
    """Of a run as it was saved, and with its last point alone saved."""
    own = run.task.more["save"]
    for save in (own,) if isinstance(own, str) and own == "final" else (own, "final"):
        task = replace(run.task, more=run.task.more | {"save": save})
        made = task.carry_out(progress=False)
        status = ch.certify(made).status
        taken = seconds(partial(task.carry_out, progress=False))
        found = ch.certify(made)
        judging = seconds(partial(ch.certify, made))
        used = made.solution.evaluations, int((found.cost.split() or ["0"] * 3)[2] if found.cost else 0)
        yield Cost(f"{label}, save {str(save)[:8]}", kind, status, taken, judging, used)


def gallery() -> Iterator[tuple[str, str, Any]]:
    for name, path in model_files().items():
        yield f"gallery {name}", "gallery", load(path).run()


def cases(families: list[str]) -> Iterator[tuple[str, str, Any]]:
    board: Any = importlib.import_module("tests.certificate.test_board")  # tests are not typed
    chosen = {name: make for name, make in board.FAMILIES.items() if not families or name in families}
    for name, make in chosen.items():
        for one in make():
            yield f"{name}: {one.label}", one.kind, one.run
    if not families or "gallery" in families:
        yield from gallery()


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")
    every = "--all" in arguments
    found: list[Cost] = []
    for label, kind, run in cases([a for a in arguments if not a.startswith("-")]):
        try:
            for cost in costs(label, kind, run):
                found.append(cost)
                if every:
                    print(cost, flush=True)
            if not every:
                print(f"{len(found):5d}  {label[:100]}", file=sys.stderr, flush=True)
        except (ArithmeticError, ValueError) as error:
            print(f"could not be run again: {label}: {error}", flush=True)
    found.sort(key=lambda cost: -cost.of_bar)
    if not every:
        print(*found[:DEAREST], sep="\n")
    taken = np.array([cost.verdict for cost in found])
    kinds = itertools.groupby(sorted((cost.kind, cost.status) for cost in found))
    print("; ".join(f"{' '.join(key)}: {len(list(group))}" for key, group in kinds))
    shown = (np.median(taken), np.percentile(taken, 90), taken.max(), found[0].of_bar)
    print("{} verdicts: median {:.3f} s, nine of ten below {:.3f} s, at most {:.3f} s; {:.0%} of the bar".format(
        len(found), *shown))  # fmt: skip
    above = [cost for cost in found if cost.of_bar > 1]
    print(f"{len(above)} above the bar")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
