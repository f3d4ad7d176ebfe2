"""Functions that users write: whether they take the arguments that they will get, and what to say if one does not
compile."""

from __future__ import annotations

import inspect
import linecache
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from chasles.kernel.late import compiler_error

# what a compiler's message says in short, the more telling ones first
TELLING = (
    "Untyped global name",
    "is not defined",
    "Unknown attribute",
    "Use of unsupported",
    "Cannot unify",
    "No implementation of function",
    "Invalid use of",
)


def constants_of(function: Any, seen: frozenset[int] = frozenset()) -> dict[str, str]:
    """The numbers, texts and functions that a function takes from outside: of closures, defaults and globals. What is
    mutable is left out: a function may keep its memory there."""
    plain = getattr(function, "py_func", getattr(function, "function", function))  # of Numba, of a law or field
    if not inspect.isfunction(plain) or id(plain) in seen:
        return {}
    taken = inspect.getclosurevars(plain)
    named = {**taken.globals, **taken.nonlocals}
    named |= {f"default {k}": value for k, value in enumerate(plain.__defaults__ or ())}
    found = {}
    for name, value in sorted(named.items()):
        if isinstance(value, int | float | complex | str | np.number | np.bool_ | type(None)):
            found[name] = repr(value)
        elif isinstance(value, tuple):
            found[name] = repr([one for one in value if isinstance(one, int | float | str | np.number)])
        else:
            inner = constants_of(value, seen | {id(plain)})
            found |= {f"{name}.{key}": text for key, text in inner.items()}
    return found


def check_arguments(where: str, function: Callable[..., Any], form: str, *names: str) -> None:
    """TypeError unless a function can be called with so many arguments in order; `form` says what is expected."""
    if not callable(function):
        raise TypeError(f"{where} is {function!r}; expected a function: {form}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # of functions in C, which tell nothing
        return
    try:
        signature.bind(*names)
    except TypeError:
        raise TypeError(f"{where} takes {signature}; expected {len(names)} arguments: {form}") from None


@contextmanager
def explained(where: str, function: Any) -> Iterator[None]:
    """Say in short what the compiler did not like in a function, and at which line; all of it is in `details`."""
    try:
        yield
    except (compiler_error(), AttributeError, NameError) as error:
        text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        short = TypeError(f"{where} does not compile: {_reason(text)}{_place(text, function)}")
        short.details = text  # type: ignore[attr-defined]
        raise short from None


def _reason(text: str) -> str:
    lines = [line.strip(" >-") for line in text.splitlines()]
    for words in TELLING:
        at = [k for k, line in enumerate(lines) if words in line]
        if at:
            found = lines[at[-1]]
            call = next((line for line in lines[at[-1] + 1 :] if line), "") if found.endswith(":") else ""
            return f"{found} {call}".strip()
    return next((line for line in lines if line and not line.startswith("Failed in")), "no reason was given")


def _place(text: str, function: Any) -> str:
    """The last line of the user's file that the compiler names."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    name = code.co_filename
    numbers = [int(n) for file, n in re.findall(r'File "([^"]+)", line (\d+)', text) if name.endswith(file.lstrip("."))]
    numbers += [int(n) for file, n in re.findall(r"\(?([^\s()]+) \((\d+)\)", text) if name.endswith(file)]
    last = max(line for _, _, line in code.co_lines() if line)
    inside = [n for n in numbers if code.co_firstlineno <= n <= last]
    if not inside and (word := re.search(r"(?:name|attribute) '(\w+)'", text)):
        lines = range(code.co_firstlineno, last + 1)
        inside = [n for n in lines if re.search(rf"\b{word[1]}\b", linecache.getline(name, n))]
    if not inside:
        return f" ({name}, line {code.co_firstlineno})"
    return f" ({name}, line {inside[-1]}: {linecache.getline(name, inside[-1]).strip()})"
