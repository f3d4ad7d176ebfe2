"""Properties that are computed once for each object, also where threads share objects."""

from __future__ import annotations

import functools
from typing import Any, TypeVar

T = TypeVar("T")


class cached_property(functools.cached_property[T]):  # noqa: N801 (as Python's own)
    """As `functools.cached_property` of Python 3.12 and later, without a lock.

    That of Python 3.11 has one lock for all objects of a class: two threads that compute two properties of two objects
    wait for each other for ever. Here both compute, and all get the value that was there first.
    """

    def __get__(self, instance: Any, owner: type[Any] | None = None) -> Any:
        if instance is None:
            return self
        name = self.attrname
        assert name is not None  # set with the class
        return instance.__dict__.setdefault(name, self.func(instance))
