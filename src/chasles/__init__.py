"""chasles: the dynamics of mechanisms on Lie groups. "Every rigid-body motion is a screw."

Importing the package loads nothing heavy; `chasles.lie` is loaded, and its functions compiled, on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chasles import gallery as gallery
    from chasles import lie as lie
    from chasles import screw as screw
    from chasles.integrate.event import Event as Event
    from chasles.integrate.field import field as field
    from chasles.integrate.generic import FrameSpace as FrameSpace
    from chasles.integrate.generic import MatrixGroup as MatrixGroup
    from chasles.integrate.generic import solve_generic as solve_generic
    from chasles.integrate.implicit import Gauss as Gauss
    from chasles.integrate.implicit import LieMidpoint as LieMidpoint
    from chasles.integrate.implicit import LiePoisson as LiePoisson
    from chasles.integrate.implicit import LiePoissonMidpoint as LiePoissonMidpoint
    from chasles.integrate.implicit import solve_implicit as solve_implicit
    from chasles.integrate.magnus import CommutatorFreeMagnus as CommutatorFreeMagnus
    from chasles.integrate.magnus import LinearODE as LinearODE
    from chasles.integrate.magnus import Magnus as Magnus
    from chasles.integrate.magnus import solve_linear as solve_linear
    from chasles.integrate.method import RKMK as RKMK
    from chasles.integrate.method import CommutatorFree as CommutatorFree
    from chasles.integrate.method import CrouchGrossman as CrouchGrossman
    from chasles.integrate.method import LowStorage as LowStorage
    from chasles.integrate.solution import Solution as Solution
    from chasles.integrate.solve import LieODE as LieODE
    from chasles.integrate.solve import solve as solve
    from chasles.integrate.solve import solve_batch as solve_batch
    from chasles.integrate.space import Space as Space
    from chasles.integrate.symplectic import Composition as Composition
    from chasles.integrate.symplectic import HamiltonianOnSO3 as HamiltonianOnSO3
    from chasles.integrate.symplectic import LieVerlet as LieVerlet
    from chasles.integrate.symplectic import MoserVeselov as MoserVeselov
    from chasles.integrate.symplectic import RigidBodyOnSO3 as RigidBodyOnSO3
    from chasles.integrate.symplectic import SymplecticTheta as SymplecticTheta
    from chasles.integrate.symplectic import solve_symplectic as solve_symplectic
    from chasles.integrate.tableau import Tableau as Tableau

__version__ = "0.1.0"
_NAMES = {
    "event": ("Event",),
    "field": ("field",),
    "generic": ("FrameSpace", "MatrixGroup", "solve_generic"),
    "implicit": ("Gauss", "LieMidpoint", "LiePoisson", "LiePoissonMidpoint", "solve_implicit"),
    "magnus": ("CommutatorFreeMagnus", "LinearODE", "Magnus", "solve_linear"),
    "method": ("CommutatorFree", "CrouchGrossman", "LowStorage", "RKMK"),
    "solution": ("Solution",),
    "solve": ("LieODE", "solve", "solve_batch"),
    "space": ("Space",),
    "symplectic": (
        "Composition",
        "HamiltonianOnSO3",
        "LieVerlet",
        "MoserVeselov",
        "RigidBodyOnSO3",
        "SymplecticTheta",
        "solve_symplectic",
    ),
    "tableau": ("Tableau",),
}
_HOME = {name: f"integrate.{module}" for module, names in _NAMES.items() for name in names}
_MODULES = ("gallery", "lie", "screw")


def __getattr__(name: str):
    if name in _MODULES:
        return importlib.import_module(f"chasles.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"chasles.{_HOME[name]}"), name)
    raise AttributeError(f"module 'chasles' has no attribute {name!r}")


def __dir__():
    return ["__version__", *_MODULES, *_HOME]
