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
    from chasles.integrate.batch import solve_batch as solve_batch
    from chasles.integrate.composition import Composition as Composition
    from chasles.integrate.cotangent import HamiltonianOnSO3 as HamiltonianOnSO3
    from chasles.integrate.cotangent import RigidBodyOnSO3 as RigidBodyOnSO3
    from chasles.integrate.event import Event as Event
    from chasles.integrate.field import field as field
    from chasles.integrate.fixed_step import StepError as StepError
    from chasles.integrate.gauss import Gauss as Gauss
    from chasles.integrate.gauss import LieMidpoint as LieMidpoint
    from chasles.integrate.generic import FrameSpace as FrameSpace
    from chasles.integrate.generic import MatrixGroup as MatrixGroup
    from chasles.integrate.lie_verlet import LieVerlet as LieVerlet
    from chasles.integrate.magnus import CommutatorFreeMagnus as CommutatorFreeMagnus
    from chasles.integrate.magnus import LinearODE as LinearODE
    from chasles.integrate.magnus import Magnus as Magnus
    from chasles.integrate.method import RKMK as RKMK
    from chasles.integrate.method import CommutatorFree as CommutatorFree
    from chasles.integrate.method import CrouchGrossman as CrouchGrossman
    from chasles.integrate.method import LowStorage as LowStorage
    from chasles.integrate.moser_veselov import MoserVeselov as MoserVeselov
    from chasles.integrate.poisson import LiePoisson as LiePoisson
    from chasles.integrate.poisson import LiePoissonMidpoint as LiePoissonMidpoint
    from chasles.integrate.problem import LieODE as LieODE
    from chasles.integrate.solution import Solution as Solution
    from chasles.integrate.solve import solve as solve
    from chasles.integrate.space import Space as Space
    from chasles.integrate.tableau import Tableau as Tableau
    from chasles.integrate.theta import SymplecticTheta as SymplecticTheta

__version__ = "0.1.0"
_NAMES = {
    "batch": ("solve_batch",),
    "composition": ("Composition",),
    "cotangent": (
        "HamiltonianOnSO3",
        "RigidBodyOnSO3",
    ),
    "event": ("Event",),
    "field": ("field",),
    "fixed_step": ("StepError",),
    "gauss": (
        "Gauss",
        "LieMidpoint",
    ),
    "generic": (
        "FrameSpace",
        "MatrixGroup",
    ),
    "lie_verlet": ("LieVerlet",),
    "magnus": (
        "CommutatorFreeMagnus",
        "LinearODE",
        "Magnus",
    ),
    "method": (
        "CommutatorFree",
        "CrouchGrossman",
        "LowStorage",
        "RKMK",
    ),
    "moser_veselov": ("MoserVeselov",),
    "poisson": (
        "LiePoisson",
        "LiePoissonMidpoint",
    ),
    "problem": ("LieODE",),
    "solution": ("Solution",),
    "solve": ("solve",),
    "space": ("Space",),
    "tableau": ("Tableau",),
    "theta": ("SymplecticTheta",),
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
