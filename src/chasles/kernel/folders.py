"""Folders of the user. This loads nothing else of the package, so that a page can be shown before the compiler is."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def user_cache() -> Path:
    """The user's cache directory for chasles, by the rules of the platform (not created here)."""
    if custom := os.environ.get("CHASLES_CACHE_DIR"):
        return Path(custom)
    return platformdirs.user_cache_path("chasles", appauthor=False)
