"""The figure of a run if nothing else is asked for: what it looks like, and how good it is."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.display import style
from chasles.display.formulas import written
from chasles.view.method_text import described
from chasles.view.plot import add_axes, draw, same_panels
from chasles.view.plot_axes import name_lines
from chasles.view.plot_panel import Panel
from chasles.view.plot_quantities import panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = 10.4, 5.2  # inches
STROKES = ("solid", "dashed", "dotted", "dash-dotted")  # as style.LINES
ACROSS, ROWS = 140, 4  # characters and lines of the heading
LEFT = (780, 750)  # pixels of the picture


def overview(labeled: Mapping[str, Any], size: tuple[float, float] | None = None) -> Figure:
    """The mechanism with its trail, energy, its error, violation of the joints (or steps); runs side by side share
    axes."""
    runs = list(labeled.values())
    first = runs[0]
    wanted, *others = same_panels({label: _panels(run) for label, run in labeled.items()})
    with style.drawing():
        figure = style.picture(*style.inches(size, SIZE), one_grid=True)
        figure.suptitle(_heading(labeled), x=0.005, ha="left", fontsize=11)
        grid = figure.add_gridspec(3, 2, width_ratios=(1.0, 1.15))
        drawn = figure.add_subplot(grid[:, 0])
        drawn.set_axis_off()
        drawn.set(xticks=(), yticks=())  # they would be measured all the same
        drawn.set_anchor("NW")
        if len(first):
            drawn.set_title(written(f"$t = {(first.t[0] + first.t[-1]) / 2:.4g}$ s"), loc="left")
            # with an alpha channel: matplotlib adds one of float64, and computes with twice as many bytes from there on
            drawn.imshow(_opaque(_still(first)), interpolation="hanning")
        axes = [add_axes(figure, grid[k, 1], panel) for k, panel in enumerate(wanted)]
        draw(axes, wanted, labeled, others)
        if len(runs) > 1 and (legend := axes[0].get_legend()):  # the heading tells the lines of the runs
            named = zip(legend.get_texts(), legend.legend_handles, strict=True)
            lines = {text.get_text(): handle for text, handle in named}
            name_lines(axes[0], dict(list(lines.items())[: -len(runs)]), alone=False)
        for one in axes[:-1]:
            one.set_xlabel("")
            one.tick_params(labelbottom=False)
        style.align(figure, axes)
    return figure


def _panels(run: Any) -> list[Panel]:
    names = ("energy", "energy.drift", "drift" if run.constraints else "steps")
    return [panel for name in names for panel in panels(run, name)]


def _still(run: Any) -> np.ndarray:
    """The mechanism in the middle of the run, with the path up to then."""
    from chasles.view.picture import FINE, Film

    film = Film(run, LEFT)
    return film.image((film.first + film.last) / 2, FINE)


def _opaque(image: np.ndarray) -> np.ndarray:
    """Pixels (rows, columns, 3) as red, green, blue and an alpha of 255."""
    return np.concatenate([image, np.full((*image.shape[:2], 1), 255, dtype=np.uint8)], axis=2)


def _heading(labeled: Mapping[str, Any]) -> str:
    """What was run and how it ended; of several runs, how their lines differ, and which of them failed."""
    first = next(iter(labeled.values()))
    name = first.mechanism.system.name or "run"
    if len(labeled) == 1:
        said = [f"{name}: {described(first)}; {first.solution.steps} steps, {first.message}"]
    else:
        drawn = ", ".join(f"{label} {line}" for label, line in zip(labeled, STROKES, strict=False))
        said = [f"{name}; energies: {drawn}"]
        said += [f"{label}: {run.message}" for label, run in labeled.items() if not run.success]
    rows = [row for text in said for row in textwrap.wrap(text, ACROSS)]
    shown = rows if len(rows) <= ROWS else [*rows[:ROWS], "…"]
    return "\n".join(style.plain(row, ACROSS) for row in shown)
