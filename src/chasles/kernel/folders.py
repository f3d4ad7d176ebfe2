"""Folders of the user. This loads nothing else of the package, so that a page can be shown before the compiler is."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import platformdirs


def user_cache() -> Path:
    """The user's cache directory for chasles, by the rules of the platform (not created here)."""
    if custom := os.environ.get("CHASLES_CACHE_DIR"):
        with suppress(RuntimeError):  # of an unknown user; in a Dockerfile no shell does it
            return Path(custom).expanduser()
        return Path(custom)
    return platformdirs.user_cache_path("chasles", appauthor=False)
