"""`plot`: quantities of one or several runs, by name, as a figure of matplotlib."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasles.display import style
from chasles.view.method_text import described
from chasles.view.plot_axes import bars, curve, over_time, path, place_title
from chasles.view.plot_panel import BARS, CURVE, OVER_TIME, SPACE, Panel
from chasles.view.plot_quantities import panels
from chasles.view.reduce import gather

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, ROW = 6.4, 2.1  # inches: of a column, and the height of a panel over time
LABEL = 40  # characters of a label of a run


def plot(runs: Any, *names: str, file: str | Path | None = None, size: tuple[float, float] | None = None) -> Figure:
    """Draw quantities of a run, or of several in the same axes, and write the figure if a `file` is given.

    `runs`: a run, runs, or a mapping of labels to runs. The ending of `file` says which form it gets: .pdf, .svg, .png.
    size: width and height [inches]. `names`, by default an overview:

        energy, energy.kinetic (or another of run.energies), energy.drift (of T + V - W)
        drift (violation of the joints), steps, certificate, inputs, forces, events
        joints, joints.NAME, joints.NAME.velocity, joints.NAME.acceleration, phase.NAME
        reactions.NAME, forces.NAME (one of run.force_names)
        bodies.NAME.position, .velocity, .acceleration (in world axes), .orientation, .twist (in its frame), .path;
        frames.NAME the same

    Runs of any length are drawn, a part at a time, with the extremes of each piece of time.
    """
    labeled = labeled_runs(runs)
    if not names:
        from chasles.view.plot_overview import overview

        figure = overview(labeled, size)
    else:
        figure = _figure(labeled, names, size)
    if file is not None:
        style.write(figure, file)
    return figure


def labeled_runs(runs: Any) -> dict[str, Any]:
    """Runs by label; those without one are described."""
    if isinstance(runs, Mapping):
        found = {str(label): run for label, run in runs.items()}
    elif isinstance(runs, Iterable):
        several = list(runs)
        texts = [described(run) for run in several]
        numbered = [f"{text} ({k})" if texts.count(text) > 1 else text for k, text in enumerate(texts, 1)]
        found = dict(zip(numbered, several, strict=True))
    else:
        found = {described(runs): runs}
    if not found:
        raise ValueError("plot: no run is given")
    return found


def _figure(labeled: dict[str, Any], names: Sequence[str], size: tuple[float, float] | None) -> Figure:
    wanted, *others = same_panels({label: _panels(run, names) for label, run in labeled.items()})
    columns = 1 if len(wanted) <= 4 else 2
    rows = -(-len(wanted) // columns)
    heights = [max(_height(panel) for panel in wanted[k * columns : (k + 1) * columns]) for k in range(rows)]
    usual = WIDTH * (1 if columns == 1 else 1.7), sum(heights) + 0.35
    with style.drawing():
        figure = style.picture(*style.inches(size, usual), one_grid=True)
        grid = figure.add_gridspec(rows, columns, height_ratios=heights)
        axes = [add_axes(figure, grid[k // columns, k % columns], panel) for k, panel in enumerate(wanted)]
        draw(axes, wanted, labeled, others)
        for k, (one, panel) in enumerate(zip(axes, wanted, strict=True)):
            above = wanted[k - columns] if k >= columns else None
            if above is not None and above.title == panel.title:
                one.set_title("", loc="left")
            below = wanted[k + columns] if k + columns < len(wanted) else None
            if below is not None and below.kind == panel.kind == OVER_TIME:
                one.set_xlabel("")
                one.tick_params(labelbottom=False)
    return figure


def _panels(run: Any, names: Sequence[str]) -> list[Panel]:
    return [panel for name in names for panel in panels(run, name)]


def same_panels(made: Mapping[str, list[Panel]]) -> list[list[Panel]]:
    """Panels of runs by label, if they show the same of each."""
    first, *others = ([(panel.label, panel.series) for panel in one] for one in made.values())
    for label, shown in zip(list(made)[1:], others, strict=True):
        if shown != first:
            raise ValueError(
                f"plot: {label!r} is another system than the first run, or in other coordinates; name what both have, "
                "such as energy or bodies.NAME.position"
            )
    return list(made.values())


def _height(panel: Panel) -> float:
    return {OVER_TIME: ROW, CURVE: 1.8 * ROW, SPACE: 2.2 * ROW, BARS: 0.7 + 0.28 * len(panel.series)}[panel.kind]


def add_axes(figure: Any, place: Any, panel: Panel) -> Any:
    """Axes for a panel."""
    return figure.add_subplot(place, projection="3d" if panel.kind == SPACE else None)


def draw(
    axes: Sequence[Any], wanted: Sequence[Panel], labeled: Mapping[str, Any], others: Sequence[Sequence[Panel]]
) -> None:
    """Draw panels of all runs into their axes, in one pass through each run; `others` are those of the other runs."""
    runs, labels = list(labeled.values()), style.shortened(labeled, LABEL)
    found = []
    for run, made in zip(runs, [wanted, *others], strict=True):
        curves = iter(gather(run, [(p.values, p.kind != OVER_TIME) for p in made if p.kind != BARS]))
        found.append([[] if p.kind == BARS else next(curves) for p in made])
    for k, (one, panel) in enumerate(zip(axes, wanted, strict=True)):
        one.set_title(panel.title, loc="left")
        if panel.kind == BARS:
            values = [made[k].values(run) for run, made in zip(runs, [wanted, *others], strict=True)]
            bars(one, panel, values, labels)
            continue
        {OVER_TIME: over_time, CURVE: curve, SPACE: path}[panel.kind](one, panel, [f[k] for f in found], labels)
        if not any(len(run) for run in runs):
            one.annotate("no points", (0.5, 0.5), xycoords="axes fraction", ha="center")
        if panel.kind == OVER_TIME:
            place_title(one, panel.title)
