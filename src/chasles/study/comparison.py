"""What a comparison leaves: rows, a table, a summary, a CSV file and a picture of work and precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from chasles.absolute.space import SE3_NAME, SO3XR3_NAME
from chasles.cached import cached_property
from chasles.display import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

AUTO = "auto"
OWN = "own"  # of methods that solve the constrained equations themselves
SHOWN_JOINTS = 8  # joints with lines of their own in a summary
SMALL = 1e-12  # a picture of rounding errors alone does not magnify them
NOISE = 10.0  # errors within this factor of the reference's own are not compared
WORK = {"evaluations": "evaluations", "steps": "steps", "seconds": "time [s]", "step": "step size $h$ [s]"}
LINES: dict[str, Any] = {SE3_NAME: "-", SO3XR3_NAME: "--", AUTO: ":"}
SHOWN = {SE3_NAME: "SE(3)", SO3XR3_NAME: "SO(3) × ℝ³", AUTO: "auto"}


@dataclass(frozen=True)
class Row:
    """One run. Violations and the energy error are the largest of the run; errors are at the end; time is the fastest
    of a few runs."""

    method: str
    order: int
    space: str
    stabilization: str
    step: float  # [s]
    steps: int
    evaluations: int
    seconds: float
    position: float  # violation of the joints, [m] or [rad]
    velocity: float  # the same of their rates
    energy: float  # [J]
    error: float  # of a position [m] or a rotation [rad]
    velocity_error: float  # of a body twist [rad/s, m/s]
    joints: tuple[float, ...]  # position violation of each joint
    message: str = ""  # why there are no numbers
    index: int = 1  # of the equations that the method solves


@dataclass(frozen=True)
class Ratio:
    """SE(3) over SO(3) x R3 in one quantity at equal method and step: geometric mean, least and largest."""

    stabilization: str
    quantity: str
    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """All runs of a study. `reference` says what errors are against; `reference_error` is how far two such runs, on
    different groups, are apart."""

    name: str
    span: tuple[float, float]
    joint_names: tuple[str, ...]
    rows: tuple[Row, ...]
    reference_error: float
    complete: bool = True  # or interrupted
    reference: str = "order 8 at 1e-13"

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.method for row in self.rows))

    @property
    def spaces(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.space for row in self.rows))

    @property
    def stabilizations(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.stabilization for row in self.rows))

    @property
    def step_sizes(self) -> tuple[float, ...]:
        return tuple(sorted({row.step for row in self.rows}, reverse=True))

    def select(self, **wanted: Any) -> tuple[Row, ...]:
        """Rows with given values, as in select(method="rk4", space="SE3"), from long to short steps."""
        found = [row for row in self.rows if all(getattr(row, name) == value for name, value in wanted.items())]
        return tuple(sorted(found, key=lambda row: -row.step))

    def order(self, method: str, space: str, stabilization: str) -> float:
        """Order observed between the two shortest steps whose errors stand out from the reference's own."""
        rows = self.select(method=method, space=space, stabilization=stabilization)
        clear = [row for row in rows if row.error > NOISE * self.reference_error]
        if len(clear) < 2:
            return float("nan")
        a, b = clear[-2:]
        return float(np.log(a.error / b.error) / np.log(a.step / b.step))

    # ------------------------------------------------------------ SE(3) against SO(3) x R3

    @cached_property
    def ratios(self) -> tuple[Ratio, ...]:
        """SE(3) over SO(3) x R3: what the choice of the group buys, and what it costs."""
        quantities: dict[str, Callable[[Row], float]] = {"position violation": lambda row: row.position}
        if 1 < len(self.joint_names) <= SHOWN_JOINTS:
            for k, name in enumerate(self.joint_names):
                quantities[f"position violation of {name}"] = lambda row, k=k: row.joints[k]  # type: ignore[misc]
        quantities |= {
            "velocity violation": lambda row: row.velocity,
            "energy error": lambda row: row.energy,
            "error at the end": lambda row: row.error if row.error > NOISE * self.reference_error else np.nan,
            "time": lambda row: row.seconds,
        }
        found = []
        for stabilization in self.stabilizations:
            for quantity, value in quantities.items():
                numbers = self._pairs(stabilization, value)
                if len(numbers):
                    mean = float(np.exp(np.log(numbers).mean()))
                    found.append(Ratio(stabilization, quantity, mean, float(numbers.min()), float(numbers.max())))
        return tuple(found)

    def _pairs(self, stabilization: str, value: Callable[[Row], float]) -> np.ndarray:
        table = {
            (row.space, row.method, row.step): value(row) for row in self.rows if row.stabilization == stabilization
        }
        ratios = [
            table[SE3_NAME, method, step] / other
            for (space, method, step), other in table.items()
            if space == SO3XR3_NAME and (SE3_NAME, method, step) in table and other > 0
        ]
        return np.array([ratio for ratio in ratios if np.isfinite(ratio) and ratio > 0])

    def ratio(self, stabilization: str, quantity: str) -> Ratio:
        for found in self.ratios:
            if (found.stabilization, found.quantity) == (stabilization, quantity):
                return found
        raise KeyError(f"comparison: no ratio {quantity!r} for stabilization {stabilization!r}")

    # ------------------------------------------------------------ showing

    def table(self, step: float | None = None) -> Table:
        """The rows at one step, by default the middle one."""
        sizes = self.step_sizes
        wanted = sizes[len(sizes) // 2] if step is None else float(step)
        step = min(sizes, key=lambda h: abs(h - wanted))
        start, end = self.span
        title = f"{self.name}, t = {start:g} to {end:g} s in steps of {step:.4g} s"
        table = Table(title=title, box=SIMPLE_HEAD, padding=(0, 1, 0, 0), pad_edge=False)
        shown = [
            [_cells(row, self.order(method, row.space, row.stabilization)) for row in rows]
            for method in self.methods
            if (rows := self.select(method=method, step=step))
        ]
        words = ("method", "index", "space", "stabilized")
        numbers = ("joints [m]", "joints [m/s]", "energy [J]", "error", "order", "calls", "time [ms]")
        for k, name in enumerate((*words, *numbers)):  # on narrow screens names are folded, and nothing is cut
            widths = [len(word) for word in name.split()] + [len(cells[k]) for group in shown for cells in group]
            table.add_column(escape(name), justify="left" if name in words else "right", min_width=max(widths))
        for group in shown:
            for k, cells in enumerate(group):
                table.add_row(*cells, end_section=k == len(group) - 1)
        return table

    def summary(self) -> Table:
        """SE(3) over SO(3) x R3 as a table."""
        table = Table(title="SE(3) over SO(3) × ℝ³ at equal method and step: below 1 SE(3) is better")
        for name in ("stabilized", "quantity"):
            table.add_column(name)
        for name in ("geometric mean", "least", "largest"):
            table.add_column(name, justify="right")
        for k, found in enumerate(self.ratios):
            last = k + 1 == len(self.ratios) or self.ratios[k + 1].stabilization != found.stabilization
            numbers = (f"{x:.3g}" for x in (found.mean, found.low, found.high))
            table.add_row(found.stabilization, escape(found.quantity), *numbers, end_section=last)
        return table

    def recommendation(self, error: float | None = None) -> str:
        """The fastest run with a final error below `error`, by default the geometric mean of all errors.

        Also the run that keeps the energy best, and the fastest that holds the joints to rounding.
        """
        rows = [row for row in self.rows if np.isfinite(row.error)]
        if not rows:
            return "no run succeeded: try shorter steps; for stiff systems implicit methods, such as radau5"
        if error is None:
            error = float(np.exp(np.mean([np.log(max(row.error, 1e-16)) for row in rows])))
        wanted = {
            f"fastest to an error below {error:.1e}": ([row for row in rows if row.error <= error], "seconds"),
            "smallest energy error": (rows, "energy"),
            "fastest with joints closed to 1e-12": ([row for row in rows if row.position < 1e-12], "seconds"),
        }
        lines = []
        for what, (found, quantity) in wanted.items():
            if not found:
                lines.append(f"{what}: none of these runs")
                continue
            best = min(found, key=lambda row: getattr(row, quantity))
            lines.append(
                f"{what}: {best.method} (index {best.index}) on {best.space}, stabilized: {best.stabilization}, "
                f"step {best.step:.3g} s: error {best.error:.1e}, energy error {best.energy:.1e} J, "
                f"{1e3 * best.seconds:.2f} ms"
            )
        return "\n".join(lines)

    def csv(self) -> str:
        """All rows as comma-separated values."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(
            [
                *("method", "order", "space", "stabilization", "step [s]", "steps", "evaluations", "time [s]"),
                *("position violation", "velocity violation", "energy error [J]", "error", "velocity error"),
                *(f"position violation of {name}" for name in self.joint_names),
                *("index", "message"),
            ]
        )
        for row in self.rows:
            numbers = (row.position, row.velocity, row.energy, row.error, row.velocity_error, *row.joints)
            key = (row.method, row.order, row.space, row.stabilization, f"{row.step:.17g}", row.steps, row.evaluations)
            writer.writerow([*key, f"{row.seconds:.6g}", *(f"{x:.6g}" for x in numbers), row.index, row.message])
        return text.getvalue()

    def plot(self, file: str | Path | None = None, *, against: str = "evaluations") -> Canvas:
        """Error, violation and energy error against work; one row of pictures for each stabilization.

        against: "evaluations", which unlike times are the same on every machine, "steps", "seconds" or "step" (size).
        The ending of `file` says in which form it is written: .pdf, .svg, .png, ...
        """
        if against not in WORK:
            raise ValueError(f"Comparison.plot: against {against!r}; expected {', '.join(WORK)}")
        with style.drawing():
            count = len(self.stabilizations)
            canvas = style.picture(12.5, 3.6 * count + 0.5)
            for k, stabilization in enumerate(self.stabilizations):
                for column, (quantity, label) in enumerate(
                    (
                        ("error", "error at the end [m or rad]"),
                        ("position", "largest violation [m]"),
                        ("energy", "largest error [J]"),
                    )
                ):
                    axes = canvas.add_subplot(count, 3, 3 * k + column + 1)
                    self._draw(axes, stabilization, quantity, against)
                    title = {"error": "error", "position": "violation of the joints", "energy": "energy error"}[
                        quantity
                    ]
                    state = {"none": "not stabilized", OWN: "constrained equations"}.get(
                        stabilization, f"with {stabilization}"
                    )
                    axes.set(xlabel=WORK[against], ylabel=label)
                    axes.set_title(f"{self.name}: {title}, {state}")
            self._legend(canvas)
        if file is not None:
            style.write(canvas, file)
        return canvas

    def _draw(self, axes: Any, stabilization: str, quantity: str, against: str) -> None:
        for k, method in enumerate(self.methods):
            for space in self.spaces:
                rows = self.select(method=method, space=space, stabilization=stabilization)
                if rows:
                    work, size = ([getattr(row, name) for row in rows] for name in (against, quantity))
                    style.work_line(axes, work, size, k, LINES.get(space, "-."))
        low, high = axes.get_ylim()
        axes.set_ylim(min(low, 1e-17) if high < SMALL else low, max(high, SMALL))
        if quantity == "error" and low <= self.reference_error <= high:
            axes.axhline(self.reference_error, color="#9aa0a8", linewidth=0.8)
            place: Any = {"xy": (0.01, self.reference_error), "xycoords": ("axes fraction", "data"), "xytext": (0, 2)}
            axes.annotate("error of the reference", textcoords="offset points", fontsize=7, color="#6b7078", **place)

    def _legend(self, canvas: Any) -> None:
        from matplotlib.lines import Line2D

        handles = [
            Line2D([], [], **style.marked(k), markerfacecolor="none", label=method)
            for k, method in enumerate(self.methods)
        ]
        handles += [
            Line2D([], [], color="#33373d", linestyle=LINES.get(space, "-."), label=SHOWN.get(space, space))
            for space in self.spaces
        ]
        canvas.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 10))

    def save(self, folder: Path | str) -> list[Path]:
        """Write the rows (CSV) and the picture (PNG); returns the files."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        table = style.put(self.csv().encode(), place / "comparison.csv")
        self.plot(place / "comparison.png")
        return [table, place / "comparison.png"]


def _cells(row: Row, order: float) -> list[str]:
    numbers = [row.position, row.velocity, row.energy, row.error]
    cells = [f"{x:.0e}" for x in numbers] if not row.message else ["failed", "", "", ""]
    observed = f"{order:.1f} ({row.order})" if np.isfinite(order) else f"({row.order})"
    return [
        row.method,
        str(row.index),
        row.space,
        row.stabilization,
        *cells,
        observed,
        str(row.evaluations),
        f"{1e3 * row.seconds:.2f}",
    ]
