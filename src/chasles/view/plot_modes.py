"""What moves in each mode of a linear system."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from chasles.display import style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST = 24  # modes that fit into a figure
NAMED = 0.02  # share of the energy from which on a body has a name in the legend


def plot_modes(linear: Any, file: str | Path | None = None) -> Figure:
    """Shares of the bodies in the kinetic energy of each mode, with its frequency and damping."""
    modes = linear.modes[:MOST]
    if not modes:
        raise ValueError("plot: the linear system has no modes: nothing of it can move freely")
    bodies = [name for name in linear.tree.bodies if any(mode.bodies[name] >= NAMED for mode in modes)]
    with style.drawing():
        figure = style.picture(6.4, 1.1 + 0.34 * len(modes))
        axes = figure.add_subplot()
        places, left = range(len(modes)), [0.0] * len(modes)
        for k, name in enumerate(bodies):
            shares = [100 * mode.bodies[name] for mode in modes]
            color, hatch = style.COLORS[k % len(style.COLORS)], ("", "//", "..", "xx")[k // len(style.COLORS) % 4]
            axes.barh(places, shares, 0.62, left, color=color, hatch=hatch, edgecolor="white", label=style.plain(name))
            left = [one + share for one, share in zip(left, shares, strict=True)]
        axes.set_yticks(places, [f"{k}: {mode}" for k, mode in enumerate(modes, 1)])
        axes.set(xlim=(0, 100), xlabel="share of the kinetic energy [%]")
        axes.invert_yaxis()
        axes.grid(False, axis="y")
        axes.set_title(f"modes of {style.plain(linear.tree.system.name or 'the system')}", loc="left")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))
    if file is not None:
        style.write(figure, file)
    return figure
