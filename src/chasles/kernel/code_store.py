"""Compiled code on disk: one file for each function and its kinds of arguments.

Its name says all that the code depends on, so that nothing stale can be found. It begins with a sum over its contents
and name: what is damaged is not loaded, but compiled again. Numba believes its files; a bit that has changed in one of
them is a traceback at best, and at worst another program.

Kept is the machine code alone. What Numba adds so that other functions could be linked with it is more than half of a
file, and of the functions that are kept nobody asks for it: kernels are inlined, and what is compiled by itself is
called from Python or through its address.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

import llvmlite.binding as llvm

from chasles.caution import warn
from chasles.kernel import cache, shipped
from chasles.kernel.numba_private import CompileResult, dumps, ready_to_load
from chasles.kernel.trusted import own

SEAL = hashlib.sha256().digest_size


class CodeStore:
    """The compiled code of one function of the package; what Numba takes as the cache of a dispatcher."""

    cache_path = None  # asked for by Numba's statistics

    def __init__(self, function: Callable):
        self._function = function
        self._module = function.__module__.removeprefix("chasles.")

    def load_overload(self, signature: Any, target: Any) -> Any:
        """The compiled function, from the user's folder or as it came with the package; None if there is none."""
        if not cache.key(self._module):
            return None
        name = self._name(signature, cache.key(self._module), target.codegen().magic_tuple())
        place = cache.folder()
        found = place and unsealed(name, read(place / name), str(place))
        if not found and (archive := shipped.archive()):
            name = self._name(signature, archive.key(self._module), archive.processor)
            found = unsealed(name, archive.read(name), shipped.PACKAGE)
        if not found:
            return None
        ready_to_load(target)
        compiled = CompileResult._rebuild(target, *pickle.loads(found))
        compiled.library._shared_module = None  # who tries to link with it gets an error
        return compiled

    def save_overload(self, signature: Any, compiled: Any) -> None:
        """Keep compiled code; that a disk is full is no reason not to run it."""
        place = cache.folder()
        if compiled.library.has_dynamic_globals or not cache.key(self._module):  # addresses of this process; an edit
            return
        if place is None:
            return
        data = dumps(slim(*compiled._reduce()))
        name = self._name(signature, cache.key(self._module), compiled.codegen.magic_tuple())
        try:
            write(place / name, sealed(name, data))
        except OSError as error:
            say_once(f"compiled code cannot be kept in {place}: {error.strerror}; it will be compiled again")

    def flush(self) -> None:
        """Numba asks for this before it compiles again what it has; names that say everything need no flushing."""

    def _name(self, signature: Any, key: str, processor: object) -> str:
        """The file of a function: its module and name to be read, the key of its sources, a hash of everything."""
        own = self._function.__qualname__.replace("<locals>.", "")
        code = _meaning(self._function.__code__)
        everything = (self._module, own, code, str(signature), key, processor)
        return f"{self._module}.{own}-{key}-{hashlib.sha256(repr(everything).encode()).hexdigest()[:16]}.nbc"


def _meaning(code: CodeType) -> tuple:
    """What the bytecode says, without the place where it stands: some functions are made from text."""
    constants = [value for value in code.co_consts if not isinstance(value, CodeType)]
    return code.co_firstlineno, code.co_code, code.co_names, constants


def sealed(name: str, data: bytes) -> bytes:
    """The data after a sum over them and their name."""
    return hashlib.sha256(name.encode() + data).digest() + data


def unsealed(name: str, contents: bytes, place: str) -> bytes | None:
    """The data, if they are what was written under this name; if something else was, it is said where."""
    data = contents[SEAL:]
    if contents and hashlib.sha256(name.encode() + data).digest() == contents[:SEAL]:
        return data
    if contents:
        say_once(f"compiled code in {place} is damaged, or is not what chasles wrote there; it is compiled again")
    return None


@functools.cache
def say_once(message: str) -> None:
    """A warning that comes once in a process."""
    warn(message)


def read(path: Path) -> bytes:
    """The contents of a file of ours; nothing if it is not there, or if others could have written it."""
    try:
        with path.open("rb") as file:
            return file.read() if own(os.fstat(file.fileno())) else b""
    except OSError:
        return b""


def write(path: Path, contents: bytes) -> None:
    """Write a file so that others see all of it or nothing."""
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(contents)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def slim(library: Any, described: Any, *rest: Any) -> tuple[Any, ...]:
    """What Numba would keep of a compiled function, without what only serves functions that are linked with it, and
    without environments of inlined kernels: those without constants are asked for nothing."""
    name, kind, (code, bitcode) = library
    *others, environments = rest
    called = described.llvm_func_name, described.llvm_cpython_wrapper_name, described.llvm_cfunc_wrapper_name
    known = {*called, described.env_name, *(one.env_name for one in environments if one.consts)}
    kept = tuple(one for one in environments if one.consts)
    return (name, kind, (code, declared(bitcode, known))), described, *others, kept


def declared(bitcode: bytes, known: set[str]) -> bytes:
    """A module that only says which of these names the code defines, which is what Numba reads when it loads machine
    code; all names, most of them of inlined kernels, take it longer than the code itself."""
    module = llvm.parse_bitcode(bitcode)
    lines = [f'target triple = "{module.triple}"']
    found = [f.name for f in module.functions if not f.is_declaration]
    lines += [f'define void @"{name}"() {{ unreachable }}' for name in found if name in known]
    found = [g.name for g in module.global_variables if not g.is_declaration]
    lines += [f'@"{name}" = internal global i8 0' for name in found if name in known]
    return llvm.parse_assembly("\n".join(lines)).as_bitcode()
