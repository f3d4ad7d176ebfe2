"""The figure of a run if nothing else is asked for: what it looks like, and how good it is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.study import style
from chasles.view.plot import add_axes, draw
from chasles.view.plot_axes import name_lines
from chasles.view.plot_panel import Panel
from chasles.view.plot_quantities import panels
from chasles.view.words import described

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEFT = (780, 750)  # pixels of the picture


def overview(labelled: Mapping[str, Any]) -> Figure:
    """The mechanism with its trail, energy, its error, violation of the joints (or steps); runs side by side share
    axes."""
    runs = list(labelled.values())
    first = runs[0]
    wanted = _panels(first)
    others = [_panels(run) for run in runs[1:]]
    if any([p.label for p in made] != [p.label for p in wanted] for made in others):
        raise ValueError("plot: these runs are in different coordinates; name what to draw, such as energy")
    with style.drawing():
        figure = style.picture(10.4, 5.2)
        grid = figure.add_gridspec(3, 2, width_ratios=(1.0, 1.15))
        drawn = figure.add_subplot(grid[:, 0])
        drawn.set_axis_off()
        drawn.set_anchor("N")
        drawn.set_title(_title(first, several=len(runs) > 1), loc="left")
        if len(first):
            drawn.imshow(_still(first), interpolation="lanczos")
        axes = [add_axes(figure, grid[k, 1], panel) for k, panel in enumerate(wanted)]
        draw(axes, wanted, labelled, others)
        if len(runs) > 1 and (legend := axes[0].get_legend()):  # the axes below name the runs
            named = zip(legend.get_texts(), legend.legend_handles, strict=True)
            lines = {text.get_text(): handle for text, handle in named}
            name_lines(axes[0], dict(list(lines.items())[: -len(runs)]), alone=False)
        for one in axes[:-1]:
            one.set_xlabel("")
            one.tick_params(labelbottom=False)
        figure.align_ylabels(axes)
    return figure


def _panels(run: Any) -> list[Panel]:
    holds = hasattr(type(run), "violations") and run.mechanism.constraint_names
    names = ("energy", "balance", "drift" if holds else "steps")
    return [panel for name in names for panel in panels(run, name)]


def _still(run: Any) -> np.ndarray:
    """The mechanism in the middle of the run, with the path up to then."""
    from chasles.view.picture import FINE, Film

    film = Film(run, LEFT)
    return film.image((film.first + film.last) / 2, FINE)


def _title(run: Any, several: bool) -> str:
    name = style.plain(run.mechanism.system.name or "run")
    when = f" at $t = {(run.t[0] + run.t[-1]) / 2:.4g}$ s" if len(run) else ""
    return f"{name}{when}" + ("" if several else f"\n{style.plain(described(run))}: {style.plain(_ended(run))}")


def _ended(run: Any) -> str:
    message = run.message
    steps = f"{run.solution.steps} steps"
    return f"{steps}, {message if len(message) < 44 else message[:40] + ' ...'}"
