"""What `solve` can be asked for, and whether it makes sense."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.integrate.event import Event, as_events

MOST_TIMES = 10**8  # points that can be asked for
UNLIMITED = 2**63 - 1  # evaluations that a run may take
SAVED = '"all", "final", a number of steps or an array of times'


@dataclass(frozen=True)
class Options:
    """What `solve` was asked for; None where nothing was said."""

    step: float | None = None
    rtol: float | None = None
    atol: Any = None  # a number; of a motion also one for each number of the algebra
    save: Any = "all"
    events: Sequence[Event] = ()
    step_control: str | None = None
    first_step: float | None = None
    max_step: float | None = None
    stops: Any = None
    max_evaluations: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "events", as_events(self.events))


SHORTEST = 1e-100  # span


def check_span(span: Any) -> tuple[float, float]:
    """Start and end as floats."""
    try:
        start, end = (float(x) for x in span)
    except (TypeError, ValueError):
        raise ValueError(f"solve: span {span!r}; expected (start, end)") from None
    if not (np.isfinite(start) and np.isfinite(end)):
        raise ValueError(f"solve: span ({start}, {end}) is not finite")
    if 0.0 < abs(end - start) < SHORTEST:
        raise ValueError(f"solve: span ({start}, {end}) is shorter than {SHORTEST:g}: squares of such times vanish")
    return start, end


def check_times(times: Any, start: float, end: float) -> np.ndarray:
    """Times to save at, in the span and in the order in which they are passed; those that are off the span by their
    rounding, as of np.arange, are its ends."""
    try:
        given = np.asarray(times)
        values = given.astype(float)
    except (TypeError, ValueError):
        raise ValueError(f"solve: save={times!r}; expected {SAVED}") from None
    if not values.ndim:
        if not isinstance(times, float | np.floating):
            raise ValueError(f"solve: save={times!r}; expected {SAVED}")
        time = repr(float(times))
        raise ValueError(
            f"solve: save={time} is one time; for every {time} s give save=np.arange({start:.8g}, {end:.8g}, {time}) "
            f"or every={time} (of simulate), for every n-th step an int, for this time alone save=[{time}]"
        )
    if values.ndim > 1 or not values.size:
        raise ValueError(f"solve: save has shape {values.shape}; expected times, one after the other")
    direction = 1.0 if end >= start else -1.0
    kind = given.dtype.type if given.dtype.kind == "f" else np.float64
    rounding = (8 + values.size) * float(np.spacing(kind(max(abs(start), abs(end)))))  # of a sum of so many
    for k in np.flatnonzero(~np.isfinite(values))[:1]:
        raise ValueError(f"solve: save[{k}] is {values[k]}; expected a time")
    for k in np.flatnonzero(direction * (values - start) < -rounding)[:1]:
        raise ValueError(f"solve: save[{k}] = {values[k]:.8g} is before the start of the span, {start:.8g}")
    for k in np.flatnonzero(direction * (values - end) > rounding)[:1]:
        raise ValueError(f"solve: save[{k}] = {values[k]:.8g} is after the end of the span, {end:.8g}")
    for k in np.flatnonzero(np.diff(direction * values) < 0)[:1]:
        raise ValueError(
            f"solve: save[{k + 1}] = {values[k + 1]:.8g} comes after {values[k]:.8g}; expected times in the order in "
            "which they are passed"
        )
    return np.clip(values, min(start, end), max(start, end))


def uniform_times(every: Any, start: float, end: float) -> np.ndarray:
    """The start and the times after it at equal distances, as far as the end, which is met if it is one of them."""
    length = abs(end - start)
    if not (isinstance(every, float | int | np.floating | np.integer) and 0 < every <= length):
        raise ValueError(f"simulate: every is {every!r}; expected a positive time [s], not longer than the span")
    count = length / every
    if count > MOST_TIMES:
        raise ValueError(f"simulate: every={every!r} asks for {count:.3g} points; at most {MOST_TIMES}")
    times = start + np.copysign(every, end - start) * np.arange(int(count * (1 + 1e-12)) + 1)
    if abs(times[-1] - end) < 1e-9 * every:
        times[-1] = end
    return times


def check_stops(stops: Any, start: float, end: float) -> np.ndarray:
    """Times to begin anew at: those in the span, in the order in which they are passed, and not so near to each other
    that no step fits between."""
    try:
        values = np.unique(np.array(() if stops is None else stops, dtype=float))
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise ValueError(f"solve: stops {stops!r}; expected times, finite numbers")
    low, high = min(start, end), max(start, end)
    found, apart = list[float](), shortest_step(start, end)
    for value in values[(values >= low) & (values <= high)]:
        if not found or value - found[-1] > 4 * apart:
            found.append(float(value))
    near = [x for x in found if x in (low, high) or (x - low > 4 * apart and high - x > 4 * apart)]
    return np.array(near[:: 1 if end >= start else -1])


def check_max_step(max_step: Any, step: Any) -> float:
    """The longest step of an adaptive run; no limit if nothing is said."""
    if max_step is None:
        return np.inf
    if step is not None:
        raise ValueError(
            f"solve: step={step!r} fixes the steps, max_step={max_step!r} bounds those that follow the "
            "error; give one of them"
        )
    if not (isinstance(max_step, float | int | np.floating | np.integer) and max_step > 0):
        raise ValueError(f"solve: max_step {max_step!r}; expected a positive number")
    return float(max_step)


def check_max_evaluations(most: Any) -> int:
    """The largest number of evaluations that a run may take."""
    if most is None:
        return UNLIMITED
    if not (isinstance(most, int | np.integer) and most > 0):
        raise ValueError(f"solve: max_evaluations {most!r}; expected a positive whole number")
    return int(most)


def shortest_step(start: float, end: float) -> float:
    """The shortest step that still advances the time."""
    return float(16 * np.spacing(max(abs(start), abs(end))))


def saving(save: Any) -> int | None:
    """Steps between saved points: 1 for "all", 0 for the last only; None if `save` is something else (times)."""
    if isinstance(save, bool | np.bool_):
        raise ValueError(f"solve: save={save!r}; expected {SAVED}")
    if isinstance(save, str):
        if save not in ("all", "final"):
            raise ValueError(f"solve: save {save!r}; expected {SAVED}")
        return 1 if save == "all" else 0
    if isinstance(save, int | np.integer):
        if save < 1:
            raise ValueError(
                f'solve: save every {save} steps; expected at least 1, "all", "final" or an array of times'
            )
        return int(save)
    return None
