"""What follows from an immutable object alone, a system or a compiled mechanism: computed once for each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

Found = TypeVar("Found")


def once(function: Callable[[Any], Found]) -> Callable[[Any], Found]:
    """A function of one immutable object that keeps its result on the object: for layers above that of its class,
    which has `cached_property` for its own. As there, of two threads both compute, and both get the first result."""
    name = f"{function.__module__}.{function.__qualname__}"

    @functools.wraps(function)
    def kept(owner: Any) -> Found:
        known: dict[str, Any] = owner.__dict__
        if name not in known:
            known.setdefault(name, function(owner))
        found: Found = known[name]
        return found

    return kept
