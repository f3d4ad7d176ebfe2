"""Warnings, at the line of the user's program that led to them."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

OWN = str(Path(__file__).parent) + os.sep  # where all files of chasles are
# modules that chasles calls itself through; its own where a function has no file, as those that `dataclasses` writes
BETWEEN = ("numba", "contextlib", "functools", "chasles")


def warn(message: str, category: type[Warning] = RuntimeWarning) -> None:
    """Warn of something; the line that is told is the innermost one outside of chasles."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and _inside(frame.f_code.co_filename, frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, category, stacklevel=level + 1)


def _inside(file: str, module: str) -> bool:
    return file.startswith(OWN) or module.partition(".")[0] in BETWEEN
