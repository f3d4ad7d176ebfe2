"""Gradients of runs in absolute coordinates: what all methods share, and generalized alpha."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from chasles.absolute.body_residuals import BodyResiduals, MovingStates, made_states
from chasles.cached import cached_property
from chasles.constrained.start import nonholonomic_rows
from chasles.integrate.constrained_method import GeneralizedAlpha
from chasles.integrate.explicit import ExplicitStepper
from chasles.simulation.adjoint.alpha import AlphaAdjoint
from chasles.simulation.adjoint.answer import Answer
from chasles.simulation.adjoint.body_pull import pull_joints
from chasles.simulation.adjoint.body_start import StartBack
from chasles.simulation.adjoint.number_columns import NumberColumns
from chasles.simulation.adjoint.number_cotangents import NumberPull
from chasles.simulation.adjoint.pull_memory import pull_memory
from chasles.simulation.adjoint.replay import Stretch, replay
from chasles.simulation.adjoint.tree_start import StartOfTree
from chasles.simulation.adjoint.weights import Weighed, gathered
from chasles.simulation.bodies.dynamics import BodyDynamics, spanning_tree
from chasles.simulation.motion import motion_stepper
from chasles.simulation.parameter_family import Family
from chasles.simulation.periods import held_inputs
from chasles.simulation.run import Run


def refuse_bodies(run: Run) -> None:
    """ValueError for a run in absolute coordinates that has no gradient."""
    method, instead = run.solution.method, 'or coordinates="relative"'
    if not isinstance(method, (GeneralizedAlpha, *ExplicitStepper.methods)):
        raise ValueError(
            f"gradient: in absolute coordinates it is for explicit methods and GeneralizedAlpha, not {method}; take "
            "one of these"
        )
    if run.dynamics.spatial:
        raise ValueError('gradient: spatial velocities are not differentiated; simulate with trivialization="left"')
    if run.dynamics.tree_order.floating:
        raise ValueError(f"gradient: a loop floats that no joint holds to the ground; give it a free joint, {instead}")
    if isinstance(method, GeneralizedAlpha) and slipping_rows(run).any():
        raise ValueError(
            "gradient: with rolling and constraints of velocities alone, methods are explicit, not "
            f'{method}; take one, such as "rk4"'
        )


def slipping_rows(run: Run) -> np.ndarray:
    """Rows (tiles, 3) of equations between velocities alone."""
    return nonholonomic_rows(run.dynamics, run.solution.y[0], float(run.t[0]))


class BodyGradient:
    """A run in absolute coordinates. Who takes it backward sets cotangents of the start by poses and velocities (`turn`
    and `v`) and of `forces` along the joints, and gives states with the weights of their residuals to `pull`."""

    metric = "mass"  # of the shifts of generalized alpha
    turn: np.ndarray
    v: np.ndarray
    forces: np.ndarray
    inputs: np.ndarray

    def __init__(self, run: Run, family: Family | None, names: Sequence[str]):
        """names: of parameters, "bodies" or "gravity", by which the gradient is asked for."""
        dynamics: BodyDynamics = run.dynamics
        self.run, self.dynamics, self.family = run, dynamics, family
        self.mechanism, self.n, self.order = dynamics.mechanism, dynamics.n, dynamics.tree_order
        self.residuals, self.tree = BodyResiduals(self.mechanism), spanning_tree(self.mechanism)[0]
        self.notes = self.residuals.notes
        self.actuation = dynamics.actuation()
        self.columns: NumberColumns | None = None
        self.pull: NumberPull | None = None
        self.places: dict[str, slice] = {}
        if names:
            self._prepare(names)

    def _prepare(self, names: Sequence[str]) -> None:
        """Columns of changes of numbers, and what finds the cotangents of these."""
        columns = self.columns = NumberColumns(self.mechanism, (self.run.q[0], self.run.v[0]), self.order.velocities)
        parts: dict[str, np.ndarray] = {}
        if "gravity" in names:
            parts["gravity"] = columns.by_gravity()
        if "bodies" in names:
            parts["bodies"] = columns.by_bodies()
        if others := [name for name in names if name not in parts]:
            assert self.family is not None
            sizes = np.cumsum([self.family.values[name].size for name in others])[:-1]
            both = np.split(columns.by_parameters(self.family, others), sizes, axis=1)
            parts |= zip(others, both, strict=True)
        edges = np.cumsum([0, *(part.shape[1] for part in parts.values())]).tolist()
        self.places = {name: slice(*edge) for name, *edge in zip(parts, edges, edges[1:], strict=False)}
        self.changes = np.concatenate(list(parts.values()), axis=1)
        own = self.changes[: columns.at["poses"].start]
        self.pull = NumberPull(self.residuals, columns.numbers, own, self.metric)

    def observe(self, states: MovingStates, by_q: np.ndarray, by_v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents of all points, by q exp(δ) and by V of the bodies, from derivatives by the numbers q and v of the
        joints. states: of the points that were saved."""
        self.saved, self.by_turns, self.by_speeds = states, self._on_joints(by_q), by_v
        return self._kicks(states, self.by_turns, self.by_speeds)

    def points(self) -> MovingStates:
        """States of the points that were saved, without forces in constraints."""
        run, y, n = self.run, self.run.solution.y, self.n
        given = {"t": run.t, "angles": y[:, 13 * n : -1], "q": y[:, : 7 * n], "v": y[:, 7 * n : 13 * n]}
        return made_states(self.mechanism, len(y), **given)

    def answered(self, k: int, by_q: np.ndarray, by_v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents (1, 6 bodies) of a point from derivatives (1, ...) by what a controller sees there."""
        at = slice(k, k + 1)
        turns = self._on_joints(by_q, at)
        self.by_turns[at] += turns
        self.by_speeds[at] += by_v
        return self._kicks(MovingStates(*(part[at] for part in self.saved)), turns, by_v)

    def _on_joints(self, by_q: np.ndarray, at: slice = slice(None)) -> np.ndarray:
        """Derivatives along q exp(δ) of the joints, (points, nv), from those by the numbers q."""
        lifted = self.tree.tables.configuration.lift(self.run.q[at, None], np.eye(self.tree.nv))
        return np.einsum("sij,sj->si", lifted, by_q)

    def _of_joints(self, given: np.ndarray) -> np.ndarray:
        """Numbers (states, nv) of the tree's velocities as those of all joints."""
        found = np.zeros((len(given), self.mechanism.joint_tables.nv))
        found[:, self.order.velocities] = given
        return found

    def _kicks(
        self, states: MovingStates, by_turns: np.ndarray, by_speeds: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Cotangents of points, by q exp(δ) and by V of the bodies."""
        count, turns, speeds = len(states.t), self._of_joints(by_turns), self._of_joints(by_speeds)
        turn, v = np.zeros((count, 6 * self.n)), np.zeros((count, 6 * self.n))
        with self.residuals.calling:
            pull_joints(
                *(self._memory, self.mechanism.packed, states.t, states.angles, states.q, states.v),
                *(turns, speeds, turn, v),
            )
        return turn, v

    @cached_property
    def _memory(self) -> np.ndarray:
        return pull_memory(self.residuals)

    def part(self, name: str) -> np.ndarray:
        """The gradient with respect to something."""
        if name in ("q", "v"):
            return self._start.by(name)
        if name in ("control", "inputs"):
            return self.of_inputs(name, self.forces)
        found = self._by_columns[self.places[name]]
        if name == "bodies":
            return found.reshape(self.n, -1)
        return found if name == "gravity" or self.family is None else found.reshape(self.family.values[name].shape)

    def of_inputs(self, name: str, held: np.ndarray) -> np.ndarray:
        """The gradient by "control" or "inputs", from the cotangents of the forces that were held."""
        raise NotImplementedError

    @cached_property
    def _start(self) -> StartOfTree:
        return StartOfTree(self)

    @cached_property
    def _by_columns(self) -> np.ndarray:
        """The gradient by all that changes numbers."""
        assert self.columns is not None
        assert self.pull is not None
        self.pull.add_shown(self.saved, self._of_joints(self.by_turns), self._of_joints(self.by_speeds))
        if self._start.independent is not None:
            self.pull.add(self._start.closed_account)
        rest = np.concatenate([self._start.cotangents, self.actuation.numbers_back(self.inputs, self.forces)])
        return self.pull.total + rest @ self.changes[self.columns.at["poses"].start :]


class BodyAdjoint(BodyGradient):
    """A run of generalized alpha, ready to be taken backward. A sampled controller begins it anew each period."""

    def __init__(self, run: Run, family: Family | None, names: Sequence[str]):
        self.metric = run.solution.method.metric
        super().__init__(run, family, names)
        self.held, which = held_inputs(run, self.actuation)
        self.which = which[1:] if len(which) > 1 else which  # of each step
        self.inputs = self.held[self.which]
        if run.task.more["step"] is None:
            self.notes = ("the steps of the adaptive method are held constant", *self.notes)

    def of_inputs(self, name: str, held: np.ndarray) -> np.ndarray:
        """The gradient by "control" or "inputs"; forces are those of each step."""
        found = self.actuation.back(self.inputs, held)
        if name == "inputs":
            return found
        total = np.zeros_like(self.held)
        np.add.at(total, self.which, found)
        return total[0] if self.run.task.controller is None else total

    def back(self, by_q: np.ndarray, by_v: np.ndarray, answer: Answer | None) -> None:
        """Find the cotangents of poses and velocities at the start, and what residuals are multiplied with."""
        kicks = self.observe(self.points(), by_q, by_v.copy())
        self.forces = np.zeros((len(self.inputs), self.mechanism.joint_tables.nv))
        for number in range(len(self.held) - 1, -1, -1):
            own = np.flatnonzero(self.which == number)
            steps = slice(int(own[0]), int(own[-1]) + 1)
            points, first = slice(steps.start, min(steps.stop + 1, len(self.run.t))), steps.start
            for account in self._period(points, number, (kicks[0][points], kicks[1][points])):
                if self.pull is not None:
                    self.pull.add(account)
            if answer is not None:
                weights = self.actuation.back(self.held[[number]], self.forces[steps].sum(axis=0)[None])
                for part, more in zip(
                    kicks, self.answered(first, *(weights @ by for by in answer.at(first))), strict=True
                ):
                    part[first] += more[0]
        self.turn, self.v = kicks[0][0], kicks[1][0]

    def _period(self, points: slice, number: int, kicks: tuple[np.ndarray, np.ndarray]) -> list[Weighed]:
        """The steps between some points, under one input: states with the weights of their residuals. kicks: cotangents
        of the points; of the first one they become those of all that follows it. Sets `forces` of each step."""
        task, dynamics, method = self.run.task, self.dynamics, self.run.solution.method
        t, more, span, u = self.run.t[points], task.more | {"save": "final", "events": ()}, task.span, task.u
        if task.controller is not None:
            span, u = (float(t[0]), float(t[-1])), self.actuation.along(self.held[number])
            if more["step"] is not None:
                more["step"] = min(more["step"], span[1] - span[0])
        with dynamics.calling():
            stepper = motion_stepper(dynamics, method, span, self.run.solution.y[points.start], u, **more)
            stretches = replay(stepper, t)
        parts, last = [], len(t) - 1
        for stretch in reversed(stretches):
            first = last - len(stretch.t) + 1
            own = slice(first, last + 1)
            turn, v, account = self._stretch(stretch, u, (kicks[0][own], kicks[1][own]))
            steps = slice(points.start + first, points.start + max(last, first + 1))
            self.forces[steps] = self._of_forces(account, len(stretch.t))
            kicks[0][first] += turn
            kicks[1][first] += v
            parts.append(account)
            last = first
        return parts

    def _stretch(
        self, stretch: Stretch, u: np.ndarray | None, kicks: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray, Weighed]:
        """Cotangents of the first point, and states with the weights of their residuals."""
        steps, method, count = stretch.steps, self.run.solution.method, len(stretch.t)
        given = {"t": stretch.t, "angles": steps.angles, "q": steps.q, "v": steps.v, "rate": steps.rate}
        if u is not None:
            given["controls"] = np.broadcast_to(u, (count, len(u)))
        if count > 1:
            given["zeta"] = np.concatenate([steps.zeta, np.zeros((1, steps.zeta.shape[1]))])
        states = made_states(self.mechanism, count, **given, lam=steps.lam)
        back = AlphaAdjoint(self.residuals, method, steps)
        found = back.back(kicks, states)
        # index 3 begins with other velocities than its first point has
        begin = StartBack(self.residuals, stretch.begin, method)
        turn, v = begin.back(found)
        return turn, v, gathered([*back.account, *begin.account])

    def _of_forces(self, account: Weighed, points: int) -> np.ndarray:
        """Cotangents of forces along the joints in each step, (steps, nv of all joints): the power that the weights
        would have as velocities. What is behind the points belongs to the start."""
        states, count = account.states, len(account.states.t)
        velocity = account.weights.motion.reshape(count, self.n, 6).copy()
        velocity[..., 3:] = np.einsum("sikj,sik->sij", self.residuals.rotations(states.q), velocity[..., 3:])
        central = states.q.reshape(count, self.n, 7)
        power = self.mechanism.joint_states(central, velocity, states.angles)[1] * states.forced[:, None]
        found = power[1:points] if points > 1 else np.zeros((1, power.shape[1]))
        found[0] += power[points:].sum(axis=0)
        return found
