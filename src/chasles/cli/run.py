"""`chasles run`: simulate a system of the gallery."""

from __future__ import annotations

import time
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.table import Table


def run(
    system: Literal["heavy_top"],
    /,
    *,
    step: Annotated[float, Parameter(help="Step size [s].")] = 1e-3,
    end: Annotated[float, Parameter(help="End of the simulation [s].")] = 10.0,
) -> None:
    """Simulate a system of the gallery and show how well it did.

    heavy_top: the heavy top of source 000, with the Munthe-Kaas Runge-Kutta method of order 4 on SE(3) and on
    SO(3) x R3, not stabilised; the table compares the drift of the pivot and of the energy.
    """
    console = Console()
    with console.status("loading, and compiling what is not in the cache ..."):
        from chasles.gallery import heavy_top

        runs = []
        for space in heavy_top.SPACES:
            heavy_top.simulate(space, step=step, end=step)  # compiles on first use
            start = time.perf_counter()
            result = heavy_top.simulate(space, step=step, end=end)
            runs.append((result, time.perf_counter() - start))
    table = Table(title=f"Heavy top of source 000, RK4 Munthe-Kaas, {end:g} s in steps of {step:g} s")
    table.add_column("space")
    for title in ("largest pivot drift [m]", "largest energy drift [J]", "energy drift at the end [J]", "time a step"):
        table.add_column(title, justify="right")
    for result, seconds in runs:
        table.add_row(
            result.space,
            f"{result.pivot_drift.max():.3e}",
            f"{abs(result.energy_drift).max():.3e}",
            f"{result.energy_drift[-1]:.3e}",
            f"{seconds / (len(result.time) - 1) * 1e6:.2f} us",
        )
    console.print(table)
    console.print(f"kinetic energy at the start {runs[0][0].energy[0]:.6f} J")
