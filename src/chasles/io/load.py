"""Models from files: `load` reads TOML, URDF and MJCF; `load_with_report` also says what became of what is in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from chasles.io.markup import read_markup
from chasles.io.model_file import read_study
from chasles.io.report import Report
from chasles.io.source import ModelFileError
from chasles.model.system import System

ENDINGS = (".toml", ".urdf", ".xml", ".mjcf")


def load(
    path: str | Path,
    *,
    base: str = "fixed",
    root: str | Path | None = None,
    packages: Mapping[str, str | Path] | None = None,
) -> System:
    """The system in a model file: .toml (chasles), .urdf, .xml or .mjcf (MJCF, for which MuJoCo must be there).

    base: whether the first link of a URDF file, which does not say, is "fixed" to the ground or "floating". root: the
    folder that names of meshes and included files may not leave; by default that of the file, or for URDF that of the
    ROS package around it. packages: folders of ROS packages by name, where they are not found above the file.
    No contact is simulated, and not all else is taken: `load_with_report` says what.
    """
    return load_with_report(path, base=base, root=root, packages=packages)[0]


def load_with_report(
    path: str | Path,
    *,
    base: str = "fixed",
    root: str | Path | None = None,
    packages: Mapping[str, str | Path] | None = None,
) -> tuple[System, Report]:
    """As `load`, with a report of what was taken, approximated and ignored; it prints as a table."""
    file = Path(path)
    ending = file.suffix.lower()
    if ending == ".toml":
        return _from_toml(file)
    if ending == ".xacro":
        raise ModelFileError(str(file), None, "", f"is xacro; expand it first: xacro {file.name} > robot.urdf")
    if ending not in ENDINGS:
        raise ModelFileError(str(file), None, "", f"ends in {ending!r}; expected one of {', '.join(ENDINGS)}")
    first = read_markup(file)
    top = None if root is None else Path(root)
    if first.tag == "robot":
        from chasles.io.urdf import read_urdf

        report = Report(str(file), "URDF")
        folders = {name: Path(folder) for name, folder in (packages or {}).items()}
        return read_urdf(first, file, report, base, top, folders), report
    if first.tag == "mujoco":
        from chasles.io.mjcf import read_mjcf

        report = Report(str(file), "MJCF")
        return read_mjcf(first, file, report, top), report
    raise first.error("", "is neither <robot> (URDF) nor <mujoco> (MJCF)")


def _from_toml(file: Path) -> tuple[System, Report]:
    system, report = read_study(file).system, Report(str(file), "chasles")
    for what in ("bodies", "joints", "frames", "forces", "actuators", "constraints"):
        for item in getattr(system, what):
            report.took(what, item.name)
    return system, report
