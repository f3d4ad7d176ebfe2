"""All that determines a run, and how it is carried out: at once, or written to a file and continued from there."""

from __future__ import annotations

import importlib
import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from chasles.integrate.progress import Progress
from chasles.integrate.run import Attention, Sink
from chasles.integrate.solution import Solution
from chasles.simulation.motion import solve_motion
from chasles.simulation.pace import Pace

Controller = Callable[[float, np.ndarray, np.ndarray], ArrayLike]
MOST_SAMPLES = 10**8  # of a controller in a run
JUMPS = "the input of a sampled controller jumps between the points"


class Recorder(Sink, Protocol):
    """Writes a run to a file while it goes on."""

    def piece(self, solution: Solution, u: np.ndarray) -> None:
        """Take the points of a sampling period, with the input held in it."""

    def finish(self, solution: Solution, progress: bool | None) -> Any:
        """Complete the file; the run that is in it."""

    def fail(self, error: BaseException) -> None:
        """Note in the file what ended the run."""


@dataclass(frozen=True)
class Task:
    """What `simulate` made of its arguments. `more` are the options of `solve`, `u` are constant generalised forces;
    or a controller is asked for them every `period` [s]."""

    dynamics: Any
    make: type
    method: Any
    span: tuple[float, float]
    state: np.ndarray
    more: dict[str, Any]
    u: np.ndarray | None = None
    controller: Controller | None = None
    period: float | None = None
    certificate: bool = True  # whether the run is to be judged

    @property
    def options(self) -> dict[str, Any]:
        """How steps are chosen, for the certificate."""
        return {name: self.more.get(name) for name in ("step", "rtol", "atol", "max_step")}

    def recorder(self, file: str | Path) -> Recorder:
        """What writes the run to a file. Files are a layer above this one, loaded only if one is wanted."""
        return importlib.import_module("chasles.io.result.writer").ResultWriter.start(Path(file), self)

    def carry_out(
        self,
        progress: bool | None = None,
        recorder: Recorder | None = None,
        resume: dict[str, np.ndarray] | None = None,
        after: tuple[int, np.ndarray] | None = None,
    ) -> Any:
        """The run. `resume` is a checkpoint of `solve`; `after` are the sampling periods that are done, and the state
        then."""
        try:
            if self.controller is None:
                solution = solve_motion(
                    *(self.dynamics, self.method, self.span, self.state, self.u),
                    **self.more,
                    resume=resume,
                    progress=progress,
                    sink=recorder,
                )
                if recorder is None:
                    held = None if self.u is None else np.broadcast_to(self.u, (len(solution.t), len(self.u)))
                    return self.make(
                        self.dynamics, self.dynamics.explained(solution), self.options, controls=held, task=self
                    )
            else:
                pieces, inputs = self._sampled(recorder, progress, *(after or (0, self.state)))
                if recorder is None:
                    held, solution = _held(pieces, inputs), self.dynamics.explained(_joined(pieces))
                    return self.make(self.dynamics, solution, self.options, controls=held, task=self)
                nothing = Solution(self.dynamics.space, self.method, np.empty(0), np.empty(0), True, "reached the end")
                solution = pieces[-1] if pieces else nothing  # if all periods were done before
        except BaseException as error:  # a file is closed whatever happens
            if recorder is not None:
                recorder.fail(error)
            if isinstance(error, ValueError) and "not finite at the start" in str(error):
                self.dynamics.explain_start(self.state, self.u)
            raise
        return recorder.finish(solution, progress)

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

    def _sampled(self, recorder: Recorder | None, progress: bool | None, done: int, state: np.ndarray):
        """A run in pieces, each with the input that the controller gave at its begin."""
        dynamics, more, actuation = self.dynamics, self.more, self.dynamics.actuation()
        assert self.controller is not None
        if self.span[1] < self.span[0]:
            raise ValueError("simulate: a sampled controller runs forwards in time; the end is before the start")
        if not isinstance(more["save"], str) and not isinstance(more["save"], int | np.integer):
            raise ValueError('simulate: with a controller, save is "all", "final" or a number of steps')
        pieces: list[Solution] = []
        inputs: list[np.ndarray] = []
        edges, left, pace = self.edges(), more.get("max_evaluations"), Pace(dynamics)
        with Attention() as attention, Progress(*self.span, progress, at=float(edges[done])) as line:
            for first, last in itertools.pairwise(edges[done:]):
                q, v = dynamics.coordinates(state)
                u = actuation.forces(self.controller(float(first), q.copy(), v.copy()))
                piece = dict(more, step=min(more["step"], last - first) if more["step"] else None)
                motion = partial(solve_motion, dynamics, self.method, (first, last), state, u, progress=False)
                solution = pace.period(motion, piece, left)
                if attention.called and solution.success and last != edges[-1]:
                    message = f"interrupted at t = {solution.t[-1]:.8g}"
                    warnings.warn(
                        f"simulate: {message}; what there is so far is returned", RuntimeWarning, stacklevel=4
                    )
                    solution = replace(solution, success=False, message=message)
                if recorder is not None:
                    recorder.piece(solution, u)
                    pieces = [solution]
                else:
                    pieces.append(solution)
                    inputs.append(u)
                left = None if left is None else left - solution.evaluations
                state = solution.y[-1]
                line.show(float(last))
                if not solution.success or solution.t[-1] != last:
                    break
        return pieces, inputs


def _joined(pieces: list[Solution]) -> Solution:
    """One solution of pieces that follow each other; where two meet, the point of the earlier is kept."""
    keep = [slice(0, None)] + [slice(1, None)] * (len(pieces) - 1)
    last = pieces[-1]
    total = {
        name: sum(getattr(piece, name) for piece in pieces)
        for name in ("steps", "rejections", "evaluations", "exponentials", "commutators", "seconds")
    }
    return replace(
        last,
        t=np.concatenate([piece.t[k] for piece, k in zip(pieces, keep, strict=True)]),
        y=np.concatenate([piece.y[k] for piece, k in zip(pieces, keep, strict=True)]),
        events=[event for piece in pieces for event in piece.events],
        slopes=None,
        moves=None,
        no_curve=JUMPS,
        **total,
    )


def _held(pieces: list[Solution], inputs: list[np.ndarray]) -> np.ndarray:
    rows = [
        np.broadcast_to(u, (len(piece.t) - (k > 0), len(u)))
        for k, (piece, u) in enumerate(zip(pieces, inputs, strict=True))
    ]
    return np.concatenate(rows)
