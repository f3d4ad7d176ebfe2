"""Where the methods of a run were published: for its report."""

from __future__ import annotations

from typing import Any

from chasles.bibliography import reference
from chasles.integrate.constrained_method import (
    BLieDF,
    EnergyMomentum,
    GeneralizedAlpha,
    HalfExplicit,
    RadauIIA,
    Rattle,
)
from chasles.integrate.gauss import Gauss, LieMidpoint
from chasles.integrate.method import COMMUTATOR_FREE, CROUCH_GROSSMAN, RKMK, Exponentials

METHODS: dict[type, str] = {
    RKMK: "munthekaas1999",
    Gauss: "celledoni2022",
    LieMidpoint: "celledoni2022",
    GeneralizedAlpha: "bruels2012",
    BLieDF: "wieloch2021",
    Rattle: "andersen1983",
    HalfExplicit: "brasey1993",
    EnergyMomentum: "simo1991",
    RadauIIA: "hairer1996",
}


def published(method: Any) -> str:
    """Where a method was published."""
    if isinstance(method, Exponentials) and method.name in COMMUTATOR_FREE:
        return reference("celledoni2003")
    if isinstance(method, Exponentials) and method.name in CROUCH_GROSSMAN:
        return reference("crouch1993")
    return reference(METHODS.get(type(method), "celledoni2022"))


def citations(run: Any, version: str) -> list[str]:
    """What to cite if a run is published: the program, the formulation, the method."""
    program = f"chasles {version}, The chasles developers: the dynamics of mechanisms on Lie groups. Computer program."
    formulation = "mueller2013" if run.coordinates == "absolute" else "mueller2018"
    found = [program, reference(formulation), published(run.solution.method)]
    return list(dict.fromkeys(found))
