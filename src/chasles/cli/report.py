"""`chasles report`: a run on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from chasles.cli.drawing import load_matplotlib
from chasles.cli.model import Changes, Laws, default_output, find_run, is_result, say_what_is_not_drawn
from chasles.cli.streams import say


def report(
    run: Annotated[str, Parameter(help="A result or study file (.h5), a model file or a name of the gallery.")],
    /,
    *,
    output: Annotated[
        Path | None,
        Parameter(name=["--output", "-o"], help="File to write (.html); by default RUN_report.html beside RUN."),
    ] = None,
    end: Annotated[
        str | None, Parameter(help="End of the simulation [s], or with a unit, if a model is run first.")
    ] = None,
    change: Changes = None,
    law: Laws = None,
) -> None:
    """Write a report with model, method, certificate, figures, 3D page, how to reproduce the run and what to cite.

    It is one HTML file, which opens without a network. A model is run first, as by `chasles run`. The report of a study
    file (`chasles sweep`) covers all members. Examples:

        chasles report run.h5
        chasles report study.h5
        chasles report heavy_top --end 2 -o top.html
    """
    from chasles.cli.run import seconds

    until = seconds("--end", end)
    if _study(run, output, until, change):
        return
    found = find_run(run, change, until, law)
    from chasles.io.result.reader import read
    from chasles.view.report import report as written

    load_matplotlib()

    path = Path(run)
    header = read(path).header if path.is_file() and is_result(path) else None
    file = output or default_output(run, "_report.html")
    written(found, file, header=header)
    say_what_is_not_drawn(found)
    say(f"wrote {file}, {file.stat().st_size / 1e6:.1f} MB")


def _study(given: str, output: Path | None, end: float | None, change: Changes) -> bool:
    """Report on the file of a study, if it is one."""
    from chasles.ensembles.study_file import is_study, open_study

    path = Path(given)
    if path.suffix != ".h5" or not path.is_file() or not is_study(path):
        return False
    if end is not None or change:
        raise ValueError("report: a study is reported as it is; its members are computed by chasles sweep")
    load_matplotlib()
    file = output or default_output(given, "_report.html")
    open_study(path).report(file)
    say(f"wrote {file}, {file.stat().st_size / 1e6:.1f} MB")
    return True
