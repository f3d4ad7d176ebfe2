"""`chasles linearize`: equilibrium, natural frequencies, damping and shapes of a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from chasles.cli.drawing import load_matplotlib
from chasles.cli.model import Changes, Laws, Model, find_study


def linearize(
    model: Model,
    /,
    *,
    change: Changes = None,
    law: Laws = None,
    at_start: Annotated[
        bool, Parameter(negative=(), help="Linearize about the initial state, not about an equilibrium.")
    ] = False,
    mode: Annotated[
        list[int] | None, Parameter(negative=(), help="Number of a mode to show or write; repeatable.")
    ] = None,
    view: Annotated[bool, Parameter(negative=(), help="Show the modes in 3D, in the browser.")] = False,
    output: Annotated[
        Path | None,
        Parameter(
            name=["--output", "-o"],
            help="File to write: .html (in 3D), .gif or .mp4 (one mode, animated), .png, .svg or .pdf (what moves in "
            "each mode).",
        ),
    ] = None,
    amplitude: Annotated[
        float | None,
        Parameter(
            help="Amplitude of the largest coordinate of the modes shown [rad or m]; by default large enough to see."
        ),
    ] = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), help="As JSON, for programs.")] = False,
) -> None:
    """Find the equilibrium near the initial state, with natural frequencies, damping and mode shapes.

    Loops, couplings, drives and damping are included.

    A mode is shown as a swinging motion about the equilibrium, large enough to be seen; a period lasts two seconds.
    For example:

        chasles linearize suspension
        chasles linearize suspension --mode 1 --mode 2 --view
        chasles linearize suspension --mode 2 -o wheel_hop.gif
        chasles linearize suspension -o modes.png
    """
    from chasles.display.progress import Progress

    with Progress(0, 0, what="linearizing ...", steady=True):
        linear, about, left_out = linear_system(find_study(model, change, law), at_start)
        found = report(linear, about)
        found["notes"] += left_out
    if json_output:
        print(json.dumps(found, indent=2))
    else:
        say(found)
    if view or output is not None:
        draw(linear, mode or [1], amplitude, output)
    elif mode is not None or amplitude is not None:
        raise ValueError("linearize: --mode and --amplitude are for --view, or for a film or page that -o names")


def draw(linear: Any, modes: list[int], amplitude: float | None, output: Path | None) -> None:
    """Show modes, or write them to a file."""
    from chasles.view.page import Page

    if output is None or output.suffix.lower() in (".html", ".htm"):
        runs = [linear.motion(mode, amplitude) for mode in modes]
        page = Page(*runs, labels=tuple(run.illustration for run in runs) if len(runs) > 1 else ())
        if output is None:
            page.open()
            return
        page.save(output)
    elif output.suffix.lower() in (".gif", ".mp4"):
        if len(modes) > 1:
            raise ValueError("linearize: a film shows one mode; give one --mode, or a page, -o modes.html")
        linear.animate(output, modes[0], amplitude)
    else:
        load_matplotlib()
        linear.plot(output)
    Console().print(f"wrote {output}", markup=False, highlight=False)


def say(found: dict[str, Any]) -> None:
    """The linear system in tables."""
    console = Console()
    console.print(f"{found['name']}: about {found['about']}; {found['stability']}", markup=False, highlight=False)
    table = Table(box=None)
    for column in ("joint", "coordinates"):
        table.add_column(column)
    for joint, values in found["q"].items():
        table.add_row(escape(joint), " ".join(f"{value:.6g}" for value in values))
    console.print(table)
    if not found["modes"]:
        console.print("no modes: constraints and drives alone decide how everything moves", highlight=False)
        return
    modes = Table(title="modes", title_justify="left", box=None)
    for column in ("mode", "frequency [Hz]", "damping", "eigenvalue [1/s]", "shape: largest parts", "energy in"):
        modes.add_column(column)
    for number, mode in enumerate(found["modes"], 1):
        real, imaginary = mode["eigenvalue"]
        value = f"{real:.5g}" + (f" ± {abs(imaginary):.5g}i" if mode["frequency"] else "")
        shown = f"{mode['frequency']:.6g}", f"{mode['damping']:.4g}", value
        modes.add_row(str(number), *shown, escape(_largest(mode["shape"])), escape(_shares(mode["bodies"])))
    console.print(modes)
    for note in found["notes"]:
        console.print(f"note: {note}", markup=False, highlight=False)


def linear_system(study: Any, at_start: bool) -> tuple[Any, str, list[str]]:
    """The linear system of a model, what it is about, and what of the model is not in it."""
    import numpy as np

    import chasles as ch
    from chasles.relative.loop.closed import ClosedMechanism, in_joint_coordinates
    from chasles.simulation.equilibrium import Equilibrium

    begin, control = study.plan().begin, study.options.get("control")
    mechanism = in_joint_coordinates("linearize", begin.mechanism)
    q, v, about = begin.q, begin.v if at_start else None, "the start"
    if not at_start:
        try:
            rest = ch.equilibrium(mechanism, q, control)
        except RuntimeError as error:
            raise ValueError(f"{error}, or take --at-start") from None
        q, about = rest.q, f"an equilibrium, statically {rest.stability}"
        if isinstance(rest, Equilibrium) and not len(rest.independent):
            about = "the only state that its constraints allow"
        if isinstance(rest, Equilibrium) and isinstance(mechanism, ClosedMechanism) and rest.running:
            about = f"a state at t = 0 s that is held in motion by {', '.join(map(repr, rest.running))}"
            v = mechanism.consistent_velocities(q, [0.0] * mechanism.nv)
    notes = []
    if not at_start and v is None and begin.v is not None and np.any(begin.v):
        notes.append("about rest: the initial velocities of the model are not in it; --at-start takes them")
    return ch.linearize(mechanism, q, v, control), about, notes


def report(linear: Any, about: str) -> dict[str, Any]:
    """What there is to say of a model's linear system."""
    tree = linear.tree.tree
    return {
        "name": linear.tree.system.name,
        "about": about,
        "stability": linear.stability,
        "q": {name: linear.q[at].tolist() for name, at in tree.coordinates.items() if at.start != at.stop},
        "modes": [
            {
                "frequency": mode.frequency,
                "damping": mode.damping,
                "eigenvalue": [mode.eigenvalue.real, mode.eigenvalue.imag],
                "shape": {
                    name: [[x.real, x.imag] for x in mode.shape[at].tolist()]
                    for name, at in tree.velocities.items()
                    if at.start != at.stop
                },
                "joints": mode.joints,
                "bodies": mode.bodies,
            }
            for mode in linear.modes
        ],
        "notes": list(linear.notes),
    }


def _shares(bodies: dict[str, float], most: int = 3) -> str:
    """The bodies with most of the kinetic energy."""
    order = sorted(bodies, key=lambda name: -bodies[name])[:most]
    return ", ".join(f"{name} {100 * bodies[name]:.0f}%" for name in order if bodies[name] >= 0.005)


def _largest(shape: dict[str, list[list[float]]], most: int = 3) -> str:
    """The joints that move most in a mode, with their sizes."""
    sizes = {
        f"{name}[{k}]" if len(parts) > 1 else name: complex(*part)
        for name, parts in shape.items()
        for k, part in enumerate(parts)
    }
    order = [name for name in sorted(sizes, key=lambda name: -abs(sizes[name])) if abs(sizes[name]) > 1e-3]
    shown = [f"{name} {sizes[name].real:.3g}" for name in order[:most]]
    return ", ".join([*shown, *(["..."] if len(order) > most else [])])
