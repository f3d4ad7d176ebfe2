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
from chasles.integrate.options import Options, saving
from chasles.integrate.replay import Replay
from chasles.kernel.dual import TANGENTS
from chasles.kernel.lanes import WIDTH
from chasles.lie import pose as pose_group
from chasles.lie.arrays import real_array
from chasles.model.system import System
from chasles.relative.loop.closed import ClosedMechanism, in_joint_coordinates
from chasles.relative.mechanism import Mechanism
from chasles.simulation.actuation import Actuation
from chasles.simulation.closed.sensitivities import NOTE, ClosedSensitivities
from chasles.simulation.dynamics import TreeDynamics
from chasles.simulation.parameter_family import Family
from chasles.simulation.run import Run
from chasles.simulation.set_valued import refuse_sticking
from chasles.simulation.simulate import DEFAULT_METHOD, simulate
from chasles.simulation.tree_tangent import TangentTables, tangent_address

Made = System | Mechanism | ClosedMechanism


@dataclass(frozen=True)
class Sensitivities:
    """Derivatives of a simulated trajectory, at times `t`; `run` is the trajectory itself.

    sensitivities["q"], ["v"], ["control"] and ["name of a parameter"] are derivatives of the state at each time with
    respect to the initial coordinates, the initial velocities, the input and the parameter, (times, 2 nv, ...). The
    first nv rows are δq, the change of q along q exp(δ), the others δv. The initial q changes along q exp(δ) too.
    `state` has all columns, (times, 2 nv, columns), `columns` says which are whose; `work` is the derivative of the
    work. `notes` tells where derivatives are not exact ones of what was computed.
    """

    run: Run
    t: np.ndarray
    state: np.ndarray
    work: np.ndarray
    columns: dict[str, slice]
    notes: tuple[str, ...]
    _points: np.ndarray = field(repr=False)  # which points of the run are at t
    _family: Family | None = field(repr=False)

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise KeyError(f"no sensitivities with respect to {name!r}; there are {', '.join(map(repr, self.columns))}")
        part = self.state[..., self.columns[name]]
        shape = self._family.values[name].shape if self._family and name in self._family.values else part.shape[-1:]
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

    With loops or constraints "q" and "v" are independent numbers of the start, the others follow, and the derivatives
    are differences of runs with a fixed `step`, which are good to about ten digits.

    wrt: with respect to what: "q" and "v", the initial state (the default), "control", the constant input, and names of
    `parameters`; or, with `directions` (2 nv, m), the initial state along these directions only, ["directions"].
    parameters: names and values; then `system` is a function of them that returns a System, and by default the
    derivatives with respect to all of them are taken too.

    The derivatives are those of the discrete method, exact to rounding. The steps of an adaptive run are held constant:
    it is differentiated as if its steps had been prescribed. Other arguments as in `simulate`; save: "all", "final" or
    a number of steps. Three directions are taken at once, on `threads` threads (default: one for each processor).
    """
    family, mechanism = _given(system, parameters)
    refuse_sticking("sensitivities", mechanism.system)
    method = named_method("sensitivities", method)
    if not isinstance(method, ExplicitStepper.methods):
        raise ValueError(
            f"sensitivities: {method} is not an explicit one; take RKMK, CommutatorFree, CrouchGrossman or LowStorage"
        )
    every = saving(save)
    if every is None:
        raise ValueError(f'sensitivities: save={save!r}; expected "all", "final" or a number of steps')
    closed = isinstance(mechanism, ClosedMechanism)
    if closed and step is None:
        raise ValueError("sensitivities: of a closed mechanism are differences of runs with equal steps; give step")
    options: dict[str, Any] = {"method": method, "step": step, "rtol": rtol, "atol": atol, "control": control}
    options |= {"max_step": max_step, "stops": stops}
    run = simulate(mechanism, span, q, v, coordinates="relative", progress=False, **options)
    if not run.success:
        raise RuntimeError(f"sensitivities: the simulation did not get to the end: {run.message}")
    rows = _rows(len(run.t), every)
    chosen = np.flatnonzero(rows >= 0)
    if closed:
        options |= {"coordinates": "relative", "progress": False}
        columns, found = ClosedSensitivities(run, chosen, options).columns(family, wrt, directions)
        _require_finite(found, run.t[chosen], columns)
        return Sensitivities(run, run.t[chosen], found[:, :-1], found[:, -1], columns, (NOTE,), chosen, family)
    dynamics, actuation = run.dynamics, Actuation.of_tree(mechanism)
    u = np.zeros(actuation.inputs) if control is None else np.atleast_1d(np.asarray(control, dtype=float))
    tables = TangentTables(mechanism, dynamics.free is not None)
    columns, seeds, shifts = _columns(dynamics, actuation, tables, u, family, wrt, directions, (run.q[0], run.v[0]))
    with dynamics.calling(tangents=True):
        points = _tangents(run, tables, seeds, shifts, rows, threads)
    nq, where = mechanism.nq, run.q[chosen][:, None]
    moved = np.moveaxis(points, -1, 1)  # times, columns, numbers
    delta, change = mechanism.tables.configuration.lower(where, moved[..., :nq]), moved[..., nq:-1]
    if dynamics.free:
        change = dynamics.free.change_to_body(where, run.v[chosen][:, None], delta, change)
    state = np.moveaxis(np.concatenate([delta, change], axis=-1), 1, -1)
    _require_finite(state, run.t[chosen], columns)
    notes = tuple(law.note for law in tables.laws if law.note)
    if step is None:
        notes = ("the steps of the adaptive method are held constant", *notes)
    return Sensitivities(run, run.t[chosen], state, points[:, -1], columns, notes, chosen, family)


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


def _columns(
    dynamics: TreeDynamics,
    actuation: Actuation,
    tables: TangentTables,
    u: np.ndarray,
    family: Family | None,
    wrt: Sequence[str] | None,
    directions: ArrayLike | None,
    start: tuple[np.ndarray, np.ndarray],
) -> tuple[dict[str, slice], np.ndarray, np.ndarray]:
    """Names of columns, tangents of the initial point (size, columns) and of tables and control (count, columns), at q
    and v of the start."""
    (q, v), nq, nv, names = start, dynamics.nq, dynamics.nv, tuple(family.values) if family else ()
    if wrt is None:
        wrt = (*(("q", "v") if directions is None else ()), *names)
    elif isinstance(wrt, str):
        wrt = (wrt,)
    tree = dynamics.mechanism
    assert isinstance(tree, Mechanism)
    columns: dict[str, slice] = {}
    starts: list[np.ndarray] = []
    shifts: list[np.ndarray] = []
    total = 0

    def add(name: str, state: np.ndarray, shift: np.ndarray) -> None:
        """Columns that change the initial state (2 nv, m) or the tables (count, m)."""
        nonlocal total
        point = np.zeros((dynamics.space.size, state.shape[1]))
        turn, change = state[:nv].T, state[nv:].T
        point[:nq] = tree.tables.configuration.lift(q, turn).T
        point[nq : nq + nv] = (dynamics.free.change_from_body(q, v, turn, change) if dynamics.free else change).T
        starts.append(point)
        shifts.append(shift)
        columns[name] = slice(total, total + state.shape[1])
        total += state.shape[1]

    count = len(tables.constants) + nv
    if directions is not None:
        given = real_array("sensitivities", "directions", np.asarray(directions, dtype=float).T, (2 * nv,)).T
        given = given.reshape(2 * nv, -1)
        add("directions", given, np.zeros((count, given.shape[1])))
    both = np.eye(2 * nv)
    for name in wrt:
        if name in names:
            assert family is not None
            changes = [
                family.table_derivative(name, k, lambda mechanism: Actuation.of_tree(mechanism).forces(u))
                for k in range(family.values[name].size)
            ]
            add(name, np.zeros((2 * nv, len(changes))), np.array(changes).reshape(len(changes), count).T)
        elif name in ("q", "v"):
            add(name, both[:, :nv] if name == "q" else both[:, nv:], np.zeros((count, nv)))
        elif name == "control":
            forces = np.zeros((count, actuation.inputs))
            forces[-nv:] = actuation.matrix(u)
            add(name, np.zeros((2 * nv, actuation.inputs)), forces)
        else:
            expected = ", ".join(map(repr, ("q", "v", "control", *names)))
            raise ValueError(f"sensitivities: wrt {name!r} is unknown; expected some of {expected}")
    if not columns:
        raise ValueError("sensitivities: nothing to differentiate with respect to; wrt is empty")
    return columns, np.concatenate(starts, axis=1), np.concatenate(shifts, axis=1)


def _tangents(
    run: Run, tables: TangentTables, seeds: np.ndarray, shifts: np.ndarray, rows: np.ndarray, threads: int | None
) -> np.ndarray:
    """Tangents of the points at the chosen times, (times, size, columns), three columns at a time."""
    dynamics, count = run.dynamics, seeds.shape[1]
    saved = int(rows.max()) + 1
    result = np.empty((saved, dynamics.space.size, count))
    control = np.zeros(dynamics.nv) if run.held is None else run.held[0]
    if len(run.t) == 1:  # an empty span
        result[:] = seeds
        return result
    span, start = (float(run.t[0]), float(run.t[-1])), run.solution.y[0]
    whole = Options(step=abs(span[1] - span[0]), save="final")
    stepper = ExplicitStepper(dynamics.problem(control), run.solution.method, span, start, whole)
    replay = Replay(stepper, tangent_address())
    given = (run.task.more.get(name) for name in ("stops", "breaks"))
    stops = np.concatenate([np.ravel(() if times is None else times) for times in given])

    def three(first: int) -> None:
        columns = slice(first, min(first + TANGENTS, count))
        width = columns.stop - first
        y, shift = np.zeros((len(start), WIDTH)), np.zeros((len(shifts), TANGENTS))
        y[:, 0], y[:, 1 : 1 + width], shift[:, :width] = start, seeds[:, columns], shifts[:, columns]
        with dynamics.calling(tangents=True):  # errors of laws are for the thread that calls them
            points = replay.points(run.t, rows, y, tables.packed(control, shift), stops)
        result[:, :, columns] = points[:, :, 1 : 1 + width]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(three, range(0, count, TANGENTS)))
    return result


def _require_finite(state: np.ndarray, times: np.ndarray, columns: dict[str, slice]) -> None:
    if np.isfinite(state).all():
        return
    k, _, column = np.argwhere(~np.isfinite(state))[0]
    name = next(name for name, part in columns.items() if part.start <= column < part.stop)
    raise RuntimeError(
        f"sensitivities: the derivative with respect to {name!r} is not finite from t = {times[k]:.6g} on, while the "
        "motion is: something in the forces has no derivative there"
    )
