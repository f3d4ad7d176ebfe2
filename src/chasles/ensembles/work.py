"""One member of an ensemble: parameters in, numbers out. All of it can be sent to another process."""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from chasles.cached import cached_property
from chasles.certificate.verdict import NOT_JUDGED
from chasles.ensembles.quantity import Quantity, QuantityError
from chasles.io.load import load
from chasles.io.model_file import Study
from chasles.simulation.run import Run
from chasles.simulation.start_values import StartChangedWarning

ERROR = "error"  # the status of a member that has no result
ENDED_EARLY = "ended early"
TIMES_OF_SERIES = "t"  # among the numbers of members with series


@dataclass(frozen=True)
class MemberOutcome:
    """What a member leaves: its status ("passed", "failed", "not judged", "ended early", "error"), a message, numbers
    by quantity, and what each of several numbers is."""

    status: str
    message: str = ""
    numbers: Mapping[str, np.ndarray] = field(default_factory=dict)
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    steps: int = 0


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

    def path(self, name: str) -> str:
        """The place of a value in the model file: a parameter may be given by its name alone."""
        return f"parameters.{name}" if name in self.parameters else name

    def study(self, values: Mapping[str, Any]) -> Any:
        """The model with these values: a `Study`, or what the function returns."""
        if callable(self.model):
            return self.model(**self.fixed, **values)
        changes = {self.path(name): value for name, value in {**self.fixed, **values}.items()}
        return load(self.model, set=changes, laws=self.laws)

    def run(self, values: Mapping[str, Any], file: Path | None = None) -> Run:
        """The run of a member, whole."""
        made = self.study(values)
        if isinstance(made, Run):
            return made
        if not isinstance(made, Study):
            raise TypeError(
                f"ensemble: the model returned {type(made).__name__}; expected a Study or a Run to look at it"
            )
        more = {} if file is None else {"file": file}
        found: Run = made.run(**self.options, progress=False, **more)
        return found

    def member(self, index: int, values: Mapping[str, Any], first: bool = False) -> MemberOutcome:
        """The outcome of a member. Whatever goes wrong is its message: the others go on. Of the `first` one, quantities
        that there are not are raised: they would be missing in all."""
        try:
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                found = self._outcome(index, values)
            changed = [str(one.message) for one in said if issubclass(one.category, StartChangedWarning)]
            # others would be repeated by each member, and the certificate judges the run
            return replace(found, message="; ".join(filter(None, [found.message, *changed])))
        except Exception as error:
            if first and isinstance(error, QuantityError):
                raise
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f" ({where.name}, line {where.lineno})" if callable(self.model) else ""
            return MemberOutcome(ERROR, f"{type(error).__name__}: {error}{place}")

    def _outcome(self, index: int, values: Mapping[str, Any]) -> MemberOutcome:
        if callable(self.model):
            made = self.study(values)
            if not isinstance(made, Study | Run):
                return _of_numbers(made)
        file = None if self.keep is None else self.keep / f"{index:06d}.h5"
        run = made if callable(self.model) and isinstance(made, Run) else self.run(values, file)
        numbers = {one.text: one.of(run) for one in self.quantities}
        if any(one.reduction == "series" for one in self.quantities):
            numbers[TIMES_OF_SERIES] = np.asarray(run.t)
        labels = {one.text: one.labels(run) for one in self.quantities}
        judged = self.options.get("certificate", True)
        status, message = (run.certificate.status, run.certificate.reason) if judged else (NOT_JUDGED, "")
        if not run.success:
            status, message = ENDED_EARLY, run.message
        return MemberOutcome(status, message, numbers, labels, int(run.solution.steps))


def _of_numbers(made: Any) -> MemberOutcome:
    """What a function returned: a number, or numbers by name."""
    given = made if isinstance(made, Mapping) else {"value": made}
    numbers = {str(name): np.asarray(value, dtype=float) for name, value in given.items()}
    if bad := [name for name, value in numbers.items() if not np.isfinite(value).all()]:
        raise ArithmeticError(f"{bad[0]!r} is not finite")
    return MemberOutcome(NOT_JUDGED, "", numbers)
