"""`ensemble`: many simulations of one model with other parameters."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from chasles import __version__, caution
from chasles.constraint.errors import AssemblyError
from chasles.display.progress import Progress
from chasles.ensembles.collected import BYTES_AT_ONCE, in_arrays, size_of
from chasles.ensembles.design import Design, design_of
from chasles.ensembles.executor import Member, check_executor, computed
from chasles.ensembles.journal import Journal, other_parts
from chasles.ensembles.modes import in_another_mode, start_of
from chasles.ensembles.quantity import quantity
from chasles.ensembles.result import Ensemble, plain
from chasles.ensembles.study_file import write_study
from chasles.ensembles.work import MemberOutcome, Work
from chasles.io.load import load, located
from chasles.io.model_file import Study
from chasles.io.model_writer import model_text
from chasles.io.result.fingerprint import fingerprint
from chasles.io.result.lock import Lock
from chasles.io.source import ModelFileError, read
from chasles.model.suggestion import meant

ENDINGS = (".h5", ".hdf5")
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
    """Simulate a model many times with different parameters, and store quantities of each run.

    model: a model file, a name of the gallery, or a function of the parameters that returns a `Study`, a `Run`, a
    number or numbers by name.
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
    folder, place = (None if one is None else Path(one) for one in (keep, file))
    _check_places(folder, place, resume)
    work = Work(model if callable(model) else str(located(model)), wanted, fixed, options, laws, folder)
    values = plan.values()
    members = DesignMembers(values, range(plan.members))
    check(work, members[0][1])
    check_executor(executor)
    if not callable(model):
        work.check_units(set or {})
        _try_extremes(work, values, members)
        _compare_modes(work, values, members)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    title = title_of(work, plan)
    if resume and place is not None and place.exists() and not _journal_of(place).exists():
        return _finished(place, title, work)
    lock = None if place is None else Lock(place)  # of two studies that write one file, the second is refused
    try:
        if place is None:
            known, numbers = in_arrays(dict(_carried_out(work, members, executor, progress)))
            told = known.status, known.messages, known.steps, known.labels, title, work, known.units
            return Ensemble(values, numbers, *told)
        journal = Journal(_journal_of(place), title)
        done = _begin(journal, place, resume)
        left = DesignMembers(values, [k for k in range(plan.members) if k not in done])
        try:
            _kept(_carried_out(work, left, executor, progress, len(done)), journal)
        except BaseException:
            if journal.empty():  # nothing to go on from
                journal.file.unlink()
            raise
        try:
            write_study(place, title, values, journal.records, plan.members)
        except OSError as error:
            said = os.strerror(error.errno) if error.errno else str(error)
            raise OSError(
                error.errno,
                f"{place} cannot be written ({said}); all members are finished and kept in {journal.file.name}, and "
                "resume=True (--resume) writes the file",
            ) from None
        journal.file.unlink()
    finally:
        if lock is not None:
            lock.release()
    return replace(Ensemble.open(place), parameters=values, work=work)


class DesignMembers(Sequence[Member]):
    """Some members of a design, each with its values: made when they are asked for."""

    def __init__(self, values: Mapping[str, np.ndarray], indices: Sequence[int]):
        self.values, self.indices = values, indices

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return DesignMembers(self.values, self.indices[key])
        k = self.indices[key]
        return k, {name: plain(column[k]) for name, column in self.values.items()}


def _finished(file: Path, title: dict[str, Any], work: Work) -> Ensemble:
    """A study of which nothing is left to compute."""
    found = Ensemble.open(file)
    given = json.loads(json.dumps(title))
    if found.title != given:
        raise ValueError(
            f"{file} is a finished study with other values of {other_parts(found.title, given)}; write to another "
            "file, or remove it"
        )
    return replace(found, work=work)


def _check_places(folder: Path | None, file: Path | None, resume: bool) -> None:
    """ValueError for places that cannot be written to."""
    if resume and file is None:
        raise ValueError("ensemble: resume continues the study in a file; give file=... too")
    if file is not None and (file.suffix not in ENDINGS or file.is_dir()):
        raise ValueError(f"ensemble: file is {str(file)!r}; expected the name of a study file, such as study.h5")
    if folder is not None and folder.exists() and not folder.is_dir():
        raise ValueError(f"ensemble: keep is {str(folder)!r}, which is a file; expected a folder for the runs")


def check(work: Work, first: Mapping[str, Any]) -> None:
    """ValueError for what would be wrong in all members, before anything is computed. first: values of the first."""
    if both := [name for name in first if name in work.fixed]:
        raise ValueError(f"ensemble: {both[0]!r} is set to one value and varied too")
    options = dict(work.options)
    if callable(work.model):
        _check_function(work, first)
    else:
        options = {**_checked_model(work, first).options, **options}
    if any(one.reduction == "series" for one in work.quantities) and not ("every" in options or "save" in options):
        raise ValueError("ensemble: a series needs the same times in all members; give every=...")
    if work.quantities and isinstance(options.get("save"), str) and options["save"] == "final":
        raise ValueError('ensemble: save="final" keeps no times to reduce; leave it out')


def _check_function(work: Work, first: Mapping[str, Any]) -> None:
    """ValueError if a function does not take the parameters."""
    try:
        taken = inspect.signature(work.model)
    except (TypeError, ValueError):  # of some functions nothing is known
        return
    try:
        taken.bind(**work.fixed, **first)
    except TypeError as error:
        unknown = [name for name in (*first, *work.fixed) if name not in taken.parameters]
        said = f"it has no parameter {unknown[0]!r}; {meant(unknown[0], taken.parameters)}" if unknown else f"{error}; "
        raise ValueError(f"ensemble: the model is a function {taken}: {said}give all of these, and no others") from None


def _checked_model(work: Work, first: Mapping[str, Any]) -> Study:
    """The model of the first member, in which all that varies must have a place."""
    study = load(work.model, laws=work.laws)  # says itself what is wrong with it
    if work.options:
        study.plan(**work.options)  # and with these
    for name in (*first, *work.fixed):
        if name not in study.parameters and "." not in name:
            near = meant(name, study.parameters)
            known = ", ".join(study.parameters) or "none"
            raise ValueError(f"ensemble: the model has no parameter {name!r}; {near}its parameters: {known}")
    try:
        found: Study = work.study(first)
    except (ModelFileError, AssemblyError):  # a value that the model cannot have: only that member is an error
        return study
    return found


def _try_extremes(work: Work, values: Mapping[str, np.ndarray], members: Sequence[Member]) -> None:
    """A warning before anything is computed if the least or the largest value of a parameter is one that the model
    cannot have: a distribution may lead there unnoticed. What is wrong whatever the values, as parameters that depend
    on each other in a circle, is raised."""
    wrong = dict[tuple[str, str, int], ModelFileError | AssemblyError]()
    tried = 0
    for name, column in values.items():
        for which, k in (
            (("least", int(np.argmin(column))), ("largest", int(np.argmax(column)))) if column.ndim == 1 else ()
        ):
            tried += 1
            try:
                work.study(members[k][1])
            except (ModelFileError, AssemblyError) as error:  # a drive with `start` in its law assembles the loops
                wrong[name, which, k] = error
    if wrong and len(wrong) == tried and len(set(map(str, wrong.values()))) == 1 and len(members) > 1:
        raise next(iter(wrong.values()))
    for (name, which, k), reason in list(wrong.items())[:1]:
        caution.warn(
            f"ensemble: the {which} value of {name!r}, {values[name][k]:.6g}, gives an invalid model (member {k}): "
            f"{reason}. Such members become errors; the others run"
        )


def _compare_modes(work: Work, values: Mapping[str, np.ndarray], members: Sequence[Member]) -> None:
    """A warning if the least or the largest value of a parameter starts a linkage in another assembly mode than the
    values of the file: its numbers cannot be compared with those of the others."""
    options = dict(work.options)
    study = work.study({})
    nominal = start_of(study, options)
    if nominal is None:
        return
    span = options.get("span", study.options.get("span", (0.0,)))
    for k in sorted({int(f(column)) for column in values.values() if column.ndim == 1 for f in (np.argmin, np.argmax)}):
        try:
            study = work.study(members[k][1])
        except (ModelFileError, AssemblyError):  # a warning says that
            continue
        start = start_of(study, options)
        if start is not None and in_another_mode(nominal, start, study, float(span[0])):
            at = ", ".join(f"{name} = {value:.6g}" for name, value in members[k][1].items() if np.ndim(value) == 0)
            caution.warn(
                f"ensemble: with {at} (member {k}) the linkage starts in another assembly mode than with the values of "
                "the file, and its numbers cannot be compared with those of others. Give mode = ... under [initial] "
                "(`chasles check` lists them)"
            )
            return


def title_of(work: Work, plan: Design) -> dict[str, Any]:
    """What a study is, as JSON: two with the same title have the same results. Of a function that is its source and
    the constants it takes from outside, not what it calls."""
    if callable(work.model):
        name = f"{work.model.__module__}.{work.model.__qualname__}"
    else:
        name = str(Path(work.model).resolve())
    drawn = {parameter: str(one) for parameter, one in plan.samples}
    grid = hashlib.sha256(repr(plan.axes).encode()).hexdigest() if plan.axes else ""
    return {
        "version": __version__,
        "model": name,
        "digest": digest_of(work),
        "design": str(plan),
        "kind": plan.kind if plan.samples else "grid",
        "shape": list(plan.shape),
        "axes": [list(axis.names) for axis in plan.axes],
        "points": grid,
        "samples": drawn,
        "n": plan.n,
        "seed": plan.seed,
        "fixed": json.loads(json.dumps(dict(work.fixed), default=_written)),
        "options": json.loads(json.dumps(dict(work.options), default=_written)),
        "quantities": [one.text for one in work.quantities],
    }


def digest_of(work: Work) -> str:
    """Of a function its source; of a model its file, what that includes, and the system, which has the tables and
    profiles it reads."""
    if callable(work.model):
        return str(fingerprint(work.model)["hash"])
    file = Path(work.model)
    parts = [file.read_text(encoding="utf-8", errors="replace"), model_text(load(file, laws=work.laws))]
    if file.suffix == ".toml":
        parts += [source.text for source in read(file)]
    parts += [repr(sorted(fingerprint(law).items())) for _, law in sorted((work.laws or {}).items())]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _written(value: Any) -> Any:
    """A value in JSON."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)


def _journal_of(file: Path) -> Path:
    return file.with_name(f"{file.name}.journal")


def _carried_out(
    work: Work, left: Sequence[Member], executor: Any, progress: bool | None, done: int = 0
) -> Iterator[tuple[int, MemberOutcome]]:
    """The outcomes of members that are left, as they are finished; so many are done before."""
    with Progress(0, done + len(left), progress, at=done, what="", unit=" members") as line:
        if left and work.quantities:  # here: it compiles for all, and a quantity that there is not ends the study
            yield left[0][0], work.member(*left[0], first=True)
            left, done = left[1:], done + 1
        for k, found in enumerate(computed(work, left, executor), done + 1):
            yield found
            line.show(k)


def _kept(outcomes: Iterable[tuple[int, MemberOutcome]], journal: Journal) -> None:
    """Write outcomes to the journal as they come; nothing of them stays in memory."""
    waiting, size, last = list[tuple[int, MemberOutcome]](), 0, time.perf_counter()
    try:
        for one in outcomes:
            waiting.append(one)
            size += size_of(one[1])
            if size > BYTES_AT_ONCE or time.perf_counter() - last > KEPT_EVERY:
                part, waiting, size = waiting, [], 0  # if that fails it is not tried again
                journal.append(part)
                last = time.perf_counter()
    finally:
        if waiting:
            journal.append(waiting)


def _begin(journal: Journal, file: Path, resume: bool) -> frozenset[int]:
    """A new journal, or with `resume` the one that there is: which members are finished. One of a study that broke off
    before its first member was finished is no obstacle."""
    if journal.file.exists() and journal.empty():
        journal.file.unlink()
    if journal.file.exists():
        if not resume:
            raise ValueError(f"{file}: a study was begun there and is not finished; resume=True (--resume) goes on")
        return frozenset(index for index, _ in journal.records())
    if file.exists():
        raise ValueError(f"{file} exists already; remove it, or write to another file")
    journal.begin()
    return frozenset()
