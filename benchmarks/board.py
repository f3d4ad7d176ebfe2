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
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import page

RECORD = page.DOCS / "benchmarks" / "board.json"
PICTURE = page.DOCS / "_static" / "board.png"
FALL = 0.2  # of a recorded ratio, beyond which there is a warning

# what a work yields in each round: the part of the work, the peer, our time and theirs [s], and the unit of both
Timed = tuple[str, str, float, float, str]


@dataclass
class Row:
    """A part of a work against one peer."""

    name: str
    peer: str
    unit: str
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


WORKS: dict[str, tuple[str, Callable[[], Callable[[], Iterator[Timed]]]]] = {}


def work(name: str, *needs: str) -> Callable[[Any], Any]:
    """Register a work: a function that checks agreement and returns a function that times one round."""

    def add(prepare: Any) -> Any:
        WORKS[name] = needs[0], prepare
        return prepare

    return add


# ---------------------------------------------------------------- trees, against Pinocchio


@work("trees", "pinocchio")
def trees() -> Callable[[], Iterator[Timed]]:
    from benchmarks import derivative_speed, tree_speed
    from chasles.relative.mechanism import Mechanism

    pairs, slopes = {}, {}
    for title in ("arm, 7 joints", "humanoid, 36 velocities"):
        mechanism = Mechanism(tree_speed.MECHANISMS[title]())
        pairs[title] = tree_speed.Pair(mechanism, 1024, tree_speed.CACHED_NUMBERS)
        slopes[title] = derivative_speed.Pair(mechanism, 128)
        pairs[title].deviations()
        slopes[title].deviations()

    def once() -> Iterator[Timed]:
        for title, pair in pairs.items():
            short = title.split(",")[0]
            for name, (_, ours, theirs) in tree_speed.versus_calls(pair).items():
                yield f"{short}: {name}, one checked call", "Pinocchio", ours, theirs, "µs"
            for name, times in tree_speed.versus_batch(pair, pair.raw()).items():
                yield f"{short}: {name}, batch", "Pinocchio", *times, "µs"
            for name, times in derivative_speed.versus(slopes[title], slopes[title].raw()).items():
                yield f"{short}: derivatives of {name}, batch", "Pinocchio", *times, "µs"

    return once


# ---------------------------------------------------------------- absolute coordinates, against Exudyn


@work("absolute", "exudyn")
def absolute() -> Callable[[], Iterator[Timed]]:
    from benchmarks import constrained_speed as explicit
    from benchmarks import implicit_speed as implicit

    sys.exudynFast = True  # type: ignore[attr-defined]  # how Exudyn is told to load its fast module
    error = {step: explicit.top_of_exudyn(step)[0] for step in (1e-3, 1e-4)}
    assert error[1e-4] < error[1e-3] < 1e-2, "Exudyn's top does not converge to the same motion"
    runs = {n: implicit.prepared(implicit.chain(n), implicit.DEFAULT, implicit.STEP) for n in (10, 100)}

    def once() -> Iterator[Timed]:
        for n, run in runs.items():
            theirs = implicit.exudyn_chain(n, max(40, 4000 // n))
            ours = implicit.time_of_steps(run, 4000 // n) / n
            yield f"chain of {n}, generalized alpha, a body and step", "Exudyn", ours, theirs, "µs"
        theirs = explicit.exudyn_chain(100, 100)
        ours = explicit.per_body_and_step(explicit.chain(100), 200)
        yield "chain of 100, RK4 with projection, a body and step", "Exudyn", ours, theirs, "µs"
        for accuracy, own, other in ((1e-3, 2.5e-3, 1e-3), (1e-5, 8e-4, 1e-4)):
            (mine, ours), (yours, theirs) = explicit.top_of_ours(own), explicit.top_of_exudyn(other)
            assert mine <= accuracy, f"heavy top: off by {mine:.1e}"
            reached = "" if yours <= accuracy else f" (Exudyn reaches {yours:.0e})"
            yield f"heavy top, 1 s to {accuracy:g} m{reached}", "Exudyn", ours, theirs, "ms"

    return once


@work("bushings", "exudyn")
def bushings() -> Callable[[], Iterator[Timed]]:
    from benchmarks import bushing_speed as mounts

    sys.exudynFast = True  # type: ignore[attr-defined]
    n, steps = 100, 40
    run = mounts.prepared(mounts.mounted(n), mounts.DEFAULT, mounts.STEP)
    run.advance(steps)
    ours, theirs = run.problem.split(run.point())[0][-1, 6], mounts.exudyn_mounted(n, steps)[1]
    assert abs(ours - theirs) < 1e-3 * abs(theirs), f"the last rod is at {ours}, Exudyn's at {theirs}"

    def once() -> Iterator[Timed]:
        spent = mounts.exudyn_mounted(n, steps)[0]
        yield "100 rods on bushings, a body and step", "Exudyn", mounts.time_of_steps(run, steps) / n, spent, "µs"

    return once


@work("rods", "exudyn")
def rods() -> Callable[[], Iterator[Timed]]:
    from benchmarks import rod_speed

    sys.exudynFast = True  # type: ignore[attr-defined]
    ours, theirs = rod_speed.own_steps(16)[1], rod_speed.exudyn_steps(16)[1]
    assert np.abs(ours - theirs).max() < 0.5, "the free rods are not in the same place"
    assert rod_speed.own_bend(8)[1] < 2e-3

    def once() -> Iterator[Timed]:
        own, other = rod_speed.own_steps(16)[0], rod_speed.exudyn_steps(16)[0]
        yield "free rod of 16 elements, an element and step", "Exudyn", own, other, "µs"
        own, other = rod_speed.own_bend(8)[0], rod_speed.exudyn_bend(95, 20)[0]
        yield "45 degree bend to 1.3e-3", "Exudyn", own, other, "ms"

    return once


# ---------------------------------------------------------------- closed loops and long chains


@work("loops", "pinocchio")
def loops() -> Callable[[], Iterator[Timed]]:
    from benchmarks import closed_speed

    pairs = {("Pinocchio", "accelerations, one call"): closed_speed.against_pinocchio()}
    if importlib.util.find_spec("exudyn") is not None:
        pairs["Exudyn", "a step of generalized alpha"] = closed_speed.against_exudyn()

    def once() -> Iterator[Timed]:
        for (peer, what), systems in pairs.items():
            for name, (ours, theirs) in systems.items():
                yield f"{name}: {what}", peer, ours(), theirs(), "µs"

    return once


@work("chains", "mujoco")
def chains() -> Callable[[], Iterator[Timed]]:
    from benchmarks import long_chain_speed as long

    pairs = {n: long.pairs(n) for n in (100, 1000, 10_000)}

    def once() -> Iterator[Timed]:
        for n, (ours, others) in pairs.items():
            for peer, call in others.items():
                yield f"chain of {n}: accelerations, one call", peer, long.spent(ours), long.spent(call), "µs"

    return once


# ---------------------------------------------------------------- ensembles and trees, against MuJoCo


@work("ensembles", "mujoco")
def ensembles() -> Callable[[], Iterator[Timed]]:
    import chasles as ch
    from benchmarks import batch_speed as many
    from chasles.io.load import load

    rng = np.random.default_rng(1)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "arm.xml"
        file.write_text(many.arm(), encoding="utf-8")
        system = load(file).system
    q = rng.normal(size=(many.MEMBERS, len(many.AXES))) * 0.5
    masses = np.array([body.mass for body in system.bodies]) * rng.uniform(0.5, 2.0, (len(q), len(many.AXES)))
    parameters = {f"bodies.{body.name}.mass": masses[:, k] for k, body in enumerate(system.bodies)}
    how: dict[str, Any] = {"method": "rk4", "step": many.STEP, "parameters": parameters, "threads": many.THREADS}
    peer = many.Peer(many.arm(), masses, q)

    def ours() -> np.ndarray:
        return ch.simulate_batch(system, (0.0, many.STEPS * many.STEP), q, **how).ends.q

    assert np.abs(ours() - peer.run("rk4")).max() < many.AGREEMENT

    def spent(call: Callable[..., Any], *given: Any) -> float:
        began = time.process_time()
        call(*given)
        return (time.process_time() - began) / (many.MEMBERS * many.STEPS)

    def once() -> Iterator[Timed]:
        own = spent(ours)
        for name in ("rk4", "euler"):
            other = spent(peer.run, name)
            yield f"ensemble of {many.MEMBERS} arms, a step of RK4", f"MuJoCo, {name}", own, other, "µs"

    return once


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
            for part, peer, ours, theirs, unit in once():
                row = rows.setdefault(f"{part} / {peer}", Row(part, peer, unit))
                row.ours.append(ours)
                row.theirs.append(theirs)
    return sorted(rows.values(), key=lambda row: row.ratio), sorted(set(missing))


def cells(row: Row) -> list[str]:
    scale = 1e6 if row.unit == "µs" else 1e3
    ours, theirs = (f"{scale * min(times):.3g} {row.unit}" for times in (row.ours, row.theirs))
    low, high = row.ratios.min(), row.ratios.max()
    return [row.name, row.peer, ours, theirs, f"**{row.ratio:.2g}**" if row.ratio < 1 else f"{row.ratio:.2g}",
            f"{low:.2g} to {high:.2g}"]  # fmt: skip


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
        figure = style.picture(8.5, 0.26 * len(rows) + 1.0)
        axes, places = figure.subplots(), np.arange(len(rows))[::-1]
        axes.set_axisbelow(True)
        end = max(2.3, np.log10(max(row.ratios.max() for row in rows)) + 0.3)
        colors = ["#c0392b" if row.ratio < 1 else "#2c6fad" for row in rows]
        axes.barh(places, [np.log10(row.ratio) for row in rows], color=colors, height=0.7)
        for place, row in zip(places, rows, strict=True):
            axes.plot(np.log10(row.ratios), np.full(len(row.ratios), place), ".", color="black", markersize=3)
            axes.text(end - 0.05, place, f"{row.ratio:.2g}", va="center", ha="right", fontsize=7)
        axes.set_yticks(places, [f"{row.name} ({row.peer})" for row in rows], fontsize=7)
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
    if record:
        draw(rows)
        RECORD.write_text(json.dumps({row.key: round(row.ratio, 3) for row in rows}, indent=1) + "\n", encoding="utf-8")
        found = ("pinocchio", "exudyn", "mujoco")
        names_of = {"pinocchio": "pin"}
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
