"""Where the methods of a run were published: for its report."""

from __future__ import annotations

from typing import Any

from chasles.integrate.constrained_method import BLieDF, EnergyMomentum, GeneralizedAlpha, HalfExplicit, Rattle
from chasles.integrate.gauss import Gauss, LieMidpoint
from chasles.integrate.method import COMMUTATOR_FREE, CROUCH_GROSSMAN, RKMK, Exponentials
from chasles.simulation.body_run import BodyRun

TREES = (
    "A. Müller, Screw and Lie group theory in multibody dynamics: recursive algorithms and equations of motion of "
    "tree-topology systems. Multibody System Dynamics 42, 219–248, 2018."
)
SPACES = (
    "A. Müller, Z. Terze, Is there an optimal choice of configuration space for Lie group integration schemes applied "
    "to constrained MBS? ASME, 2013; arXiv:2407.03353."
)
OVERVIEW = (
    "E. Celledoni, E. Çokaj, A. Leone, D. Murari, B. Owren, Lie group integrators for mechanical systems. "
    "International Journal of Computer Mathematics 99(1), 2022."
)
FREE = (
    "E. Celledoni, A. Marthinsen, B. Owren, Commutator-free Lie group methods. Future Generation Computer Systems 19, "
    "341–352, 2003."
)
EXPONENTIALS = (
    "P. E. Crouch, R. Grossman, Numerical integration of ordinary differential equations on manifolds. Journal of "
    "Nonlinear Science 3, 1–33, 1993."
)
METHODS: dict[type, str] = {
    RKMK: "H. Munthe-Kaas, High order Runge-Kutta methods on manifolds. Applied Numerical Mathematics 29, 115–127, "
    "1999.",
    Gauss: OVERVIEW,
    LieMidpoint: OVERVIEW,
    GeneralizedAlpha: "O. Brüls, A. Cardona, M. Arnold, Lie group generalized-α time integration of constrained "
    "flexible multibody systems. Mechanism and Machine Theory 48, 121–137, 2012.",
    BLieDF: "V. Wieloch, M. Arnold, BDF integrators for constrained mechanical systems on Lie groups. Journal of "
    "Computational and Applied Mathematics 387, 112517, 2021.",
    Rattle: "H. C. Andersen, Rattle: a “velocity” version of the Shake algorithm for molecular dynamics calculations. "
    "Journal of Computational Physics 52, 24–34, 1983.",
    HalfExplicit: "V. Brasey, E. Hairer, Half-explicit Runge–Kutta methods for differential-algebraic systems of index "
    "2. SIAM Journal on Numerical Analysis 30, 538–552, 1993.",
    EnergyMomentum: "J. C. Simo, K. K. Wong, Unconditionally stable algorithms for rigid body dynamics that exactly "
    "preserve energy and momentum. International Journal for Numerical Methods in Engineering 31, 19–52, 1991.",
}


def published(method: Any) -> str:
    """Where a method was published."""
    if isinstance(method, Exponentials):
        return FREE if method.name in COMMUTATOR_FREE else EXPONENTIALS if method.name in CROUCH_GROSSMAN else OVERVIEW
    return METHODS.get(type(method), OVERVIEW)


def citations(run: Any, version: str) -> list[str]:
    """What to cite if a run is published: the program, the formulation, the method."""
    program = f"chasles {version}, The chasles developers: the dynamics of mechanisms on Lie groups. Computer program."
    formulation = SPACES if isinstance(run, BodyRun) else TREES
    found = [program, formulation, published(run.solution.method)]
    return list(dict.fromkeys(found))
