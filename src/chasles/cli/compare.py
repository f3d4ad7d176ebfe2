"""`chasles compare`: integrators, configuration spaces and stabilizations against each other on one mechanism."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console

from chasles.cli.model import Changes, Laws, Model, find_study
from chasles.cli.run import INTERRUPTED


def compare(
    model: Model,
    /,
    *,
    change: Changes = None,
    law: Laws = None,
    end: Annotated[float, Parameter(help="End of the simulation [s].")] = 1.0,
    step: Annotated[float, Parameter(help="Longest step [s].")] = 4e-3,
    halvings: Annotated[int, Parameter(help="How often the step is halved.")] = 4,
    method: Annotated[
        list[str] | None,
        Parameter(
            negative=(),
            help="Only this method, such as rk4, cf4 or hem5; repeatable; all for every explicit one.",
        ),
    ] = None,
    output: Annotated[
        Path | None, Parameter(help="Folder for the files; by default compare_heavy_top for heavy_top.")
    ] = None,
) -> None:
    """Compare integrators on SE(3), SO(3) x R3 and a space for each body, with and without stabilization.

    For every run: violation of the joints, energy error, error at the end against a tight reference, evaluations and
    time. The table shows the middle step, a CSV file all runs, and a work-precision plot (PNG) all errors.
    """
    if halvings < 0:
        raise ValueError(f"compare: halvings is {halvings}; expected 0 or more")
    console, began = Console(), time.perf_counter()
    from chasles.display.progress import Progress
    from chasles.integrate.stepper import Interrupted

    with Progress(0, 1, what="groups of runs:", unit="", steady=True) as line:

        def told(done: int, total: int, next_one: str) -> None:
            line.end = total
            line.show(done, next_one)

        from chasles.study.compare import compare as run

        study = find_study(model, change, law)
        begin = study.plan(coordinates="absolute").begin
        start: dict[str, Any] = {"poses": begin.poses, "twists": begin.twists} if "poses" in study.initial else {}
        start = start or {"q": begin.q, "v": begin.v}
        methods = "all" if method is not None and "all" in method else method
        try:
            found = run(
                study.system,
                (0.0, end),
                **start,
                methods=methods,
                steps=[step / 2**k for k in range(halvings + 1)],
                tell=told,
            )
        except Interrupted as interrupted:
            found = interrupted.result
        folder = Path(f"compare_{Path(model).stem}") if output is None else output
        try:
            files = found.save(folder)
        except OSError as error:
            raise ValueError(f"compare: no folder {folder} ({error.strerror}); give another with --output") from None
    console.print(found.table(), soft_wrap=True)
    console.print(found.summary(), soft_wrap=True)
    console.print(found.recommendation(), markup=False, highlight=False)
    notes = (
        "Violations of the joints and the energy error are the largest of the run. Errors are of positions [m] or "
        f"rotations [rad] at the end, against {found.reference}, which is itself good to "
        f"{found.reference_error:.0e}. Orders are observed (nominal); calls are of the field."
    )
    console.print(notes, markup=False, highlight=False)
    spent = time.perf_counter() - began
    console.print(f"{len(found.rows)} runs; {spent:.0f} s; {', '.join(map(str, files))}")
    if not found.complete:
        print("interrupted; the runs that were done are above and in the files", file=sys.stderr)
        sys.exit(INTERRUPTED)
