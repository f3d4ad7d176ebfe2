"""The first look at a run: its result file tells what the page shows before the motion is known.

It is read with h5py alone, so that the mechanism is seen while all that is compiled is still loaded.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from chasles.io.result.layout import table, text
from chasles.view.page_html import FORMAT, digest, version

TABLES = ("model", "look", "counts", "outcome", "points")
LARGEST = 4_000_000  # bytes


def glance(file: Path) -> dict[str, Any] | None:
    """The data of a run for the page, without its motion; None if the file does not have them, or those of another
    version, or has no point yet. Whether the file is damaged is found out when all of it is read."""
    import h5py

    try:
        with h5py.File(file, "r", locking=False) as h5:
            if any(table(file, h5, name).chunks for name in TABLES) or h5["look"].dtype.itemsize > LARGEST:
                return None
            model = text(file, h5, "model")
            look = json.loads(text(file, h5, "look") or "null")
            if not look or (look["format"], look["chasles"]) != (FORMAT, version()):
                return None
            rows, _, ended = (int(x) for x in h5["counts"][()])
            outcome = json.loads(text(file, h5, "outcome")) if ended else {}
            span = [float(h5["points"][row]["t"]) for row in (0, rows - 1)] if rows else []
        (run,) = look["runs"]
        if not span:
            return None
        run["scene"]["hull"] = outcome.get("hull") or run["scene"]["hull"]
        return run | {
            "label": run["method"],
            "span": sorted(span),
            "ended": bool(ended),
            "success": bool(outcome.get("success")),
            "message": outcome.get("message", ""),
            "model": digest(model),
            "turn": 0,
            "version": 0,
            "reading": True,
        }
    except (OSError, KeyError, TypeError, ValueError, IndexError, AttributeError, RuntimeError):
        return None
