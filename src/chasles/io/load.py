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


def load(
    path: str | Path,
    *,
    set: Mapping[str, Any] | None = None,
    laws: Mapping[str, Any] | None = None,
    base: str = "fixed",
    root: str | Path | None = None,
    packages: Mapping[str, str | Path] | None = None,
) -> Study:
    """What a model file says: .toml (chasles), .urdf, .xml or .mjcf (MJCF, for which MuJoCo must be there). A name of
    the gallery serves too: load("excavator"); `chasles list` has the names.

    load(file).run() simulates as the file says, load(file).system is the system, and load(file).report says what was
    taken of a file, approximated and ignored; it prints as a table. No contact is simulated.

    set: values of a .toml file to change, by path, {"parameters.arm": 0.3}. laws: the functions that it names.
    base: whether the first link of a URDF file, which does not say, is "fixed" to the ground or "floating". root: the
    folder that names of meshes and included files may not leave; by default that of the file, or for URDF that of the
    ROS package around it. packages: folders of ROS packages by name, where they are not found above the file.
    """
    file = Path(path)
    if not file.suffix and not file.exists():
        file = service("model file")(str(path))
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
