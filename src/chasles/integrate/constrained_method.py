"""Methods for constrained systems in absolute coordinates, as frozen data; what they do is in `constrained`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

METRICS = ("mass", "unit")


def _number(method: str, name: str, value: object, low: float, high: float, expected: str) -> None:
    if not (isinstance(value, int | float) and low <= value <= high):
        raise ValueError(f"{method}: {name} is {value!r}; expected {expected}")


def _choice(method: str, name: str, value: object, known: tuple[Any, ...]) -> None:
    if value not in known:
        raise ValueError(f"{method}: {name} is {value!r}; expected {' or '.join(map(repr, known))}")


@dataclass(frozen=True)
class GeneralizedAlpha:
    """Generalized alpha on the group, order 2, with numerical damping of high frequencies: for stiff systems.

    `rho` in [0, 1) is the spectral radius at infinity: 0 damps most, near 1 hardly anything, and with 1 the multipliers
    of constraints would oscillate without bound. `index` 2 (stabilized: position and velocity constraints both hold) or
    3 (positions only; velocities are off by O(h²)). `local`: velocities from the coordinates of the step, which makes
    the error several times smaller at no cost; False is the form of bruels2012. `metric`: in which
    positions are corrected with index 2: "mass" (which does not depend on units and frames), or "unit", of the papers;
    redundant constraints make index 2 to index 3 with velocities projected, where it has no part.
    `tolerance` of Newton's method, relative to how far each body turns and moves in a step, angles and displacements
    apart and without a velocity that all connected bodies share. `project_velocity`, with index 2: bring velocities
    onto the constraints to rounding, where they hold to the tolerance else.
    """

    rho: float = 0.8
    index: int = 2
    local: bool = True
    metric: str = "mass"
    tolerance: float = 1e-10
    project_velocity: bool = False

    order = 2

    def __post_init__(self) -> None:
        if self.rho == 1:
            raise ValueError(
                "GeneralizedAlpha: rho is 1, which damps nothing: the multipliers would oscillate without bound; "
                "expected a number in [0, 1), such as 0.8"
            )
        _number("GeneralizedAlpha", "rho", self.rho, 0.0, 1.0, "a number in [0, 1), such as 0.8")
        _choice("GeneralizedAlpha", "index", self.index, (2, 3))
        _choice("GeneralizedAlpha", "metric", self.metric, METRICS)
        if self.project_velocity and self.index == 3:
            raise ValueError(
                "GeneralizedAlpha: project_velocity=True needs index=2; with index 3 velocities off the constraints "
                "are part of the method, and projecting them would let the multipliers oscillate"
            )
        _number("GeneralizedAlpha", "tolerance", self.tolerance, 1e-14, 1e-2, "a number from 1e-14 to 1e-2")

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        """αm, αf, γ, β."""
        am, af = (2 * self.rho - 1) / (self.rho + 1), self.rho / (self.rho + 1)
        gamma = 0.5 + af - am
        return am, af, gamma, 0.25 * (gamma + 0.5) ** 2

    @property
    def shift(self) -> float:
        """αm - αf: the algorithmic acceleration belongs to the time t + shift h."""
        return self.coefficients[0] - self.coefficients[1]


BACKWARD = {
    2: (3 / 2, -2.0, 1 / 2),
    3: (11 / 6, -3.0, 3 / 2, -1 / 3),
    4: (25 / 12, -4.0, 3.0, -4 / 3, 1 / 4),
    5: (137 / 60, -5.0, 5.0, -10 / 3, 5 / 4, -1 / 5),
}


@dataclass(frozen=True)
class BLieDF:
    """BDF on the group with k = 2 to 5 steps, order k, stabilized index 2: strong damping, smooth stiff systems.

    `logarithms` of the products of increments are "first" (commutators only, good up to k = 4), "exact", or "auto"
    (exact from k = 4 on). The first steps are those of an explicit method of high order. Steps of any length keep the
    order; without a step they follow the error. `metric` and `tolerance` as in
    GeneralizedAlpha.
    """

    k: int = 3
    logarithms: str = "auto"
    metric: str = "mass"
    tolerance: float = 1e-10

    def __post_init__(self) -> None:
        _choice("BLieDF", "k", self.k, tuple(BACKWARD))
        _choice("BLieDF", "logarithms", self.logarithms, ("auto", "first", "exact"))
        if self.logarithms == "first" and self.k > 4:
            raise ValueError('BLieDF: first commutators alone give order 4 at most; take logarithms="exact" with k = 5')
        _choice("BLieDF", "metric", self.metric, METRICS)
        _number("BLieDF", "tolerance", self.tolerance, 1e-14, 1e-2, "a number from 1e-14 to 1e-2")

    @property
    def order(self) -> int:
        return self.k

    @property
    def alpha(self) -> tuple[float, ...]:
        """Coefficients of the new point and the k before it, in h y' = Σ α_i y_{n+1-i}."""
        return BACKWARD[self.k]

    @property
    def exact(self) -> bool:
        return self.logarithms == "exact" or (self.logarithms == "auto" and self.k > 3)


@dataclass(frozen=True)
class Rattle:
    """RATTLE on the group: symplectic and symmetric, order 2, no drift of the energy; constraints hold exactly.

    Without a step, steps follow the motion and not the error, so that they are the same backward in time: they may
    become shorter and longer, and still the energy does not drift.
    """

    tolerance: float = 1e-12

    order = 2

    def __post_init__(self) -> None:
        _number("Rattle", "tolerance", self.tolerance, 1e-15, 1e-2, "a number from 1e-15 to 1e-2")


@dataclass(frozen=True)
class EnergyMomentum:
    """Energy-momentum scheme on (SO(3)xR3)^n: order 2, energy and angular momentum exact to rounding under gravity.

    Cayley steps, constraint forces with the mean of both rotations. Of joints and constraints it takes those whose
    equations are at most bilinear in rotations and positions. Velocities are off the constraints by O(h²).
    """

    tolerance: float = 1e-13

    order = 2

    def __post_init__(self) -> None:
        _number("EnergyMomentum", "tolerance", self.tolerance, 1e-15, 1e-2, "a number from 1e-15 to 1e-2")


R6 = 6**0.5
# brasey1993; of HEM5 the published 16 digits satisfy the conditions to 1.6e-13 only, so they are corrected
# by the smallest change that satisfies them to 1e-16
HALF_EXPLICIT: dict[int, tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]] = {
    3: (((1 / 3,), (-1.0, 2.0), (0.0, 3 / 4, 1 / 4)), (0.0, 1 / 3, 1.0)),
    4: (
        (
            (3 / 10,),
            ((1 + R6) / 30, (11 - 4 * R6) / 30),
            ((-79 - 31 * R6) / 150, (-1 - 4 * R6) / 30, (24 + 11 * R6) / 25),
            ((14 + 5 * R6) / 6, (-8 + 7 * R6) / 6, (-9 - 7 * R6) / 4, (9 - R6) / 4),
            (0.0, 0.0, (16 - R6) / 36, (16 + R6) / 36, 1 / 9),
        ),
        (0.0, 3 / 10, (4 - R6) / 10, (4 + R6) / 10, 1.0),
    ),
    5: (
        (
            (0.1,),
            (0.0375, 0.1125),
            (0.3222169236216041, -1.188883322987608, 1.228145134023368),
            (-0.03501123898129958, 0.372542060108616, -0.2721053535582038, 0.01993037578575079),
            (-0.5576547055042055, 1.367307289645884, -1.732236360460722, 0.4587772007467549, 0.9638065755722884),
            (
                *(0.08654517193566096, -0.08810082847945419, 0.1981275547329406, -0.4645422679331079),
                *(0.1615170091109487, 0.906453360633012),
            ),
            (0.0, 0.0, 0.0, 3.624477248753798, -0.4617724189182749, -3.19802462816426, 1.035319798328737),
            (
                *(0.0, 0.0, 0.0, 0.24677606676368422, 0.2106594087489715, 0.17692181491249678, 0.30644464441479446),
                0.05919806516005303,
            ),
        ),
        (0.0, 0.1, 0.15, 0.3614787346573635, 0.08535584335486351, 0.5, 0.8, 1.0),
    ),
}


@dataclass(frozen=True)
class HalfExplicit:
    """Half-explicit Runge-Kutta methods HEM3, HEM4, HEM5 in Munthe-Kaas form: smooth systems that are not stiff.

    `order` is 3, 4 or 5. `project`: bring positions and velocities back onto the constraints after each step; without
    it positions drift, while velocities stay on the constraints.
    """

    order: int = 5
    project: bool = True

    def __post_init__(self) -> None:
        _choice("HalfExplicit", "order", self.order, tuple(HALF_EXPLICIT))

    @property
    def table(self) -> tuple[tuple[tuple[float, ...], ...], tuple[float, ...]]:
        """Rows of the tableau below the first with the weights last, and the nodes."""
        return HALF_EXPLICIT[self.order]


@dataclass(frozen=True)
class RadauIIA:
    """Radau IIA with three stages on the group: order 5, damps all that is too fast to resolve; stiff systems to high
    accuracy with long steps.

    Velocities of all stages are on the constraints (index 2); positions are brought back onto them after each step. The
    multipliers have order 3. `tolerance` as in GeneralizedAlpha.
    """

    tolerance: float = 1e-12

    order = 5

    def __post_init__(self) -> None:
        _number("RadauIIA", "tolerance", self.tolerance, 1e-15, 1e-2, "a number from 1e-15 to 1e-2")


CONSTRAINED_METHODS = (GeneralizedAlpha, BLieDF, Rattle, HalfExplicit, EnergyMomentum, RadauIIA)


def less_demanding(method: object) -> str:
    """What to try when a step of a method fails."""
    advice = "try a shorter step"
    if isinstance(method, GeneralizedAlpha):
        if method.rho > 0.6:
            advice += ", or more damping (rho = 0.5)"
        if method.index == 3:
            advice += ", or index=2, which is the more robust form"
    return advice
