"""Models as the commands take them: a file, or a name of the gallery, with values changed by --set."""

from __future__ import annotations

import sys
import tomllib
import warnings
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
    Parameter(name="--set", negative=(), help="Change a value, such as arm=0.3 or bodies.top.density=800; repeatable."),
]

Laws = Annotated[
    list[Path] | None,
    Parameter(name="--law", negative=(), help="A Python file with the laws that the model names; repeatable."),
]


def laws_in(files: list[Path] | None) -> dict[str, Any]:
    """The functions of Python files by name: laws that a model can name."""
    import importlib.util

    from chasles.model.law import Law

    found: dict[str, Any] = {}
    for file in files or ():
        if file.suffix != ".py" or not file.is_file():
            raise ValueError(f"--law {file}: expected a Python file that is there")
        name = f"laws_in_{file.stem}"
        spec = importlib.util.spec_from_file_location(name, file)
        assert spec is not None
        assert spec.loader is not None
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        try:
            spec.loader.exec_module(module)
        except Exception as error:
            raise ValueError(f"--law {file}: {type(error).__name__}: {error}") from error
        for key, value in vars(module).items():
            own = isinstance(value, Law) or (callable(value) and getattr(value, "__module__", "") == name)
            if own and not key.startswith("_"):
                found[key] = value
    return found


def changes(given: list[str] | None) -> dict[str, Any]:
    """Values by path from "path=value"; a value is read as in a file, or else is a text."""
    result = {}
    for item in given or []:
        path, equals, text = item.partition("=")
        if not equals or not path.strip():
            raise ValueError(f"--set {item}: expected path=value, such as parameters.arm=0.3 of heavy_top")
        try:
            value = tomllib.loads(f"value = {text}")["value"]
        except tomllib.TOMLDecodeError:
            value = text.strip()
        result[path.strip()] = value
    return result


def find_study(model: str, given: list[str] | None = None, laws: list[Path] | None = None) -> Study:
    """The study of a model with its changes; what an import leaves out is said on standard error."""
    from chasles.gallery import find_model
    from chasles.io.load import load

    file = find_model(model)
    if file.suffix.lower() in (".h5", ".hdf5"):
        raise ValueError(
            f"{model} is a result, not a model: chasles run --resume {model}, or chasles export {model} ..."
        )
    if file.suffix.lower() in (".urdf", ".xml", ".mjcf"):
        if given or laws:
            raise ValueError(
                f"--set and --law are for model files of chasles; convert first: chasles convert {model} model.toml"
            )
        study = load(file)
        print(study.report, file=sys.stderr)
        return study
    return load(file, set=changes(given), laws=laws_in(laws))


def find_run(
    name: str, given: list[str] | None = None, end: float | None = None, laws: list[Path] | None = None
) -> Any:
    """The run of a result file, or of a model, which is run now, as by `chasles run`, up to `end` [s]."""
    path = Path(name)
    if path.is_file() and is_result(path):
        if given:
            raise ValueError(f"--set changes models; {name} is a run that was done")
        return opened_run(path, laws)
    if path.suffix.lower() in (".h5", ".hdf5"):
        raise ValueError(f"there is no result file {name!r}" if not path.exists() else f"{name!r} is not a result file")
    study = find_study(name, given, laws)
    options = {} if end is None else {"span": (study.options.get("span", (0.0, 0.0))[0], end)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        run = study.run(**options)
    if not run.success:
        print(run.message, file=sys.stderr)
    for change in run.start_changes:
        if change.given:
            print(f"changed by assembly, {change}", file=sys.stderr)
    return run


def opened_run(path: Path, laws: list[Path] | None = None) -> Any:
    """The run of a result file, with those of the laws that it names."""
    from chasles.io.result.reader import open as open_run
    from chasles.io.result.reader import read

    if not laws:
        return open_run(path)
    named = {one["name"] for one in read(path).header["laws"]}
    return open_run(path, laws={name: law for name, law in laws_in(laws).items() if name in named} or None)


def is_result(path: Path) -> bool:
    """Whether a file is in the format of result files."""
    with path.open("rb") as stream:
        return stream.read(8) == b"\x89HDF\r\n\x1a\n"


def default_output(run: str, ending: str) -> Path:
    """The file that a command writes if none is given: beside a result file and named after it; what is made of a model
    goes to the current folder."""
    path = Path(run)
    folder = path.parent if path.is_file() and is_result(path) else Path()
    return folder / f"{path.stem}{ending}"


def say_what_is_not_drawn(run: Any) -> None:
    """Meshes that could not be read, or are too large, on standard error."""
    from chasles.screw.shape import Mesh
    from chasles.view.scene import scene_of

    if any(isinstance(shape, Mesh) for body in run.mechanism.system.bodies for shape in body.shapes):
        for note in scene_of(run).notes:
            print(note, file=sys.stderr)


def labeled(names: list[str]) -> dict[str, str]:
    """Runs by short names, by the names as given if those are the same, and numbered if these are the same too."""
    short = [Path(name).stem if Path(name).suffix else name for name in names]
    labels = short if len(set(short)) == len(set(names)) else names
    numbered = [f"{label} ({labels[: k + 1].count(label)})" for k, label in enumerate(labels)]
    return dict(zip(labels if len(set(labels)) == len(labels) else numbered, names, strict=True))
