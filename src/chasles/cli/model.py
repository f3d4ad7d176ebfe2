"""Models as the commands take them: a file, or a name of the gallery, with values changed by --set."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

if TYPE_CHECKING:
    from chasles.io.model_file import Study

Model = Annotated[
    str,
    Parameter(help="A model file (.toml, .urdf, MJCF), or the name of a system of the gallery: see `chasles list`."),
]
Changes = Annotated[
    list[str] | None,
    Parameter(name="--set", negative=(), help="Change a value, such as bodies.top.mass=3; may be given again."),
]


def changes(given: list[str] | None) -> dict[str, Any]:
    """Values by path from "path=value"; a value is read as in a file, or else is a text."""
    result = {}
    for item in given or []:
        path, equals, text = item.partition("=")
        if not equals or not path.strip():
            raise ValueError(f"--set {item}: expected path=value, such as bodies.top.mass=3")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        result[path.strip()] = value
    return result


def find_file(model: str) -> Path:
    """The file of a model, given as a path or as a name of the gallery."""
    from chasles.gallery import model_files
    from chasles.model.names import meant

    gallery = model_files()
    if model in gallery:
        return gallery[model]
    path = Path(model)
    if path.is_file():
        return path
    near = meant(model, [*gallery, *(file.name for file in Path().glob("*.toml"))])
    raise ValueError(
        f"there is no file {model!r}, and no such system in the gallery; {near}there are {', '.join(gallery)}"
    )


def find_study(model: str, given: list[str] | None = None) -> Study:
    """The study of a model with its changes; what an import leaves out is said on standard error."""
    from chasles.io.model_file import Study, read_study

    file = find_file(model)
    if file.suffix.lower() in (".h5", ".hdf5"):
        raise ValueError(
            f"{model} is a result, not a model: chasles run --resume {model}, or chasles export {model} ..."
        )
    if file.suffix.lower() in (".urdf", ".xml", ".mjcf"):
        from chasles.io.load import load_with_report

        if given:
            raise ValueError(f"--set changes model files of chasles; convert first: chasles convert {model} model.toml")
        system, report = load_with_report(file)
        print(report, file=sys.stderr)
        return Study(system)
    return read_study(file, set=changes(given))
