"""The files of a problem: its model, its 3D page and its plot."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.io.load import load
from chasles.io.model_file import Study
from chasles.io.model_writer import model_text
from chasles.model.force import JointForce, Wrench
from chasles.model.law import Law
from chasles.simulation.run import Run
from chasles.validation.board import MODELS, RUNS, Problem

FRAMES = 300  # of 3D pages and plots


def write_files(problem: Problem, folder: Path) -> list[Path]:
    """Write NAME.toml, NAME.html and NAME.png of a problem that was just computed, as far as it has them.

    Problems that are not simulated have a model only; the integrator's own problems have none.
    """
    if not RUNS and not MODELS:
        return []
    folder.mkdir(parents=True, exist_ok=True)
    toml, page, plot = (folder / f"{problem.name}.{ending}" for ending in ("toml", "html", "png"))
    described: dict[str, Any] = {"description": problem.title}
    if not RUNS:
        toml.write_text(model_text(Study(MODELS[0], **described)), encoding="utf-8")
        return [toml]
    run = RUNS[0]
    study = Study(run.mechanism.system, _start(run), _options(run), **described)
    toml.write_text(model_text(study), encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not any(
            isinstance(force, Wrench | JointForce) and isinstance(force.value, Law) for force in study.system.forces
        ):
            run = load(toml).run(every=(run.t[-1] - run.t[0]) / FRAMES, certificate=False, progress=False)
        run.save(page)
        run.plot(file=plot)
    return [toml, page, plot]


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
