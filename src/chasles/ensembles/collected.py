"""Outcomes of members as arrays, placed by index: in memory, or in a file, a part at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from chasles.ensembles.work import MemberOutcome

AT_ONCE = 1024  # members, and
BYTES_AT_ONCE = 1 << 24  # of their numbers, that are placed together


class Summary(NamedTuple):
    """All of the members but their numbers: shapes of these, what each is and their units, by quantity; how each
    member went."""

    shapes: dict[str, tuple[int, ...]]
    labels: dict[str, tuple[str, ...]]
    status: np.ndarray
    messages: list[str]
    steps: np.ndarray
    units: dict[str, str]


def summary(outcomes: Iterable[tuple[int, MemberOutcome]], members: int) -> Summary:
    """What there is to place. Names and labels do not depend on which member was finished first."""
    shapes: dict[str, tuple[int, ...]] = {}
    places: dict[str, tuple[int, int]] = {}  # where a name comes first
    labels: dict[str, tuple[int, tuple[str, ...]]] = {}
    units: dict[str, str] = {}
    status, messages, steps = [""] * members, [""] * members, np.zeros(members, dtype=np.int64)
    for index, outcome in outcomes:
        status[index], messages[index], steps[index] = outcome.status, outcome.message, outcome.steps
        for k, (name, value) in enumerate(outcome.numbers.items()):
            shape = np.shape(value)
            known = shapes.get(name, shape)
            if len(known) != len(shape) or known[1:] != shape[1:]:
                raise ValueError(f"ensemble: {name!r} has shape {shape} in member {index} and {known} in others")
            shapes[name] = tuple(max(pair) for pair in zip(known, shape, strict=True))
            places[name] = min(places.get(name, (index, k)), (index, k))
        for name, found in outcome.labels.items():
            if found and index >= labels.get(name, (-1, ()))[0]:
                labels[name] = index, found
        units |= {name: unit for name, unit in outcome.units.items() if unit}
    ordered = {name: shapes[name] for name in sorted(shapes, key=places.__getitem__)}
    kept = {name: labels[name][1] for name in ordered if name in labels}
    return Summary(ordered, kept, np.array(status, dtype=str), messages, steps, units)


def place(outcomes: Iterable[tuple[int, MemberOutcome]], targets: Mapping[str, Any]) -> None:
    """Put the numbers of members into arrays or datasets by quantity, (members, ...) each, which are NaN before."""
    for part in _parts(outcomes):
        for name, target in targets.items():
            rows = [(index, outcome.numbers[name]) for index, outcome in part if name in outcome.numbers]
            for first, values in _neighbors(rows):
                block = np.full((len(values), *target.shape[1:]), np.nan)
                for k, value in enumerate(values):
                    here: tuple[Any, ...] = (k, *(slice(n) for n in np.shape(value)))
                    block[here] = value
                target[first : first + len(values)] = block


def size_of(outcome: MemberOutcome) -> int:
    """Bytes of its numbers."""
    return sum(np.asarray(value).nbytes for value in outcome.numbers.values())


def in_arrays(outcomes: Mapping[int, MemberOutcome]) -> tuple[Summary, dict[str, np.ndarray]]:
    """The outcomes of all members, in memory."""
    known, members = summary(outcomes.items(), len(outcomes)), len(outcomes)
    numbers = {name: np.full((members, *shape), np.nan) for name, shape in known.shapes.items()}
    place(outcomes.items(), numbers)
    return known, numbers


def _parts(outcomes: Iterable[tuple[int, MemberOutcome]]) -> Iterator[list[tuple[int, MemberOutcome]]]:
    """Some members at a time, in order of their index: what is placed is not held for long."""
    part, size = list[tuple[int, MemberOutcome]](), 0
    for index, outcome in outcomes:
        part.append((index, outcome))
        size += size_of(outcome)
        if len(part) == AT_ONCE or size > BYTES_AT_ONCE:
            yield sorted(part, key=lambda one: one[0])
            part, size = [], 0
    yield sorted(part, key=lambda one: one[0])


def _neighbors(rows: list[tuple[int, Any]]) -> Iterator[tuple[int, list[Any]]]:
    """Values of members that follow each other, with the index of the first."""
    begin = 0
    for k in range(1, len(rows) + 1):
        if k == len(rows) or rows[k][0] != rows[k - 1][0] + 1:
            yield rows[begin][0], [value for _, value in rows[begin:k]]
            begin = k
