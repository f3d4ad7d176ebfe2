"""Runs as tables: CSV, NumPy, pandas, xarray."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chasles.io.result.layout import replacing
from chasles.io.result.quantities import of_bodies
from chasles.simulation.body_run import BodyRun
from chasles.simulation.run import Run

POSE = ("qw", "qx", "qy", "qz", "x", "y", "z")
TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")
ENERGIES = ("kinetic", "gravity", "springs", "work")


def export(run: Run | BodyRun, file: str | Path) -> None:
    """Write a run as a table: .csv with a line for each saved time, or .npz with arrays, by the ending of the file.

    Joint coordinates q and velocities v, poses (quaternion and position) and body twists of all bodies, energies.
    """
    path = Path(file)
    if path.suffix == ".csv":
        with replacing(path) as new, new.open("w", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow(_names(run))
            for rows in _rows(run):
                writer.writerows([[repr(x) for x in row] for row in rows.tolist()])
    elif path.suffix == ".npz":
        with replacing(path) as new, new.open("wb") as stream:
            np.savez(stream, allow_pickle=False, **_arrays(run))
    else:
        raise ValueError(f"export: {path.name!r}; expected a name that ends in .csv or .npz")


def to_pandas(run: Run | BodyRun) -> Any:
    """A DataFrame with time as its index and the columns of the CSV file."""
    pandas = _needed("pandas")
    table = np.concatenate(list(_rows(run)))
    return pandas.DataFrame(table[:, 1:], index=pandas.Index(table[:, 0], name="t"), columns=_names(run)[1:])


def to_xarray(run: Run | BodyRun) -> Any:
    """A Dataset with the arrays of the .npz file, along time, body and their components."""
    xarray = _needed("xarray")
    arrays = _arrays(run)
    bodies = {"t": arrays["t"], "body": list(map(str, arrays["bodies"]))}
    data: dict[str, Any] = {
        "pose": (("t", "body", "pose_component"), arrays["poses"]),
        "twist": (("t", "body", "twist_component"), arrays["twists"]),
        **{name: (("t",), arrays[name]) for name in ENERGIES},
        "q": (("t", "coordinate"), arrays["q"]),
        "v": (("t", "velocity"), arrays["v"]),
    }
    names = _joint_columns(run)
    along = {"pose_component": list(POSE), "twist_component": list(TWIST)}
    return xarray.Dataset(data, {**bodies, **along, "coordinate": names[0], "velocity": names[1]})


def _needed(module: str) -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        raise ImportError(f"to_{module}: {module} is not installed; pip install {module}") from None


def _joints(run: Run | BodyRun) -> list[Any]:
    if isinstance(run, BodyRun):
        return [joint for joint in run.mechanism.system.joints if joint.nv]
    return [joint for joint in run.mechanism.tree.joints if joint.nv]


def _joint_columns(run: Run | BodyRun) -> tuple[list[str], list[str]]:
    """Names of the coordinates and velocities of all joints."""
    joints = _joints(run)
    q = [f"{joint.name}.q{k}" for joint in joints for k in range(joint.nq)]
    return q, [f"{joint.name}.v{k}" for joint in joints for k in range(joint.nv)]


def _names(run: Run | BodyRun) -> list[str]:
    q, v = _joint_columns(run)
    bodies = [f"{body}.{part}" for body in run.mechanism.bodies for part in (*POSE, *TWIST)]
    return ["t", *q, *v, *bodies, *ENERGIES]


def _joint_values(run: Run | BodyRun) -> list[np.ndarray]:
    states = [run.joint_states(joint.name) for joint in _joints(run)]
    none = np.zeros((len(run), 0))
    return [np.concatenate([none, *(state[k] for state in states)], axis=1) for k in (0, 1)]


def _rows(run: Run | BodyRun) -> Iterator[np.ndarray]:
    """The table, a part of the run at a time."""
    whole = _joint_values(run) if isinstance(run, BodyRun) else None  # angles go on over turns from part to part
    at = 0
    for part in run.parts():
        q, v = _joint_values(part) if whole is None else (x[at : at + len(part)] for x in whole)
        bodies = np.concatenate([of_bodies(part, "poses"), of_bodies(part, "twists")], axis=-1).reshape(len(part), -1)
        energies = [getattr(part.energy, name)[:, None] for name in ENERGIES]
        yield np.concatenate([part.t[:, None], q, v, bodies, *energies], axis=1)
        at += len(part)


def _arrays(run: Run | BodyRun) -> dict[str, np.ndarray]:
    q, v = _joint_values(run)
    poses, twists = run.collected(lambda part: [of_bodies(part, "poses"), of_bodies(part, "twists")])
    energies = {name: np.array(getattr(run.energy, name)) for name in ENERGIES}
    bodies = np.array(run.mechanism.bodies, dtype=str)
    return {"t": np.array(run.t), "q": q, "v": v, "poses": poses, "twists": twists, "bodies": bodies, **energies}
