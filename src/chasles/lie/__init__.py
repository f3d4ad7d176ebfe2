"""Lie groups, their coordinate maps and conversions. Every group module has the same function names.

`so2`, `so3`, `s3`, `se2`, `se3`, `pose` (SE(3) as quaternion and position), `so3xr3`, `s3xr3`, `rn`, and `product`
for finite products; `rotation` converts between descriptions of rotations; `transition` has the maps that move absolute
coordinates by local ones; `phi_ad` evaluates any analytic function of ad. Arrays broadcast over leading axes; inside
compiled kernels the same functions take tuples.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasles.lie import pose, product, rn, rotation, s3, s3xr3, se2, se3, so2, so3, so3xr3, transition
    from chasles.lie.analytic import phi_ad

__all__ = [
    "phi_ad",
    "pose",
    "product",
    "rn",
    "rotation",
    "s3",
    "s3xr3",
    "se2",
    "se3",
    "so2",
    "so3",
    "so3xr3",
    "transition",
]


def __getattr__(name: str):
    if name == "phi_ad":
        return importlib.import_module("chasles.lie.analytic").phi_ad
    if name in __all__:
        return importlib.import_module(f"chasles.lie.{name}")
    raise AttributeError(f"module 'chasles.lie' has no attribute {name!r}")


def __dir__():
    return __all__
