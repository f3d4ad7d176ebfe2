"""Functions that users write: whether they take the arguments that they will get, and what to say if one does not
compile."""

from __future__ import annotations

import functools
import hashlib
import inspect
import linecache
import re
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import EnumType
from types import CodeType, ModuleType
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
NUMBERS = int | float | complex | str | np.number | np.bool_ | None  # and texts
UNCHANGING = ("chasles", "math", "numba", "numpy", "scipy")  # whose constants nobody binds anew


def constants_of(function: Any) -> dict[str, str]:
    """All that a function takes from outside, by name: of closures, defaults, globals and modules, also by functions
    that it calls. Of a compiled one these are arrays and the code of such functions too: it has them as they were when
    it was compiled. For others what is mutable is left out: a function may keep its memory there."""
    compiled = _plain(function) is not function and not getattr(function, "in_python", False)
    texts = ((name, _text(value, compiled)) for name, value in _outside(function))
    return {name: text for name, text in texts if text is not None}


def refresh(function: Any) -> None:
    """Let Numba's functions that a function calls be compiled anew, the innermost first, if something changed that they
    take from outside: they too keep it, and others may have had them compiled before."""
    for _, value in _outside(function):
        if hasattr(value, "py_func") and hasattr(value, "recompile") and not _unchanging(value.py_func):
            constants = constants_of(value)
            if value.signatures and _COMPILED_WITH.get(value) != constants:
                value.recompile()
            _COMPILED_WITH[value] = constants


_COMPILED_WITH: weakref.WeakKeyDictionary[Any, dict[str, str]] = weakref.WeakKeyDictionary()


class UserAddresses:
    """Where the machine code of a user's function is, by kind of its arguments: compiled on first use, and anew when
    something changed that it takes from outside. `make` compiles it and keeps what it made, for those who have its
    address already."""

    def __init__(self, function: Any, make: Callable[..., int]):
        self._function, self._make = function, make
        self._known: tuple[dict[str, str], dict[Any, int]] = {}, {}

    def of(self, kind: Any = None) -> int:
        """The address for one kind of arguments, which `make` is given."""
        own = _unchanging(_plain(self._function))  # of the package: thousands of names, and none changes
        constants, (then, known) = {} if own else constants_of(self._function), self._known
        if kind in known and constants == then:
            return known[kind]
        with _COMPILING:
            then, known = self._known
            known = known if constants == then else {}
            if kind not in known:
                if not own:
                    refresh(self._function)
                known = known | {kind: self._make(kind)}
            self._known = constants, known
            return known[kind]


_COMPILING = threading.RLock()  # two threads that compile one function would leave the address of one that is gone


def _plain(function: Any) -> Any:
    return getattr(function, "py_func", getattr(function, "function", function))  # of Numba, of a law or field


def _unchanging(value: Any) -> bool:
    """Whether a module, or a function of one, is of those that stay as they are."""
    name = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None)
    return str(name).partition(".")[0] in UNCHANGING


def _outside(function: Any, within: tuple[int, ...] = ()) -> Iterator[tuple[str, Any]]:
    """What a function takes from outside, by name; functions come after what they take themselves."""
    plain = getattr(plain := _plain(function), "__func__", plain)  # of a method
    if isinstance(plain, functools.partial):
        given = {f"argument {name}": value for name, value in (*enumerate(plain.args), *sorted(plain.keywords.items()))}
        for name, value in given.items():
            yield from _leaves(name, value, set(), within)
        yield from _outside(plain.func, within)
        return
    if not inspect.isfunction(plain) or id(plain) in within or (within and _unchanging(plain)):
        return
    names = {name for code in _codes(plain.__code__) for name in code.co_names}
    taken = {name: plain.__globals__[name] for name in names if name in plain.__globals__}
    for name, cell in zip(plain.__code__.co_freevars, plain.__closure__ or (), strict=True):
        with suppress(ValueError):  # of a variable that has no value yet
            taken[name] = cell.cell_contents
    taken |= {f"default {k}": value for k, value in enumerate(plain.__defaults__ or ())}
    taken |= {f"default {name}": value for name, value in (plain.__kwdefaults__ or {}).items()}
    for name, value in sorted(taken.items()):
        yield from _leaves(name, value, names, (*within, id(plain)))


def _leaves(name: str, value: Any, names: set[str], within: tuple[int, ...]) -> Iterator[tuple[str, Any]]:
    if isinstance(value, ModuleType):
        if not _unchanging(value) and id(value) not in within:
            for own in sorted(names & vars(value).keys()):  # whatever the module is called in the function
                yield from _leaves(f"{name}.{own}", vars(value)[own], names, (*within, id(value)))
    elif isinstance(value, tuple) and not all(isinstance(one, NUMBERS) for one in value):
        for k, one in enumerate(value):
            yield from _leaves(f"{name}[{k}]", one, names, within)
    else:
        yield from ((f"{name}.{inner}", one) for inner, one in _outside(value, within))
        yield name, value


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Of a function, and of the functions and comprehensions in it."""
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


def _text(value: Any, compiled: bool) -> str | None:
    """What tells a value from others; None if it is no constant."""
    if isinstance(value, NUMBERS):
        return repr(value)
    if isinstance(value, tuple):
        return repr(list(value))
    if not compiled:
        return None
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if inspect.isfunction(plain := _plain(value)):
        if _unchanging(plain):
            return plain.__qualname__
        return hashlib.sha256(repr(meaning_of(plain.__code__)).encode()).hexdigest()
    if isinstance(value, EnumType):  # its members are compiled in
        return repr(list(value))
    return getattr(value, "__qualname__", None) or repr(value)


def meaning_of(code: CodeType) -> tuple[Any, ...]:
    """What the bytecode says, without the place where it stands."""
    inner = (meaning_of(one) if isinstance(one, CodeType) else _ordered(one) for one in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, tuple(inner)


def _ordered(constant: Any) -> str:
    return repr(sorted(map(repr, constant)) if isinstance(constant, frozenset) else constant)


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
