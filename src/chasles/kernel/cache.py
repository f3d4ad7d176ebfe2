"""Where compiled code is kept, and when it is stale.

Numba's own disk cache looks at the file of the compiled function only: a change in a callee's file runs the old
machine code. Here compiled code carries a hash of every source file that it can depend on: that of its module, of what
this imports, of what those import, and of the versions it stands on. So an edit or an upgrade changes the name under
which code is looked for: stale code is never found. What does not import the edited file is left alone.

Kernels outside of the package are not kept: nothing tells what they depend on.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import llvmlite
import llvmlite.binding as llvm
import numpy as np

from chasles.caution import warn
from chasles.kernel.folders import user_cache
from chasles.kernel.machine_code import BEGAN
from chasles.kernel.policy import CHECKED
from chasles.kernel.trusted import usable

PACKAGE = Path(__file__).resolve().parents[1]
# kernels see the names that their module has: only what it imports at its outermost level can be compiled into them.
# Half a megabyte is searched at every start: both patterns begin with letters that are seldom there
_IMPORTS = re.compile(r"\n(?:from +chasles((?:\.\w+)*) +import +(\([^)]*\)|[^\n#]*)|import +chasles((?:\.\w+)*))")
_QUOTED = re.compile(r"\"chasles((?:\.\w+)*)\"")
_WHEN_COMPILING = re.compile(r"(?:late|with_numba|kind_in)\(\s*$").search  # what is before a name in quotes then
_IMPORTED = re.compile(r"(\w+)(?:\s+as\s+\w+)?")
_KEY = re.compile(r"-([0-9a-f]{16})-[0-9a-f]{16}\.nbc$").search


class Sources:
    """The source files of a package: what they contain and what they import."""

    def __init__(self, package: Path):
        self.package = package
        self._read: dict[str, tuple[bytes, frozenset[str]]] = {}
        self._files: dict[str, Path | None] = {}
        self._folders: dict[str, frozenset[str]] = {}
        self.edited: set[str] = set()  # since this process began: it may run what stood there before

    def modules(self) -> Iterator[str]:
        """All modules, by their names within the package."""
        for path in self.package.rglob("*.py"):
            yield ".".join(path.relative_to(self.package).with_suffix("").parts).removesuffix("__init__").rstrip(".")

    def file(self, module: str) -> Path | None:
        """The path of a module. It is asked for a thousand names at every start, so each folder is listed once."""
        if module not in self._files:
            folder, _, name = module.rpartition(".")
            if "__init__.py" in self._names(module):
                self._files[module] = self._place(module) / "__init__.py"
            else:
                self._files[module] = (
                    self._place(folder) / f"{name}.py" if f"{name}.py" in self._names(folder) else None
                )
        return self._files[module]

    def _place(self, module: str) -> Path:
        return self.package.joinpath(*module.split(".")) if module else self.package

    def _names(self, module: str) -> frozenset[str]:
        """The files in a folder; none if there is no such folder."""
        if module not in self._folders:
            try:
                with os.scandir(self._place(module)) as found:
                    self._folders[module] = frozenset(entry.name for entry in found)
            except OSError:
                self._folders[module] = frozenset()
        return self._folders[module]

    def closure(self, module: str) -> list[str]:
        """The module, what it imports, what that imports, and so on."""
        seen, left = {module}, [module]
        while left:
            new = self._contents(left.pop())[1] - seen
            seen |= new
            left += new
        return sorted(seen)

    def digest(self, module: str) -> bytes:
        """Hash of the module's source."""
        return self._contents(module)[0]

    def _contents(self, module: str) -> tuple[bytes, frozenset[str]]:
        if module not in self._read:
            text = b""
            if path := self.file(module):
                with path.open("rb") as file:
                    text = file.read()
                    changed = os.fstat(file.fileno()).st_mtime
                if BEGAN < changed <= time.time():
                    self.edited.add(module)
            self._read[module] = hashlib.sha256(text).digest(), frozenset(self._imports(text.decode()))
        return self._read[module]

    def _imports(self, text: str) -> Iterator[str]:
        for package, names, plain in _IMPORTS.findall(f"\n{text}"):
            if not names:
                yield plain[1:]
            for name in _IMPORTED.findall(names):
                inner = f"{package}.{name}"[1:]
                yield inner if self.file(inner) else package[1:]
        for quoted in _QUOTED.finditer(text):
            line = text.rfind("\n", 0, text.rfind("\n", 0, quoted.start()))  # that before: a call may be broken once
            if _WHEN_COMPILING(text, max(line, 0), quoted.start()):
                yield quoted[1][1:]


OWN = Sources(PACKAGE)
COMPILER = "kernel.compiling"  # what turns sources into machine code


BASELINE = os.environ.get("CHASLES_BASELINE", "") not in ("", "0")  # code is made to be shipped, see `kernel.shipped`


@functools.cache
def numba_version() -> str:
    """Numba's version, without loading it."""
    if "numba" in sys.modules:
        return sys.modules["numba"].__version__
    found = importlib.util.find_spec("numba")
    places = found.submodule_search_locations if found else None
    if not places:
        raise ImportError("chasles needs numba, which is not installed: pip install numba")
    try:
        text = (Path(places[0]) / "_version.py").read_text()
    except OSError:
        text = ""
    written = re.search(r'"version": "([^"]+)"', text)
    if written:
        return written[1]
    from importlib.metadata import version  # seldom needed, and slow to load

    return version("numba")


# settings of Numba that change machine code: code of a slow or checked session is not for others
NUMBA_SETTINGS = [f"NUMBA_{name}" for name in ("BOUNDSCHECK", "DEBUGINFO", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE")]


@functools.cache
def processor() -> tuple[str, ...]:
    """The processor that code is made for, as Numba names it, and settings of Numba that were made."""
    name, features = os.environ.get("NUMBA_CPU_NAME"), os.environ.get("NUMBA_CPU_FEATURES")
    return (
        llvm.get_default_triple(),
        name or llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten() if features is None else features,
        os.environ.get("NUMBA_ENABLE_AVX", ""),
        *(f"{name}={os.environ[name]}" for name in NUMBA_SETTINGS if os.environ.get(name)),
    )


def versions(shipped: bool) -> tuple[str, ...]:
    """What machine code depends on beside the sources.

    What is shipped serves all versions of NumPy and all of Python X.Y: it names nothing of NumPy's, and of Python what
    does not change between X.Y.0 and X.Y.99. What is kept in a user's folder need not be so general."""
    compiler = numba_version(), llvmlite.__version__
    if shipped:
        return *compiler, f"{sys.version_info[0]}.{sys.version_info[1]}"
    return *compiler, np.__version__, platform.python_version()


def source_key(module: str, sources: Sources = OWN, shipped: bool = BASELINE) -> str:
    """Hash of all that decides what machine code of a module comes out: sources, compiler, versions, checked mode."""
    digest = hashlib.sha256()
    digest.update(repr((*versions(shipped), CHECKED)).encode())
    for name in sorted({*sources.closure(module), *sources.closure(COMPILER)}):
        digest.update(name.encode())
        digest.update(sources.digest(name))
    return digest.hexdigest()[:16]


@functools.cache
def root() -> Path | None:
    """The folder that holds all caches; created on first use, announced if it is not the usual one. None if there is
    no place at all."""
    preferred = user_cache()
    if usable(preferred):
        return preferred.resolve()  # links may be changed by others later
    owner = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "user")
    return _instead(preferred, f"chasles-{owner}")


def _instead(preferred: Path, name: str = "") -> Path | None:
    """A temporary folder of this name, or of a new one, for what cannot be kept where it should be."""
    place = _temporary(name)
    where = f"is kept in {place} and may have to be compiled again" if place else "is not kept"
    warn(
        f"cannot write compiled code to {preferred}, or others could; it {where}. "
        "Set CHASLES_CACHE_DIR to a writable folder of your own to choose another place."
    )
    return place


def _temporary(name: str) -> Path | None:
    try:
        named = Path(tempfile.gettempdir()) / name
        return named.resolve() if name and usable(named) else Path(tempfile.mkdtemp(prefix="chasles-"))
    except OSError:
        return None


@functools.cache
def folder() -> Path | None:
    """The folder of compiled code; None if it is kept in memory only."""
    above = root()
    place = above and above / "compiled"
    return place if place is None or usable(place) else _instead(place)


@functools.cache
def key(module: str) -> str:
    """What the names of a module's compiled code carry, in this version of the sources. Nothing if one of them was
    edited since this process began: then its code is neither kept nor looked for."""
    found = source_key(module)
    return "" if OWN.edited.intersection(OWN.closure(module)) else found


def files() -> tuple[list[Path], list[Path]]:
    """The files of compiled code: of this version of the sources, and of others."""
    keys = {source_key(module) for module in OWN.modules()}
    current: list[Path] = []
    outdated: list[Path] = []
    place = folder()
    for path in sorted(place.iterdir()) if place else ():
        if found := key_in(path.name):
            (current if found in keys else outdated).append(path)
    return current, outdated


def key_in(name: str) -> str:
    """The key that the name of a file of compiled code carries; nothing if it is another file."""
    found = _KEY(name)
    return found[1] if found else ""
