"""`chasles reproduce`: compute the figures of a paper again and compare."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console


def reproduce(
    paper: Annotated[str, Parameter(help="Key of the paper: mueller2013, mueller2022 or celledoni2022.")],
    /,
    *,
    figure: Annotated[list[int] | None, Parameter(negative=(), help="Only this figure; repeatable.")] = None,
    output: Annotated[
        Path | None, Parameter(help="Folder for the files; by default reproduce_celledoni2022 for celledoni2022.")
    ] = None,
) -> None:
    """Reproduce the numerical figures of a paper, and compare its statements with the results.

    Each figure becomes a picture (PNG) with its numbers (CSV) and its statements (JSON).
    """
    from chasles.bibliography import reference
    from chasles.reproduce import key_of
    from chasles.reproduce import paper as figures_of

    key = key_of(paper)
    folder = Path(f"reproduce_{key}") if output is None else output
    console = Console()
    figures = figures_of(key)
    wanted = list(figures) if figure is None else figure
    if unknown := [k for k in wanted if k not in figures]:
        known = ", ".join(map(str, figures))
        raise ValueError(f"reproduce: paper {key} has no numerical figure {unknown[0]}; it has {known}")
    from chasles.display.progress import Progress
    from chasles.integrate.stepper import whole_or_nothing
    from chasles.reproduce.figure import notes, save, table

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"reproduce: no folder {folder} ({error.strerror}); give another with --output") from None

    console.print(reference(key), highlight=False, markup=False)
    done, start = [], time.perf_counter()
    interrupted = False
    with Progress(0, len(wanted), what="figures:", unit="", steady=True) as line, whole_or_nothing():
        for count, k in enumerate(wanted):
            began = time.perf_counter()
            line.show(count, f"figure {k}, {figures[k].__doc__}")
            try:
                done.append(figures[k]())
                files = save(done[-1], folder, key)
            except KeyboardInterrupt:
                interrupted = True
                break
            spent = time.perf_counter() - began
            with line.aside():
                console.print(f"figure {k:2d}  {spent:5.1f} s  {files[0]} and {len(files) - 1} files of data")
    if interrupted and not done:
        raise KeyboardInterrupt
    console.print(table(done))
    for note, mark in notes(done).items():
        console.print(f"({mark}) {note}", highlight=False)
    claims = [claim for one in done for claim in one.claims]
    agreed = sum(claim.agrees for claim in claims)
    console.print(f"{agreed} of {len(claims)} statements agree; {time.perf_counter() - start:.0f} s; files in {folder}")
    if interrupted:
        print(f"interrupted; {len(done)} of {len(wanted)} figures are done and kept", file=sys.stderr)
        sys.exit(130)
