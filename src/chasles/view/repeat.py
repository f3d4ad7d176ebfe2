"""A run as a model file that does it again: the system, its start, and how it was simulated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import numpy as np

from chasles.io.model_file import Study
from chasles.io.model_writer import model_text
from chasles.io.result.header import laws_of
from chasles.model.system import System
from chasles.screw.shape import Mesh
from chasles.simulation.body_run import BodyRun


def repeated(run: Any) -> tuple[str, list[str]]:
    """The text of a model file that repeats a run with `chasles run`, and what a file cannot say of it."""
    return model_text(_study(run)), _left_out(run)


def _study(run: Any) -> Study:
    task, mechanism = run.task, run.mechanism
    options: dict[str, Any] = {"span": tuple(map(float, task.span)), "method": task.method}
    options |= {name: value for name, value in task.options.items() if value is not None}
    if isinstance(task.more["save"], str | int):
        options["save"] = task.more["save"]
    if task.more.get("stops") is not None:
        options["stops"] = list(map(float, task.more["stops"]))
    if task.more.get("max_evaluations") is not None:
        options["max_evaluations"] = task.more["max_evaluations"]
    if task.u is not None and task.controller is None:
        options["control"] = task.u.tolist()
    dynamics = task.dynamics
    if isinstance(run, BodyRun):
        spaces = mechanism.spaces
        several = len(set(spaces.values())) > 1
        options |= {"coordinates": "absolute", "space": dict(spaces) if several else next(iter(spaces.values()), "SE3")}
        central, velocity, _ = dynamics.split(np.asarray(task.state))
        poses, twists = mechanism.poses(central), mechanism.twists(central, velocity)
        initial = {
            "poses": dict(zip(mechanism.bodies, poses, strict=True)),
            "twists": dict(zip(mechanism.bodies, twists, strict=True)),
        }
        feedback = tuple(map(float, mechanism.baumgarte))
        if any(feedback):
            options |= {"stabilization": "baumgarte", "baumgarte": feedback}
        elif not dynamics.projected:
            options["stabilization"] = "none"
    else:
        q, v = (np.asarray(x) for x in dynamics.split(np.asarray(task.state))[:2])
        initial = {
            "q": {name: q[at] for name, at in mechanism.tree.coordinates.items() if q[at].size},
            "v": {name: v[at] for name, at in mechanism.tree.velocities.items() if v[at].size},
        }
    return Study(_without_folders(mechanism.system), initial, options)


def _without_folders(system: System) -> System:
    """Meshes by the names of their files: where they are is the user's own affair."""
    bodies = []
    for body in system.bodies:
        shapes = [replace(shape, path=_name(shape.path)) if isinstance(shape, Mesh) else shape for shape in body.shapes]
        bodies.append(body if shapes == list(body.shapes) else replace(body, shapes=shapes))
    return replace(system, bodies=bodies)


def _name(path: str) -> str:
    return PureWindowsPath(path).name if "\\" in path else PurePosixPath(path).name


def _left_out(run: Any) -> list[str]:
    """What belongs to a run and is not in a model file."""
    task, system = run.task, run.mechanism.system
    found = []
    if task.controller is not None:
        found.append(f"a controller, asked every {task.period:g} s")
    if not isinstance(task.more["save"], str | int):
        found.append(f"the {np.size(task.more['save'])} times that were saved")
    if meshes := {_name(shape.path) for body in system.bodies for shape in body.shapes if isinstance(shape, Mesh)}:
        found.append(f"the meshes {', '.join(sorted(meshes))}, which it looks for in the current folder")
    found += [f"the event {event.name!r}" for event in task.more["events"]]
    found += [f"the function of the law {name!r}" for name in laws_of(system)]
    if getattr(task.dynamics, "spatial", False):
        found.append('trivialization="right"')
    return found
