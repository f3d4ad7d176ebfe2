"""Where compiled code is kept, and when it is stale.

Numba's own disk cache looks at the file of the compiled function only: a change in a callee's file runs the old
machine code. Here the cache folder of a layer carries a hash of every source file that its code can depend on, those of
the layer itself and of all below it, and of the versions it stands on. So an edit or an upgrade starts an empty folder,
nothing stale can be found, and an edit in an upper layer leaves the lower ones alone.

Kernels outside of the package are not kept: nothing tells what they depend on.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import re
import tempfile
import warnings
from pathlib import Path

import llvmlite
import numba
import numpy as np

from chasles.kernel.folders import user_cache
from chasles.kernel.trusted import usable

PACKAGE = Path(__file__).resolve().parents[1]
# what the kernels of a layer can call, beside their own layer; those of a layer not listed can call the whole package.
# "a.b" is a layer within a layer: an edit in it leaves the kernels of "a" alone.
BELOW = {
    "kernel": (),
    "lie": ("kernel",),
    "lie.transition": ("kernel", "lie"),
    "integrate": ("kernel", "lie", "lie.transition"),
    "force": ("kernel", "lie"),
    "constraint": ("kernel", "lie"),
    "relative": ("kernel", "lie", "force"),
    "relative.loop": ("kernel", "lie", "force", "constraint", "relative"),
    "relative.derivative": ("kernel", "lie", "force", "relative"),
    "relative.higher": ("kernel", "lie", "force", "relative"),
    "relative.parameter": ("kernel", "lie", "force", "relative"),
    "absolute": ("kernel", "lie", "force", "constraint"),
    "absolute.implicit": ("kernel", "lie", "force", "constraint", "absolute"),
    "transition": ("kernel", "lie", "lie.transition", "integrate"),
    "view.raster": ("kernel",),
    "simulation": ("kernel", "lie", "lie.transition", "force", "constraint", "relative", "absolute", "integrate"),
    "simulation.closed": (
        *("kernel", "lie", "lie.transition", "force", "constraint", "relative", "relative.loop", "integrate"),
    ),
}
_KEY = re.compile("[0-9a-f]{16}").fullmatch


def source_key(layer: str = "", package: Path | None = None) -> str:
    """Hash of all that decides what machine code of a layer comes out: sources, versions, checked mode."""
    digest = hashlib.sha256()
    versions = (numba.__version__, llvmlite.__version__, np.__version__, platform.python_version())
    digest.update(repr((*versions, os.environ.get("CHASLES_CHECK"))).encode())
    covered = (*BELOW[layer], layer) if layer in BELOW else ()
    for name, own, found in _own_sources() if package is None else _sources(package):
        if not covered or own in covered:
            digest.update(name.encode())
            digest.update(found)
    return digest.hexdigest()[:16]


@functools.cache
def _own_sources() -> list[tuple[str, str, bytes]]:
    return _sources(PACKAGE)


def _sources(package: Path) -> list[tuple[str, str, bytes]]:
    """The source files in order: name, layer and hash of each."""
    found = []
    for folder, _, names in os.walk(package):
        place = os.path.relpath(folder, package).replace(os.sep, "/")
        own = layer_of(place.replace("/", ".").removeprefix("."))
        for name in names:
            if name.endswith(".py"):
                text = Path(folder, name).read_bytes()
                found.append((f"{place}/{name}", own, hashlib.sha256(text).digest()))
    return sorted(found)


def layer_of(module: str) -> str:
    """The innermost layer that a module (without "chasles.") belongs to."""
    parts = module.split(".")
    prefixes = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((prefix for prefix in prefixes if prefix in BELOW), parts[0])


@functools.cache
def root() -> Path:
    """The folder that holds all caches; created on first use, announced if it is not the usual one."""
    preferred = user_cache()
    if usable(preferred):
        return preferred.resolve()  # links may be changed by others later
    owner = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    fallback = Path(tempfile.gettempdir()) / f"chasles-{owner}"
    return _instead(preferred, fallback.resolve() if usable(fallback) else Path(tempfile.mkdtemp(prefix="chasles-")))


def _instead(preferred: Path, place: Path) -> Path:
    warnings.warn(
        f"cannot write compiled code to {preferred}, or others could; it is kept in {place} and may have to be "
        "compiled again. Set CHASLES_CACHE_DIR to a writable folder of your own to choose another place.",
        RuntimeWarning,
        stacklevel=3,
    )
    return place


@functools.cache
def folder(layer: str = "") -> Path:
    """The cache folder of a layer in this version of its sources."""
    place = root() / source_key(layer)
    return place if usable(place) else _instead(place, Path(tempfile.mkdtemp(prefix="chasles-")))


def current() -> list[Path]:
    """The cache folders of this version of the sources."""
    return [folder(layer) for layer in (*BELOW, "")]


def outdated() -> list[Path]:
    """Cache folders of other versions of the sources."""
    return sorted(path for path in root().iterdir() if path.is_dir() and path not in current() and _KEY(path.name))
