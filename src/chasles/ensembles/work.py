"""One member of an ensemble: parameters in, numbers out. All of it can be sent to another process."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.certificate.verdict import NOT_JUDGED
from chasles.ensembles.design import written_values
from chasles.ensembles.quantity import Quantity, QuantityError
from chasles.io.load import load
from chasles.io.model_file import Study, study_of
from chasles.io.source import Source, read
from chasles.io.units import computed_in, require_dimension_of
from chasles.simulation.batch.schedule import carried_out
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task
from chasles.simulation.start.values import StartChangedWarning

PACKAGE = Path(__file__).parents[1]
ERROR = "error"  # the status of a member that has no result
ENDED_EARLY = "ended early"
TIMES_OF_SERIES = "t"  # among the numbers of members with series


@dataclass(frozen=True)
class MemberOutcome:
    """What a member leaves: its status ("passed", "failed", "not judged", "ended early", "error"), a message, numbers
    by quantity, what each of several numbers is, and their units."""

    status: str
    message: str = ""
    numbers: Mapping[str, np.ndarray] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    steps: int = 0
    units: Mapping[str, str] = field(default_factory=dict)


@dataclass
class Begun:
    """A member before its run: what is to be done; or what there is already, a run or its outcome. What was said."""

    task: Task | None = None
    run: Run | None = None
    outcome: MemberOutcome | None = None
    said: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Work:
    """What is done with the parameters of a member.

    model: a model file, or a function of the parameters that returns a `Study`, a `Run`, a number or numbers by name;
    fixed: what is set in all members; options: of `simulate`; keep: a folder for the runs.
    """

    model: Any
    quantities: tuple[Quantity, ...] = ()
    fixed: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    laws: Mapping[str, Any] | None = None
    keep: Path | None = None

    @cached_property
    def parameters(self) -> frozenset[str]:
        """Names of the parameters of a model file."""
        return frozenset(load(self.model, laws=self.laws).parameters)

    @cached_property
    def _sources(self) -> list[Source] | None:
        """A model file and what it includes, read once."""
        file = Path(self.model)
        return read(file) if file.suffix.lower() == ".toml" and file.is_file() else None

    def path(self, name: str) -> str:
        """The place of a value in the model file: a parameter may be given by its name alone."""
        return f"parameters.{name}" if name in self.parameters else name

    def check_units(self, given: Mapping[str, Any]) -> None:
        """ValueError if what a parameter of a model file is set to has a unit of another dimension than in the file."""
        for name, value in given.items():
            for text in written_values(value):
                try:
                    require_dimension_of(self._written(name), text)
                except ValueError as error:
                    raise ValueError(f"ensemble: parameter {name!r} {error}") from None

    def unit(self, name: str) -> str:
        """The unit that a parameter of a model file is computed in; nothing if the file does not tell."""
        return "" if callable(self.model) else computed_in(self._written(name))

    def _written(self, name: str) -> Any:
        """A parameter as it is written in the model file."""
        known: dict[str, Any] = {}
        for source in self._sources or ():
            known |= source.data.get("parameters", {})
        return known.get(name.removeprefix("parameters."))

    def study(self, values: Mapping[str, Any]) -> Any:
        """The model with these values: a `Study`, or what the function returns."""
        if callable(self.model):
            return self.model(**self.fixed, **values)
        changes = {self.path(name): value for name, value in {**self.fixed, **values}.items()}
        if self._sources is None:
            return load(self.model, set=changes, laws=self.laws)
        return study_of(self._sources, self.model, changes, self.laws)

    def run(self, values: Mapping[str, Any]) -> Run:
        """The run of a member, whole."""
        begun = self._begun(values, None)
        if begun.task is not None:
            (found,) = carried_out([begun.task])
            if isinstance(found, Exception):
                raise found
            return found
        if begun.run is None:
            raise TypeError("ensemble: the model returned numbers; expected a Study or a Run to look at it")
        return begun.run

    def member(self, index: int, values: Mapping[str, Any], first: bool = False) -> MemberOutcome:
        """The outcome of a member. Whatever goes wrong is its message: the others go on. Of the `first` one, quantities
        that there are not are raised: they would be missing in all."""
        return self.members([(index, values)], first=first)[0][1]

    def members(
        self, some: Sequence[tuple[int, Mapping[str, Any]]], threads: int = 1, first: bool = False
    ) -> list[tuple[int, MemberOutcome]]:
        """The outcomes of some members, which run together where they can: on lanes, or on so many threads."""
        begun: dict[int, Begun] = {}
        found: dict[int, MemberOutcome] = {}
        for index, values in some:
            try:
                begun[index] = self._begun(values, index)
            except (Exception, SystemExit) as error:  # a model that calls sys.exit ends its member alone
                found[index] = self._failed(error)
        planned = {index: one.task for index, one in begun.items() if one.task is not None}
        runs = dict(zip(planned, carried_out(list(planned.values()), threads), strict=True))
        for index, one in begun.items():
            run = runs.get(index, one.run)
            try:
                if isinstance(run, Exception):
                    raise run
                outcome = one.outcome if run is None else self._outcome(run)
                assert outcome is not None
                found[index] = replace(outcome, message="; ".join(filter(None, [outcome.message, *one.said])))
            except Exception as error:
                if first and isinstance(error, QuantityError):
                    raise
                found[index] = self._failed(error)
        return [(index, found[index]) for index, _ in some]

    def _begun(self, values: Mapping[str, Any], index: int | None) -> Begun:
        """A member before its run. Of warnings only those of the start are kept: others would be repeated by each
        member, and the certificate judges the run."""
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            made, begun = self.study(values), Begun()
            if isinstance(made, Run):
                begun.run = made
            elif not isinstance(made, Study):
                begun.outcome = _of_numbers(made)
            elif self.keep is not None and index is not None:
                begun.run = made.run(**self.options, progress=False, file=self.keep / f"{index:06d}.h5")
            else:
                begun.task = made.plan(**self.options)
        begun.said = [str(one.message) for one in said if issubclass(one.category, StartChangedWarning)]
        return begun

    def _failed(self, error: BaseException) -> MemberOutcome:
        where = traceback.extract_tb(error.__traceback__)[-1]
        own = callable(self.model) and not Path(where.filename).is_relative_to(PACKAGE)
        place = f" ({where.name}, line {where.lineno})" if own else ""
        return MemberOutcome(ERROR, f"{type(error).__name__}: {error}{place}")

    def _outcome(self, run: Run) -> MemberOutcome:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numbers = {one.text: one.of(run) for one in self.quantities}
            if any(one.reduction == "series" for one in self.quantities):
                numbers[TIMES_OF_SERIES] = np.asarray(run.t)
            labels = {one.text: one.labels(run) for one in self.quantities}
            units = {one.text: one.unit(run) for one in self.quantities}
            judged = self.options.get("certificate", True)
            status, message = (run.certificate.status, run.certificate.reason) if judged else (NOT_JUDGED, "")
        if not run.success:
            status, message = ENDED_EARLY, run.message
            for one in self.quantities:  # what a part of a motion gives is not what was asked for
                numbers[one.text] = np.full_like(np.asarray(numbers[one.text], dtype=float), np.nan)
        return MemberOutcome(status, message, numbers, labels, int(run.solution.steps), units)


def _of_numbers(made: Any) -> MemberOutcome:
    """What a function returned: a number, or numbers by name."""
    given = made if isinstance(made, Mapping) else {"value": made}
    try:
        numbers = {str(name): np.asarray([] if value is None else value, dtype=float) for name, value in given.items()}
    except (TypeError, ValueError):
        numbers = {}
    if not numbers or any(value is None for value in given.values()):
        raise TypeError(f"the model returned {made!r}; expected a Study, a Run, a number or numbers by name")
    if bad := [name for name, value in numbers.items() if not np.isfinite(value).all()]:
        raise ArithmeticError(f"{bad[0]!r} is not finite")
    return MemberOutcome(NOT_JUDGED, "", numbers)
