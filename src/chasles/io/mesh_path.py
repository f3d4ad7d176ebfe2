"""Where the mesh of a URDF file is: package://, file:// and relative names, never outside the folder of the model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from chasles.io.source import within

PACKAGE, FILE = "package://", "file://"
LONGEST = 1000  # characters
UPWARDS = 8  # folders above the model in which a package is looked for


class OutsideError(ValueError):
    """A path that leads out of the folders of the model."""


def package_root(file: Path) -> Path:
    """The folder that relative names may not leave: the ROS package around a file, else its own folder."""
    folder = file.resolve().parent
    for above in [folder, *folder.parents][:UPWARDS]:
        if (above / "package.xml").is_file():
            return above
    return folder


def mesh_path(name: str, file: Path, root: Path, packages: Mapping[str, Path]) -> Path:
    """The file that a name means; `OutsideError` if it leads out of those of the model, ValueError if there is none."""
    if len(name) > LONGEST or "\0" in name or not name.strip():
        raise ValueError(f"{name[:60]!r} is not a file name")
    if name.startswith(PACKAGE):
        package, _, rest = unquote(name.removeprefix(PACKAGE)).lstrip("/").partition("/")
        folder = _package(package, file, packages)
        if folder is None:
            raise ValueError(f"the package {package!r} is not found; give packages={{{package!r}: folder}}")
        path = _inside(folder, rest, name)
    elif name.startswith(FILE):
        path = _absolute(Path(unquote(name.removeprefix(FILE))), root, name)
    elif "://" in name:
        raise ValueError(f"{name[:60]!r} is not on this machine")
    elif Path(name).is_absolute():
        path = _absolute(Path(name), root, name)
    else:
        path = (file.resolve().parent / name).resolve()
        if not path.is_relative_to(root.resolve()):
            raise OutsideError(f"{name!r} leads out of {str(root)!r}; if this is meant, give root=folder")
    if not path.is_file():
        raise ValueError(f"{name!r} is not there ({path})")
    return path


def _package(name: str, file: Path, packages: Mapping[str, Path]) -> Path | None:
    """The folder of a package: given, or one of this name around the model, or a ROS package beside one of these."""
    if name in packages:
        return Path(packages[name])
    if name in ("", ".", "..") or "\\" in name:
        return None
    for above in list(file.resolve().parents)[:UPWARDS]:
        if above.name == name:
            return above
        if (above / name / "package.xml").is_file():
            return above / name
    return None


def _inside(folder: Path, name: str, given: str) -> Path:
    try:
        return within(folder, name, "mesh")
    except ValueError:
        raise OutsideError(f"{given!r} leads out of its package") from None


def _absolute(path: Path, root: Path, given: str) -> Path:
    found = path.resolve()
    if not found.is_relative_to(root.resolve()):
        raise OutsideError(f"{given!r} leads out of {str(root)!r}; if this is meant, give root=folder")
    return found
