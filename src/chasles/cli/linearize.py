"""`chasles linearize`: equilibrium, natural frequencies, damping and shapes of a model."""

from __future__ import annotations

import json
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from chasles.cli.model import Changes, Model, find_study


def linearize(
    model: Model,
    /,
    *,
    change: Changes = None,
    at_start: Annotated[bool, Parameter(negative=(), help="About the start of the model, not an equilibrium.")] = False,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), help="As JSON, for programs.")] = False,
) -> None:
    """Find the equilibrium near the start of a model, and how it swings about it: frequencies, damping, shapes.

    With loops, couplings and drives too; what damps and what drives counts as the model has it.

    chasles linearize andrews
    """
    from chasles.display.progress import Progress

    with Progress(0, 0, what="linearizing ...", steady=True):
        found = report(find_study(model, change), at_start)
    if json_output:
        print(json.dumps(found, indent=2))
        return
    console = Console()
    console.print(f"{found['name']}: about {found['about']}; {found['stability']}", markup=False, highlight=False)
    table = Table(box=None)
    for column in ("joint", "coordinates"):
        table.add_column(column)
    for joint, values in found["q"].items():
        table.add_row(escape(joint), " ".join(f"{value:.6g}" for value in values))
    console.print(table)
    modes = Table(title="modes", title_justify="left", box=None)
    for column in ("frequency [Hz]", "damping", "eigenvalue [1/s]", "shape: largest parts"):
        modes.add_column(column)
    for mode in found["modes"]:
        real, imaginary = mode["eigenvalue"]
        value = f"{real:.5g}" + (f" ± {abs(imaginary):.5g}i" if mode["frequency"] else "")
        modes.add_row(f"{mode['frequency']:.6g}", f"{mode['damping']:.4g}", value, escape(_largest(mode["shape"])))
    console.print(modes)
    for note in found["notes"]:
        console.print(f"note: {note}", markup=False, highlight=False)


def report(study: Any, at_start: bool) -> dict[str, Any]:
    """What there is to say of a model's linear system."""
    import chasles as ch
    from chasles.relative.loop.closed import in_joint_coordinates

    begin, control = study.plan().begin, study.options.get("control")
    mechanism = in_joint_coordinates("linearize", begin.mechanism)
    q, v, about = begin.q, begin.v if at_start else None, "the start"
    if not at_start:
        try:
            rest = ch.equilibrium(mechanism, q, control)
        except RuntimeError as error:
            raise ValueError(f"{error}, or take --at-start") from None
        q, about = rest.q, f"an equilibrium, statically {rest.stability}"
    linear = ch.linearize(mechanism, q, v, control)
    tree = mechanism.tree
    return {
        "name": mechanism.system.name,
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
            }
            for mode in linear.modes
        ],
        "notes": list(linear.notes),
    }


def _largest(shape: dict[str, list[list[float]]], most: int = 4) -> str:
    """The joints that move most in a mode, with their sizes."""
    sizes = {
        f"{name}[{k}]" if len(parts) > 1 else name: complex(*part)
        for name, parts in shape.items()
        for k, part in enumerate(parts)
    }
    order = [name for name in sorted(sizes, key=lambda name: -abs(sizes[name])) if abs(sizes[name]) > 1e-3]
    shown = [f"{name} {sizes[name].real:.3g}" for name in order[:most]]
    return ", ".join([*shown, *(["..."] if len(order) > most else [])])
