"""`chasles convert`: URDF and MJCF as model files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console


def convert(
    model: Annotated[Path, Parameter(help="A URDF, MJCF or model file.")],
    file: Annotated[Path, Parameter(help="The model file (.toml) to write.")],
    /,
    *,
    base: Annotated[
        Literal["fixed", "floating"],
        Parameter(help="Whether the first link of a URDF is fixed to the ground or floats."),
    ] = "fixed",
    force: Annotated[bool, Parameter(negative=(), help="Overwrite an existing file.")] = False,
) -> None:
    """Convert a model to a model file of chasles, and report what was imported and what was not.

    For example:

        chasles convert robot.urdf robot.toml
    """
    from chasles.io.load import load
    from chasles.io.model_writer import model_text

    if file.exists() and not force:
        raise ValueError(f"convert: {file} already exists; give another name, or --force")
    study = load(model, base=base)
    try:
        file.write_text(model_text(study), encoding="utf-8")
    except OSError as error:
        raise ValueError(f"convert: {file} cannot be written: {error.strerror}") from None
    console = Console()
    console.print(str(study.report), markup=False, highlight=False, soft_wrap=True)
    console.print(f"wrote {file}", markup=False, highlight=False)
