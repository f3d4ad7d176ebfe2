"""Runs of explicit methods, ready to be taken backward: what gradients in joint and in absolute coordinates share."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from chasles.integrate import blocks
from chasles.integrate import explicit_layout as layout
from chasles.integrate.engine import short_of
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.explicit_layout import SET
from chasles.integrate.options import Options
from chasles.integrate.scalar import ON_DUALS
from chasles.kernel.lanes import buffer
from chasles.simulation.actuation import Actuation
from chasles.simulation.adjoint.answer import Answer
from chasles.simulation.adjoint.blocks import seeds_of
from chasles.simulation.adjoint.steps import OF_CORRECTION, steps_back
from chasles.simulation.periods import held_inputs
from chasles.simulation.run import Run

EVERY = slice(None)
LOOK, HUGE = 50, 1e100  # steps after which cotangents are looked at, and by how much they grow if they overflow
UNUSUAL = 1e10  # a growth that is told


class Through(NamedTuple):
    """What cotangents go through: addresses of what takes them through the field and the correction, the memories of
    these, and how many numbers they find beside those of inputs."""

    pulls: np.ndarray
    field: np.ndarray
    correction: np.ndarray
    numbers: int


class RetakenStep(NamedTuple):
    """A step that is taken again: the method, what its field reads at each stage, the points of the stages and where
    among them those of the stages begin, times and sizes of all steps."""

    stepper: ExplicitStepper
    parameters: np.ndarray
    points: np.ndarray
    first: int
    times: np.ndarray
    sizes: np.ndarray


class BackwardSweep:
    """A run of an explicit method."""

    def __init__(self, run: Run, actuation: Actuation, nv: int, each: bool):
        """nv: of forces along joints. each: whether the input of each step counts by itself."""
        self.dynamics, self.actuation, self.forces_count, self.each = run.dynamics, actuation, nv, each
        self.take(run)

    def take(self, run: Run) -> None:
        """The run that is taken backward, or a piece of it."""
        self.run = run
        self.inputs, self.which = held_inputs(run, self.actuation)
        self.period = self.which
        if self.each:
            self.inputs, self.which = self.inputs[self.which[1:]], np.arange(-1, len(run.t) - 1).clip(0)
        self.controls = self.actuation.along(self.inputs) if len(self.inputs) else np.zeros((1, self.forces_count))

    notes: tuple[str, ...] = ()
    chunk: int | None = None  # steps after which something is done, by `passed`
    at_event = False  # whether an event ended the run, so that the last point is not corrected

    def through(self, step: RetakenStep) -> Through:
        """What cotangents go through in each step."""
        raise NotImplementedError

    def passed(self) -> None:
        """After some steps."""

    def kicks(self, by_q: np.ndarray, by_v: np.ndarray, at: slice = EVERY) -> np.ndarray:
        """Cotangents of the points of the integrator from derivatives by the numbers q and v."""
        raise NotImplementedError

    def back(self, kicks: np.ndarray, answer: Answer | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Cotangents of the first point, of the generalized forces of each input, and of numbers or directions. answer:
        how a controller answers, if it counts."""
        run, dynamics, nv = self.run, self.dynamics, self.forces_count
        held, more = np.zeros_like(self.controls), run.task.more
        if len(run.t) == 1:
            return kicks[0], held, np.zeros(0)
        times, y = run.t, np.ascontiguousarray(run.solution.y)
        span, whole = (float(times[0]), float(times[-1])), Options(step=abs(times[-1] - times[0]), save="final")
        stepper = ExplicitStepper(dynamics.problem(self.controls[0]), run.solution.method, span, y[0], whole)
        stops = np.concatenate([np.ravel(() if (x := more.get(name)) is None else x) for name in ("stops", "breaks")])
        stopped = np.isin(times, stops)
        begins = np.where(stopped, np.nextafter(times, np.copysign(np.inf, span[1] - span[0])), times)
        sizes = np.diff(times, prepend=times[0])
        for k in np.flatnonzero(stopped[1:]) + 1:
            sizes[k] = short_of.py_func(times[k - 1], times[k])
        stages, n, d = int(stepper.settings[SET.stages]), stepper.space.size, stepper.space.dimension
        needed = {blocks.MOVE} | ({blocks.PULLBACK} if stepper.settings[SET.family] == layout.MUNTHE_KAAS else set())
        factors = max(stages + 1, int(stepper.program[: stages + 1, 2].max(initial=0)))
        room = (
            *(np.zeros(stages * d), np.zeros(stages * d), np.zeros(factors * d), np.zeros((factors + stages + 1) * n)),
            *(np.zeros(stages * d), np.zeros(stages * max(n, d)), np.zeros(d), np.zeros(2 * d)),
        )
        y_bar = np.zeros(n)
        seeds = *seeds_of(stepper.space, blocks.MOVE), *seeds_of(stepper.space, blocks.PULLBACK)
        parameters = np.repeat(stepper.p[None], stages, axis=0)
        first = 0 if stepper.settings[SET.family] == layout.MUNTHE_KAAS else factors
        through = self.through(RetakenStep(stepper, parameters, room[3].reshape(-1, n), first, times, sizes))
        g, duals, integers = np.zeros(nv + through.numbers), buffer(3 * max(n, d)), np.zeros(5, dtype=np.int64)
        given = np.zeros(n), y_bar, np.zeros(n), duals, through.field, integers, through.correction
        on_duals = stepper.operations(*needed, on=ON_DUALS)

        def sweep(part: slice, pushed: np.ndarray) -> None:
            """The steps between some points, with cotangents that the points have for themselves."""
            first, end, _ = part.indices(len(times))
            if end == len(times) and self.at_event and end - first > 2:
                sweep(slice(end - 2, end), pushed[-2:])
                pushed, end = np.concatenate([pushed[:-2], y_bar[None]]), end - 1
            pulls = through.pulls.copy()
            if end == len(times) and self.at_event:
                pulls[OF_CORRECTION] = 0
            for last in range(end - 1, first, -(self.chunk or end)):
                own = slice(max(last - (self.chunk or end), first), last + 1)
                here = pushed[own.start - first : own.stop - first]
                if last < end - 1:
                    here = np.concatenate([here[:-1], y_bar[None]])
                steps_back(
                    *(stepper.space.table, stepper.addresses, on_duals, stepper.settings),
                    (stepper.a, stepper.b, stepper.c, stepper.extra, stepper.program),
                    *((times[own], sizes[own], begins[own]), y[own], here),
                    *((self.which[own], self.controls, held, dynamics.control.start), parameters, stepper.address),
                    *(pulls, room, seeds, g, given),
                )
                self.passed()

        with dynamics.calling(tangents=True):
            if answer is None:
                sweep(EVERY, kicks)
            else:
                self._answered(answer, sweep, kicks, y_bar, held)
            if not np.isfinite(y_bar).all() and np.isfinite(kicks).all():
                self._require_moderate(sweep, kicks, y_bar)
        growth = np.abs(y_bar).max() / (np.abs(kicks).sum(axis=0).max() or 1.0)
        if growth > UNUSUAL:
            told = (
                f"derivatives grow by {growth:.1g} over the run, as those of chaotic motions do: they are those of what"
            )
            self.notes = (*self.notes, f"{told} was computed, and say little about the motion")
        return y_bar, held, g[nv:]

    def _require_moderate(self, sweep: Any, kicks: np.ndarray, y_bar: np.ndarray) -> None:
        """RuntimeError if cotangents grow beyond all numbers on their way back."""
        last, pushed, size = len(kicks) - 1, kicks[-1], 0.0
        while last > 0:
            first = max(last - LOOK, 0)
            sweep(slice(first, last + 1), np.concatenate([kicks[first:last], pushed[None]]))
            if not np.isfinite(y_bar).all():
                break
            last, pushed, size = first, y_bar.copy(), float(np.abs(y_bar).max())
        if size > HUGE * np.abs(kicks).max():
            t = self.run.t
            raise RuntimeError(
                f"gradient: the derivative by the state at t = {t[last]:.6g} s is {size:.2g} already, and grows beyond "
                f"all numbers before t = {t[first]:.6g} s: the motion depends on its start so strongly, as a chaotic "
                "one does, that a gradient over this span says nothing; take a shorter one"
            )

    def _answered(self, answer: Answer, sweep: Any, kicks: np.ndarray, y_bar: np.ndarray, held: np.ndarray) -> None:
        """The steps of each period, last first, and how its input answers to the point that it begins at."""
        pushed = kicks[-1]
        for number in range(int(self.period[-1]), -1, -1):
            own = np.flatnonzero(self.period[1:] == number) + 1
            first, rows = int(own[0]) - 1, np.unique(self.which[own])
            part = slice(first, int(own[-1]) + 1)
            sweep(part, np.concatenate([kicks[first : own[-1]], pushed[None]]))
            weights = self.actuation.back(self.inputs[rows], held[rows]).sum(axis=0)
            by_q, by_v = answer.at(first)
            here = slice(first, first + 1)
            pushed = y_bar + self.kicks((weights @ by_q)[None], (weights @ by_v)[None], here)[0]
        y_bar[:] = pushed

    def of_inputs(self, name: str, held: np.ndarray) -> np.ndarray:
        """The gradient by "control" or "inputs", from the cotangents of the forces that were held."""
        found = self.actuation.back(self.inputs, held)
        if name == "inputs":
            return found
        total = np.zeros((self.period[-1] + 1, found.shape[1]))
        np.add.at(total, self.period[1:] if len(found) > len(total) else np.arange(len(found)), found)
        return total if self.run.task.controller is not None else total[0]
