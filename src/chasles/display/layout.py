"""Where the axes of a figure are: as large as the texts around them allow, which are measured once.

Matplotlib's constrained layout serves every figure and measures all texts twice, longer than it takes to draw them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import RendererAgg
from matplotlib.layout_engine import LayoutEngine
from matplotlib.transforms import Bbox

PAD = 0.05  # inches around axes with their texts


class OneGrid(LayoutEngine):
    """For figures whose axes are in one grid; above them there may be a heading."""

    _adjust_compatible = False
    _colorbar_gridspec = False

    def execute(self, fig: Any) -> None:
        """Place the axes. A figure that is too small for its texts keeps them where they are."""
        renderer = RendererAgg(fig.bbox.width, fig.bbox.height, fig.dpi)  # type: ignore[no-untyped-call]
        width, height = fig.get_size_inches()
        heading = max((text.get_window_extent(renderer).height / fig.dpi + PAD for text in fig.texts), default=0.0)
        for text in fig.texts:
            text.set_y(1.0 - PAD / height)
        places = [one.get_subplotspec() for one in fig.axes]
        around = np.array([_margins(one, renderer) for one in fig.axes]) / fig.dpi + PAD  # left, right, below, above
        grid = places[0].get_gridspec()
        columns = [(place.colspan.start, place.colspan.stop) for place in places]
        rows = [(place.rowspan.start, place.rowspan.stop) for place in places]
        across = _sides(columns, around[:, 0], around[:, 1], width, grid.get_width_ratios(), grid.ncols)
        down = _sides(rows, around[:, 3], around[:, 2], height - heading, grid.get_height_ratios(), grid.nrows)
        if across is None or down is None:
            return
        for one, (x0, x1), (y0, y1) in zip(fig.axes, across, down, strict=True):
            top = height - heading
            ends = np.array([[x0 / width, (top - y1) / height], [x1 / width, (top - y0) / height]])
            one._set_position(Bbox(ends), which="original")


def _margins(axes: Any, renderer: Any) -> tuple[float, float, float, float]:
    """The room that texts take beside the axes [pixels]: left, right, below, above."""
    own = axes.get_position(original=True).transformed(axes.figure.transSubfigure)
    whole = axes.get_tightbbox(renderer, for_layout_only=True)
    sizes = own.x0 - whole.x0, whole.x1 - own.x1, own.y0 - whole.y0, whole.y1 - own.y1
    return tuple(max(size, 0.0) for size in sizes)


def _sides(
    spans: list[tuple[int, int]], before: np.ndarray, after: np.ndarray, size: float, ratios: Any, count: int
) -> list[tuple[float, float]] | None:
    """Where axes begin and end along one direction [inches]: what is left beside the margins, divided by the ratios.
    None if nothing is left."""
    low, high = np.zeros(count), np.zeros(count)
    for (first, end), one, other in zip(spans, before, after, strict=True):
        low[first] = max(low[first], one)
        high[end - 1] = max(high[end - 1], other)
    room = size - low.sum() - high.sum()
    if room <= 0:
        return None
    shares = room * np.asarray(ratios, dtype=float) / np.sum(ratios)
    ends = np.cumsum(low + shares + high)
    return [(ends[first] - high[first] - shares[first], ends[end - 1] - high[end - 1]) for first, end in spans]
