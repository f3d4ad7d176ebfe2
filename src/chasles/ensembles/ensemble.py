"""`ensemble`: many simulations of one model with other parameters."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chasles.display.progress import Progress
from chasles.ensembles.design import Design, design_of
from chasles.ensembles.executor import Member, computed
from chasles.ensembles.journal import Journal
from chasles.ensembles.quantity import quantity
from chasles.ensembles.result import Ensemble, assembled, plain
from chasles.ensembles.study_file import write_study
from chasles.ensembles.work import MemberOutcome, Work
from chasles.io.load import load
from chasles.io.model_file import Study
from chasles.io.source import ModelFileError
from chasles.model.suggestion import meant

KEPT_EVERY = 1.0  # seconds after which finished members are written, at the latest


def ensemble(
    model: str | Path | Callable[..., Any],
    *,
    set: Mapping[str, Any] | None = None,
    sample: Mapping[str, Any] | None = None,
    points: str | Path | Iterable[str | Path] = (),
    n: int | None = None,
    seed: int = 0,
    design: str = "random",
    quantities: str | Iterable[str] = (),
    executor: Any = None,
    file: str | Path | None = None,
    resume: bool = False,
    keep: str | Path | None = None,
    laws: Mapping[str, Any] | None = None,
    progress: bool | None = None,
    **options: Any,
) -> Ensemble:
    """Simulate a model many times with other parameters, and keep quantities of each run.

    model: a model file, or a function of the parameters that returns a `Study`, a `Run`, a number or numbers by name.
    set: values by parameter (or path, "bodies.arm.mass"): a range "0.4:0.6:21" or "1:100:5:log", a list, or one value
    or expression for all members. sample: distributions, {"mass": "normal(1, 0.1)"}, of which `n` samples are taken;
    `design` says how: "random", "latin", "sobol", "halton", or "saltelli" for sensitivity indices. points: CSV files
    with a column for each parameter. The members are the product of ranges, points and samples.

    quantities: what is kept of each run, "max(joints.elbow)": final, initial, max, min, peak, range, mean, rms,
    time_of_max or series of anything that `plot` draws over time; "norm(...)" is the length of a vector.
    executor: None, a number of processes, or a dask Client or its address. The result is the same with all of them.
    file: a study file (.h5); finished members are kept beside it at once, and resume=True goes on after a kill without
    computing one again. keep: a folder for the whole runs. options: of `simulate`, instead of those of the model.

    A member that fails has the status "error" and its message; the others go on.
    """
    wanted = tuple(map(quantity, [quantities] if isinstance(quantities, str) else quantities))
    tables = [points] if isinstance(points, str | Path) else list(points)
    plan, fixed = design_of(set or {}, sample or {}, tables, n, design, seed)
    folder = None if keep is None else Path(keep)
    work = Work(model if callable(model) else str(model), wanted, fixed, options, laws, folder)
    values = plan.values()
    members = [(k, {name: plain(column[k]) for name, column in values.items()}) for k in range(plan.members)]
    check(work, members[0][1])
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    title = title_of(work, plan)
    outcomes = _carried_out(work, members, executor, None if file is None else Path(file), resume, title, progress)
    found = Ensemble(values, **assembled(outcomes, plan.members), title=title, work=work)
    if file is not None:
        write_study(Path(file), found)
        _journal_of(Path(file)).unlink()
    return found


def check(work: Work, first: Mapping[str, Any]) -> None:
    """ValueError for what would be wrong in all members, before anything is computed. first: values of the first."""
    if both := [name for name in first if name in work.fixed]:
        raise ValueError(f"ensemble: {both[0]!r} is set to one value and varied too")
    options = dict(work.options)
    if not callable(work.model):
        options = {**_checked_model(work, first).options, **options}
    if any(one.reduction == "series" for one in work.quantities) and not ("every" in options or "save" in options):
        raise ValueError("ensemble: a series needs the same times in all members; give every=...")
    if work.quantities and isinstance(options.get("save"), str) and options["save"] == "final":
        raise ValueError('ensemble: save="final" keeps no times to reduce; leave it out')


def _checked_model(work: Work, first: Mapping[str, Any]) -> Study:
    """The model of the first member, in which all that varies must have a place."""
    study = load(work.model, laws=work.laws)  # says itself what is wrong with it
    for name in (*first, *work.fixed):
        if name not in study.parameters and "." not in name:
            near = meant(name, study.parameters)
            known = ", ".join(study.parameters) or "none"
            raise ValueError(f"ensemble: the model has no parameter {name!r}; {near}its parameters: {known}")
    try:
        found: Study = work.study(first)
    except ModelFileError:  # a value that the model cannot have: that member is an error, and no other
        return study
    return found


def title_of(work: Work, plan: Design) -> dict[str, Any]:
    """What a study is, as JSON: two with the same title have the same results."""
    if callable(work.model):
        name = f"{work.model.__module__}.{work.model.__qualname__}"
        digest = ""
    else:
        name, digest = str(Path(work.model).resolve()), hashlib.sha256(Path(work.model).read_bytes()).hexdigest()
    drawn = {parameter: str(one) for parameter, one in plan.samples}
    grid = hashlib.sha256(repr(plan.axes).encode()).hexdigest() if plan.axes else ""
    return {
        "model": name,
        "digest": digest,
        "design": str(plan),
        "kind": plan.kind if plan.samples else "grid",
        "shape": list(plan.shape),
        "axes": [list(axis.names) for axis in plan.axes],
        "points": grid,
        "samples": drawn,
        "n": plan.n,
        "seed": plan.seed,
        "fixed": json.loads(json.dumps(dict(work.fixed), default=str)),
        "options": json.loads(json.dumps(dict(work.options), default=str)),
        "quantities": [one.text for one in work.quantities],
    }


def _journal_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.journal")


def _carried_out(
    work: Work,
    members: Sequence[Member],
    executor: Any,
    file: Path | None,
    resume: bool,
    title: dict[str, Any],
    progress: bool | None,
) -> dict[int, MemberOutcome]:
    """The outcomes of all members by index: those of the journal, and the others computed."""
    outcomes: dict[int, MemberOutcome] = {}
    journal = None if file is None else Journal(_journal_of(file), title)
    if journal is not None:
        _begin(journal, Path(str(file)), resume, outcomes)
    left = [member for member in members if member[0] not in outcomes]
    with Progress(0, len(members), progress, at=len(outcomes), what="", unit=" members") as line:
        waiting: list[tuple[int, MemberOutcome]] = []
        last = time.perf_counter()
        try:
            for index, outcome in computed(work, left, executor):
                outcomes[index] = outcome
                waiting.append((index, outcome))
                line.show(len(outcomes))
                if journal is not None and time.perf_counter() - last > KEPT_EVERY:
                    journal.append(waiting)
                    waiting, last = [], time.perf_counter()
        finally:
            if journal is not None and waiting:
                journal.append(waiting)
    return outcomes


def _begin(journal: Journal, file: Path, resume: bool, outcomes: dict[int, MemberOutcome]) -> None:
    """A new journal, or with `resume` what there is of one."""
    if journal.file.exists():
        if not resume:
            raise ValueError(f"{file}: a study was begun there and is not finished; resume=True (--resume) goes on")
        outcomes |= dict(journal.records())
        return
    if file.exists():
        raise ValueError(f"{file} exists already; remove it, or write to another file")
    journal.begin()
