"""The speed board: the same work by chasles and by every installed peer, in turns in one run, as ratios.

    python -m benchmarks.board [WORK ...] [--rounds 3] [--write]     (or: chasles bench, in a clone)

Results of both are compared before anything is timed. A ratio is the peer's processor time over ours: above 1 chasles
is faster. `--write` makes docs/benchmarks/board.md with its picture and records the ratios; later runs warn where a
ratio fell by more than 20 % below the recorded one.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmarks import page, processor_limit
from benchmarks.works import WORKS

RECORD = page.DOCS / "benchmarks" / "board.json"
PICTURE = page.DOCS / "_static" / "board.png"
FALL = 0.2  # of a recorded ratio, beyond which there is a warning


@dataclass
class Row:
    """A part of a work against one peer."""

    name: str
    peer: str
    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)

    @property
    def ratios(self) -> np.ndarray:
        return np.array(self.theirs) / np.array(self.ours)

    @property
    def ratio(self) -> float:
        return float(np.median(self.ratios))

    @property
    def key(self) -> str:
        return f"{self.name} / {self.peer}"


# ---------------------------------------------------------------- the board


def measured(names: list[str], rounds: int, show: Callable[[str], None]) -> tuple[list[Row], list[str]]:
    """Rows of some works, and what was left out because a peer is not installed."""
    rows: dict[str, Row] = {}
    missing = []
    for name in names:
        needs, prepare = WORKS[name]
        if importlib.util.find_spec(needs) is None:
            missing.append(needs)
            continue
        show(f"{name}: comparing results")
        once = prepare()
        for k in range(rounds):
            show(f"{name}: round {k + 1} of {rounds}")
            for part, peer, ours, theirs in once():
                if min(ours, theirs) <= 0.0:  # the clock of a virtual machine may stand still for a while
                    continue
                row = rows.setdefault(f"{part} / {peer}", Row(part, peer))
                row.ours.append(ours)
                row.theirs.append(theirs)
    return sorted(rows.values(), key=lambda row: row.ratio), sorted(set(missing))


def digits(x: float, count: int) -> str:
    """A number in `count` digits, without an exponent."""
    return f"{float(f'{x:.{count}g}'):g}"


def seconds(x: float) -> str:
    """A time in three digits, in the unit that suits it."""
    scale, unit = next((one for one in ((1, "s"), (1e3, "ms"), (1e6, "µs")) if x * one[0] >= 1), (1e9, "ns"))
    return f"{digits(scale * x, 3)} {unit}"


def cells(row: Row) -> list[str]:
    ratio, low, high = (digits(x, 2) for x in (row.ratio, row.ratios.min(), row.ratios.max()))
    times = [seconds(min(part)) for part in (row.ours, row.theirs)]
    return [row.name, row.peer, *times, f"**{ratio}**" if row.ratio < 1 else ratio, f"{low} to {high}"]


HEAD = ["work", "peer", "chasles", "peer's time", "ratio", "spread"]


def falls(rows: list[Row]) -> list[str]:
    """Ratios that fell by more than a fifth below the recorded ones."""
    if not RECORD.exists():
        return []
    known = json.loads(RECORD.read_text(encoding="utf-8"))
    return [
        f"{row.key}: {row.ratio:.2f}, recorded {known[row.key]:.2f}"
        for row in rows
        if row.ratio < (1 - FALL) * known.get(row.key, 0.0)
    ]


def draw(rows: list[Row]) -> None:
    """Bars by work on a logarithmic axis, red where the peer is faster."""
    from chasles.display import style

    with style.drawing():
        figure = style.picture(10.0, 0.28 * len(rows) + 1.0)
        axes, places = figure.subplots(), np.arange(len(rows))[::-1]
        axes.set_axisbelow(True)
        end = max(2.3, np.log10(max(row.ratios.max() for row in rows)) + 0.3)
        colors = ["#c0392b" if row.ratio < 1 else "#2c6fad" for row in rows]
        axes.barh(places, [np.log10(row.ratio) for row in rows], color=colors, height=0.7)
        for place, row in zip(places, rows, strict=True):
            axes.plot(np.log10(row.ratios), np.full(len(row.ratios), place), ".", color="black", markersize=3)
            axes.text(end - 0.05, place, digits(row.ratio, 2), va="center", ha="right", fontsize=10)
        axes.set_yticks(places, [f"{row.name} ({row.peer})" for row in rows], fontsize=10)
        axes.set_ylim(-0.8, len(rows) - 0.2)
        ticks = [0.5, 1, 2, 5, 10, 20, 50, 100, *([200, 500] if end > 2.5 else [])]
        axes.set_xticks(np.log10(ticks), [f"{tick:g}" for tick in ticks])
        axes.set_xlim(np.log10(min(0.4, 0.8 * rows[0].ratio)), end)
        axes.axvline(0.0, color="black", linewidth=0.8)
        axes.set_xlabel("peer's processor time over ours: how many times faster chasles is")
        style.write(figure, PICTURE)


def run(names: list[str], rounds: int = 3, record: bool = False) -> int:
    """Measure, print and, if asked, write the page; the exit status: 3 if a ratio fell."""
    unknown = [name for name in names if name not in WORKS]
    if unknown:
        raise ValueError(f"bench: there is no work {unknown[0]!r}; there are {', '.join(WORKS)}")
    rows, missing = measured(names or list(WORKS), rounds, lambda text: print(text, file=sys.stderr, flush=True))
    table = page.table(HEAD, [cells(row) for row in rows])
    print(table)
    print(page.left_out(missing))
    fallen = falls(rows)
    for line in fallen:
        print(f"warning: a ratio fell by more than {FALL:.0%}: {line}")
    limits: list[list[str]] = []
    most = 0.0
    if not names or record:
        print("\nDistance to the processor's limit:\n")
        limits, most = processor_limit.rows()
        print(page.table(processor_limit.HEAD, limits))
    if record:
        draw(rows)
        RECORD.write_text(json.dumps({row.key: round(row.ratio, 3) for row in rows}, indent=1) + "\n", encoding="utf-8")
        found = ("pinocchio", "exudyn", "mujoco", "pydrake", "scipy", "jaxlie")
        names_of = {"pinocchio": "pin", "pydrake": "drake"}
        present = [names_of.get(name, name) for name in found if importlib.util.find_spec(name)]
        below = sum(row.ratio < 1 for row in rows)
        page.write(
            page.DOCS / "benchmarks" / "board.md",
            machine=page.machine(),
            versions=page.versions("chasles", "numpy", "numba", *present),
            missing=page.left_out(missing),
            count=str(len(rows)),
            below=str(below),
            table=table,
            limits=page.table(processor_limit.HEAD, limits),
            most=f"{most / 1e9:.0f}",
        )
    return 3 if fallen else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("works", nargs="*", help=f"by default all: {', '.join(WORKS)}")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    options = parser.parse_args()
    sys.exit(run(options.works, options.rounds, options.write))


if __name__ == "__main__":
    main()
