"""The look of the pictures, and what several of them draw."""

from __future__ import annotations

from typing import Any

import numpy as np

INK, BLUE, ORANGE, GREEN, RED, PURPLE, BROWN = (
    *("#33373d", "#2f6db5", "#d9722e", "#3a8f4d"),
    *("#b8393d", "#7b5aa6", "#8a6d3b"),
)
COLOURS = (BLUE, ORANGE, GREEN, RED, PURPLE, BROWN)
MARKERS = ("o", "s", "^", "x", "v", "D")
SETTINGS: Any = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#e3e5e9",
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.3,
    "lines.markersize": 4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "text.color": INK,
}


def order_plot(
    axes: Any, steps: np.ndarray, errors: dict[str, np.ndarray], slopes: dict[int, str], above: tuple[int, ...] = ()
) -> None:
    """Errors against step sizes; `slopes` draws, for each order, a line below (or above) the curve of that name.

    A method that was not run with every step is drawn by marks alone.
    """
    for (name, values), colour, marker in zip(errors.items(), COLOURS, MARKERS, strict=False):
        style = "-" if np.isfinite(values).all() else "none"
        axes.loglog(steps, values, linestyle=style, marker=marker, color=colour, label=name, markerfacecolor="none")
    for order, name in slopes.items():
        at = np.flatnonzero(np.isfinite(errors[name]))[-4:]
        line = (3.0 if order in above else 0.35) * errors[name][at[-1]] * (steps[at] / steps[at[-1]]) ** order
        axes.loglog(steps[at], line, color=INK, linewidth=0.8, linestyle="--")
        place: Any = {"xytext": (-2, 5 if order in above else -9), "textcoords": "offset points", "fontsize": 8}
        axes.annotate(f"$h^{order}$", (steps[at[-1]], line[-1]), **place)
    axes.margins(y=0.1)
    axes.set(xlabel="step size $h$ [s]")
    axes.legend()


def space_curve(axes: Any, points: np.ndarray, colour: str, label: str) -> None:
    """A curve in space, in a cube."""
    axes.plot(*points.T, color=colour, linewidth=0.5, label=label)
    in_a_cube(axes)


def in_a_cube(axes: Any) -> None:
    """Few and small numbers on three axes."""
    axes.set_box_aspect((1, 1, 1), zoom=0.9)
    axes.set_xlabel("$x$", labelpad=-4)
    axes.set_ylabel("$y$", labelpad=-4)
    axes.set_zlabel("$z$", labelpad=-4)
    axes.tick_params(labelsize=7, pad=0)
    axes.locator_params(nbins=4)


def on_log_scale(values: np.ndarray, floor: float = 1e-16) -> np.ndarray:
    """Sizes for a logarithmic axis, on which an exact zero would leave a gap."""
    return np.maximum(abs(values), floor)
