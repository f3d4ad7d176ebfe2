"""`chasles warm`: compile everything in advance."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from typing import Annotated, Any

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
    tasks += _integrator_tasks()
    columns = (TextColumn("{task.description:28}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("", total=len(tasks))
        for label, compile_it in tasks:
            progress.update(bar, description=label)
            compile_it()
            progress.advance(bar)
        progress.update(bar, description="done")
    console.print(f"compiled code is in {cache.root()}")


def _integrator_tasks() -> list[tuple[str, Callable[[], object]]]:
    """The stepping loops, by short runs of a body that does not move; plain Python fields need no compiler."""
    import numpy as np

    import chasles as ch

    at_rest = ch.LieODE(ch.Space("t*so3"), lambda t, y, p: np.zeros(6))
    body = ch.RigidBodyOnSO3((1.0, 1.0, 1.0), lambda t, q, p: np.zeros(3))
    free = ch.LiePoisson(ch.Space("so3*"), lambda t, y, p: y.copy())
    start, spin = [1.0, 0, 0, 0, 0, 0, 0], [0.0, 0.0, 1.0]
    options: dict[str, Any] = {"span": (0.0, 0.2), "step": 0.1, "progress": False}
    return [
        ("solve", lambda: ch.solve(at_rest, ch.RKMK("rk4"), y0=start, **options)(0.1)),
        ("solve, implicit", lambda: ch.solve(at_rest, ch.Gauss(), y0=start, **options)),
        ("solve, Lie-Poisson", lambda: ch.solve(free, ch.LiePoissonMidpoint(), y0=spin, **options)),
        ("solve, symplectic", lambda: ch.solve(body, ch.MoserVeselov(), y0=start, **options)),
    ]
