"""`simulate_batch`: many runs of one model at once, with other states, inputs and parameters in each."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from chasles.cached import cached_property
from chasles.display.progress import Progress
from chasles.simulation.actuation import Input
from chasles.simulation.batch.arguments import members_of
from chasles.simulation.batch.held_inputs import inputs_at
from chasles.simulation.batch.members import Members, Outcomes, PlannedMembers, processors
from chasles.simulation.batch.variants import WHERE, Made, as_values
from chasles.simulation.motion import spoken_by
from chasles.simulation.run import Run
from chasles.simulation.run_task import Task
from chasles.simulation.start.values import Values


class Ends(NamedTuple):
    """Time, coordinates and velocities at the end, (members, ...); NaN where a member has none."""

    t: np.ndarray
    q: np.ndarray
    v: np.ndarray


class Batch:
    """Runs of one model: batch[i] is the `Run` of a member, made when it is asked for.

    `t` are the saved times and `q`, `v` (members, times, ...) the coordinates and velocities then; NaN where a member
    did not get so far. `ends` has the last point of each. `success` says which got to the end, `messages` how each
    ended, `parameters` what was varied.
    """

    def __init__(self, members: Members | PlannedMembers, outcomes: Outcomes):
        self._given, self._found = members, outcomes
        self._runs = dict(outcomes.runs)

    @property
    def parameters(self) -> Mapping[str, np.ndarray]:
        """Values of what was varied, (members, ...) each."""
        return self._given.values

    @property
    def reason(self) -> str:
        """Why the members were not on lanes; nothing if they were."""
        return self._found.reason

    def __len__(self) -> int:
        return self._given.count

    def __iter__(self) -> Iterator[Run]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: int) -> Run:
        try:
            i = range(len(self))[operator.index(index)]
        except IndexError:
            raise IndexError(f"batch[{index}]: there are {len(self)} members") from None
        except TypeError:
            raise TypeError(f"batch[{index!r}]: expected the number of a member") from None
        if i in self._found.errors:
            raise self._found.errors[i]
        if i not in self._runs:
            assert self._found.on_lanes is not None
            task, solution = self._given.plan(i), self._found.on_lanes.solution(i)
            self._runs[i] = Run(task.dynamics, solution, inputs_at(task, solution.t), task=task)
        return self._runs[i]

    def __repr__(self) -> str:
        how = f"not all on lanes: {self.reason}" if self.reason else "on lanes"
        return f"<Batch of {len(self)} runs, {int(self.success.sum())} reached the end; {how}>"

    # ------------------------------------------------------------ how it went

    @cached_property
    def _on_lanes(self) -> np.ndarray:
        """Which members have points of lanes."""
        lanes = self._found.on_lanes
        return np.zeros(len(self), dtype=bool) if lanes is None else lanes.done

    @cached_property
    def success(self) -> np.ndarray:
        """Which members came to their end, or to a terminal event, (members,)."""
        found = self._on_lanes.copy()
        for i, run in self._found.runs.items():
            found[i] = run.success
        return found

    @cached_property
    def messages(self) -> tuple[str, ...]:
        """How each member ended."""
        said = {i: f"{type(error).__name__}: {error}" for i, error in self._found.errors.items()}
        said |= {i: run.message for i, run in self._found.runs.items()}
        return tuple(said.get(i, "reached the end") for i in range(len(self)))

    @cached_property
    def steps(self) -> np.ndarray:
        """Steps that each member took, (members,)."""
        lanes = self._found.on_lanes
        found = np.zeros(len(self), dtype=np.int64) if lanes is None else lanes.steps
        for i, run in self._found.runs.items():
            found[i] = run.solution.steps
        return found

    # ------------------------------------------------------------ points

    @cached_property
    def t(self) -> np.ndarray:
        """The saved times [s], which all members have that came to the end."""
        lanes, runs = self._found.on_lanes, list(self._found.runs.values())
        times: list[np.ndarray | None] = [run.t for run in runs if run.success]
        if lanes is not None and lanes.done.any():
            times = [lanes.t, *times]
        times = times or [run.t for run in runs]
        if not times:
            raise ValueError("batch.t: no member has a point; batch.messages say why")
        first = times[0]
        if first is None or any(some is None or not np.array_equal(first, some) for some in times):
            raise ValueError(
                "batch.t: each member has its own times; batch[i].t has those of one, batch.ends the last points, and "
                "with every=... or save=times all have the same"
            )
        return first

    @property
    def q(self) -> np.ndarray:
        """Coordinates of the joints at the saved times, (members, times, nq)."""
        return self._states[0]

    @property
    def v(self) -> np.ndarray:
        """Velocities of the joints at the saved times, (members, times, nv)."""
        return self._states[1]

    @cached_property
    def _states(self) -> tuple[np.ndarray, np.ndarray]:
        t, found = self.t, list[np.ndarray]()
        if (lanes := self._found.on_lanes) is not None and lanes.done.any():
            dynamics = self[int(np.argmax(self._on_lanes))].dynamics
            found = [np.array(part) for part in dynamics.split(lanes.y)[:2]]
        for i, run in self._found.runs.items():
            both = run.q, run.v
            if not found:
                found = [np.full((len(self), len(t), part.shape[-1]), np.nan) for part in both]
            shared = min(len(run.t), len(t))
            same = int(np.logical_and.accumulate(run.t[:shared] == t[:shared]).sum())
            for target, part in zip(found, both, strict=True):
                target[i, :same] = part[:same]
        return found[0], found[1]

    @cached_property
    def ends(self) -> Ends:
        """The last point of each member, whatever its steps: t (members,), q (members, nq), v (members, nv)."""
        rows: dict[int, tuple[Any, ...]] = {i: (run.t[-1], run.q[-1], run.v[-1]) for i, run in self._found.runs.items()}
        if (lanes := self._found.on_lanes) is not None and lanes.done.any():
            members = np.flatnonzero(lanes.done).tolist()
            ends = [lanes.last(i) for i in members]
            q, v, _ = self[members[0]].dynamics.split(np.array([y for _, y in ends]))
            rows |= {i: (t, *both) for i, (t, _), *both in zip(members, ends, q, v, strict=True)}
        if not rows:
            raise ValueError("batch.ends: no member has a point; batch.messages say why")
        nothing = [np.full(np.shape(part), np.nan) for part in next(iter(rows.values()))]
        columns = zip(*(rows.get(i, nothing) for i in range(len(self))), strict=True)
        return Ends(*(np.array(column) for column in columns))


@spoken_by(WHERE)
def simulate_batch(
    system: Made | Callable[..., Any],
    span: tuple[float, float],
    q: Values | None = None,
    v: Values | None = None,
    *,
    parameters: Mapping[str, ArrayLike] | None = None,
    control: Input | None = None,
    period: float | None = None,
    threads: int | None = None,
    progress: bool | None = None,
    save: Any = None,
    every: float | None = None,
    **options: Any,
) -> Batch:
    """Simulate a model many times at once, with other initial states, inputs and parameters in each member.

    q, v: (members, n), or (n,) for all; by name {"elbow": (members,)}. parameters: values by name, (members,) or
    (members, ...) each. They are places of the system, "bodies.arm.mass", "joints.knee.stiffness", "gravity"; or
    arguments of a function, given as `system`, that returns a System. control: constant inputs (members, inputs); or
    with `period` [s] sequences of them (members, periods, inputs), each held for a period.

    In joint coordinates, trees and loops run four at a time on SIMD lanes with an explicit method, each member with its
    own steps if they follow the error; all others one by one. Both run on `threads` threads, by default one for each
    processor. The result of a member is bit-identical at every place in the batch and with any number of threads. It
    agrees with `simulate` to rounding. A member that fails keeps its message, and the others continue.

    By default only the first and the last point are saved; give `every` or `save`. Other options are those of
    `simulate`.
    """
    kept = {"every": every, "save": save if save is not None else "final" if every is None else "all"}
    rows = {"q": q, "v": v, "control": control}
    members = Members(system, span, rows, parameters, period, options | kept)
    return carried_out_batch(members, threads, progress)


def carried_out_batch(members: Members | PlannedMembers, threads: int | None, progress: bool | None) -> Batch:
    """The runs of all members."""
    workers = processors() if threads is None else threads
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers < 1:
        raise ValueError(f"{WHERE}: threads is {threads!r}; expected a positive whole number")
    with Progress(0, members.count, progress, what="", unit=" members") as line:
        return Batch(members, members.run(int(workers), line.show))


def batch_of_plans(
    plan: Callable[[Mapping[str, Any]], Task],
    parameters: Mapping[str, ArrayLike],
    threads: int | None,
    progress: bool | None,
) -> Batch:
    """The runs of tasks that a function makes of values of parameters, (members,) each."""
    raw = as_values(parameters)
    count = members_of([(f"parameter {name!r}", len(value)) for name, value in raw.items() if value.ndim])
    values = {name: value if value.ndim else np.full(count, value) for name, value in raw.items()}

    def one(i: int) -> Task:
        return plan({name: value[i].tolist() for name, value in values.items()})

    return carried_out_batch(PlannedMembers(one, values, count), threads, progress)
