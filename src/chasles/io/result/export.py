"""Runs as tables: CSV, NumPy, pandas, xarray."""

from __future__ import annotations

import csv
import math
import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from chasles import caution
from chasles.io.result.layout import replacing
from chasles.model.joint import Joint
from chasles.simulation import states
from chasles.simulation.named_forces import FORCE_UNITS, WRENCH_PARTS, named_holds
from chasles.simulation.run import Run

POSE = ("qw", "qx", "qy", "qz", "x", "y", "z")
TWIST = ("wx", "wy", "wz", "vx", "vy", "vz")
BODY_UNITS = ("", "", "", "", "m", "m", "m", "rad/s", "rad/s", "rad/s", "m/s", "m/s", "m/s")
MOST_REACTIONS = 100  # joints and constraints up to which a table has reactions, and forces up to which it has these
EVENTS = ".events.csv"  # how the name of a table of events ends
Tell = Callable[[float], None]
ENERGIES = ("kinetic", "gravity", "springs", "work")
ARRAYS = ("t", "q", "v", "poses", "twists", *ENERGIES)


def export(run: Run, file: str | Path, *, stride: int = 1, tell: Tell | None = None) -> None:
    """Write a run as a table: .csv or .parquet with a line for each saved time, or .npz with arrays, by the ending of
    the file.

    It contains joint coordinates q and velocities v, poses (quaternion and position), body twists, and energies. A
    table also has units in its header, the frames of the model, the forces of inputs and of `run.force_names`, and the
    reactions of joints (each of at most `MOST_REACTIONS`). stride=10 writes every tenth saved time. The run is
    processed in parts, so it may be larger than memory. A file name that ends in .events.csv selects the events:
    impacts, sticking, slipping, and your own events, with time and joint state. `tell` is called with the finished
    fraction.
    """
    path = Path(file)
    if stride < 1:
        raise ValueError(f"export: stride is {stride}; expected 1 or more")
    if path.name.endswith(EVENTS):
        with replacing(path) as new, new.open("w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows(_events(run))
    elif path.suffix == ".csv":
        columns = columns_of(run)
        with replacing(path) as new, new.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.writer(stream)
            writer.writerow([column.title for column in columns.every])
            for share, rows in _rows(run, columns, stride):
                writer.writerows([[repr(x) for x in row] for row in rows.tolist()])
                if tell is not None:
                    tell(share)
    elif path.suffix == ".parquet":
        arrow, parquet = _needed("pyarrow", "export"), _needed("pyarrow.parquet", "export")
        columns = columns_of(run)
        schema = arrow.schema([(column.title, arrow.float64()) for column in columns.every])
        with replacing(path) as new, parquet.ParquetWriter(new, schema) as stream:
            for share, rows in _rows(run, columns, stride):
                stream.write_table(arrow.Table.from_arrays([arrow.array(x) for x in rows.T], schema=schema))
                if tell is not None:
                    tell(share)
    elif path.suffix == ".npz":
        with replacing(path) as new:
            _write_arrays(run, new, stride, tell)
    else:
        raise ValueError(f"export: {path.name!r}; expected a name that ends in .csv, .events.csv, .parquet or .npz")


def _events(run: Run) -> Iterator[list[str]]:
    """The lines of a table of events."""
    q, v = _joint_columns(run)
    yield ["t [s]", "event", *(column.title for column in (*q, *v))]
    for one in run.events:
        state = np.concatenate(run.dynamics.seen_in_event(one.y)).tolist()
        yield [repr(float(one.t)), one.event.name, *map(repr, state)]


def _write_arrays(run: Run, file: Path, stride: int, tell: Tell | None) -> None:
    """An .npz file, its arrays written one after the other and each in parts."""
    count = len(run.t[::stride])
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        with archive.open("bodies.npy", "w") as stream:
            np.lib.format.write_array(stream, np.array(run.mechanism.bodies, dtype=str), allow_pickle=False)
        for k, name in enumerate(ARRAYS):
            with archive.open(f"{name}.npy", "w", force_zip64=True) as stream:
                begun = False
                for share, values in _in_parts(run, (name,), stride):
                    if not begun:
                        header = {"descr": "<f8", "fortran_order": False, "shape": (count, *values[0].shape[1:])}
                        np.lib.format.write_array_header_2_0(stream, header)
                        begun = True
                    stream.write(np.ascontiguousarray(values[0], dtype="<f8").tobytes())
                    if tell is not None:
                        tell((k + share) / len(ARRAYS))


def to_pandas(run: Run) -> Any:
    """A DataFrame with time as its index and the columns of the CSV file; attrs["units"] has their units."""
    pandas, columns = _needed("pandas"), columns_of(run)
    table = np.concatenate([rows for _, rows in _rows(run, columns)])
    names = [column.name for column in columns.every]
    found = pandas.DataFrame(table[:, 1:], index=pandas.Index(table[:, 0], name="t"), columns=names[1:])
    found.attrs["units"] = {column.name: column.unit for column in columns.every}
    return found


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
    names = [[column.name for column in columns] for columns in _joint_columns(run)]
    along = {"pose_component": list(POSE), "twist_component": list(TWIST)}
    return xarray.Dataset(data, {**bodies, **along, "coordinate": names[0], "velocity": names[1]})


def _needed(module: str, function: str = "") -> Any:
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError:
        name = module.partition(".")[0]
        raise ImportError(f"{function or f'to_{module}'}: {name} is not installed; pip install {name}") from None


class Column(NamedTuple):
    """A column of a table."""

    name: str
    unit: str

    @property
    def title(self) -> str:
        return f"{self.name} [{self.unit or 1}]"


class Columns(NamedTuple):
    """The columns of a table, and of which joints it has reactions, of what forces. others: joints whose coordinates
    are not among q: those that follow others and those that close loops."""

    every: list[Column]
    others: tuple[str, ...]
    reactions: tuple[str, ...]
    forces: tuple[str, ...]


def columns_of(run: Run) -> Columns:
    """The columns of a run; what cannot be computed, for want of a law that is not in a file, is left out and said."""
    system = run.system
    every = [Column("t", "s"), *(column for columns in _joint_columns(run) for column in columns)]
    others = [joint for joint in run.moving_joints if joint.name not in run.joints]
    every += [column for joint in others for columns in _columns_of_joints([joint]) for column in columns]
    for body in run.mechanism.bodies:
        every += [Column(f"{body}.{part}", unit) for part, unit in zip(POSE + TWIST, BODY_UNITS, strict=True)]
    for frame in run.frames:
        every += [Column(f"{frame}.{part}", unit) for part, unit in zip(POSE + TWIST, BODY_UNITS, strict=True)]
    every += [Column(name, "J") for name in ENERGIES]
    if run.given is not None:
        every += _forces([joint for joint in run.moving_joints if joint.name in run.joints])
    holds = named_holds(system)
    reactions = _computed(run, "reactions", holds if len(holds) <= MOST_REACTIONS else ())
    if shared := [name for name in reactions if name in run.open_reactions]:
        run.reactions(shared[0])  # warns, once for all, if a load is shared
    acting = run.force_names
    forces = _computed(run, "force", acting if len(acting) <= MOST_REACTIONS else ())
    for name in forces:
        wrench = name in reactions and run.force_columns(name)[0].part in WRENCH_PARTS
        own = f"{name} (force)" if wrench else name  # a joint has this name, and a reaction
        every += [Column(f"{own}.{column.part}", column.unit) for column in run.force_columns(name)]
    for name in reactions:
        every += [Column(f"{name}.{part}", "N m" if part.startswith("t") else "N") for part in WRENCH_PARTS]
    return Columns(every, tuple(joint.name for joint in others), reactions, forces)


def _computed(run: Run, quantity: str, names: Iterable[str]) -> tuple[str, ...]:
    """Those of which a quantity can be computed."""
    found, failed = [], dict[str, Exception]()
    first = run.part(slice(0, 1))
    for name in names if len(run) else ():
        try:
            _quietly(first, quantity, name)
            found.append(name)
        except (ValueError, ArithmeticError) as error:
            failed[name] = error
    if failed:
        why = next(iter(failed.values()))
        caution.warn(f"export: {quantity} of {', '.join(map(repr, failed))} are left out: {why}")
    return tuple(found)


def _quietly(part: Run, quantity: str, name: str) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of redundant constraints, once for each: the certificate says
        found: np.ndarray = getattr(part, quantity)(name)
        return found


def _joint_columns(run: Run) -> tuple[list[Column], list[Column]]:
    """The coordinates and velocities of all joints of q."""
    return _columns_of_joints([joint for joint in run.moving_joints if joint.name in run.joints])


def _columns_of_joints(joints: Sequence[Joint]) -> tuple[list[Column], list[Column]]:
    q = [Column(f"{joint.name}.q{k}", unit) for joint in joints for k, unit in enumerate(joint.coordinate_units)]
    v = [Column(f"{joint.name}.v{k}", f"{unit}/s") for joint in joints for k, unit in enumerate(joint.velocity_units)]
    return q, v


def _forces(joints: Sequence[Joint]) -> list[Column]:
    """The forces of inputs along the velocities of joints."""
    return [
        Column(f"{joint.name}.input{k}", FORCE_UNITS[unit])
        for joint in joints
        for k, unit in enumerate(joint.velocity_units)
    ]


def _rows(run: Run, columns: Columns, stride: int = 1) -> Iterator[tuple[float, np.ndarray]]:
    """The table, a part of the run at a time, with the share that is done then."""
    names = list(ENERGIES)
    names += [] if run.given is None else ["forces"]
    wanted = [("force", name) for name in columns.forces]
    wanted += [("reactions", name) for name in columns.reactions]
    for share, part in _parts(run, stride):
        values = [_values(part, name) for name in ("t", "q", "v")]
        values += [x for joint in map(part.joint, columns.others) for x in (joint.q, joint.v)]
        values += [_values(part, "bodies")]
        values += [x for frame in map(part.frame, run.frames) for x in (frame.pose, frame.twist)]
        values += [_values(part, name) for name in names]
        values += [_quietly(part, quantity, name) for quantity, name in wanted]
        flat = [x.reshape(len(x), math.prod(x.shape[1:])) for x in values]  # of none of them too
        yield share, np.concatenate(flat, axis=1)


def _in_parts(run: Run, names: Sequence[str], stride: int = 1) -> Iterator[tuple[float, Sequence[np.ndarray]]]:
    """Quantities by name, a part of the run at a time, with the share that is done then."""
    for share, part in _parts(run, stride):
        yield share, [_values(part, name) for name in names]


def _parts(run: Run, stride: int) -> Iterator[tuple[float, Run]]:
    """Every n-th saved time (n = `stride`), a part of the run at a time, with the share that is done then."""
    at: int = 0  # the next saved time to keep
    rows = states.ROWS_AT_ONCE
    for first in range(0, max(len(run), 1), rows):
        last = min(first + rows, len(run))
        if at >= last > 0:
            continue
        part = run.part(slice(at, last, stride))
        at += stride * len(part)
        yield last / max(len(run), 1), part


def _values(part: Run, name: str) -> np.ndarray:
    if name == "bodies":
        return np.concatenate([part.poses, part.twists], axis=-1)
    return np.asarray(getattr(part.energies if name in ENERGIES else part, name))
