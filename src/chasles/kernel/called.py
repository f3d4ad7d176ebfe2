"""Kernels that are called, not inlined: for what is long, or stands in several places of a loop.

An inlined kernel is optimized together with its caller, again at each place where it stands. A loop of ten thousand
statements takes a minute to compile in that way, and its machine code does not fit the processor's cache. What takes
longer than a call by far, and gets its data by reference, loses nothing if it is a function of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chasles.cached import cached_property
from chasles.kernel.policy import COMPILED, Inlined


class Called(Inlined):
    """A kernel that LLVM inlines if it finds that worth while."""

    @cached_property
    def dispatcher(self) -> Any:
        made = Inlined.dispatcher.__get__(self)
        made.targetoptions["forceinline"] = False
        return made


def called(function: Callable) -> Any:
    """Mark a kernel that allocates nothing as one to call."""
    return Called(function, False) if COMPILED else function
