"""The board: problems, their rows, and how they are run and shown."""

from __future__ import annotations

import importlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

import chasles as ch
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from chasles.simulation.run import Run

MODULES = (
    "source_papers", "published", "tops", "classical_motions", "linkages", "spatial_mechanisms", "oscillations",
    "elastic_rods",
)  # fmt: skip


@dataclass(frozen=True)
class KnownValue:
    """One quantity: the known value, ours, and how far they may be apart."""

    quantity: str
    known: np.ndarray
    ours: np.ndarray
    tolerance: float  # largest absolute difference of a component
    unit: str = ""

    @property
    def difference(self) -> float:
        """The largest absolute difference of a component."""
        return float(np.max(np.abs(self.ours - self.known)))

    @property
    def passed(self) -> bool:
        """Whether all components agree. A number that is none does not."""
        return bool(self.difference <= self.tolerance)

    @property
    def share(self) -> float:
        """The difference as a part of what is allowed."""
        if self.tolerance == 0.0:
            return 0.0 if self.difference == 0.0 else np.inf
        return self.difference / self.tolerance


@dataclass(frozen=True)
class Problem:
    """A benchmark problem: its name, where its values are from, and the function that computes its rows."""

    name: str
    title: str
    source: str
    rows: Callable[[], list[KnownValue]]
    peers: bool = False  # whether other programs can compute it


@dataclass(frozen=True)
class Result:
    """What became of a problem."""

    problem: Problem
    rows: list[KnownValue]
    seconds: float  # of processor time
    error: str = ""  # why there are no rows
    peers: dict[str, list[KnownValue]] = field(default_factory=dict)  # the same rows by other programs, by their names

    @property
    def passed(self) -> bool:
        return not self.error and bool(self.rows) and all(row.passed for row in self.rows)

    @property
    def worst(self) -> KnownValue | None:
        """The row that is closest to its tolerance, or beyond it by most."""
        return max(self.rows, key=lambda one: (not one.passed, one.share), default=None)


PROBLEMS: dict[str, Problem] = {}


def problem(
    source: str, peers: bool = False
) -> Callable[[Callable[[], list[KnownValue]]], Callable[[], list[KnownValue]]]:
    """Puts a function on the board; its docstring is the title. source: a key of the bibliography, or a text. peers:
    whether other programs can compute it, through `simulate` or `tree` of this module."""

    def entered(function: Callable[[], list[KnownValue]]) -> Callable[[], list[KnownValue]]:
        name = function.__name__
        title = (function.__doc__ or name).split("\n")[0].rstrip(".")
        if name in PROBLEMS:
            raise ValueError(f"validation: there are two problems {name!r}")
        PROBLEMS[name] = Problem(name, title, source, function, peers)
        return function

    return entered


def row(quantity: str, known: ArrayLike, ours: ArrayLike, tolerance: float, unit: str = "") -> KnownValue:
    """A row, with values as arrays of one shape."""
    k, o = np.atleast_1d(np.asarray(known, dtype=float)), np.atleast_1d(np.asarray(ours, dtype=float))
    if k.shape != o.shape:
        raise ValueError(f"validation: {quantity}: known values have the shape {k.shape}, ours {o.shape}")
    return KnownValue(quantity, k, o, tolerance, unit)


RUNS: list[Run] = []  # of the problem that was computed last
MODELS: list[System] = []
BESIDE: list[Callable[[System], Any]] = []  # what makes the trees of the program that computes instead of ours


def simulate(system: System, *given: Any, **options: Any) -> Run:
    """`chasles.simulate`; the run is remembered, for the files of its problem."""
    run = remembered(ch.simulate(system, *given, **options))
    if not BESIDE:
        return run
    assert isinstance(run.mechanism, Mechanism)
    y, count = run.solution.y.copy(), run.mechanism.nq
    y[:, :count], y[:, count : count + run.mechanism.nv] = BESIDE[0](system).motion(run.t, run.q[0], run.v[0])
    return replace(run, solution=replace(run.solution, y=y))


def remembered(run: Run) -> Run:
    """The run itself; it is kept for the files of its problem."""
    RUNS.append(run)
    return run


def modeled(system: System) -> System:
    """The system itself; it is remembered as the model of its problem, where nothing is simulated."""
    MODELS.append(system)
    return system


def tree(system: System) -> Any:
    """The model of a problem, compiled by us or by the program that runs beside."""
    return BESIDE[0](system) if BESIDE else modeled(system).compile()


def problems() -> dict[str, Problem]:
    """All problems by name, in the order of the board."""
    for name in MODULES:
        importlib.import_module(f"chasles.validation.{name}")
    # whoever imported them first, and in whatever order
    ordered = sorted(PROBLEMS.items(), key=lambda one: MODULES.index(one[1].rows.__module__.rpartition(".")[2]))
    return dict(ordered)


def compute(wanted: list[Problem], peers: Mapping[str, Callable[[System], Any]] | None = None) -> Iterator[Result]:
    """The results one by one, beside those of `peers`. A problem that fails to run is a result, too."""
    for one in wanted:
        began = time.process_time()
        RUNS.clear()
        MODELS.clear()
        try:
            rows, error = one.rows(), ""
        except (ValueError, RuntimeError, ArithmeticError, np.linalg.LinAlgError) as failure:
            rows, error = [], f"{type(failure).__name__}: {failure}"
        result = Result(one, rows, time.process_time() - began, error)
        made = list(RUNS), list(MODELS)
        for name, make in (peers or {}).items() if one.peers else ():
            with suppress(NotImplementedError):
                result.peers[name] = by_peer(one, make)
        RUNS[:], MODELS[:] = made
        yield result


def by_peer(one: Problem, make: Callable[[System], Any]) -> list[KnownValue]:
    """The rows of a problem by another program; NotImplementedError if it cannot."""
    BESIDE.append(make)
    try:
        return one.rows()
    finally:
        BESIDE.clear()


def shown(values: np.ndarray, digits: int = 10) -> str:
    """Numbers as text; of many, the first three."""
    flat = values.ravel()
    text = ", ".join(f"{value:.{digits}g}" for value in flat[:3])
    return text if len(flat) <= 3 else f"{text}, ... ({len(flat)} numbers)"


def overview(results: list[Result]) -> list[list[str]]:
    """One line for each problem: title, source, how many quantities agree, what is closest to its tolerance, the
    difference there and what is allowed, who computed it beside chasles, and processor time [s]."""
    lines = []
    for result in results:
        agreed, worst = sum(row.passed for row in result.rows), result.worst
        count = f"{agreed} of {len(result.rows)}"
        told = (
            ["", result.error] if worst is None else [worst.quantity, f"{worst.difference:.1e} ≤ {worst.tolerance:.1e}"]
        )
        if worst is not None and not worst.passed:
            told[1] = f"**{worst.difference:.1e} > {worst.tolerance:.1e}**"
        line = [result.problem.title, result.problem.source, count, *told, ", ".join(result.peers)]
        lines.append([*line, f"{result.seconds:.1f}"])
    return lines


HEADS = ["problem", "source of the known values", "agree", "closest to its tolerance", "difference", "beside", "s"]


def anchor(title: str) -> str:
    """Where a heading is on a page."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def markdown(results: list[Result]) -> str:
    """The board as a page of the documentation."""
    rows = [row for result in results for row in result.rows]
    lines = [
        "# Validation board",
        "",
        f"{len(results)} problems, {len(rows)} quantities, {sum(row.passed for row in rows)} within their tolerance.",
        "`chasles validate` recomputes the table; `chasles validate NAME` runs one problem.",
        "`chasles validate NAME --files FOLDER` writes the model file, 3D page and plot of the problem.",
        "This page is written by `chasles validate -o docs/validation.md --badge docs/_static/validation.svg`.",
        "Vectors are compared component by component; the tables show their first three numbers.",
        "Known values without a citation are closed forms, or solutions of other equations by SciPy.",
        "Where Pinocchio or MuJoCo can compute a problem and are installed, the last columns have their differences.",
        "SciPy's DOP853 integrates Pinocchio's accelerations (1e-12); MuJoCo takes steps of its RK4 of at most 0.2 ms.",
        "",
        "## All problems",
        "",
        "Of each problem the quantity that is closest to its tolerance; all quantities are below.",
        "",
        *(f"| {' | '.join(cells)} |" for cells in (HEADS, ["---"] * len(HEADS))),
        *(f"| [{title}](#{anchor(title)}) | {' | '.join(cells)} |" for title, *cells in overview(results)),
        "",
    ]
    for result in results:
        lines += [
            f"## {result.problem.title}",
            "",
            f"`{result.problem.name}`, {result.seconds:.1f} s. Known values: {result.problem.source}.",
            "",
        ]
        beside = "".join(f" {name} |" for name in result.peers)
        lines += [f"| quantity | known | chasles | difference | tolerance | |{beside}"]
        lines += ["|---|---|---|---|---|---|" + "---|" * len(result.peers)]
        for k, one in enumerate(result.rows):
            unit = f" [{one.unit}]" if one.unit else ""
            verdict = "ok" if one.passed else "**off**"
            numbers = f"{shown(one.known)} | {shown(one.ours)} | {one.difference:.1e} | {one.tolerance:.1e}"
            others = "".join(f" {rows[k].difference:.1e} |" for rows in result.peers.values())
            lines.append(f"| {one.quantity}{unit} | {numbers} | {verdict} |{others}")
        if result.error:
            lines.append(f"| {result.error} | | | | | **off** |{' |' * len(result.peers)}")
        lines.append("")
    return "\n".join(lines)


def badge(results: list[Result]) -> str:
    """A small picture (SVG) that says how many quantities agree."""
    rows = [row for result in results for row in result.rows]
    agreed, color = sum(row.passed for row in rows), "#2e7d32" if all(one.passed for one in results) else "#c0392b"
    text = f"{len(results)} problem{'' if len(results) == 1 else 's'}, {agreed} of {len(rows)} values agree"
    left, right = 66, 8 + round(6.1 * len(text))
    words = f'<text x="6" y="14">validation</text><text x="{left + 5}" y="14">{text}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{text}">'
        f'<rect width="{left + right}" height="20" rx="3" fill="#444"/>'
        f'<path d="M{left} 0h{right - 3}a3 3 0 0 1 3 3v14a3 3 0 0 1-3 3h-{right - 3}z" fill="{color}"/>'
        f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">{words}</g></svg>\n'
    )
