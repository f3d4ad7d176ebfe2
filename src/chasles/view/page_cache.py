"""Data of pages that were shown are kept, so that a run is shown again at once, before anything compiled is loaded.

They lie in the user's cache folder under a hash of the file's path, size and time and of the package's sources.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from chasles.kernel.folders import user_cache

PACKAGE = Path(__file__).resolve().parents[1]
FILES, BYTES = 64, 300_000_000  # at most; the oldest go


def folder() -> Path:
    """Beside the compiled code, in the user's cache folder."""
    return user_cache() / "pages"


def place(file: Path) -> Path:
    """Where the data of a result file are kept."""
    digest = hashlib.sha256()
    for path in (file.resolve(), *sorted(PACKAGE.rglob("*.py"))):
        found = path.stat()
        digest.update(f"{path} {found.st_size} {found.st_mtime_ns}\n".encode())
    return folder() / f"{digest.hexdigest()[:32]}.json"


def find(file: Path) -> dict[str, Any] | None:
    """The data of a run that was shown before and whose file did not change since."""
    try:
        seal, _, text = place(file).read_bytes().partition(b"\n")
        return json.loads(text) if seal == _seal(text) else None
    except (OSError, ValueError):
        return None


def _seal(text: bytes) -> bytes:
    """A sum over what is kept: a file that was damaged is not shown."""
    return hashlib.sha256(text).hexdigest().encode()


def keep(target: Path, data: dict[str, Any]) -> None:
    """Keep the data of a run that has ended, at the `place` that its file had when it was read.

    Those of meshes, which are in files of their own, are not kept."""
    if any(part["kind"] == "mesh" for body in data["scene"]["bodies"] for part in body["parts"]):
        return
    with suppress(OSError):  # a folder that cannot be written is no reason to fail
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = target.with_suffix(f".{os.getpid()}.new")
        text = json.dumps(data).encode()
        new.write_bytes(_seal(text) + b"\n" + text)
        new.replace(target)
        _tidy(target.parent)


def _tidy(pages: Path) -> None:
    total = 0
    kept = sorted((*pages.glob("*.json"), *pages.glob("*.new")), key=lambda path: path.stat().st_mtime, reverse=True)
    for k, path in enumerate(kept):
        total += path.stat().st_size
        if k and (k >= FILES or total > BYTES):
            path.unlink()
