"""The result of a fit of simulations to data: values, uncertainties, unidentified parameters, pictures, files."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from chasles.cached import cached_property
from chasles.relative.parameter.identifiability import Identifiability

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from chasles.simulation.run import Run

WHOLE = 1e-4  # powers that differ by less from a whole number are one


@dataclass(frozen=True)
class Found:
    """Numbers that were found: names, values, covariance; which ones the data does not determine, or are at a bound."""

    names: tuple[str, ...]
    values: np.ndarray
    covariance: np.ndarray
    undetermined: np.ndarray
    at_bound: np.ndarray
    freedom: int  # degrees of freedom of the noise

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations; infinite where the data says nothing."""
        return np.where(self.undetermined, np.inf, np.sqrt(np.diag(self.covariance)))

    def intervals(self, level: float = 0.95) -> np.ndarray:
        """Confidence intervals (numbers, 2) by Student's distribution."""
        from scipy.special import stdtrit

        if not 0 < level < 1:
            raise ValueError(f"intervals: level is {level}; expected one between 0 and 1")
        half = self.deviations * (stdtrit(self.freedom, 0.5 + level / 2) if self.freedom else np.inf)
        return np.stack([self.values - half, self.values + half], axis=1)

    @property
    def correlation(self) -> np.ndarray:
        """Of the errors, (numbers, numbers); NaN where the data says nothing."""
        size = np.where(self.undetermined, np.nan, np.sqrt(np.diag(self.covariance)))
        return self.covariance / np.outer(size, size)


@dataclass(frozen=True)
class DataFit:
    """A fit of simulations to data.

    fit["length"] is the value of an unknown; `deviations`, `intervals()` and `correlation` tell how well it is known,
    `told` which combinations of unknowns the data tells (its text names those that it cannot). `study(k)` is the model
    of experiment k with the values found, `run(k)` its simulation. `residuals[k]` has the differences of its sensors,
    `noise[k]` their standard deviations. `success`: False if the iteration has not settled, or if this looks like a
    local minimum: the residual is far above the scatter of the data, and intervals do not hold. `message` says which.
    `cost`: half the sum of squares (or of the loss) in units of the noise.
    """

    found: Found
    told: Identifiability
    problem: Any = field(repr=False)
    points: tuple[Any, ...] = field(repr=False)
    residuals: list[list[np.ndarray]] = field(repr=False)
    noise: list[list[float]] = field(repr=False)
    biases: list[list[np.ndarray]] = field(repr=False)
    loss: str = "linear"
    iterations: int = 0
    notes: tuple[str, ...] = ()
    model: Any = field(default=None, repr=False)
    success: bool = True
    message: str = ""
    cost: float = 0.0

    def __getitem__(self, name: str) -> float:
        if name not in self.names:
            raise KeyError(f"nothing of the name {name!r} was unknown; there are {', '.join(map(repr, self.names))}")
        return float(self.found.values[self.names.index(name)])

    @property
    def names(self) -> tuple[str, ...]:
        """The unknowns."""
        return self.found.names

    @property
    def values(self) -> dict[str, float]:
        """Values by name."""
        return dict(zip(self.names, map(float, self.found.values), strict=True))

    @property
    def deviations(self) -> dict[str, float]:
        """Standard deviations by name; infinite where the data says nothing."""
        return dict(zip(self.names, map(float, self.found.deviations), strict=True))

    def intervals(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """Confidence intervals by name."""
        rows = self.found.intervals(level).tolist()
        return {name: (low, high) for name, (low, high) in zip(self.names, rows, strict=True)}

    @property
    def correlation(self) -> np.ndarray:
        """Of the errors of the unknowns."""
        return self.found.correlation

    def study(self, experiment: int = 0) -> Any:
        """The model of an experiment with the values found."""
        return self.problem.trials[experiment].study(self.points[experiment].slots)

    def run(self, experiment: int = 0) -> Run:
        """The simulation of an experiment with the values found."""
        return self._runs[experiment]

    @cached_property
    def _runs(self) -> list[Any]:
        return [trial.run(point) for trial, point in zip(self.problem.trials, self.points, strict=True)]

    @property
    def unidentified(self) -> str:
        """Parameters that the data does not identify, by name; empty if it identifies all."""
        lines = [f"{self.told.names[k]}: has no influence on what was measured" for k in self.told.unseen]
        for row in range(self.told.rank):
            terms = self.told.terms(row)
            if len(terms) > 1:
                lines.append(f"only together: {' '.join(terms)}{self._as_product(row)}")
        return "\n".join(lines)

    def _as_product(self, row: int) -> str:
        """The product or quotient that a combination is, near these values, if it is one of whole powers."""
        first, weights = self.told.kept[row], self.told.combinations[row]
        others = self.told.grouped[weights != 0.0]
        powers = weights[weights != 0.0] * self.found.values[others] / (self.found.values[first] or np.nan)
        if any(": " in self.names[k] for k in (first, *others)):
            return ""
        if not (np.abs(powers - np.round(powers)) < WHOLE).all() or not (np.abs(np.round(powers)) >= 1).all():
            return ""
        shown = [
            f"{self.names[k]}{'' if power == 1 else f'^{power:.0f}'}"
            for k, power in zip(others, np.round(powers), strict=True)
        ]
        return f", as in the product {' * '.join([self.names[first], *shown])}"

    def __str__(self) -> str:
        width = max(map(len, self.names))
        lines = [f"{'':{width}}  {'value':>12}  {'± 95 %':>9}{'' if self.success else ', not valid'}"]
        rows = zip(self.names, self.found.values, self.found.intervals(), self.found.at_bound, strict=True)
        for name, value, (_, high), bound in rows:
            half = high - value
            shown = f"{half:9.2g}" if np.isfinite(half) else "not determined"
            lines.append(f"{name:{width}}  {value:12.6g}  {shown}{'  at its bound' if bound else ''}")
        for i, trial in enumerate(self.problem.trials):
            for channel, sigma, r in zip(trial.channels, self.noise[i], self.residuals[i], strict=True):
                given = "given" if channel.noise is not None else "estimated"
                rms = float(np.sqrt(np.mean(r * r)))
                lines.append(
                    f"{trial.name}: {channel.name}: {len(r)} times, residual {rms:.3g} {channel.unit} rms, noise "
                    f"{sigma:.3g} ({given})"
                )
        if self.unidentified:
            lines.append("parameters that the data does not identify:")
            lines += [f"  {line}" for line in self.unidentified.splitlines()]
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def save(self, file: str | Path) -> Path:
        """Write the model file with the values found, their uncertainty in comments and as distributions of
        `[ensemble]`."""
        from chasles.fit.fitted_file import write_fitted

        return write_fitted(self, Path(file))

    def plot(self, *names: str, file: str | Path | None = None, size: tuple[float, float] | None = None) -> Figure:
        """Draw what was measured over what is simulated, with residuals below; of some sensors by name, or of all."""
        from chasles.fit.plot import plot

        return plot(self, *names, file=file, size=size)

    def report(self, file: str | Path | None = None) -> str:
        """The report as one HTML page, written to a file if one is given."""
        from chasles.fit.report import report

        return report(self, file)
