"""What a result file says of how its run came about, enough to do it again: as text, and back to a task."""

from __future__ import annotations

import datetime
import inspect
import json
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from chasles.absolute.assembly import prepared
from chasles.absolute.space import SE3_NAME
from chasles.integrate.event import Event
from chasles.integrate.method_name import method_from, name_of
from chasles.io.description import described, plain
from chasles.io.model_file import study_of_text
from chasles.io.model_writer import model_text
from chasles.io.result.acted import Missing, MissingLaw, numbers_of_laws
from chasles.io.result.fingerprint import fingerprint, is_same
from chasles.io.result.layout import ResultFileError, Sizes
from chasles.kernel.cache import numba_version
from chasles.model.expression_law import Expression
from chasles.model.law import Law, PythonLaw
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.loop.tables import HEAD
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.closed.dynamics import ClosedDynamics
from chasles.simulation.run_task import Task
from chasles.simulation.start.values import StartChange
from chasles.simulation.tree.dynamics import TreeDynamics

NUMBERS = {"q", "v", "poses", "twists", "control", "save", "stops", "baumgarte", "span", "step", "rtol", "atol"}


def laws_of(system: System) -> dict[str, Law]:
    """The laws of a system by name."""
    laws: dict[str, Law] = {}
    for item in (*system.forces, *system.constraints):
        for value in (getattr(item, field.name) for field in fields(item)):
            own = isinstance(value, Law) and not isinstance(value, Expression)  # expressions are part of the model
            if own and not _same(laws.setdefault(value.__name__, value), value):
                raise ValueError(
                    f"results: two different laws are called {value.__name__!r}, and a file knows them by name. Give "
                    'each a name of its own before it goes into the system: function.__name__ = "left spring", also of '
                    "an object that is called; or def two functions"
                )
    return laws


def _same(one: Law, other: Law) -> bool:
    """Whether two laws are one function: a plain Python function is a new law wherever it is given."""
    functions = one.function, other.function
    same = functions[0] == functions[1] if all(map(inspect.ismethod, functions)) else functions[0] is functions[1]
    return same and type(one) is type(other) and one.breaks == other.breaks


def describe(task: Task) -> tuple[dict[str, Any], str]:
    """The header of a task, and its model as the text of a model file."""
    system, more = task.dynamics.mechanism.system, task.more
    save = more["save"]
    header = {
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "versions": {
            "chasles": sys.modules["chasles"].__version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "numba": numba_version(),
            "h5py": h5py.__version__,
            "hdf5": h5py.version.hdf5_version,
            "machine": f"{platform.system()} {platform.machine()}",
        },
        "system": system.name,
        "dynamics": _dynamics_as_text(task.dynamics),
        "start_changes": [change._asdict() for change in task.dynamics.start_changes],
        "span": list(task.span),
        "method": name_of(task.method),
        "options": {
            **task.options,
            **{
                name: None if more.get(name) is None else np.asarray(more[name]).tolist()
                for name in ("stops", "breaks")
            },
            "max_evaluations": more.get("max_evaluations"),
            "save": plain(save) if isinstance(save, str | int | np.integer) else np.asarray(save, dtype=float).tolist(),
        },
        "given": described(task)[0] or None,  # in the words of `simulate`; all else here is what became of it
        "control": None if task.u is None else task.u.tolist(),
        "period": task.period,
        "certificate": task.certificate,
        "controller": None if task.controller is None else fingerprint(task.controller),
        "laws": [fingerprint(law) for law in laws_of(system).values()],
        "events": [
            {
                **fingerprint(event.function),
                "name": event.name,
                "direction": event.direction,
                "terminal": event.terminal,
            }
            for event in more["events"]
        ],
        "strikes": [
            event.name for event in task.watched[len(more["events"]) :]
        ],  # at rigid limits, numbered after these
    }
    return json.loads(json.dumps(header)), model_text(system)


def task_of(
    file: Path,
    header: Mapping[str, Any],
    model: str,
    start: np.ndarray,
    laws: Mapping[str, Any] | None,
    events: Sequence[Event] | None,
    controller: Callable[..., Any] | None,
    needed: bool,
) -> Task:
    """The task of a header. If they are `needed`, the user's functions must be given again and be the same; else the
    missing ones are replaced by functions that say so when they are called."""
    given = dict(laws or {})
    missing = [law["name"] for law in header["laws"] if law["name"] not in given]
    for law in header["laws"]:
        name = law["name"]
        if name in given:
            _check(file, "law", law, given[name], f"laws={{{name!r}: function}}")
        elif needed:
            raise ResultFileError(
                file, f"needs the law {name!r} again: give laws={{{name!r}: function}}, or --law FILE.py"
            )
        else:
            how = f"open(..., laws={{{name!r}: function}}), or --law FILE.py"
            given[name] = PythonLaw(MissingLaw(file, "law", name, how))
    for name in given:
        if name not in [law["name"] for law in header["laws"]]:
            raise ResultFileError(file, f"has no law {name!r}")
    found = _events(file, header["events"], events, needed)
    if header["controller"] is not None:
        name = header["controller"]["name"]
        if controller is not None:
            _check(file, "controller", header["controller"], controller, "controller=function")
        elif needed:
            raise ResultFileError(file, f"needs its controller {name!r} again: give controller=function")
        else:
            controller = Missing(file, "controller", name, "resume(..., controller=function)")
    try:
        system = study_of_text(model, f"{file}, model", given).system
        dynamics = _dynamics_of_text(header["dynamics"], system)
        dynamics.space.check(start)
        begin, told = float(header["span"][0]), "redundant" in header["dynamics"]
        if needed and isinstance(dynamics, ClosedDynamics):  # which finds out how many constraints are independent
            dynamics.start(begin, *dynamics.split(start)[:2], assemble=False)
        elif isinstance(dynamics, BodyDynamics) and not told and not missing:  # a file of an earlier version
            dynamics.mechanism = prepared(dynamics.mechanism, dynamics.split(start)[0], begin)
        dynamics.start_changes = tuple(map(_change, header.get("start_changes", ())))
        more = {**header["options"], "events": found}
        if isinstance(more["save"], list):
            more["save"] = np.array(more["save"])
        u = None if header["control"] is None else np.array(header["control"])
        first, last = map(float, header["span"])
        return Task(
            *(dynamics, method_from(header["method"]), (first, last), start, more, u, controller),
            period=header["period"],
            certificate=header.get("certificate", True),
            given=_given(header),
        )
    except ResultFileError:
        raise
    except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
        raise ResultFileError(file, f"its model or options cannot be read: {error}") from error


def _change(found: Mapping[str, Any]) -> StartChange:
    given = {**found, "before": tuple(map(float, found["before"])), "after": tuple(map(float, found["after"]))}
    return StartChange(**given)


def check_fit(file: Path, header: Mapping[str, Any], sizes: Sizes, task: Task) -> None:
    """What a file holds must be as large as what its model makes: kernels trust in that."""
    dynamics = task.dynamics
    forces = dynamics.control.stop - dynamics.control.start
    rates = 0 if header["no_curve"] and not sizes.algebra else dynamics.space.dimension
    inputs = 0 if header["controller"] is None else dynamics.actuation().inputs
    given = {
        "numbers of a state": (sizes.point, dynamics.space.size),
        "numbers of its rate": (sizes.algebra, rates),
        "inputs of a controller": (sizes.inputs, inputs),
        "numbers of laws": (sizes.laws, numbers_of_laws(dynamics, task.state) if sizes.laws else 0),
        "constant inputs": (0 if task.u is None else len(task.u), 0 if task.u is None else forces),
    }
    for what, (found, expected) in given.items():
        if found != expected:
            raise ResultFileError(file, f"does not fit its model: it has {found} {what}, and its model {expected}")
    if (task.controller is None) != (task.period is None):
        raise ResultFileError(file, "has a controller without a period, or a period without a controller")


def _given(header: Mapping[str, Any]) -> dict[str, Any] | None:
    """The arguments of `simulate`, for a report; numbers are checked to be numbers, as a file may say anything."""
    if (given := header.get("given")) is None:
        return None
    checked: dict[str, Any] = dict(given)
    for name in NUMBERS & given.keys():
        if isinstance(given[name], list):
            checked[name] = np.array(given[name], dtype=float)
        elif not isinstance(given[name], dict | str | float | int | None):
            raise TypeError(f"{name} is not a number")
    words = [given.get(name, "") for name in ("coordinates", "trivialization")]
    if not all(isinstance(word, str) for word in (*words, *given.get("compiled", ()), *given.get("cut", ()))):
        raise ValueError("some words in it are none")
    return checked


def _dynamics_as_text(dynamics: Any) -> dict[str, Any]:
    if isinstance(dynamics, BodyDynamics):
        mechanism = dynamics.mechanism
        return {
            "kind": "bodies",
            "space": mechanism.spaces,
            "projected": dynamics.projected,
            "baumgarte": list(mechanism.baumgarte),
            "inputs": mechanism.inputs,
            "every_angle": mechanism.every_angle,
            "trivialization": "right" if dynamics.spatial else "left",
            "redundant": [mechanism.redundant, mechanism.redundant_equations],
            "negative": list(dynamics.negative),
        }
    if isinstance(dynamics, ClosedDynamics):
        split, own = dynamics.mechanism.split, {joint.name: joint for joint in dynamics.mechanism.system.joints}
        parts = [joint for joint in split.system.joints if joint.name in own and joint.child != own[joint.name].child]
        feedback = int(dynamics.parameters.view(np.int64)[HEAD.feedback])
        return {
            "kind": "closed",
            "cut": [joint.name for joint in (*split.cut, *parts)],
            "projected": dynamics.projected,
            "baumgarte": dynamics.parameters[feedback : feedback + 2].tolist(),
            "space": dynamics.space_of_free,
        }
    return {"kind": "tree", "space": dynamics.space_of_free}


def _dynamics_of_text(given: Mapping[str, Any], system: System) -> Any:
    options = dict(given)
    kind = options.pop("kind")
    if kind == "bodies":
        first, second = options.pop("baumgarte")
        names, equations = options.pop("redundant", ((), 0))
        negative = tuple(options.pop("negative", ()))
        options.setdefault("every_angle", False)  # files of earlier versions
        bodies = BodyDynamics(system, baumgarte=(first, second), **options)
        bodies.mechanism = bodies.mechanism.with_redundant(tuple(names), equations)
        bodies.negative = negative
        return bodies
    options.setdefault("space", SE3_NAME)  # files of earlier versions
    if kind == "closed":
        return ClosedDynamics(ClosedMechanism(system, options.pop("cut")), **options)
    if kind == "tree":
        return TreeDynamics(system, **options)
    raise ValueError(f"dynamics of kind {kind!r}")


def _events(
    file: Path, stored: Sequence[Mapping[str, Any]], given: Sequence[Event] | None, needed: bool
) -> tuple[Event, ...]:
    if given is None and (not needed or not stored):
        return tuple(
            Event(
                Missing(file, "event", e["name"], "resume(..., events=[...])"),
                e["direction"],
                e["terminal"],
                e["name"],
            )
            for e in stored
        )
    names = ", ".join(repr(event["name"]) for event in stored) or "none"
    if given is None or [event.name for event in given] != [event["name"] for event in stored]:
        raise ResultFileError(file, f"needs its events again, events=[...], in their order: {names}")
    for event, before in zip(given, stored, strict=True):
        _check(file, "event", before, event.function, "events=[...]")
        if (event.direction, event.terminal) != (before["direction"], before["terminal"]):
            raise ResultFileError(file, f"direction or terminal of the event {event.name!r} are not those of the run")
    return tuple(given)


def _check(file: Path, what: str, stored: Mapping[str, str], function: Any, how: str) -> None:
    if not is_same(function, stored):
        raise ResultFileError(
            file,
            f"the source of the {what} {stored['name']!r} is not that of the run, or a constant that it uses is not; "
            f"give the same, {how}",
        )
