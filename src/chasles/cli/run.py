"""`chasles run`: simulate a system of the gallery."""

from __future__ import annotations

from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

Model = Literal["heavy_top", "double_pendulum", "floating_bodies", "three_bar"]


def run(
    system: Model,
    /,
    *,
    step: Annotated[float, Parameter(help="Step size [s].")] = 1e-3,
    end: Annotated[float, Parameter(help="End of the simulation [s].")] = 10.0,
) -> None:
    """Simulate a system of the gallery and show how well it did.

    The examples of source 000 in absolute coordinates, with the Munthe-Kaas Runge-Kutta method of order 4 on SE(3) and
    on SO(3) x R3, not stabilised; the table compares the drift of the joints and of the energy. Best known is
    heavy_top, a box that turns about a pivot.
    """
    console = Console()
    with waiting(console, "simulating ..."):
        from chasles.gallery.source_000 import example

        model, runs = example(system), []
        for space in ("SE3", "SO3xR3"):
            model.simulate(step, space=space, step=step, stabilization=None, progress=False)  # compiles on first use
            runs.append(model.simulate(end, space=space, step=step, stabilization=None, progress=False))
    joints = [joint.name for joint in model.system.joints]
    title = f"{system} of source 000, RK4 Munthe-Kaas, not stabilised, {end:g} s in steps of {step:g} s"
    table = Table(title=title)
    table.add_column("space")
    drifts = [f"drift of {name} [m]" for name in joints]
    for column in (*drifts, "energy drift [J]", "the same at the end [J]", "time a step"):
        table.add_column(escape(column), justify="right")
    for space, found in zip(("SE3", "SO3xR3"), runs, strict=True):
        gaps = [(model.gaps(found, name) ** 2).sum(axis=1).max() ** 0.5 for name in joints]
        drift = found.energy.balance - found.energy.balance[0]
        table.add_row(
            space,
            *(f"{gap:.3e}" for gap in gaps),
            f"{abs(drift).max():.3e}",
            f"{drift[-1]:.3e}",
            f"{found.solution.seconds / max(found.solution.steps, 1) * 1e6:.2f} us",
        )
    console.print(table)
    console.print("Drifts are the largest of the run; a joint drifts by the distance of its two points.")
    console.print(f"kinetic energy at the start {runs[0].energy.kinetic[0]:.6f} J")


def waiting(console: Console, what: str):
    """A line that turns while something is done; if it has to be compiled first, a line that stays says so."""
    from chasles.kernel import cache

    if not any(cache.folder("simulation").glob("*.nbc")):
        console.print("compiling the simulation for the first time, about half a minute; it is kept for later")
    return console.status(what)
