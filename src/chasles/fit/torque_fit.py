"""What linear regression of inverse dynamics finds: base parameters, their uncertainty, a physical system."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.fit.data_fit import Found
from chasles.model.system import System
from chasles.relative.mechanism import Mechanism
from chasles.relative.parameter.identifiability import Identifiability

WEIGHT = 1.0  # of the model, where the data says nothing: standard deviations for a change by all of a number


@dataclass(frozen=True)
class TorqueFit:
    """Base parameters from measured torques: `base`, with their `covariance`, `deviations` and `intervals()`.

    `told` names them, `unidentified` the others; `noise` is the standard deviation of each torque. `system()` is
    the system with parameters of all bodies that have these base parameters, near those of the model, and physical.
    """

    mechanism: Mechanism
    terms: tuple[str, ...]
    told: Identifiability
    base: np.ndarray
    covariance: np.ndarray
    noise: np.ndarray
    freedom: int

    @cached_property
    def found(self) -> Found:
        """The same as numbers with names."""
        none = np.zeros(len(self.base), dtype=bool)
        return Found(self.names, self.base, self.covariance, none, none, self.freedom)

    @property
    def names(self) -> tuple[str, ...]:
        """What each base parameter is the sum of."""
        return tuple(" ".join(self.told.terms(k)) for k in range(self.told.rank))

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the base parameters."""
        return self.found.deviations

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Confidence intervals (base, 2)."""
        return self.found.intervals(level)

    @property
    def unidentified(self) -> str:
        """Parameters that the torques do not identify, by name; empty if they identify all."""
        lines = [f"{self.told.names[k]}: has no influence on the torques" for k in self.told.unseen]
        return "\n".join([*lines, *(f"only together: {name}" for name in self.names if " " in name.partition(": ")[2])])

    def parameters(self, prior: ArrayLike | None = None, weight: float = WEIGHT) -> np.ndarray:
        """Parameters of all bodies (and joint terms) with these base parameters: physical, and near prior ones, by
        default those of the model."""
        from chasles.fit.by_regression import completed

        own = self.mechanism.parameters.inertial(self.terms)
        return completed(self, own if prior is None else np.asarray(prior, dtype=float), weight)

    def system(self, prior: ArrayLike | None = None, weight: float = WEIGHT) -> System:
        """The system with these parameters."""
        return self.mechanism.parameters.with_inertial(self.parameters(prior, weight), self.terms)

    def __str__(self) -> str:
        rows = [
            f"{value:12.5g} ± {1.96 * sigma:8.2g}  {name}"
            for value, sigma, name in zip(self.base, self.deviations, self.names, strict=True)
        ]
        lost = [f"{self.told.names[k]};" for k in self.told.unseen]
        return "\n".join(
            [
                f"{len(rows)} base parameters (± half of the 95 % interval)",
                *rows,
                *(["not at all: " + " ".join(lost)] if lost else []),
            ]
        )
