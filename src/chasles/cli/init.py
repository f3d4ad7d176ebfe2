"""`chasles init`: a model file to start from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console


def init(
    name: Annotated[
        str | None,
        Parameter(help="A system of the gallery (see `chasles list`), or a file (.toml) for the starter model."),
    ] = None,
    file: Annotated[
        Path | None, Parameter(help="The file to write; by default NAME.toml, or model.toml without a name.")
    ] = None,
    /,
    *,
    schema: Annotated[
        bool,
        Parameter(negative=(), help="Write the JSON Schema of model files, for editors."),
    ] = False,
    force: Annotated[bool, Parameter(negative=(), help="Overwrite an existing file.")] = False,
) -> None:
    """Write a commented model file to start from: two links on hinges, or a system of the gallery.

    For example:

        chasles init
        chasles init arm.toml
        chasles init slider_crank
        chasles run slider_crank.toml --set parameters.crank="45 mm"
    """
    if schema:
        if file is not None:
            raise ValueError(f"init --schema takes one file, not {name} and {file}")
        target = Path(name or "chasles.schema.json")
        text, then = _schema(), "let your editor check model files with it"
    elif file is None and (name is None or name.endswith(".toml")):
        target = Path(name or "model.toml")
        text, then = _starter(target), f"now: chasles run {target} (`chasles list gallery` names larger models)"
    else:
        target = Path(f"{name}.toml") if file is None else file
        text, then = _model(name or ""), f"now: chasles run {target}"
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


def _starter(target: Path) -> str:
    from importlib.resources import files

    text = files("chasles.gallery").joinpath("starter.toml").read_text(encoding="utf-8")
    return text.replace("model.toml", target.name)


def _model(name: str) -> str:
    from chasles.gallery import model_files
    from chasles.model.suggestion import meant

    gallery = model_files()
    if name not in gallery:
        near = meant(name, gallery)
        raise ValueError(
            f"init: there is no system {name!r} in the gallery; {near}there are {', '.join(gallery)}; "
            "without a name, init writes a small starter model"
        )
    return gallery[name].read_text(encoding="utf-8")
