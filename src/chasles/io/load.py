"""Models from files: `load` reads TOML, URDF and MJCF."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chasles.io.markup import read_markup
from chasles.io.model_file import Study, read_study
from chasles.io.report import ImportReport
from chasles.io.source import ModelFileError
from chasles.registry import service

ENDINGS = (".toml", ".urdf", ".xml", ".mjcf")


def located(path: str | Path) -> Path:
    """The file of a model, which may be a name of the gallery."""
    file = Path(path)
    return file if file.suffix or file.exists() else service("model file")(str(path))


def load(
    path: str | Path,
    *,
    set: Mapping[str, Any] | None = None,
    laws: Mapping[str, Any] | None = None,
    base: str = "fixed",
    root: str | Path | None = None,
    packages: Mapping[str, str | Path] | None = None,
) -> Study:
    """Read a model from a .toml (chasles), .urdf, .xml, or .mjcf file (MJCF needs MuJoCo), or by its name in the
    gallery: load("excavator"). `chasles list` shows the names.

    load(file).run() simulates it, load(file).system is the system, and load(file).report lists what was imported,
    approximated, and ignored; it prints as a table. No contact is simulated.

    set: values of a .toml file to change, by parameter or path: {"arm": 0.3, "bodies.hand.mass": 2}. laws: the Python
    functions that it names.
    base: "fixed" or "floating"; URDF does not specify whether the first link is fixed to the ground. root: the folder
    that must contain meshes and included files; by default that of the file, or for URDF that of the ROS package
    around it. packages: folders of ROS packages by name, if they are not above the file.
    """
    file = located(path)
    ending = file.suffix.lower()
    if file.is_dir():
        raise ModelFileError(str(file), None, "", "is a folder; expected a model file in it")
    if ending == ".toml":
        return read_study(file, set=set, laws=laws)
    if ending == ".xacro":
        raise ModelFileError(str(file), None, "", f"is xacro; expand it first: xacro {file.name} > robot.urdf")
    if ending not in ENDINGS:
        raise ModelFileError(str(file), None, "", f"ends in {ending!r}; expected one of {', '.join(ENDINGS)}")
    if set or laws:
        what = "set" if set else "laws"
        told = f"chasles convert {file.name} model.toml"
        raise ValueError(f"load: {what}=... is for model files of chasles; convert first: {told}")
    first = read_markup(file)
    top = None if root is None else Path(root)
    if first.tag == "robot":
        from chasles.io.urdf import read_urdf

        report = ImportReport(str(file), "URDF")
        folders = {name: Path(folder) for name, folder in (packages or {}).items()}
        return Study(read_urdf(first, file, report, base, top, folders), report=report)
    if first.tag == "mujoco":
        from chasles.io.mjcf import read_mjcf

        report = ImportReport(str(file), "MJCF")
        return Study(read_mjcf(first, file, report, top), report=report)
    raise first.error("", "is neither <robot> (URDF) nor <mujoco> (MJCF)")
