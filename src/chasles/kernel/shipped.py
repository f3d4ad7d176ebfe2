"""Machine code that comes with the package `chasles-kernels`: made on one computer, used on another.

`python -m tools.kernels` makes that package. Its code is for a baseline of processors, one version of Python (X.Y), of
Numba and of llvmlite, and these sources of chasles. Where anything of this is different, the code is not used and
functions are compiled as if it were not there.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import os
import platform
import sys
import zipfile
from pathlib import Path

import llvmlite.binding as llvm

from chasles.caution import warn
from chasles.kernel.cache import BASELINE, OWN, key_in, source_key, versions

PACKAGE, NAME = "chasles_kernels", "chasles-kernels"  # to import, to install
X86_64_V3 = ["avx", "avx2", "bmi", "bmi2", "cx16", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "ssse3"]
# by machine: the processor as LLVM calls it, and the features that it must have
BASELINES = {
    "x86_64": ("x86-64-v3", X86_64_V3),
    "aarch64": ("generic", ["neon"]),
}


def machine() -> str:
    """The kind of machine, as the baselines are listed."""
    name = platform.machine().lower()
    return {"amd64": "x86_64", "arm64": "aarch64"}.get(name, name)


class Archive:
    """The compiled functions of an installed `chasles-kernels`."""

    def __init__(self, path: Path):
        self._files = zipfile.ZipFile(path)
        self._names = set(self._files.namelist())
        self.made_for = json.loads(self._files.read("made_for.json"))
        self.processor = tuple(self.made_for["processor"])

    def misfit(self) -> str:
        """Why this process cannot use the code; nothing if it can."""
        features = llvm.get_host_cpu_features()
        processor, needed = BASELINES.get(machine(), ("", ["a known baseline"]))
        here = {"versions": list(versions(shipped=True)), "system": [sys.platform, machine()]}
        for what, found in here.items():
            if self.made_for[what] != found:
                return f"made for {' '.join(self.made_for[what])}, this is {' '.join(found)}"
        lacking = [name for name in needed if not features.get(name)]
        return f"made for {processor}, and this processor lacks {', '.join(lacking)}" if lacking else ""

    def count(self) -> int:
        """How many of its functions are of the present sources."""
        keys = {source_key(module, shipped=True) for module in OWN.modules()}
        return sum(key_in(name) in keys for name in self._names)

    @staticmethod
    @functools.cache
    def key(module: str) -> str:
        """What the names of a module's shipped code carry."""
        return source_key(module, shipped=True)

    def read(self, name: str) -> bytes | None:
        """The contents of a file, None if it is not there, nothing if it is damaged."""
        if name not in self._names:
            return None
        try:
            return self._files.read(name)
        except (zipfile.BadZipFile, OSError, EOFError, ValueError):
            return b""


def _installed() -> Archive | None:
    found = importlib.util.find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    return Archive(Path(places[0]) / "kernels.zip") if places else None


DAMAGED = (OSError, zipfile.BadZipFile, KeyError, ValueError, TypeError)


@functools.cache
def archive() -> Archive | None:
    """The shipped code, if it is installed and can be used here."""
    if BASELINE or os.environ.get("CHASLES_CHECK") or os.environ.get("NUMBA_CPU_NAME"):
        return None  # other code is asked for
    try:
        found = _installed()
        wrong = found.misfit() if found else ""
    except DAMAGED as error:
        found, wrong = None, f"damaged ({error})"
    if wrong:
        warn(f"the installed {NAME} is not used: {wrong}. Functions are compiled at their first use.")
    return None if wrong else found


def status() -> str:
    """A line for people: what shipped code there is, and whether it is used."""
    try:
        found = _installed()
    except DAMAGED as error:
        return f"damaged, not used: {error}"
    if not found:
        return f"not installed ({NAME})"
    if wrong := found.misfit():
        return f"not used: {wrong}"
    return f"{found.count()} functions of these sources, for {found.processor[1]}"
