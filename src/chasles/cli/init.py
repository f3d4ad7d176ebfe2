"""`chasles init`: a model file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console


def init(
    name: Annotated[str | None, Parameter(help="A system of the gallery: see `chasles list`.")] = None,
    file: Annotated[Path | None, Parameter(help="The file to write; by default NAME.toml here.")] = None,
    /,
    *,
    schema: Annotated[
        bool,
        Parameter(negative=(), help="Write the JSON Schema of model files, for editors."),
    ] = False,
    force: Annotated[bool, Parameter(negative=(), help="Overwrite an existing file.")] = False,
) -> None:
    """Write a system of the gallery as a commented model file to start from.

    For example:

        chasles init slider_crank
        chasles check slider_crank.toml
        chasles run slider_crank.toml --set parameters.crank="45 mm"
    """
    if schema:
        if file is not None:
            raise ValueError(f"init --schema takes one file, not {name} and {file}")
        target = Path(name or "chasles.schema.json")
        text, then = _schema(), "let your editor check model files with it"
    else:
        target = Path(f"{name}.toml") if file is None else file
        text, then = _model(name), f"now: chasles run {target}"
    if target.exists() and not force:
        raise ValueError(f"init: {target} already exists; give another name, or --force")
    try:
        target.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ValueError(f"init: {target} cannot be written: {error.strerror}") from None
    Console().print(f"wrote {target}; {then}", markup=False, highlight=False)


def _schema() -> str:
    import json

    from chasles.io.schema import schema

    return json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"


def _model(name: str | None) -> str:
    from chasles.gallery import model_files
    from chasles.model.suggestion import meant

    gallery = model_files()
    if name is None:
        raise ValueError(
            f"init: give the name of a system of the gallery to start from, such as slider_crank: {', '.join(gallery)}"
        )
    if name not in gallery:
        near = meant(name, gallery)
        raise ValueError(f"init: there is no system {name!r} in the gallery; {near}there are {', '.join(gallery)}")
    return gallery[name].read_text(encoding="utf-8")
