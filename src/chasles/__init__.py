"""chasles: the dynamics of mechanisms on Lie groups. "Every rigid-body motion is a screw."

Importing the package loads nothing heavy; `chasles.lie` is loaded, and its functions compiled, on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasles import lie as lie

__version__ = "0.1.0"
__all__ = ["__version__", "lie"]


def __getattr__(name: str):
    if name == "lie":
        return importlib.import_module("chasles.lie")
    raise AttributeError(f"module 'chasles' has no attribute {name!r}")


def __dir__():
    return __all__
