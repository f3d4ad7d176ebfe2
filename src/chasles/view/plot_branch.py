"""The picture of a branch of equilibria: coordinates over the parameter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.display import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH, HEIGHT = 6.4, 3.6  # inches
MARKS = {"fold": "o", "bifurcation": "s"}


def plot_branch(
    branch: Any, *joints: str, file: str | Path | None = None, size: tuple[float, float] | None = None
) -> Figure:
    """Coordinates of joints over the parameter: stable parts solid, others dashed; folds and bifurcations marked."""
    if unknown := [name for name in joints if name not in branch.joints]:
        known = ", ".join(map(repr, branch.joints))
        raise ValueError(f"plot: the branch has no joint {unknown[0]!r}; expected some of {known}")
    stable = np.array([word != "unstable" for word in branch.stability])
    with style.drawing():
        figure = style.picture(*style.inches(size, (WIDTH, HEIGHT)))
        axes: Any = figure.add_subplot()
        columns = [
            (name if place.stop == place.start + 1 else f"{name} {k - place.start}", k)
            for name, place in branch.joints.items()
            if not joints or name in joints
            for k in range(place.start, place.stop)
        ]
        for j, (label, k) in enumerate(columns):
            color = style.COLORS[j % len(style.COLORS)]
            for line, part in (("-", stable), ("--", ~stable)):
                both = part[:-1] & part[1:] if line == "-" else part[:-1] | part[1:]
                for first in np.flatnonzero(both):
                    axes.plot(branch.parameter[first : first + 2], branch.q[first : first + 2, k], line, color=color)
            axes.plot([], [], "-", color=color, label=label)
            for point in branch.special:
                axes.plot(point.parameter, point.q[k], MARKS[point.kind], color=style.INK, markersize=4.5)
        axes.set(xlabel=branch.name, ylabel="coordinates [rad or m]")
        axes.legend(frameon=False)
    if file is not None:
        style.write(figure, file)
    return figure
