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
import zlib
from pathlib import Path

import llvmlite.binding as llvm

from chasles.caution import warn
from chasles.kernel.cache import BASELINE, OWN, key_in, source_key, versions
from chasles.kernel.policy import CHECKED, PLAIN

# what the parts of Python that read an archive raise if it is damaged
DAMAGED = (OSError, EOFError, RuntimeError, LookupError, ValueError, TypeError, zipfile.BadZipFile, zlib.error)
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
        if path.exists() and not path.is_file():  # a named pipe would wait for somebody who writes
            raise ValueError(f"{path} is no file")
        self._files = zipfile.ZipFile(path)
        self._names = set(self._files.namelist())
        self.made_for: dict[str, list[str]] = json.loads(self._files.read("made_for.json"))
        for what, least in (("versions", 0), ("system", 0), ("processor", 2)):
            found = self.made_for[what]
            if not (isinstance(found, list) and len(found) >= least and all(isinstance(one, str) for one in found)):
                raise ValueError(f"{what}: {found!r}")
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
        except DAMAGED:
            return b""


def _installed() -> Archive | None:
    found = importlib.util.find_spec(PACKAGE)
    places = found.submodule_search_locations if found else None
    return Archive(Path(places[0]) / "kernels.zip") if places else None


def _asked() -> str:
    """The variable of the environment that asks for other code than what is shipped; nothing if none does."""
    asking = {"CHASLES_BASELINE": BASELINE, "CHASLES_CHECK": CHECKED, "CHASLES_PLAIN_NUMBA": PLAIN}
    asking["NUMBA_CPU_NAME"] = bool(os.environ.get("NUMBA_CPU_NAME"))
    return next((name for name, asks in asking.items() if asks), "")


@functools.cache
def archive() -> Archive | None:
    """The shipped code, if it is installed and can be used here."""
    if _asked():
        return None
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
    if asked := _asked():
        return f"not used: {asked} asks for other code"
    return f"{found.count()} functions of these sources, for {found.processor[1]}"
