"""Pictures of an ensemble: what fits the design and the quantity."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.display import style
from chasles.ensembles.work import TIMES_OF_SERIES
from chasles.model.suggestion import meant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from chasles.ensembles.result import Ensemble

CELL = 3.1, 2.5  # inches of one pair of axes
TITLE_LETTERS = 13  # an inch
MAX_QUANTITIES = 6  # that are drawn if none is named
BANDS = ((0.05, 0.95, 0.18), (0.25, 0.75, 0.32))  # quantiles of a fan, and how dark
Draw = Callable[[Any, Any], None]


def plot(
    ensemble: Ensemble, *names: str, file: str | Path | None = None, size: tuple[float, float] | None = None
) -> Figure:
    """Draw quantities by name, by default the first few: see `Ensemble.plot`."""
    rows = [panel for name in names or default_names(ensemble) for panel in panels(ensemble, name)]
    if not rows:
        raise ValueError("plot: this ensemble has no quantities; name some when it is made, such as max(joints.elbow)")
    columns = max(map(len, rows))
    with style.drawing():
        figure = style.picture(*style.inches(size, (max(CELL[0] * columns, 5.0), CELL[1] * len(rows) + 0.3)))
        grid = figure.add_gridspec(len(rows), columns)
        for k, row in enumerate(rows):
            for j, draw in enumerate(row):
                place = grid[k, :] if len(row) == 1 else grid[k, j]
                axes = figure.add_subplot(place)
                axes.set_axisbelow(True)
                draw(figure, axes)
        figure.suptitle(_title(ensemble, figure.get_figwidth()), fontsize=9)
    if file is not None:
        style.write(figure, file)
    return figure


def _title(ensemble: Ensemble, width: float) -> str:
    """The design in lines that fit into so many inches, its numbers rounded."""
    design = re.sub(
        r"\d+\.\d{4,}(?:e[+-]?\d+)?", lambda number: f"{float(number[0]):.4g}", ensemble.title.get("design", "")
    )
    lines = textwrap.wrap(design, int(TITLE_LETTERS * width))
    return "\n".join(style.plain(one, 1000) for one in lines[:3]) + (" …" if len(lines) > 3 else "")


def default_names(ensemble: Ensemble, most: int | None = MAX_QUANTITIES) -> list[str]:
    """The first so many quantities."""
    return [name for name in ensemble.quantities if name != TIMES_OF_SERIES][:most]


def panels(ensemble: Ensemble, name: str) -> list[list[Draw]]:
    """Rows of axes for a quantity: one for each of its numbers."""
    if name not in ensemble.quantities:
        known = default_names(ensemble)
        raise ValueError(f"plot: there is no quantity {name!r}; {meant(name, known)}there are {', '.join(known)}")
    values = ensemble[name]
    if name.startswith("series("):
        curves = values if values.ndim == 3 else values[..., None]
        return [[fan(ensemble, _label(ensemble, name, k), curves[..., k])] for k in range(curves.shape[2])]
    numbers = values if values.ndim == 2 else values[:, None]
    return [over_parameters(ensemble, _label(ensemble, name, k), numbers[:, k]) for k in range(numbers.shape[1])]


def _label(ensemble: Ensemble, name: str, k: int) -> str:
    labels, unit = ensemble.labels.get(name, ()), ensemble.units.get(name, "")
    called = f"{name}, {labels[k]}" if k < len(labels) else name
    return f"{called} [{unit}]" if unit else called


def over_parameters(ensemble: Ensemble, label: str, values: np.ndarray) -> list[Draw]:
    """A quantity over what varies."""
    varied = {name: found for name, found in ensemble.parameters.items() if np.ndim(found) == 1}
    shape, axes = ensemble.title.get("shape", []), ensemble.title.get("axes", [])
    if ensemble.title.get("kind") == "saltelli":
        return [indices(ensemble, label, values), histogram(ensemble, label, values)]
    if len(shape) == 2 and len(axes) == 2 and all(len(one) == 1 for one in axes):
        return [heat_map(ensemble, axes[0][0], axes[1][0], label, values.reshape(shape))]
    if len(shape) == 1 and len(varied) == 1 and axes:
        ((name, x),) = varied.items()
        return [line(ensemble, name, x, label, values)]
    return [
        *(scatter(ensemble, name, x, label, values) for name, x in varied.items()),
        histogram(ensemble, label, values),
    ]


def _finish(axes: Any, ensemble: Ensemble, x: np.ndarray, name: str, label: str) -> None:
    """Labels, and the members without a result at the lower edge."""
    unit = ensemble.work.unit(name) if ensemble.work else ""
    axes.set(xlabel=style.plain(f"{name} [{unit}]" if unit else name), ylabel=style.plain(label))
    axes.ticklabel_format(useOffset=False)
    if len(ensemble.failed):
        at = np.asarray(x)[ensemble.failed]
        axes.plot(at, np.zeros(len(at)), "x", color=style.ORANGE, transform=axes.get_xaxis_transform(), clip_on=False)
        axes.annotate(f"{len(at)} failed", (0.99, 0.02), xycoords="axes fraction", ha="right", color=style.ORANGE)


def line(ensemble: Ensemble, name: str, x: np.ndarray, label: str, values: np.ndarray) -> Draw:
    def draw(figure: Any, axes: Any) -> None:
        order = np.argsort(x)
        axes.plot(x[order], values[order], "-o", color=style.BLUE)
        _finish(axes, ensemble, x, name, label)

    return draw


def scatter(ensemble: Ensemble, name: str, x: np.ndarray, label: str, values: np.ndarray) -> Draw:
    def draw(figure: Any, axes: Any) -> None:
        axes.plot(x, values, ".", color=style.BLUE, markersize=2.5, alpha=0.6, rasterized=True)
        _finish(axes, ensemble, x, name, label)

    return draw


def heat_map(ensemble: Ensemble, first: str, second: str, label: str, values: np.ndarray) -> Draw:
    def draw(figure: Any, axes: Any) -> None:
        x = np.asarray(ensemble.parameters[first]).reshape(values.shape)
        y = np.asarray(ensemble.parameters[second]).reshape(values.shape)
        shown = axes.pcolormesh(x, y, values, shading="nearest", cmap="viridis", rasterized=True)
        figure.colorbar(shown, ax=axes, label=style.plain(label))
        failed = ensemble.failed
        axes.plot(x.reshape(-1)[failed], y.reshape(-1)[failed], "x", color=style.ORANGE)
        axes.set(xlabel=style.plain(first), ylabel=style.plain(second))
        axes.grid(False)

    return draw


def histogram(ensemble: Ensemble, label: str, values: np.ndarray) -> Draw:
    def draw(figure: Any, axes: Any) -> None:
        there = values[np.isfinite(values)]
        if len(there):
            alike, size = np.ptp(there) == 0, 0.05 * abs(there[0]) or 1.0
            how = {"bins": 1, "range": (there[0] - size, there[0] + size)} if alike else {"bins": "auto"}
            axes.hist(there, **how, color=style.BLUE, alpha=0.8)
        if missing := len(values) - len(there):
            axes.annotate(f"{missing} failed", (0.99, 0.95), xycoords="axes fraction", ha="right", color=style.ORANGE)
        axes.set(xlabel=style.plain(label), ylabel="members")
        axes.ticklabel_format(useOffset=False)

    return draw


def fan(ensemble: Ensemble, label: str, curves: np.ndarray) -> Draw:
    """Quantiles over time."""

    def draw(figure: Any, axes: Any) -> None:
        t = ensemble.times
        there = curves[np.isfinite(curves).any(axis=1)]
        for low, high, dark in BANDS:
            ends = np.nanquantile(there, (low, high), axis=0)
            axes.fill_between(t, *ends, color=style.BLUE, alpha=dark, lw=0, label=f"{low:.0%} to {high:.0%}")
        axes.plot(t, np.nanquantile(there, 0.5, axis=0), color=style.BLUE, label="median")
        if missing := len(curves) - len(there):
            axes.annotate(f"{missing} failed", (0.99, 0.02), xycoords="axes fraction", ha="right", color=style.ORANGE)
        axes.set(xlabel="time $t$ [s]", ylabel=style.plain(label))
        axes.legend()

    return draw


def indices(ensemble: Ensemble, label: str, values: np.ndarray) -> Draw:
    """Sensitivity indices as bars with their confidence intervals."""

    def draw(figure: Any, axes: Any) -> None:
        from chasles.ensembles.indices import sobol_indices

        try:
            found = sobol_indices(values, list(ensemble.parameters), 0.95, 0)
        except ValueError as reason:  # of this quantity; the others are drawn
            axes.annotate(
                textwrap.fill(str(reason), 36), (0.5, 0.5), xycoords="axes fraction", ha="center", va="center"
            )
            axes.set(xticks=[], yticks=[], ylabel=f"sensitivity of {style.plain(label)}")
            return
        at = np.arange(len(found.names))
        for shift, what, size, error, color in (
            (-0.2, "first order", found.first, found.first_error, style.BLUE),
            (0.2, "total order", found.total, found.total_error, style.ORANGE),
        ):
            axes.bar(at + shift, size, 0.38, yerr=error, color=color, label=what, error_kw={"lw": 1})
        axes.set_xticks(at, [style.plain(name) for name in found.names])
        axes.set(ylabel=f"sensitivity of {style.plain(label)}")
        axes.legend()

    return draw
