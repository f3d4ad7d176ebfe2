"""Errors of force laws written in Python, which compiled loops only see as NaN."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from chasles.model.law import Law, raise_error_of


@contextmanager
def laws_may_raise(laws: Iterable[Law]) -> Iterator[None]:
    """Raise what a law raised meanwhile."""
    try:
        yield
    finally:
        raise_error_of(laws)
