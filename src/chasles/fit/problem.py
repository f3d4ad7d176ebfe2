"""All experiments of a fit with one vector of unknowns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from chasles.fit.recording import recording
from chasles.fit.sensor import Sensor, channels
from chasles.fit.trial import Made, Trial, TrialPoint
from chasles.fit.unknown import Slot, slots_of
from chasles.io.load import load
from chasles.io.model_file import Study
from chasles.model.system import System


@dataclass(frozen=True)
class Experiment:
    """A measurement: its data, values of the model that are its own, and unknowns of its own.

    data: a CSV file, or arrays by name, one of them "t". set: values by path, {"parameters.load": 2}. unknown: as in
    `to_data`, but found for this experiment alone, such as {"initial.q.pivot": None}. sensors: by name.
    """

    data: Any
    set: Mapping[str, Any] = field(default_factory=dict)
    unknown: Mapping[str, Any] = field(default_factory=dict)
    sensors: Mapping[str, Sensor] = field(default_factory=dict)


@dataclass(frozen=True)
class FitProblem:
    """All trials with one vector of unknowns: numbers of slots, then delays and biases of channels."""

    trials: list[Trial]
    slots: list[Slot]
    own: list[list[int]]  # of each trial, which slots it has
    delays: list[tuple[int, int]]  # (trial, channel)
    biases: list[tuple[int, int, int]]  # (trial, channel, number)
    notes: list[str]

    @property
    def edges(self) -> list[int]:
        return np.cumsum([0, *(len(slot.start) for slot in self.slots)]).tolist()

    @property
    def start(self) -> np.ndarray:
        late = [self.trials[i].channels[k].delay for i, k in self.delays]
        return np.concatenate([*(slot.start for slot in self.slots), late, np.zeros(len(self.biases))])

    @property
    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        ranges = [self.trials[i].channels[k].delays for i, k in self.delays]
        wide = np.full(len(self.biases), np.inf)
        return (
            np.concatenate([*(slot.low for slot in self.slots), [one.low for one in ranges if one], -wide]),
            np.concatenate([*(slot.high for slot in self.slots), [one.high for one in ranges if one], wide]),
        )

    @property
    def names(self) -> list[str]:
        """Of the natural numbers, in the order of the vector."""
        several = len(self.trials) > 1
        found = [label for slot in self.slots for label in slot.labels]
        for i, k in self.delays:
            found.append(f"{f'experiment {i + 1}: ' if several else ''}{self.trials[i].channels[k].name}: delay")
        for i, k, j in self.biases:
            channel = self.trials[i].channels[k]
            label = f" {channel.labels[j]}" if len(channel.labels) > 1 else ""
            found.append(f"{f'experiment {i + 1}: ' if several else ''}{channel.name}: bias{label}")
        return found

    def point(self, i: int, x: np.ndarray) -> TrialPoint:
        """What a vector means for a trial."""
        edges, first = self.edges, self.edges[-1]
        slots = tuple(x[edges[s] : edges[s + 1]] for s in self.own[i])
        late = [channel.delay for channel in self.trials[i].channels]
        for n, (trial, k) in enumerate(self.delays):
            if trial == i:
                late[k] = float(x[first + n])
        return TrialPoint(slots, tuple(late))

    def bias(self, i: int, k: int, x: np.ndarray, width: int) -> np.ndarray:
        first = self.edges[-1] + len(self.delays)
        found = np.zeros(width)
        for n, (trial, channel, j) in enumerate(self.biases):
            if (trial, channel) == (i, k):
                found[j] = x[first + n]
        return found

    def residuals(self, x: np.ndarray) -> list[list[np.ndarray]]:
        """Simulated, with bias, less measured, of each trial and channel."""
        found = []
        for i, trial in enumerate(self.trials):
            plain = trial.residuals(self.point(i, x))
            found.append([r + self.bias(i, k, x, r.shape[1]) for k, r in enumerate(plain)])
        return found

    def jacobian(self, x: np.ndarray) -> list[list[np.ndarray]]:
        """Derivatives of the residuals, (times, numbers, unknowns) each."""
        edges, first, found = self.edges, self.edges[-1], []
        for i, trial in enumerate(self.trials):
            _, slopes, late = trial.derivatives(self.point(i, x))
            own = np.concatenate([np.arange(edges[s], edges[s + 1]) for s in self.own[i]] or [np.empty(0, dtype=int)])
            parts = []
            for k, slope in enumerate(slopes):
                full = np.zeros((*slope.shape[:2], len(x)))
                full[..., own] = slope
                for n, place in enumerate(self.delays):
                    if place == (i, k):
                        full[..., first + n] = late[k]
                for n, (trial_at, channel, j) in enumerate(self.biases):
                    if (trial_at, channel) == (i, k):
                        full[:, j, first + len(self.delays) + n] = 1.0
                parts.append(full)
            found.append(parts)
        return found


def problem_of(
    model: Any, given: list[Experiment], names: Mapping[str, Any], sensors: dict[str, Sensor], laws: Any, options: Any
) -> FitProblem:
    maker = _maker(model, names, laws)
    shared: list[Slot] = []
    trials, own, notes = list[Trial](), list[list[int]](), list[str]()
    slots: list[Slot] = []
    for i, one in enumerate(given):
        study = maker(dict(one.set))({})
        if i == 0:
            for name, what in names.items():
                shared += slots_of(name, what, study)
            slots += shared
        mine = [slot for name, what in one.unknown.items() for slot in slots_of(name, what, study, i)]
        own.append([*range(len(shared)), *range(len(slots), len(slots) + len(mine))])
        slots += mine
        data = recording(one.data, i + 1)
        found = channels(study.system, data, {**sensors, **one.sensors})
        notes += [note for channel in found for note in channel.notes]
        notes += [f"{data.name}: nothing was measured between {a:g} and {b:g} s" for a, b in data.gaps]
        chosen = {**study.options, **options}
        if chosen.get("coordinates", "relative") != "relative":
            notes.append(f"{data.name}: was simulated in joint coordinates, not in absolute ones as the model says")
        if "span" not in options:
            chosen.pop("span", None)
            begin = study.options.get("span", (data.t[0],))[0]
            chosen["span"] = (min(float(begin), float(data.t[0])), float(data.t[-1]))
        trials.append(Trial(data.name, maker(dict(one.set)), [slots[s] for s in own[i]], found, chosen))
        for channel, kept in zip(found, trials[-1].kept, strict=True):
            if not kept.all():
                notes.append(f"{data.name}: {int((~kept).sum())} values of {channel.name} are before the start")
    doubled = [slot.name for slot in slots if [other.name for other in slots].count(slot.name) > 1]
    if doubled:
        raise ValueError(f"fit: {doubled[0]!r} is unknown twice")
    every = [(i, k, one) for i, trial in enumerate(trials) for k, one in enumerate(trial.channels)]
    delays = [(i, k) for i, k, one in every if one.delays]
    biases = [(i, k, j) for i, k, one in every if one.bias for j in range(len(one.labels))]
    problem = FitProblem(trials, slots, own, delays, biases, notes)
    count, measured = len(problem.start), sum(sum(trial.sizes) for trial in trials)
    if not count:
        raise ValueError("fit: nothing is unknown; name parameters that are to be found")
    priors = sum(len(slot.start) for slot in slots if slot.prior)
    if measured + priors < count:
        raise ValueError(f"fit: {measured} numbers were measured, for {count} unknowns; measure more, or look for less")
    return problem


def _maker(model: Any, names: Mapping[str, Any], laws: Any) -> Callable[[dict[str, Any]], Made]:
    """For values of an experiment, what makes the study of values by path."""
    if callable(model) and not isinstance(model, Study):
        begin = {name: one.start for name, one in names.items() if getattr(one, "start", None) is not None}
        return lambda fixed: partial(_of_function, model, {**begin, **fixed})
    study = model if isinstance(model, Study) else load(model, laws=laws)
    if study.remade is None:
        raise ValueError("fit: the model was not read from a .toml file, so it has no paths; convert it first")
    return lambda fixed: partial(
        _of_file, study, {f"parameters.{name}" if name in study.parameters else name: x for name, x in fixed.items()}
    )


def _of_function(model: Callable[..., System | Study], fixed: Mapping[str, Any], values: Mapping[str, float]) -> Study:
    arguments = {name.removeprefix("parameters."): value for name, value in {**fixed, **values}.items()}
    found = model(**arguments)
    if isinstance(found, Study):
        return Study(found.system, found.initial, found.options, arguments)
    if isinstance(found, System):
        return Study(found, parameters=arguments)
    raise TypeError(f"fit: the function of the parameters returned {found!r}; expected a System or a Study")


def _of_file(study: Study, fixed: Mapping[str, Any], values: Mapping[str, float]) -> Study:
    if study.remade is None or not (fixed or values):
        return study
    return study.remade({**fixed, **values})
