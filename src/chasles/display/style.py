"""The look of the pictures, and what several of them draw."""

from __future__ import annotations

import functools
import io
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.display.formulas import written
from chasles.display.html import visible
from chasles.registry import service

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# at least 16 apart in CIELAB, also for people who do not see red and green as others do: tests/view/test_plot.py
INK, BLUE, ORANGE, GREEN, RED, PURPLE, BROWN = (
    *("#33373d", "#2666b0", "#e0782a", "#45a884"),
    *("#ab2346", "#a48ad6", "#54400f"),
)
COLORS = (BLUE, ORANGE, GREEN, RED, PURPLE, BROWN)
MARKERS = ("o", "s", "^", "x", "v", "D")
LINES = ("-", "--", ":", "-.")
DPI = 150  # pixels to the inch
SIDES = 1.5, 60.0  # inches of a figure
PAGES = (".html", ".htm")
ENDINGS = ("pdf", "svg", "eps", "png", "jpg", "webp")
SETTINGS: Any = {
    "font.family": ["STIXGeneral", "DejaVu Sans"],  # they come with matplotlib: the same look everywhere
    "font.size": 10.5,
    "mathtext.fontset": "stix",
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-4, 5),
    "axes.titlesize": 11,
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
    "legend.fontsize": 9.5,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "pdf.fonttype": 42,  # text stays text
    "svg.hashsalt": "chasles",
}


@functools.cache
def load_matplotlib(kind: str = "") -> None:
    """Load what draws, and what writes files of a kind. Ctrl-C waits: half loaded, it would fail ever after."""
    with service("undisturbed")():
        import matplotlib.backends.backend_agg
        import matplotlib.figure

        if kind == "pdf":
            import matplotlib.backends.backend_pdf
        elif kind == "svg":
            import matplotlib.backends.backend_svg
        elif kind == "eps":
            import matplotlib.backends.backend_ps  # noqa: F401


@functools.cache
def _look() -> Any:
    load_matplotlib()
    from matplotlib import rc_context
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class Picture(Figure):
        """A figure that keeps its look whenever it is drawn, and shows itself in notebooks."""

        aligned: tuple[Any, ...] = ()

        def draw(self, renderer: Any) -> None:
            with rc_context(dict(SETTINGS)):
                if self.aligned:
                    self.align_ylabels(self.aligned)
                super().draw(renderer)

        def savefig(self, fname: Any, **options: Any) -> None:
            engine = self.get_layout_engine()
            with rc_context(dict(SETTINGS)):
                if engine is not None and not {"dpi", "bbox_inches"} & set(options):
                    # the layout first, in parts of the figure: else matplotlib draws everything twice, once for it only
                    FigureCanvasAgg(self)
                    engine.execute(self)
                    self.set_layout_engine(None)
                try:
                    super().savefig(fname, **options)
                finally:
                    self.set_layout_engine(engine)

        def _repr_png_(self) -> bytes:
            buffer = io.BytesIO()
            self.savefig(buffer, format="png")
            return buffer.getvalue()

    return Picture


def picture(width: float, height: float, *, one_grid: bool = False) -> Figure:
    """An empty figure [inches] in this look; nothing of matplotlib's global state is touched. one_grid: all its axes
    will be in one grid."""
    look = _look()
    from chasles.display.layout import OneGrid

    figure: Figure = look(figsize=(width, height), dpi=DPI, layout=OneGrid() if one_grid else "constrained")
    return figure


@functools.cache
def _numbers() -> Any:
    from matplotlib.ticker import LogFormatterSciNotation, ScalarFormatter

    class Numbers(ScalarFormatter):
        """Numbers along an axis as text; matplotlib writes them as mathematics if powers of ten are."""

        def __call__(self, x: float, pos: Any = None) -> str:
            return written(super().__call__(x, pos))

        def get_offset(self) -> str:
            return written(super().get_offset())

    class Powers(LogFormatterSciNotation):
        """Powers of ten along an axis as text."""

        def __call__(self, x: float, pos: Any = None) -> str:
            return written(super().__call__(x, pos))

    return {"linear": Numbers, "log": Powers}


def number_axes(axes: Any) -> None:
    """Numbers of axes in the same letters as before, as text: to read them as mathematics takes longer than to draw."""
    for axis, scale in ((axes.xaxis, axes.get_xscale()), (axes.yaxis, axes.get_yscale())):
        if scale in _numbers():
            axis.set_major_formatter(_numbers()[scale]())


def align(figure: Any, axes: Iterable[Any]) -> None:
    """Labels of these axes stand below each other. The one with most room decides where, with or without the others;
    so they are aligned after the layout, which would measure all of them for each of them."""
    figure.aligned = tuple(axes)


def inches(given: tuple[float, float] | None, usual: tuple[float, float]) -> tuple[float, float]:
    """The size of a figure: as given, or as usual."""
    if given is None:
        return usual
    try:
        width, height = (float(side) for side in given)
    except (TypeError, ValueError):
        width = height = 0.0
    if not (SIDES[0] <= width <= SIDES[1] and SIDES[0] <= height <= SIDES[1]):
        pixels = " to ".join(f"{side * DPI:g}" for side in SIDES)
        shown = f"{width:.3g} x {height:.3g}" if width else f"{given!r}"
        sides = f"{SIDES[0]:g} to {SIDES[1]:g} inches ({pixels} pixels)"
        raise ValueError(f"plot: size is {shown}; expected width and height, {sides} each")
    return width, height


def drawing() -> Any:
    """A context in which axes, lines and texts are made in this look."""
    load_matplotlib()
    from matplotlib import rc_context

    return rc_context(dict(SETTINGS))


def write(figure: Figure, file: str | Path) -> Path:
    """Write a figure in the form that the ending of the file says: pdf, svg, eps, png, jpg, webp."""
    path = with_ending(file, *(f".{kind}" for kind in ENDINGS))
    kind = path.suffix.lower().removeprefix(".")
    buffer = io.BytesIO()
    undated: Mapping[str, Any] = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}.get(
        kind, {}
    )  # same bytes again
    load_matplotlib(kind)
    packed: dict[str, Any] = {"pil_kwargs": {"compress_level": 2}} if kind == "png" else {}  # half the time for a sixth
    figure.savefig(buffer, format=kind, metadata=undated, **packed)
    return put(buffer.getvalue(), path)


def with_ending(file: str | Path, *endings: str) -> Path:
    """The path of a file to write, whose name ends as what will be in it."""
    path = Path(file)
    if path.suffix.lower() not in endings:
        raise ValueError(f"{path.name!r}: expected a name that ends in {', '.join(endings)}")
    return path


def put(content: bytes, path: Path) -> Path:
    """Write a file at once: a reader sees the old one or the new one, never half of it."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_bytes(content)
        part.replace(path)
    except OSError as error:
        raise ValueError(f"{path}: cannot be written: {error.strerror}") from None
    return path


def plain(text: str, longest: int = 60) -> str:
    """A name for a label, shortened in its middle, without what would be read as mathematics or as hidden."""
    text = visible(text)
    if len(text) > longest:
        text = f"{text[: longest // 2]}…{text[-(longest - 1) // 2 :]}"
    return (" " if text.startswith("_") else "") + text.replace("\\", "\u2216").replace("$", r"\$")


def shortened(names: Iterable[str], longest: int) -> list[str]:
    """Names for a legend, shortened if they can still be told apart."""
    given = list(names)
    short = [plain(name, longest) for name in given]
    return short if len(set(short)) == len(set(given)) else [plain(name, 1000) for name in given]


def order_plot(
    axes: Any, steps: np.ndarray, errors: dict[str, np.ndarray], slopes: dict[int, str], above: tuple[int, ...] = ()
) -> None:
    """Errors against step sizes; `slopes` draws, for each order, a line below (or above) the curve of that name.

    A method that was not run with every step is drawn by marks alone.
    """
    for (name, values), color, marker in zip(errors.items(), COLORS, MARKERS, strict=False):
        style = "-" if np.isfinite(values).all() else "none"
        axes.loglog(steps, values, linestyle=style, marker=marker, color=color, label=name, markerfacecolor="none")
    for order, name in slopes.items():
        at = np.flatnonzero(np.isfinite(errors[name]))[-4:]
        line = (3.0 if order in above else 0.35) * errors[name][at[-1]] * (steps[at] / steps[at[-1]]) ** order
        axes.loglog(steps[at], line, color=INK, linewidth=0.8, linestyle="--")
        place: Any = {"xytext": (-2, 5 if order in above else -9), "textcoords": "offset points", "fontsize": 8}
        axes.annotate(f"$h^{order}$", (steps[at[-1]], line[-1]), **place)
    axes.margins(y=0.1)
    axes.set(xlabel="step size $h$ [s]")
    axes.legend()


def marked(k: int) -> dict[str, Any]:
    """Color and mark of the k-th of many lines, more than a picture can show well."""
    return {"color": COLORS[k % len(COLORS)], "marker": MARKERS[(k + k // len(MARKERS)) % len(MARKERS)]}


def work_line(axes: Any, work: Any, error: Any, k: int, line: str = "-", label: str | None = None) -> None:
    """Errors against work on logarithmic axes."""
    sizes = on_log_scale(np.asarray(error), 1e-17)
    axes.loglog(work, sizes, linestyle=line, markerfacecolor="none", label=label, **marked(k))


def space_curve(axes: Any, points: np.ndarray, color: str, label: str) -> None:
    """A curve in space, in a cube."""
    axes.plot(*points.T, color=color, linewidth=0.5, label=label)
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
    return np.asarray(np.maximum(abs(values), floor))
