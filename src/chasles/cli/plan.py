"""`chasles plan`: the best motion of a model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from chasles.cli.model import Changes, Laws, Model, find_study


def plan(
    model: Model,
    task: Annotated[Path, Parameter(help="A file (.toml) with costs, goals and limits of the motion.")],
    /,
    *,
    change: Changes = None,
    law: Laws = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="Result file (.h5) to write.")] = None,
    picture: Annotated[Path | None, Parameter(help="Coordinates and inputs, as .png, .pdf or .svg.")] = None,
) -> None:
    """Find the inputs with the least cost (such as effort or time) that reach a goal within limits.

    The motion starts at the initial state of the model file. A task file contains the time span, costs and goals:

        span = [0, 3]
        steps = 60
        [costs]
        effort = 1
        [[reach]]
        q.pivot = "180 deg"
        v.pivot = 0

    For example:

        chasles plan pendulum.toml swing_up.toml -o plan.h5 --picture plan.png
        chasles view plan.h5
    """
    from chasles.io.plan_file import planned

    if output is not None and output.suffix.lower() not in (".h5", ".hdf5"):
        raise ValueError(f"--output {output}: expected a name that ends in .h5")
    study = find_study(model, change, law)
    found = planned(task, study)
    print(found)
    if output is not None:
        found.run.save(output)
        print(f"wrote {output}")
    if picture is not None:
        found.run.plot("joints", "inputs", file=picture)
        print(f"wrote {picture}")
