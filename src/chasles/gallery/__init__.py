"""Canonical systems with their published data; some also as model files, in `models/`."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path


def model_files() -> dict[str, Path]:
    """The model files of the gallery by name."""
    folder = Path(str(files("chasles.gallery"))) / "models"
    return {path.stem: path for path in sorted(folder.glob("*.toml"))}
