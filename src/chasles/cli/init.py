"""`chasles init`: a model file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console


def init(
    name: Annotated[str, Parameter(help="A system of the gallery: see `chasles list`.")],
    file: Annotated[Path | None, Parameter(help="The file to write; by default NAME.toml here.")] = None,
    /,
    *,
    force: Annotated[bool, Parameter(negative=(), help="Write over a file that is there.")] = False,
) -> None:
    """Write a system of the gallery as a commented model file, to be changed and run.

    chasles init heavy_top
    chasles run heavy_top.toml --set parameters.arm=0.3
    """
    from chasles.gallery import model_files
    from chasles.model.suggestion import meant

    gallery = model_files()
    if name not in gallery:
        near = meant(name, gallery)
        raise ValueError(f"init: there is no system {name!r} in the gallery; {near}there are {', '.join(gallery)}")
    target = Path(f"{name}.toml") if file is None else file
    if target.exists() and not force:
        raise ValueError(f"init: {target} is there already; give another name, or --force")
    try:
        target.write_text(gallery[name].read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        raise ValueError(f"init: {target} cannot be written: {error.strerror}") from None
    Console().print(f"wrote {target}; now: chasles run {target}", markup=False, highlight=False)
