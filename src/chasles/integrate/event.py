"""Events: functions of the state whose zeros a run reports, or ends at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from chasles.integrate.vector_field import PLAIN_FORM, Field
from chasles.model.user_function import check_arguments


@dataclass(frozen=True)
class Event:
    """A zero of g(t, y, p) to watch for.

    `function` is plain Python and returns a number, or a compiled field that writes it to out[0]. `direction` +1 takes
    zeros where g grows, -1 where it falls, 0 both. A `terminal` event ends the run there. A zero at the very start does
    not count; two zeros within one step cancel and are not seen.
    """

    function: Field | Callable[..., Any]
    direction: int = 0
    terminal: bool = False
    name: str = ""

    def __post_init__(self) -> None:
        if self.direction not in (-1, 0, 1):
            raise ValueError(f"Event: direction {self.direction!r}; expected -1, 0 or 1")
        name = getattr(self.function, "__name__", "event")
        if not isinstance(self.function, Field):
            check_arguments(f"Event: function {name!r}", self.function, PLAIN_FORM, "t", "y", "p")
        if not self.name:
            object.__setattr__(self, "name", getattr(self.function, "__name__", "event"))

    def value(self, t: float, y: np.ndarray, p: np.ndarray) -> float:
        """g(t, y, p), a finite number."""
        if isinstance(self.function, Field):
            out = np.empty(1)
            self.function(t, y.reshape(-1), p, out)
            found = float(out[0])
        else:
            found = self.number(t, y, p)
        self.check(found, t)
        return found

    def number(self, t: float, y: np.ndarray, p: np.ndarray) -> float:
        """What a plain Python function returns."""
        function: Any = self.function
        found: Any = function(t, y, p)
        if isinstance(found, float):
            return float(found)
        wanted = "expected a number that passes through zero, such as y[0] - 1.0"
        if isinstance(found, bool | np.bool_):
            raise TypeError(f"solve: the event {self.name!r} returns True or False; {wanted}")
        try:
            if np.shape(found) == () and found is not None:
                return float(found)
        except (TypeError, ValueError):
            pass  # no number either
        raise TypeError(f"solve: the event {self.name!r} returned {found!r} at t = {t:.6g}; {wanted}")

    @property
    def watched(self) -> Field | Callable[..., Any]:
        """The function as the loops call it."""
        return self.function if isinstance(self.function, Field) else self.number

    def check(self, value: float, t: float) -> None:
        if not np.isfinite(value):
            raise ValueError(f"solve: the event {self.name!r} is {value} at t = {t:.8g}; expected a finite number")

    def crossed(self, before: float, after: float) -> bool:
        """Whether there is a zero of the wanted direction between two values."""
        rising, falling = before < 0 <= after, before > 0 >= after
        return (rising and self.direction >= 0) or (falling and self.direction <= 0)


@dataclass(frozen=True)
class Occurrence:
    """An event that happened: when, and the point there as events see it; `point` is that of the run, if another."""

    event: Event
    t: float
    y: np.ndarray
    point: np.ndarray | None = field(default=None, repr=False)

    @property
    def goes_on_from(self) -> np.ndarray:
        """The point of the run."""
        return self.y if self.point is None else self.point


def as_events(given: Any) -> tuple[Event, ...]:
    """The events of a run: several, one, or none."""
    if given is None or isinstance(given, Event):
        return () if given is None else (given,)
    found = (given,) if callable(given) else tuple(given) if isinstance(given, Iterable) else (given,)
    for one in found:
        if not isinstance(one, Event):
            name = getattr(one, "__name__", "function")
            name = name if name.isidentifier() else "function"
            told = f"the function {name!r}" if callable(one) else repr(one)
            raise TypeError(
                f"solve: events has {told}; expected events, each made of a function of (t, y, p): write "
                f"events=[chasles.Event({name})], or chasles.Event({name}, terminal=True) to end the run there"
            )
    return found


class Shown(NamedTuple):
    """What events see of a point, if that is not the point itself: as a Python function of it, and as a kernel of the
    parameters and the point."""

    function: Callable[[np.ndarray], np.ndarray]
    kernel: Callable[..., Any]

    def of(self, event: Event) -> Field | Callable[..., Any]:
        """The function of an event, of points of the run."""
        if not isinstance(event.function, Field):
            return lambda t, y, p: event.value(t, self.function(y), p)
        inner, seen = event.function.kernel, self.kernel

        def watched(t: float, y: np.ndarray, p: np.ndarray, out: np.ndarray) -> None:
            inner(t, seen(p, y), p, out)

        watched.__module__ = event.function.__module__
        return Field(watched)


def occurrence(event: Event, t: float, point: np.ndarray, shown: Shown | None) -> Occurrence:
    """An event at a point of a run whose events see what `shown` makes of it."""
    return Occurrence(event, t, point) if shown is None else Occurrence(event, t, shown.function(point), point)


INSTANT = 64  # roundings of the time within which events are at one instant


def up_to_terminal(found: list[tuple[float, Occurrence]]) -> list[Occurrence]:
    """Occurrences within a step, with their distances from its start, in order and up to the first terminal ones.

    All that happen at one instant are reported, at the last of their times, which differ by rounding: terminal ones
    last, and by name, so that the order in which events are given makes no difference.
    """
    result: list[Occurrence] = []
    rest = sorted(found, key=lambda item: item[0])
    while rest:
        away, first = rest[0][0], rest[0][1].t
        near = [item for item in rest if item[0] - away <= INSTANT * np.spacing(max(abs(first), away))]
        rest, latest = rest[len(near) :], near[-1][1]
        together = sorted((item[1].event for item in near), key=lambda event: (event.terminal, event.name))
        result += [replace(latest, event=event) for event in together]
        if together[-1].terminal:
            break
    return result


def ended_by(occurrences: list[Occurrence]) -> str:
    """How a run ended whose last occurrence is terminal."""
    last = occurrences[-1].t
    names = dict.fromkeys(repr(o.event.name) for o in occurrences if o.event.terminal and o.t == last)
    return f"ended by the event{'s' if len(names) > 1 else ''} {', '.join(names)}"


def bracketed_zero(function: Callable[[float], float], low: float, high: float, at_low: float, at_high: float) -> float:
    """A zero between two points of opposite sign, to the last bits: regula falsi (Illinois), guarded by bisection.

    Returns the end of the final bracket on the far side, where the sign has changed.
    """
    for iteration in range(200):
        if abs(high - low) <= 4 * np.spacing(max(abs(low), abs(high))) or at_high == 0.0:
            break
        middle = high - at_high * (high - low) / (at_high - at_low) if iteration % 3 else 0.5 * (low + high)
        if not min(low, high) < middle < max(low, high):
            middle = 0.5 * (low + high)
        value = function(middle)
        if not np.isfinite(value):
            raise ValueError(f"an event function is {value} within a step")
        if (value > 0) == (at_high > 0) or value == 0.0:
            high, at_high = middle, value
            at_low *= 0.5
        else:
            low, at_low = middle, value
            at_high *= 0.5
    return high
