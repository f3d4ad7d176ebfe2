"""What was simulated, as plain words and numbers: the one form that result files, reports and model files share.

It is the arguments of `simulate` as they were given, inputs and not forces, a start and not the state made of it: so
whoever calls it with them again gets the same bits. All of its parameters are gone through: one that a model file does
not know is named among what is missing.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from chasles.integrate.method_name import name_of
from chasles.io import spec
from chasles.io.model_file import Study
from chasles.model.system import System
from chasles.simulation.run_task import NOT_OF_THE_RUN, Task
from chasles.simulation.simulate import simulate

FUNCTIONS = ("events", "controller", "period")  # of the user: a file has their names at most
START = ("q", "v", "poses", "twists", "assemble", "held", "mode")
ALWAYS = ("span", "method", "step", "rtol", "atol")  # written though they may be what is taken by default
OLD = "the start and the options: the file is of an earlier version, which did not keep what was given"


def described(task: Task) -> tuple[dict[str, Any], list[str]]:
    """The arguments of `simulate` that matter, as words, numbers, lists and tables of these; and what is missing."""
    if task.given is None:
        return {}, [OLD]
    parameters = inspect.signature(simulate).parameters
    found: dict[str, Any] = {}
    missing = []
    for name, value in task.given.items():
        if name in (*NOT_OF_THE_RUN, *FUNCTIONS):
            continue
        default = parameters[name].default if name in parameters else None
        if name not in ALWAYS and same(value, default):
            continue
        try:
            found[name] = plain(value)
        except ValueError as error:
            missing.append(f"{name}: {error}")
    return {name: value for name, value in found.items() if value is not None or name not in ALWAYS}, missing


def same(one: Any, two: Any) -> bool:
    """Whether two arguments are the same."""
    if isinstance(one, np.ndarray) or isinstance(two, np.ndarray):
        return one is not None and two is not None and np.array_equal(one, two)
    return bool(one == two)


def plain(value: Any) -> Any:
    """An argument as words, numbers, lists and tables."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return name_of(value)


def study_of(task: Task) -> tuple[Study, list[str]]:
    """A study whose run does what the task did, and what a model file cannot say of it."""
    given, missing = described(task)
    system = task.dynamics.mechanism.system
    options = {name: value for name, value in given.items() if name in spec.SIMULATION}
    missing += given.pop("compiled", [])
    missing += [f"{name}={value!r}" for name, value in given.items() if name not in (*options, *START)]
    if task.controller is not None:
        missing.append(f"a controller, asked every {task.period:g} s")
    missing += [f"the event {event.name!r}" for event in task.more["events"]]
    return Study(system, _start(system, given), options), missing


def _start(system: System, given: Mapping[str, Any]) -> dict[str, Any]:
    """The start by names of joints and bodies."""
    found: dict[str, Any] = {}
    if "q" in given or "v" in given:
        tree = Study(system, {}, given).tree()
        for name, places in (("q", tree.tree.coordinates), ("v", tree.tree.velocities)):
            if isinstance(given.get(name), Mapping):
                if not given[name]:
                    continue
                found[name] = {joint: np.atleast_1d(np.array(x, dtype=float)) for joint, x in given[name].items()}
            elif name in given:
                values = np.atleast_1d(np.asarray(given[name], dtype=float))
                found[name] = {joint: values[at] for joint, at in places.items() if at.stop > at.start}
    for name in ("poses", "twists"):
        if name in given:
            values = np.asarray(given[name], dtype=float).reshape(len(system.bodies), -1)
            found[name] = dict(zip((body.name for body in system.bodies), values, strict=True))
    if given.get("held") is not None:
        found["held"] = given["held"]
    elif given.get("assemble") and ("q" in found or "v" in found):  # of arrays nothing is held, by name all is
        held = {key: list(given[key]) if isinstance(given.get(key), Mapping) else [] for key in ("q", "v")}
        if any(key in given and not isinstance(given[key], Mapping) for key in held):
            found["held"] = held
    return found | {key: given[key] for key in ("assemble", "mode") if given.get(key) is not None}
