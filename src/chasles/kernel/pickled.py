"""How objects leave a process: functions by where they are found, errors with all that they know.

Machine addresses mean nothing in another process, so nothing that is pickled holds one: compiled functions are found
again by module and name, and tables that call them are built again.
"""

from __future__ import annotations

import pickle
import sys
import types
from collections.abc import Callable
from typing import Any


def reduced(made: Any, function: Callable, what: str, *arguments: Any) -> Any:
    """`__reduce__` of what a class made of a function, `made = type(made)(function, *arguments)`.

    If a decorator put it in the function's place, it is found there; else it is made again of the function. Of its
    attributes those go along that have no underscore and do not follow from the function.
    """
    if isinstance(function, types.FunctionType):
        found = at_its_name(function)
        if found is made:
            return function.__qualname__
        if found is not function:
            raise pickle.PicklingError(not_found(what, function))
    own = {"function", "kernel", "error"}
    state = {name: value for name, value in vars(made).items() if name not in own and not name.startswith("_")}
    return type(made), (function, *arguments), {"__name__": made.__name__, **state}


def at_its_name(function: types.FunctionType) -> Any:
    """What is at the name of a function in its module; None if nothing is."""
    found: Any = sys.modules.get(function.__module__)
    for name in function.__qualname__.split("."):
        found = getattr(found, name, None)
    return found


def not_found(what: str, function: Callable) -> str:
    """What to say of a function that pickle cannot find again."""
    return (
        f"the {what} {function.__name__!r} cannot be pickled: another process looks for it by its name, and there is "
        f"no {function.__qualname__!r} in the module {function.__module__!r}. Define it with `def` at the top level of "
        "a module; a lambda, or a function inside another function, is not found"
    )


class PickledWhole:
    """For errors whose constructor takes more than the message: they are pickled with their attributes, and the
    constructor is not called again."""

    args: tuple[Any, ...]

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.args, self.__dict__)


def _restored(kind: type[BaseException], arguments: tuple, attributes: dict[str, Any]) -> BaseException:
    error = kind.__new__(kind, *arguments)
    error.__dict__.update(attributes)
    return error
