"""The gradient of a scalar of a simulated trajectory: `gradient(run, objective, by=...)`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.integrate.explicit import ExplicitStepper
from chasles.kernel.lanes import WIDTH
from chasles.lie.rotation import quaternion_to_matrix
from chasles.relative.loop.closed import ClosedMechanism, compiled
from chasles.relative.mechanism import Mechanism
from chasles.relative.parameter.inertial import NAMES
from chasles.relative.tables import CONSTANT, GRAVITY
from chasles.screw import inertia as spatial
from chasles.simulation.actuation import Actuation
from chasles.simulation.adjoint.answer import Answer, ControllerSlopes
from chasles.simulation.adjoint.bodies import BodyAdjoint, refuse_bodies
from chasles.simulation.adjoint.body_steps import BodySteps
from chasles.simulation.adjoint.by_duals import memory_of, pull_address
from chasles.simulation.adjoint.checkpoints import back_by_pieces
from chasles.simulation.adjoint.event_end import ended_by_event, hold_event
from chasles.simulation.adjoint.force_numbers import ForceNumbers
from chasles.simulation.adjoint.loops import LoopAdjoint, parts_of_bodies
from chasles.simulation.adjoint.objective import Measure, Sum
from chasles.simulation.adjoint.steps import OF_FIELD
from chasles.simulation.adjoint.sweep import EVERY, BackwardSweep, RetakenStep, Through
from chasles.simulation.adjoint.tree import forces_address, room_size, tree_address
from chasles.simulation.bodies.dynamics import BodyDynamics
from chasles.simulation.closed.tangent import ClosedTangentTables
from chasles.simulation.motion import spoken_by
from chasles.simulation.parameter_family import Family
from chasles.simulation.places import family_of, named_places
from chasles.simulation.run import Run
from chasles.simulation.sensitivities import StartTangents, numbers_of, tables_of
from chasles.simulation.tree.tangent import TangentTables

OWN = (
    "q",
    "v",
    "control",
    "inputs",
    "bodies",
    "gravity",
)  # what can be differentiated with respect to, besides parameters
NOTHING = np.zeros(8)  # the memory of no correction


@dataclass(frozen=True)
class Gradient:
    """A scalar of a trajectory, `value`, and its derivatives.

    gradient["q"] and ["v"] are those by the initial coordinates, along q exp(δ), and velocities, (nv,), with loops by
    the independent ones; ["control"] those by the inputs, (inputs,), or of a sampled controller (periods, inputs);
    ["inputs"] by the input held in each step, (steps, inputs);
    ["bodies"] by the ten inertial numbers of each body, (bodies, 10); ["gravity"] (3,); ["name of a parameter"].
    `notes` tells where derivatives are not exact ones of what was computed.
    """

    value: float
    parts: dict[str, np.ndarray]
    notes: tuple[str, ...]

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.parts:
            raise KeyError(f"no gradient with respect to {name!r}; there are {', '.join(map(repr, self.parts))}")
        return self.parts[name]


@spoken_by("gradient", "sensitivities")
def gradient(
    run: Run,
    objective: Measure | Sum,
    by: Sequence[str] | str = ("q", "v"),
    *,
    system: Callable[..., Any] | None = None,
    parameters: Mapping[str, Any] | None = None,
    slopes: ControllerSlopes | None = None,
) -> Gradient:
    """The gradient of a scalar of a run by the discrete adjoint: exact for the method, in one sweep backward.

    objective: terms of `chasles.objective` (`end`, `integral`, `samples`, `smooth_maximum`), or a sum of them.
    by: some of "q", "v" (the initial state), "control" (inputs, also those of a sampled controller), "inputs" (the
    input in each step: how it should change over time), "bodies" (ten inertial numbers of each: mass, its moments,
    inertia about the origin), "gravity", numbers of the system by name ("bodies.arm.mass", "joints.elbow.damping"), or
    names of `parameters`. With these, the run is one of `system(**parameters)`, a function that returns a System.
    slopes: of a sampled controller, a function of (t, q, v) that gives the derivatives of its inputs by the numbers q
    (inputs, nq) and v (inputs, nv). Then the controller answers to what varies, and "control" is the gradient by what
    is added to its input of each period. Without them its inputs count as given numbers.

    The run is one by an explicit method, or one in absolute coordinates by generalized alpha; all its points are saved.
    The cost does not depend on how many inputs, inertial numbers and initial values there are. Sizes of adaptive steps
    count as constants.
    """
    wanted = (by,) if isinstance(by, str) else tuple(by)
    if isinstance(run, Run) and not parameters and system is None and (names := named_places(wanted, parameters)):
        system, parameters = family_of(run.dynamics.mechanism.system, names, "gradient")
    _check(run, objective, wanted, system, parameters, slopes)
    bodies = isinstance(run.dynamics, BodyDynamics)
    if parameters and not bodies and not run.dynamics.mechanism.tables.sprung:
        run = replace(run, dynamics=run.dynamics.with_springs())  # a parameter may bring in the first spring
    mechanism: Mechanism | ClosedMechanism = run.dynamics.mechanism
    if bodies:
        mechanism = compiled(run.dynamics.mechanism.system)
    family = None if not parameters or system is None else Family(system, parameters, mechanism.tables.sprung)
    if family is not None and not np.array_equal(numbers_of(family.base), numbers_of(mechanism), equal_nan=True):
        raise ValueError(
            "gradient: system(**parameters) is not the system of the run; give the values it was made with"
        )
    terms = objective.terms if isinstance(objective, Sum) else (objective,)
    if _keeps_all(run):
        found = [term.cotangents(run.t, run.q, run.v, _kinks(run)) for term in terms]
        value = sum(part[0] for part in found)
        by_q, by_v = np.sum([part[1] for part in found], axis=0), np.sum([part[2] for part in found], axis=0)
    answer = None if slopes is None else Answer(run, slopes)
    adjoint: Adjoint | BodyAdjoint | BodySteps
    if bodies:
        numbers = [name for name in wanted if name not in ("q", "v", "control", "inputs")]
        if isinstance(run.solution.method, GeneralizedAlpha):
            adjoint = BodyAdjoint(run, family, numbers)
            adjoint.back(by_q, by_v, answer)
        else:
            adjoint = BodySteps(run, family, numbers, "inputs" in wanted)
            adjoint.find(by_q, by_v, answer)
        parts = {name: adjoint.part(name) for name in wanted}
    else:
        adjoint = Adjoint(run, family, [name for name in wanted if name not in OWN], "inputs" in wanted)
        if _keeps_all(run):
            kicks = adjoint.kicks(by_q, by_v)
            if adjoint.at_event:
                by_time = sum(term.by_end_time(run.t, run.q, run.v, _kinks(run)) for term in terms)
                hold_event(run, adjoint.controls[adjoint.which[-1]], kicks, by_time)
            back = adjoint.back(kicks, answer)
        else:
            value, back = back_by_pieces(adjoint, run, terms)
        parts = {name: adjoint.part(name, *back) for name in wanted}
    for name, part in parts.items():
        if not np.isfinite(part).all():
            raise RuntimeError(
                f"gradient: the derivative by {name!r} is not finite, while the motion is: something in the forces has "
                "no derivative"
            )
    notes = adjoint.notes
    if run.task.controller is not None and answer is None and not {*wanted} <= {"control", "inputs"}:
        notes = (*notes, "the inputs of the controller are held constant; give slopes= for how they follow the state")
    return Gradient(value, parts, notes)


def _check(run: Run, objective: Any, wanted: tuple[str, ...], system: Any, parameters: Any, slopes: Any) -> None:
    """Refuse what has no gradient, before anything is computed."""
    if not isinstance(run, Run) or run.task is None:
        raise TypeError(f"gradient: run is {run!r}; expected a run of `simulate`")
    if not isinstance(objective, Measure | Sum):
        raise TypeError(
            f"gradient: objective is {objective!r}; expected terms of chasles.objective, such as end(function)"
        )
    if run.dynamics.set_valued is not None:
        raise ValueError("gradient: stick-slip friction and rigid limits are not supported")
    if run.partial or not run.success:
        raise ValueError("gradient: needs a run that came to its end")
    if not _keeps_all(run) and not _may_repeat(run):
        raise ValueError(
            'gradient: needs all points of the run: simulate with save="all". With fixed steps of explicit methods in '
            "joint coordinates, without sampled controllers and terminal events, save=1000 serves too: steps between "
            "the points that were kept are taken again"
        )
    if ended_by_event(run) and isinstance(run.dynamics, BodyDynamics):
        raise ValueError(
            "gradient: an event ended the run, at a time that depends on what varies; that is differentiated in joint "
            'coordinates: simulate with coordinates="relative"'
        )
    names = (*OWN, *(parameters or ()))
    for name in wanted:
        if name not in names:
            raise ValueError(f"gradient: by {name!r} is unknown; expected some of {', '.join(map(repr, names))}")
    if not wanted:
        raise ValueError("gradient: nothing to differentiate by; `by` is empty")
    if isinstance(run.dynamics, BodyDynamics):
        refuse_bodies(run)
    elif not isinstance(run.solution.method, ExplicitStepper.methods):
        raise ValueError(
            f"gradient: in joint coordinates it is for explicit methods, not {run.solution.method}; take one, such as "
            '"rk4", or for stiff systems GeneralizedAlpha with coordinates="absolute"'
        )
    elif run.dynamics.mechanism.tree.dependence is not None:
        for name in ("bodies", "gravity"):
            if name in wanted:
                raise ValueError(
                    f"gradient: {name!r} is for trees and loops; with joints that follow others, give the numbers as "
                    "`parameters`"
                )
    if (system is None) != (not parameters):
        raise ValueError("gradient: parameters need `system`, the function of them that made the run's system")
    if slopes is not None and run.task.controller is None:
        raise ValueError("gradient: slopes are for sampled controllers, and the run has none")
    if taken := [name for name in parameters or {} if name in OWN]:
        raise ValueError(f"gradient: {taken[0]!r} names other derivatives; give the parameter another name")


def _keeps_all(run: Run) -> bool:
    """Whether a run has all its points."""
    save = run.task.more["save"]
    return isinstance(save, str | int) and save in ("all", 1)


def _may_repeat(run: Run) -> bool:
    """Whether the steps between the points of a run can be taken again as they were."""
    task = run.task
    repeated = task.more["step"] is not None and isinstance(run.solution.method, ExplicitStepper.methods)
    regular = isinstance(task.more["save"], str | int) and task.controller is None and not ended_by_event(run)
    return repeated and regular and not isinstance(run.dynamics, BodyDynamics)


def _kinks(run: Run) -> np.ndarray:
    """Points where forces may jump: times that were given to stop at, and where inputs change."""
    given = [np.ravel(() if (x := run.task.more.get(name)) is None else x) for name in ("stops", "breaks")]
    jumps = np.isin(run.t, np.concatenate(given))
    if run.given is not None:
        jumps[1:-1] |= np.any(run.given[1:-1] != run.given[2:], axis=1)
    return np.flatnonzero(jumps)


class Adjoint(BackwardSweep):
    """A run in joint coordinates, ready to be taken backward."""

    of_forces: ForceNumbers | None = None
    loops: LoopAdjoint | None = None
    _found: np.ndarray | None = None  # derivatives by all parameters

    def __init__(self, run: Run, family: Family | None, names: list[str], each: bool = False):
        """each: whether the input of each step counts by itself."""
        self.mechanism, self.nq, self.nv = run.dynamics.mechanism, run.dynamics.nq, run.dynamics.nv
        super().__init__(run, Actuation.of_tree(self.mechanism), self.nv, each)
        self.family, self.names, self.tables = family, names, tables_of(run)
        self.start, self.at_event = StartTangents(run, self.tables), ended_by_event(run)
        self.shifts, self.of_actuators = self._shifts()
        if isinstance(self.tables, ClosedTangentTables):
            self.loops = LoopAdjoint(self.dynamics, self.tables, self.shifts)
        self.along = Along(self.shifts)
        self.notes = tuple(law.note for law in self.tables.laws if law.note)
        if run.task.more["step"] is None:
            self.notes = ("the steps of the adaptive method are held constant", *self.notes)

    def _shifts(self) -> tuple[np.ndarray, np.ndarray]:
        """How the numbers of the mechanism change with parameters, (count, m), and those of the actuators."""
        count = len(self.tables.constants)
        if self.family is None or not self.names:
            return np.zeros((count, 0)), np.zeros((self.actuation.numbers.size, 0))
        found = self.family.table_derivatives(
            self.names, numbers_of, lambda mechanism: Actuation.of_tree(mechanism).numbers
        )
        return found[:count], found[count:]

    # ------------------------------------------------------------ cotangents of points

    def kicks(self, by_q: np.ndarray, by_v: np.ndarray, at: slice = EVERY) -> np.ndarray:
        """Cotangents of the points of the integrator from derivatives by the numbers q and v."""
        found, nq, nv = np.zeros_like(self.run.solution.y[at]), self.nq, self.nv
        found[:, :nq], found[:, nq : nq + nv] = by_q, by_v
        free = self.dynamics.free
        if free:  # v = Rᵀ w
            q, v = self.run.q[at], self.run.v[at]
            turn, linear = free._turn, free._linear
            R = quaternion_to_matrix(q[:, turn])
            bar, speed = by_v[:, linear], v[:, linear]
            found[:, nq + linear] = (R @ bar[..., None])[..., 0]
            torque, x, w = np.cross(bar, speed), q[:, turn[:, 1:]], q[:, turn[:, :1]]
            found[:, turn[:, 0]] -= 2.0 * (x * torque).sum(axis=-1)
            found[:, turn[:, 1:]] += 2.0 * (w * torque + np.cross(x, torque))
        return found

    # ------------------------------------------------------------ the sweep

    def through(self, step: RetakenStep) -> Through:
        """What cotangents go through; numbers beside those of inputs are the tree's, or directions."""
        if self.loops is not None:
            return self.loops.through()
        assert isinstance(self.tables, TangentTables)
        n, d, nv, count = self.dynamics.space.size, self.dynamics.space.dimension, self.nv, len(self.tables.constants)
        pulls, p = np.zeros(2, dtype=np.int64), self.tables.packed(np.zeros(nv), np.zeros((count + nv, 3)))
        if self.mechanism.tree.dependence is not None:
            along = np.zeros((count + nv, nv + self.along.directions.shape[1]))
            along[count:, :nv], along[:count, nv:] = np.eye(nv), self.along.directions
            pulls[OF_FIELD], places = pull_address(), self.tables.start + WIDTH * np.arange(count + nv)
            held = nv, self.dynamics.control.start
            memory = memory_of(self.tables.address, (n - 1, n, d), p, places, along, held=held)
            return Through(pulls, memory, NOTHING, self.along.directions.shape[1])
        pulls[OF_FIELD], forces = tree_address(), forces_address()
        numbers, links, acting = (
            len(self.mechanism.tree.numbers),
            self.mechanism.tables.links,
            self.mechanism.tables.acting,
        )
        places = self.tables.start + WIDTH * np.arange(count)
        sizes = self.nq + nv, self.nq + nv, nv + 6 * links
        room = room_size(self.mechanism)
        if acting.empty:
            return Through(pulls, memory_of(forces, sizes, p, places, np.empty((count, 0)), room), NOTHING, numbers)
        own = self.of_forces = ForceNumbers(self.mechanism, self.shifts)
        memory = memory_of(forces, sizes, p, places, own.directions, room, owners=own.owners)
        return Through(pulls, memory, NOTHING, numbers + own.size)

    # ------------------------------------------------------------ what is asked for

    def part(self, name: str, first: np.ndarray, held: np.ndarray, g: np.ndarray) -> np.ndarray:
        """The gradient with respect to something, from cotangents of the first point, the inputs and the numbers."""
        if name in ("q", "v"):
            return first @ self.start.points(self.start.own(name))
        if name in ("control", "inputs"):
            return self.of_inputs(name, held)
        if name in ("bodies", "gravity"):
            numbers = g if len(g) else np.zeros(len(self.mechanism.tree.numbers))  # nothing was simulated
            return self._of_bodies(numbers) if name == "bodies" else numbers[GRAVITY.vector : GRAVITY.vector + 3].copy()
        assert self.family is not None
        columns = self.family.slices(self.names)[name]
        if self._found is None:
            self._found = self._by_parameters(first, g)
        found = self._found[columns].copy()
        if np.any(self.inputs):
            found += self.actuation.numbers_back(self.inputs, held) @ self.of_actuators[:, columns]
        return found.reshape(self.family.values[name].shape)

    def _by_parameters(self, first: np.ndarray, g: np.ndarray) -> np.ndarray:
        """Derivatives (m,) by all parameters, but for what they do to the forces of inputs."""
        if self.loops is not None:
            return self.loops.by_parameters(g, self.start, first)
        if not len(g):  # nothing was simulated
            return np.zeros(self.shifts.shape[1])
        if self.mechanism.tree.dependence is not None:
            return self.along.by_parameters(g)
        numbers = len(self.mechanism.tree.numbers)
        found = g[:numbers] @ self.shifts[:numbers]
        return found if self.of_forces is None else found + self.of_forces.by_parameters(g[numbers:])

    def _of_bodies(self, g: np.ndarray) -> np.ndarray:
        """By the ten inertial numbers of each body, from those of the links."""
        tree, links = self.mechanism.tree, g[GRAVITY.size :][: CONSTANT.size * self.mechanism.tables.links]
        on_links = links.reshape(-1, CONSTANT.size)[:, CONSTANT.mass : CONSTANT.mass + len(NAMES)]
        units, count = spatial.from_parameters(np.eye(len(NAMES))), len(self.mechanism.system.bodies)
        found = np.zeros((count, len(NAMES)))
        for k, (body, share) in enumerate(parts_of_bodies(self.mechanism)):
            if tree.link_of_body[k] >= 0:
                moved = spatial.to_parameters(spatial.transform(units, tree.body_in_link[k]))
                found[body] += share * moved @ on_links[tree.link_of_body[k]]
        return found


class Along:
    """Directions (count, k) of numbers that change by `shifts` (count, m): those of parameters or, if fewer numbers
    change than there are parameters, of these numbers."""

    def __init__(self, shifts: np.ndarray):
        self.shifts, self.numbers = shifts, np.flatnonzero(np.any(shifts != 0.0, axis=1))
        self.by_number = len(self.numbers) < shifts.shape[1]
        self.directions = np.eye(len(shifts))[:, self.numbers] if self.by_number else shifts

    def by_parameters(self, g: np.ndarray) -> np.ndarray:
        """Derivatives (m,) by parameters from the cotangents that were found."""
        return g @ self.shifts[self.numbers] if self.by_number else g
