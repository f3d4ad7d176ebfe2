"""Symmetric compositions: methods of order 4, 6 and 8 from symmetric ones of order 2."""

from __future__ import annotations

from dataclasses import dataclass, field

from chasles.integrate.theta import SymplecticTheta
from chasles.integrate.variational import LieVerlet, MoserVeselov

_CUBE = 2 ** (1 / 3)
_FIFTH = 4 ** (1 / 3)
# symmetric compositions of symmetric methods (hairer2006, V.3.2): order, first half and middle
SCHEMES = {
    "triple_jump": (4, (1 / (2 - _CUBE),), -_CUBE / (2 - _CUBE)),
    "suzuki": (4, (1 / (4 - _FIFTH),) * 2, -_FIFTH / (4 - _FIFTH)),
    "kahan_li": (
        6,
        (
            *(0.39216144400731413927925056, 0.33259913678935943859974864),
            *(-0.70624617255763935980996482, 0.08221359629355080023149045),
        ),
        0.79854399093482996339895035,
    ),
    "suzuki_umeno": (
        8,
        (
            *(0.74167036435061295344822780, -0.40910082580003159399730010),
            *(0.19075471029623837995387626, -0.57386247111608226665638773),
            *(0.29906418130365592384446354, 0.33462491824529818378495798, 0.31529309239676659663205666),
        ),
        -0.79688793935291635401978884,
    ),
}


@dataclass(frozen=True)
class Composition:
    """A symmetric method of order 2, done in several parts of a step, some backwards, for order 4, 6 or 8.

    Schemes: "triple_jump" (order 4, 3 parts), "suzuki" (order 4, 5 parts, smaller error), "kahan_li" (order 6, 9
    parts), "suzuki_umeno" (order 8, 15 parts).
    """

    base: SymplecticTheta | LieVerlet | MoserVeselov = field(default_factory=SymplecticTheta)
    scheme: str = "suzuki"

    def __post_init__(self) -> None:
        if self.scheme not in SCHEMES:
            raise ValueError(f"Composition: scheme {self.scheme!r}; expected one of {', '.join(SCHEMES)}")
        if getattr(self.base, "order", 0) != 2 or isinstance(self.base, Composition):
            raise ValueError(f"Composition: {self.base} is not a symmetric method of order 2")

    @property
    def order(self) -> int:
        return SCHEMES[self.scheme][0]

    @property
    def parts(self) -> tuple[float, ...]:
        """The fractions of a step, in turn."""
        _, half, middle = SCHEMES[self.scheme]
        return (*half, middle, *half[::-1])
