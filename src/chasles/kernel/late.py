"""Names whose values need Numba: made when something is compiled.

Machine code that is found on disk runs without Numba, whose import takes as long as a short simulation. So modules of
kernels name what they call by `late`, and what writes its code (`kernel.code`) is loaded when a kernel is compiled.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from chasles.cached import cached_property

MODULES: list[str] = []  # to be loaded with Numba


class Late:
    """Something that kernels call; `made` is what Numba knows it as."""

    def __init__(self, make: Callable[[], Any], name: str):
        self._make, self.__name__ = make, name

    @cached_property
    def made(self) -> Any:
        """The value itself, with Numba loaded."""
        compiling = importlib.import_module("chasles.kernel.compiling")
        made = self._make()
        compiling.refresh()
        return made

    def __call__(self, *arguments: Any) -> Any:
        raise NotImplementedError(f"{self.__name__} is for kernels: it cannot be called from Python")

    def __repr__(self) -> str:
        return f"<{self.__name__}, for kernels>"


def late(module: str, *names: str) -> Any:
    """What a module has under these names, when it is needed: one, or a tuple of them."""

    def one(name: str) -> Late:
        return Late(lambda: getattr(importlib.import_module(module), name), name)

    found = tuple(map(one, names))
    return found if len(found) > 1 else found[0]


def with_numba(module: str) -> None:
    """Load a module with Numba: one that tells Numba something and has no names to call."""
    MODULES.append(module)
    from chasles.kernel import policy

    if policy.loaded():
        importlib.import_module(module)


def compiler_error() -> type[Exception]:
    """What the compiler raises, for `except`."""
    from chasles.kernel import policy

    return importlib.import_module("numba.core.errors").NumbaError if policy.loaded() else NeverRaisedError


class NeverRaisedError(Exception):
    """Without a compiler there are no errors of it."""


carray = late("numba", "carray")
