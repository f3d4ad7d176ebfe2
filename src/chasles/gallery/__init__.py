"""Canonical systems with their published data; those that a file can hold are model files too, in `models/`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from chasles.model.suggestion import meant

# what a model file cannot hold, and why
IN_PYTHON_ONLY = {
    "rigid_body.RigidBody": "the free body as equations on so(3)* and T*SO(3), with its exact solution",
    "spinning_top.SpinningTop": "the top as equations on T*SO(3), se(3)* and in the Kaluza-Klein form; its data as "
    "printed, an inertia about the pivot that no body has",
    "pendulum.Pendulum": "the chain of any number of masses, on (TS²)^N and (T*S²)^N",
    "quadrotors.Quadrotors": "the quadrotors with their control, which is a program",
    "overconstrained": "the linkages of any number of loops, lengths and angles",
}


# names that model files and modules had
RENAMED = {"heavy_top_004": "spinning_top", "source_000": "boxes"}


def __getattr__(name: str) -> None:
    advice = f"; it is called {RENAMED[name]!r} now" if name in RENAMED else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{advice}")


def model_files() -> dict[str, Path]:
    """The model files of the gallery by name."""
    folder = Path(str(files("chasles.gallery"))) / "models"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}


def find_model(model: str) -> Path:
    """The file of a model, given as a path or as a name of the gallery."""
    gallery = model_files()
    if RENAMED.get(model, model) in gallery:
        return gallery[RENAMED.get(model, model)]
    path = Path(model)
    if path.is_file():
        return path
    if path.is_dir():
        raise ValueError(f"{model} is a folder; expected a model file in it, or the name of a system of the gallery")
    near = meant(model, [*gallery, *(file.name for file in Path().glob("*.toml"))])
    raise ValueError(
        f"there is no file {model!r}, and no such system in the gallery; {near}there are {', '.join(gallery)}"
    )
