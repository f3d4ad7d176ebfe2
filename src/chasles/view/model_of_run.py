"""A run as a model file that does it again: the system, its start, and how it was simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from chasles.io.description import study_of
from chasles.io.model_writer import model_text
from chasles.io.result.header import laws_of
from chasles.model.system import System
from chasles.screw.shape import Mesh


def repeated(run: Any) -> tuple[str, list[str]]:
    """The text of a model file that repeats a run with `chasles run`, and what a file cannot say of it."""
    study, missing = study_of(run.task)
    shapes = [shape for body in study.system.bodies for shape in body.shapes]
    if meshes := {_name(shape.path) for shape in shapes if isinstance(shape, Mesh)}:
        missing.append(f"the meshes {', '.join(sorted(meshes))}, which it looks for in the current folder")
    missing += [f"the function of the law {name!r}" for name in laws_of(study.system)]
    return model_text(replace(study, system=_without_folders(study.system))), missing


def _without_folders(system: System) -> System:
    """Meshes by the names of their files: where they are is the user's own affair."""
    bodies = []
    for body in system.bodies:
        shapes = [replace(shape, path=_name(shape.path)) if isinstance(shape, Mesh) else shape for shape in body.shapes]
        bodies.append(body if shapes == list(body.shapes) else replace(body, shapes=shapes))
    return replace(system, bodies=bodies)


def _name(path: str) -> str:
    return PureWindowsPath(path).name if "\\" in path else PurePosixPath(path).name
