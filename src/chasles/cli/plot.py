"""`chasles plot`: pictures of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from chasles.cli.model import Changes, find_run, labelled

WORK = "work-precision"


def plot(
    runs: Annotated[
        list[str],
        Parameter(
            help="Result files (.h5), model files or names of the gallery; then what to draw: energy, balance, drift, "
            "steps, certificate, joints, joints.NAME, joints.NAME.velocity, phase.NAME, reactions.NAME, "
            "bodies.NAME.position, .twist, .path, work-precision; without names an overview."
        ),
    ],
    /,
    *,
    output: Annotated[
        Path | None, Parameter(name=["--output", "-o"], help="File to write: .pdf, .svg, .png; by default RUN.png.")
    ] = None,
    frame: Annotated[float | None, Parameter(help="Draw the mechanism at this time [s] instead.")] = None,
    size: Annotated[str | None, Parameter(help="Of --frame in pixels, such as 1200x900.")] = None,
    azimuth: Annotated[float | None, Parameter(help="Where --frame is seen from, around [degrees].")] = None,
    elevation: Annotated[float | None, Parameter(help="Where --frame is seen from, above [degrees].")] = None,
    trail: Annotated[float | None, Parameter(help="Seconds of the paths in --frame; 0 for none.")] = None,
    reference: Annotated[str | None, Parameter(help="The exact run for work-precision.")] = None,
    change: Changes = None,
    end: Annotated[float | None, Parameter(help="End of the simulation [s], if a model is run first.")] = None,
) -> None:
    """Draw runs. Several runs are drawn into the same axes; a model is run first, as by `chasles run`.

    Examples:

        chasles plot run.h5 energy joints.elbow -o run.pdf
        chasles plot a.h5 b.h5 balance drift
        chasles plot heavy_top --end 2
        chasles plot run.h5 --frame 2.1 -o frame.png
        chasles plot h1.h5 h2.h5 h3.h5 work-precision --reference exact.h5
    """
    from chasles.view.plot import plot as draw

    given, names = _told_apart(runs)
    opened = {label: find_run(name, change, end) for label, name in labelled(given).items()}
    file = output or Path(f"{Path(given[0]).stem}.png")
    if frame is not None:
        if len(given) > 1 or names:
            raise ValueError("plot: --frame draws the mechanism of one run, and nothing else")
        options: dict[str, Any] = {} if size is None else {"size": pixels(size)}
        run = next(iter(opened.values()))
        run.picture(frame, file, azimuth=azimuth, elevation=elevation, trail=trail, **options)
    elif WORK in names:
        if len(names) > 1:
            raise ValueError(f"plot: {WORK} is a figure of its own")
        from chasles.view.plot_work import work_precision

        exact = None if reference is None else find_run(reference, change, end)
        work_precision(opened, exact, file=file)
    else:
        draw(opened if len(opened) > 1 else next(iter(opened.values())), *names, file=file)
    Console().print(f"wrote {file}", markup=False, highlight=False)


def _told_apart(words: list[str]) -> tuple[list[str], list[str]]:
    """Runs come first: files, and systems of the gallery; the rest are names of what to draw."""
    from chasles.gallery import model_files

    gallery = model_files()
    count = 1
    while count < len(words) and (words[count] in gallery or Path(words[count]).is_file()):
        count += 1
    for word in words[count:]:
        if word in gallery or Path(word).suffix in (".h5", ".toml", ".urdf", ".xml", ".mjcf"):
            missing = "" if word in gallery or Path(word).is_file() else ", and there is no such file"
            raise ValueError(f"plot: {word!r} looks like a run; give runs before what to draw{missing}")
    return words[:count], words[count:]


def pixels(size: str) -> tuple[int, int]:
    """Width and height of "1200x900"."""
    width, cross, height = size.partition("x")
    if not cross or not (width.isdigit() and height.isdigit()):
        raise ValueError(f"--size {size}: expected pixels, such as 1200x900")
    return int(width), int(height)
