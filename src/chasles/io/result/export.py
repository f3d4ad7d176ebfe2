"""Runs as tables: CSV, NumPy, pandas, xarray."""

from __future__ import annotations

import csv
import math
import zipfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chasles.io.result.layout import replacing
from chasles.simulation import states
from chasles.simulation.run import Run

POSE = ("qw", "qx", "qy", "qz", "x", "y", "z")
TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")
Tell = Callable[[float], None]
ENERGIES = ("kinetic", "gravity", "springs", "work")
ARRAYS = ("t", "q", "v", "poses", "twists", *ENERGIES)


def export(run: Run, file: str | Path, *, every: int = 1, tell: Tell | None = None) -> None:
    """Write a run as a table: .csv with a line for each saved time, or .npz with arrays, by the ending of the file.

    Joint coordinates q and velocities v, poses (quaternion and position) and body twists of all bodies, energies; of
    `every` so many saved times one. The run is gone through in parts, so it may be larger than memory. `tell` is called
    with the share that is done.
    """
    path = Path(file)
    if every < 1:
        raise ValueError(f"export: every is {every}; expected 1 or more")
    if path.suffix == ".csv":
        with replacing(path) as new, new.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow(_names(run))
            for share, rows in _rows(run, every):
                writer.writerows([[repr(x) for x in row] for row in rows.tolist()])
                if tell is not None:
                    tell(share)
    elif path.suffix == ".npz":
        with replacing(path) as new:
            _write_arrays(run, new, every, tell)
    else:
        raise ValueError(f"export: {path.name!r}; expected a name that ends in .csv or .npz")


def _write_arrays(run: Run, file: Path, every: int, tell: Tell | None) -> None:
    """An .npz file, its arrays written one after the other and each in parts."""
    count = len(run.t[::every])
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        with archive.open("bodies.npy", "w") as stream:
            np.lib.format.write_array(stream, np.array(run.mechanism.bodies, dtype=str), allow_pickle=False)
        for k, name in enumerate(ARRAYS):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                begun = False
                for share, values in _in_parts(run, (name,), every):
                    if not begun:
                        header = {"descr": "<f8", "fortran_order": False, "shape": (count, *values[0].shape[1:])}
                        np.lib.format.write_array_header_2_0(stream, header)
                        begun = True
                    stream.write(np.ascontiguousarray(values[0], dtype="<f8").tobytes())
                    if tell is not None:
                        tell((k + share) / len(ARRAYS))


def to_pandas(run: Run) -> Any:
    """A DataFrame with time as its index and the columns of the CSV file."""
    pandas = _needed("pandas")
    table = np.concatenate([rows for _, rows in _rows(run)])
    return pandas.DataFrame(table[:, 1:], index=pandas.Index(table[:, 0], name="t"), columns=_names(run)[1:])


def to_xarray(run: Run) -> Any:
    """A Dataset with the arrays of the .npz file, along time, body and their components."""
    xarray = _needed("xarray")
    whole = [values for _, values in _in_parts(run, ARRAYS)]
    arrays = {name: np.concatenate(column) for name, *column in zip(ARRAYS, *whole, strict=True)}
    bodies = {"t": arrays["t"], "body": list(run.mechanism.bodies)}
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


def _joint_columns(run: Run) -> tuple[list[str], list[str]]:
    """Names of the coordinates and velocities of all joints."""
    joints = [joint for joint in run.moving_joints if joint.name in run.joints]
    q = [f"{joint.name}.q{k}" for joint in joints for k in range(joint.nq)]
    return q, [f"{joint.name}.v{k}" for joint in joints for k in range(joint.nv)]


def _names(run: Run) -> list[str]:
    q, v = _joint_columns(run)
    bodies = [f"{body}.{part}" for body in run.mechanism.bodies for part in (*POSE, *TWIST)]
    return ["t", *q, *v, *bodies, *ENERGIES]


def _rows(run: Run, every: int = 1) -> Iterator[tuple[float, np.ndarray]]:
    """The table, a part of the run at a time, with the share that is done then."""
    names = ("t", "q", "v", "bodies", *ENERGIES)
    for share, values in _in_parts(run, names, every):
        flat = [x.reshape(len(x), math.prod(x.shape[1:])) for x in values]  # of none of them too
        yield share, np.concatenate(flat, axis=1)


def _in_parts(run: Run, names: Sequence[str], every: int = 1) -> Iterator[tuple[float, Sequence[np.ndarray]]]:
    """Quantities by name, a part of the run at a time, with the share that is done then."""
    at: int = 0  # the next saved time to keep
    rows = states.ROWS_AT_ONCE
    for first in range(0, max(len(run), 1), rows):
        last = min(first + rows, len(run))
        if at >= last > 0:
            continue
        part = run.part(slice(at, last, every))
        values = [_values(part, name) for name in names]
        at += every * len(part)
        yield last / max(len(run), 1), values


def _values(part: Run, name: str) -> np.ndarray:
    if name == "bodies":
        return np.concatenate([part.poses, part.twists], axis=-1)
    return np.asarray(getattr(part.energies if name in ENERGIES else part, name))
