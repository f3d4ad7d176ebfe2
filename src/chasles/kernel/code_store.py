"""Compiled code on disk: one file for each function and its kinds of arguments.

Its name says all that the code depends on, so that nothing stale can be found. It begins with a sum over its contents
and name: what is damaged is not loaded, but compiled again. Numba believes its files; a bit that has changed in one of
them is a traceback at best, and at worst another program.

Kept is the machine code with its front (`kernel.machine_code`), and the names of functions that it calls outside of
it. Numba is not needed to load and to run it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import Any

from chasles.caution import warn
from chasles.kernel import cache, shipped
from chasles.kernel.machine_code import Code, load
from chasles.kernel.trusted import own

SEAL = hashlib.sha256().digest_size
# a named pipe in place of a file would wait for somebody who writes; Windows would change the ends of lines
READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


class CodeStore:
    """The compiled code of one function of the package."""

    def __init__(self, function: Callable):
        self._function = function
        self._module = function.__module__.removeprefix("chasles.")

    def load(self, kinds: tuple[str, ...]) -> Code | None:
        """The code for some kinds of arguments, from the user's folder or as it came with the package; None if there is
        none."""
        if not cache.key(self._module):
            return None
        name = self._name(kinds, cache.key(self._module), cache.processor())
        place = cache.folder()
        found = place and unsealed(name, read(place / name), str(place))
        if not found and (archive := shipped.archive()):
            name = self._name(kinds, archive.key(self._module), archive.processor)
            found = unsealed(name, archive.read(name), shipped.PACKAGE)
        return load(*pickle.loads(found)) if found else None

    def save(self, kinds: tuple[str, ...], compiled: Any, front: str) -> None:
        """Keep compiled code; that a disk is full is no reason not to run it."""
        place = cache.folder()
        if compiled.library.has_dynamic_globals or not cache.key(self._module):  # addresses of this process; an edit
            return
        if place is None:
            return
        from chasles.kernel.numba_private import machine_code_of  # with Numba, which has made the code

        code, outside = machine_code_of(compiled.library)
        name = self._name(kinds, cache.key(self._module), cache.processor())
        try:
            write(place / name, sealed(name, pickle.dumps((code, compiled.fndesc.llvm_func_name, front, outside))))
        except OSError as error:
            say_once(f"compiled code cannot be kept in {place}: {error.strerror}; it will be compiled again")

    def _name(self, kinds: tuple[str, ...], key: str, processor: object) -> str:
        """The file of a function: its module and name to be read, the key of its sources, a hash of everything."""
        own = self._function.__qualname__.replace("<locals>.", "")
        code = _meaning(self._function.__code__)
        everything = (self._module, own, code, kinds, key, processor)
        return f"{self._module}.{own}-{key}-{hashlib.sha256(repr(everything).encode()).hexdigest()[:16]}.nbc"


def _meaning(code: CodeType) -> tuple:
    """What the bytecode says, without the place where it stands: some functions are made from text."""
    constants = [value for value in code.co_consts if not isinstance(value, CodeType)]
    return code.co_firstlineno, code.co_code, code.co_names, constants


def sealed(name: str, data: bytes) -> bytes:
    """The data after a sum over them and their name."""
    return hashlib.sha256(name.encode() + data).digest() + data


def unsealed(name: str, contents: bytes | None, place: str) -> bytes | None:
    """The data, if they are what was written under this name; if something else was, it is said where."""
    data = b"" if contents is None else contents[SEAL:]
    if data and contents and hashlib.sha256(name.encode() + data).digest() == contents[:SEAL]:
        return data
    if contents is not None:
        say_once(f"compiled code in {place} is damaged, or is not what chasles wrote there; it is compiled again")
    return None


@functools.cache
def say_once(message: str) -> None:
    """A warning that comes once in a process."""
    warn(message)


def read(path: Path) -> bytes | None:
    """The contents of a file of ours; None if it is not there, nothing if it is no file or others could have written
    it."""
    try:
        descriptor = os.open(path, READING)
        info = os.fstat(descriptor)
        if not (stat.S_ISREG(info.st_mode) and own(info)):
            os.close(descriptor)
            return b""
        with os.fdopen(descriptor, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
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
