"""Kernels that are called, not inlined: for what is long and seldom runs.

An inlined kernel is optimized together with its caller, again at each place where it stands: a loop of ten thousand
statements takes a minute. What few runs ask for is better a function of its own. It gets copies of the named tuples
that it takes by reference, `by_reference(value_of(workspace))`, made where it is called: LLVM keeps those of the caller
in registers only as long as no other function can see them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chasles.cached import cached_property
from chasles.kernel.policy import COMPILED, Inlined


class Called(Inlined):
    """A kernel that LLVM inlines only if it is small."""

    @cached_property
    def dispatcher(self) -> Any:
        made = Inlined.dispatcher.__get__(self)
        made.targetoptions["forceinline"] = False
        return made


def called(function: Callable) -> Any:
    """Mark a kernel that allocates nothing as one to call."""
    return Called(function, False) if COMPILED else function
