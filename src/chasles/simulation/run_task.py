"""All that determines a run, and how it is carried out: at once, or written to a file and continued from there."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from chasles import caution
from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.integrate.event import Event
from chasles.integrate.fixed_step import StepError
from chasles.integrate.solution import Solution
from chasles.integrate.stepper import KEPT_SO_FAR, LOG, Interrupted, NotFiniteError, Sink
from chasles.registry import service
from chasles.relative.loop.closed import ClosedMechanism
from chasles.simulation.actuation import Input
from chasles.simulation.closed.energy_jumps import dead_point, reached, singular_at_end
from chasles.simulation.laws.refusal import law_without_number
from chasles.simulation.motion import motion_stepper, solve_motion, spoken_by
from chasles.simulation.rod_motion import strange_elements
from chasles.simulation.run import Run
from chasles.simulation.runaway import explained, runs_away
from chasles.simulation.sampled_run import SampledRun
from chasles.simulation.start.values import StartValue, start_values
from chasles.simulation.states import States
from chasles.simulation.stiffness import warn_if_stiff

Controller = Callable[[float, np.ndarray, np.ndarray], Input]
MOST_SAMPLES = 10**8  # of a controller in a run
NOT_OF_THE_RUN = ("system", "progress", "file")  # arguments of `simulate` that do not change what it computes


class Recorder(Sink, Protocol):
    """Writes a run to a file while it goes on."""

    def piece(self, solution: Solution, given: np.ndarray) -> None:
        """Take the points of a sampling period, with the input held in it."""

    def stretch(self, rows: np.ndarray, events: list[Any], memory: dict[str, np.ndarray], why: str, last: bool) -> None:
        """Take the points (time, state) and events up to a change of what is held, and what is needed to go on there;
        `why` there is no curve through them."""

    def finish(self, solution: Solution, progress: bool | None) -> Any:
        """Complete the file; the run that is in it."""

    def fail(self, error: BaseException) -> None:
        """Note in the file what ended the run."""


@dataclass(frozen=True)
class Task:
    """What `simulate` made of its arguments. `more` are the options of `solve`, `u` are constant generalized forces;
    or a controller is asked for them every `period` [s]."""

    dynamics: Any
    method: Any
    span: tuple[float, float]
    state: np.ndarray
    more: dict[str, Any]
    u: np.ndarray | None = None
    controller: Controller | None = None
    period: float | None = None
    certificate: bool | float = True  # whether the run is to be judged, or with which effort
    given: dict[str, Any] | None = None  # all arguments of `simulate`, to do it again; None in old files

    @property
    def options(self) -> dict[str, Any]:
        """How steps are chosen, for the certificate."""
        return {name: self.more.get(name) for name in ("step", "rtol", "atol", "max_step")}

    @property
    def watched(self) -> tuple[Event, ...]:
        """The events that `run.events` can have: those of the user, and those of rigid limits and friction."""
        own = self.dynamics.set_valued
        return (*self.more["events"], *(() if own is None else (*own.limits, *own.changes.values())))

    def constant(self, points: int) -> np.ndarray | None:
        """The constant input at so many points, as it was given; None if there is none."""
        if self.u is None:
            return None
        control = (self.given or {}).get("control")
        given = np.atleast_1d(np.asarray(self.u if control is None else control, dtype=float))
        return np.broadcast_to(given, (points, len(given)))

    @property
    def begin(self) -> States:
        """The motion at the start: q, v, poses, ..."""
        return self.states(self.span[0], self.state)

    def states(self, t: float, state: np.ndarray) -> States:
        """The motion at a time."""
        there = Solution(self.dynamics.space, self.method, np.array(t), state, True, "")
        return States(self.dynamics, there, None if self.u is None else self.constant(1))

    @property
    def start_values(self) -> tuple[StartValue, ...]:
        """The start that was taken, in joint coordinates."""
        return start_values(self.begin, self.given or {}, self.dynamics.start_changes)

    @spoken_by("simulate")
    def check(self) -> None:
        """Raise what would be found to be wrong before the first step."""
        if self.controller is not None:
            self.edges()
            return
        own = self.dynamics.set_valued  # what is held is decided in the run
        dynamics = self.dynamics if own is None else self.dynamics.locked((), self.begin.q, self.span[0])
        try:
            with self.dynamics.calling():
                motion_stepper(dynamics, self.method, self.span, self.state, self.u, **self.more)
        except NotFiniteError as error:
            self.explain_start(error)
            raise

    def explain_start(self, error: NotFiniteError) -> None:
        """Say more of a start at which accelerations are not finite, or raise what the equations of motion say."""
        if told := law_without_number(self, self.span[0], self.state):
            error.args = (f"simulate: {told}, at the start",)
            return
        self.dynamics.explain_start(self.state, self.u)

    def recorder(self, file: str | Path) -> Recorder:
        """What writes the run to a file."""
        return service("recorder")(Path(file), self)

    @spoken_by("simulate")
    def carry_out(
        self,
        progress: bool | None = None,
        recorder: Recorder | None = None,
        resume: dict[str, np.ndarray] | None = None,
        after: tuple[int, np.ndarray] | None = None,
        made: Any = None,
    ) -> Run:
        """The run. `resume` is a checkpoint of `solve`; `after` are the sampling periods that are done, and the state
        then; `made`: the stepper of this run, under way."""
        stop: Interrupted | None = None
        if resume is None and after is None:
            for line in strange_elements(self.begin.rods):
                caution.warn(f"simulate: at the start {line}")
        try:
            if self.controller is None:
                try:
                    solution = solve_motion(
                        *(self.dynamics, self.method, self.span, self.state, self.u),
                        **self.more,
                        resume=resume,
                        progress=progress,
                        sink=recorder,
                        made=made,
                    )
                except Interrupted as interrupted:
                    stop, solution = interrupted, interrupted.result
                given = self.constant(len(solution.t))
            else:
                solution, given, stop = SampledRun(self, recorder).carry_out(progress, *(after or (0, self.state)))
        except BaseException as error:  # a file is closed whatever happens
            if recorder is not None:
                recorder.fail(error)
            if isinstance(error, NotFiniteError):
                self.explain_start(error)
            elif isinstance(error, ArithmeticError) and (told := law_without_number(self, self.span[0], self.state)):
                raise NotFiniteError(f"simulate: {told}, at the start") from None
            elif isinstance(error, StepError) and len(error.solution.t):
                told = law_without_number(self, *reached(error.solution)) or dead_point(self.dynamics, error.solution)
                told = told or next(strange_elements(self.states(*reached(error.solution)).rods), "")
                told = told or runs_away(self, error.solution) or singular_at_end(self.dynamics, error.solution)
                error.args = (f"{error}; {told}" if told else str(error),)
            raise
        if stop is not None:
            LOG.info("simulate: %s; %s", stop, KEPT_SO_FAR)
        elif self.controller is None:
            warn_if_stiff(self, solution)
        if recorder is None:
            run = Run(self.dynamics, explained(self, solution), given, task=self)
        else:
            run = recorder.finish(solution, progress)
        if stop is not None:
            raise Interrupted(f"simulate: {stop if run.success else run.message}", run) from None
        return run

    def edges(self) -> np.ndarray:
        """The times at which a controller is asked, and the end."""
        assert self.period is not None
        start, end = self.span
        wanted = (end - start) / self.period * (1 - 1e-12)
        if not wanted <= MOST_SAMPLES:
            raise ValueError(
                f"simulate: the controller would be asked {wanted:.3g} times; at most {MOST_SAMPLES}: take a longer "
                "period, or a shorter span"
            )
        count = max(1, int(np.ceil(wanted)))
        return np.minimum(start + self.period * np.arange(count + 1), end)


def as_given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `simulate` as a task keeps them: arrays are copies, and a mechanism is what it was compiled
    with, in words of `simulate` and of model files. `compiled` has what these have no words for."""
    system = arguments["system"]
    given: dict[str, Any] = {}
    for name, value in arguments.items():
        if name == "events":
            given[name] = tuple(value)
        elif isinstance(value, np.ndarray | list):
            given[name] = np.array(value)
        elif name not in NOT_OF_THE_RUN:
            given[name] = copy.deepcopy(value) if isinstance(value, Mapping) else value
    if isinstance(system, ClosedMechanism) and given["coordinates"] == "relative" and system.cut:
        given["cut"] = list(system.cut)
    if isinstance(system, AbsoluteMechanism):
        spaces = set(system.spaces.values())
        given |= {"coordinates": "absolute", "space": spaces.pop() if len(spaces) == 1 else dict(system.spaces)}
        used = given["baumgarte"] if given["stabilization"] == "baumgarte" else (0.0, 0.0)
        inputs = given["control"] is not None or given["controller"] is not None
        notes = []
        if tuple(map(float, used)) != tuple(map(float, system.baumgarte)):
            notes.append(f"a mechanism that was compiled with baumgarte={system.baumgarte}")
        if system.inputs and not inputs:
            notes.append("a mechanism that was compiled with inputs=True")
        if not system.every_angle:
            notes.append("a mechanism that was compiled with every_angle=False")
        if notes:
            given["compiled"] = notes
    return given
