"""`pieces`: a long recording as short experiments, each with its own unknown start, for motions that are unstable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from chasles.fit.problem import Experiment
from chasles.fit.recorded_input import PREFIX
from chasles.fit.recording import Recording, recording
from chasles.fit.unknown import Unknown

JOINTS = "joints."
FEWEST = 4  # values of each joint in a piece


def pieces(
    data: Any, length: float, *, start: float = 0.0, unknown: Mapping[str, Any] | None = None, **more: Any
) -> list[Experiment]:
    """Cut a recording into experiments of a length [s] for `to_data`, each with its own unknown start.

    Coordinates of joints have to be measured, in columns "joints.NAME": the search for each start begins with the
    parabola through the first values, whose slope is the velocity. start: the time at which the model starts; the times
    of each piece are shifted to it. unknown: what else each piece has of its own; more: as of `Experiment`.
    """
    whole = recording(data)
    if isinstance(length, bool) or not isinstance(length, int | float | np.number) or not length > 0:
        raise ValueError(f"pieces: length is {length!r}; expected a positive number of seconds")
    names = [name for name in whole.columns if name.startswith(JOINTS) and name.count(".") == 1]
    if not names:
        raise ValueError(
            f"pieces: {whole.name} has no coordinates of joints; expected columns such as {JOINTS}elbow, which tell "
            "where each piece starts. Without them cut the data yourself, and give each experiment its start by set="
        )
    first, last = float(whole.t[0]), float(whole.t[-1])
    count = max(int(np.ceil((last - first) / length - 1e-9)), 1)
    edges = np.linspace(first, last, count + 1)
    found = []
    for k in range(count):
        inside = (whole.t >= edges[k] - 1e-9 * length) & (whole.t <= edges[k + 1] + 1e-9 * length)
        part = _shifted(whole, inside, start)
        begins = {one: value for name in names for one, value in _begin(part, name, length).items()}
        found.append(Experiment(part, unknown={**begins, **(unknown or {})}, **more))
    return found


def _shifted(whole: Recording, inside: np.ndarray, start: float) -> Recording:
    """Rows of a recording with times from the start of the model on; inputs that are held go on from before."""
    rows = np.flatnonzero(inside)
    if len(rows) < FEWEST:
        raise ValueError(f"pieces: a piece of {whole.name} would have {len(rows)} rows; give a greater length")
    columns = {name: values[rows].copy() for name, values in whole.columns.items()}
    for name, values in columns.items():
        before = whole.columns[name][: rows[0] + 1]
        known = np.flatnonzero(np.isfinite(before))
        if name.startswith(PREFIX) and len(known):
            values[0] = before[known[-1]]
    name = f"{whole.name} from {whole.t[rows[0]]:.4g} s"
    return replace(whole, name=name, t=whole.t[rows] - whole.t[rows[0]] + start, columns=columns)


def _begin(part: Recording, column: str, length: float) -> dict[str, Unknown]:
    """The start of a joint, by the parabola through its first values."""
    values, joint = part.columns[column], column.removeprefix(JOINTS)
    known = np.flatnonzero(np.isfinite(values))
    if len(known) < FEWEST:
        raise ValueError(f"pieces: {part.name}, {column} has {len(known)} values; give a greater length")
    few = known[: max(FEWEST, min(len(known) // 8, 12))]
    late = part.t[few] - part.t[0]
    _, rate, place = np.polyfit(late, values[few], 2)
    return {f"initial.q.{joint}": Unknown(start=float(place)), f"initial.v.{joint}": Unknown(start=float(rate))}
