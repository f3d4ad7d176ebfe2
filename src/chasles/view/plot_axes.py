"""How a panel is drawn: series over time, a curve in a plane or in space, bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from chasles.display import style
from chasles.display.formulas import written
from chasles.view.plot_panel import AS_COUNTS, AS_HELD, AS_LINES, AS_SIZES, AS_STAIRS, Panel

SMALLEST = 1e-18  # drawn on a logarithmic axis if all is 0
ROUNDING = 1e-12  # values below this are not magnified
SHORT = 62  # characters that have room above axes, of title and labels
MANY = 14  # series of which a legend names the first few only
NONE = 1e6  # drawn for a finding that is not a number
Curves = list[tuple[np.ndarray, np.ndarray]]


def over_time(axes: Any, panel: Panel, found: Sequence[Curves], labels: Sequence[str]) -> None:
    """Series of one or several runs; colors tell series apart and lines runs, or colors runs of a single series."""
    used = [k for k in range(len(panel.series)) if k not in panel.optional or _moves(found, k)]
    by_run = len(used) == 1 and len(found) > 1
    compared = bool(panel.compared) and len(found) > 1
    drawn = AS_SIZES if compared else panel.drawn
    handles: dict[str, Any] = {}
    ends: list[float] = []
    for r, curves in enumerate(found):
        for place, k in enumerate(used if curves else ()):
            t, values = curves[k][0], curves[k][1][:, 0]
            looks: dict[str, Any] = {"color": _color(r if by_run else place), "linestyle": style.LINES[r % 4]}
            if by_run:
                looks["linestyle"] = "-"
            elif len(found) == 1:  # of more series than colors
                looks["linestyle"] = style.LINES[place // len(style.COLORS) % 4]
            if panel.optional and k == len(panel.series) - 1:  # the sum of the others, which may hide one of them
                looks |= {"color": style.INK, "linewidth": 2.4, "alpha": 0.45, "zorder": 1.5}
            if len(t) == 1:
                looks["marker"] = "o"
            ends += [t[0], t[-1]]
            line = _line(axes, t, values, drawn, looks)
            handles.setdefault(labels[r] if by_run else panel.series[k], line)
    if len(found) > 1 and not by_run:
        for r, label in enumerate(labels):
            handles[label] = axes.plot([], [], color=style.INK, linestyle=style.LINES[r % 4])[0]
    axes.set(xlabel=written(panel.across), ylabel=written(panel.compared if compared else panel.label))
    if ends and min(ends) < max(ends):
        axes.set_xlim(min(ends), max(ends))
    if drawn not in (AS_LINES, AS_HELD, AS_COUNTS):
        axes.set_yscale("log")
        _decades(axes)
    elif (size := _largest(found, used)) < ROUNDING:
        axes.set_ylim(*((-ROUNDING, ROUNDING) if size else (-1.0, 1.0)))
    elif panel.optional:  # parts of a sum, which is judged against zero
        axes.update_datalim([(t, 0.0) for t in ends[:1]])
        axes.autoscale_view(scalex=False)
    style.number_axes(axes)
    name_lines(axes, handles, alone=len(used) == 1 and len(found) == 1)


def place_title(axes: Any, title: str) -> None:
    """Tell where the title is, if no power of ten stands above the axes that it has to make room for: matplotlib
    measures all numbers four times to find that out."""
    numbers = axes.yaxis.get_major_formatter()
    numbers.set_locs(axes.yaxis.get_majorticklocs())
    if not numbers.get_offset():
        axes.set_title(title, loc="left", y=1.0)


def _line(axes: Any, t: np.ndarray, values: np.ndarray, drawn: str, looks: dict[str, Any]) -> Any:
    """A series; sizes of errors as their largest so far, with the size itself thin behind."""
    if drawn == AS_LINES:
        return axes.plot(t, values, **looks)[0]
    if drawn == AS_HELD:
        return axes.plot(t, values, drawstyle="steps-pre", **looks)[0]
    if drawn == AS_COUNTS:
        return axes.plot(t, values, drawstyle="steps-post", **looks)[0]
    if drawn == AS_STAIRS:
        return axes.plot(t, values, drawstyle="steps-pre", **{"linewidth": 0.8, **looks})[0]
    sizes = abs(values) if values.any() else style.on_log_scale(values, SMALLEST)
    largest = np.maximum.accumulate(sizes)
    sizes, largest = (np.where(one > 0, one, np.nan) for one in (sizes, largest))  # zeros have no place there
    axes.plot(t, sizes, color=looks["color"], linewidth=0.4, alpha=0.45)
    return axes.plot(t, largest, **looks)[0]


def _color(k: int) -> str:
    return style.COLORS[k % len(style.COLORS)]


def _moves(found: Sequence[Curves], k: int) -> bool:
    return any(curves and curves[k][1].any() for curves in found)


def curve(axes: Any, panel: Panel, found: Sequence[Curves], labels: Sequence[str]) -> None:
    """A curve in a plane, with a mark at its start."""
    handles = {}
    for r, curves in enumerate(found):
        for _, values in curves:
            color = _color(r)
            handles[labels[r]] = axes.plot(*values.T, color=color, linewidth=1.0)[0]
            axes.plot(*values[:1].T, "o", color=color, markersize=4.5)
    axes.set(xlabel=written(panel.across), ylabel=written(panel.label))
    name_lines(axes, handles, alone=len(found) == 1)


def path(axes: Any, panel: Panel, found: Sequence[Curves], labels: Sequence[str]) -> None:
    """A path in space, to the same scale in all directions."""
    from matplotlib.ticker import MaxNLocator

    handles, points = {}, []
    for r, curves in enumerate(found):
        for _, values in curves:
            color = _color(r)
            handles[labels[r]] = axes.plot(*values.T, color=color, linewidth=0.9)[0]
            axes.plot(*values[:1].T, "o", color=color, markersize=4.5)
            points.append(values)
    if points:
        low, high = (f(np.concatenate(points), axis=0) for f in (np.min, np.max))
        rounding = ROUNDING * float(np.maximum(np.abs(low), np.abs(high)).max())
        middle, half = (low + high) / 2, (max(float((high - low).max()) / 2, rounding) or 1.0) * 1.02
        extents = np.maximum(high - low, 0.3 * (2 * half)) / 2
        axes.set(**{f"{a}lim": (m - e, m + e) for a, m, e in zip("xyz", middle, extents, strict=True)})
        axes.set_box_aspect(extents, zoom=0.85)
        for a, extent in zip("xyz", extents, strict=True):  # few numbers along a short side, none in corners
            count = 3 if extent < 0.5 * extents.max() else 6
            getattr(axes, f"{a}axis").set_major_locator(MaxNLocator(count, prune="both"))
    for a in "xyz":
        getattr(axes, f"set_{a}label")(written(f"${a}$ [m]"))
        axis = getattr(axes, f"{a}axis")
        axis.set_pane_color((0.97, 0.975, 0.98, 1.0))
        axis.line.set_color("#b9bec6")
    axes.tick_params(labelsize=8.5, pad=0)
    name_lines(axes, handles, alone=len(found) == 1)


def bars(axes: Any, panel: Panel, values: Sequence[np.ndarray], labels: Sequence[str]) -> None:
    """Findings against what they may be: left of the line is good."""
    height = 0.7 / len(values)
    for r, one in enumerate(values):
        sizes = style.on_log_scale(np.nan_to_num(one, nan=NONE), 1e-12)
        places = np.arange(len(one)) + height * (r - (len(values) - 1) / 2)
        colors = [style.GREEN if size <= 1 else style.RED for size in sizes]
        axes.barh(places, np.log10(sizes) + 12, height * 0.9, left=-12, color=colors, alpha=1.0 - 0.35 * (r % 2))
    axes.axvline(0.0, color=style.INK, linewidth=1.0)
    axes.set_yticks(range(len(panel.series)), panel.series)
    axes.invert_yaxis()
    axes.set_xlim(-12.2, max(1.0, axes.get_xlim()[1]))
    axes.xaxis.set_major_formatter(lambda x, _: written(f"$10^{{{x:g}}}$"))
    axes.set_xlabel(panel.label)
    axes.grid(False, axis="y")
    if len(values) > 1:
        from matplotlib.patches import Patch

        handles = {label: Patch(color=style.GREEN, alpha=1.0 - 0.35 * (r % 2)) for r, label in enumerate(labels)}
        axes.set_title("certificates", loc="left")
        name_lines(axes, handles, alone=False)


def name_lines(axes: Any, handles: dict[str, Any], alone: bool) -> None:
    """Beside the title if there is room, else on the right."""
    if alone or not handles:
        return
    shown = dict(list(handles.items())[:MANY])
    title = f"{len(shown)} of {len(handles)}" if len(shown) < len(handles) else None
    if len(axes.get_title("left")) + sum(len(label.replace("$", "")) + 5 for label in shown) <= SHORT:
        place: dict[str, Any] = {"loc": "lower right", "bbox_to_anchor": (1.0, 0.98), "ncols": len(shown)}
    else:
        place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)}
    looks = {"handlelength": 1.6, "handletextpad": 0.5, "columnspacing": 1.3, "borderaxespad": 0.3}
    axes.legend(shown.values(), map(written, shown), title=title, **looks, **place)


def _decades(axes: Any) -> None:
    """At least two decades, so that rounding errors do not look large and numbers have places. They have no marks
    between them, which take as long to make as all the rest of the axes."""
    from matplotlib.ticker import NullLocator

    axes.yaxis.set_minor_locator(NullLocator())
    low, high = axes.get_ylim()
    if high / low < 100:
        middle = np.sqrt(low * high)
        axes.set_ylim(middle / 10, middle * 10)
    axes.margins(x=0)


def _largest(found: Sequence[Any], used: Sequence[int]) -> float:
    """The largest magnitude of the curves that are drawn."""
    return float(np.max([np.abs(curves[k][1]).max(initial=0.0) for curves in found if curves for k in used], initial=0))
