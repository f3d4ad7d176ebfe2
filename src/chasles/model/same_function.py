"""Whether two functions that a user made do the same, by all that they hold."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MethodType
from typing import Any

import numpy as np

from chasles.model.user_function import NUMBERS, constants_of, meaning_of

Pairs = tuple[tuple[int, int], ...]


def same_function(one: Any, other: Any) -> bool:
    """Whether two Python functions do the same: they have the same code, and hold equal values, mutable ones too. Both
    must be as they were made: a function may keep its memory there. What cannot be compared counts as equal."""
    return _alike(one, other, ())


def _alike(one: Any, other: Any, within: Pairs) -> bool:
    if one is other or (id(one), id(other)) in within:
        return True
    if type(one).__qualname__ != type(other).__qualname__:
        return False
    if isinstance(one, type):
        return bool(one.__qualname__ == other.__qualname__)
    within = (*within, (id(one), id(other)))
    if isinstance(one, NUMBERS):
        return repr(one) == repr(other)
    if isinstance(one, np.ndarray):
        if one.dtype != other.dtype or one.shape != other.shape:
            return False
        return one.tobytes() == other.tobytes() if one.dtype != object else _alike(one.tolist(), other.tolist(), within)
    if isinstance(one, tuple | list):
        return len(one) == len(other) and all(_alike(*pair, within) for pair in zip(one, other, strict=True))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_alike(value, other[key], within) for key, value in one.items())
    if isinstance(one, set | frozenset):
        return bool(one == other)
    return all(_alike(*pair, within) for pair in zip(_held(one), _held(other), strict=True))


def _held(value: Any) -> Iterator[Any]:
    """What decides what a function does when it is called, or what an object is: as many things for those of a kind."""
    if isinstance(value, functools.partial):
        yield from (value.func, value.args, value.keywords)
    elif isinstance(value, MethodType):
        yield from (value.__func__, value.__self__)
    elif inspect.isfunction(plain := getattr(value, "py_func", value)):  # of Numba
        cells = dict[str, Any]()
        for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
            with suppress(ValueError):  # of a variable that has no value yet
                cells[name] = cell.cell_contents
        yield from (repr(meaning_of(plain.__code__)), cells, plain.__defaults__, plain.__kwdefaults__)
        yield {name: text for name, text in constants_of(plain).items() if name not in cells}
    else:
        slots = [name for kind in type(value).__mro__ for name in vars(kind).get("__slots__", ())]
        own = {name: getattr(value, name) for name in slots if hasattr(value, name)}
        call = vars(type(value)).get("__call__")
        yield from (call, own, dict(getattr(value, "__dict__", {})))
