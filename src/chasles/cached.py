"""Properties that are computed once for each object, also where threads share objects."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):  # noqa: N801 (as Python's own)
        """As `functools.cached_property` of Python 3.12 and later, without a lock.

        That of Python 3.11 has one lock for all objects of a class: two threads that compute two properties of two
        objects wait for each other for ever. Here both compute, and all get the value that was there first.
        """

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return instance.__dict__.setdefault(self.attrname, self.func(instance))
