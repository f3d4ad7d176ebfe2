"""Pictures of a fit: what was measured over what is simulated, and what is left."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.display import style
from chasles.model.suggestion import meant

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CELL = 6.4, 2.0  # inches of one pair of axes
DENSE = 2000  # points of a simulated curve


def plot(fit: Any, *names: str, file: str | Path | None = None, size: tuple[float, float] | None = None) -> Figure:
    """Draw sensors by name, by default all: see `DataFit.plot`."""
    every = [(i, k) for i, trial in enumerate(fit.problem.trials) for k in range(len(trial.channels))]
    known = [fit.problem.trials[i].channels[k].name for i, k in every]
    for name in names:
        if name not in known:
            raise ValueError(f"plot: there is no sensor {name!r}; {meant(name, known)}there are {', '.join(known)}")
    chosen = [place for place, name in zip(every, known, strict=True) if not names or name in names]
    with style.drawing():
        usual = (CELL[0], min(2 * CELL[1] * len(chosen) + 0.4, style.SIDES[1]))
        figure = style.picture(*style.inches(size, usual))
        axes = figure.subplots(2 * len(chosen), 1, squeeze=False, height_ratios=[2, 1] * len(chosen))[:, 0]
        for row, (i, k) in enumerate(chosen):
            _values(fit, i, k, axes[2 * row])
            _residuals(fit, i, k, axes[2 * row + 1])
    if file is not None:
        style.write(figure, file)
    return figure


def _values(fit: Any, i: int, k: int, axes: Any) -> None:
    """What a sensor measured, as points, and would measure of the simulation, as lines."""
    channel, late, bias = fit.problem.trials[i].channels[k], fit.points[i].delays[k], fit.biases[i][k]
    run = fit.run(i)
    rows = np.unique(np.linspace(0, len(run.t) - 1, min(len(run.t), DENSE)).astype(int))
    part = run.part(slice(None, None, max(1, len(run.t) // DENSE))) if len(rows) < len(run.t) else run
    shown = channel.shown(part) + (0.0 if channel.measured.turns else bias)
    for j in range(channel.values.shape[1]):
        color = style.COLORS[j % len(style.COLORS)]
        label = channel.measured.components[channel.which[j]] or channel.name
        axes.plot(channel.t, channel.values[:, j], ".", color=color, markersize=2.5, alpha=0.5, rasterized=True)
        axes.plot(part.t + late, shown[:, j], color=color, linewidth=1.0, label=style.plain(label))
    unit = channel.measured.units[channel.which[0]]
    axes.set(
        title=f"{style.plain(fit.problem.trials[i].name)}: {style.plain(channel.name)}, measured (points) and fitted"
    )
    axes.set(ylabel=f"[{unit}]")
    axes.tick_params(labelbottom=False)
    if len(channel.which) > 1:
        axes.legend()


def _residuals(fit: Any, i: int, k: int, axes: Any) -> None:
    channel, sigma = fit.problem.trials[i].channels[k], fit.noise[i][k]
    r = fit.residuals[i][k]
    axes.axhspan(-1.96 * sigma, 1.96 * sigma, color=style.BLUE, alpha=0.12, linewidth=0)
    for j in range(r.shape[1]):
        axes.plot(channel.t, r[:, j], ".", color=style.COLORS[j % len(style.COLORS)], markersize=2, rasterized=True)
    axes.set(xlabel="time $t$ [s]", ylabel=f"residual [{channel.unit}]")
    axes.sharex(axes.figure.axes[axes.figure.axes.index(axes) - 1])
