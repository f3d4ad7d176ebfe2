"""`chasles plot`: pictures of runs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from chasles.cli.drawing import load_matplotlib
from chasles.cli.model import Changes, Laws, default_output, find_run, find_study, labeled, say_what_is_not_drawn
from chasles.cli.streams import say

WORK = "work-precision"


def plot(
    *runs: Annotated[
        str,
        Parameter(
            help="Result files (.h5), model files or names of the gallery; then what to draw: energy, energy.kinetic, "
            ".gravity, .springs, .work, .total, .balance or .drift, "
            "drift, steps, certificate, joints, joints.NAME, joints.NAME.velocity, phase.NAME, reactions.NAME, "
            "forces.NAME (of springs, laws, bushings, drives, couplings, joints), events, "
            "bodies.NAME.position, .velocity, .acceleration, .orientation, .twist, .path, the same of frames.NAME, "
            "rods.NAME.moment, .torque, .axial, .shear or .energy, work-precision; without names an overview."
        ),
    ],
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="File to write: .pdf, .svg, .png; by default RUN.png beside RUN."),
    ] = None,
    frame: Annotated[float | None, Parameter(help="Draw the mechanism at this time [s] instead.")] = None,
    size: Annotated[
        str | None, Parameter(help="Size in pixels, such as 1200x900; figures have 150 pixels per inch.")
    ] = None,
    azimuth: Annotated[float | None, Parameter(help="Azimuth of the camera of --frame [degrees].")] = None,
    elevation: Annotated[float | None, Parameter(help="Elevation of the camera of --frame [degrees].")] = None,
    trail: Annotated[float | None, Parameter(help="Length of the paths in --frame [s]; 0 for none.")] = None,
    color: Annotated[str | None, Parameter(help="Color rods in --frame: moment, torque, axial, shear, strain.")] = None,
    reference: Annotated[str | None, Parameter(help="The reference run for work-precision.")] = None,
    change: Changes = None,
    vary: Annotated[
        str | None,
        Parameter(
            help="Run the model with each of some values, such as parameters.arm=0.3,0.4,0.5, and draw them all."
        ),
    ] = None,
    end: Annotated[
        str | None, Parameter(help="End of the simulation [s], or with a unit, if a model is run first.")
    ] = None,
    law: Laws = None,
) -> None:
    """Plot runs. Several runs share the same axes; a model is simulated first, as by `chasles run`.

    For example:

        chasles plot run.h5 energy joints.elbow -o run.pdf
        chasles plot a.h5 b.h5 energy.drift drift
        chasles plot heavy_top --end 2
        chasles plot suspension joints.heave --vary "parameters.spring=25 N/mm, 38 N/mm, 60 N/mm"
        chasles plot run.h5 --frame 2.1 -o frame.png
        chasles plot h1.h5 h2.h5 h3.h5 work-precision --reference exact.h5
    """
    from chasles.cli.run import seconds
    from chasles.display import style
    from chasles.view.plot import plot as draw

    if not runs:
        raise ValueError("plot: no run is given; expected a result file (.h5), a model file or a name of the gallery")
    given, names = _told_apart(list(runs))
    if _draws_study(given, names, output, size):
        return
    seen = {"--azimuth": azimuth, "--elevation": elevation, "--trail": trail, "--color": color}
    if frame is None and (unused := [option for option, value in seen.items() if value is not None]):
        raise ValueError(f"plot: {unused[0]} is for --frame, the mechanism at a time")
    if reference is not None and WORK not in names:
        raise ValueError(f"plot: --reference is for {WORK}")
    until = seconds("--end", end)
    opened = varied(given, vary, change, until, law) if vary is not None else {}
    opened = opened or {label: find_run(name, change, until, law) for label, name in labeled(given).items()}
    file = output or default_output(given[0], ".png")
    wide = None if size is None else pixels(size)
    inches = None if wide is None else (wide[0] / style.DPI, wide[1] / style.DPI)
    if frame is not None:
        if len(given) > 1 or names:
            raise ValueError("plot: --frame draws the mechanism of one run, and nothing else")
        options: dict[str, Any] = {} if wide is None else {"size": wide}
        run = next(iter(opened.values()))
        say_what_is_not_drawn(run)
        run.picture(frame, file, azimuth=azimuth, elevation=elevation, trail=trail, color=color, **options)
    elif WORK in names:
        if len(names) > 1:
            raise ValueError(f"plot: {WORK} cannot be combined with other quantities; plot it alone")
        from chasles.view.plot_work import work_precision

        exact = None if reference is None else find_run(reference, change, until, law)
        work_precision(opened, exact, file=file, size=inches)
    else:
        load_matplotlib()
        if not names:
            say_what_is_not_drawn(next(iter(opened.values())))
        draw(opened if len(opened) > 1 else next(iter(opened.values())), *names, file=file, size=inches)
    say(f"wrote {file}")


def _draws_study(given: list[str], names: list[str], output: Path | None, size: str | None) -> bool:
    """Draw the file of a study, if it is one."""
    from chasles.ensembles.study_file import is_study, open_study

    if Path(given[0]).suffix != ".h5" or not is_study(Path(given[0])):
        return False
    if len(given) > 1:
        raise ValueError("plot: a study is drawn alone; give one file")
    from chasles.display import style

    load_matplotlib()
    wide = None if size is None else pixels(size)
    file = output or default_output(given[0], ".png")
    inches = None if wide is None else (wide[0] / style.DPI, wide[1] / style.DPI)
    open_study(Path(given[0])).plot(*names, file=file, size=inches)
    say(f"wrote {file}")
    return True


def varied(
    models: list[str], vary: str, change: list[str] | None, end: float | None, laws: list[Path] | None
) -> dict[str, Any]:
    """The runs of a model with each of the values, by label."""
    path, equals, text = vary.partition("=")
    values = [value.strip() for value in text.split(",") if value.strip()]
    if len(models) > 1 or not equals or len(values) < 2:
        raise ValueError(f"plot: --vary {vary}: expected one model, and a path with values, parameters.arm=0.3,0.4")
    label = path.strip().removeprefix("parameters.")
    every = {f"{label} = {value}": [*(change or ()), f"{path}={value}"] for value in values}
    runs = {shown: find_run(models[0], changed, end, laws) for shown, changed in every.items()}
    _compare_modes({shown: find_study(models[0], changed, laws) for shown, changed in every.items()})
    return runs


def _compare_modes(studies: dict[str, Any]) -> None:
    """A warning if a linkage starts in another assembly mode with one value than with the first."""
    from chasles import caution
    from chasles.ensembles.modes import in_another_mode, start_of

    first, *others = studies
    nominal = start_of(studies[first], {})
    for shown in others if nominal else ():
        study = studies[shown]
        start = start_of(study, {})
        if nominal and start and in_another_mode(nominal, start, study, float(study.options.get("span", (0.0,))[0])):
            caution.warn(
                f"plot: with {shown} the linkage starts in another assembly mode than with {first}. Give mode = ... "
                "under [initial] (`chasles check` lists them)"
            )
            return


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
