"""The verdict on a run, as an object and in words: findings, what they may be, what to do."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from chasles.display import html as shown

PASSED, FAILED, NOT_JUDGED = "passed", "failed", "not judged"
ERROR, MESH = "error estimate", "mesh of rods"  # errors in time and in space


@dataclass(frozen=True)
class Finding:
    """One line of a certificate. `value` is relative to a size that `note` tells, or a `count`; without a tolerance it
    is for information only. `missing` says that it should have been judged and could not be."""

    name: str
    value: float
    tolerance: float | None
    note: str = ""
    count: bool = False
    missing: bool = False

    @property
    def shown(self) -> str:
        """The value in print; a dash for one that there is not."""
        if self.count and self.value == self.value:
            return f"{self.value:.0f}"
        return f"{self.value:.2e}" if self.value == self.value else "-"

    @property
    def allowed(self) -> str:
        return "" if self.tolerance is None else f"{self.tolerance:.0f}" if self.count else f"{self.tolerance:.0e}"

    @property
    def judged(self) -> bool:
        """Whether it can fail."""
        return self.tolerance is not None and not self.missing

    @property
    def passed(self) -> bool:
        if self.missing:
            return False
        return self.tolerance is None or bool(self.value <= self.tolerance)  # a NaN does not pass

    @property
    def mark(self) -> str:
        """One word for a table; none for information."""
        if self.missing:
            return NOT_JUDGED
        return "" if self.tolerance is None else "ok" if self.passed else "FAILED"


@dataclass(frozen=True)
class Certificate:
    """All findings on a run, and the verdict: `status` is "passed", "failed" or "not judged". It prints as a table.

    `horizon` is the time up to which the run is within the tolerance; `advice` says what to write when it failed.
    """

    title: str
    findings: tuple[Finding, ...]
    ended: str
    success: bool
    horizon: float = math.nan
    advice: tuple[str, ...] = ()
    cost: str = ""
    refused: str = ""  # why there is nothing to judge
    origin: str = ""  # "as stored" for one that was read from a file
    seconds: float = field(default=0.0, compare=False)

    @property
    def status(self) -> str:
        """One of three words. What is not judged does not pass."""
        if not self.success or any(finding.judged and not finding.passed for finding in self.findings):
            return FAILED
        if self.refused or any(finding.missing for finding in self.findings):
            return NOT_JUDGED
        return PASSED if any(finding.name == ERROR and finding.judged for finding in self.findings) else NOT_JUDGED

    @property
    def passed(self) -> bool:
        return self.status == PASSED

    @property
    def reason(self) -> str:
        """Why the verdict is what it is, in a line."""
        if not self.success:
            return self.refused or self.ended
        failed = [f"{f.name} {f.shown}" for f in self.findings if f.judged and not f.passed]
        if failed:
            until = ""
            if math.isfinite(self.horizon) and any(f.name == ERROR and not f.passed for f in self.findings):
                until = f"; within the tolerance until t = {self.horizon:.4g} s"
            return ", ".join(failed) + until
        if self.status == NOT_JUDGED:
            return self.refused or next((f.note for f in self.findings if f.missing), "there is no error estimate")
        errors = {f.name: max(f.value, 1e-16) for f in self.findings if f.name in (ERROR, MESH) and f.judged}
        whose = "each joint and rod" if MESH in errors else "each joint"
        told = [f for f in self.findings if f.name == MESH and f.name not in errors and f.value > errors[ERROR]]
        more = f"; its mesh, which is not judged, is off by {told[0].shown}" if told else ""
        return f"correct to about {int(-math.log10(max(errors.values())))} digits of the motion of {whose}{more}"

    def __getitem__(self, name: str) -> Finding:
        """A finding by its name, or by one of the words in it."""
        names = [finding.name for finding in self.findings]
        return self.findings[names.index(by_words(name, names, "certificate: no finding", KeyError))]

    @property
    def words(self) -> str:
        """The verdict in a line: for tables, reports, pages."""
        return f"{self.status if self.status != FAILED else 'FAILED'}{self.source}: {self.reason}"

    def as_table(self) -> dict[str, Any]:
        """As plain numbers and words, for files."""
        return asdict(self)

    @classmethod
    def of_table(cls, found: Mapping[str, Any], origin: str) -> Certificate:
        """The certificate that `as_table` was made of; `origin` says where from."""
        known = {item.name for item in fields(cls)}
        values = {name: value for name, value in found.items() if name in known}
        findings = tuple(Finding(**finding) for finding in found["findings"])
        findings = tuple(replace(f, value=math.nan) if f.value != f.value else f for f in findings)  # to be equal
        return cls(**values | {"findings": findings, "advice": tuple(found.get("advice", ())), "origin": origin})

    @property
    def source(self) -> str:
        return f" ({self.origin})" if self.origin else ""

    def __str__(self) -> str:
        width = max((len(finding.name) for finding in self.findings), default=0)
        lines = [self.title + self.source]
        for finding in self.findings:
            limit = f"<= {finding.allowed}" if finding.judged else ""
            line = f"  {finding.name:<{width}}  {finding.shown:>9}  {limit:9} {finding.mark:10}  {finding.note}"
            lines.append(line.rstrip())
        return "\n".join([*lines, *(f"  {line}" for line in self.after())])

    def after(self) -> list[str]:
        """What follows the table."""
        ended = "; ".join(filter(None, (self.ended, self.cost)))
        return [ended, f"verdict: {self.words}", *(f"  to do: {line}" for line in self.advice)]

    def _repr_html_(self) -> str:
        rows = [(f.name, f.shown, f.allowed if f.judged else "", f.mark, f.note) for f in self.findings]
        colors = ["#b00020" if f.judged and not f.passed else "" for f in self.findings]
        head = ("", "found", "allowed", "", "")
        return shown.page(self.title + self.source, shown.table(head, rows, colors), shown.lines(self.after()))


def by_words(given: str, names: Iterable[str], problem: str, error: type[Exception] = ValueError) -> str:
    """The name that is `given`, or the only one that has its words."""
    names = list(names)
    if given in names:
        return given
    wanted = set(given.split())
    found = [name for name in names if wanted and wanted <= set(name.replace(",", " ").split())]
    if len(found) != 1:
        raise error(f"{problem} {given!r}; there are {', '.join(names)}")
    return found[0]
