"""All experiments of a fit with one vector of unknowns."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from chasles.fit.patience import Patience
from chasles.fit.recorded_input import HELD, recorded_inputs
from chasles.fit.recording import Recording, recording
from chasles.fit.sensor import Sensor, channels, unused
from chasles.fit.trial import KEPT, Made, Trial, TrialPoint
from chasles.fit.unknown import BODY, Slot, slots_of
from chasles.io.load import load
from chasles.io.model_file import Study
from chasles.model.suggestion import meant
from chasles.model.system import System
from chasles.simulation.batch.variants import WHERE, Variants

LATE = 3.0  # times the length of the data: if it begins so long after the start, its clock is another one
LONG = 100.0  # times of data beyond so many spans of the model look like another unit


@dataclass(frozen=True)
class Experiment:
    """A measurement: its data, and the values and unknowns of the model that are specific to it.

    data: a CSV file, or arrays by name, one of them "t". set: values by path, {"parameters.load": 2}. unknown: as in
    `to_data`, but found for this experiment alone, such as {"initial.q.pivot": None}. sensors: by name.
    inputs: columns such as "inputs.motor" are "held" from each row to the next, or "linear" between rows.
    """

    data: Any
    set: Mapping[str, Any] = field(default_factory=dict)
    unknown: Mapping[str, Any] = field(default_factory=dict)
    sensors: Mapping[str, Sensor] = field(default_factory=dict)
    inputs: str = HELD


@dataclass(frozen=True)
class FitProblem:
    """All trials with one vector of unknowns: numbers of slots, then delays and biases of channels."""

    trials: list[Trial]
    slots: list[Slot]
    own: list[list[int]]  # of each trial, which slots it has
    delays: list[tuple[int, int]]  # (trial, channel)
    biases: list[tuple[int, int, int]]  # (trial, channel, number)
    notes: list[str]
    patience: Patience = field(default_factory=Patience)

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
    def bodies(self) -> list[slice]:
        """Where the vector has the ten parameters of a body."""
        edges = self.edges
        return [slice(*edges[k : k + 2]) for k, slot in enumerate(self.slots) if slot.kind == BODY]

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

    def until(self, share: float) -> FitProblem:
        """The problem of the first part of the data, a share of its time."""
        return replace(self, trials=[trial.until(share) for trial in self.trials])

    def residuals(self, x: np.ndarray) -> list[list[np.ndarray]]:
        """Simulated, with bias, less measured, of each trial and channel."""
        self.patience.look()
        found = []
        for i, trial in enumerate(self.trials):
            plain = trial.residuals(self.point(i, x))
            found.append([r + self.bias(i, k, x, r.shape[1]) for k, r in enumerate(plain)])
        return found

    def jacobian(self, x: np.ndarray) -> list[list[np.ndarray]]:
        """Derivatives of the residuals, (times, numbers, unknowns) each."""
        self.patience.look()
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
    makers: list[tuple[dict[str, Any], Made]] = []
    for i, one in enumerate(given):
        made = _alike(makers, maker, dict(one.set))
        study = made({})
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
        notes += unused(data, study.system, {**sensors, **one.sensors}, found)
        notes += [f"{data.name}: nothing was measured between {a:g} and {b:g} s" for a, b in data.gaps]
        chosen = {**study.options, **options}
        if chosen.get("coordinates", "relative") != "relative":
            notes.append(f"{data.name}: was simulated in joint coordinates, not in absolute ones as the model says")
        if "span" not in options:
            chosen["span"] = _span(study, data)
        inputs, said = recorded_inputs(study.system, data, one.inputs, chosen["span"][0])
        notes += said
        trials.append(Trial(data.name, made, [slots[s] for s in own[i]], found, chosen, inputs))
        for channel, kept in zip(found, trials[-1].kept, strict=True):
            if not kept.all():
                when = "before the start" if kept[-1] else "outside of the span"
                notes.append(f"{data.name}: {int((~kept).sum())} values of {channel.name} are {when}")
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


def _alike(makers: list[tuple[dict[str, Any], Made]], maker: Callable[[dict[str, Any]], Made], fixed: Any) -> Made:
    """What makes the studies of an experiment: one for all that have the same values, which keeps the last ones."""
    for own, made in makers:
        if own.keys() == fixed.keys() and all(np.array_equal(own[name], fixed[name]) for name in own):
            return made
    makers.append((fixed, Remembering(maker(fixed))))
    return makers[-1][1]


class Remembering:
    """What makes studies of values by path, and keeps the last ones for other experiments."""

    def __init__(self, made: Made):
        self.made, self.kept = made, dict[tuple[Any, ...], Study]()

    def __call__(self, values: Mapping[str, float]) -> Study:
        key = tuple(values.items())
        if key not in self.kept:
            if len(self.kept) >= KEPT:
                self.kept.clear()
            self.kept[key] = self.made(values)
        return self.kept[key]

    def __reduce__(self) -> tuple[Any, ...]:
        return Remembering, (self.made,)


def _span(study: Study, data: Recording) -> tuple[float, float]:
    """From the start of the model, or the first time of the data if it has none, to the last time."""
    first, last = float(data.t[0]), float(data.t[-1])
    begin = float(study.options.get("span", (first,))[0])
    end = f"{last:g})"
    if first < begin:
        raise ValueError(
            f"{data.name} begins at {first:g} s, before the start of the model at {begin:g} s; give span=({first:g}, "
            f"{end} to start there with the initial values, or span=({begin:g}, {end} to leave out what is before"
        )
    if first - begin > LATE * (last - first) > 0:
        raise ValueError(
            f"{data.name} is from {first:g} to {last:g} s, long after the start of the model at {begin:g} s. If its "
            f"clock began earlier, subtract {first - begin:g} from its times, or give span=({first:g}, {end} to start "
            f"there; if the motion really began at {begin:g} s, give span=({begin:g}, {end}"
        )
    planned = study.options.get("span")
    if planned is not None and last - begin > LONG * (float(planned[1]) - begin) > 0:
        unit = "ms" if last - begin < 3e4 * (float(planned[1]) - begin) else "us"
        raise ValueError(
            f"{data.name} lasts until {last:g} s, and the model is simulated to {float(planned[1]):g} s: are its times "
            f"in {unit}? Name their column t [{unit}]; if they are right, give span=({begin:g}, {end}"
        )
    return begin, last


def _maker(model: Any, names: Mapping[str, Any], laws: Any) -> Callable[[dict[str, Any]], Made]:
    """For values of an experiment, what makes the study of values by path."""
    if callable(model) and not isinstance(model, Study):
        defaults = inspect.signature(model).parameters
        _require_arguments(model, [name for name in names if name.partition(".")[0] not in ("bodies", "initial")])
        begin = {name: defaults[name].default for name in names if name in defaults and _given(defaults[name])}
        begun = {name: one.start for name, one in names.items() if getattr(one, "start", None) is not None}
        begin |= {name: start for name, start in begun.items() if not name.startswith("initial")}
        for name in names:
            if name.partition(".")[0] not in ("bodies", "initial") and name not in begin:
                raise ValueError(
                    f"fit: argument {name!r} of the function has no default to start from; give it one, or "
                    "ch.fit.Unknown(low, high, start=...)"
                )
        return lambda fixed: partial(_of_function, model, {**begin, **fixed})
    if isinstance(model, System):
        model = Study(model)
    if not isinstance(model, Study | str | Path):
        raise TypeError(
            f"fit: the model is a {type(model).__name__}; expected a model file, what load() gives, a System, or a "
            "function of the unknowns that returns a System"
        )
    study = model if isinstance(model, Study) else load(model, laws=laws)
    if study.remade is None:
        return lambda fixed: partial(_of_places, study, fixed)
    return lambda fixed: partial(
        _of_file, study, {f"parameters.{name}" if name in study.parameters else name: x for name, x in fixed.items()}
    )


def _given(argument: inspect.Parameter) -> bool:
    """Whether an argument has a default that is a number."""
    return isinstance(argument.default, int | float) and not isinstance(argument.default, bool)


def _of_function(model: Callable[..., System | Study], fixed: Mapping[str, Any], values: Mapping[str, float]) -> Study:
    given = {name.removeprefix("parameters."): value for name, value in {**fixed, **values}.items()}
    arguments, starts = _parted(given)
    _require_arguments(model, arguments)
    found = model(**arguments)
    if isinstance(found, Study):
        return Study(found.system, _begun(found.initial, starts), found.options, arguments)
    if isinstance(found, System):
        return Study(found, _begun({}, starts), parameters=arguments)
    raise TypeError(f"fit: the function of the parameters returned {found!r}; expected a System or a Study")


def _parted(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a system is made of, and values of its start, "initial.q.elbow"."""
    starts = {name: value for name, value in given.items() if name.startswith("initial.")}
    return {name: value for name, value in given.items() if name not in starts}, starts


def _begun(initial: Mapping[str, Any], starts: Mapping[str, Any]) -> dict[str, Any]:
    """The start of a study with other values, by "initial.q.elbow"."""
    found = {**initial, **{key: dict(initial.get(key, {})) for key in ("q", "v")}} if starts else dict(initial)
    for name, value in starts.items():
        _, letter, joint = [*name.split(".", 2), ""][:3]
        if letter not in ("q", "v") or not joint:
            raise ValueError(f'fit: {name!r} is not a start; expected "initial.q.JOINT" or "initial.v.JOINT"')
        found[letter][joint] = value
    return found


def _require_arguments(model: Callable[..., Any], given: Iterable[str]) -> None:
    """Refuse names that a function does not take."""
    known = inspect.signature(model).parameters
    if any(one.kind is one.VAR_KEYWORD for one in known.values()):
        return
    for name in (one.removeprefix("parameters.") for one in given):
        if name not in known:
            raise ValueError(
                f"fit: the function of the parameters has no argument {name!r}; {meant(name, known)}it takes "
                f"{', '.join(known) or 'none'}. Besides these, bodies.NAME and initial.q.JOINT may be unknown; make "
                "any other number an argument"
            )


def _of_places(study: Study, fixed: Mapping[str, Any], values: Mapping[str, float]) -> Study:
    """A study that has no file, with other numbers in its system: "bodies.arm.mass"."""
    given, starts = _parted({**fixed, **values})
    study = replace(study, initial=_begun(study.initial, starts))
    numbers = {name: np.array([value], dtype=float) for name, value in given.items()}
    try:
        made = Variants(study.system, numbers).model(0)
    except ValueError as error:
        raise ValueError(f"fit: {str(error).removeprefix(f'{WHERE}: ')}") from None
    assert isinstance(made, System)
    return replace(study, system=made)


def _of_file(study: Study, fixed: Mapping[str, Any], values: Mapping[str, float]) -> Study:
    if study.remade is None or not (fixed or values):
        return study
    return study.remade({**fixed, **values})
