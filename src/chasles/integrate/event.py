"""Events: functions of the state whose zeros a run reports, or ends at."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from chasles.integrate.vector_field import PLAIN_FORM, Field
from chasles.kernel.policy import kernel
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
        # a new kernel: an old one has what it took from outside as it was
        inner, seen = kernel(event.function.function), self.kernel

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


def bracketed_zero(
    function: Callable[[float], float], low: float, high: float, at_low: float, at_high: float, finest: float = 0.0
) -> float:
    """A zero between two points of opposite sign, to the last bits or to `finest`, in some ten values of a smooth
    function.

    By turns a parabola finds the zero, a longer step to it closes the bracket on the other side, and a bisection guards
    both (as in algorithm 748 of the ACM). Returns the end of the final bracket on the far side, where the sign has
    changed.
    """
    reach, width = 2.0, np.inf  # of the longer steps, and of the bracket before these two
    finest = max(finest, 2.0**-66 * abs(high - low))  # a zero at the lower end, whose bits would have no end
    left = low, at_low  # the end that was given up last
    for turn in range(300):
        least = max(2 * np.spacing(max(abs(low), abs(high))), finest)
        if abs(high - low) <= 2 * least or at_high == 0.0:
            break
        if turn % 3 == 2 and abs(high - low) <= 0.5 * width:
            continue
        near, far = ((low, at_low), (high, at_high)) if abs(at_low) < abs(at_high) else ((high, at_high), (low, at_low))
        away = _part_to_zero(near, far, left)
        if turn % 3 == 0:
            width = abs(high - low)
        else:
            away = min(reach * away, 0.5) if turn % 3 == 1 else 0.5
        margin = least / abs(high - low)
        middle = near[0] + min(max(away, margin), 1.0 - margin) * (far[0] - near[0])
        value = function(middle)
        if not np.isfinite(value):
            raise ValueError(f"an event function is {value} within a step")
        beyond = (value > 0) == (at_high > 0) or value == 0.0
        if turn % 3 == 1:  # it may have stayed on the near side, where rounding is larger than the step
            reach = 2.0 if beyond == (far[0] == high) else 4.0 * reach
        if beyond:
            left, high, at_high = (high, at_high), middle, value
        else:
            left, low, at_low = (low, at_low), middle, value
    return float(high)


def _part_to_zero(near: tuple[float, float], far: tuple[float, float], third: tuple[float, float]) -> float:
    """Where the parabola through three points has its zero between the first two, of opposite sign: the part of the way
    from one to the other. By a line if the third is one of these."""
    (x, f), (width, change) = near, (far[0] - near[0], far[1] - near[1])
    if third in (near, far):
        return -f / change
    u = (third[0] - x) / width
    bend = ((third[1] - f) / u - change) / (u - 1.0)
    slope = change - bend
    q = -0.5 * (slope + np.copysign(np.sqrt(max(slope * slope - 4.0 * bend * f, 0.0)), slope))
    found = [part for part in (q / bend if bend else -1.0, f / q if q else -1.0) if 0.0 <= part <= 1.0]
    return float(found[0]) if found else -f / change
