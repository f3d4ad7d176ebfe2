"""Screws, twists and wrenches in four representations, inertia of rigid bodies, and solid shapes.

`axis` (a screw as line, pitch and magnitude; the theorems of Chasles and Poinsot), `reciprocity` (power, reciprocal
systems, rates in moving frames), `representation` (conversions), `newton_euler` (the wrench that a motion needs),
`inertia`, `shape`. The names people use most are here as well. Arrays broadcast over leading axes.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasles.screw import axis, inertia, newton_euler, reciprocity, representation, shape
    from chasles.screw.axis import CentralAxis, Screw, ScrewMotion, central_axis, screw_motion
    from chasles.screw.inertia import spatial_inertia
    from chasles.screw.newton_euler import wrench_in_frame, wrench_of_motion
    from chasles.screw.reciprocity import power, reciprocal, reciprocal_product, screw_rate, wrench_rate
    from chasles.screw.representation import (
        REPRESENTATIONS,
        convert_acceleration,
        convert_twist,
        convert_wrench,
    )
    from chasles.screw.shape import Box, Capsule, Cylinder, Ellipsoid, Mesh, Sphere

_NAMES = {
    "axis": ("CentralAxis", "Screw", "ScrewMotion", "central_axis", "screw_motion"),
    "inertia": ("spatial_inertia",),
    "newton_euler": ("wrench_in_frame", "wrench_of_motion"),
    "reciprocity": ("power", "reciprocal", "reciprocal_product", "screw_rate", "wrench_rate"),
    "representation": ("REPRESENTATIONS", "convert_acceleration", "convert_twist", "convert_wrench"),
    "shape": ("Box", "Capsule", "Cylinder", "Ellipsoid", "Mesh", "Sphere"),
}
_HOME = {name: module for module, names in _NAMES.items() for name in names}

__all__ = [
    "REPRESENTATIONS",
    "Box",
    "Capsule",
    "CentralAxis",
    "Cylinder",
    "Ellipsoid",
    "Mesh",
    "Screw",
    "ScrewMotion",
    "Sphere",
    "axis",
    "central_axis",
    "convert_acceleration",
    "convert_twist",
    "convert_wrench",
    "inertia",
    "newton_euler",
    "power",
    "reciprocal",
    "reciprocal_product",
    "reciprocity",
    "representation",
    "screw_motion",
    "screw_rate",
    "shape",
    "spatial_inertia",
    "wrench_in_frame",
    "wrench_of_motion",
    "wrench_rate",
]


def __getattr__(name: str):
    if name in _NAMES:
        return importlib.import_module(f"chasles.screw.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"chasles.screw.{_HOME[name]}"), name)
    raise AttributeError(f"module 'chasles.screw' has no attribute {name!r}")


def __dir__():
    return __all__
