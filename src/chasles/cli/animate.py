"""`chasles animate`: the motion of a run as a film."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from chasles.cli.model import Changes, Laws, default_output, find_run, say_what_is_not_drawn
from chasles.cli.plot import pixels

FASTEST_GIF = 50  # frames a second


def animate(
    run: Annotated[str, Parameter(help="A result file (.h5), a model file or a name of the gallery.")],
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="File to write: .gif or .mp4; by default RUN.gif beside RUN."),
    ] = None,
    fps: Annotated[float, Parameter(help="Frames per second; at most 50 in a GIF.")] = 25.0,
    speed: Annotated[float, Parameter(help="Simulated seconds per second of the animation.")] = 1.0,
    size: Annotated[str | None, Parameter(help="Pixels, such as 800x600.")] = None,
    start: Annotated[float | None, Parameter(help="Time at which the animation starts [s].")] = None,
    end: Annotated[
        str | None, Parameter(help="Time at which it ends [s], or with a unit; a model is simulated until then.")
    ] = None,
    azimuth: Annotated[float | None, Parameter(help="Azimuth of the camera [degrees].")] = None,
    elevation: Annotated[float | None, Parameter(help="Elevation of the camera [degrees].")] = None,
    trail: Annotated[float | None, Parameter(help="Length of the paths [s]; 0 for none.")] = None,
    color: Annotated[str | None, Parameter(help="Color rods by: moment, torque, axial, shear, strain.")] = None,
    change: Changes = None,
    law: Laws = None,
) -> None:
    """Write an animation of a run as GIF or MP4, without a display. A model is simulated first, as by `chasles run`.

    For example:

        chasles animate run.h5 -o run.gif --speed 0.5
        chasles animate double_pendulum --end 4 -o pendulum.mp4 --size 1280x720
    """
    from chasles.cli.run import seconds

    file, until = output or default_output(run, ".gif"), seconds("--end", end)
    found = find_run(run, change, until, law)
    options: dict[str, Any] = {} if size is None else {"size": pixels(size)}
    if (start is not None or until is not None) and len(found):
        first, last = found.t[0] if start is None else start, found.t[-1] if until is None else until
        if (last - first) * (found.t[-1] - found.t[0]) < 0:
            raise ValueError(f"animate: from {first:g} to {last:g} s the film would run backwards")
        options["span"] = (first, last)
    if file.suffix.lower() == ".gif" and fps > FASTEST_GIF:
        print(f"a frame of a GIF lasts at least 0.02 s, so it has {FASTEST_GIF} a second", file=sys.stderr)
        fps = FASTEST_GIF
    say_what_is_not_drawn(found)
    found.animate(file, fps=fps, speed=speed, azimuth=azimuth, elevation=elevation, trail=trail, color=color, **options)
    Console().print(f"wrote {file}", markup=False, highlight=False)
