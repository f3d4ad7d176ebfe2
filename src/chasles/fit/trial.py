"""One experiment simulated with some values of the unknowns: residuals, and their derivatives.

Derivatives of the trajectory are exact for the method (`sensitivities`, dual numbers). What a sensor shows of a state
is differentiated along them by central differences of fourth order, good to about 1e-12, and with respect to parameters
at a fixed state by those of `Family`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from chasles.fit.moved_states import WEIGHTS, derivative_along, sprung_like, states_at
from chasles.fit.recorded_input import RecordedInput, with_inputs
from chasles.fit.sensor import Channel
from chasles.fit.unknown import BODY, PATH, START, Slot, start_of
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.method_name import named_method
from chasles.io.model_file import Study
from chasles.relative.loop.closed import ClosedMechanism
from chasles.relative.parameter.inertial import body_with
from chasles.simulation.closed.dynamics import dynamics_of
from chasles.simulation.sensitivities import sensitivities
from chasles.simulation.simulate import DEFAULT_METHOD, simulate
from chasles.simulation.states import States

ONE_SIDED = {1: 4.0, 2: -3.0, 3: 4 / 3, 4: -1 / 4}  # of changes from the middle
SAME_TIME = 1e-9  # of the span: times that are nearer count as one
STEPPING = ("method", "step", "rtol", "atol", "max_step")
LABOR, ENOUGH_LABOR = 30, 10_000  # times the evaluations of the first run, and more, that others may take
KEPT = 64  # studies of values by path
Numbers = tuple[np.ndarray, ...]  # of the slots
Made = Callable[[Mapping[str, float]], Study]


class NoMotionError(ArithmeticError):
    """The model with these values has no motion to its end."""


@dataclass(frozen=True)
class TrialPoint:
    """Values of an experiment: numbers of its slots, delays and biases of its channels."""

    slots: Numbers
    delays: tuple[float, ...]


class Trial:
    """An experiment. `made` makes the study of values by path; `slots` are its unknowns."""

    def __init__(
        self,
        name: str,
        made: Made,
        slots: list[Slot],
        channels: list[Channel],
        options: Mapping[str, Any],
        inputs: tuple[RecordedInput, ...] = (),
    ):
        self.name, self.made, self.slots, self.channels = name, made, slots, channels
        self._kept: dict[tuple[float, ...], Study] = {}
        self.most: int | None = None  # evaluations of the field: a run that takes more is none that was measured
        self.options = {key: value for key, value in options.items() if key in STEPPING and value is not None}
        method = named_method("fit", self.options.get("method", DEFAULT_METHOD))
        if not isinstance(method, ExplicitStepper.methods):
            raise ValueError(
                f"fit: {method} is not an explicit method, and derivatives of its runs are not known; give one, such "
                'as method="dopri5"'
            )
        self.options["method"] = method
        self.control, self.inputs = options.get("control"), inputs
        if inputs and self.control is not None:
            raise ValueError(f"{name}: has the input {inputs[0].name!r} in a column, and control is given; give one")
        latest = _latest(channels)
        begin, end = options.get("span", (min(one.t[0] for one in channels), np.inf))
        self.kept = [(one.t - late >= begin) & (one.t <= end) for one, late in zip(channels, latest, strict=True)]
        for one, kept, late in zip(channels, self.kept, latest, strict=True):
            if not kept.any():
                when = f"before the start at {begin:g} s" + (f" plus its delay of {late:g} s" if late else "")
                when += f", or after the end at {end:g} s" if one.t[-1] > end else ""
                raise ValueError(f"{name}: all values of {one.name!r} are {when}; give span=(start, end)")
        self.channels = [
            replace(one, t=one.t[kept], values=one.values[kept]) for one, kept in zip(channels, self.kept, strict=True)
        ]
        self.span = (float(begin), _end(self.channels))
        self.of_system = [slot.kind == BODY or (slot.kind == PATH and self._changes_system(slot)) for slot in slots]
        self.sizes = [one.off(one.values).size for one in self.channels]
        ends = [float(one.t[-1]) - one.delay for one in self.channels]
        if max(ends) <= begin:
            raise ValueError(f"{name}: the data ends at the start of the simulation, {begin:g} s; expected a motion")

    def until(self, share: float) -> Trial:
        """The experiment with the first part of its data, a share of its time; of each sensor at least one value."""
        first, last = min(one.t[0] for one in self.channels), max(one.t[-1] for one in self.channels)
        ends = [max(int(np.sum(one.t <= first + share * (last - first))), 1) for one in self.channels]
        found = copy(self)
        found.channels = [
            replace(one, t=one.t[:n], values=one.values[:n]) for one, n in zip(self.channels, ends, strict=True)
        ]
        found.span = (self.span[0], _end(found.channels))
        found.sizes = [one.off(one.values).size for one in found.channels]
        return found

    def sooner(self, share: float) -> Trial:
        """The experiment as if its times, from the start on, were a share of what they are."""
        found, begin = copy(self), self.span[0]
        found.channels = [replace(one, t=begin + share * (one.t - begin)) for one in self.channels]
        found.span = (begin, begin + share * (self.span[1] - begin))
        return found

    # ------------------------------------------------------------ the model with values

    def study(self, slots: Numbers, physical: bool = True) -> Study:
        """The study with values of the slots; physical: whether inertias have to be those of bodies."""
        pairs = list(zip(self.slots, slots, strict=True))
        study = self._of_paths({slot.path: float(x[0]) for slot, x in pairs if slot.kind == PATH})
        new = {slot.path: x for slot, x in pairs if slot.kind == BODY}
        if new:
            bodies = [
                body_with(body if physical else replace(body, physical=False), new[body.name])
                if body.name in new
                else body
                for body in study.system.bodies
            ]
            study = replace(study, system=replace(study.system, bodies=bodies))
        initial = {key: dict(study.initial.get(key, {})) for key in ("q", "v")}
        begins = [(slot, x) for slot, x in pairs if slot.kind == START]
        if not begins:
            return study
        for slot, x in begins:
            letter, _, joint = slot.path.partition(".")
            value = x
            if slot.about is not None:
                tree = study.tree().tree
                delta = np.zeros(sum(one.nv for one in tree.joints))
                delta[tree.velocities[joint]] = x
                value = study.tree().tables.configuration.retract(slot.about, delta)[tree.coordinates[joint]]
            initial[letter][joint] = tuple(value.tolist())
        return replace(study, initial={**study.initial, **initial})

    def _of_paths(self, values: dict[str, float]) -> Study:
        """The study with values by path. It is kept: bodies and starts change without it."""
        key = tuple(values.values())
        if key not in self._kept:
            if len(self._kept) >= KEPT:
                self._kept.clear()
            study = self.made(values)
            if self.inputs:
                study = replace(study, system=with_inputs(study.system, self.inputs))
            self._kept[key] = study
        return self._kept[key]

    def _changes_system(self, slot: Slot) -> bool:
        """Whether the system depends on a slot, not only its start."""
        value, others = float(slot.start[0]), {one.path: float(one.start[0]) for one in self.slots if one.kind == PATH}
        size = 1e-3 * (abs(value) or 1.0)
        for moved in (value + size, value - size):
            if slot.low[0] <= moved <= slot.high[0]:
                return self.made({**others, slot.path: moved}).system != self.made(others).system
        return True

    def run(self, point: TrialPoint) -> Any:
        """The simulation, with a point at each time at which something was measured."""
        mechanism, q, v = start_of(self.study(point.slots))
        return simulate(mechanism, self.span, q, v, progress=False, **self.how(point), max_evaluations=self.most)

    def how(self, point: TrialPoint) -> dict[str, Any]:
        """Options of the simulation."""
        inner = np.unique(np.concatenate([self.times(point), *(one.t for one in self.inputs)]))
        apart = np.diff(inner, prepend=-np.inf) > SAME_TIME * (self.span[1] - self.span[0])
        inner = inner[apart]
        inner = inner[(inner > self.span[0]) & (inner < self.span[1])]
        return {**self.options, "control": self.control, "stops": inner}

    def times(self, point: TrialPoint) -> np.ndarray:
        """All times at which something was measured, less delays; near ones once."""
        every = np.sort(np.concatenate([one.t - late for one, late in zip(self.channels, point.delays, strict=True)]))
        apart = np.diff(every, prepend=-np.inf) > SAME_TIME * (self.span[1] - self.span[0])
        return np.clip(every[apart], *self.span)

    def _rows(self, run: Any, k: int, point: TrialPoint) -> np.ndarray:
        """The points of a run that are at the times of a channel."""
        wanted = self.channels[k].t - point.delays[k]
        after = np.clip(np.searchsorted(run.t, wanted), 1, len(run.t) - 1)
        return np.where(np.abs(run.t[after] - wanted) < np.abs(run.t[after - 1] - wanted), after, after - 1)

    # ------------------------------------------------------------ residuals

    def residuals(self, point: TrialPoint) -> list[np.ndarray]:
        """Simulated less measured of each channel, (times, numbers), without biases."""
        run = self.run(point)
        if run.success and self.most is None:
            self.most = LABOR * run.solution.evaluations + ENOUGH_LABOR
        if not run.success:
            raise NoMotionError(f"{self.name}: the simulation did not get to the end: {run.message}")
        return [one.off(one.shown(self._states(run, k, point))) for k, one in enumerate(self.channels)]

    def _states(self, run: Any, k: int, point: TrialPoint) -> States:
        rows = self._rows(run, k, point)
        return states_at(run.dynamics, run, run.t[rows], run.q[rows], run.v[rows], rows)

    def derivatives(self, point: TrialPoint) -> tuple[list[np.ndarray], list[np.ndarray], list[np.ndarray]]:
        """Residuals, their derivatives by all slots (times, numbers, columns), and by the channel's delay."""
        found, run = self._tangents(point)
        results: dict[int, tuple[np.ndarray, ...]] = {}
        for group in self._groups(point):
            shown, rows = self._shown(run, group, point), self._rows(run, group[0], point)
            still = np.zeros_like(run.v[rows])
            residual = shown(run.dynamics, still, still, 0.0)
            columns = [] if found is None else self._along(found, rows, run, shown, point.slots)
            slope = np.stack(columns, axis=-1) if columns else np.zeros((*residual.shape, 0))
            late = np.zeros_like(residual)
            if any(self.channels[k].delays for k in group):
                a = states_at(run.dynamics, run, run.t[rows], run.q[rows], run.v[rows], rows).a
                late = -derivative_along(run, shown, run.v[rows], a, 1.0)
            edges = np.cumsum([self.channels[k].off(self.channels[k].values).shape[1] for k in group])[:-1]
            parts = (np.split(one, edges, axis=1) for one in (residual, slope, late))
            results |= dict(zip(group, zip(*parts, strict=True), strict=True))
        residuals, slopes, lates = ([results[k][i] for k in range(len(self.channels))] for i in range(3))
        if found is not None:
            slopes = [one + more for one, more in zip(slopes, self._explicit(found, run, point), strict=True)]
        return residuals, slopes, lates

    def _groups(self, point: TrialPoint) -> list[list[int]]:
        """Channels that measured at the same times: their states are the same."""
        found: dict[tuple[bytes, float], list[int]] = {}
        for k, channel in enumerate(self.channels):
            found.setdefault((channel.t.tobytes(), point.delays[k]), []).append(k)
        return list(found.values())

    def _shown(
        self, run: Any, group: list[int], point: TrialPoint
    ) -> Callable[[Any, np.ndarray, np.ndarray, float], np.ndarray]:
        """What channels of a group show less what they measured, (times, numbers of all of them), of a mechanism and of
        states that are moved by dq, dv and dt."""
        rows, channels = self._rows(run, group[0], point), [self.channels[k] for k in group]
        t, q, v = run.t[rows], run.q[rows], run.v[rows]

        def shown(dynamics: Any, dq: np.ndarray, dv: np.ndarray, dt: float) -> np.ndarray:
            moved = dynamics.mechanism.tables.configuration.retract(q, dq)
            states = states_at(dynamics, run, t + dt, moved, v + dv, rows)
            return np.concatenate([channel.off(channel.shown(states)) for channel in channels], axis=1)

        return shown

    def _tangents(self, point: TrialPoint) -> tuple[Any, Any]:
        """Sensitivities with a column for each number of the slots, in their order, and the run."""
        if not self.slots:
            return None, self.run(point)
        sizes = [slot.steps(x) for slot, x in zip(self.slots, point.slots, strict=True)]
        system = {f"s{k}": np.ones(len(x)) for k, x in enumerate(point.slots) if self.of_system[k]}

        mechanism, q, v = start_of(self.study(point.slots))
        made: dict[bytes, Any] = {}  # differences of tables and of sensors need the same mechanisms

        def build(**values: Any) -> Any:
            slots = tuple(  # parameters are 1 here, and their steps those of the sizes
                x + sizes[k] * (np.atleast_1d(values.get(f"s{k}", 1.0)) - 1.0) for k, x in enumerate(point.slots)
            )
            key = np.concatenate(slots).tobytes()
            if key not in made:
                made[key] = sprung_like(self.study(slots, physical=False).system, mechanism)
            return made[key]

        begins = self._start_directions(point, q, v, isinstance(mechanism, ClosedMechanism))
        more: dict[str, Any] = {"directions": begins} if begins.any() else {}
        if not system and not more:
            return None, self.run(point)
        found = sensitivities(
            build if system else mechanism,
            self.span,
            q,
            v,
            parameters=system or None,
            wrt=tuple(system),
            **more,
            **self.how(point),
        )
        return found, found.run

    def _start_directions(self, point: TrialPoint, q: np.ndarray, v: np.ndarray, closed: bool) -> np.ndarray:
        """How the start changes with each number of the slots, (2 nv, columns)."""
        columns, study = [], self.study(point.slots)
        own, tree = study.start(), study.tree().tree
        for k, slot in enumerate(self.slots):
            for j in range(len(slot.start)):
                size = 1e-3 * slot.steps(point.slots[k])[j]
                total = np.zeros(2 * len(v))
                if slot.kind == START and not closed and slot.about is None:
                    letter, _, joint = slot.path.partition(".")
                    place = tree.velocities[joint].start + (0 if letter == "q" else len(v)) + j
                    total[place] = 1.0  # which is the coordinate itself
                elif closed or slot.kind == START or (slot.kind == PATH and self._moves(point, k, j, size, own)):
                    total = self._start_slope(point, k, j, size, q, v)
                columns.append(total)
        return np.array(columns).T

    def _start_slope(self, point: TrialPoint, k: int, j: int, size: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """How the start changes with a number, by differences; to one side where there is no model on the other."""

        base = self.study(point.slots)

        @cache
        def change(step: float) -> np.ndarray:
            moved = self._moved(point, k, j, step * size)
            if _same_start(moved, base):
                return np.zeros(2 * len(v))
            mechanism, q1, v1 = start_of(moved)
            return np.concatenate([mechanism.tables.configuration.difference(q1, q), v1 - v])

        refused: Exception | None = None
        for weights in (WEIGHTS, ONE_SIDED, {-step: -weight for step, weight in ONE_SIDED.items()}):
            try:
                if not change(next(iter(weights))).any():  # nor will other changes
                    return np.zeros(2 * len(v))
                return np.sum([weight / size * change(step) for step, weight in weights.items()], axis=0)
            except ValueError as error:
                refused = refused or error
        raise ValueError(f"fit: {self.slots[k].name!r} cannot be varied by {size:g}: {refused}") from refused

    def _moves(self, point: TrialPoint, k: int, j: int, by: float, start: Any) -> bool:
        """Whether the start depends on a number; to the other side where there is no model on this one."""
        try:
            return bool(self._moved(point, k, j, by).start() != start)
        except ValueError:
            return bool(self._moved(point, k, j, -by).start() != start)

    def _moved(self, point: TrialPoint, k: int, j: int, by: float) -> Study:
        slots = [x.copy() for x in point.slots]
        slots[k][j] += by
        return self.study(tuple(slots), physical=False)

    def _along(self, found: Any, rows: np.ndarray, run: Any, shown: Any, slots: Numbers) -> list[np.ndarray]:
        """Derivatives of what is shown along those of the states."""
        nv, columns = run.dynamics.nv, []
        start = found.columns.get("directions")
        at = 0
        for k, slot in enumerate(self.slots):
            for j in range(len(slot.start)):
                state = np.zeros((len(rows), 2 * nv))
                if self.of_system[k]:
                    state += found.state[rows, :, found.columns[f"s{k}"].start + j] / slot.steps(slots[k])[j]
                if start is not None:
                    state += found.state[rows, :, start.start + at]
                columns.append(derivative_along(run, shown, state[:, :nv], state[:, nv:], 0.0))
                at += 1
        return columns

    def _explicit(self, found: Any, run: Any, point: TrialPoint) -> list[np.ndarray]:
        """How what each channel shows changes with the numbers of the slots while the state stands still, (times,
        numbers, columns)."""
        edges = np.cumsum([0, *(len(slot.start) for slot in self.slots)])
        sizes = [channel.off(channel.values).shape for channel in self.channels]
        result = [np.zeros((*size, edges[-1])) for size in sizes]
        for k, slot in enumerate(self.slots):
            own = [[c for c in group if _has_place_for(self.channels[c], slot)] for group in self._groups(point)]
            own = [group for group in own if group]
            if not self.of_system[k] or not own:
                continue
            shows = [(self._shown(run, group, point), sizes[group[0]][0]) for group in own]

            def function(mechanism: Any, shows: list[Any] = shows) -> np.ndarray:
                dynamics = dynamics_of(mechanism)
                still = np.zeros((max(count for _, count in shows), dynamics.nv))
                every = [shown(dynamics, still[:count], still[:count], 0.0).T.ravel() for shown, count in shows]
                return np.concatenate(every)

            channels = [c for group in own for c in group]
            ends = np.cumsum([np.prod(sizes[c]) for c in channels])[:-1]
            for j, step in enumerate(slot.steps(point.slots[k])):
                change = found._family.derivative(f"s{k}", j, function) / step
                for c, part in zip(channels, np.split(change, ends), strict=True):
                    result[c][..., edges[k] + j] = part.reshape(sizes[c][::-1]).T
        return result


def _same_start(one: Study, other: Study) -> bool:
    """Whether two studies start alike, as they differ in forces alone."""
    a, b = one.system, other.system
    alike = one.start() == other.start() and one.options == other.options
    return alike and replace(a, forces=b.forces, actuators=b.actuators) == b


def _has_place_for(channel: Channel, slot: Slot) -> bool:
    """Whether what a channel shows of a state may depend on the numbers of a slot."""
    return not (channel.measured.of_state or (channel.measured.of_places and slot.kind == BODY))


def _latest(channels: list[Channel]) -> list[float]:
    """By how much the values of each channel come late at most."""
    return [one.delays.high if one.delays else one.delay for one in channels]


def _end(channels: list[Channel]) -> float:
    """How long a simulation has to go on for all channels."""
    return max(float(one.t[-1]) - min(0.0, late) for one, late in zip(channels, _latest(channels), strict=True))
