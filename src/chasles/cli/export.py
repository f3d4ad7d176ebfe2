"""`chasles export`: a result file as a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from chasles.cli.model import Laws, opened_run


def export(
    run: Annotated[Path, Parameter(help="A result file (.h5).")],
    file: Annotated[Path | None, Parameter(help="The file to write, .csv, .parquet or .npz.")] = None,
    /,
    *,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="The same as FILE.")] = None,
    stride: Annotated[int, Parameter(help="Write every n-th saved time.")] = 1,
    law: Laws = None,
) -> None:
    """Export times, joints, poses, twists, energies, forces, and reactions of a run as CSV, Parquet, or NumPy arrays.

    For example:

        chasles run heavy_top --end 1 -o top.h5
        chasles export top.h5 top.csv
    """
    if (file is None) == (output is None):
        raise ValueError(f"export: give the file to write, once: chasles export {run} {run.stem}.csv")
    target = file or output
    assert target is not None
    from chasles.display.progress import Progress
    from chasles.io.result.export import export as write

    try:
        with Progress(0, 100, what="written", unit=" %") as line:
            write(opened_run(run, law), target, stride=stride, tell=lambda share: line.show(100 * share))
    except OSError as error:
        raise ValueError(f"export: {error.filename or target}: {error.strerror}") from None
    Console().print(f"wrote {target}", markup=False, highlight=False)
