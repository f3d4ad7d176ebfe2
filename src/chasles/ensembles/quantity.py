"""What is kept of each run: a reduction over time of a quantity by the names of `plot`, such as "max(joints.elbow)"."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from chasles.model.suggestion import meant
from chasles.view.plot_panel import OVER_TIME, Panel
from chasles.view.plot_parts import VECTOR_SIZE
from chasles.view.plot_quantities import panels, panels_of

EVENTS = "events"
EXTREMES = ("max", "min", "peak", "range", "time_of_max")
LOOKS_CLOSER = 6


def _mean(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Over time, by the trapezoidal rule: saved times need not be equidistant."""
    return np.trapezoid(x, t, axis=0) / (t[-1] - t[0]) if len(t) > 1 else x[0]


REDUCTIONS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "final": lambda t, x: x[-1],
    "initial": lambda t, x: x[0],
    "max": lambda t, x: x.max(axis=0),
    "min": lambda t, x: x.min(axis=0),
    "peak": lambda t, x: np.abs(x).max(axis=0),
    "range": lambda t, x: np.ptp(x, axis=0),
    "mean": _mean,
    "rms": lambda t, x: np.sqrt(_mean(t, x * x)),
    "time_of_max": lambda t, x: t[np.argmax(x, axis=0)],
    "series": lambda t, x: x,
}


class QuantityError(ValueError):
    """A quantity that a run has not: it would be so in all members."""


@dataclass(frozen=True)
class Quantity:
    """A reduction of what `plot` draws by a name; `norm`: of the lengths of vectors."""

    text: str
    reduction: str
    name: str
    norm: bool = False

    def of(self, run: Any) -> np.ndarray:
        """Its numbers: one, or several for a quantity of several curves; a "series" has time as its first axis."""
        if self.reduction in ("count", "first"):
            return self._of_events(run)
        made = self._checked_panels(run)
        t, values = np.asarray(run.t), self._values(run, made)
        if self.reduction in EXTREMES and len(t) > 2 and _has_curve(run):
            t, values = self._with_extremes(run, made, t, values)
        found = np.asarray(REDUCTIONS[self.reduction](t, values), dtype=float)
        return found[..., 0] if found.shape[-1] == 1 else found

    def _values(self, part: Any, made: list[Panel]) -> np.ndarray:
        if not self.norm:
            return np.concatenate([panel.values(part) for panel in made], axis=1)
        components = [k for k, name in enumerate(made[0].series) if name != VECTOR_SIZE]
        return np.linalg.norm(made[0].values(part)[:, components], axis=1, keepdims=True)

    def _with_extremes(
        self, run: Any, made: list[Panel], t: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The points, and some more where a curve is largest or smallest: steps go over such places. Between two steps
        the curve of the method is known; each look divides the distance of its points by four."""
        for _ in range(LOOKS_CLOSER):
            at = np.unique(np.concatenate([np.argmax(values, axis=0), np.argmin(values, axis=0)]))
            nearby = np.unique(np.concatenate([_around(t, k) for k in at]))
            nearby = np.setdiff1d(nearby, t)
            if not len(nearby):
                break
            order = np.argsort(np.concatenate([t, nearby]), kind="stable")
            values = np.concatenate([values, self._values(run(nearby), made)])[order]
            t = np.concatenate([t, nearby])[order]
        return t, values

    def labels(self, run: Any) -> tuple[str, ...]:
        """What each of several numbers is; nothing if it is one."""
        if self.norm or self.reduction in ("count", "first"):
            return ()
        made = self._checked_panels(run)
        names = [series for panel in made for series in panel.series]
        if len(made) > 1:  # in other units: a torque and a force have an x each
            parts = [(panel.label.split()[0], _unit_in(panel.label)) for panel in made for _ in panel.series]
            names = [f"{word} {name} [{unit}]" for (word, unit), name in zip(parts, names, strict=True)]
        return tuple(name.replace("$", "").replace("\\", "") for name in names) if len(names) > 1 else ()

    def unit(self, run: Any) -> str:
        """The unit of its numbers; nothing if they have none, or not all the same."""
        if self.reduction in ("first", "time_of_max"):
            return "s"
        if self.reduction == "count":
            return ""
        found = {_unit_in(panel.label) for panel in self._checked_panels(run)}
        return found.pop() if len(found) == 1 else ""

    def _checked_panels(self, run: Any) -> list[Panel]:
        """The panels of the name, all of them over time."""
        try:
            made = _panels(run, self.name)
        except ValueError as error:
            raise QuantityError(f"quantity {self.text!r}: {str(error).removeprefix('plot: ')}") from None
        if any(panel.kind != OVER_TIME for panel in made):
            raise QuantityError(f"quantity {self.text!r}: {self.name!r} is not a function of time")
        if self.norm and len(made) > 1:
            which = " or ".join(f"{self.name}.{panel.label.split()[0]}" for panel in made)
            raise QuantityError(f"quantity {self.text!r}: {self.name!r} has parts in other units; expected {which}")
        return made

    def _of_events(self, run: Any) -> np.ndarray:
        name = self.name.partition(".")[2]
        times = [one.t for one in run.events if not name or one.event.name == name]
        if self.reduction == "count":
            return np.array(float(len(times)))
        return np.array(times[0] if times else np.nan)


def _unit_in(label: str) -> str:
    """The unit at the end of a label, "force [N]"."""
    found = re.search(r"\[([^\[\]]+)\]\s*$", label)
    return found[1] if found else ""


def _has_curve(run: Any) -> bool:
    """Whether the motion between saved points is known: all steps are saved, and no input jumps between them."""
    task = run.task
    return task is not None and isinstance(task.more["save"], str) and task.controller is None


def _around(t: np.ndarray, k: int) -> np.ndarray:
    """Times between a point and its neighbors."""
    first, last = t[max(k - 1, 0)], t[min(k + 1, len(t) - 1)]
    return np.concatenate([np.linspace(first, t[k], 5), np.linspace(t[k], last, 5)])


def _panels(run: Any, name: str) -> list[Panel]:
    """Those of a name; or of one and the first word of what it shows, "reactions.pin.force"."""
    shorter, _, word = name.rpartition(".")
    try:
        made = panels_of(run, name)
        if not made and shorter:
            made = [panel for panel in panels_of(run, shorter) if panel.label.split()[0] == word]
    except ValueError:
        made = []
    return made or panels(run, name)


def quantity(text: str) -> Quantity:
    """The quantity that a text means: "max(joints.elbow)", "peak(norm(reactions.pin.force))"; a name alone is its value
    at the end; "count(events)" and "first(events.NAME)" are of events."""
    found = re.fullmatch(r"\s*(\w+)\((.+)\)\s*", text)
    reduction, inner = (found[1], found[2].strip()) if found else ("final", text.strip())
    if not inner:
        raise ValueError("a quantity is empty; expected one such as max(joints.elbow)")
    if inner == EVENTS or inner.startswith(f"{EVENTS}."):
        reduction = "count" if found is None else reduction
        if reduction not in ("count", "first"):
            raise ValueError(f"quantity {text!r}: of events there are count(...) and first(...), the time of the first")
        return Quantity(text.strip(), reduction, inner)
    if reduction == "norm":
        reduction, inner = "final", f"norm({inner})"
    if reduction not in REDUCTIONS:
        near = "did you mean 'range'? " if reduction == "ptp" else meant(reduction, REDUCTIONS)
        raise ValueError(
            f"quantity {text!r}: there is no {reduction!r}; {near}expected one of {', '.join(REDUCTIONS)}, or "
            "norm(...) of a vector, or of events count and first"
        )
    norm = re.fullmatch(r"norm\((.+)\)", inner)
    return Quantity(text.strip(), reduction, norm[1].strip() if norm else inner, norm is not None)
