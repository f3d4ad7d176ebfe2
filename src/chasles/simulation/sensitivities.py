"""Sensitivities of simulated trajectories: `sensitivities(system, span, ...)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from chasles.absolute.mechanism import AbsoluteMechanism
from chasles.integrate.explicit import ExplicitStepper
from chasles.integrate.method_name import named_method
from chasles.integrate.options import Options, check_span, saving
from chasles.integrate.replay import Replay
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism, in_joint_coordinates
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.adjoint.answer import Answer, ControllerSlopes
from chasles.simulation.closed.sensitivities import ClosedStart
from chasles.simulation.closed.tangent import ClosedTangentTables, tangent_addresses, varying
from chasles.simulation.nonsmooth.set_valued import refuse_sticking
from chasles.simulation.parameter_family import Family
from chasles.simulation.periods import Varied, chained, held_inputs, sequence_of
from chasles.simulation.places import family_of, named_places
from chasles.simulation.run import Run
from chasles.simulation.run_task import Controller
from chasles.simulation.simulate import DEFAULT_METHOD, simulate
from chasles.simulation.tree.tangent import TangentTables

Made = System | Mechanism | ClosedMechanism
EVERY = slice(None)


@dataclass(frozen=True)
class Sensitivities:
    """Derivatives of a simulated trajectory, at times `t`; `run` is the trajectory itself.

    sensitivities["q"], ["v"], ["control"] and ["name of a parameter"] are derivatives of the state at each time,
    (times, 2 nv, ...), by a sequence of inputs (times, 2 nv, periods, inputs). They are with respect to initial
    coordinates, initial velocities, the input, the parameter. The first nv rows are δq, the change of q along q exp(δ),
    the others δv. The initial q changes along q exp(δ) too. `state` has all columns, (times, 2 nv, columns), `columns`
    says which are whose; `work` is the derivative of the work. `notes` tells where derivatives are not exact ones of
    what was computed.
    """

    run: Run
    t: np.ndarray
    state: np.ndarray
    work: np.ndarray
    columns: dict[str, slice]
    notes: tuple[str, ...]
    _points: np.ndarray = field(repr=False)  # which points of the run are at t
    _family: Family | None = field(repr=False)
    _periods: int = field(default=0, repr=False)  # of a sequence of inputs

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise KeyError(f"no sensitivities with respect to {name!r}; there are {', '.join(map(repr, self.columns))}")
        part = self.state[..., self.columns[name]]
        shape = self._family.values[name].shape if self._family and name in self._family.values else part.shape[-1:]
        if name == "control" and self._periods:
            shape = (self._periods, part.shape[-1] // self._periods)
        return part.reshape(*part.shape[:-1], *shape)

    @property
    def q(self) -> np.ndarray:
        """The coordinates at the times, (times, nq)."""
        return self.run.q[self._points]

    def pose(self, frame: str) -> np.ndarray:
        """Derivative of a frame's pose along g exp(δ), (times, 6, columns): turn and shift in the frame's own axes.

        With respect to a parameter this counts both how the trajectory changes and where the frame is.
        """
        mechanism = self.run.dynamics.mechanism
        jacobian = mechanism.jacobian(self.q, frame)
        result = jacobian @ self.state[:, : mechanism.nv]
        for name, part in self.columns.items():
            if self._family and name in self._family.values:
                for k in range(part.stop - part.start):
                    result[..., part.start + k] += self._explicit(name, k, frame)
        return result

    def position(self, frame: str) -> np.ndarray:
        """Derivative of a frame's origin in space, (times, 3, columns) [m per unit]."""
        rotation = pose_group.to_matrix(self.run.dynamics.mechanism.poses(self.q, frame))[..., :3, :3]
        return rotation @ self.pose(frame)[:, 3:]

    def _explicit(self, name: str, index: int, frame: str) -> np.ndarray:
        """How a frame moves with a parameter while q stands still, (times, 6)."""
        assert self._family is not None
        back = pose_group.inverse(self.run.dynamics.mechanism.poses(self.q, frame))

        def moved(mechanism: Mechanism) -> np.ndarray:
            return pose_group.log(pose_group.compose(back, mechanism.poses(self.q, frame)))

        return self._family.derivative(name, index, moved)


def sensitivities(
    system: System
    | Mechanism
    | ClosedMechanism
    | AbsoluteMechanism
    | Callable[..., System | Mechanism | ClosedMechanism],
    span: tuple[float, float],
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    *,
    parameters: Mapping[str, Any] | None = None,
    wrt: Sequence[str] | None = None,
    directions: ArrayLike | None = None,
    control: ArrayLike | None = None,
    controller: Controller | None = None,
    period: float | None = None,
    slopes: ControllerSlopes | None = None,
    method: Any = DEFAULT_METHOD,
    step: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    max_step: float | None = None,
    stops: ArrayLike | None = None,
    save: Any = "all",
    threads: int | None = None,
) -> Sensitivities:
    """Simulate a system in joint coordinates, and differentiate what was computed, by explicit methods.

    With loops or constraints "q" and "v" are independent numbers of the start, and the others follow.

    wrt: with respect to what: "q" and "v", the initial state (the default), "control", the input, numbers of the system
    by name ("bodies.arm.mass", "joints.elbow.damping"), and names of `parameters`; or, with `directions` (2 nv, m), the
    initial state along these directions only, ["directions"].
    parameters: names and values; then `system` is a function of them that returns a System, and by default the
    derivatives with respect to all of them are taken too.

    control: a constant input or, with `period` [s], a sequence (periods, inputs), each held for a period; then
    ["control"] is (times, 2 nv, periods, inputs). Or `controller` and `period` as in `simulate`: what it gives are
    given numbers, unless `slopes`, a function of (t, q, v), gives the derivatives of its inputs by q (inputs, nq) and v
    (inputs, nv); then ["control"] is with respect to what is added to its input in each period.

    The derivatives are those of the discrete method, exact to rounding. The steps of an adaptive run are held constant:
    it is differentiated as if its steps had been prescribed. Other arguments as in `simulate`; save: "all", "final" or
    a number of steps. Three directions are taken at once, on `threads` threads (default: one for each processor).
    """
    asked = [wrt] if isinstance(wrt, str) else [*(wrt or ())]
    names = named_places(asked, parameters) + ["gravity"] * ("gravity" in asked)
    if names and not parameters and isinstance(system, System | Mechanism | ClosedMechanism):
        system, parameters = family_of(system if isinstance(system, System) else system.system, names, "sensitivities")
    family, mechanism = _given(system, parameters)
    refuse_sticking("sensitivities", mechanism.system)
    method = named_method("sensitivities", method)
    if not isinstance(method, ExplicitStepper.methods):
        raise ValueError(
            f"sensitivities: {method} is not an explicit one; take RKMK, CommutatorFree, CrouchGrossman or LowStorage. "
            "Runs in absolute coordinates, by explicit methods or GeneralizedAlpha, are differentiated by `gradient`"
        )
    every = saving(save)
    if every is None:
        raise ValueError(f'sensitivities: save={save!r}; expected "all", "final" or a number of steps')
    held = _check_inputs(control, controller, period, slopes, span)
    options: dict[str, Any] = {"method": method, "step": step, "rtol": rtol, "atol": atol}
    options |= {"max_step": max_step, "stops": stops, **held}
    run = simulate(mechanism, span, q, v, coordinates="relative", progress=False, **options)
    if not run.success:
        raise RuntimeError(f"sensitivities: the simulation did not get to the end: {run.message}")
    rows = _rows(len(run.t), every)
    chosen = np.flatnonzero(rows >= 0)
    dynamics, actuation = run.dynamics, Actuation.of_tree(mechanism)
    tables = tables_of(run)
    start = StartTangents(run, tables)
    inputs = held_inputs(run, actuation)[0]
    sampled = run.task.controller is not None
    columns, states, shifts, forces = _columns(start, actuation, inputs, sampled, family, wrt, directions)
    if not sampled or len(run.t) == 1:
        shifts = np.concatenate([shifts, forces[0]])
        with dynamics.calling(tangents=True):
            points = _tangents(run, tables, start.points(states), shifts, rows, threads)
        state, work = start.states(points, run.q[chosen][:, None], run.v[chosen][:, None]), points[:, -1]
    else:
        own = columns.get("control", slice(0, 0))
        with dynamics.calling(tangents=True):
            state, work = _by_periods(run, start, states, shifts, forces, own, rows, slopes, threads)
    _require_finite(state, run.t[chosen], columns)
    notes = tuple(law.note for law in tables.laws if law.note)
    if step is None:
        notes = ("the steps of the adaptive method are held constant", *notes)
    return Sensitivities(run, run.t[chosen], state, work, columns, notes, chosen, family, len(inputs) if sampled else 0)


def _given(
    system: Made | AbsoluteMechanism | Callable[..., Made], parameters: Mapping[str, Any] | None
) -> tuple[Family | None, Any]:
    """The family of systems, if it is one, and the mechanism in joint coordinates."""
    if taken := [name for name in parameters or {} if name in ("q", "v", "control", "directions")]:
        raise ValueError(f"sensitivities: {taken[0]!r} names other derivatives; give the parameter another name")
    if isinstance(system, System | Mechanism | ClosedMechanism | AbsoluteMechanism):
        if parameters:
            raise ValueError("sensitivities: with parameters, system must be a function of them that returns a System")
        return None, in_joint_coordinates("sensitivities", system)
    if not callable(system):
        raise TypeError(
            f"sensitivities: system is {system!r}; expected a System, a Mechanism, or a function of parameters"
        )
    family = Family(system, parameters or {})
    return family, family.base


def _rows(count: int, every: int) -> np.ndarray:
    """For each point of a run the row that it is saved in, or -1."""
    chosen = np.zeros(count, dtype=bool)
    chosen[-1] = True
    if every:
        chosen[::every] = True
    return np.where(chosen, np.cumsum(chosen) - 1, -1)


def tables_of(run: Run) -> TangentTables | ClosedTangentTables:
    """What the field on duals reads."""
    dynamics, free = run.dynamics, run.dynamics.free is not None
    if isinstance(dynamics.mechanism, ClosedMechanism):
        return ClosedTangentTables(dynamics.mechanism, dynamics.parameters, free)
    return TangentTables(dynamics.mechanism, free)


def numbers_of(mechanism: Mechanism | ClosedMechanism) -> np.ndarray:
    """The numbers of a mechanism that may depend on parameters, those of forces last."""
    if isinstance(mechanism, ClosedMechanism):
        return varying(mechanism)
    return np.concatenate([mechanism.tables.all_numbers, mechanism.tables.acting.values])


class StartTangents:
    """Changes of the start of a run, as points (size, columns)."""

    def __init__(self, run: Run, tables: TangentTables | ClosedTangentTables):
        self.dynamics, self.tables, self.nv = run.dynamics, tables, run.dynamics.nv
        self.q, self.v, self.y, self.u = run.q[0], run.v[0], run.solution.y[0], _held(run)
        mechanism = self.dynamics.mechanism
        closed = isinstance(mechanism, ClosedMechanism)
        self.closed = ClosedStart(mechanism, float(run.t[0]), self.q, self.v) if closed else None

    def points(self, state: np.ndarray, at: tuple[np.ndarray, np.ndarray] | None = None) -> np.ndarray:
        """Changes of the point for those of the state, (2 nv, columns). at: another state (q, v) than the first."""
        dynamics, (turn, change) = self.dynamics, (part.T for part in np.split(state, 2))
        q, v = at or (self.q, self.v)
        point = np.zeros((dynamics.space.size, state.shape[1]))
        point[: dynamics.nq] = self.tables.configuration.lift(q, turn).T
        moved = dynamics.free.change_from_body(q, v, turn, change) if dynamics.free else change
        point[dynamics.nq : dynamics.nq + self.nv] = moved.T
        return point

    def states(self, points: np.ndarray, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Changes (..., 2 nv, columns) of states (q, v) for those of points (..., size, columns)."""
        moved = np.moveaxis(points, -1, -2)
        nq, free = self.dynamics.nq, self.dynamics.free
        delta, change = self.tables.configuration.lower(q, moved[..., :nq]), moved[..., nq : nq + self.nv]
        if free:
            change = free.change_to_body(q, v, delta, change)
        return np.moveaxis(np.concatenate([delta, change], axis=-1), -2, -1)

    def own(self, name: str) -> np.ndarray:
        """Changes of q or v, (2 nv, columns)."""
        if self.closed is not None:
            return self.closed.columns(name)
        return np.eye(2 * self.nv)[:, : self.nv] if name == "q" else np.eye(2 * self.nv)[:, self.nv :]

    def along(self, directions: np.ndarray) -> np.ndarray:
        """Changes along directions (2 nv, columns)."""
        return directions if self.closed is None else self.closed.along(directions)

    def follow(self, shift: np.ndarray) -> np.ndarray:
        """Changes that come with those of the tables (count, columns)."""
        if self.closed is None:
            return np.zeros((2 * self.nv, shift.shape[1]))
        assert isinstance(self.tables, ClosedTangentTables)
        points = self.closed.projected(self.tables, self.y, self.u, shift)
        return self.closed.followed(self.states(points, self.q[None], self.v[None]))


def _columns(
    start: StartTangents,
    actuation: Actuation,
    inputs: np.ndarray,
    sampled: bool,
    family: Family | None,
    wrt: Sequence[str] | None,
    directions: ArrayLike | None,
) -> tuple[dict[str, slice], np.ndarray, np.ndarray, np.ndarray]:
    """Names of columns; of each the changes of the initial state (2 nv, columns), of tables (count, columns), and of
    the forces of each input (periods, nv, columns). Of a sequence, "control" has none of these."""
    nv, names = start.nv, tuple(family.values) if family else ()
    if wrt is None:
        wrt = (*(("q", "v") if directions is None else ()), *names)
    elif isinstance(wrt, str):
        wrt = (wrt,)
    found: dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
    count, periods = len(start.tables.constants), len(inputs)

    def nothing(width: int) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros((count, width)), np.zeros((periods, nv, width))

    if family is not None:
        used = [name for name in names if name in wrt]
        of_parameters = family.table_derivatives(used, numbers_of, lambda m: Actuation.of_tree(m).along(inputs).ravel())
        own = family.slices(used)
    if directions is not None:
        given = real_array("sensitivities", "directions", np.asarray(directions, dtype=float).T, (2 * nv,)).T
        found["directions"] = start.along(given.reshape(2 * nv, -1)), *nothing(given.size // (2 * nv))
    for name in wrt:
        if name in names:
            shift, forces = of_parameters[:count, own[name]], of_parameters[count:, own[name]].reshape(periods, nv, -1)
            found[name] = start.follow(np.concatenate([shift, forces[0]])), shift, forces
        elif name in ("q", "v"):
            found[name] = start.own(name), *nothing(start.own(name).shape[1])
        elif name == "control":
            shift, forces = nothing(periods * actuation.inputs)
            if not sampled:
                forces[0] = actuation.matrix(inputs[0])
            found[name] = np.zeros((2 * nv, periods * actuation.inputs)), shift, forces
        else:
            expected = ", ".join(map(repr, ("q", "v", "control", *names)))
            raise ValueError(f"sensitivities: wrt {name!r} is unknown; expected some of {expected}")
    if not found:
        raise ValueError("sensitivities: nothing to differentiate with respect to; wrt is empty")
    edges = np.cumsum([0, *(part[0].shape[1] for part in found.values())]).tolist()
    columns = {name: slice(a, b) for name, a, b in zip(found, edges[:-1], edges[1:], strict=True)}
    states, shifts, forces = (np.concatenate(parts, axis=-1) for parts in zip(*found.values(), strict=True))
    return columns, states, shifts, forces


def _check_inputs(control: Any, controller: Any, period: Any, slopes: Any, span: tuple[float, float]) -> dict[str, Any]:
    """The inputs as `simulate` takes them."""
    if slopes is not None and controller is None:
        raise ValueError("sensitivities: slopes are for sampled controllers; give controller=... and period=...")
    if controller is not None:
        return {"controller": controller, "period": period, "control": control}  # which `simulate` looks at
    if period is None:
        return {"control": control}
    if control is None:
        raise ValueError("sensitivities: period is that of control=..., a sequence of inputs, or of controller=...")
    return {"controller": sequence_of("sensitivities", control, period, check_span(span)), "period": period}


def _held(run: Run) -> np.ndarray:
    """The constant generalized forces of a run."""
    return np.zeros(run.dynamics.nv) if run.held is None else run.held[0]


class TangentSteps:
    """The steps of a run, ready to be taken again on duals."""

    def __init__(self, run: Run, tables: TangentTables | ClosedTangentTables):
        self.run, self.tables, self.dynamics = run, tables, run.dynamics
        if len(run.t) == 1:  # an empty span
            return
        span, start = (float(run.t[0]), float(run.t[-1])), run.solution.y[0]
        whole = Options(step=abs(span[1] - span[0]), save="final")
        stepper = ExplicitStepper(self.dynamics.problem(_held(run)), run.solution.method, span, start, whole)
        field, correction = (tables.address, 0) if isinstance(tables, TangentTables) else tangent_addresses()
        self.replay = Replay(stepper, field, correction if stepper.problem.correction else 0)
        given = (run.task.more.get(name) for name in ("stops", "breaks"))
        self.stops = np.concatenate([np.ravel(() if times is None else times) for times in given])

    def points(
        self, part: slice, rows: np.ndarray, control: np.ndarray, seeds: np.ndarray, shifts: np.ndarray
    ) -> np.ndarray:
        """Tangents of some points, (saved, size, columns), from those of the first of them."""
        start, count = self.run.solution.y[part.start or 0], seeds.shape[1]
        result = np.empty((int(rows.max()) + 1, len(start), count))
        for first in range(0, count, TANGENTS):
            columns = slice(first, min(first + TANGENTS, count))
            width = columns.stop - first
            y, shift = np.zeros((len(start), WIDTH)), np.zeros((len(shifts), TANGENTS))
            y[:, 0], y[:, 1 : 1 + width], shift[:, :width] = start, seeds[:, columns], shifts[:, columns]
            with self.dynamics.calling(tangents=True):  # errors of laws are for the thread that calls them
                p = self.tables.packed(control, shift)
                points = self.replay.points(self.run.t[part], rows, y, p, self.stops)
            result[:, :, columns] = points[:, :, 1 : 1 + width]
        return result


def _tangents(
    run: Run,
    tables: TangentTables | ClosedTangentTables,
    seeds: np.ndarray,
    shifts: np.ndarray,
    rows: np.ndarray,
    threads: int | None,
) -> np.ndarray:
    """Tangents of the points at the chosen times, (times, size, columns), three columns at a time."""
    count = seeds.shape[1]
    result = np.empty((int(rows.max()) + 1, run.dynamics.space.size, count))
    if len(run.t) == 1:
        result[:] = seeds
        return result
    steps, control = TangentSteps(run, tables), _held(run)

    def three(first: int) -> None:
        columns = slice(first, min(first + TANGENTS, count))
        result[:, :, columns] = steps.points(EVERY, rows, control, seeds[:, columns], shifts[:, columns])

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(three, range(0, count, TANGENTS)))
    return result


def _by_periods(
    run: Run,
    start: StartTangents,
    states: np.ndarray,
    shifts: np.ndarray,
    forces: np.ndarray,
    own: slice,
    rows: np.ndarray,
    slopes: Any,
    threads: int | None,
) -> tuple[np.ndarray, np.ndarray]:
    """Derivatives of states and of work where inputs are held for a period each."""
    steps, tables = TangentSteps(run, start.tables), start.tables

    def differentiate(
        part: slice, saved: np.ndarray, control: np.ndarray, first: np.ndarray, numbers: np.ndarray, pushed: np.ndarray
    ) -> np.ndarray:
        at = run.q[part.start], run.v[part.start]
        shift = np.concatenate([numbers, pushed])
        points = steps.points(part, saved, control, start.points(first, at), shift)
        q, v = (x[part][saved >= 0][:, None] for x in (run.q, run.v))
        return np.concatenate([start.states(points, q, v), points[:, -1:]], axis=1)

    answer = None if slopes is None else Answer(run, slopes, "sensitivities")

    def answered(k: int) -> tuple[np.ndarray, np.ndarray]:
        assert answer is not None
        by_q, by_v = answer.at(k)
        return by_q @ tables.configuration.lift(run.q[k], np.eye(start.nv)).T, by_v

    varied = Varied(states, shifts, forces, own)
    actuation = Actuation.of_tree(run.dynamics.mechanism)
    return chained(run, actuation, varied, rows, differentiate, None if slopes is None else answered, threads)


def _require_finite(state: np.ndarray, times: np.ndarray, columns: dict[str, slice]) -> None:
    if np.isfinite(state).all():
        return
    k, _, column = np.argwhere(~np.isfinite(state))[0]
    name = next(name for name, part in columns.items() if part.start <= column < part.stop)
    raise RuntimeError(
        f"sensitivities: the derivative with respect to {name!r} is not finite from t = {times[k]:.6g} on, while the "
        "motion is: something in the forces has no derivative there"
    )
