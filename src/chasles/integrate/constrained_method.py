"""Methods for constrained systems in absolute coordinates, as frozen data; the loops are in `absolute.implicit`."""

from __future__ import annotations

from dataclasses import dataclass

METRICS = ("mass", "unit")


def _number(method: str, name: str, value: object, low: float, high: float, expected: str) -> None:
    if not (isinstance(value, int | float) and low <= value < high):
        raise ValueError(f"{method}: {name} is {value!r}; expected {expected}")


def _choice(method: str, name: str, value: object, known: tuple) -> None:
    if value not in known:
        raise ValueError(f"{method}: {name} is {value!r}; expected {' or '.join(map(repr, known))}")


@dataclass(frozen=True)
class GeneralizedAlpha:
    """Generalized alpha on the group, order 2, with numerical damping of high frequencies: for stiff systems.

    `rho` in [0, 1) is the spectral radius at infinity: 0 damps most, near 1 hardly anything, and with 1 the multipliers
    of constraints would oscillate without bound. `index` 2 (stabilised: position and velocity constraints both hold) or
    3 (positions only; velocities are off by O(h²)). `local`: velocities from the coordinates of the step, which makes
    the error several times smaller at no cost; False is the form of Brüls, Cardona and Arnold. `metric`: in which
    positions are corrected with index 2: "mass" (which does not depend on units and frames), or "unit", of the papers.
    `tolerance` of Newton's method, of the velocities.
    """

    rho: float = 0.8
    index: int = 2
    local: bool = True
    metric: str = "mass"
    tolerance: float = 1e-10

    order = 2

    def __post_init__(self):
        if self.rho == 1:
            raise ValueError(
                "GeneralizedAlpha: rho is 1, which damps nothing: the multipliers would oscillate without bound; "
                "expected a number in [0, 1), such as 0.8"
            )
        _number("GeneralizedAlpha", "rho", self.rho, 0.0, 1.0, "a number in [0, 1), such as 0.8")
        _choice("GeneralizedAlpha", "index", self.index, (2, 3))
        _choice("GeneralizedAlpha", "metric", self.metric, METRICS)
        _number("GeneralizedAlpha", "tolerance", self.tolerance, 1e-14, 1e-2, "a number from 1e-14 to 1e-2")

    @property
    def shift(self) -> float:
        """αm - αf: the algorithmic acceleration belongs to the time t + shift h."""
        return (self.rho - 1) / (self.rho + 1)

    @property
    def beta(self) -> float:
        return 0.25 * (1 - self.shift) ** 2


CONSTRAINED_METHODS = (GeneralizedAlpha,)
