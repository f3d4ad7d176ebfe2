"""`chasles check`: look a model over without simulating it."""

from __future__ import annotations

import json
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from chasles.cli.model import Changes, Model, find_study


def check(
    model: Model,
    /,
    *,
    change: Changes = None,
    json_output: Annotated[bool, Parameter(name="--json", negative=(), help="As JSON, for programs.")] = False,
) -> None:
    """Read a model and say what it is: bodies, joints, freedoms, dependent constraints, whether it can be assembled.

    chasles check three_bar
    """
    console = Console(stderr=json_output)
    with console.status("checking ..."):
        found = report(find_study(model, change))
    if json_output:
        print(json.dumps(found, indent=2))
        return
    console.print(f"{found['name']}: {found['mass']:.6g} kg", markup=False, highlight=False)
    for title, rows in (("bodies", found["bodies"]), ("joints", found["joints"]), ("frames", found["frames"])):
        if rows:
            table = Table(title=title, title_justify="left", box=None)
            for column in rows[0]:
                table.add_column(escape(column))
            for row in rows:
                table.add_row(*(escape(str(value)) for value in row.values()))
            console.print(table)
    for line in found["lines"]:
        console.print(line, markup=False, highlight=False)


def report(study: Any) -> dict[str, Any]:
    """What there is to say of a model."""
    import numpy as np

    from chasles.simulation.analyse import analyse

    system = study.system
    moments = {body.name: np.linalg.eigvalsh(np.array(body.inertia)) for body in system.bodies}
    result: dict[str, Any] = {
        "name": system.name,
        "mass": system.mass,
        "bodies": [
            {
                "body": body.name,
                "mass [kg]": f"{body.mass:.6g}",
                "centre of mass [m]": _numbers(body.com),
                "principal moments [kg m²]": _numbers(moments[body.name]),
            }
            for body in system.bodies
        ],
        "joints": [
            {"joint": joint.name, "kind": joint.kind, "from": joint.parent, "to": joint.child, "freedoms": joint.nv}
            for joint in system.joints
        ],
        "frames": [{"frame": f.name, "body": f.body, "position [m]": _numbers(f.pose[4:])} for f in system.frames],
    }
    found = analyse(system, poses=study.poses()[0])
    result |= {
        "freedoms": found.generic_freedoms,
        "equations": found.equations,
        "redundant": found.redundant,
        "redundant_of": list(found.always_dependent) if found.redundant else [],
        "singular": found.singular,
    }
    result["lines"] = str(found).split("\n")
    return result


def _numbers(values: Any) -> str:
    return " ".join(f"{value:.4g}" for value in values)
