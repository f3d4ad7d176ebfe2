"""The files of a problem: its model, its 3D page and its plot."""

from __future__ import annotations

import inspect
import warnings
from pathlib import Path
from typing import Any

import chasles as ch
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.io.load import load
from chasles.io.model_file import Study
from chasles.io.model_writer import model_text
from chasles.model.expression_law import Expression
from chasles.model.force import JointForce, Wrench
from chasles.model.law import Law
from chasles.model.system import System
from chasles.simulation.run import Run
from chasles.validation.board import MODELS, RUNS, Problem

FRAMES = 300  # of 3D pages and plots
SHOWN = 2.0  # seconds of what is not simulated for its values


def write_files(problem: Problem, folder: Path) -> list[Path]:
    """Write NAME.toml, NAME.html and NAME.png of a problem that was just computed, as far as it has them, and
    NAME_laws.py if its model names laws in Python.

    A problem that is not simulated shows its model in motion: rods by a natural mode about their equilibrium, others
    as they fall. Problems of the integrators alone, without a mechanism, have no files.
    """
    if not RUNS and not MODELS:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    toml, page, plot, python = (folder / f"{problem.name}{end}" for end in (".toml", ".html", ".png", "_laws.py"))
    described: dict[str, Any] = {"description": problem.title}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if RUNS:
            study = Study(RUNS[0].mechanism.system, _start(RUNS[0]), _options(RUNS[0]), **described)
        else:
            study = Study(MODELS[0], {}, {"span": [0.0, SHOWN]}, **described)
        toml.write_text(model_text(study), encoding="utf-8")
        if laws := _laws(study.system):
            python.write_text(_source(laws), encoding="utf-8")
        run = _shown(toml, study.system, laws)
        run.save(page)
        run.plot(file=plot)
    return [toml, page, plot, *([python] if laws else [])]


def _shown(toml: Path, system: System, laws: dict[str, Law]) -> Run:
    """The run of the page and plot: that of the model file; of rods alone a mode of vibration."""
    if not RUNS and system.rods:
        return ch.linearize(system, ch.equilibrium(system).q).motion(1)
    study = load(toml, laws=laws)
    start, end = study.options["span"]
    return study.run(every=(end - start) / FRAMES, certificate=False, progress=False)


def _laws(system: System) -> dict[str, Law]:
    """What a file cannot hold."""
    values = (force.value for force in system.forces if isinstance(force, Wrench | JointForce))
    return {value.__name__: value for value in values if isinstance(value, Law) and not isinstance(value, Expression)}


def _source(laws: dict[str, Law]) -> str:
    """The laws as a Python file, for `--law`."""
    return "\n\n".join(["import chasles as ch\n", *(inspect.getsource(law.function) for law in laws.values())])


def _start(run: Run) -> dict[str, Any]:
    """What `[initial]` says: the first point of the run."""
    mechanism = run.mechanism
    if isinstance(mechanism, AbsoluteMechanism):
        names = [body.name for body in mechanism.system.bodies]
        return {
            "poses": {name: run[name].pose[0] for name in names},
            "twists": {name: run.frame(name, "body").twist[0] for name in names},
        }
    joints = [name for name in mechanism.joints if len(run.joint(name).v[0])]
    return {
        "q": {name: run.joint(name).q[0] for name in joints},
        "v": {name: run.joint(name).v[0] for name in joints},
    }


def _options(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = {"span": [float(run.t[0]), float(run.t[-1])]}
    if isinstance(run.mechanism, AbsoluteMechanism):
        found["coordinates"] = "absolute"
    return found
