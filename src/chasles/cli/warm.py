"""`chasles warm`: compile everything in advance."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn


def warm(
    *,
    clean: Annotated[bool, Parameter(negative=(), help="First remove the compiled code of other versions.")] = False,
) -> None:
    """Compile all functions into the cache, so that nothing waits for the compiler later."""
    from chasles.gallery import heavy_top
    from chasles.kernel import cache
    from chasles.kernel.face import faces
    from chasles.lie import analytic, pose, rotation, s3, s3xr3, se2, se3, so2, so3, so3xr3

    console = Console()
    if clean:
        for folder in cache.outdated():
            shutil.rmtree(folder)
            console.print(f"removed {folder}")
    modules = (so2, so3, s3, se2, se3, pose, so3xr3, s3xr3, rotation, analytic)
    tasks: list[tuple[str, Callable[[], object]]] = [(face.label, face.compile) for face in faces(*modules)]
    for space in heavy_top.SPACES:
        tasks.append((f"heavy_top on {space}", partial(heavy_top.simulate, space, step=1e-3, end=1e-3)))
    columns = (TextColumn("{task.description:28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(tasks))
        for label, compile_it in tasks:
            progress.update(bar, description=label)
            compile_it()
            progress.advance(bar)
        progress.update(bar, description="done")
    console.print(f"compiled code is in {cache.root()}")
