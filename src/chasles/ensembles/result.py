"""What an ensemble leaves: parameters, quantities and the verdict of every member, with statistics and tables."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from chasles.certificate.verdict import PASSED
from chasles.ensembles.indices import SobolIndices, sobol_indices
from chasles.ensembles.study_file import StoredArrays, open_study
from chasles.ensembles.work import ENDED_EARLY, ERROR, TIMES_OF_SERIES, Work
from chasles.io.result.layout import replacing
from chasles.model.suggestion import meant

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.figure import Figure

    from chasles.simulation.run import Run
    from chasles.view.page import Page

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_AT_ONCE = 1 << 24  # numbers of a quantity in a file that are read at once
MOST_ROWS = 20  # numbers of a quantity whose statistics are shown


class Statistics(NamedTuple):
    """Of the members that have a result: their number, mean, its standard error, standard deviation, extremes, and the
    quantiles of `QUANTILES`, each for every number of the quantity."""

    members: int
    mean: np.ndarray
    standard_error: np.ndarray
    deviation: np.ndarray
    least: np.ndarray
    largest: np.ndarray
    quantiles: np.ndarray

    def __repr__(self) -> str:
        names = ["mean", "± error", "deviation", "least", *(f"{one:.0%}" for one in QUANTILES), "largest"]
        columns = [self.mean, self.standard_error, self.deviation, self.least, *self.quantiles, self.largest]
        rows = list(zip(*(np.ravel(column).tolist() for column in columns), strict=True))
        shown = ["".join(f"{value:12.5g}" for value in row) for row in rows[:MOST_ROWS]]
        left = [f"... and {len(rows) - MOST_ROWS} more numbers"] if len(rows) > MOST_ROWS else []
        return "\n".join([f"{self.members} members", "".join(f"{name:>12s}" for name in names), *shown, *left])


@dataclass(frozen=True, repr=False)
class Ensemble:
    """All members, in the order of the design.

    parameters: values by name, (members,) each. quantities: numbers by name, (members,) or (members, ...), NaN where a
    member has none. status: "passed", "failed" or "not judged" by the certificate, "ended early", or "error", with its
    `messages`. `labels`: what each of several numbers of a quantity is; `units`: their units, if they have one.
    """

    parameters: Mapping[str, np.ndarray]
    quantities: Mapping[str, np.ndarray]
    status: np.ndarray
    messages: Sequence[str]
    steps: np.ndarray
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    title: Mapping[str, Any] = field(default_factory=dict)
    work: Work | None = None
    units: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.status)

    def __repr__(self) -> str:
        counts = ", ".join(
            f"{np.count_nonzero(self.status == one)} {one}" for one in dict.fromkeys(self.status.tolist())
        )
        return f"<Ensemble of {self.title.get('design', f'{len(self)} members')}; {counts}>"

    @property
    def passed(self) -> np.ndarray:
        """Indices of the members whose certificate passed."""
        return np.flatnonzero(self.status == PASSED)

    @property
    def failed(self) -> np.ndarray:
        """Indices of the members without a result: errors, and runs that ended early."""
        return np.flatnonzero((self.status == ERROR) | (self.status == ENDED_EARLY))

    @property
    def times(self) -> np.ndarray:
        """The times of quantities that are a series [s]: those of the longest run."""
        rows = np.asarray(self[TIMES_OF_SERIES])
        found: np.ndarray = rows[np.argmax(np.isfinite(rows).sum(axis=1))]
        return found

    def __getitem__(self, name: str) -> np.ndarray:
        """A quantity or a parameter by name."""
        if name in self.quantities:
            return np.asarray(self.quantities[name])
        if name in self.parameters:
            return np.asarray(self.parameters[name])
        known = [*self.quantities, *self.parameters]
        raise KeyError(f"there is no {name!r}; {meant(name, known)}there are {', '.join(known)}")

    def statistics(self, name: str) -> Statistics:
        """Statistics of a quantity over the members that have it."""
        there = np.zeros(len(self), dtype=bool)
        for part in self._parts(name):
            there |= np.isfinite(part.reshape(len(part), -1)).any(axis=1)
        n = int(there.sum())
        if n == 0:
            raise ValueError(f"statistics: no member has {name!r}")
        found = [_statistics(part[there], n) for part in self._parts(name)]
        if len(found) == 1:
            return found[0]
        joined = [np.concatenate(parts) for parts in list(zip(*found, strict=True))[1:-1]]
        return Statistics._make([n, *joined, np.concatenate([one.quantiles for one in found], axis=1)])

    def _parts(self, name: str) -> Iterator[np.ndarray]:
        """A quantity or a parameter, some of its numbers of all members at a time: in a file it may be larger than
        memory."""
        where = self.quantities if name in self.quantities else self.parameters
        shape = where.form(name)[0] if isinstance(where, StoredArrays) and name in where else ()
        if len(shape) < 2:
            yield self[name]
            return
        assert isinstance(where, StoredArrays)
        width = max(1, MOST_AT_ONCE * shape[1] // max(1, math.prod(shape)))
        for first in range(0, shape[1], width):
            yield where.part(name, (slice(None), slice(first, first + width)))

    def sobol(self, name: str, *, confidence: float = 0.95, seed: int = 0) -> SobolIndices:
        """Sensitivity indices of a quantity, first and total order with confidence intervals; of an ensemble with
        design="saltelli"."""
        kind, names = self.title.get("kind"), list(self.parameters)
        if kind != "saltelli":
            raise ValueError(f'sobol: the design is {kind!r}; sensitivity indices need design="saltelli"')
        values = self[name]
        if values.ndim != 1:
            raise ValueError(f"sobol: {name!r} is {values.shape[1:]} numbers; expected a quantity of one number")
        return sobol_indices(values, names, confidence, seed)

    def member(self, index: int) -> Run:
        """The run of a member, computed again."""
        if self.work is None:
            raise ValueError(
                "member: the model of this ensemble is not there; give it to `Ensemble.open(file, model=...)`"
            )
        from chasles.ensembles.ensemble import digest_of

        if self.title.get("digest", found := digest_of(self.work)) != found:
            raise ValueError(
                f"member: the model {self.title['model']} is not the one of this study: it was changed, or is another. "
                "Open the study with the model as it was, `Ensemble.open(file, model=...)`"
            )
        return self.work.run(self.values(index))

    def values(self, index: int) -> dict[str, Any]:
        """The parameters of a member."""
        if not -len(self) <= index < len(self):
            raise IndexError(f"there is no member {index}; there are {len(self)}")
        return {name: plain(values[index]) for name, values in self.parameters.items()}

    # ------------------------------------------------------------ to other forms

    def columns(self, with_units: bool = False) -> Iterator[tuple[str, np.ndarray]]:
        """Names and values of all columns of a table: parameters, then quantities that are no series; with units, those
        of quantities follow their names: "final(joints.elbow) [rad]"."""
        yield "member", np.arange(len(self))
        for name, values in self.parameters.items():
            yield from _split(name, np.asarray(values), ("w", "x", "y", "z"))
        for name in self.quantities:
            values = np.asarray(self.quantities[name])
            if name != TIMES_OF_SERIES and values.ndim <= 2 and not name.startswith("series("):
                unit = self.units.get(name, "") if with_units else ""
                for column, numbers in _split(name, values, self.labels.get(name, ())):
                    yield f"{column} [{unit}]" if unit and not column.endswith("]") else column, numbers
        yield "steps", self.steps
        yield "status", self.status
        yield "message", np.array(self.messages, dtype=object)

    def export(self, file: str | Path) -> None:
        """Write a table with a row for each member, with units in its head: .csv."""
        path = Path(file)
        if path.suffix != ".csv":
            raise ValueError(f"export: {path.name!r}; expected a name that ends in .csv")
        columns = dict(self.columns(with_units=True))
        with replacing(path) as new, new.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(columns)
            writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))

    def to_pandas(self) -> pandas.DataFrame:
        """A pandas.DataFrame with a row for each member."""
        import pandas

        return pandas.DataFrame(dict(self.columns())).set_index("member")

    def to_xarray(self) -> xarray.Dataset:
        """An xarray.Dataset along members; series along time too. What is in a study file is read when it is asked for:
        it may be larger than memory."""
        import xarray

        from chasles.ensembles.lazy import variable

        data: dict[str, Any] = {}
        for values in (self.parameters, self.quantities):
            for name in values:
                if name != TIMES_OF_SERIES:
                    data[name] = variable(values, name, name.startswith("series("), self.units.get(name, ""))
        data["status"] = (("member",), self.status)
        where = {"t": self.times} if TIMES_OF_SERIES in self.quantities else {}
        return xarray.Dataset(data, where)

    def plot(self, *names: str, file: str | Path | None = None, size: tuple[float, float] | None = None) -> Figure:
        """Draw quantities over the parameters, and write the figure to a file if one is given: lines for one parameter,
        a map for a grid of two, else a matrix of scatter plots; fans of series; bars of sensitivity indices."""
        from chasles.ensembles.plot import plot

        return plot(self, *names, file=file, size=size)

    def report(self, file: str | Path | None = None) -> str:
        """The whole study on one page of HTML, written to a file if one is given: members, parameters, statistics,
        figures, what failed and why, and how to do it again."""
        from chasles.ensembles.report import report

        return report(self, file)

    def page(self, members: Iterable[int] | None = None, *, over: str | None = None, of: str | None = None) -> Page:
        """The 3D page of chosen members, computed again: one is drawn, the others around it as ghosts. In a plot of the
        quantity `of` over the parameter `over`, a click on one of them opens it."""
        from chasles.ensembles.page import page

        return page(self, members, over, of)

    @staticmethod
    def open(file: str | Path, *, model: Any = None, laws: Mapping[str, Any] | None = None) -> Ensemble:
        """The ensemble in a study file; numbers are read when they are asked for. `model`: the file or function, if it
        has moved, for `member`."""
        return open_study(Path(file), model, laws)


def _statistics(values: np.ndarray, n: int) -> Statistics:
    """Of the members that have a result."""
    deviation = values.std(axis=0, ddof=1) if n > 1 else np.full(values.shape[1:], np.nan)
    spread = np.quantile(values, QUANTILES, axis=0)
    ends = values.min(axis=0), values.max(axis=0)
    return Statistics(n, values.mean(axis=0), deviation / np.sqrt(n), deviation, *ends, spread)


def plain(value: Any) -> Any:
    """A number, or a list of numbers, as a model file has them."""
    return [float(x) for x in value] if np.ndim(value) else float(value)


def _split(name: str, values: np.ndarray, labels: Sequence[str]) -> Iterator[tuple[str, np.ndarray]]:
    if values.ndim == 1:
        yield name, values
        return
    for k in range(values.shape[1]):
        yield f"{name} {labels[k] if k < len(labels) else k + 1}", values[:, k]
