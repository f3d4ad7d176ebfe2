"""Services of higher layers for lower ones: one list, filled by `chasles/__init__.py`.

A layer imports only from layers below it. Some methods are nevertheless wanted on an object of a low layer, although
the work is done in a high one: `system.compile()`, `run.save("x.h5")`, `run.plot()`. Such a method asks here for the
service by name. The low layer knows the name and the meaning, not the module; the module is loaded on first use.
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable, Mapping
from typing import Any

_PLACES: dict[str, str] = {}


def provide(services: Mapping[str, str]) -> None:
    """Say where services are: name -> "module:function"."""
    _PLACES.update(services)


def offered(name: str) -> bool:
    """Whether there is such a service: for those that only some programs bring."""
    return name in _PLACES


def service(name: str) -> Callable[..., Any]:
    """The function that does the work of that name."""
    module, _, function = _PLACES[name].partition(":")
    found: Callable[..., Any] = operator.attrgetter(function)(importlib.import_module(module))
    return found
