"""chasles: the dynamics of mechanisms on Lie groups. "Every rigid-body motion is a screw."

Importing the package loads nothing heavy; `chasles.lie` is loaded, and its functions compiled, on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasles import gallery as gallery
    from chasles import lie as lie
    from chasles.integrate.event import Event as Event
    from chasles.integrate.field import field as field
    from chasles.integrate.method import RKMK as RKMK
    from chasles.integrate.method import CommutatorFree as CommutatorFree
    from chasles.integrate.method import CrouchGrossman as CrouchGrossman
    from chasles.integrate.method import LowStorage as LowStorage
    from chasles.integrate.solution import Solution as Solution
    from chasles.integrate.solve import LieODE as LieODE
    from chasles.integrate.solve import solve as solve
    from chasles.integrate.solve import solve_batch as solve_batch
    from chasles.integrate.space import Space as Space
    from chasles.integrate.tableau import Tableau as Tableau

__version__ = "0.1.0"
_HOME = {
    "field": "integrate.field",
    "RKMK": "integrate.method",
    "CommutatorFree": "integrate.method",
    "CrouchGrossman": "integrate.method",
    "LowStorage": "integrate.method",
    "LieODE": "integrate.solve",
    "Event": "integrate.event",
    "Solution": "integrate.solution",
    "solve": "integrate.solve",
    "solve_batch": "integrate.solve",
    "Space": "integrate.space",
    "Tableau": "integrate.tableau",
}
_MODULES = ("gallery", "lie")


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"chasles.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"chasles.{_HOME[name]}"), name)
    raise AttributeError(f"module 'chasles' has no attribute {name!r}")


def __dir__():
    return ["__version__", *_MODULES, *_HOME]
